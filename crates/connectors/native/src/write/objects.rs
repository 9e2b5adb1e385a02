//! Objects as such: reference counts, handles, comments, and their end.

use std::time::{SystemTime, UNIX_EPOCH};

use model::properties::{CreationOrder, ObjectCreate, PhaseChange};
use model::{Error, LinkTarget, ObjectKind, Result};

use super::Writer;
use super::draft::Draft;
use crate::file::File;
use crate::format::Address;
use crate::format::encode::header::PrefixOptions;
use crate::format::encode::messages;
use crate::format::header::{flag, kind};
use crate::format::layout::Layout;
use crate::format::shared::SharedAt;

/// Seconds since 1970.
fn now() -> u32 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    u32::try_from(since).unwrap_or(u32::MAX)
}

/// The prefix of a new object's header.
pub(super) fn prefix_options(create: &ObjectCreate) -> PrefixOptions {
    PrefixOptions {
        times: create.track_times.then(|| [now(); 4]),
        attribute_phase: (create.attribute_phase != PhaseChange::default()).then_some(create.attribute_phase),
        attribute_order_tracked: create.attribute_order != CreationOrder::Untracked,
        attribute_order_indexed: create.attribute_order == CreationOrder::Indexed,
    }
}

impl Writer {
    pub(crate) fn retain(&mut self, at: Address) {
        *self.retained.entry(at).or_insert(0) += 1;
    }

    /// Undoes one `retain`; an object that has no link any more goes with its last handle.
    pub(crate) fn release_handle(&mut self, file: &File, at: Address) -> Result<()> {
        let Some(count) = self.retained.get_mut(&at) else {
            return Err(Error::invalid("release object").at(at.0).with("problem", "no handle is open"));
        };
        *count -= 1;
        if *count == 0 {
            self.retained.remove(&at);
            self.remove_if_unused(file, at)?;
        }
        Ok(())
    }

    /// Undoes every `retain`: the container is closed.
    pub(crate) fn release_handles(&mut self, file: &File) -> Result<()> {
        let retained: Vec<Address> = std::mem::take(&mut self.retained).into_keys().collect();
        retained.into_iter().try_for_each(|at| self.remove_if_unused(file, at))
    }

    /// Adds to an object's reference count.
    pub(crate) fn adjust_references(&mut self, file: &File, at: Address, by: i32) -> Result<u32> {
        let is_root = at == self.superblock.root;
        let draft = self.draft(file, at)?;
        let count = draft.references.checked_add_signed(by).filter(|&n| n > 0 || !is_root);
        let count = count.ok_or_else(|| {
            Error::invalid("adjust reference count").with("count", draft.references).with("by", by)
        })?;
        draft.references = count;
        draft.is_dirty = true;
        if count == 0 {
            self.remove_if_unused(file, at)?;
        }
        Ok(count)
    }

    /// Removes an object that nothing leads to, and what only it led to.
    fn remove_if_unused(&mut self, file: &File, at: Address) -> Result<()> {
        let mut queue = vec![at];
        while let Some(at) = queue.pop() {
            let kept =
                at == self.superblock.root || self.retained.contains_key(&at) || self.removed.contains(&at);
            if kept || self.draft(file, at)?.references > 0 {
                continue;
            }
            let Some(draft) = self.drafts.remove(&at) else { continue };
            self.release_storage(&draft)?;
            draft.release(self)?;
            self.removed.insert(at);
            file.forget(at);
            for target in targets(&draft, self.sizes)? {
                let below = self.draft(file, target)?;
                below.references = below.references.saturating_sub(1);
                below.is_dirty = true;
                queue.push(target);
            }
        }
        Ok(())
    }

    /// Gives back the room of a dataset's elements.
    fn release_storage(&mut self, draft: &Draft) -> Result<()> {
        if draft.kind != ObjectKind::Dataset {
            return Ok(());
        }
        if let Some(chunks) = &draft.chunks {
            for chunk in chunks.values() {
                self.release(chunk.address, chunk.bytes);
            }
            return Ok(());
        }
        let body = draft
            .messages
            .iter()
            .find(|m| m.kind == kind::LAYOUT)
            .map(|m| m.body.clone())
            .unwrap_or_default();
        if let Layout::Contiguous { address: Some(at), bytes: Some(bytes) } =
            Layout::decode(&body, self.sizes)?
        {
            self.release(at, bytes);
        }
        Ok(())
    }

    pub(crate) fn set_comment(&mut self, file: &File, at: Address, comment: Option<&str>) -> Result<()> {
        let draft = self.draft(file, at)?;
        match comment {
            Some(text) => draft.set(kind::COMMENT, 0, messages::comment(text)?),
            None => draft.remove(kind::COMMENT),
        }
        Ok(())
    }
}

/// Objects that this one holds: by hard links, and committed datatypes by use.
fn targets(draft: &Draft, sizes: crate::format::Sizes) -> Result<Vec<Address>> {
    let mut found = Vec::new();
    for link in draft.links.iter().flat_map(|l| l.by_name.values()) {
        if let LinkTarget::Hard(token) = link.target {
            found.push(Address(token.to_u64()));
        }
    }
    let shared = draft.messages.iter().filter(|m| m.kind == kind::DATATYPE && m.flags & flag::SHARED != 0);
    let records = shared.map(|m| m.body.as_slice());
    let in_attributes = draft
        .attributes
        .list
        .iter()
        .filter(|(a, _)| a.datatype.shared)
        .map(|(a, _)| a.datatype.bytes.as_slice());
    for record in records.chain(in_attributes) {
        if let SharedAt::Object(at) = SharedAt::decode(record, sizes)? {
            found.push(at);
        }
    }
    Ok(found)
}
