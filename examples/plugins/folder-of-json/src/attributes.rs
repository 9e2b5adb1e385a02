//! Attributes: a type, an extent and a whole value each.

use std::collections::BTreeMap;

use model::{Error, Limits, Result, Token, Within};
use vol::{AttributeInfo, OpAttributeCreate, OpList, Page};

use crate::datasets::{check_type, space_bytes};
use crate::links::page;
use crate::objects::State;

/// Attributes by name.
pub(crate) type Attributes = BTreeMap<String, Attribute>;

/// An attribute.
#[derive(Debug)]
pub(crate) struct Attribute {
    pub(crate) info: AttributeInfo,
    pub(crate) value: Vec<u8>,
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

impl State {
    fn attributes(&self, object: Token) -> Result<&Attributes> {
        Ok(&self.object(object)?.attributes)
    }

    pub(crate) fn attribute_create(&mut self, op: &OpAttributeCreate, limits: &Limits) -> Result<()> {
        check_name(&op.name)?;
        check_type(&op.datatype, op.committed, limits)?;
        let bytes = space_bytes(&op.space, &op.datatype)?.within(limits.metadata_bytes_max, "attribute")?;
        let attributes = self.attributes(op.object)?;
        if attributes.contains_key(&op.name) {
            return Err(Error::exists("create attribute").with("name", &op.name));
        }
        if attributes.len() as u64 >= limits.entries_max {
            return Err(Error::limit("create attribute").with("limit", limits.entries_max));
        }
        let info = AttributeInfo {
            name: op.name.clone(),
            charset: op.charset,
            creation_order: None,
            datatype: op.datatype.clone(),
            committed: None,
            space: op.space.clone(),
        };
        let attribute = Attribute { info, value: vec![0; bytes] };
        self.object_mut(op.object)?.attributes.insert(op.name.clone(), attribute);
        Ok(())
    }

    pub(crate) fn attribute_info(&self, object: Token, name: &str) -> Result<Option<AttributeInfo>> {
        Ok(self.attributes(object)?.get(name).map(|attribute| attribute.info.clone()))
    }

    pub(crate) fn attribute_list(&self, object: Token, op: &OpList) -> Result<Page<AttributeInfo>> {
        page(self.attributes(object)?.values().map(|attribute| attribute.info.clone()), op)
    }

    pub(crate) fn attribute_read(&self, object: Token, names: &[&str]) -> Result<Vec<Vec<u8>>> {
        let attributes = self.attributes(object)?;
        let value =
            |name: &&str| attributes.get(*name).map(|found| found.value.clone()).ok_or_else(|| missing(name));
        names.iter().map(value).collect()
    }

    pub(crate) fn attribute_write(&mut self, object: Token, name: &str, data: &[u8]) -> Result<()> {
        let attribute = self.object_mut(object)?.attributes.get_mut(name).ok_or_else(|| missing(name))?;
        if attribute.value.len() != data.len() {
            let error = Error::invalid("write attribute").with("bytes", data.len());
            return Err(error.with("wanted", attribute.value.len()));
        }
        attribute.value.copy_from_slice(data);
        Ok(())
    }

    pub(crate) fn attribute_delete(&mut self, object: Token, name: &str) -> Result<()> {
        self.object_mut(object)?.attributes.remove(name).map(drop).ok_or_else(|| missing(name))
    }

    pub(crate) fn attribute_rename(&mut self, object: Token, from: &str, to: &str) -> Result<()> {
        check_name(to)?;
        let attributes = &mut self.object_mut(object)?.attributes;
        if attributes.contains_key(to) && attributes.contains_key(from) {
            return Err(Error::exists("rename attribute").with("name", to));
        }
        let mut attribute = attributes.remove(from).ok_or_else(|| missing(from))?;
        attribute.info.name = to.to_owned();
        attributes.insert(to.to_owned(), attribute);
        Ok(())
    }
}
