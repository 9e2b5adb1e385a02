//! Attributes.

use std::sync::Arc;

use model::{CharacterSet, Dataspace, Datatype, Error, Index, Limits, Result, Token, Within, text};
use vol::{AttributeInfo, OpAttributeCreate, OpList, Page};

use crate::checks::{check_attribute_name, is_tracked, slice, space_bytes, untracked};
use crate::listing::View;
use crate::mapping::{Mapping, NewAttribute, Objects};
use crate::reference_counts::Changes;
use crate::{Handle, ObjectHeader};

/// The header of an attribute: everything but its name and its value.
#[derive(Debug)]
pub struct AttributeHeader<M: Objects> {
    /// Where the attribute is stored.
    pub location: M::AttributeLocation,
    /// The datatype as it is stored.
    pub datatype: Datatype,
    /// The dataspace.
    pub space: Dataspace,
    /// The character set of the name.
    pub charset: CharacterSet,
    /// The creation order, if the object tracks it.
    pub creation_order: Option<u64>,
    /// The committed datatype that the attribute shares.
    pub committed: Option<Token>,
    /// Size of the value in bytes.
    pub bytes: usize,
}

impl<M: Objects> AttributeHeader<M> {
    /// Returns the header of a new attribute.
    pub fn new(location: M::AttributeLocation, new: NewAttribute, creation_order: Option<u64>) -> Self {
        let NewAttribute { datatype, space, charset, committed, bytes } = new;
        AttributeHeader { location, datatype, space, charset, creation_order, committed, bytes }
    }

    /// Returns the information about the attribute, which is called `name`.
    fn info(&self, name: String) -> AttributeInfo {
        AttributeInfo {
            name,
            charset: self.charset,
            creation_order: self.creation_order.and_then(|place| u32::try_from(place).ok()),
            datatype: self.datatype.clone(),
            committed: self.committed,
            space: self.space.clone(),
        }
    }
}

/// An attribute: its name and its header.
pub(crate) type NamedAttribute<M> = (Vec<u8>, Arc<AttributeHeader<M>>);

/// Returns the error for an attribute that does not exist.
pub fn missing_attribute(name: &str) -> Error {
    Error::not_found("find attribute").with("name", name)
}

/// Returns the size of an attribute's value in bytes.
///
/// # Errors
/// Returns `Limit` if it is larger than metadata may be.
pub fn value_bytes(space: &Dataspace, datatype: &Datatype, limits: &Limits) -> Result<usize> {
    space_bytes(space, datatype)?.within(limits.metadata_bytes_max, "attribute")
}

impl<M: Mapping> Handle<M> {
    pub(crate) fn create_attribute(&self, object: &ObjectHeader<M>, op: &OpAttributeCreate) -> Result<()> {
        check_attribute_name(&op.name)?;
        let datatype = self.file_type(&op.datatype, op.committed)?;
        let bytes = value_bytes(&op.space, &datatype, self.limits())?;
        let (space, charset, committed) = (op.space.clone(), op.charset, op.committed);
        let name = text::as_bytes(&op.name);
        let mut counts = self.shared.reference_counts();
        let mut changes = Changes::default();
        if let Some(committed) = committed {
            if self.mapping().has_attribute(object, &name)? {
                return Err(Error::exists("create attribute").with("name", &op.name));
            }
            self.add_reference(&mut changes, M::id(committed)?)?;
        }
        let new = NewAttribute { datatype, space, charset, committed, bytes };
        let header = self.mapping().put_attribute(&mut changes.stored, object, &name, new);
        let header = header.and_then(|header| {
            self.commit_changes(&mut counts, changes, "create attribute")?;
            Ok(header)
        });
        self.shared.listings.changed(object.id);
        let header = header.map_err(|error| error.with("name", &op.name))?;
        self.shared.set_recent_attribute(object.id, &op.name, header);
        Ok(())
    }

    /// Returns the header of an attribute, or `None` if the object has no such attribute.
    fn find_attribute(
        &self,
        object: &ObjectHeader<M>,
        name: &str,
    ) -> Result<Option<Arc<AttributeHeader<M>>>> {
        if let Some(recent) = self.shared.recent_attribute(object.id, name) {
            return Ok(Some(recent));
        }
        let found = self.mapping().attributes(object, &[&text::as_bytes(name)], self.limits())?;
        Ok(found.into_iter().next().flatten())
    }

    /// Returns the header of an attribute.
    ///
    /// # Errors
    /// Returns `NotFound` if the object has no such attribute.
    fn need_attribute(&self, object: &ObjectHeader<M>, name: &str) -> Result<Arc<AttributeHeader<M>>> {
        self.find_attribute(object, name)?.ok_or_else(|| missing_attribute(name))
    }

    pub(crate) fn attribute_info(
        &self,
        object: &ObjectHeader<M>,
        name: &str,
    ) -> Result<Option<AttributeInfo>> {
        let found = self.find_attribute(object, name)?;
        Ok(found.map(|attribute| attribute.info(name.to_owned())))
    }

    /// Returns the names of an object's attributes, in byte order.
    fn attribute_names(&self, object: &ObjectHeader<M>) -> Result<Arc<Vec<Vec<u8>>>> {
        let names = || self.mapping().attribute_names(object);
        self.shared.listings.snapshot(object.id, View::Attributes, names)
    }

    pub(crate) fn attribute_count(&self, object: &ObjectHeader<M>) -> Result<u64> {
        match self.mapping().attribute_count(object)? {
            Some(count) => Ok(count),
            None => Ok(self.attribute_names(object)?.len() as u64),
        }
    }

    /// Returns the headers of attributes with their names; names without an attribute are left out.
    fn attributes_of<'n>(
        &self,
        object: &ObjectHeader<M>,
        names: &'n [Vec<u8>],
    ) -> Result<impl Iterator<Item = (&'n Vec<u8>, Arc<AttributeHeader<M>>)>> {
        let wanted: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
        let found = self.mapping().attributes(object, &wanted, self.limits())?;
        Ok(names.iter().zip(found).filter_map(|(name, found)| Some((name, found?))))
    }

    /// Returns all attributes of an object, by name.
    pub(crate) fn all_attributes(&self, object: &ObjectHeader<M>) -> Result<Vec<NamedAttribute<M>>> {
        let names = self.mapping().attribute_names(object)?;
        let all = self.attributes_of(object, &names)?;
        Ok(all.map(|(name, attribute)| (name.clone(), attribute)).collect())
    }

    fn attribute_infos(&self, object: &ObjectHeader<M>, names: &[Vec<u8>]) -> Result<Vec<AttributeInfo>> {
        let found = self.attributes_of(object, names)?;
        Ok(found.map(|(name, attribute)| attribute.info(text::from_bytes(name))).collect())
    }

    pub(crate) fn list_attributes(
        &self,
        object: &ObjectHeader<M>,
        op: &OpList,
    ) -> Result<Page<AttributeInfo>> {
        if op.index == Index::Name {
            let (names, more) = slice(&self.attribute_names(object)?, op);
            return Ok(Page { entries: self.attribute_infos(object, &names)?, more });
        }
        if !is_tracked(object.object().attribute_order) {
            return Err(untracked("list attributes"));
        }
        let mut infos = self.attribute_infos(object, &self.attribute_names(object)?)?;
        infos.sort_by_key(|info| info.creation_order);
        let (entries, more) = slice(&infos, op);
        Ok(Page { entries, more })
    }

    pub(crate) fn write_attribute(&self, object: &ObjectHeader<M>, name: &str, data: &[u8]) -> Result<()> {
        let _counts = self.shared.reference_counts();
        let attribute = self.need_attribute(object, name)?;
        if attribute.bytes != data.len() {
            let wanted = attribute.bytes;
            return Err(Error::invalid("write attribute").with("bytes", data.len()).with("wanted", wanted));
        }
        let name = text::as_bytes(name);
        let old = self.blobs_of_attribute(object, &name, &attribute)?;
        self.mapping().write_attribute(object, &name, &attribute, data)?;
        self.drop_replaced(&attribute.datatype, old, data)
    }

    /// Returns the blobs that the value of an attribute uses.
    pub(crate) fn blobs_of_attribute(
        &self,
        object: &ObjectHeader<M>,
        name: &[u8],
        attribute: &AttributeHeader<M>,
    ) -> Result<Vec<M::BlobId>> {
        if !attribute.datatype.has_descriptors() {
            return Ok(Vec::new());
        }
        match self.mapping().read_attribute(object, name, attribute)? {
            Some(value) => self.blobs_in(&attribute.datatype, &value),
            None => Ok(Vec::new()),
        }
    }

    pub(crate) fn delete_attribute(&self, object: &ObjectHeader<M>, name: &str) -> Result<()> {
        let mut counts = self.shared.reference_counts();
        self.shared.forget_recent_attribute();
        let attribute = self.need_attribute(object, name)?;
        let name = text::as_bytes(name);
        let mut changes = Changes::default();
        changes.unused_blobs.extend(self.blobs_of_attribute(object, &name, &attribute)?);
        self.mapping().remove_attribute(&mut changes.stored, object, &name, &attribute)?;
        self.shared.listings.changed(object.id);
        if let Some(committed) = attribute.committed {
            self.drop_reference(&counts, &mut changes, M::id(committed)?)?;
        }
        let done = self.commit_changes(&mut counts, changes, "delete attribute");
        self.shared.listings.changed(object.id);
        done
    }

    pub(crate) fn rename_attribute(&self, object: &ObjectHeader<M>, from: &str, to: &str) -> Result<()> {
        check_attribute_name(to)?;
        let _counts = self.shared.reference_counts();
        self.shared.forget_recent_attribute();
        let attribute = self.need_attribute(object, from)?;
        let (from, to) = (text::as_bytes(from), text::as_bytes(to));
        let done = self.mapping().rename_attribute(object, &from, &to, &attribute);
        self.shared.listings.changed(object.id);
        done
    }
}
