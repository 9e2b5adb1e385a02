//! A container as others see it: every operation checks that it may, and goes to its part of the opening.

/// Makes a [`vol::Container`] of a connector's opening of what all openings of a container share; `identity` reads its
/// tokens. It is a macro, as the table of operations in `vol` is: each operation is one line of meaning,
/// and a trait between the two would say all of them a third time.
#[macro_export]
macro_rules! container {
    ($name:ident, opening: $opening:ty, shared: $shared:ty, identity: $identity:path) => {
        use std::sync::Arc;
        use system::sync::RwLock;

        use keyed::{Datasets, Values};
        use model::datatype::ReferenceKind;
        use model::{Datatype, Error, Link, ObjectKind, Reference, Result, Token};
        use vol::*;

        /// A container until it is closed: then nothing of it stays open, whoever still has it.
        #[derive(Debug)]
        pub(crate) struct $name(RwLock<Option<Arc<$opening>>>);

        impl $name {
            pub(crate) fn new(shared: Arc<$shared>, path: &str, access: FileAccess) -> Self {
                $name(RwLock::new(Some(Arc::new(<$opening>::new(shared, path, access)))))
            }

            fn opening(&self) -> Result<Arc<$opening>> {
                let opening = self.0.read();
                opening.clone().ok_or_else(|| Error::invalid("use container").with("problem", "it is closed"))
            }

            /// The opening, to change something.
            fn to_change(&self) -> Result<Arc<$opening>> {
                let opening = self.opening()?;
                opening.check_writable()?;
                Ok(opening)
            }
        }

        impl Container for $name {
            fn info(&self) -> Result<Arc<ContainerInfo>> {
                let opening = self.opening()?;
                Ok(opening.info.clone())
            }

            fn commit(&self, _durability: Durability) -> Result<()> {
                let opening = self.opening()?;
                if !opening.is_writing() {
                    return Ok(());
                }
                opening.remove_blobs(&opening.released().due())?;
                opening.shared.flush()
            }

            fn close(&self) -> Result<()> {
                let opening = self.opening()?;
                self.0.write().take();
                opening.let_go()
            }

            fn storage_check(&self) -> Result<Vec<StorageFinding>> {
                let opening = self.opening()?;
                opening.shared.elements().settle_all()?;
                opening.check_storage(false)
            }

            fn storage_repair(&self) -> Result<Vec<StorageFinding>> {
                let opening = self.to_change()?;
                opening.shared.elements().settle_all()?;
                opening.check_storage(true)
            }

            fn storage_show(&self) -> Result<String> {
                let opening = self.opening()?;
                opening.shared.elements().settle_all()?;
                opening.show_storage()
            }

            fn retain(&self, object: Token) -> Result<()> {
                let opening = self.opening()?;
                let id = opening.described(object)?.id;
                *opening.shared.structure().handles.entry(id).or_insert(0) += 1;
                *opening.handles().entry(id).or_insert(0) += 1;
                Ok(())
            }

            fn release(&self, object: Token) -> Result<()> {
                let opening = self.opening()?;
                let id = $identity(object)?;
                let mut structure = opening.shared.structure();
                let mut handles = opening.handles();
                let count = handles.get_mut(&id);
                let count = count.ok_or_else(|| {
                    Error::invalid("release object that is not retained").with("token", object)
                })?;
                *count -= 1;
                if *count == 0 {
                    handles.remove(&id);
                }
                drop(handles);
                opening.release_handles(&mut structure, id, 1)
            }

            fn object_info(&self, object: Token) -> Result<ObjectInfo> {
                let opening = self.opening()?;
                let described = opening.described(object)?;
                opening.object_info_of(&described)
            }

            fn object_kinds(&self, objects: &[Token]) -> Result<Vec<ObjectKind>> {
                let opening = self.opening()?;
                opening.kinds(objects)
            }

            fn object_copy(&self, op: &OpObjectCopy) -> Result<Token> {
                let opening = self.to_change()?;
                algorithms::copy::within(self, op, algorithms::copy::CopyOptions::of(op, opening.limits()))
            }

            fn object_set_comment(&self, object: Token, comment: Option<&str>) -> Result<()> {
                let opening = self.to_change()?;
                let described = opening.described(object)?;
                opening.set_comment(&described, comment)
            }

            fn object_adjust_references(&self, object: Token, by: i32) -> Result<u32> {
                let opening = self.to_change()?;
                let described = opening.described(object)?;
                opening.adjust_references(&described, by)
            }

            fn group_create(&self, op: &OpGroupCreate) -> Result<Token> {
                let opening = self.to_change()?;
                opening.make_group(op)
            }

            fn group_info(&self, group: Token) -> Result<GroupInfo> {
                let opening = self.opening()?;
                let described = opening.described(group)?;
                opening.group_info_of(&described)
            }

            fn link_create(&self, op: &OpLinkCreate) -> Result<()> {
                let opening = self.to_change()?;
                opening.make_link(op)
            }

            fn link_get(&self, group: Token, name: &str) -> Result<Option<Link>> {
                let opening = self.opening()?;
                let described = opening.described(group)?;
                opening.link(&described, name)
            }

            fn link_list(&self, group: Token, op: &OpList) -> Result<Page<Link>> {
                let opening = self.opening()?;
                let described = opening.described(group)?;
                opening.list_links(&described, op)
            }

            fn link_delete(&self, group: Token, name: &str) -> Result<()> {
                let opening = self.to_change()?;
                let described = opening.described(group)?;
                opening.delete_link(&described, name)
            }

            fn link_move(&self, op: &OpLinkMove) -> Result<()> {
                let opening = self.to_change()?;
                opening.move_link(op)
            }

            fn lookup(&self, op: &OpLookup) -> Result<Lookup> {
                vol::path::walk(self, op)
            }

            fn attribute_create(&self, op: &OpAttributeCreate) -> Result<()> {
                let opening = self.to_change()?;
                let described = opening.described(op.object)?;
                opening.make_attribute(&described, op)
            }

            fn attribute_info(&self, object: Token, name: &str) -> Result<Option<AttributeInfo>> {
                let opening = self.opening()?;
                let described = opening.described(object)?;
                opening.attribute(&described, name)
            }

            fn attribute_list(&self, object: Token, op: &OpList) -> Result<Page<AttributeInfo>> {
                let opening = self.opening()?;
                let described = opening.described(object)?;
                opening.list_attributes(&described, op)
            }

            fn attribute_read(&self, object: Token, names: &[&str]) -> Result<Vec<Vec<u8>>> {
                let opening = self.opening()?;
                let described = opening.described(object)?;
                opening.attribute_values(&described, names)
            }

            fn attribute_write(&self, object: Token, name: &str, data: &[u8]) -> Result<()> {
                let opening = self.to_change()?;
                let described = opening.described(object)?;
                opening.write_attribute(&described, name, data)
            }

            fn attribute_delete(&self, object: Token, name: &str) -> Result<()> {
                let opening = self.to_change()?;
                let described = opening.described(object)?;
                opening.delete_attribute(&described, name)
            }

            fn attribute_rename(&self, object: Token, from: &str, to: &str) -> Result<()> {
                let opening = self.to_change()?;
                let described = opening.described(object)?;
                opening.rename_attribute(&described, from, to)
            }

            fn dataset_create(&self, op: &OpDatasetCreate) -> Result<Token> {
                let opening = self.to_change()?;
                opening.make_dataset(op)
            }

            fn dataset_info(&self, dataset: Token) -> Result<Arc<DatasetInfo>> {
                Ok(self.opening()?.described(dataset)?.dataset()?.info.clone())
            }

            fn dataset_storage(&self, dataset: Token) -> Result<StorageInfo> {
                self.opening()?.storage_of(dataset)
            }

            fn dataset_read(&self, reads: &mut [OpRead<'_>]) -> Result<()> {
                let opening = self.opening()?;
                opening.read_elements(reads)
            }

            fn dataset_write(&self, writes: &[OpWrite<'_>]) -> Result<()> {
                let opening = self.to_change()?;
                opening.write_elements(writes)
            }

            fn dataset_resize(&self, dataset: Token, dims: &[u64]) -> Result<()> {
                let opening = self.to_change()?;
                let id = opening.described(dataset)?.id;
                opening.resize(id, dims)
            }

            fn chunk_list(&self, dataset: Token, skip: u64, count_max: u64) -> Result<Page<ChunkInfo>> {
                self.opening()?.list_chunks(dataset, skip, count_max)
            }

            fn chunk_read(&self, dataset: Token, offset: &[u64]) -> Result<(u32, Vec<u8>)> {
                self.opening()?.read_chunk(dataset, offset)
            }

            fn chunk_write(
                &self,
                dataset: Token,
                offset: &[u64],
                filter_mask: u32,
                data: &[u8],
            ) -> Result<()> {
                self.to_change()?.write_chunk(dataset, offset, filter_mask, data)
            }

            fn datatype_commit(&self, op: &OpDatatypeCommit) -> Result<Token> {
                let opening = self.to_change()?;
                opening.commit_datatype(op)
            }

            fn datatype_get(&self, datatype: Token) -> Result<Datatype> {
                self.opening()?.described(datatype)?.datatype().cloned()
            }

            fn map_create(&self, op: &OpMapCreate) -> Result<Token> {
                let opening = self.to_change()?;
                opening.make_map(op)
            }

            fn map_info(&self, map: Token) -> Result<MapInfo> {
                let opening = self.opening()?;
                let described = opening.described(map)?;
                opening.map_info_of(&described)
            }

            fn map_put(&self, map: Token, pairs: &[(&[u8], &[u8])]) -> Result<()> {
                let opening = self.to_change()?;
                let described = opening.described(map)?;
                opening.put_pairs(&described, pairs)
            }

            fn map_get(&self, map: Token, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
                let opening = self.opening()?;
                let described = opening.described(map)?;
                opening.values_of(&described, keys)
            }

            fn map_keys(&self, map: Token, after: Option<&[u8]>, count_max: u64) -> Result<Page<Vec<u8>>> {
                let opening = self.opening()?;
                let described = opening.described(map)?;
                opening.list_keys(&described, after, count_max)
            }

            fn map_delete(&self, map: Token, key: &[u8]) -> Result<bool> {
                let opening = self.to_change()?;
                let described = opening.described(map)?;
                opening.delete_pair(&described, key)
            }

            fn blob_put(&self, values: &[&[u8]]) -> Result<Vec<u8>> {
                let opening = self.to_change()?;
                opening.put_blobs(values)
            }

            fn blob_get(&self, ids: &[&[u8]], out: &mut Blobs) -> Result<()> {
                let opening = self.opening()?;
                opening.get_blobs(ids, out)
            }

            fn blob_delete(&self, ids: &[&[u8]]) -> Result<()> {
                let opening = self.to_change()?;
                opening.delete_blobs(ids)
            }

            fn blob_pin(&self, pin: u64) -> Result<()> {
                self.opening()?.released().pin(pin);
                Ok(())
            }

            fn blob_unpin(&self, pin: u64) -> Result<()> {
                self.opening()?.released().unpin(pin);
                Ok(())
            }

            fn reference_get(&self, _kind: ReferenceKind, slots: &[&[u8]]) -> Result<Vec<Reference>> {
                let opening = self.opening()?;
                opening.get_references(slots)
            }

            fn reference_put(&self, kind: ReferenceKind, references: &[Reference]) -> Result<Vec<Vec<u8>>> {
                let opening = self.to_change()?;
                opening.put_references(kind, references)
            }
        }
    };
}
