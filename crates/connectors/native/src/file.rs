//! One handle of an open HDF5 file, and what can be asked of it through the caches.

use std::sync::{Arc, OnceLock, Weak};

use model::properties::{GroupCreate, SpaceStrategy};
use model::{Context, Error, Result, Token};
use system::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
use vol::{Container, Durability, FileAccess, Locking, Resolver};

use crate::chunk::sources;
use crate::format::Address;
use crate::gate::{ChangeGuard, Reading, Scope};
use crate::object::dataset::{self, Dataset};
use crate::state::Core;
use crate::store::INTERRUPTED;
use crate::virtual_views::VirtualViews;
use crate::write::Writer;

/// One handle of an open file, and what its opener decided.
pub(crate) struct File {
    core: Arc<Core>,
    /// The name it was opened by: other files are found from there.
    pub(crate) path: String,
    pub(crate) resolver: Option<Arc<dyn Resolver>>,
    /// How far its virtual datasets reach.
    pub(crate) virtual_views: VirtualViews,
    /// Whether this handle may change the file.
    pub(crate) writable: bool,
    pub(crate) locking: Locking,
    /// Files that were changed through virtual datasets of this one, by the names it has for them.
    changed_sources: Mutex<Vec<(String, Arc<dyn Container>)>>,
    /// This file, for a virtual dataset whose source is in it too.
    this: OnceLock<Weak<File>>,
}

/// An object that does not change while a caller reads.
pub(crate) enum StableObject<'f> {
    /// No one changes the file, or a caller that made the reader sees to it.
    Nothing,
    /// One object.
    Object { _reading: Reading<'f> },
    /// Everything.
    Whole { _writer: RwLockReadGuard<'f, Writer> },
}

impl std::ops::Deref for File {
    type Target = Core;
    fn deref(&self) -> &Core {
        &self.core
    }
}

impl std::fmt::Debug for File {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("File").field("path", &self.path).field("core", &self.core).finish_non_exhaustive()
    }
}

impl File {
    /// Returns a handle of an open file.
    pub(crate) fn new(core: Arc<Core>, path: &str, access: &FileAccess) -> Arc<File> {
        let file = Arc::new(File {
            writable: access.access == vol::Access::Write && core.writer.is_some(),
            core,
            path: path.to_owned(),
            resolver: access.resolver.clone(),
            virtual_views: VirtualViews::new(access.virtual_view),
            locking: access.locking,
            changed_sources: Mutex::default(),
            this: OnceLock::new(),
        });
        file.this.get_or_init(|| Arc::downgrade(&file));
        file
    }

    fn changed_sources(&self) -> MutexGuard<'_, Vec<(String, Arc<dyn Container>)>> {
        self.changed_sources.lock()
    }

    /// Returns a file that was changed through a virtual dataset: what is not committed can only be read there.
    pub(crate) fn changed_source(&self, name: &str) -> Option<Arc<dyn Container>> {
        self.changed_sources().iter().find(|(n, _)| n == name).map(|(_, container)| container.clone())
    }

    /// Returns the file of a virtual source, open for writing; it is committed and closed with this one.
    pub(crate) fn source_to_change(&self, name: &str) -> Result<Arc<dyn Container>> {
        let mut sources = self.changed_sources();
        if let Some((_, container)) = sources.iter().find(|(n, _)| n == name) {
            return Ok(container.clone());
        }
        let refused = || Error::denied("open virtual source").with("problem", "no resolver was given");
        let resolver = self.resolver.as_ref().ok_or_else(refused)?;
        let container = resolver.container_for_writing(name, &self.path)?;
        sources.push((name.to_owned(), container.clone()));
        Ok(container)
    }

    /// Commits the files that were changed through this one.
    pub(crate) fn commit_sources(&self, durability: Durability) -> Result<()> {
        let sources = self.changed_sources().clone();
        sources.iter().try_for_each(|(_, container)| container.commit(durability))
    }

    /// Closes them, where no other caller uses them.
    pub(crate) fn close_sources(&self) -> Result<()> {
        let sources = std::mem::take(&mut *self.changed_sources());
        let mut alone = sources.iter().filter(|(_, container)| Arc::strong_count(container) == 1);
        alone.try_for_each(|(_, container)| container.close())
    }

    /// Returns the bytes of the file as the last commit left it.
    pub(crate) fn image(&self) -> Result<Vec<u8>> {
        self.store.shared.image()
    }

    /// Returns the same handle once more.
    pub(crate) fn again(&self) -> Result<Arc<File>> {
        let this = self.this.get().and_then(Weak::upgrade);
        this.ok_or_else(|| Error::invalid("use file").with("problem", "it is closed"))
    }
}

impl File {
    /// Returns a dataset as its header has it.
    pub(crate) fn stored_dataset(&self, token: Token) -> Result<Arc<Dataset>> {
        self.core.dataset(token)
    }

    /// Returns a dataset. A virtual one reaches as far as its sources say at this moment.
    pub(crate) fn dataset(&self, token: Token) -> Result<Arc<Dataset>> {
        let dataset = self.core.dataset(token)?;
        let Some(virtual_dataset) = sources::virtual_dataset(self, &dataset) else { return Ok(dataset) };
        let space = self.steady(|| virtual_dataset.extent(self)).during_at("open dataset", token.to_u64())?;
        Ok(if space == dataset.info.space { dataset } else { dataset::in_space(dataset, space) })
    }

    /// Returns the writer, where the file is open for writing.
    pub(crate) fn writer(&self) -> Result<RwLockWriteGuard<'_, Writer>> {
        let refused = || Error::denied("change file").with("problem", "it is open to read");
        self.writer.as_ref().ok_or_else(refused)?.write_unpoisoned().ok_or_else(interrupted)
    }

    /// Returns whether this process writes while others read.
    pub(crate) fn is_swmr_writer(&self) -> Result<bool> {
        Ok(self.reading()?.is_some_and(|writer| writer.storage.is_swmr()))
    }

    /// Returns the writer's state, where there is one. While this is held, nothing in the file moves.
    pub(crate) fn reading(&self) -> Result<Option<RwLockReadGuard<'_, Writer>>> {
        self.writer.as_ref().map(|writer| writer.read_unpoisoned().ok_or_else(interrupted)).transpose()
    }

    /// Values, which stay as they are while this is held, when all that were stored can be read.
    pub(crate) fn reading_values(&self) -> Result<Option<RwLockReadGuard<'_, ()>>> {
        let Some(gate) = &self.gate else { return Ok(None) };
        loop {
            self.check_not_interrupted()?;
            if let Some(reading) = gate.read_values() {
                return Ok(Some(reading));
            }
            let mut writer = self.writer()?;
            let writer = &mut *writer;
            writer.values.flush(&mut writer.storage)?;
        }
    }

    /// Returns an object, which stays as it is while this is held; the file says all of it.
    pub(crate) fn reading_object(&self, at: Address) -> Result<StableObject<'_>> {
        let Some(gate) = &self.gate else { return Ok(StableObject::Nothing) };
        self.check_not_interrupted()?;
        match gate.read(at) {
            Some(reading) => Ok(StableObject::Object { _reading: reading }),
            None => self.stable(Token::from_u64(at.0)),
        }
    }

    /// Returns whether an object may have changes that the file does not hold.
    pub(crate) fn is_dirty(&self, at: Address) -> bool {
        self.gate.as_ref().is_some_and(|gate| gate.is_dirty(at))
    }

    fn check_not_interrupted(&self) -> Result<()> {
        match self.writer.as_ref().is_some_and(RwLock::is_poisoned) {
            true => Err(interrupted()),
            false => Ok(()),
        }
    }

    /// Waits for readers of what will be changed, in the hands of the writer.
    pub(crate) fn changing(&self, scope: Scope<'_>) -> Option<ChangeGuard<'_>> {
        self.gate.as_ref().map(|gate| gate.change(scope))
    }

    /// Returns the whole file, when what a reader of this object will look at is written.
    pub(crate) fn stable(&self, token: Token) -> Result<StableObject<'_>> {
        let at = Address(token.to_u64());
        loop {
            let Some(writer) = self.reading()? else { return Ok(StableObject::Nothing) };
            writer.objects.check_there(at)?;
            if !writer.must_serialize(at) {
                return Ok(StableObject::Whole { _writer: writer });
            }
            drop(writer);
            self.writer()?.serialize(at)?;
        }
    }

    /// Returns how the file was created, as far as it still says.
    pub(crate) fn creation(&self, root: GroupCreate) -> model::properties::FileCreate {
        let (sizes, space) = (self.store.sizes(), self.space.as_ref());
        model::properties::FileCreate {
            userblock_bytes: self.store.user_block_bytes(),
            offset_bytes: sizes.offset as u8,
            length_bytes: sizes.length as u8,
            group_leaf_k: self.tree_k.group_leaf,
            group_internal_k: self.tree_k.group_internal,
            chunk_k: self.tree_k.chunk,
            space_strategy: space.map_or(SpaceStrategy::default(), |s| s.strategy),
            space_persist: space.is_some_and(|s| s.persist),
            space_threshold: space.map_or(1, |s| s.threshold),
            page_bytes: space.map_or(4096, |s| s.page_bytes),
            shared_indexes: self
                .shared
                .indexes()
                .iter()
                .map(|i| model::properties::SharedIndex {
                    message_types: i.message_types,
                    bytes_min: i.bytes_min,
                })
                .collect(),
            root,
        }
    }
}

/// Half a change must not become part of a commit, nor be shown.
fn interrupted() -> Error {
    Error::invalid("use file").with("problem", INTERRUPTED)
}
