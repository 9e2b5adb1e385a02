//! One handle of an open container: what it may do, and the objects that it retains.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use algorithms::copy::CopyContext;
use model::properties::FileCreate;
use model::{Datatype, Error, Limits, Result, Token};
use system::sync::{Mutex, MutexGuard};
use vol::{Access, Capability, ContainerInfo, FileAccess};

use crate::mapping::Mapping;
use crate::{ObjectHeader, Shared, descriptors};

/// The capabilities of containers on keys: everything in the model but times, external raw data and virtual datasets.
pub const CAPABILITY: Capability =
    Capability { times: false, external_data: false, virtual_datasets: false, ..Capability::ALL };

/// One handle of an open container.
#[derive(Debug)]
pub struct Handle<M: Mapping> {
    /// The state that all handles of the container share.
    pub shared: Arc<Shared<M>>,
    pub(crate) info: Arc<ContainerInfo>,
    path: String,
    access: FileAccess,
    is_closed: AtomicBool,
    /// How often this handle retains objects: closing it releases what its user did not.
    retained: Mutex<HashMap<M::Id, u32>>,
}

fn info_of<M: Mapping>(shared: &Shared<M>, writable: bool) -> ContainerInfo {
    ContainerInfo {
        connector: M::NAME.to_owned(),
        capability: CAPABILITY,
        writable,
        root: M::token(M::ROOT),
        descriptors: M::DESCRIPTOR_SIZES,
        // A store has no user block.
        create: FileCreate { userblock_bytes: 0, ..shared.create.clone() },
        storage_bytes: None,
        versions: vec![("layout".into(), M::VERSION)],
        warnings: Vec::new(),
    }
}

impl<M: Mapping> Handle<M> {
    /// Returns a new handle of a container.
    pub fn new(shared: Arc<Shared<M>>, path: &str, access: FileAccess) -> Self {
        shared.add_handle(|| access.budget());
        let info = Arc::new(info_of(&shared, access.access == Access::Write));
        let (is_closed, retained) = (AtomicBool::new(false), Mutex::default());
        Handle { shared, info, path: path.to_owned(), access, is_closed, retained }
    }

    /// Returns the mapping.
    pub fn mapping(&self) -> &M {
        &self.shared.mapping
    }

    /// Returns the bounds of what is read.
    pub fn limits(&self) -> &Limits {
        &self.access.limits
    }

    /// Returns how objects are copied inside the container.
    pub(crate) fn copy_context(&self) -> CopyContext<'_> {
        CopyContext::of(&self.access, &self.path)
    }

    /// Returns whether changes may be made through this handle.
    pub(crate) fn is_writing(&self) -> bool {
        self.access.access == Access::Write
    }

    /// # Errors
    /// Returns `Denied` if the handle is read-only.
    pub(crate) fn check_writable(&self) -> Result<()> {
        match self.is_writing() {
            false => Err(Error::denied("change container").with("path", &self.path)),
            true => Ok(()),
        }
    }

    /// Returns whether a dataset has a filter that runs on the calling thread only.
    pub(crate) fn is_serial(&self, dataset: Token) -> bool {
        let Ok(header) = self.header(dataset) else { return false };
        let registry = &self.shared.filters;
        header
            .dataset()
            .is_ok_and(|dataset| registry.is_serial(&filters::pipeline::stages(dataset.filters())))
    }

    /// Returns the header of an object.
    ///
    /// # Errors
    /// Returns `NotFound` if there is no such object, and `Corrupt` if its header cannot be decoded.
    pub fn header(&self, token: Token) -> Result<Arc<ObjectHeader<M>>> {
        self.header_of(M::id(token)?)
    }

    /// Forgets what is cached of an object: the next read sees what other processes committed.
    ///
    /// # Errors
    /// Returns `NotFound` if the object does not exist any more.
    pub(crate) fn refresh(&self, token: Token) -> Result<()> {
        let id = M::id(token)?;
        self.mapping().refresh()?;
        self.shared.forget_header(id);
        self.header_of(id).map(drop)
    }

    pub(crate) fn header_of(&self, id: M::Id) -> Result<Arc<ObjectHeader<M>>> {
        self.shared.header(id, self.limits())
    }

    /// Returns a datatype as it is stored.
    ///
    /// # Errors
    /// Returns `Invalid` if it is said to be the committed datatype `committed`, and differs from it.
    pub(crate) fn file_type(&self, given: &Datatype, committed: Option<Token>) -> Result<Datatype> {
        let file_type = descriptors::file_type(given, &M::DESCRIPTOR_SIZES, self.limits())?;
        match committed {
            Some(token) if *self.header(token)?.datatype()? != file_type => {
                Err(Error::invalid("share committed datatype").with("problem", "its type is another one"))
            }
            _ => Ok(file_type),
        }
    }

    fn retained(&self) -> MutexGuard<'_, HashMap<M::Id, u32>> {
        self.retained.lock()
    }

    /// Retains an object: it stays until it is released, though its last link is removed.
    pub(crate) fn retain(&self, object: Token) -> Result<()> {
        let id = self.header(object)?.id;
        self.shared.reference_counts().retain(id);
        *self.retained().entry(id).or_insert(0) += 1;
        Ok(())
    }

    /// Releases an object once.
    ///
    /// # Errors
    /// Returns `Invalid` if this handle does not retain the object.
    pub(crate) fn release(&self, object: Token) -> Result<()> {
        let id = M::id(object)?;
        let mut counts = self.shared.reference_counts();
        let mut retained = self.retained();
        let count = retained
            .get_mut(&id)
            .ok_or_else(|| Error::invalid("release object that is not retained").with("token", object))?;
        *count -= 1;
        if *count == 0 {
            retained.remove(&id);
        }
        drop(retained);
        self.release_object(&mut counts, id, 1)
    }

    /// Makes all changes durable.
    pub(crate) fn commit(&self) -> Result<()> {
        if !self.is_writing() {
            return Ok(());
        }
        self.mapping().remove_blobs(&self.shared.released.due())?;
        self.shared.flush()
    }

    /// Releases all objects and, with the last handle of the container, removes the objects that have no link. Does
    /// nothing if the handle was closed before.
    pub(crate) fn close(&self) -> Result<()> {
        if self.is_closed.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        let mut counts = self.shared.reference_counts();
        for (id, times) in std::mem::take(&mut *self.retained()) {
            self.release_object(&mut counts, id, times)?;
        }
        let is_last = self.shared.remove_handle();
        if is_last {
            self.remove_unlinked(&mut counts)?;
            self.mapping().remove_blobs(&self.shared.released.all())?;
        }
        drop(counts);
        // The last handle may be read-only while others wrote: what it removed is a change too.
        let ends_writing = is_last && self.shared.is_writable;
        if !self.is_writing() && !ends_writing {
            return Ok(());
        }
        self.shared.elements().flush_all()?;
        if is_last {
            self.mapping().before_close()?;
        }
        self.shared.flush()
    }
}

impl<M: Mapping> Drop for Handle<M> {
    fn drop(&mut self) {
        // `Container::close` reports errors.
        let _ = self.close();
    }
}
