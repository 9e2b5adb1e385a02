//! Queries of an object that changed, without serializing it.

use model::{Link, Result};
use vol::AttributeInfo;

use super::cached_object::CachedObject;
use super::object_cache::ObjectCache;
use super::parts::{AttributeEntry, HeaderPart};
use crate::format::attribute::RawAttribute;
use crate::format::header::kind;
use crate::format::symbol_table::Cached;
use crate::format::{Address, Sizes};
use crate::listing::Entries;
use crate::object::attribute::{self, Attribute};
use crate::reader::Reader;

impl CachedObject {
    /// Returns what a superblock of the older kind repeats of the root group.
    pub(crate) fn cached(&self, sizes: Sizes) -> Cached {
        let message =
            self.links.as_ref().and_then(|l| l.messages().iter().find(|m| m.kind == kind::SYMBOL_TABLE));
        let body = message.map(|m| m.body.as_slice()).or_else(|| self.body(kind::SYMBOL_TABLE));
        match body.and_then(|body| crate::format::group::symbol_table(body, sizes).ok()) {
            Some(table) => Cached::Group { tree: Some(table.tree), heap: Some(table.heap) },
            None => Cached::Nothing,
        }
    }

    /// Returns how many attributes it has.
    pub(crate) fn attribute_count(&self, reader: &Reader) -> Result<u64> {
        match &self.attributes {
            Some(attributes) => Ok(attributes.value().count()),
            None => attribute::count(reader, &self.header()),
        }
    }
}

impl ObjectCache {
    /// Returns a link of a group whose links changed: `None` where the file must be asked.
    pub(crate) fn link(&self, group: Address, name: &str) -> Result<Option<Option<Link>>> {
        let Some(links) = self.existing(group).and_then(|d| d.links.as_ref()) else {
            return Ok(None);
        };
        links.value().find(&self.reader, name).map(Some)
    }

    /// Returns an attribute of an object whose attributes changed: `None` where the file must be asked.
    pub(crate) fn attribute(&self, object: Address, name: &str) -> Result<Option<Option<Attribute>>> {
        let Some(cached) = self.existing(object) else { return Ok(None) };
        let Some(attributes) = cached.attributes.as_ref().map(HeaderPart::value) else { return Ok(None) };
        let interpret = |raw: &RawAttribute, order: Option<u16>| {
            attribute::interpret(&self.reader, raw, order.map(u32::from))
        };
        let found = match attributes.in_memory(name) {
            Some(Some(AttributeEntry { raw, order, decoded: Some((datatype, space)), .. })) => {
                let info = AttributeInfo {
                    name: raw.name.clone(),
                    charset: raw.charset,
                    creation_order: order.map(u32::from),
                    datatype: datatype.clone(),
                    committed: None,
                    space: space.clone(),
                };
                return Ok(Some(Some(Attribute { info, data: raw.data.clone() })));
            }
            Some(entry) => entry.map(|entry| interpret(&entry.raw, entry.order)),
            None => {
                let stored = attributes.find_stored(&self.reader, &cached.prefix, name)?;
                stored.map(|(raw, order)| interpret(&raw, order))
            }
        };
        found.transpose().map(Some)
    }

    /// Returns all links of a group whose links changed.
    pub(crate) fn all_links(&self, group: Address) -> Result<Option<Entries<Link>>> {
        let Some(links) = self.existing(group).and_then(|d| d.links.as_ref()) else {
            return Ok(None);
        };
        links.value().all(&self.reader).map(Some)
    }
}
