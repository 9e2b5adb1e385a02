//! `vol::Container` on any mapping: every operation checks that the container is open and may be changed, and goes to
//! the handle.

use std::sync::Arc;
use vol::StorageFinding;

use algorithms::copy;
use model::datatype::ReferenceKind;
use model::{Datatype, Error, Link, ObjectKind, Reference, Result, Token};
use system::sync::RwLock;
use vol::*;

use crate::mapping::Mapping;
use crate::{Handle, Shared};

/// An open container. Once it is closed, every operation fails.
#[derive(Debug)]
pub struct KeyedContainer<M: Mapping>(RwLock<Option<Arc<Handle<M>>>>);

impl<M: Mapping> KeyedContainer<M> {
    /// Returns a new handle of a container.
    pub fn new(shared: Arc<Shared<M>>, path: &str, access: FileAccess) -> Self {
        KeyedContainer(RwLock::new(Some(Arc::new(Handle::new(shared, path, access)))))
    }

    fn handle(&self) -> Result<Arc<Handle<M>>> {
        let handle = self.0.read();
        handle.clone().ok_or_else(|| Error::invalid("use container").with("problem", "it is closed"))
    }

    /// Returns the handle to change something.
    ///
    /// # Errors
    /// Returns `Denied` if the handle is read-only.
    fn to_change(&self) -> Result<Arc<Handle<M>>> {
        let handle = self.handle()?;
        handle.check_writable()?;
        Ok(handle)
    }
}

impl<M: Mapping> Container for KeyedContainer<M> {
    fn info(&self) -> Result<Arc<ContainerInfo>> {
        Ok(self.handle()?.info.clone())
    }

    fn commit(&self, _durability: Durability) -> Result<()> {
        self.handle()?.commit()
    }

    fn close(&self) -> Result<()> {
        let handle = self.handle()?;
        self.0.write().take();
        handle.close()
    }

    fn storage_check(&self) -> Result<Vec<StorageFinding>> {
        self.handle()?.check_storage(false)
    }

    fn storage_repair(&self) -> Result<Vec<StorageFinding>> {
        self.handle()?.check_storage(true)
    }

    fn storage_show(&self) -> Result<String> {
        self.handle()?.show_storage()
    }

    fn retain(&self, object: Token) -> Result<()> {
        self.handle()?.retain(object)
    }

    fn release(&self, object: Token) -> Result<()> {
        self.handle()?.release(object)
    }

    fn object_info(&self, object: Token) -> Result<ObjectInfo> {
        let handle = self.handle()?;
        handle.object_info(&*handle.header(object)?)
    }

    fn object_kinds(&self, objects: &[Token]) -> Result<Vec<ObjectKind>> {
        self.handle()?.object_kinds(objects)
    }

    fn object_refresh(&self, object: Token) -> Result<()> {
        self.handle()?.refresh(object)
    }

    fn object_copy(&self, op: &OpObjectCopy) -> Result<Token> {
        let handle = self.to_change()?;
        copy::within(self, op, handle.copy_context())
    }

    fn object_set_comment(&self, object: Token, comment: Option<&str>) -> Result<()> {
        let handle = self.to_change()?;
        handle.mapping().put_comment(&*handle.header(object)?, comment)
    }

    fn object_adjust_references(&self, object: Token, by: i32) -> Result<u32> {
        let handle = self.to_change()?;
        handle.adjust_references(&*handle.header(object)?, by)
    }

    fn group_create(&self, op: &OpGroupCreate) -> Result<Token> {
        self.to_change()?.create_group(op)
    }

    fn group_info(&self, group: Token) -> Result<GroupInfo> {
        let handle = self.handle()?;
        handle.group_info(&*handle.header(group)?)
    }

    fn link_create(&self, op: &OpLinkCreate) -> Result<()> {
        self.to_change()?.create_link(op)
    }

    fn link_get(&self, group: Token, name: &str) -> Result<Option<Link>> {
        let handle = self.handle()?;
        handle.link(&*handle.header(group)?, name)
    }

    fn link_list(&self, group: Token, op: &OpList) -> Result<Page<Link>> {
        let handle = self.handle()?;
        handle.list_links(&*handle.header(group)?, op)
    }

    fn link_delete(&self, group: Token, name: &str) -> Result<()> {
        let handle = self.to_change()?;
        handle.delete_link(&*handle.header(group)?, name)
    }

    fn link_move(&self, op: &OpLinkMove) -> Result<()> {
        self.to_change()?.move_link(op)
    }

    fn lookup(&self, op: &OpLookup) -> Result<Lookup> {
        vol::path::walk(self, op)
    }

    fn attribute_create(&self, op: &OpAttributeCreate) -> Result<()> {
        let handle = self.to_change()?;
        handle.create_attribute(&*handle.header(op.object)?, op)
    }

    fn attribute_info(&self, object: Token, name: &str) -> Result<Option<AttributeInfo>> {
        let handle = self.handle()?;
        handle.attribute_info(&*handle.header(object)?, name)
    }

    fn attribute_list(&self, object: Token, op: &OpList) -> Result<Page<AttributeInfo>> {
        let handle = self.handle()?;
        handle.list_attributes(&*handle.header(object)?, op)
    }

    fn attribute_read(&self, object: Token, names: &[&str]) -> Result<Vec<Vec<u8>>> {
        let handle = self.handle()?;
        handle.mapping().read_attributes(&*handle.header(object)?, names, handle.limits())
    }

    fn attribute_write(&self, object: Token, name: &str, data: &[u8]) -> Result<()> {
        let handle = self.to_change()?;
        handle.write_attribute(&*handle.header(object)?, name, data)
    }

    fn attribute_delete(&self, object: Token, name: &str) -> Result<()> {
        let handle = self.to_change()?;
        handle.delete_attribute(&*handle.header(object)?, name)
    }

    fn attribute_rename(&self, object: Token, from: &str, to: &str) -> Result<()> {
        let handle = self.to_change()?;
        handle.rename_attribute(&*handle.header(object)?, from, to)
    }

    fn dataset_create(&self, op: &OpDatasetCreate) -> Result<Token> {
        self.to_change()?.create_dataset(op)
    }

    fn dataset_info(&self, dataset: Token) -> Result<Arc<DatasetInfo>> {
        Ok(self.handle()?.header(dataset)?.dataset()?.info.clone())
    }

    fn dataset_storage(&self, dataset: Token) -> Result<StorageInfo> {
        self.handle()?.storage_of(dataset)
    }

    fn dataset_read(&self, reads: &mut [OpRead<'_>]) -> Result<()> {
        self.handle()?.read_elements(reads)
    }

    fn is_serial(&self, dataset: Token) -> bool {
        self.handle().is_ok_and(|handle| handle.is_serial(dataset))
    }

    fn dataset_write(&self, writes: &[OpWrite<'_>]) -> Result<()> {
        self.to_change()?.write_elements(writes)
    }

    fn dataset_resize(&self, dataset: Token, dims: &[u64]) -> Result<()> {
        let handle = self.to_change()?;
        let id = handle.header(dataset)?.id;
        handle.resize(id, dims)
    }

    fn chunk_list(&self, dataset: Token, skip: u64, count_max: u64) -> Result<Page<ChunkInfo>> {
        self.handle()?.list_chunks(dataset, skip, count_max)
    }

    fn chunk_read(&self, dataset: Token, offset: &[u64]) -> Result<(u32, Vec<u8>)> {
        self.handle()?.read_chunk(dataset, offset)
    }

    fn chunk_write(&self, dataset: Token, offset: &[u64], filter_mask: u32, data: &[u8]) -> Result<()> {
        self.to_change()?.write_chunk(dataset, offset, filter_mask, data)
    }

    fn datatype_commit(&self, op: &OpDatatypeCommit) -> Result<Token> {
        self.to_change()?.commit_datatype(op)
    }

    fn datatype_get(&self, datatype: Token) -> Result<Datatype> {
        self.handle()?.header(datatype)?.datatype().cloned()
    }

    fn map_create(&self, op: &OpMapCreate) -> Result<Token> {
        self.to_change()?.create_map(op)
    }

    fn map_info(&self, map: Token) -> Result<MapInfo> {
        let handle = self.handle()?;
        handle.map_info(&*handle.header(map)?)
    }

    fn map_put(&self, map: Token, pairs: &[(&[u8], &[u8])]) -> Result<()> {
        let handle = self.to_change()?;
        handle.put_pairs(&*handle.header(map)?, pairs)
    }

    fn map_get(&self, map: Token, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        let handle = self.handle()?;
        handle.map_values(&*handle.header(map)?, keys)
    }

    fn map_keys(&self, map: Token, after: Option<&[u8]>, count_max: u64) -> Result<Page<Vec<u8>>> {
        let handle = self.handle()?;
        handle.map_keys(&*handle.header(map)?, after, count_max)
    }

    fn map_delete(&self, map: Token, key: &[u8]) -> Result<bool> {
        let handle = self.to_change()?;
        handle.delete_pair(&*handle.header(map)?, key)
    }

    fn blob_put(&self, values: &[&[u8]]) -> Result<Vec<u8>> {
        self.to_change()?.put_blobs(values)
    }

    fn blob_get(&self, ids: &[&[u8]], out: &mut Blobs) -> Result<()> {
        self.handle()?.get_blobs(ids, out)
    }

    fn blob_delete(&self, ids: &[&[u8]]) -> Result<()> {
        self.to_change()?.delete_blobs(ids)
    }

    fn blob_pin(&self, pin: u64) -> Result<()> {
        self.handle()?.shared.released.pin(pin);
        Ok(())
    }

    fn blob_unpin(&self, pin: u64) -> Result<()> {
        self.handle()?.shared.released.unpin(pin);
        Ok(())
    }

    fn reference_get(&self, _kind: ReferenceKind, descriptors: &[&[u8]]) -> Result<Vec<Reference>> {
        self.handle()?.get_references(descriptors)
    }

    fn reference_put(&self, kind: ReferenceKind, references: &[Reference]) -> Result<Vec<Vec<u8>>> {
        self.to_change()?.put_references(kind, references)
    }
}
