//! An open container: every operation takes the lock, checks that it may, and goes to its part of the state.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use algorithms::virtual_dataset::{SourceContainer, Sources, VirtualDataset};
use model::convert::Conversions;
use model::datatype::ReferenceKind;
use model::properties::{FileCreate, FillValue, Layout, VirtualMapping};
use model::{Datatype, Error, Limits, Link, ObjectKind, Reference, Result, Selection, Token};
use system::sync::{Mutex, MutexGuard, RwLockReadGuard, RwLockWriteGuard};
use vol::*;

use crate::check::DESCRIPTOR_SIZES;
use crate::connector::{CAPABILITY, NAME, Store};
use crate::datasets::check_transfer;
use crate::external;
use crate::links::Group;
use crate::objects::{Body, ContainerState, Object};

/// A handle of a container.
pub(crate) struct MemoryContainer {
    store: Arc<Store>,
    path: String,
    access: FileAccess,
    /// For virtual datasets.
    conversions: Arc<Conversions>,
    is_closed: AtomicBool,
    /// Objects that this handle retains: closing it releases what its user did not.
    handles: Mutex<BTreeMap<Token, u32>>,
}

/// Returns the info of a container about itself.
pub(crate) fn describe(state: &ContainerState, create: &FileCreate, writable: bool) -> ContainerInfo {
    ContainerInfo {
        connector: NAME.to_owned(),
        capability: CAPABILITY,
        writable,
        root: state.root(),
        descriptors: DESCRIPTOR_SIZES,
        create: create.clone(),
        storage_bytes: None,
        versions: Vec::new(),
        warnings: Vec::new(),
    }
}

impl MemoryContainer {
    pub(crate) fn new(
        store: Arc<Store>,
        path: &str,
        access: FileAccess,
        conversions: Arc<Conversions>,
    ) -> Self {
        store.opened.fetch_add(1, Ordering::SeqCst);
        let (path, handles) = (path.to_owned(), Mutex::new(BTreeMap::new()));
        MemoryContainer { store, path, access, conversions, is_closed: AtomicBool::new(false), handles }
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.access.limits
    }

    fn check_open(&self) -> Result<()> {
        match self.is_closed.load(Ordering::SeqCst) {
            true => {
                Err(Error::invalid("use container").with("problem", "it is closed").with("path", &self.path))
            }
            false => Ok(()),
        }
    }

    fn state(&self) -> Result<RwLockReadGuard<'_, ContainerState>> {
        self.check_open()?;
        Ok(self.store.state.read())
    }

    /// Returns the state, for what changes it without being a write of the user's.
    fn state_mut(&self) -> Result<RwLockWriteGuard<'_, ContainerState>> {
        self.check_open()?;
        Ok(self.store.state.write())
    }

    fn writing(&self) -> Result<RwLockWriteGuard<'_, ContainerState>> {
        self.check_open()?;
        match self.access.access {
            Access::Read => Err(Error::denied("change container").with("path", &self.path)),
            Access::Write => self.state_mut(),
        }
    }

    fn handles(&self) -> MutexGuard<'_, BTreeMap<Token, u32>> {
        self.handles.lock()
    }

    fn release_handles(&self) {
        if self.is_closed.swap(true, Ordering::SeqCst) {
            return;
        }
        let mut state = self.store.state.write();
        for (token, times) in std::mem::take(&mut *self.handles()) {
            // An object that is gone has nothing to release.
            let _ = state.release(token, times);
        }
        if self.store.opened.fetch_sub(1, Ordering::SeqCst) == 1 {
            state.collect();
        }
    }

    fn read_external(&self, info: &DatasetInfo, selection: &Selection, into: &mut [u8]) -> Result<()> {
        match &info.create.layout {
            Layout::External(files) => self.external(files, info).read(selection, into),
            Layout::Virtual(mappings) => {
                fill(into, &info.create.fill.value);
                virtual_dataset(info, mappings, self.access.virtual_view).read(self, selection, into)
            }
            _ => Ok(()),
        }
    }

    fn write_external(&self, info: &DatasetInfo, selection: &Selection, data: &[u8]) -> Result<()> {
        match &info.create.layout {
            Layout::External(files) => self.external(files, info).write(selection, data),
            Layout::Virtual(mappings) => {
                let dataset = virtual_dataset(info, mappings, self.access.virtual_view);
                dataset.plan_write(self, selection)?.write(self, data)
            }
            _ => Ok(()),
        }
    }

    fn external<'a>(
        &'a self,
        files: &'a [model::properties::ExternalFile],
        info: &'a DatasetInfo,
    ) -> external::Transfer<'a> {
        external::Transfer { files, info, access: &self.access, from: &self.path }
    }
}

fn fill(into: &mut [u8], value: &FillValue) {
    match value {
        FillValue::Value(value) => {
            into.chunks_exact_mut(value.len()).for_each(|descriptor| descriptor.copy_from_slice(value));
        }
        _ => into.fill(0),
    }
}

impl Drop for MemoryContainer {
    fn drop(&mut self) {
        self.release_handles();
    }
}

impl Container for MemoryContainer {
    fn info(&self) -> Result<Arc<ContainerInfo>> {
        let writable = self.access.access == Access::Write;
        Ok(Arc::new(describe(&*self.state()?, &self.store.create, writable)))
    }

    fn commit(&self, _durability: Durability) -> Result<()> {
        self.state_mut()?.generation += 1;
        Ok(())
    }

    fn close(&self) -> Result<()> {
        self.commit(Durability::None)?;
        self.release_handles();
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
        let count = handles.get_mut(&object);
        let count = count
            .ok_or_else(|| Error::invalid("release object that is not retained").with("token", object))?;
        *count -= 1;
        if *count == 0 {
            handles.remove(&object);
        }
        state.release(object, 1)
    }

    fn object_info(&self, object: Token) -> Result<ObjectInfo> {
        self.state()?.object_info(object)
    }

    fn object_kinds(&self, objects: &[Token]) -> Result<Vec<ObjectKind>> {
        let state = self.state()?;
        objects.iter().map(|object| Ok(state.object_info(*object)?.kind)).collect()
    }

    /// Every handle sees the one state there is.
    fn object_refresh(&self, object: Token) -> Result<()> {
        self.state()?.object_info(object).map(drop)
    }

    fn object_copy(&self, op: &OpObjectCopy) -> Result<Token> {
        algorithms::copy::within(self, op, algorithms::copy::CopyContext::of(&self.access, &self.path))
    }

    fn object_set_comment(&self, object: Token, comment: Option<&str>) -> Result<()> {
        self.writing()?.set_comment(object, comment)
    }

    fn object_adjust_references(&self, object: Token, by: i32) -> Result<u32> {
        self.writing()?.adjust_references(object, by)
    }

    fn group_create(&self, op: &OpGroupCreate) -> Result<Token> {
        let object = Object::new(op.create.object.clone(), Body::Group(Group::new(op.create.clone())));
        self.writing()?.insert(object, op.place.as_ref(), self.limits().entries_max)
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

    fn lookup(&self, op: &OpLookup) -> Result<Lookup> {
        path::walk(self, op)
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
        self.writing()?.dataset_create(op, &self.access)
    }

    fn dataset_info(&self, dataset: Token) -> Result<Arc<DatasetInfo>> {
        Ok(self.state()?.dataset(dataset)?.info.clone())
    }

    fn dataset_storage(&self, dataset: Token) -> Result<StorageInfo> {
        self.state()?.dataset_storage(dataset)
    }

    fn dataset_read(&self, reads: &mut [OpRead<'_>]) -> Result<()> {
        let mut external = Vec::new();
        let state = self.state()?;
        for read in reads.iter() {
            check_transfer(&state.dataset(read.dataset)?.info, read.selection, read.into.len())?;
        }
        for (n, read) in reads.iter_mut().enumerate().filter(|(_, read)| !read.into.is_empty()) {
            let dataset = state.dataset(read.dataset)?;
            match dataset.is_here() {
                true => dataset.blocks.read(read.selection, dataset.info.space.dims(), read.into)?,
                false => external.push((n, dataset.info.clone())),
            }
        }
        // Sources may be in this container: they are read without its lock.
        drop(state);
        for (n, info) in external {
            self.read_external(&info, reads[n].selection, reads[n].into)?;
        }
        Ok(())
    }

    fn dataset_write(&self, writes: &[OpWrite<'_>]) -> Result<()> {
        let mut external = Vec::new();
        let mut state = self.writing()?;
        for write in writes {
            check_transfer(&state.dataset(write.dataset)?.info, write.selection, write.from.len())?;
        }
        for write in writes {
            let dataset = state.dataset(write.dataset)?;
            match dataset.is_here() || write.from.is_empty() {
                true => state.dataset_write(write.dataset, write.selection, write.from)?,
                false => external.push((write, dataset.info.clone())),
            }
        }
        drop(state);
        external
            .into_iter()
            .try_for_each(|(write, info)| self.write_external(&info, write.selection, write.from))
    }

    fn dataset_resize(&self, dataset: Token, dims: &[u64]) -> Result<()> {
        self.writing()?.dataset_resize(dataset, dims)
    }

    fn chunk_list(&self, dataset: Token, skip: u64, count_max: u64) -> Result<Page<ChunkInfo>> {
        self.state()?.chunk_list(dataset, skip, count_max)
    }

    fn chunk_read(&self, dataset: Token, offset: &[u64]) -> Result<(u32, Vec<u8>)> {
        self.state()?.chunk_read(dataset, offset)
    }

    fn chunk_write(&self, dataset: Token, offset: &[u64], filter_mask: u32, data: &[u8]) -> Result<()> {
        self.writing()?.chunk_write(dataset, offset, filter_mask, data)
    }

    fn datatype_commit(&self, op: &OpDatatypeCommit) -> Result<Token> {
        let mut state = self.writing()?;
        let body = Body::Datatype(state.file_type(&op.datatype, None, self.limits())?);
        state.insert(Object::new(op.create.clone(), body), op.place.as_ref(), self.limits().entries_max)
    }

    fn datatype_get(&self, datatype: Token) -> Result<Datatype> {
        self.state()?.datatype(datatype).cloned()
    }

    fn map_create(&self, op: &OpMapCreate) -> Result<Token> {
        self.writing()?.map_create(op, self.limits())
    }

    fn map_info(&self, map: Token) -> Result<MapInfo> {
        self.state()?.map_info(map)
    }

    fn map_put(&self, map: Token, pairs: &[(&[u8], &[u8])]) -> Result<()> {
        self.writing()?.map_put(map, pairs, self.limits())
    }

    fn map_get(&self, map: Token, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        self.state()?.map_get(map, keys)
    }

    fn map_keys(&self, map: Token, after: Option<&[u8]>, count_max: u64) -> Result<Page<Vec<u8>>> {
        self.state()?.map_keys(map, after, count_max)
    }

    fn map_delete(&self, map: Token, key: &[u8]) -> Result<bool> {
        self.writing()?.map_delete(map, key)
    }

    fn blob_put(&self, values: &[&[u8]]) -> Result<Vec<u8>> {
        self.writing()?.blob_put(values, self.limits())
    }

    fn blob_get(&self, ids: &[&[u8]], out: &mut Blobs) -> Result<()> {
        self.state()?.blob_get(ids, out)
    }

    fn blob_delete(&self, ids: &[&[u8]]) -> Result<()> {
        self.writing()?.blob_delete(ids)
    }

    fn blob_pin(&self, pin: u64) -> Result<()> {
        self.state()?.blobs.released.pin(pin);
        Ok(())
    }

    fn blob_unpin(&self, pin: u64) -> Result<()> {
        self.state()?.blobs.released.unpin(pin);
        Ok(())
    }

    fn reference_get(&self, kind: ReferenceKind, descriptors: &[&[u8]]) -> Result<Vec<Reference>> {
        self.state()?.reference_get(kind, descriptors)
    }

    fn reference_put(&self, kind: ReferenceKind, references: &[Reference]) -> Result<Vec<Vec<u8>>> {
        self.writing()?.reference_put(kind, references)
    }
}

fn virtual_dataset<'a>(
    info: &'a DatasetInfo,
    mappings: &'a [VirtualMapping],
    view: VirtualView,
) -> VirtualDataset<'a> {
    VirtualDataset { datatype: &info.datatype, space: &info.space, mappings, view }
}

impl Sources for MemoryContainer {
    fn container(&self, name: &str) -> Result<SourceContainer<'_>> {
        if name == "." {
            return Ok(SourceContainer::Own(self));
        }
        let refused = || Error::denied("open virtual source").with("file", name);
        let resolver = self.access.resolver.as_ref().ok_or_else(refused)?;
        resolver.container(name, &self.path).map(SourceContainer::Other)
    }

    /// Containers that readers of this one opened are written to, too: `memory:` containers share their state.
    fn container_for_writing(&self, name: &str) -> Result<SourceContainer<'_>> {
        self.container(name)
    }

    fn link_traversals_max(&self) -> u32 {
        self.access.limits.link_traversals_max
    }

    fn conversions(&self) -> &Conversions {
        &self.conversions
    }
}
