//! Attributes: arrays, found by their names in a key-value store of their object.

use std::sync::Arc;

use iod_storage::{Batch, Container, Id, Kind, ScratchPad, Slab};
use keyed::{Values, check_attribute_name, is_tracked, slice, space_bytes, untracked};
use model::{
    CharacterSet, Dataspace, Datatype, Error, Index, Limits, Order, Result, Token, Within, encode, text,
};
use vol::{AttributeInfo, OpAttributeCreate, OpList, Page};

use crate::blobs::{ID_BYTES, decode_type};
use crate::datasets::plain_dims;
use crate::described::{Described, Found, corrupt, pad_of};
use crate::error::During;
use crate::identity;
use crate::keys::{
    self, ATTRIBUTE_NEXT, COMMITTED, CREATION, CREATION_ORDER, DATASPACE, DATATYPE, H5I_ATTRIBUTE, TYPE,
};
use crate::lives::Changes;
use crate::opening::Opening;

/// What an attribute is, but for its name.
#[derive(Debug)]
pub(crate) struct Attribute {
    pub(crate) id: Id,
    pub(crate) metadata: Id,
    datatype: Datatype,
    space: Dataspace,
    charset: CharacterSet,
    creation_order: Option<u64>,
    pub(crate) committed: Option<Token>,
    /// Bytes of its value.
    bytes: usize,
}

fn missing(name: &str) -> Error {
    Error::not_found("find attribute").with("name", name)
}

fn value_bytes(space: &Dataspace, datatype: &Datatype, limits: &Limits) -> Result<usize> {
    space_bytes(space, datatype)?.within(limits.metadata_bytes_max, "attribute")
}

impl Attribute {
    /// Reads what an attribute is.
    pub(crate) fn load(storage: &Container, id: Id, limits: &Limits) -> Result<Self> {
        let load = || {
            let pad = pad_of(storage, id)?.ok_or_else(|| corrupt("an attribute is not there"))?;
            let ScratchPad([metadata, ..]) = pad;
            let keys = [TYPE, CREATION, DATATYPE, DATASPACE, COMMITTED, CREATION_ORDER];
            let mut found = Found::read(storage, metadata, &keys)?;
            if keys::small_of(&found.need(TYPE)?, "type of an attribute")? != H5I_ATTRIBUTE {
                return Err(corrupt("an attribute is something else"));
            }
            let datatype = decode_type(&found.need(DATATYPE)?, limits)?;
            let space = encode::decode_space_of(&found.need(DATASPACE)?, limits)?;
            let bytes = value_bytes(&space, &datatype, limits)?;
            let array = storage.array(id).during("read attribute")?;
            if array.cell_bytes != datatype.size() || array.dims != plain_dims(&space) {
                return Err(corrupt("its array is another one than its datatype and extent say"));
            }
            let order = found.get(CREATION_ORDER);
            Ok(Attribute {
                id,
                metadata,
                charset: encode::decode_attribute_create(&found.need(CREATION)?)?,
                creation_order: order.map(|order| keys::number_of(&order, "creation order")).transpose()?,
                committed: found.committed()?,
                datatype,
                space,
                bytes,
            })
        };
        load().map_err(|error: Error| error.during("read attribute").with("object", id))
    }

    fn info(&self, name: &[u8]) -> AttributeInfo {
        AttributeInfo {
            name: text::from_bytes(name),
            charset: self.charset,
            creation_order: self.creation_order.and_then(|place| u32::try_from(place).ok()),
            datatype: self.datatype.clone(),
            committed: self.committed,
            space: self.space.clone(),
        }
    }

    /// All cells.
    fn slab(&self) -> Slab {
        let dims = plain_dims(&self.space);
        Slab::new(&vec![0; dims.len()], &dims)
    }

    /// Adds an attribute to what is about to be made.
    fn put(&self, batch: &mut Batch<'_>) -> Result<()> {
        let pad = ScratchPad::with(&[self.metadata]);
        batch
            .create_array(self.id, pad, self.datatype.size(), &plain_dims(&self.space), None)
            .create_kv(self.metadata, ScratchPad::NULL)
            .put(self.metadata, CREATION, encode::attribute_create(self.charset))
            .put(self.metadata, TYPE, H5I_ATTRIBUTE.to_le_bytes().to_vec())
            .put(self.metadata, DATATYPE, encode::datatype(&self.datatype)?)
            .put(self.metadata, DATASPACE, encode::space(&self.space)?);
        if let Some(committed) = self.committed {
            batch.put(self.metadata, COMMITTED, identity::object(committed)?.to_bytes().to_vec());
        }
        if let Some(place) = self.creation_order {
            batch.put(self.metadata, CREATION_ORDER, keys::number(place).to_vec());
        }
        Ok(())
    }
}

impl Opening {
    pub(crate) fn make_attribute(&self, object: &Described, op: &OpAttributeCreate) -> Result<()> {
        check_attribute_name(&op.name)?;
        let datatype = self.file_type(&op.datatype, op.committed)?;
        let bytes = value_bytes(&op.space, &datatype, self.limits())?;
        let (id, metadata) = (self.new_identity(Kind::Array)?, self.new_identity(Kind::KeyValue)?);
        let mut structure = self.shared.structure();
        if self.find_attribute(object, &op.name)?.is_some() {
            return Err(Error::exists("make attribute").with("name", &op.name));
        }
        let mut changes = Changes::default();
        if let Some(committed) = op.committed {
            self.add_reference(&mut changes, identity::object(committed)?)?;
        }
        let creation_order = self.next_attribute(&mut changes.batch, object)?;
        let attribute = Attribute {
            id,
            metadata,
            datatype,
            space: op.space.clone(),
            charset: op.charset,
            creation_order,
            committed: op.committed,
            bytes,
        };
        attribute.put(&mut changes.batch)?;
        changes.batch.put(object.attributes, text::to_bytes(&op.name), id.to_bytes().to_vec());
        self.commit_changes(&mut structure, changes, "make attribute")?;
        self.shared.remember_attribute(Arc::new(attribute));
        self.shared.listings.changed(object.attributes);
        Ok(())
    }

    /// The place of a new attribute, where the order of creation is tracked.
    fn next_attribute(&self, batch: &mut Batch<'_>, object: &Described) -> Result<Option<u64>> {
        if !is_tracked(object.object().attribute_order) {
            return Ok(None);
        }
        let place = self.counter(object, ATTRIBUTE_NEXT)?;
        let next = place.checked_add(1).ok_or_else(|| Error::limit("order attributes"))?;
        batch.put(object.metadata, ATTRIBUTE_NEXT, keys::number(next).to_vec());
        Ok(Some(place))
    }

    /// Attributes of these names, `None` where there is none.
    fn find_attributes(&self, object: &Described, names: &[&[u8]]) -> Result<Vec<Option<Arc<Attribute>>>> {
        let found = self.storage().get(object.attributes, names).during("read attributes")?;
        let describe = |id: Option<Vec<u8>>| {
            id.map(|id| self.shared.describe_attribute(array_of(&id)?, self.limits())).transpose()
        };
        found.into_iter().map(describe).collect()
    }

    fn find_attribute(&self, object: &Described, name: &str) -> Result<Option<Arc<Attribute>>> {
        Ok(self.find_attributes(object, &[&text::as_bytes(name)])?.pop().flatten())
    }

    pub(crate) fn attribute(&self, object: &Described, name: &str) -> Result<Option<AttributeInfo>> {
        let found = self.find_attribute(object, name)?;
        Ok(found.map(|attribute| attribute.info(&text::as_bytes(name))))
    }

    pub(crate) fn attribute_count(&self, object: &Described) -> Result<u64> {
        self.count_pairs(object.attributes)
    }

    /// All attributes of an object, by their names.
    pub(crate) fn all_attributes(&self, object: &Described) -> Result<Vec<(Vec<u8>, Arc<Attribute>)>> {
        let mut all = Vec::new();
        self.each_pair(object.attributes, |name, id| {
            all.push((name.to_vec(), self.shared.describe_attribute(array_of(id)?, self.limits())?));
            Ok(())
        })?;
        Ok(all)
    }

    pub(crate) fn list_attributes(&self, object: &Described, op: &OpList) -> Result<Page<AttributeInfo>> {
        if op.index == Index::CreationOrder {
            if !is_tracked(object.object().attribute_order) {
                return Err(untracked("list attributes"));
            }
            let all = self.all_attributes(object)?;
            let mut infos: Vec<_> = all.iter().map(|(name, attribute)| attribute.info(name)).collect();
            infos.sort_by_key(|info| info.creation_order);
            let (entries, more) = slice(&infos, op);
            return Ok(Page { entries, more });
        }
        let (names, more) = match op.order {
            Order::Decreasing => slice(&self.all_keys(object.attributes)?, op),
            _ => self.page_of_keys(object.attributes, (op.skip, op.count_max))?,
        };
        let wanted: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
        let found = self.find_attributes(object, &wanted)?;
        let info = |(name, found): (&Vec<u8>, Option<Arc<Attribute>>)| Some(found?.info(name));
        Ok(Page { entries: names.iter().zip(found).filter_map(info).collect(), more })
    }

    fn read_value(&self, attribute: &Attribute) -> Result<Vec<u8>> {
        // Cells that nobody wrote are zeros.
        let mut value = vec![0; attribute.bytes];
        self.storage().read(attribute.id, &attribute.slab(), &mut value).during("read attribute")?;
        Ok(value)
    }

    pub(crate) fn attribute_values(&self, object: &Described, names: &[&str]) -> Result<Vec<Vec<u8>>> {
        let bytes: Vec<_> = names.iter().map(|name| text::as_bytes(name)).collect();
        let found = self.find_attributes(object, &bytes.iter().map(|name| &name[..]).collect::<Vec<_>>())?;
        let value = |(name, found): (&&str, Option<Arc<Attribute>>)| {
            self.read_value(&*found.ok_or_else(|| missing(name))?)
        };
        names.iter().zip(found).map(value).collect()
    }

    pub(crate) fn write_attribute(&self, object: &Described, name: &str, data: &[u8]) -> Result<()> {
        let _structure = self.shared.structure();
        let attribute = self.find_attribute(object, name)?.ok_or_else(|| missing(name))?;
        if attribute.bytes != data.len() {
            let wanted = attribute.bytes;
            return Err(Error::invalid("write attribute").with("bytes", data.len()).with("wanted", wanted));
        }
        let old = self.blobs_of_value(&attribute)?;
        self.storage().write(attribute.id, &attribute.slab(), data).during("write attribute")?;
        self.drop_replaced(&attribute.datatype, old, data)
    }

    /// The blobs that the value of an attribute uses.
    pub(crate) fn blobs_of_value(&self, attribute: &Attribute) -> Result<Vec<[u8; ID_BYTES]>> {
        match attribute.datatype.has_slots() {
            true => self.blobs_in(&attribute.datatype, &self.read_value(attribute)?),
            false => Ok(Vec::new()),
        }
    }

    /// Removes an attribute whose name goes too; returns the committed datatype that it shared.
    pub(crate) fn remove_attribute(
        &self,
        changes: &mut Changes<'_>,
        attribute: &Attribute,
    ) -> Result<Option<Id>> {
        changes.unused.extend(self.blobs_of_value(attribute)?);
        changes.batch.delete(attribute.id).delete(attribute.metadata);
        changes.gone.insert(attribute.id);
        attribute.committed.map(identity::object).transpose()
    }

    pub(crate) fn delete_attribute(&self, object: &Described, name: &str) -> Result<()> {
        let mut structure = self.shared.structure();
        let attribute = self.find_attribute(object, name)?.ok_or_else(|| missing(name))?;
        let mut changes = Changes::default();
        changes.batch.remove(object.attributes, text::to_bytes(name));
        if let Some(committed) = self.remove_attribute(&mut changes, &attribute)? {
            self.drop_reference(&structure, &mut changes, committed)?;
        }
        self.commit_changes(&mut structure, changes, "delete attribute")?;
        self.shared.listings.changed(object.attributes);
        Ok(())
    }

    pub(crate) fn rename_attribute(&self, object: &Described, from: &str, to: &str) -> Result<()> {
        check_attribute_name(to)?;
        let _structure = self.shared.structure();
        let attribute = self.find_attribute(object, from)?.ok_or_else(|| missing(from))?;
        if self.find_attribute(object, to)?.is_some() {
            return Err(Error::exists("rename attribute").with("name", to));
        }
        let mut batch = Batch::new();
        batch.remove(object.attributes, text::to_bytes(from)).put(
            object.attributes,
            text::to_bytes(to),
            attribute.id.to_bytes().to_vec(),
        );
        self.shared.apply(&batch, "rename attribute")?;
        self.shared.listings.changed(object.attributes);
        Ok(())
    }
}

fn array_of(bytes: &[u8]) -> Result<Id> {
    let id = keys::id_of(bytes, "attribute")?;
    match id.kind() {
        Some(Kind::Array) => Ok(id),
        _ => Err(corrupt("an attribute is no array").with("id", id)),
    }
}
