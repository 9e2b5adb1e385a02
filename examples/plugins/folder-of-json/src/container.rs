//! An open container: every operation takes the lock, checks that it may, and goes to its part of the state.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLockReadGuard, RwLockWriteGuard};

use model::datatype::DescriptorSizes;
use model::{Error, Limits, Link, Result, Token};
use vol::*;

use crate::connector::{CAPABILITY, NAME, Store};
use crate::files;
use crate::objects::State;

/// A handle of a container.
pub(crate) struct JsonContainer {
    store: Arc<Store>,
    access: FileAccess,
    is_closed: AtomicBool,
    /// Objects that this handle retains: closing it releases what its user did not.
    handles: Mutex<BTreeMap<Token, u32>>,
}

impl JsonContainer {
    pub(crate) fn new(store: Arc<Store>, access: FileAccess) -> Self {
        store.handles.fetch_add(1, Ordering::SeqCst);
        JsonContainer { store, access, is_closed: AtomicBool::new(false), handles: Mutex::default() }
    }

    fn limits(&self) -> &Limits {
        &self.access.limits
    }

    fn check_open(&self) -> Result<()> {
        match self.is_closed.load(Ordering::SeqCst) {
            true => Err(Error::invalid("use container").with("problem", "it is closed")),
            false => Ok(()),
        }
    }

    fn state(&self) -> Result<RwLockReadGuard<'_, State>> {
        self.check_open()?;
        Ok(self.store.state.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the state, for what changes it without being a write of the user's.
    fn state_mut(&self) -> Result<RwLockWriteGuard<'_, State>> {
        self.check_open()?;
        Ok(self.store.state.write().unwrap_or_else(PoisonError::into_inner))
    }

    fn writing(&self) -> Result<RwLockWriteGuard<'_, State>> {
        self.check_open()?;
        match self.access.access {
            Access::Read => Err(Error::denied("change container").with("problem", "it is open for reading")),
            Access::Write => self.state_mut(),
        }
    }

    fn handles(&self) -> MutexGuard<'_, BTreeMap<Token, u32>> {
        self.handles.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Releases what is still retained; the last handle also removes what no one can reach any more.
    fn let_go(&self, state: &mut State) {
        for (token, times) in std::mem::take(&mut *self.handles()) {
            // An object that is gone has nothing to release.
            let _ = state.release(token, times);
        }
        if self.store.handles.load(Ordering::SeqCst) == 1 {
            state.collect();
        }
    }

    fn save(&self, state: &mut State, durability: Durability) -> Result<()> {
        match self.access.access {
            Access::Read => Ok(()),
            Access::Write => files::save(state, &self.store.folder, durability),
        }
    }
}

impl Drop for JsonContainer {
    fn drop(&mut self) {
        if !self.is_closed.swap(true, Ordering::SeqCst) {
            self.let_go(&mut self.store.state.write().unwrap_or_else(PoisonError::into_inner));
            self.store.handles.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

impl Container for JsonContainer {
    fn info(&self) -> Result<Arc<ContainerInfo>> {
        let state = self.state()?;
        Ok(Arc::new(ContainerInfo {
            connector: NAME.to_owned(),
            capability: CAPABILITY,
            writable: self.access.access == Access::Write,
            root: state.root(),
            descriptors: DescriptorSizes::MEMORY,
            create: state.create.clone(),
            storage_bytes: None,
            versions: Vec::new(),
            warnings: Vec::new(),
        }))
    }

    fn commit(&self, durability: Durability) -> Result<()> {
        self.save(&mut *self.state_mut()?, durability)
    }

    fn close(&self) -> Result<()> {
        let mut state = self.state_mut()?;
        self.let_go(&mut state);
        self.save(&mut state, self.access.durability)?;
        self.is_closed.store(true, Ordering::SeqCst);
        self.store.handles.fetch_sub(1, Ordering::SeqCst);
        Ok(())
    }

    fn retain(&self, object: Token) -> Result<()> {
        self.state_mut()?.retain(object)?;
        *self.handles().entry(object).or_insert(0) += 1;
        Ok(())
    }

    fn release(&self, object: Token) -> Result<()> {
        let mut state = self.state_mut()?;
        let mut handles = self.handles();
        let count =
            handles.get_mut(&object).ok_or_else(|| Error::invalid("release object that is not retained"))?;
        *count -= 1;
        if *count == 0 {
            handles.remove(&object);
        }
        state.release(object, 1)
    }

    fn object_info(&self, object: Token) -> Result<ObjectInfo> {
        self.state()?.object_info(object)
    }

    fn object_adjust_references(&self, object: Token, by: i32) -> Result<u32> {
        self.writing()?.adjust_references(object, by)
    }

    fn group_create(&self, op: &OpGroupCreate) -> Result<Token> {
        self.writing()?.group_create(op.create.clone(), op.place.as_ref(), self.limits().entries_max)
    }

    fn group_info(&self, group: Token) -> Result<GroupInfo> {
        self.state()?.group_info(group)
    }

    fn link_create(&self, op: &OpLinkCreate) -> Result<()> {
        self.writing()?.link_create(op, self.limits().entries_max)
    }

    fn link_get(&self, group: Token, name: &str) -> Result<Option<Link>> {
        self.state()?.link_get(group, name)
    }

    fn link_list(&self, group: Token, op: &OpList) -> Result<Page<Link>> {
        self.state()?.link_list(group, op)
    }

    fn link_delete(&self, group: Token, name: &str) -> Result<()> {
        self.writing()?.link_delete(group, name)
    }

    fn link_move(&self, op: &OpLinkMove) -> Result<()> {
        self.writing()?.link_move(op, self.limits().entries_max)
    }

    fn attribute_create(&self, op: &OpAttributeCreate) -> Result<()> {
        self.writing()?.attribute_create(op, self.limits())
    }

    fn attribute_info(&self, object: Token, name: &str) -> Result<Option<AttributeInfo>> {
        self.state()?.attribute_info(object, name)
    }

    fn attribute_list(&self, object: Token, op: &OpList) -> Result<Page<AttributeInfo>> {
        self.state()?.attribute_list(object, op)
    }

    fn attribute_read(&self, object: Token, names: &[&str]) -> Result<Vec<Vec<u8>>> {
        self.state()?.attribute_read(object, names)
    }

    fn attribute_write(&self, object: Token, name: &str, data: &[u8]) -> Result<()> {
        self.writing()?.attribute_write(object, name, data)
    }

    fn attribute_delete(&self, object: Token, name: &str) -> Result<()> {
        self.writing()?.attribute_delete(object, name)
    }

    fn attribute_rename(&self, object: Token, from: &str, to: &str) -> Result<()> {
        self.writing()?.attribute_rename(object, from, to)
    }

    fn dataset_create(&self, op: &OpDatasetCreate) -> Result<Token> {
        self.writing()?.dataset_create(op, self.limits())
    }

    fn dataset_info(&self, dataset: Token) -> Result<Arc<DatasetInfo>> {
        Ok(self.state()?.dataset(dataset)?.info.clone())
    }

    fn dataset_storage(&self, dataset: Token) -> Result<StorageInfo> {
        self.state()?.dataset_storage(dataset)
    }

    fn dataset_read(&self, reads: &mut [OpRead<'_>]) -> Result<()> {
        self.state()?.dataset_read(reads)
    }

    fn dataset_write(&self, writes: &[OpWrite<'_>]) -> Result<()> {
        self.writing()?.dataset_write(writes)
    }

    /// Elements are kept by their number in C order, which another extent would change.
    fn dataset_resize(&self, dataset: Token, _: &[u64]) -> Result<()> {
        self.state()?.dataset(dataset)?;
        Err(Error::unsupported("resize dataset"))
    }
}
