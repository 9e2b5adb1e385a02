//! One open folder: the inner container, where objects are, and what their elements need.

use std::collections::{HashMap, HashSet};
use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use dir::{Dir, Open};
use json_text::ids::Ids;
use json_text::{
    InnerContainer, SiblingResolver, Translated, TranslatedInfo, file_from_json, group_properties,
};
use model::properties::FileCreate;
use model::{Context, Error, Limits, ObjectKind, Result, Token};
use system::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
use vol::{Access, Container, ContainerCreate, ContainerOpen, FileAccess, Locking, Registry};

use crate::blobs::Blobs;
use crate::connector::{CAPABILITY, NAME};
use crate::container::RawContainer;
use crate::data::{Data, open_to_read, open_to_write};
use crate::homes::{GROUP_FILE, OWN_FOLDER, ObjectHomes};
use crate::load::{check_format, load};
use crate::recover;
use crate::save::Saved;
use crate::scan::{ScanResult, read_metadata};

/// The state that all handles of a container share.
pub(crate) struct Folder {
    /// Everything in it is reached through this, and nothing outside is.
    dir: Dir,
    inner: InnerContainer,
    create: FileCreate,
    limits: Limits,
    homes: RwLock<ObjectHomes>,
    data: RwLock<HashMap<Token, Arc<Data>>>,
    pub(crate) blobs: Blobs,
    /// Objects whose metadata is newer here than in their files.
    dirty: Mutex<HashSet<Token>>,
    /// Where objects were made since the last commit: there they belong, whatever else links to them.
    births: Mutex<HashMap<Token, (Token, String)>>,
    /// Held while an extent changes, and alone by a commit: it sees the metadata and the file of one extent.
    pub(crate) resizing: RwLock<()>,
    pub(crate) saved: Mutex<Saved>,
    /// Held while a caller has it open for writing.
    lock: Mutex<Option<File>>,
    warnings: Mutex<Vec<String>>,
}

impl Folder {
    /// Returns a container with an empty root group, in a folder that is there and empty.
    pub(crate) fn create(dir: Dir, op: &ContainerCreate<'_>) -> Result<Arc<Self>> {
        let folder = Arc::new(Self::empty(dir, op.registry, op.create, &op.access.limits)?);
        let root = folder.keeper().info()?.root;
        *folder.homes_mut() = ObjectHomes::new(root);
        folder.lock_for_writing(op.access.locking)?;
        folder.save(op.access.durability)?;
        Ok(folder)
    }

    /// Returns the container that a folder holds.
    pub(crate) fn open(dir: Dir, op: &ContainerOpen<'_>) -> Result<Arc<Self>> {
        let limits = &op.access.limits;
        let is_unfinished = recover::is_unfinished(&dir);
        let mut lock = None;
        if is_unfinished && op.access.access == Access::Write {
            lock = Some(take_lock(&dir, op.access.locking)?);
            recover::finish(&dir, limits).during("finish moves of a program that ended")?;
        }
        let (value, seen) = read_metadata(&dir, Path::new(GROUP_FILE), limits)?;
        check_format(&value)?;
        let create = file_from_json(value.get("fileCreationProperties"), group_properties(&value)?)?;
        let folder = Arc::new(Self::empty(dir, op.registry, &create, limits)?);
        let id = value.need("id")?.text()?;
        let root = folder.keeper().shared().add(id, folder.keeper().inner().info()?.root)?;
        if let Some(number) = value.maybe("numberNext", json_text::text::Value::uint)? {
            let ids = &folder.keeper().shared().ids;
            ids.write().skip_to(number);
        }
        if is_unfinished && lock.is_none() {
            folder.warn(
                "objects were being moved when a program ended: open the container for writing to finish it"
                    .into(),
            );
        }
        *folder.lock.lock() = lock;
        *folder.homes_mut() = ObjectHomes::new(root);
        let mut found = ScanResult::new(&folder.dir, limits);
        let listing = found.all(root)?;
        let keeper = RawContainer::keeper(&folder);
        load(&folder, &keeper, &found, Some(&value))?;
        folder.apply_metadata(&keeper, root, ObjectKind::Group, &value)?;
        let mut homes = folder.homes_mut();
        homes.seen.insert(root, seen);
        homes.listings.insert(root, listing);
        drop(homes);
        folder.clean();
        folder.saved.lock().changes = folder.keeper().shared().changes();
        Ok(folder)
    }

    fn empty(dir: Dir, registry: &Registry, create: &FileCreate, limits: &Limits) -> Result<Self> {
        let info = TranslatedInfo {
            connector: NAME,
            capability: CAPABILITY,
            limits: limits.clone(),
            is_keeper: true,
        };
        let inner = InnerContainer::new(&model::text::from_path(&dir.path("")), info, registry, create)?;
        Ok(Folder {
            inner,
            create: create.clone(),
            limits: limits.clone(),
            homes: RwLock::new(ObjectHomes::new(Token::default())),
            data: RwLock::default(),
            blobs: Blobs::new(&dir, heap_path()),
            dirty: Mutex::default(),
            births: Mutex::default(),
            resizing: RwLock::new(()),
            saved: Mutex::new(Saved::at_open(u64::MAX)),
            lock: Mutex::default(),
            warnings: Mutex::default(),
            dir,
        })
    }

    /// Returns a handle for a user, and the resolver of files next to the container.
    pub(crate) fn handle(
        &self,
        place: &str,
        access: &FileAccess,
    ) -> Result<(Translated, Arc<SiblingResolver>)> {
        if access.access == Access::Write {
            self.lock_for_writing(access.locking)?;
        }
        let siblings = SiblingResolver::new(access, place);
        Ok((self.inner.handle(access, Some(siblings.clone()))?, siblings))
    }

    /// One process writes at a time.
    fn lock_for_writing(&self, locking: Locking) -> Result<()> {
        let mut lock = self.lock.lock();
        if lock.is_some() {
            return Ok(());
        }
        let file = take_lock(&self.dir, locking)?;
        if recover::is_unfinished(&self.dir) {
            // Only a first handle reads the folder after it finished them.
            let error = Error::busy("open folder for writing").with("path", self.dir.path("").display());
            return Err(
                error.with("problem", "it has unfinished moves, and is open for reading: close that first")
            );
        }
        recover::clear_waiting(&self.dir);
        *lock = Some(file);
        Ok(())
    }

    pub(crate) fn dir(&self) -> &Dir {
        &self.dir
    }

    pub(crate) fn keeper(&self) -> &Translated {
        self.inner.keeper()
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn file_create(&self) -> &FileCreate {
        &self.create
    }

    pub(crate) fn ids(&self) -> RwLockReadGuard<'_, Ids> {
        self.keeper().shared().ids.read()
    }

    pub(crate) fn homes(&self) -> RwLockReadGuard<'_, ObjectHomes> {
        self.homes.read()
    }

    pub(crate) fn homes_mut(&self) -> RwLockWriteGuard<'_, ObjectHomes> {
        self.homes.write()
    }

    /// Returns what is known of a dataset.
    pub(crate) fn data(&self, dataset: Token) -> Arc<Data> {
        let known = self.data.read().get(&dataset).cloned();
        known.unwrap_or_else(|| {
            let mut data = self.data.write();
            data.entry(dataset).or_default().clone()
        })
    }

    /// Returns all datasets that were used.
    pub(crate) fn all_data(&self) -> RwLockWriteGuard<'_, HashMap<Token, Arc<Data>>> {
        self.data.write()
    }

    pub(crate) fn birthplaces(&self) -> MutexGuard<'_, HashMap<Token, (Token, String)>> {
        self.births.lock()
    }

    fn dirty(&self) -> MutexGuard<'_, HashSet<Token>> {
        self.dirty.lock()
    }

    /// Notes that the metadata of an object changed.
    pub(crate) fn touch(&self, object: Token) {
        self.dirty().insert(object);
    }

    pub(crate) fn is_dirty(&self, object: Token) -> bool {
        self.dirty().contains(&object)
    }

    /// Notes that the metadata of one object is in its file.
    pub(crate) fn untouch(&self, object: Token) {
        self.dirty().remove(&object);
    }

    /// Notes that all metadata is in its files.
    pub(crate) fn clean(&self) {
        self.dirty().clear();
    }

    pub(crate) fn warn(&self, warning: String) {
        let mut warnings = self.warnings.lock();
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }

    pub(crate) fn warnings(&self) -> Vec<String> {
        self.warnings.lock().clone()
    }

    /// Returns where elements wait that are at home nowhere yet.
    pub(crate) fn waiting_path(&self, dataset: Token) -> Result<PathBuf> {
        // An identity may come from a text made by hand: its digest is a good name for a file.
        let id = self.keeper().shared().id(dataset)?;
        let name = json_text::ids::uuid(&json_text::ids::digest(id.as_bytes()));
        Ok(recover::waiting_folder().join(format!("{name}.bin")))
    }

    /// Returns the file with the elements of a dataset now; a caller that asks holds the homes until it is open.
    pub(crate) fn data_path(&self, homes: &ObjectHomes, dataset: Token, data: &Data) -> Result<PathBuf> {
        let home = homes.data_path(dataset).filter(|_| !data.is_fresh.load(Ordering::SeqCst));
        home.map_or_else(|| self.waiting_path(dataset), Ok)
    }

    /// Returns the elements of a dataset, where there are any.
    pub(crate) fn elements(&self, dataset: Token, data: &Data) -> Result<Option<File>> {
        let homes = self.homes();
        open_to_read(&self.dir, &self.data_path(&homes, dataset, data)?)
    }

    /// Returns the elements of a dataset, to change them.
    pub(crate) fn elements_mut(&self, dataset: Token, data: &Data) -> Result<File> {
        let homes = self.homes();
        open_to_write(&self.dir, &self.data_path(&homes, dataset, data)?)
    }

    /// Makes the elements of a dataset durable.
    pub(crate) fn sync_elements(&self, dataset: Token, data: &Data) -> Result<()> {
        let opened = {
            let homes = self.homes();
            self.dir.file(self.data_path(&homes, dataset, data)?, Open::TO_SYNC)
        };
        match opened {
            // There are no elements yet, or a caller put something else there by hand: nothing of ours is in it.
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied) => Ok(()),
            opened => opened.and_then(|file| file.sync_all()).map_err(|e| Error::io("sync elements", &e)),
        }
    }

    /// Returns whether elements of some dataset need the heap.
    fn needs_heap(&self) -> bool {
        let homes = self.homes();
        let has_descriptors = |token: &Token| {
            self.keeper().dataset_info(*token).is_ok_and(|info| info.datatype.has_descriptors())
        };
        homes.tokens().iter().any(has_descriptors)
    }
}

/// Returns the path of the file of variable-length values and references.
pub(crate) fn heap_path() -> PathBuf {
    Path::new(OWN_FOLDER).join("heap")
}

/// Returns the path of the lock file. The process that locks it writes; nothing is in it.
pub(crate) fn lock_path() -> PathBuf {
    Path::new(OWN_FOLDER).join("lock")
}

fn take_lock(dir: &Dir, locking: Locking) -> Result<File> {
    let failed =
        |e: std::io::Error| Error::io("lock folder", &e).with("path", dir.path(lock_path()).display());
    dir.make_dirs(OWN_FOLDER).map_err(failed)?;
    // What may be in it stays: it may be a hard link.
    let file = dir.file(lock_path(), Open::CreateOrOpen).map_err(failed)?;
    let taken = if locking == Locking::Off { Ok(()) } else { file.try_lock() };
    match taken {
        Err(TryLockError::WouldBlock) => {
            let error = Error::busy("open folder for writing").with("path", dir.path("").display());
            Err(error.with("problem", "another program writes to it"))
        }
        Err(TryLockError::Error(e)) if locking == Locking::Required => Err(failed(e)),
        // On a file system without locks it is as well as can be.
        _ => Ok(file),
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // No one is left who could be told when something of this fails.
        if self.lock.get_mut().is_some() {
            recover::clear_waiting(&self.dir);
            if !self.needs_heap() {
                self.blobs.remove();
            }
        }
    }
}
