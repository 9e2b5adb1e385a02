//! Datasets: what may be made, and transfers of elements.

use std::sync::Arc;

use model::properties::{DatasetCreate, FillValue, Layout};
use model::{Dataspace, Datatype, Error, Limits, Result, Selection, Token};
use vol::{Allocation, DatasetInfo, OpDatasetCreate, OpRead, OpWrite, StorageInfo};

use crate::elements::Elements;
use crate::objects::{Body, State, check_order};

/// A dataset and its elements.
#[derive(Debug)]
pub(crate) struct Dataset {
    pub(crate) info: Arc<DatasetInfo>,
    pub(crate) elements: Elements,
}

fn invalid(problem: &str) -> Error {
    Error::invalid("create dataset").with("problem", problem)
}

/// Returns the number of bytes of all elements of an extent.
pub(crate) fn space_bytes(space: &Dataspace, datatype: &Datatype) -> Result<u64> {
    let count = space.element_count()?;
    let bytes = count.checked_mul(datatype.size().into());
    bytes.ok_or_else(|| Error::limit("count bytes").with("elements", count))
}

/// An error where a type is not one that we store.
pub(crate) fn check_type(datatype: &Datatype, committed: Option<Token>, limits: &Limits) -> Result<()> {
    datatype.validate(limits)?;
    if datatype.has_descriptors() {
        return Err(Error::unsupported("store variable-length values or references"));
    }
    match committed {
        None => Ok(()),
        Some(_) => Err(Error::unsupported("share committed datatype")),
    }
}

fn check_properties(
    create: &DatasetCreate,
    space: &Dataspace,
    element_bytes: u32,
    limits: &Limits,
) -> Result<()> {
    check_order(&[create.object.attribute_order])?;
    if !create.filters.is_empty() {
        return Err(Error::unsupported("filter elements"));
    }
    if let FillValue::Value(value) = &create.fill.value
        && value.len() as u64 != u64::from(element_bytes)
    {
        return Err(invalid("the fill value is not one element").with("bytes", value.len()));
    }
    match &create.layout {
        Layout::Chunked { shape, .. } => algorithms::checks::chunks(shape, space, element_bytes, limits),
        Layout::External(_) => Err(Error::unsupported("keep elements in other files")),
        Layout::Virtual(_) => Err(Error::unsupported("create virtual dataset")),
        Layout::Compact | Layout::Contiguous if space.is_resizable() => {
            Err(invalid("an extent that changes needs chunks"))
        }
        Layout::Compact | Layout::Contiguous => Ok(()),
    }
}

impl Dataset {
    /// Returns a dataset that may be made, without elements.
    pub(crate) fn new(info: DatasetInfo, limits: &Limits) -> Result<Self> {
        check_type(&info.datatype, info.committed, limits)?;
        space_bytes(&info.space, &info.datatype)?;
        check_properties(&info.create, &info.space, info.datatype.size(), limits)?;
        Ok(Dataset { info: Arc::new(info), elements: Elements::default() })
    }

    fn element_bytes(&self) -> u64 {
        self.info.datatype.size().into()
    }

    /// An error unless the selection fits the extent and the buffer has space for exactly its elements.
    fn check_transfer(&self, selection: &Selection, buffer_bytes: usize) -> Result<()> {
        let count = match &self.info.space {
            Dataspace::Null => 0,
            space => {
                selection.validate(space.dims())?;
                selection.element_count(space.dims())?
            }
        };
        match count.checked_mul(self.element_bytes()) {
            Some(bytes) if bytes == buffer_bytes as u64 => Ok(()),
            _ => Err(Error::invalid("transfer elements").with("elements", count).with("bytes", buffer_bytes)),
        }
    }

    fn read(&self, selection: &Selection, into: &mut [u8]) -> Result<()> {
        match &self.info.create.fill.value {
            FillValue::Value(value) => {
                into.chunks_exact_mut(value.len()).for_each(|descriptor| descriptor.copy_from_slice(value))
            }
            FillValue::Undefined | FillValue::Default => into.fill(0),
        }
        match into.is_empty() {
            true => Ok(()),
            false => self.elements.read(selection, self.info.space.dims(), self.element_bytes(), into),
        }
    }

    fn storage(&self) -> Result<StorageInfo> {
        let bytes = self.elements.bytes();
        let allocation = match bytes {
            0 => Allocation::None,
            bytes if bytes == space_bytes(&self.info.space, &self.info.datatype)? => Allocation::Full,
            _ => Allocation::Part,
        };
        Ok(StorageInfo::new(bytes, allocation))
    }
}

impl State {
    pub(crate) fn dataset_create(&mut self, op: &OpDatasetCreate, limits: &Limits) -> Result<Token> {
        let (datatype, space, create) = (op.datatype.clone(), op.space.clone(), op.create.clone());
        let dataset = Dataset::new(DatasetInfo { datatype, committed: op.committed, space, create }, limits)?;
        self.insert(Body::Dataset(dataset), op.place.as_ref(), limits.entries_max)
    }

    pub(crate) fn dataset_storage(&self, dataset: Token) -> Result<StorageInfo> {
        self.dataset(dataset)?.storage()
    }

    pub(crate) fn dataset_read(&self, reads: &mut [OpRead<'_>]) -> Result<()> {
        for read in reads.iter() {
            self.dataset(read.dataset)?.check_transfer(read.selection, read.into.len())?;
        }
        reads.iter_mut().try_for_each(|read| self.dataset(read.dataset)?.read(read.selection, read.into))
    }

    /// All writes are checked before the first one changes anything.
    pub(crate) fn dataset_write(&mut self, writes: &[OpWrite<'_>]) -> Result<()> {
        for write in writes {
            self.dataset(write.dataset)?.check_transfer(write.selection, write.from.len())?;
        }
        for write in writes.iter().filter(|write| !write.from.is_empty()) {
            let dataset = self.dataset_mut(write.dataset)?;
            let (info, element_bytes) = (dataset.info.clone(), dataset.element_bytes());
            dataset.elements.write(write.selection, info.space.dims(), element_bytes, write.from)?;
        }
        Ok(())
    }
}
