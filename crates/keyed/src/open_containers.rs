//! The containers that a connector has open.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use model::{Error, Result};
use system::sync::{Mutex, MutexGuard};

/// The shared state of open containers, by a key that is the same for the same container. Clones share one table.
#[derive(Debug)]
pub(crate) struct OpenContainers<S>(Arc<Mutex<HashMap<String, Weak<S>>>>);

impl<S> Clone for OpenContainers<S> {
    fn clone(&self) -> Self {
        OpenContainers(self.0.clone())
    }
}

impl<S> Default for OpenContainers<S> {
    fn default() -> Self {
        OpenContainers(Arc::default())
    }
}

impl<S> OpenContainers<S> {
    fn table(&self) -> MutexGuard<'_, HashMap<String, Weak<S>>> {
        self.0.lock()
    }

    /// Adds a container that was just created.
    pub(crate) fn insert(&self, key: &str, shared: S) -> Arc<S> {
        let shared = Arc::new(shared);
        self.table().insert(key.to_owned(), Arc::downgrade(&shared));
        shared
    }

    /// Returns the container of a key if it is open and `fits`, or else opens it. One container is opened at a time.
    pub(crate) fn find(
        &self,
        key: &str,
        fits: impl FnOnce(&S) -> bool,
        open: impl FnOnce() -> Result<S>,
    ) -> Result<Arc<S>> {
        let mut table = self.table();
        table.retain(|_, shared| shared.strong_count() > 0);
        if let Some(shared) = table.get(key).and_then(Weak::upgrade).filter(|shared| fits(shared)) {
            return Ok(shared);
        }
        let shared = Arc::new(open()?);
        table.insert(key.to_owned(), Arc::downgrade(&shared));
        Ok(shared)
    }

    /// Runs `work` on a container that is not open, and cannot be opened meanwhile.
    ///
    /// # Errors
    /// Returns `Busy` if the container is open.
    pub(crate) fn while_closed<T>(
        &self,
        key: &str,
        operation: &str,
        work: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let mut table = self.table();
        if table.get(key).is_some_and(|shared| shared.strong_count() > 0) {
            return Err(Error::busy(operation).with("container", key));
        }
        table.remove(key);
        work()
    }
}
