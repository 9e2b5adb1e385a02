//! H5F: files.

pub(crate) mod api;
mod atomicity;
mod cache;
mod image;
mod locations;
mod mounts;
mod opening;
mod resolver;
mod settings;
mod vfd_handle;

use std::collections::HashSet;
use std::ffi::{c_int, c_uint};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Weak};

use hyperslab::Token;
use hyperslab::vol::{Container, Durability, FileAccess};
use system::sync::{Mutex, RwLock};

use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::hid_t;
use crate::h5p::values::FileAccessValues;
use crate::handles::{Object, ObjectHandle};
use crate::ids;

pub use api::H5_ih_info_t;
pub(crate) use mounts::MountPoint;
pub(crate) use opening::{ExternalTarget, open_external};
use resolver::Rules;
pub(crate) use resolver::with_origin;

/// Flags of `H5Fopen` and `H5Fcreate`.
pub mod flags {
    use std::ffi::c_uint;
    pub const RDONLY: c_uint = 0;
    pub const RDWR: c_uint = 1;
    pub const TRUNC: c_uint = 2;
    pub const EXCL: c_uint = 4;
    pub const CREAT: c_uint = 0x10;
    pub const SWMR_WRITE: c_uint = 0x20;
    pub const SWMR_READ: c_uint = 0x40;
    /// In the access properties of a link: as the file of the link.
    pub const DEFAULT: c_uint = 0xffff;
}

/// `H5F_close_degree_t`
mod degree {
    use std::ffi::c_int;
    pub(super) const SEMI: c_int = 2;
    pub(super) const STRONG: c_int = 3;
}

/// An open container, which several identifiers may share.
pub struct SharedFile {
    container: Arc<dyn Container>,
    /// Where it is.
    pub(crate) location: String,
    /// A number of its own in this process (`H5Fget_fileno`).
    pub(crate) number: u64,
    root: Token,
    /// How it was opened, for what it leads to.
    pub(crate) access: FileAccess,
    /// Where the files are that it leads to.
    pub(crate) rules: Arc<Rules>,
    pub(crate) values: RwLock<FileAccessValues>,
    pub(crate) durability: Durability,
    pub(crate) is_writable: bool,
    pub(crate) is_swmr: AtomicBool,
    /// No one changes it while it is open: an HDF5 file that is only read, without SWMR.
    pub(crate) is_unchanging: bool,
    pub(crate) no_attributes_hint: AtomicBool,
    /// The processes of an MPI job have it open together.
    pub(crate) is_parallel: bool,
    /// What a process wrote independently is read by others at once (`H5Fset_mpi_atomicity`).
    pub(crate) is_atomic: AtomicBool,
    /// Objects whose metadata is not to be flushed but when the program says so (`H5Odisable_mdc_flushes`).
    pub(crate) without_flushes: Mutex<HashSet<Token>>,
    /// Handles of what stores it, which programs have until it is closed.
    vfd_handles: Mutex<Vec<vfd_handle::VfdHandle>>,
    /// Files that are mounted on groups.
    pub(crate) mounts: Mutex<Vec<MountPoint>>,
    /// Files that external links led to, the last one last, which stay open (`H5Pset_elink_file_cache_size`).
    external_files: Mutex<Vec<Arc<SharedFile>>>,
    /// The process that opened it, or the one that this one was forked from.
    generation: u32,
}

impl std::fmt::Debug for SharedFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedFile").field("location", &self.location).finish_non_exhaustive()
    }
}

/// A file that a program has open.
#[derive(Debug)]
pub struct FileHandle {
    /// The container.
    pub(crate) shared: Arc<SharedFile>,
    /// The name that the program opened it by.
    pub(crate) name: String,
    /// Flags that the program opened it with.
    pub(crate) intent: c_uint,
    /// The file that this one is mounted on, and the path of the group.
    pub(crate) mounted_on: RwLock<Option<(Weak<FileHandle>, String)>>,
}

/// Containers that are open, so that a file that is opened twice is one.
static OPEN: LazyLock<Mutex<Vec<Weak<SharedFile>>>> = LazyLock::new(Mutex::default);
static NEXT_NUMBER: AtomicU64 = AtomicU64::new(1);

/// What a container is opened with.
struct OpenedFile {
    container: Arc<dyn Container>,
    location: String,
    access: FileAccess,
    rules: Arc<Rules>,
    values: FileAccessValues,
    is_writable: bool,
    is_swmr: bool,
}

impl SharedFile {
    fn new(opened: OpenedFile) -> Fallible<Arc<Self>> {
        let info = opened.container.info()?;
        let is_read = !opened.is_writable && !opened.access.swmr;
        let shared = Arc::new(SharedFile {
            container: opened.container,
            location: opened.location,
            number: NEXT_NUMBER.fetch_add(1, Ordering::Relaxed),
            root: info.root,
            is_unchanging: is_read && info.connector == "native",
            durability: opened.access.durability,
            access: opened.access,
            rules: opened.rules,
            is_parallel: crate::mpi::is_parallel(&opened.values),
            is_atomic: AtomicBool::new(false),
            values: RwLock::new(opened.values),
            is_writable: opened.is_writable,
            is_swmr: AtomicBool::new(opened.is_swmr),
            no_attributes_hint: AtomicBool::new(false),
            without_flushes: Mutex::default(),
            vfd_handles: Mutex::default(),
            mounts: Mutex::default(),
            external_files: Mutex::default(),
            generation: system::process::generation(),
        });
        let mut open = OPEN.lock();
        open.retain(|file| file.strong_count() > 0);
        open.push(Arc::downgrade(&shared));
        crate::h5::close_at_exit();
        Ok(shared)
    }

    /// Returns the container.
    pub fn container(&self) -> &Arc<dyn Container> {
        &self.container
    }
}

impl SharedFile {
    /// Keeps a file that an external link led to open. Of too many, the one that was used longest ago is closed.
    fn cache_external(&self, file: &Arc<SharedFile>) -> Fallible<()> {
        let count_max = self.values.read().external_file_cache as usize;
        let mut files = self.external_files.lock();
        files.retain(|other| !Arc::ptr_eq(other, file));
        files.push(file.clone());
        let surplus = files.len().saturating_sub(count_max);
        let closed: Vec<_> = files.drain(..surplus).collect();
        drop(files);
        closed.into_iter().try_for_each(close_container)
    }

    /// Closes the files that external links led to, and those that they led to.
    fn clear_external(&self) -> Fallible<()> {
        let files = std::mem::take(&mut *self.external_files.lock());
        files.into_iter().try_for_each(|file| {
            file.clear_external()?;
            close_container(file)
        })
    }
}

/// Returns a container that is open already at a location.
fn already_open(is_same: impl Fn(&SharedFile) -> bool) -> Option<Arc<SharedFile>> {
    OPEN.lock().iter().filter_map(Weak::upgrade).find(|file| is_same(file))
}

impl FileHandle {
    fn new(shared: Arc<SharedFile>, name: &str, intent: c_uint) -> Arc<Self> {
        Arc::new(FileHandle { shared, name: name.to_owned(), intent, mounted_on: RwLock::new(None) })
    }

    /// Returns the container.
    pub fn container(&self) -> &Arc<dyn Container> {
        &self.shared.container
    }

    /// Returns the root group's identity.
    pub fn root_token(&self) -> Token {
        self.shared.root
    }

    /// Returns the root group.
    pub fn root(self: &Arc<Self>) -> Arc<ObjectHandle> {
        ObjectHandle::root(self.clone())
    }

    /// Returns whether two handles are of one container.
    pub fn is_same(&self, other: &FileHandle) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Returns an error where the file may not be changed.
    pub fn check_writable(&self) -> Fallible<()> {
        match self.shared.is_writable {
            true => Ok(()),
            false => Err(Failure::new(Major::FILE, Minor::WRITEERROR, "no write intent on file")),
        }
    }

    /// Returns an error where nothing may be created in the file, with the numbers of the family that would.
    pub fn check_creatable(&self, major: Major) -> Fallible<()> {
        self.check_writable().map_err(|failure| failure.as_major(major).as_minor(Minor::CANTCREATE))
    }

    /// Commits everything.
    pub fn flush(&self) -> Fallible<()> {
        Ok(self.container().commit(self.shared.durability)?)
    }
}

/// Returns whether an identifier's object belongs to a container.
fn is_of(object: &Object, file: &SharedFile) -> bool {
    let of = match object {
        Object::File(handle) => return std::ptr::eq(&*handle.shared, file),
        object => object.location(),
    };
    of.is_some_and(|location| std::ptr::eq(&*location.file.shared, file))
}

/// Closes a file whose identifier is gone.
pub(crate) fn close_file(id: hid_t, file: Arc<FileHandle>) -> Fallible<()> {
    let shared = file.shared.clone();
    let is_last = ids::find(|object| matches!(object, Object::File(_)) && is_of(object, &shared)).is_empty();
    let chosen = close_degree(&shared);
    if is_last && chosen != 0 {
        let others = ids::find(|object| is_of(object, &shared));
        if chosen == degree::SEMI && !others.is_empty() {
            // The identifier is back: the call failed.
            ids::restore(id, Object::File(file));
            return Err(Failure::new(
                Major::FILE,
                Minor::CANTCLOSEFILE,
                "can't close file, there are objects still open",
            ));
        }
        if chosen == degree::STRONG {
            others.into_iter().for_each(|id| drop(ids::remove(id)));
        }
    }
    if is_last {
        mounts::unmount_all(&file);
        shared.clear_external()?;
    }
    drop(file);
    close_container(shared)
}

/// Returns the close degree of a file: the default one is weak, and that of a file of many processes is not, for closing it is
/// collective.
fn close_degree(shared: &SharedFile) -> c_int {
    match shared.values.read().close_degree {
        chosen @ (degree::SEMI | degree::STRONG) => chosen,
        0 if shared.is_parallel => degree::SEMI,
        _ => 0,
    }
}

/// Closes the container if this was its last handle. Else it closes with the last one.
fn close_container(shared: Arc<SharedFile>) -> Fallible<()> {
    match Arc::try_unwrap(shared) {
        // After a fork the changes are the parent's to commit: the child only drops the file.
        Ok(shared) if shared.generation != system::process::generation() => Ok(()),
        Ok(shared) => Ok(shared.container.close()?),
        Err(_) => Ok(()),
    }
}

/// Commits and closes all files and objects that are open.
pub(crate) fn close_all() {
    for id in ids::find(|object| !matches!(object, Object::File(_)) && object.location().is_some()) {
        drop(ids::remove(id));
    }
    for id in ids::find(|object| matches!(object, Object::File(_))) {
        if let Ok(Object::File(file)) = ids::remove(id) {
            mounts::unmount_all(&file);
            let shared = file.shared.clone();
            drop(file);
            if let Err(failure) = shared.clear_external().and_then(|()| close_container(shared)) {
                crate::h5e::write(
                    std::ptr::null_mut(),
                    &format!("a file could not be closed at exit: {}\n", failure.text),
                );
            }
        }
    }
}

/// Returns an identifier of a file: one that the program has already, with one reference more, or a new one.
pub(crate) fn file_id(file: &Arc<FileHandle>) -> Fallible<hid_t> {
    let known = ids::find(|object| matches!(object, Object::File(known) if known.is_same(file)));
    match known.first() {
        Some(id) => ids::add_reference(*id).map(|_| *id),
        None => Ok(ids::register(Object::File(file.clone()))),
    }
}
