//! The operations of the contract, each handed to a caller that does it.

use std::sync::Arc;

use filters::pipeline::stages;
use model::datatype::ReferenceKind;
use model::properties::AllocTime;
use model::{Datatype, Error, Link, LinkTarget, ObjectKind, Reference, Result, Token};
use vol::{
    AttributeInfo, Blobs, ChunkCacheInfo, ChunkInfo, Container, ContainerInfo, DatasetInfo, Durability,
    GroupInfo, Lookup, MapInfo, ObjectInfo, OpAttributeCreate, OpDatasetCreate, OpDatatypeCommit,
    OpGroupCreate, OpLinkCreate, OpLinkMove, OpList, OpLookup, OpMapCreate, OpObjectCopy, OpPlacement,
    OpRead, OpWrite, Page, Placement, StorageInfo,
};

use super::{NativeContainer, address, attributes, datasets, links, objects, optional};
use crate::gate::Scope;
use crate::maps;
use crate::metadata_cache::CacheEvent;
use crate::object::{dataset, global_heap, group, reference};
use crate::store::Commit;
use crate::write::Writer;
use crate::{chunk, placement};

impl Container for NativeContainer {
    fn info(&self) -> Result<Arc<ContainerInfo>> {
        self.open_file()?;
        Ok(self.info.clone())
    }

    fn commit(&self, durability: Durability) -> Result<()> {
        let file = self.open_file()?;
        if !file.writable {
            return Ok(());
        }
        file.commit_sources(durability)?;
        file.commits.share(durability, || {
            let begun = {
                let _maps = maps::indexes(self)?;
                file.writer()?.begin_commit(durability)?
            };
            begun.map_or(Ok(()), Commit::run)?;
            file.log.note(CacheEvent::Flush);
            file.store.shared.publish()
        })
    }

    fn close(&self) -> Result<()> {
        self.close_handle()
    }

    fn retain(&self, object: Token) -> Result<()> {
        objects::retain(self, object)
    }

    fn release(&self, object: Token) -> Result<()> {
        objects::release(self, object)
    }

    fn object_copy(&self, op: &OpObjectCopy) -> Result<Token> {
        objects::copy(self, op)
    }

    fn object_set_comment(&self, object: Token, comment: Option<&str>) -> Result<()> {
        let at = address(object);
        self.change_objects(&[at], |writer| writer.objects.set_comment(at, comment))
    }

    fn object_adjust_references(&self, object: Token, by: i32) -> Result<u32> {
        self.change_structure(|writer| writer.adjust_references(address(object), by))
    }

    fn group_create(&self, op: &OpGroupCreate) -> Result<Token> {
        self.create(op.place.as_ref(), (None, false), |writer| writer.group_create(&op.create))
    }

    fn link_create(&self, op: &OpLinkCreate) -> Result<()> {
        let create = |writer: &mut Writer| writer.link_create(&op.place, op.target.clone());
        match op.target {
            LinkTarget::Hard(object) => {
                self.change_objects(&[address(op.place.group), address(object)], create)
            }
            _ => self.change_objects(&[address(op.place.group)], create),
        }
    }

    fn link_delete(&self, group: Token, name: &str) -> Result<()> {
        self.change_structure(|writer| writer.link_delete(address(group), name))
    }

    fn link_move(&self, op: &OpLinkMove) -> Result<()> {
        self.change_structure(|writer| writer.link_move(op))
    }

    fn attribute_create(&self, op: &OpAttributeCreate) -> Result<()> {
        maps::check_attribute(&op.name)?;
        match op.committed {
            None => self.change_objects(&[address(op.object)], |writer| writer.attribute_create(op)),
            Some(datatype) => {
                let objects = [address(op.object), address(datatype)];
                self.change_objects(&objects, |writer| writer.attribute_create(op))
            }
        }
    }

    fn attribute_write(&self, object: Token, name: &str, data: &[u8]) -> Result<()> {
        let at = address(object);
        self.change(Scope::Objects(&[at]), |writer| writer.attribute_write(at, name, data))
    }

    fn attribute_delete(&self, object: Token, name: &str) -> Result<()> {
        maps::check_attribute(name)?;
        self.change_structure(|writer| writer.attribute_delete(address(object), name))
    }

    fn attribute_rename(&self, object: Token, from: &str, to: &str) -> Result<()> {
        maps::check_attribute(from)?;
        maps::check_attribute(to)?;
        let at = address(object);
        self.change_objects(&[at], |writer| writer.objects.attribute_rename(at, from, to))
    }

    fn dataset_create(&self, op: &OpDatasetCreate) -> Result<Token> {
        let is_early = op.create.alloc_time == AllocTime::Early;
        self.create(op.place.as_ref(), (op.committed, is_early), |writer| writer.dataset_create(op))
    }

    fn datatype_commit(&self, op: &OpDatatypeCommit) -> Result<Token> {
        self.create(op.place.as_ref(), (None, false), |writer| writer.datatype_commit(op))
    }

    fn dataset_write(&self, writes: &[OpWrite<'_>]) -> Result<()> {
        datasets::write(self, writes)
    }

    fn dataset_resize(&self, dataset: Token, dims: &[u64]) -> Result<()> {
        let at = address(dataset);
        self.change(Scope::Objects(&[at]), |writer| writer.dataset_resize(at, dims))
    }

    fn chunk_write(&self, dataset: Token, offset: &[u64], filter_mask: u32, data: &[u8]) -> Result<()> {
        let at = address(dataset);
        self.change(Scope::Objects(&[at]), |writer| writer.chunk_write(at, offset, filter_mask, data))
    }

    fn elements_find(&self, op: &OpPlacement) -> Result<Placement> {
        let (view, dataset) = self.dataset(op.dataset)?;
        placement::find(view.file, &dataset, &op.selection)
    }

    fn elements_place(&self, op: &OpPlacement) -> Result<Placement> {
        datasets::place(self, op)
    }

    fn elements_changed(&self, op: &OpPlacement) -> Result<()> {
        datasets::changed(self, op)
    }

    fn map_create(&self, op: &OpMapCreate) -> Result<Token> {
        maps::create(self, op)
    }

    fn map_info(&self, map: Token) -> Result<MapInfo> {
        maps::info(self, map)
    }

    fn map_put(&self, map: Token, pairs: &[(&[u8], &[u8])]) -> Result<()> {
        maps::put(self, map, pairs)
    }

    fn map_get(&self, map: Token, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        maps::get(self, map, keys)
    }

    fn map_keys(&self, map: Token, after: Option<&[u8]>, count_max: u64) -> Result<Page<Vec<u8>>> {
        maps::keys(self, map, after, count_max)
    }

    fn map_delete(&self, map: Token, key: &[u8]) -> Result<bool> {
        maps::delete(self, map, key)
    }

    fn blob_put(&self, values: &[&[u8]]) -> Result<Vec<u8>> {
        self.change_values(|writer| writer.values.put(values, &mut writer.storage))
    }

    fn blob_delete(&self, ids: &[&[u8]]) -> Result<()> {
        self.change_values(|writer| writer.values.delete(ids, &mut writer.storage))
    }

    fn reference_put(&self, kind: ReferenceKind, references: &[Reference]) -> Result<Vec<Vec<u8>>> {
        self.change_values(|writer| references.iter().map(|r| writer.reference_put(kind, r)).collect())
    }

    fn object_info(&self, object: Token) -> Result<ObjectInfo> {
        objects::info(self, object)
    }

    fn object_kinds(&self, objects: &[Token]) -> Result<Vec<ObjectKind>> {
        objects::kinds(self, objects)
    }

    fn group_info(&self, group: Token) -> Result<GroupInfo> {
        let view = self.view(group)?;
        let header = view.header(group)?;
        view.file.steady(|| group::info(view.file, &header))
    }

    fn link_get(&self, group: Token, name: &str) -> Result<Option<Link>> {
        links::find(self, group, name)
    }

    fn lookup(&self, op: &OpLookup) -> Result<Lookup> {
        vol::path::walk(self, op)
    }

    fn link_list(&self, group: Token, op: &OpList) -> Result<Page<Link>> {
        links::list(self, group, op)
    }

    fn attribute_info(&self, object: Token, name: &str) -> Result<Option<AttributeInfo>> {
        attributes::info(self, object, name)
    }

    fn attribute_list(&self, object: Token, op: &OpList) -> Result<Page<AttributeInfo>> {
        attributes::list(self, object, op)
    }

    fn attribute_read(&self, object: Token, names: &[&str]) -> Result<Vec<Vec<u8>>> {
        attributes::read(self, object, names)
    }

    fn dataset_info(&self, dataset: Token) -> Result<Arc<DatasetInfo>> {
        datasets::info(self, dataset)
    }

    fn dataset_storage(&self, dataset: Token) -> Result<StorageInfo> {
        let (view, dataset) = self.dataset(dataset)?;
        view.file.steady(|| chunk::storage(view.file, &dataset))
    }

    fn optional(&self, name: &str, request: &[u8]) -> Result<Vec<u8>> {
        optional::run(self, name, request)
    }

    fn start_swmr(&self) -> Result<()> {
        NativeContainer::start_swmr(self)
    }

    fn object_refresh(&self, object: Token) -> Result<()> {
        self.refresh(object)
    }

    fn chunk_cache_info(&self) -> Result<ChunkCacheInfo> {
        let [hits, misses, bytes, bytes_max] = self.open_file()?.chunks.statistics();
        Ok(ChunkCacheInfo { hits, misses, bytes, bytes_max })
    }

    fn chunk_cache_set(&self, dataset: Token, bytes: u64) -> Result<()> {
        let (view, _, _) = self.chunked(dataset)?;
        view.file.chunks.set_budget(address(dataset), bytes);
        Ok(())
    }

    fn dataset_read(&self, reads: &mut [OpRead<'_>]) -> Result<()> {
        datasets::read(self, reads)
    }

    fn is_serial(&self, dataset: Token) -> bool {
        let has_serial_filter = || {
            let opened = self.dataset(dataset);
            opened.is_ok_and(|(view, dataset)| view.file.registry.is_serial(&stages(dataset.filters())))
        };
        self.file.store.is_serial() || has_serial_filter()
    }

    fn chunk_list(&self, dataset: Token, skip: u64, count_max: u64) -> Result<Page<ChunkInfo>> {
        let (view, dataset, layout) = self.chunked(dataset)?;
        view.file.steady(|| chunk::list(view.file, &dataset, &layout, skip, count_max))
    }

    fn chunk_read(&self, dataset: Token, offset: &[u64]) -> Result<(u32, Vec<u8>)> {
        let (view, dataset, layout) = self.chunked(dataset)?;
        view.file.steady(|| chunk::read_raw(view.file, &dataset, &layout, offset))
    }

    fn datatype_get(&self, datatype: Token) -> Result<Datatype> {
        let view = self.view(datatype)?;
        let header = view.header(datatype)?;
        match header.object_kind()? {
            ObjectKind::Datatype => Ok(dataset::datatype(view.file, &header)?.0),
            _ => Err(Error::invalid("open datatype").with("problem", "object is not a datatype")),
        }
    }

    fn blob_get(&self, ids: &[&[u8]], out: &mut Blobs) -> Result<()> {
        let file = self.open_file()?;
        let _still = if self.is_held { None } else { file.reading_values()? };
        global_heap::get(&self.file, ids, out)
    }

    fn blob_pin(&self, pin: u64) -> Result<()> {
        self.open_file()?.released.pin(pin);
        Ok(())
    }

    fn blob_unpin(&self, pin: u64) -> Result<()> {
        self.file.released.unpin(pin);
        Ok(())
    }

    fn reference_get(&self, kind: ReferenceKind, descriptors: &[&[u8]]) -> Result<Vec<Reference>> {
        let file = self.open_file()?;
        let _still = if self.is_held { None } else { file.reading_values()? };
        descriptors.iter().map(|descriptor| reference::decode(&self.file, kind, descriptor)).collect()
    }
}
