//! Objects as such: reference counts, handles, comments, and their end.

use model::{Error, LinkTarget, ObjectKind, Result};

use super::Writer;
use super::object_cache::ObjectCache;
use super::parts::Writing;
use super::storage::Storage;
use crate::format::Address;
use crate::format::encode::messages;
use crate::format::header::kind;
use crate::format::shared::SharedAt;
use crate::object::footprint::{self, Ranges};

impl Writer {
    /// Undoes one `retain`; whether the object goes, because it has no link any more and this was its last handle.
    pub(crate) fn release_handle(&mut self, at: Address) -> Result<bool> {
        if !self.objects.release(at)? {
            return Ok(false);
        }
        match self.objects.existing(at) {
            Some(cached) => Ok(cached.references == 0),
            None => Ok(self.reader.header(at)?.references()? == 0),
        }
    }

    /// Undoes every `retain`: the container is closed.
    pub(crate) fn release_handles(&mut self) -> Result<()> {
        self.objects.release_all().into_iter().try_for_each(|at| self.remove_if_unused(at))
    }

    /// Adds to an object's reference count.
    pub(crate) fn adjust_references(&mut self, at: Address, by: i32) -> Result<u32> {
        let is_root = at == self.storage.transaction.superblock.root;
        let cached = self.objects.load(at)?;
        let count = cached.references.checked_add_signed(by).filter(|&n| n > 0 || !is_root);
        let count = count.ok_or_else(|| {
            Error::invalid("adjust reference count").with("count", cached.references).with("by", by)
        })?;
        cached.references = count;
        cached.is_dirty = true;
        if count == 0 {
            self.remove_if_unused(at)?;
        }
        Ok(count)
    }

    /// Removes an object that nothing leads to, and what only it led to.
    pub(crate) fn remove_if_unused(&mut self, at: Address) -> Result<()> {
        let mut queue = vec![at];
        while let Some(at) = queue.pop() {
            let kept = at == self.storage.transaction.superblock.root
                || self.objects.is_retained(at)
                || self.objects.is_removed(at);
            if kept || self.objects.load(at)?.references > 0 {
                continue;
            }
            let held = self.objects.held_by(at)?;
            self.objects.release_parts(at, &mut self.storage)?;
            let Some(cached) = self.objects.remove(at) else { continue };
            cached.release(&mut self.storage)?;
            self.chunks.remove(at);
            self.reader.chunks.clear();
            self.reader.forget(at);
            for target in held {
                let below = self.objects.load(target)?;
                below.references = below.references.saturating_sub(1);
                below.is_dirty = true;
                queue.push(target);
            }
        }
        Ok(())
    }
}

impl ObjectCache {
    /// Returns the objects that this one holds: by hard links, and committed datatypes by use.
    fn held_by(&mut self, at: Address) -> Result<Vec<Address>> {
        let (reader, sizes) = (self.reader.clone(), self.reader.store.sizes());
        let mut found = Vec::new();
        if self.load(at)?.kind == ObjectKind::Group {
            let mut links = self.links_mut(at)?.all(&reader)?.into_inner();
            links.sort_unstable_by(|a, b| a.name.cmp(&b.name));
            for link in links {
                if let LinkTarget::Hard(token) = link.target {
                    found.push(Address(token.to_u64()));
                }
            }
        }
        let prefix = self.load(at)?.prefix.clone();
        let attributes = self.attributes_mut(at)?;
        attributes.load_all(&reader, &prefix)?;
        let attributes = attributes.entries();
        let mut records: Vec<Vec<u8>> =
            attributes.filter(|k| k.raw.datatype.shared).map(|k| k.raw.datatype.bytes.clone()).collect();
        let messages = self.existing(at).map_or(&[][..], |cached| &cached.messages);
        let own = messages.iter().filter(|m| m.kind == kind::DATATYPE && m.is_shared());
        records.extend(own.map(|m| m.body.clone()));
        for record in records {
            if let SharedAt::Object(at) = SharedAt::decode(&record, sizes)? {
                found.push(at);
            }
        }
        Ok(found)
    }

    /// Gives back what an object occupies besides its header.
    fn release_parts(&mut self, at: Address, storage: &mut Storage) -> Result<()> {
        let reader = self.reader.clone();
        let Some(cached) = self.existing_mut(at) else { return Ok(()) };
        let (mut ranges, mut raw): (Ranges, Ranges) = Default::default();
        ranges.extend(
            cached.links.iter().map(|p| p.value().blocks(&reader)).collect::<Result<Vec<_>>>()?.concat(),
        );
        ranges.extend(
            cached.attributes.iter().map(|p| p.value().blocks(&reader)).collect::<Result<Vec<_>>>()?.concat(),
        );
        match &mut cached.chunks {
            Some(part) => {
                let set = part.value_mut();
                ranges.extend(set.blocks(&reader)?);
                raw.extend(set.all(&reader)?.into_values().map(|c| (c.address, c.bytes)));
            }
            // Chunks that were not touched are as the header says. A damaged dataset can go too; its space is lost.
            None if cached.kind == ObjectKind::Dataset => {
                let mut footprint = footprint::of_dataset(&reader, &cached.header()).unwrap_or_default();
                raw.append(&mut footprint.elements);
                ranges.extend(footprint.all());
            }
            None => {}
        }
        let mut shared = std::mem::take(&mut cached.unshared);
        shared.append(&mut cached.messages);
        let open = [
            cached.links.as_ref().and_then(|links| links.value().cache_key()),
            cached.attributes.as_ref().and_then(|attributes| attributes.value().cache_key()),
        ];
        // What is open and waits for the commit must not write where something else is soon.
        open.into_iter().flatten().for_each(|at| self.parts.forget(at));
        ranges.into_iter().for_each(|(at, len)| storage.release(at, len));
        raw.into_iter().for_each(|(at, len)| storage.release_raw(at, len));
        Writing { reader: &reader, storage, cache: &mut self.parts }.unshare(&shared)
    }

    pub(crate) fn set_comment(&mut self, at: Address, comment: Option<&str>) -> Result<()> {
        let cached = self.load(at)?;
        match comment {
            Some(text) => cached.set(kind::COMMENT, 0, messages::comment(text)?),
            None => cached.remove(kind::COMMENT),
        }
        Ok(())
    }
}
