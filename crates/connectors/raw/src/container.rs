//! A handle of a container: objects are in the inner container, elements and values in files.

use std::sync::Arc;

use algorithms::stored;
use json_text::{SiblingResolver, Translated};
use model::datatype::ReferenceKind;
use model::properties::Layout;
use model::{Error, Limits, Link, ObjectKind, Reference, Result, Token};
use system::sync::RwLock;
use vol::*;

use crate::data::*;
use crate::folder::Folder;
use crate::transfers::renamed;

/// A layer over the inner container.
pub(crate) struct RawContainer {
    pub(crate) opened: Translated,
    /// Released by `close`: without handles, a container is not open.
    folder: RwLock<Option<Arc<Folder>>>,
    is_writable: bool,
    /// The handle that loads and saves: what it stores is in the metadata already.
    pub(crate) is_keeper: bool,
    durability: Durability,
    pub(crate) limits: Limits,
}

impl RawContainer {
    /// Returns which elements of a dataset are stored.
    fn blocks_of(&self, dataset: Token) -> Result<Vec<StoredBlock>> {
        let folder = self.fresh(dataset)?;
        let info = self.shown(&folder, dataset)?;
        if is_external(&info) {
            return Err(Error::unsupported("list what is stored"));
        }
        let data = folder.data(dataset);
        let _reading = data.reading();
        let Some(file) = folder.elements(dataset, &data)? else { return Ok(Vec::new()) };
        let size = u64::from(info.datatype.size()).max(1);
        let runs = stored_runs(&file, size).map_err(|e| Error::io("list what is stored", &e))?;
        let blocks = runs.into_iter().flat_map(|run| stored::run_blocks(run, info.space.dims(), u64::MAX));
        Ok(blocks.map(|block| StoredBlock { start: block.start, shape: block.shape }).collect())
    }
}

fn closed() -> Error {
    Error::invalid("use container").with("problem", "it is closed")
}

impl RawContainer {
    /// Returns a handle for a user.
    pub(crate) fn open(folder: Arc<Folder>, place: &str, access: &FileAccess) -> Result<Arc<dyn Container>> {
        let (opened, siblings) = folder.handle(place, access)?;
        let container = Arc::new(RawContainer {
            opened,
            folder: RwLock::new(Some(folder)),
            is_writable: access.access == Access::Write,
            is_keeper: false,
            durability: access.durability,
            limits: access.limits.clone(),
        });
        let own: Arc<dyn Container> = container;
        siblings.set_own(Arc::downgrade(&own));
        Ok(own)
    }

    /// Returns the handle that loads and saves.
    pub(crate) fn keeper(folder: &Arc<Folder>) -> RawContainer {
        RawContainer {
            opened: folder.keeper().clone(),
            folder: RwLock::new(Some(folder.clone())),
            is_writable: true,
            is_keeper: true,
            durability: Durability::None,
            limits: folder.limits().clone(),
        }
    }

    pub(crate) fn folder(&self) -> Result<Arc<Folder>> {
        self.folder.read().clone().ok_or_else(closed)
    }

    /// Returns the folder, where changes by hand to an object were picked up.
    pub(crate) fn fresh(&self, object: Token) -> Result<Arc<Folder>> {
        let folder = self.folder()?;
        if !self.is_keeper {
            folder.refresh(object)?;
        }
        Ok(folder)
    }

    pub(crate) fn writing(&self) -> Result<Arc<Folder>> {
        let folder = self.folder()?;
        match self.is_writable {
            true => Ok(folder),
            false => Err(Error::denied("change container").with("path", folder.dir().path("").display())),
        }
    }

    /// Changes the metadata of an object.
    fn change<T>(&self, object: Token, change: impl FnOnce() -> Result<T>) -> Result<T> {
        let folder = self.fresh(object)?;
        // Before, for a commit that comes right after the change; and after, for one that came before it.
        folder.touch(object);
        let done = change()?;
        folder.touch(object);
        Ok(done)
    }

    /// Changes the links of groups.
    fn relink<T>(&self, groups: &[Token], change: impl FnOnce() -> Result<T>) -> Result<T> {
        let folder = self.folder()?;
        for &group in groups {
            self.fresh(group)?;
            folder.touch(group);
        }
        let done = change()?;
        groups.iter().for_each(|&group| folder.touch(group));
        Ok(done)
    }

    /// Creates an object, at a place or at none.
    fn make(&self, place: Option<&LinkLocation>, make: impl FnOnce() -> Result<Token>) -> Result<Token> {
        let groups: Vec<Token> = place.map(|place| place.group).into_iter().collect();
        let made = self.relink(&groups, make)?;
        if let Some(place) = place {
            let home = (place.group, place.name.clone());
            self.folder()?.birthplaces().insert(made, home);
        }
        Ok(made)
    }
}

impl Layer for RawContainer {
    fn inner(&self) -> &dyn Container {
        &self.opened
    }

    fn info(&self) -> Result<Arc<ContainerInfo>> {
        let mut info = ContainerInfo::clone(&*Container::info(&self.opened)?);
        info.warnings = self.folder()?.warnings();
        Ok(Arc::new(info))
    }

    fn commit(&self, durability: Durability) -> Result<()> {
        Container::commit(&self.opened, durability)?;
        if !self.is_writable {
            return Ok(());
        }
        let folder = self.folder()?;
        folder.blobs.remove_released(folder.blobs.released.due(), &self.limits)?;
        folder.save(durability)
    }

    fn close(&self) -> Result<()> {
        Layer::commit(self, self.durability)?;
        Container::close(&self.opened)?;
        self.folder.write().take();
        Ok(())
    }

    /// Reports each file of elements that is shorter than it was stored.
    fn storage_check(&self) -> Result<Vec<StorageFinding>> {
        self.folder()?.check_lengths()
    }

    fn stored_blocks(&self, dataset: Token) -> Result<Vec<StoredBlock>> {
        self.blocks_of(dataset)
    }

    fn object_info(&self, object: Token) -> Result<ObjectInfo> {
        self.fresh(object)?;
        Container::object_info(&self.opened, object)
    }

    fn object_kinds(&self, objects: &[Token]) -> Result<Vec<ObjectKind>> {
        objects.iter().try_for_each(|object| self.fresh(*object).map(drop))?;
        Container::object_kinds(&self.opened, objects)
    }

    /// Changes by hand are picked up; those of the container are seen anyway.
    fn object_refresh(&self, object: Token) -> Result<()> {
        self.fresh(object)?;
        Container::object_refresh(&self.opened, object)
    }

    fn object_copy(&self, op: &OpObjectCopy) -> Result<Token> {
        algorithms::copy::within(self, op, self.opened.copy_context())
    }

    fn object_set_comment(&self, object: Token, comment: Option<&str>) -> Result<()> {
        self.change(object, || Container::object_set_comment(&self.opened, object, comment))
    }

    fn group_create(&self, op: &OpGroupCreate) -> Result<Token> {
        self.make(op.place.as_ref(), || Container::group_create(&self.opened, op))
    }

    fn group_info(&self, group: Token) -> Result<GroupInfo> {
        self.fresh(group)?;
        Container::group_info(&self.opened, group)
    }

    fn link_create(&self, op: &OpLinkCreate) -> Result<()> {
        self.relink(&[op.place.group], || Container::link_create(&self.opened, op))
    }

    fn link_get(&self, group: Token, name: &str) -> Result<Option<Link>> {
        self.fresh(group)?;
        Container::link_get(&self.opened, group, name)
    }

    fn link_list(&self, group: Token, op: &OpList) -> Result<Page<Link>> {
        self.fresh(group)?;
        Container::link_list(&self.opened, group, op)
    }

    fn link_delete(&self, group: Token, name: &str) -> Result<()> {
        self.relink(&[group], || Container::link_delete(&self.opened, group, name))
    }

    fn link_move(&self, op: &OpLinkMove) -> Result<()> {
        self.relink(&[op.from, op.to.group], || Container::link_move(&self.opened, op))
    }

    fn lookup(&self, op: &OpLookup) -> Result<Lookup> {
        vol::path::walk(self, op)
    }

    fn attribute_create(&self, op: &OpAttributeCreate) -> Result<()> {
        self.change(op.object, || Container::attribute_create(&self.opened, op))
    }

    fn attribute_info(&self, object: Token, name: &str) -> Result<Option<AttributeInfo>> {
        self.fresh(object)?;
        Container::attribute_info(&self.opened, object, name)
    }

    fn attribute_list(&self, object: Token, op: &OpList) -> Result<Page<AttributeInfo>> {
        self.fresh(object)?;
        Container::attribute_list(&self.opened, object, op)
    }

    fn attribute_read(&self, object: Token, names: &[&str]) -> Result<Vec<Vec<u8>>> {
        self.fresh(object)?;
        Container::attribute_read(&self.opened, object, names)
    }

    fn attribute_write(&self, object: Token, name: &str, data: &[u8]) -> Result<()> {
        self.change(object, || Container::attribute_write(&self.opened, object, name, data))
    }

    fn attribute_delete(&self, object: Token, name: &str) -> Result<()> {
        self.change(object, || Container::attribute_delete(&self.opened, object, name))
    }

    fn attribute_rename(&self, object: Token, from: &str, to: &str) -> Result<()> {
        self.change(object, || Container::attribute_rename(&self.opened, object, from, to))
    }

    fn dataset_create(&self, op: &OpDatasetCreate) -> Result<Token> {
        let mut op = op.clone();
        if let Layout::Virtual(mappings) = &op.create.layout {
            // The inner container has none of our elements: it asks for this one.
            op.create.layout = Layout::Virtual(renamed(mappings, ".", SiblingResolver::OWN));
        }
        self.make(op.place.as_ref(), || Container::dataset_create(&self.opened, &op))
    }

    fn dataset_info(&self, dataset: Token) -> Result<Arc<DatasetInfo>> {
        let folder = self.fresh(dataset)?;
        self.shown(&folder, dataset)
    }

    fn dataset_storage(&self, dataset: Token) -> Result<StorageInfo> {
        let folder = self.fresh(dataset)?;
        let info = self.shown(&folder, dataset)?;
        if is_external(&info) {
            return Container::dataset_storage(&self.opened, dataset);
        }
        let data = folder.data(dataset);
        let _reading = data.reading();
        storage_of(&info, folder.elements(dataset, &data)?.as_ref())
    }

    fn dataset_read(&self, reads: &mut [OpRead<'_>]) -> Result<()> {
        for read in reads.iter() {
            let folder = self.fresh(read.dataset)?;
            algorithms::checks::transfer(
                &*self.shown(&folder, read.dataset)?,
                read.selection,
                read.into.len(),
            )?;
        }
        reads.iter_mut().try_for_each(|read| self.read_one(read))
    }

    fn dataset_write(&self, writes: &[OpWrite<'_>]) -> Result<()> {
        self.writing()?;
        for write in writes {
            let folder = self.fresh(write.dataset)?;
            algorithms::checks::transfer(
                &*self.shown(&folder, write.dataset)?,
                write.selection,
                write.from.len(),
            )?;
        }
        writes.iter().try_for_each(|write| self.write_one(write))
    }

    fn dataset_resize(&self, dataset: Token, dims: &[u64]) -> Result<()> {
        self.resize(dataset, dims)
    }

    fn chunk_list(&self, _dataset: Token, _skip: u64, _count_max: u64) -> Result<Page<ChunkInfo>> {
        Err(Error::unsupported("list raw chunks of a plain file"))
    }

    fn chunk_read(&self, _dataset: Token, _offset: &[u64]) -> Result<(u32, Vec<u8>)> {
        Err(Error::unsupported("read raw chunk of a plain file"))
    }

    fn chunk_write(&self, _dataset: Token, _offset: &[u64], _mask: u32, _data: &[u8]) -> Result<()> {
        Err(Error::unsupported("write raw chunk of a plain file"))
    }

    fn datatype_commit(&self, op: &OpDatatypeCommit) -> Result<Token> {
        self.make(op.place.as_ref(), || Container::datatype_commit(&self.opened, op))
    }

    fn map_create(&self, op: &OpMapCreate) -> Result<Token> {
        self.make(op.place.as_ref(), || Container::map_create(&self.opened, op))
    }

    fn map_info(&self, map: Token) -> Result<MapInfo> {
        self.fresh(map)?;
        Container::map_info(&self.opened, map)
    }

    fn map_put(&self, map: Token, pairs: &[(&[u8], &[u8])]) -> Result<()> {
        self.change(map, || Container::map_put(&self.opened, map, pairs))
    }

    fn map_get(&self, map: Token, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        self.fresh(map)?;
        Container::map_get(&self.opened, map, keys)
    }

    fn map_keys(&self, map: Token, after: Option<&[u8]>, count_max: u64) -> Result<Page<Vec<u8>>> {
        self.fresh(map)?;
        Container::map_keys(&self.opened, map, after, count_max)
    }

    fn map_delete(&self, map: Token, key: &[u8]) -> Result<bool> {
        self.change(map, || Container::map_delete(&self.opened, map, key))
    }

    fn blob_put(&self, values: &[&[u8]]) -> Result<Vec<u8>> {
        let folder = self.writing()?;
        self.put_blobs(&folder, values)
    }

    fn blob_get(&self, ids: &[&[u8]], out: &mut Blobs) -> Result<()> {
        self.folder()?.blobs.get(ids, &self.limits, out)
    }

    fn blob_delete(&self, ids: &[&[u8]]) -> Result<()> {
        self.writing()?.blobs.delete(ids, &self.limits)
    }

    fn blob_pin(&self, pin: u64) -> Result<()> {
        self.folder()?.blobs.released.pin(pin);
        Ok(())
    }

    fn blob_unpin(&self, pin: u64) -> Result<()> {
        self.folder()?.blobs.released.unpin(pin);
        Ok(())
    }

    fn reference_get(&self, kind: ReferenceKind, descriptors: &[&[u8]]) -> Result<Vec<Reference>> {
        let folder = self.folder()?;
        descriptors.iter().map(|descriptor| self.reference_of(&folder, kind, descriptor)).collect()
    }

    fn reference_put(&self, kind: ReferenceKind, references: &[Reference]) -> Result<Vec<Vec<u8>>> {
        let folder = self.writing()?;
        references.iter().try_for_each(|reference| self.check_reference(&folder, kind, reference))?;
        references.iter().map(|reference| self.reference_descriptor(&folder, kind, reference)).collect()
    }
}
