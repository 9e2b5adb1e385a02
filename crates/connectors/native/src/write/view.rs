//! What readers may ask of an object whose draft need not be laid out for it.

use model::{Link, Result};

use super::Writer;
use super::draft::Draft;
use crate::format::header::kind;
use crate::format::symbol_table::Cached;
use crate::format::{Address, Sizes};
use crate::object::attribute::{self, Attribute};
use crate::reader::Reader;

impl Draft {
    /// What a superblock of the older kind repeats of the root group.
    pub(crate) fn cached(&self, sizes: Sizes) -> Cached {
        let message =
            self.links.as_ref().and_then(|l| l.messages().iter().find(|m| m.kind == kind::SYMBOL_TABLE));
        let body = message.map(|m| m.body.as_slice()).or_else(|| self.body(kind::SYMBOL_TABLE));
        match body.and_then(|body| crate::format::group::symbol_table(body, sizes).ok()) {
            Some(table) => Cached::Group { tree: Some(table.tree), heap: Some(table.heap) },
            None => Cached::Nothing,
        }
    }

    /// How many attributes it has.
    pub(crate) fn attribute_count(&self, reader: &Reader) -> Result<u64> {
        match &self.attributes {
            Some(attributes) => Ok(attributes.value().by_name.len() as u64),
            None => attribute::count(reader, &self.header()),
        }
    }
}

impl Writer {
    /// A link of a group whose links changed: `None` where the file must be asked.
    pub(crate) fn link(&self, group: Address, name: &str) -> Option<Option<Link>> {
        let links = self.objects.existing(group)?.links.as_ref()?.value();
        Some(links.by_name.get(name).cloned())
    }

    /// An attribute of an object whose attributes changed: `None` where the file must be asked.
    pub(crate) fn attribute(&self, object: Address, name: &str) -> Result<Option<Option<Attribute>>> {
        let Some(part) = self.objects.existing(object).and_then(|d| d.attributes.as_ref()) else {
            return Ok(None);
        };
        let Some(kept) = part.value().by_name.get(name) else { return Ok(Some(None)) };
        let found = attribute::interpret(&self.reader, &kept.raw, kept.order.map(u32::from))?;
        Ok(Some(Some(found)))
    }

    /// All links of a group whose links changed.
    pub(crate) fn all_links(&self, group: Address) -> Option<Vec<Link>> {
        let links = self.objects.existing(group)?.links.as_ref()?.value();
        Some(links.by_name.sorted().into_iter().cloned().collect())
    }
}
