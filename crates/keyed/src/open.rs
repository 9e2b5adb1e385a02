//! Containers that a connector has open.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use model::{Error, Result};
use system::sync::{Mutex, MutexGuard};

/// What openings of one container share, by a key that is the same for the same container. Clones are one table.
#[derive(Debug)]
pub struct Open<S>(Arc<Mutex<HashMap<String, Weak<S>>>>);

impl<S> Clone for Open<S> {
    fn clone(&self) -> Self {
        Open(self.0.clone())
    }
}

impl<S> Default for Open<S> {
    fn default() -> Self {
        Open(Arc::default())
    }
}

impl<S> Open<S> {
    fn table(&self) -> MutexGuard<'_, HashMap<String, Weak<S>>> {
        self.0.lock()
    }

    /// Notes a container that was just made.
    pub fn insert(&self, key: &str, shared: S) -> Arc<S> {
        let shared = Arc::new(shared);
        self.table().insert(key.to_owned(), Arc::downgrade(&shared));
        shared
    }

    /// The container of a key where it is open and fits, else what `open` answers. One is opened at a time.
    pub fn find(
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

    /// Works on a container that nobody has open, and nobody opens meanwhile.
    pub fn while_closed<T>(&self, key: &str, operation: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let mut table = self.table();
        if table.get(key).is_some_and(|shared| shared.strong_count() > 0) {
            return Err(Error::busy(operation).with("container", key));
        }
        table.remove(key);
        work()
    }
}
