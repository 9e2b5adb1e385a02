//! Changing a file: drafts of objects, laid out when they are read or committed.
//!
//! An object that changes becomes a [`Draft`](draft::Draft) in memory: its messages, links and attributes as values. Adding a
//! link to a group of any size costs a look-up in a map. When the object's bytes are needed, by a reader or by
//! a commit, its header is laid out in place, and its dense storage and chunk index are built whole in fresh space.

mod attributes;
mod blobs;
mod create;
pub(crate) mod draft;
mod elements;
mod links;
mod objects;
mod trees;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use model::{Error, Result};
use vol::Durability;

use crate::file::File;
use crate::format::superblock::{Superblock, TreeK};
use crate::format::{Address, Sizes};
use crate::space::Space;
use crate::txn::Publish;

use draft::Draft;

pub(crate) use create::create_file;

/// The changes to one open file.
#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) sizes: Sizes,
    pub(crate) tree_k: TreeK,
    store: Arc<crate::store::Shared>,
    space: Space,
    superblock: Superblock,
    drafts: BTreeMap<Address, Draft>,
    /// Handles that are open, by object.
    retained: HashMap<Address, u32>,
    /// Objects that are gone; their room may hold others later.
    removed: HashSet<Address>,
    blobs: Option<blobs::OpenCollection>,
    /// Whether anything was written since the last commit.
    is_changed: bool,
    /// What is allocated while an object is laid out, so that it can be given back when it is laid out anew.
    building: Option<Vec<(Address, u64)>>,
}

impl Writer {
    pub(crate) fn new(
        store: Arc<crate::store::Shared>,
        superblock: Superblock,
        tree_k: TreeK,
        end: u64,
    ) -> Self {
        Writer {
            sizes: superblock.sizes,
            tree_k,
            store,
            space: Space::new(end),
            superblock,
            drafts: BTreeMap::new(),
            retained: HashMap::new(),
            removed: HashSet::new(),
            blobs: None,
            is_changed: false,
            building: None,
        }
    }

    /// Room for `len` bytes, which may be read from now on.
    pub(crate) fn allocate(&mut self, len: u64) -> Address {
        let at = self.space.allocate(len);
        self.removed.remove(&at);
        self.store.set_end(self.space.end());
        if let Some(building) = &mut self.building {
            building.push((at, len));
        }
        at
    }

    pub(crate) fn release(&mut self, at: Address, len: u64) {
        self.space.release(at, len);
    }

    pub(crate) fn write(&mut self, at: Address, data: &[u8]) -> Result<()> {
        self.is_changed = true;
        self.store.write(at, data)
    }

    /// Lays out everything and makes it one commit.
    pub(crate) fn commit(&mut self, file: &File, durability: Durability) -> Result<()> {
        self.lay_out_all(file)?;
        if !self.is_changed {
            return Ok(());
        }
        self.superblock.end = self.superblock.base + self.space.end();
        let superblock = self.superblock.encode()?;
        let end = self.superblock.end;
        let publish = Publish { superblock_at: self.store.base(), superblock: &superblock, end };
        self.store.commit(&publish, durability, self.space.commit())?;
        self.is_changed = false;
        Ok(())
    }

    /// Lays out one object, if it changed.
    pub(crate) fn lay_out(&mut self, file: &File, at: Address) -> Result<()> {
        self.flush_blobs(file)?;
        if !self.existing(at).is_some_and(|draft| draft.is_dirty) {
            return Ok(());
        }
        let Some(mut draft) = self.drafts.remove(&at) else { return Ok(()) };
        let done = self.rebuild(&mut draft);
        self.drafts.insert(at, draft);
        file.forget(at);
        done
    }

    /// Lays out an object that changed; what was built for it before is given back.
    fn rebuild(&mut self, draft: &mut Draft) -> Result<()> {
        for (at, len) in std::mem::take(&mut draft.built) {
            self.release(at, len);
        }
        self.building = Some(Vec::new());
        let done = draft.lay_out(self);
        draft.built = self.building.take().unwrap_or_default();
        done
    }

    fn lay_out_all(&mut self, file: &File) -> Result<()> {
        let dirty: Vec<Address> = self.drafts.iter().filter(|(_, d)| d.is_dirty).map(|(at, _)| *at).collect();
        dirty.into_iter().try_for_each(|at| self.lay_out(file, at))?;
        self.flush_blobs(file)
    }

    /// The draft of an object, made from its header when it is changed for the first time.
    pub(crate) fn draft(&mut self, file: &File, at: Address) -> Result<&mut Draft> {
        self.check_there(at)?;
        match self.drafts.entry(at) {
            Entry::Occupied(draft) => Ok(draft.into_mut()),
            Entry::Vacant(place) => {
                let unknown = |e: Error| Error::not_found("open object").at(at.0).because(e);
                Ok(place.insert(Draft::load(file, at).map_err(unknown)?))
            }
        }
    }

    /// An error for an object that was removed.
    pub(crate) fn check_there(&self, at: Address) -> Result<()> {
        if self.removed.contains(&at) { Err(Error::not_found("open object").at(at.0)) } else { Ok(()) }
    }

    /// The draft of an object that changed already.
    pub(crate) fn existing(&self, at: Address) -> Option<&Draft> {
        self.drafts.get(&at)
    }
}
