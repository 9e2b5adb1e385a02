//! Attributes of objects.

use std::collections::BTreeMap;

use model::properties::CreationOrder;
use model::{Error, Index, Limits, Result, Token, Within, text};
use vol::{AttributeInfo, OpAttributeCreate, OpList, Page};

use crate::check;
use crate::links::{page, untracked};
use crate::objects::ContainerState;

/// An attribute and its value in the file datatype.
#[derive(Debug, Clone)]
pub(crate) struct Attribute {
    pub(crate) info: AttributeInfo,
    created: u32,
    pub(crate) data: Vec<u8>,
}

/// An object's attributes, by the bytes of their names.
#[derive(Debug, Clone, Default)]
pub(crate) struct Attributes {
    entries: BTreeMap<Vec<u8>, Attribute>,
    created_next: u32,
}

impl Attributes {
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the committed datatypes that are used here, once for each use.
    pub(crate) fn committed(&self) -> impl Iterator<Item = Token> {
        self.entries.values().filter_map(|attribute| attribute.info.committed)
    }

    fn get(&self, name: &str) -> Result<&Attribute> {
        self.entries.get(&text::to_bytes(name)).ok_or_else(|| missing(name))
    }

    fn list(&self, op: &OpList, order: CreationOrder) -> Result<Page<AttributeInfo>> {
        let mut entries: Vec<&Attribute> = self.entries.values().collect();
        if op.index == Index::CreationOrder {
            if order == CreationOrder::Untracked {
                return Err(untracked("list attributes"));
            }
            entries.sort_by_key(|attribute| attribute.created);
        }
        Ok(page(&entries, op, |attribute| attribute.info.clone()))
    }
}

fn missing(name: &str) -> Error {
    Error::not_found("find attribute").with("name", name)
}

fn check_name(name: &str) -> Result<()> {
    match name.is_empty() || name.contains('\0') {
        true => Err(Error::invalid("check attribute name").with("name", format!("{name:?}"))),
        false => Ok(()),
    }
}

impl ContainerState {
    pub(crate) fn attribute_create(&mut self, op: &OpAttributeCreate, limits: &Limits) -> Result<()> {
        check_name(&op.name)?;
        let datatype = self.file_type(&op.datatype, op.committed, limits)?;
        let bytes =
            check::space_bytes(&op.space, &datatype)?.within(limits.metadata_bytes_max, "attribute")?;
        let object = self.object_mut(op.object)?;
        if object.attributes.get(&op.name).is_ok() {
            return Err(Error::exists("create attribute").with("name", &op.name));
        }
        if object.attributes.len() as u64 >= limits.entries_max {
            return Err(Error::limit("create attribute").with("limit", limits.entries_max));
        }
        let created = object.attributes.created_next;
        let is_tracked = object.create.attribute_order != CreationOrder::Untracked;
        let info = AttributeInfo {
            name: op.name.clone(),
            charset: op.charset,
            creation_order: is_tracked.then_some(created),
            datatype,
            committed: op.committed,
            space: op.space.clone(),
        };
        let attribute = Attribute { info, created, data: vec![0; bytes] };
        object.attributes.created_next = created.saturating_add(1);
        object.attributes.entries.insert(text::to_bytes(&op.name), attribute);
        object.touch();
        op.committed.map_or(Ok(()), |committed| self.add_reference(committed))
    }

    pub(crate) fn attribute_info(&self, object: Token, name: &str) -> Result<Option<AttributeInfo>> {
        let attributes = &self.object(object)?.attributes;
        Ok(attributes.get(name).ok().map(|attribute| attribute.info.clone()))
    }

    pub(crate) fn attribute_list(&self, object: Token, op: &OpList) -> Result<Page<AttributeInfo>> {
        let object = self.object(object)?;
        object.attributes.list(op, object.create.attribute_order)
    }

    pub(crate) fn attribute_read(&self, object: Token, names: &[&str]) -> Result<Vec<Vec<u8>>> {
        let attributes = &self.object(object)?.attributes;
        names.iter().map(|name| attributes.get(name).map(|attribute| attribute.data.clone())).collect()
    }

    pub(crate) fn attribute_write(&mut self, object: Token, name: &str, data: &[u8]) -> Result<()> {
        let object = self.object_mut(object)?;
        let attribute =
            object.attributes.entries.get_mut(&text::to_bytes(name)).ok_or_else(|| missing(name))?;
        check::length("write attribute", attribute.data.len() as u64, data.len())?;
        let old = std::mem::replace(&mut attribute.data, data.to_vec());
        let datatype = attribute.info.datatype.clone();
        object.touch();
        self.blobs.release_replaced(&datatype, &old, data, None)
    }

    pub(crate) fn attribute_delete(&mut self, object: Token, name: &str) -> Result<()> {
        let object = self.object_mut(object)?;
        let gone = object.attributes.entries.remove(&text::to_bytes(name)).ok_or_else(|| missing(name))?;
        object.touch();
        if let Some(committed) = gone.info.committed {
            self.drop_reference(committed);
        }
        Ok(())
    }

    pub(crate) fn attribute_rename(&mut self, object: Token, from: &str, to: &str) -> Result<()> {
        check_name(to)?;
        let object = self.object_mut(object)?;
        let attributes = &mut object.attributes;
        attributes.get(from)?;
        if attributes.get(to).is_ok() {
            return Err(Error::exists("rename attribute").with("name", to));
        }
        if let Some(mut attribute) = attributes.entries.remove(&text::to_bytes(from)) {
            attribute.info.name = to.to_owned();
            attributes.entries.insert(text::to_bytes(to), attribute);
        }
        object.touch();
        Ok(())
    }
}
