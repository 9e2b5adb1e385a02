//! A connector whose descriptors are wider than those of the memory connector below: what is mirrored to it has to be told
//! in its own terms. It keeps a value anew whenever its descriptor is read, which is enough for tests.

use std::sync::Arc;

use algorithms::transfer::{from_file_type, to_file_type};
use memory::MemoryConnector;
use model::convert::Conversions;
use model::datatype::{DescriptorSizes, ReferenceKind};
use model::heap::Heap;
use model::properties::FillValue;
use model::{Datatype, Reference, Result, Selection, Token};
use vol::*;

/// Bytes of zeros behind every descriptor of the memory connector.
const MORE: u32 = 4;

#[derive(Clone)]
pub(crate) struct WideConnector(pub(crate) MemoryConnector);

impl Connector for WideConnector {
    fn info(&self) -> ConnectorInfo {
        ConnectorInfo { name: "wide", value: 597, ..self.0.info() }
    }

    fn create(&self, op: &ContainerCreate<'_>) -> Result<Arc<dyn Container>> {
        wide(self.0.create(op)?)
    }

    fn open(&self, op: &ContainerOpen<'_>) -> Result<Arc<dyn Container>> {
        wide(self.0.open(op)?)
    }

    fn delete(&self, op: &ContainerOpen<'_>) -> Result<()> {
        self.0.delete(op)
    }

    fn is_accessible(&self, op: &ContainerOpen<'_>) -> Result<bool> {
        self.0.is_accessible(op)
    }
}

fn wide(inner: Arc<dyn Container>) -> Result<Arc<dyn Container>> {
    let DescriptorSizes { varlen, object_old, region_old, reference, .. } = inner.info()?.descriptors;
    let descriptors = DescriptorSizes {
        varlen: varlen + MORE,
        object_old: object_old + MORE,
        region_old: region_old + MORE,
        reference: reference + MORE,
        reference_in_sequence: reference + MORE,
    };
    Ok(Arc::new(Wide { inner, descriptors }))
}

struct Wide {
    inner: Arc<dyn Container>,
    descriptors: DescriptorSizes,
}

/// A descriptor as the memory connector has it.
fn narrow<'s>(descriptors: &[&'s [u8]]) -> Vec<&'s [u8]> {
    descriptors
        .iter()
        .map(|descriptor| &descriptor[..descriptor.len().saturating_sub(MORE as usize)])
        .collect()
}

fn padded(descriptor: &[u8]) -> Vec<u8> {
    [descriptor, &[0; MORE as usize]].concat()
}

impl Wide {
    fn own(&self, datatype: &Datatype) -> Datatype {
        datatype.with_descriptors(&self.descriptors)
    }

    /// A value of the inner container, in this one's form.
    fn widen(&self, stored: &Datatype, raw: &[u8]) -> Result<Vec<u8>> {
        let (memory, plans, mut heap) = (stored.memory_type(), Conversions::default(), Heap::new());
        let values = from_file_type(&*self.inner, stored, raw, &memory, &plans, &mut heap)?;
        to_file_type(self, &memory, &values, &self.own(stored), &plans, &mut heap)
    }

    /// A value in this container's form, in that of the one below.
    fn narrow(&self, stored: &Datatype, raw: &[u8]) -> Result<Vec<u8>> {
        let (memory, plans, mut heap) = (stored.memory_type(), Conversions::default(), Heap::new());
        let values = from_file_type(self, &self.own(stored), raw, &memory, &plans, &mut heap)?;
        to_file_type(&*self.inner, &memory, &values, stored, &plans, &mut heap)
    }

    fn attribute_type(&self, object: Token, name: &str) -> Result<Option<Datatype>> {
        Ok(self.inner.attribute_info(object, name)?.map(|info| info.datatype))
    }

    fn read(&self, dataset: Token, selection: &Selection, into: &mut [u8]) -> Result<()> {
        let info = self.inner.dataset_info(dataset)?;
        let count = into.len() / self.own(&info.datatype).size().max(1) as usize;
        let mut raw = vec![0; count * info.datatype.size() as usize];
        self.inner.dataset_read(&mut [OpRead { dataset, selection, into: &mut raw }])?;
        into.copy_from_slice(&self.widen(&info.datatype, &raw)?);
        Ok(())
    }
}

impl Layer for Wide {
    fn inner(&self) -> &dyn Container {
        &*self.inner
    }

    fn info(&self) -> Result<Arc<ContainerInfo>> {
        let info = self.inner.info()?;
        Ok(Arc::new(ContainerInfo {
            connector: "wide".into(),
            descriptors: self.descriptors,
            ..(*info).clone()
        }))
    }

    fn attribute_info(&self, object: Token, name: &str) -> Result<Option<AttributeInfo>> {
        let info = self.inner.attribute_info(object, name)?;
        Ok(info.map(|info| AttributeInfo { datatype: self.own(&info.datatype), ..info }))
    }

    fn attribute_list(&self, object: Token, op: &OpList) -> Result<Page<AttributeInfo>> {
        let mut page = self.inner.attribute_list(object, op)?;
        page.entries.iter_mut().for_each(|info| info.datatype = self.own(&info.datatype));
        Ok(page)
    }

    fn attribute_read(&self, object: Token, names: &[&str]) -> Result<Vec<Vec<u8>>> {
        let raw = self.inner.attribute_read(object, names)?;
        let widen = |(name, raw): (&&str, Vec<u8>)| match self.attribute_type(object, name)? {
            Some(datatype) => self.widen(&datatype, &raw),
            None => Ok(raw),
        };
        names.iter().zip(raw).map(widen).collect()
    }

    fn attribute_write(&self, object: Token, name: &str, data: &[u8]) -> Result<()> {
        match self.attribute_type(object, name)? {
            Some(datatype) => self.inner.attribute_write(object, name, &self.narrow(&datatype, data)?),
            None => self.inner.attribute_write(object, name, data),
        }
    }

    fn dataset_create(&self, op: &OpDatasetCreate) -> Result<Token> {
        let mut op = op.clone();
        if let FillValue::Value(value) = &op.create.fill.value {
            let stored = op.datatype.with_descriptors(&self.inner.info()?.descriptors);
            op.create.fill.value = FillValue::Value(self.narrow(&stored, value)?);
        }
        self.inner.dataset_create(&op)
    }

    fn dataset_info(&self, dataset: Token) -> Result<Arc<DatasetInfo>> {
        let mut info = (*self.inner.dataset_info(dataset)?).clone();
        if let FillValue::Value(value) = &info.create.fill.value {
            info.create.fill.value = FillValue::Value(self.widen(&info.datatype, value)?);
        }
        info.datatype = self.own(&info.datatype);
        Ok(Arc::new(info))
    }

    fn dataset_read(&self, reads: &mut [OpRead<'_>]) -> Result<()> {
        reads.iter_mut().try_for_each(|read| self.read(read.dataset, read.selection, read.into))
    }

    fn dataset_write(&self, writes: &[OpWrite<'_>]) -> Result<()> {
        for OpWrite { dataset, selection, from } in writes {
            let raw = self.narrow(&self.inner.dataset_info(*dataset)?.datatype, from)?;
            self.inner.dataset_write(&[OpWrite { dataset: *dataset, selection, from: &raw }])?;
        }
        Ok(())
    }

    fn datatype_get(&self, datatype: Token) -> Result<Datatype> {
        Ok(self.own(&self.inner.datatype_get(datatype)?))
    }

    fn map_info(&self, map: Token) -> Result<MapInfo> {
        let info = self.inner.map_info(map)?;
        Ok(MapInfo { value: self.own(&info.value), ..info })
    }

    fn map_put(&self, map: Token, pairs: &[(&[u8], &[u8])]) -> Result<()> {
        let stored = self.inner.map_info(map)?.value;
        for (key, value) in pairs {
            self.inner.map_put(map, &[(key, &self.narrow(&stored, value)?)])?;
        }
        Ok(())
    }

    fn map_get(&self, map: Token, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        let stored = self.inner.map_info(map)?.value;
        let values = self.inner.map_get(map, keys)?.into_iter();
        values.map(|value| value.map(|value| self.widen(&stored, &value)).transpose()).collect()
    }

    fn blob_put(&self, values: &[&[u8]]) -> Result<Vec<u8>> {
        let ids = self.inner.blob_put(values)?;
        Ok(ids.chunks(ids.len() / values.len().max(1)).flat_map(padded).collect())
    }

    fn blob_get(&self, ids: &[&[u8]], out: &mut Blobs) -> Result<()> {
        self.inner.blob_get(&narrow(ids), out)
    }

    fn blob_delete(&self, ids: &[&[u8]]) -> Result<()> {
        self.inner.blob_delete(&narrow(ids))
    }

    fn reference_get(&self, kind: ReferenceKind, descriptors: &[&[u8]]) -> Result<Vec<Reference>> {
        self.inner.reference_get(kind, &narrow(descriptors))
    }

    fn reference_put(&self, kind: ReferenceKind, references: &[Reference]) -> Result<Vec<Vec<u8>>> {
        Ok(self.inner.reference_put(kind, references)?.iter().map(|descriptor| padded(descriptor)).collect())
    }
}
