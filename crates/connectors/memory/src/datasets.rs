//! Datasets: what may be made, and elements that are stored here.

use std::sync::Arc;

use algorithms::virtual_dataset;
use model::properties::{DatasetCreate, FillValue, Layout};
use model::{Dataspace, Datatype, Error, Limits, Result, Selection, Token};
use vol::{Allocation, DatasetInfo, FileAccess, OpDatasetCreate, StorageInfo};

use crate::blocks::{Blocks, default_shape};
use crate::objects::{Body, ContainerState, Object};
use crate::{check, external};

/// A dataset and its elements; external and virtual ones have none here.
#[derive(Debug, Clone)]
pub(crate) struct Dataset {
    pub(crate) info: Arc<DatasetInfo>,
    pub(crate) blocks: Blocks,
}

fn fill_of(create: &DatasetCreate, datatype: &Datatype) -> Result<Option<Vec<u8>>> {
    match &create.fill.value {
        FillValue::Undefined | FillValue::Default => Ok(None),
        FillValue::Value(value) => {
            check::length("set fill value", datatype.size().into(), value.len())?;
            Ok(value.iter().any(|&b| b != 0).then(|| value.clone()))
        }
    }
}

fn check_layout(op: &OpDatasetCreate, datatype: &Datatype, limits: &Limits) -> Result<()> {
    algorithms::checks::layout(op, datatype.size(), limits)?;
    match &op.create.layout {
        Layout::External(files) => external::check(files, &op.space, datatype),
        Layout::Virtual(mappings) => virtual_dataset::check(mappings, &op.space),
        _ => Ok(()),
    }
}

impl Dataset {
    fn new(op: &OpDatasetCreate, datatype: Datatype, access: &FileAccess) -> Result<Self> {
        check::space_bytes(&op.space, &datatype)?;
        check_layout(op, &datatype, &access.limits)?;
        let fill = fill_of(&op.create, &datatype)?;
        let shape = match &op.create.layout {
            Layout::Chunked { shape, .. } => shape.clone(),
            _ => default_shape(op.space.dims(), datatype.size().into()),
        };
        let blocks = Blocks::new(shape, datatype.size() as usize, fill, &access.budget());
        let (space, mut create) = (op.space.clone(), op.create.clone());
        // Filters are not applied here, so that unknown ones do no harm; a caller that copies them wants them whole.
        filters::pipeline::complete_values(&mut create, &datatype)?;
        let info = Arc::new(DatasetInfo { datatype, committed: op.committed, space, create });
        Ok(Dataset { info, blocks })
    }

    /// Returns whether elements are here, and not in other files or datasets.
    pub(crate) fn is_here(&self) -> bool {
        !matches!(self.info.create.layout, Layout::External(_) | Layout::Virtual(_))
    }

    fn storage(&self) -> StorageInfo {
        let bytes = self.blocks.len() as u64 * self.blocks.block_bytes() as u64;
        let dims = self.info.space.dims().iter().zip(&self.blocks.shape);
        let blocks_max = dims.fold(1u64, |n, (dim, len)| n.saturating_mul(dim.div_ceil(*len)));
        let allocation = match self.blocks.len() as u64 {
            0 => Allocation::None,
            n if n >= blocks_max => Allocation::Full,
            _ => Allocation::Part,
        };
        StorageInfo::new(bytes, allocation)
    }

    fn resize(&mut self, dims: &[u64]) -> Result<()> {
        let old = &self.info.space;
        if dims == old.dims() && *old != Dataspace::Null {
            return Ok(());
        }
        let is_fixed = matches!(self.info.create.layout, Layout::Compact | Layout::Contiguous);
        if is_fixed || dims.len() != old.rank() || dims.is_empty() {
            return Err(Error::invalid("resize dataset").with("rank", dims.len()));
        }
        let space = old.resized(dims)?;
        check::space_bytes(&space, &self.info.datatype)?;
        if self.is_here() {
            self.blocks.cut(dims)?;
        }
        Arc::make_mut(&mut self.info).space = space;
        Ok(())
    }
}

/// Returns an error unless the selection fits the extent and the buffer has space for exactly its elements.
pub(crate) fn check_transfer(info: &DatasetInfo, selection: &Selection, buffer_bytes: usize) -> Result<()> {
    let count = match &info.space {
        Dataspace::Null => 0,
        space => {
            selection.validate(space.dims())?;
            selection.element_count(space.dims())?
        }
    };
    let bytes = count.checked_mul(info.datatype.size().into());
    let bytes = bytes.ok_or_else(|| Error::limit("transfer elements").with("count", count))?;
    check::length("transfer elements", bytes, buffer_bytes)
}

impl ContainerState {
    pub(crate) fn dataset_create(&mut self, op: &OpDatasetCreate, access: &FileAccess) -> Result<Token> {
        let limits = &access.limits;
        let datatype = self.file_type(&op.datatype, op.committed, limits)?;
        let body = Body::Dataset(Box::new(Dataset::new(op, datatype, access)?));
        self.insert(Object::new(op.create.object.clone(), body), op.place.as_ref(), limits.entries_max)
    }

    pub(crate) fn dataset_storage(&self, dataset: Token) -> Result<StorageInfo> {
        Ok(self.dataset(dataset)?.storage())
    }

    pub(crate) fn dataset_resize(&mut self, dataset: Token, dims: &[u64]) -> Result<()> {
        self.dataset_mut(dataset)?.resize(dims)?;
        self.object_mut(dataset)?.touch();
        Ok(())
    }

    /// Writes elements that are stored here; the transfer was checked.
    pub(crate) fn dataset_write(&mut self, token: Token, selection: &Selection, from: &[u8]) -> Result<()> {
        let dataset = self.dataset_mut(token)?;
        let (info, mut old) = (dataset.info.clone(), Vec::new());
        if info.datatype.has_descriptors() {
            old.resize(from.len(), 0);
            dataset.blocks.read(selection, info.space.dims(), &mut old)?;
        }
        if !from.is_empty() {
            dataset.blocks.write(selection, info.space.dims(), from)?;
        }
        self.object_mut(token)?.touch_data();
        let fill = match &info.create.fill.value {
            FillValue::Value(value) => Some(&value[..]),
            _ => None,
        };
        self.blobs.release_replaced(&info.datatype, &old, from, fill)
    }
}
