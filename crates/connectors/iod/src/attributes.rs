//! Attributes: arrays, found by their names in a key-value store of their object.

use std::sync::Arc;

use iod_storage::{Batch, Id, Kind, Phase, ScratchPad, Slab};
use keyed::{
    AttributeHeader, Attributes, Identities, NewAttribute, ObjectHeader, is_tracked, missing_attribute,
    value_bytes,
};
use model::{Error, Limits, Result, encode, text};

use crate::IodMapping;
use crate::arrays::plain_dims;
use crate::error::During;
use crate::headers::{HeaderValues, corrupt};
use crate::identity;
use crate::keys::{
    self, ATTRIBUTE_NEXT, COMMITTED, CREATION, CREATION_ORDER, DATASPACE, DATATYPE, H5I_ATTRIBUTE, TYPE,
};
use crate::mapping::Changes;

/// Attribute headers in the cache; with more, all are dropped.
const HEADERS_MAX: usize = 1 << 16;

type Header = AttributeHeader<IodMapping>;

/// Where an attribute is.
#[derive(Debug, Clone)]
pub struct AttributeLocation {
    /// The array with its value.
    pub(crate) array: Id,
    /// The key-value store with its header.
    pub(crate) metadata: Id,
}

/// Returns all cells of an attribute's array.
fn slab_of(attribute: &Header) -> Slab {
    let dims = plain_dims(&attribute.space);
    Slab::new(&vec![0; dims.len()], &dims)
}

fn array_id(bytes: &[u8]) -> Result<Id> {
    let id = keys::id_of(bytes, "attribute")?;
    match id.kind() {
        Some(Kind::Array) => Ok(id),
        _ => Err(corrupt("an attribute is no array").with("id", id)),
    }
}

impl IodMapping {
    /// Returns the header of an attribute, from the cache if it is there.
    fn attribute_header(&self, array: Id, limits: &Limits) -> Result<Arc<Header>> {
        if let Some(known) = self.attribute_headers.lock().get(&array) {
            return Ok(known.clone());
        }
        let header = self.load_attribute(array, limits);
        let header = header.map_err(|error| error.during("read attribute").with("object", array))?;
        let header = Arc::new(header);
        let mut headers = self.attribute_headers.lock();
        if headers.len() >= HEADERS_MAX {
            headers.clear();
        }
        headers.insert(array, header.clone());
        Ok(header)
    }

    fn load_attribute(&self, array: Id, limits: &Limits) -> Result<Header> {
        let pad = self.scratch_pad(array)?.ok_or_else(|| corrupt("an attribute is not there"))?;
        let ScratchPad([metadata, ..]) = pad;
        let keys = [TYPE, CREATION, DATATYPE, DATASPACE, COMMITTED, CREATION_ORDER];
        let mut values = HeaderValues::read(self, metadata, &keys)?;
        if keys::small_of(&values.need(TYPE)?, "type of an attribute")? != H5I_ATTRIBUTE {
            return Err(corrupt("an attribute is something else"));
        }
        let datatype = Self::decode_datatype(&values.need(DATATYPE)?, limits)?;
        let space = encode::decode_space_of(&values.need(DATASPACE)?, limits)?;
        let bytes = value_bytes(&space, &datatype, limits)?;
        let stored = self.storage.array(array).during("read attribute")?;
        if stored.cell_bytes != datatype.size() || stored.dims != plain_dims(&space) {
            return Err(corrupt("its array is another one than its datatype and extent say"));
        }
        let order = values.get(CREATION_ORDER);
        let order = order.map(|order| keys::number_of(&order, "creation order")).transpose()?;
        let charset = encode::decode_attribute_create(&values.need(CREATION)?)?;
        let new = NewAttribute { datatype, space, charset, committed: values.committed()?, bytes };
        Ok(AttributeHeader::new(AttributeLocation { array, metadata }, new, order))
    }

    /// Adds a new attribute to a batch.
    fn create_array(&self, batch: &mut Batch<'static>, attribute: &Header) -> Result<()> {
        let AttributeLocation { array, metadata } = attribute.location;
        let pad = ScratchPad::with(&[metadata]);
        batch
            .create_array(array, pad, attribute.datatype.size(), &plain_dims(&attribute.space), None)
            .create_kv(metadata, ScratchPad::NULL)
            .put(metadata, CREATION, encode::attribute_create(attribute.charset))
            .put(metadata, TYPE, H5I_ATTRIBUTE.to_le_bytes().to_vec())
            .put(metadata, DATATYPE, encode::datatype(&attribute.datatype)?)
            .put(metadata, DATASPACE, encode::space(&attribute.space)?);
        if let Some(committed) = attribute.committed {
            batch.put(metadata, COMMITTED, identity::object(committed)?.to_bytes().to_vec());
        }
        if let Some(order) = attribute.creation_order {
            batch.put(metadata, CREATION_ORDER, keys::number(order).to_vec());
        }
        Ok(())
    }

    /// Removes the array and the header of an attribute.
    pub(crate) fn remove_array(&self, batch: &mut Batch<'static>, location: &AttributeLocation) {
        batch.delete(location.array).delete(location.metadata);
        self.attribute_headers.lock().remove(&location.array);
    }

    /// Returns the creation order of a new attribute, if the object tracks it.
    fn next_attribute(&self, batch: &mut Batch<'static>, object: &ObjectHeader<Self>) -> Result<Option<u64>> {
        if !is_tracked(object.object().attribute_order) {
            return Ok(None);
        }
        let order = self.counter(object, ATTRIBUTE_NEXT)?;
        let next = order.checked_add(1).ok_or_else(|| Error::limit("order attributes"))?;
        batch.phase(Phase::Description);
        batch.put(object.location.metadata, ATTRIBUTE_NEXT, keys::number(next).to_vec());
        Ok(Some(order))
    }

    /// Returns the value of an attribute. Cells that were never written are zeros.
    fn read_value(&self, attribute: &Header) -> Result<Vec<u8>> {
        let mut value = vec![0; attribute.bytes];
        let array = attribute.location.array;
        self.storage.read(array, &slab_of(attribute), &mut value).during("read attribute")?;
        Ok(value)
    }
}

impl Attributes for IodMapping {
    fn attribute_names(&self, object: &ObjectHeader<Self>) -> Result<Vec<Vec<u8>>> {
        self.storage.keys_with_prefix(object.location.attributes, b"").during("list keys")
    }

    fn attributes(
        &self,
        object: &ObjectHeader<Self>,
        names: &[&[u8]],
        limits: &Limits,
    ) -> Result<Vec<Option<Arc<Header>>>> {
        let found = self.storage.get(object.location.attributes, names).during("read attributes")?;
        let header =
            |id: Option<Vec<u8>>| id.map(|id| self.attribute_header(array_id(&id)?, limits)).transpose();
        found.into_iter().map(header).collect()
    }

    fn has_attribute(&self, object: &ObjectHeader<Self>, name: &[u8]) -> Result<bool> {
        Ok(self.value(object.location.attributes, name, "read attributes")?.is_some())
    }

    fn put_attribute(
        &self,
        changes: &mut Changes,
        object: &ObjectHeader<Self>,
        name: &[u8],
        new: NewAttribute,
    ) -> Result<Header> {
        if self.has_attribute(object, name)? {
            return Err(Error::exists("create attribute"));
        }
        let array = self.numbers.next(&self.storage, Kind::Array)?;
        let metadata = self.numbers.next(&self.storage, Kind::KeyValue)?;
        let order = self.next_attribute(&mut changes.batch, object)?;
        let attribute = AttributeHeader::new(AttributeLocation { array, metadata }, new, order);
        self.create_array(&mut changes.batch, &attribute)?;
        changes.batch.phase(Phase::Link);
        changes.batch.put(object.location.attributes, name.to_vec(), array.to_bytes().to_vec());
        Ok(attribute)
    }

    fn read_attributes(
        &self,
        object: &ObjectHeader<Self>,
        names: &[&str],
        limits: &Limits,
    ) -> Result<Vec<Vec<u8>>> {
        let bytes: Vec<_> = names.iter().map(|name| text::as_bytes(name)).collect();
        let wanted: Vec<&[u8]> = bytes.iter().map(|name| &name[..]).collect();
        let found = self.attributes(object, &wanted, limits)?;
        let value = |(name, found): (&&str, Option<Arc<Header>>)| {
            self.read_value(&*found.ok_or_else(|| missing_attribute(name))?)
        };
        names.iter().zip(found).map(value).collect()
    }

    fn read_attribute(
        &self,
        _object: &ObjectHeader<Self>,
        _name: &[u8],
        attribute: &Header,
    ) -> Result<Option<Vec<u8>>> {
        self.read_value(attribute).map(Some)
    }

    fn write_attribute(
        &self,
        _object: &ObjectHeader<Self>,
        _name: &[u8],
        attribute: &Header,
        value: &[u8],
    ) -> Result<()> {
        let array = attribute.location.array;
        self.storage.write(array, &slab_of(attribute), value).during("write attribute")
    }

    fn remove_attribute(
        &self,
        changes: &mut Changes,
        object: &ObjectHeader<Self>,
        name: &[u8],
        attribute: &Header,
    ) -> Result<()> {
        changes.batch.phase(Phase::Link).remove(object.location.attributes, name.to_vec());
        self.remove_array(&mut changes.batch, &attribute.location);
        Ok(())
    }

    fn rename_attribute(
        &self,
        object: &ObjectHeader<Self>,
        from: &[u8],
        to: &[u8],
        attribute: &Header,
    ) -> Result<()> {
        if self.has_attribute(object, to)? {
            return Err(Error::exists("rename attribute").with("name", text::from_bytes(to)));
        }
        let (kv, array) = (object.location.attributes, attribute.location.array);
        let mut batch = Batch::new();
        batch.remove(kv, from).put(kv, to, array.to_bytes().to_vec());
        self.apply_batch(&batch, "rename attribute")
    }
}
