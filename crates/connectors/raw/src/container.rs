//! One opening of a container: objects are beneath, elements and values are in files.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, RwLock};

use json_text::text::{read, write};
use json_text::{Beside, Translated, reference_from_json, reference_to_json};
use model::datatype::ReferenceKind;
use model::properties::{Layout, VirtualMapping};
use model::{Error, Limits, Link, Reference, ReferenceTarget, Result, Token};
use vol::*;

use crate::data::*;
use crate::folder::Folder;
use crate::load::Whoever;

/// A layer over the container beneath.
pub(crate) struct RawContainer {
    opened: Translated,
    /// Let go at the close: without openings, a container is not open.
    folder: RwLock<Option<Arc<Folder>>>,
    is_writable: bool,
    /// The opening that loads and saves: what it stores is in the metadata already.
    is_keeper: bool,
    durability: Durability,
    limits: Limits,
}

fn closed() -> Error {
    Error::invalid("use container").with("problem", "it is closed")
}

impl RawContainer {
    /// An opening for a user.
    pub(crate) fn open(folder: Arc<Folder>, place: &str, access: &FileAccess) -> Result<Arc<dyn Container>> {
        let (opened, beside) = folder.opening(place, access)?;
        let container = Arc::new(RawContainer {
            opened,
            folder: RwLock::new(Some(folder)),
            is_writable: access.access == Access::Write,
            is_keeper: false,
            durability: access.durability,
            limits: access.limits.clone(),
        });
        let own: Arc<dyn Container> = container;
        beside.set_own(Arc::downgrade(&own));
        Ok(own)
    }

    /// The opening that loads and saves.
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

    fn folder(&self) -> Result<Arc<Folder>> {
        self.folder.read().unwrap_or_else(PoisonError::into_inner).clone().ok_or_else(closed)
    }

    /// The folder, where changes by hand to an object were picked up.
    fn fresh(&self, object: Token) -> Result<Arc<Folder>> {
        let folder = self.folder()?;
        if !self.is_keeper {
            folder.refresh(object)?;
        }
        Ok(folder)
    }

    fn writing(&self) -> Result<Arc<Folder>> {
        let folder = self.folder()?;
        match self.is_writable {
            true => Ok(folder),
            false => Err(Error::denied("change container").with("path", folder.base().display())),
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

    /// Makes an object, at a place or at none.
    fn make(&self, place: Option<&Place>, make: impl FnOnce() -> Result<Token>) -> Result<Token> {
        let groups: Vec<Token> = place.map(|place| place.group).into_iter().collect();
        let made = self.relink(&groups, make)?;
        if let Some(place) = place {
            let home = (place.group, place.name.clone());
            self.folder()?.birthplaces().insert(made, home);
        }
        Ok(made)
    }

    /// A dataset as the metadata says it is.
    fn shown(&self, folder: &Folder, dataset: Token) -> Result<Arc<DatasetInfo>> {
        let info = Container::dataset_info(&self.opened, dataset)?;
        if let Some(edited) = folder.data(dataset).edited() {
            return Ok(edited);
        }
        let Layout::Virtual(mappings) = &info.create.layout else { return Ok(info) };
        let layout = Layout::Virtual(renamed(mappings, Beside::OWN, "."));
        let mut shown = DatasetInfo::clone(&info);
        shown.create.layout = layout;
        Ok(Arc::new(shown))
    }

    fn read_one(&self, read: &mut OpRead<'_>) -> Result<()> {
        let folder = self.folder()?;
        let info = self.shown(&folder, read.dataset)?;
        if is_elsewhere(&info) {
            let OpRead { dataset, selection, into } = read;
            return Container::dataset_read(
                &self.opened,
                &mut [OpRead { dataset: *dataset, selection, into }],
            );
        }
        let data = folder.data(read.dataset);
        let _reading = data.reading();
        // The extent may have changed before the lock was there.
        let info = self.shown(&folder, read.dataset)?;
        check_transfer(&info, read.selection, read.into.len())?;
        if read.into.is_empty() {
            return Ok(());
        }
        let file = folder.elements(read.dataset, &data)?;
        elements_of(&info).read(file.as_ref(), read.selection, info.space.dims(), read.into)
    }

    fn write_one(&self, write: &OpWrite<'_>) -> Result<()> {
        let folder = self.folder()?;
        let info = self.shown(&folder, write.dataset)?;
        if is_elsewhere(&info) {
            return Container::dataset_write(&self.opened, std::slice::from_ref(write));
        }
        let data = folder.data(write.dataset);
        let _writing = data.writing();
        let info = self.shown(&folder, write.dataset)?;
        check_transfer(&info, write.selection, write.from.len())?;
        if write.from.is_empty() {
            return Ok(());
        }
        let file = folder.elements_mut(write.dataset, &data)?;
        elements_of(&info).write(&file, write.selection, info.space.dims(), write.from)?;
        folder.keeper().shared().change();
        Ok(())
    }

    fn check_reference(&self, folder: &Folder, kind: ReferenceKind, reference: &Reference) -> Result<()> {
        let is_fitting = match (kind, &reference.target) {
            (_, ReferenceTarget::Null) => true,
            (ReferenceKind::ObjectOld, target) => matches!(target, ReferenceTarget::Object(_)),
            (ReferenceKind::RegionOld, target) => matches!(target, ReferenceTarget::Region { .. }),
            _ => true,
        };
        let is_old = matches!(kind, ReferenceKind::ObjectOld | ReferenceKind::RegionOld);
        if !is_fitting || (is_old && reference.file.is_some()) {
            return Err(Error::invalid("store reference").with("kind", format!("{kind:?}")));
        }
        match reference.token() {
            // Metadata may mean what is gone.
            Some(token) if reference.file.is_none() && !self.is_keeper => {
                folder.ids().inner(token).map(|_| ())
            }
            _ => Ok(()),
        }
    }

    fn put_blobs(&self, folder: &Folder, values: &[&[u8]]) -> Result<Vec<u8>> {
        if self.is_keeper { Ok(folder.blobs.keep(values)) } else { folder.blobs.put(values, &self.limits) }
    }

    fn reference_slot(&self, folder: &Folder, kind: ReferenceKind, reference: &Reference) -> Result<Vec<u8>> {
        match (kind, reference.token()) {
            (ReferenceKind::ObjectOld, token) => Ok(token.unwrap_or_default().0.to_vec()),
            (_, None) => Ok(vec![0; 8]),
            _ => {
                let text = write(&reference_to_json(reference, &Whoever(folder))?)?;
                self.put_blobs(folder, &[text.trim_end().as_bytes()])
            }
        }
    }

    fn reference_of(&self, folder: &Folder, kind: ReferenceKind, slot: &[u8]) -> Result<Reference> {
        if slot.iter().all(|&byte| byte == 0) {
            return Ok(Reference::null());
        }
        if kind == ReferenceKind::ObjectOld {
            let token = slot.try_into().map(Token);
            let token = token.map_err(|_| Error::invalid("read reference").with("bytes", slot.len()))?;
            return Ok(Reference::object(token));
        }
        let mut found = Blobs::default();
        folder.blobs.get(&[slot], &self.limits, &mut found)?;
        let text = std::str::from_utf8(found.bytes());
        let text = text.map_err(|_| Error::corrupt("read reference").with("problem", "not text"))?;
        reference_from_json(&read(text)?, &Whoever(folder), self.limits.selection_blocks_max)
    }
}

/// Mappings whose sources in one file are in another.
fn renamed(mappings: &[VirtualMapping], from: &str, to: &str) -> Vec<VirtualMapping> {
    let rename = |mapping: &VirtualMapping| {
        let file = if mapping.file == from { to.to_owned() } else { mapping.file.clone() };
        VirtualMapping { file, ..mapping.clone() }
    };
    mappings.iter().map(rename).collect()
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
        if self.is_writable { self.folder()?.save(durability) } else { Ok(()) }
    }

    fn close(&self) -> Result<()> {
        Layer::commit(self, self.durability)?;
        Container::close(&self.opened)?;
        self.folder.write().unwrap_or_else(PoisonError::into_inner).take();
        Ok(())
    }

    fn object_info(&self, object: Token) -> Result<ObjectInfo> {
        self.fresh(object)?;
        Container::object_info(&self.opened, object)
    }

    fn object_copy(&self, op: &OpObjectCopy) -> Result<Token> {
        vol::copy::within(self, op, vol::copy::CopyOptions::of(op, &self.limits))
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
            // The container beneath has none of our elements: it asks for this one.
            op.create.layout = Layout::Virtual(renamed(mappings, ".", Beside::OWN));
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
        if is_elsewhere(&info) {
            return Container::dataset_storage(&self.opened, dataset);
        }
        let data = folder.data(dataset);
        let _reading = data.reading();
        storage_of(&info, folder.elements(dataset, &data)?.as_ref())
    }

    fn dataset_read(&self, reads: &mut [OpRead<'_>]) -> Result<()> {
        for read in reads.iter() {
            let folder = self.fresh(read.dataset)?;
            check_transfer(&*self.shown(&folder, read.dataset)?, read.selection, read.into.len())?;
        }
        reads.iter_mut().try_for_each(|read| self.read_one(read))
    }

    fn dataset_write(&self, writes: &[OpWrite<'_>]) -> Result<()> {
        self.writing()?;
        for write in writes {
            let folder = self.fresh(write.dataset)?;
            check_transfer(&*self.shown(&folder, write.dataset)?, write.selection, write.from.len())?;
        }
        writes.iter().try_for_each(|write| self.write_one(write))
    }

    fn dataset_resize(&self, dataset: Token, dims: &[u64]) -> Result<()> {
        self.writing()?;
        let folder = self.fresh(dataset)?;
        let data = folder.data(dataset);
        let _writing = data.writing();
        let old = self.shown(&folder, dataset)?;
        match data.edited() {
            Some(edited) => data.set_edited(resized(&edited, dims)?),
            None => Container::dataset_resize(&self.opened, dataset, dims)?,
        }
        folder.touch(dataset);
        if is_elsewhere(&old) || old.space.dims() == dims {
            return Ok(());
        }
        let moved = folder.relay(dataset, &data, &old, dims);
        if moved.is_err() && data.edited().is_none() {
            // What the file holds is still the old extent. Should this fail as well, the first error says more.
            let _ = Container::dataset_resize(&self.opened, dataset, old.space.dims());
        }
        moved
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

    fn map_keys(&self, map: Token, skip: u64, count_max: u64) -> Result<Page<Vec<u8>>> {
        self.fresh(map)?;
        Container::map_keys(&self.opened, map, skip, count_max)
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

    fn reference_get(&self, kind: ReferenceKind, slots: &[&[u8]]) -> Result<Vec<Reference>> {
        let folder = self.folder()?;
        slots.iter().map(|slot| self.reference_of(&folder, kind, slot)).collect()
    }

    fn reference_put(&self, kind: ReferenceKind, references: &[Reference]) -> Result<Vec<Vec<u8>>> {
        let folder = self.writing()?;
        references.iter().try_for_each(|reference| self.check_reference(&folder, kind, reference))?;
        references.iter().map(|reference| self.reference_slot(&folder, kind, reference)).collect()
    }
}

/// A dataset whose metadata was changed by hand, with another extent.
fn resized(info: &DatasetInfo, dims: &[u64]) -> Result<DatasetInfo> {
    let is_chunked = matches!(info.create.layout, Layout::Chunked { .. });
    if dims.len() != info.space.rank() || dims.is_empty() || !(is_chunked || dims == info.space.dims()) {
        return Err(Error::invalid("resize dataset").with("rank", dims.len()));
    }
    Ok(DatasetInfo { space: info.space.resized(dims)?, ..info.clone() })
}

impl Folder {
    /// Brings the file of a dataset from one extent to another; the dataset is locked.
    fn relay(&self, dataset: Token, data: &Data, old: &DatasetInfo, dims: &[u64]) -> Result<()> {
        let Some(from) = self.elements(dataset, data)? else { return Ok(()) };
        let elements = elements_of(old);
        if old.space.dims().get(1..) == dims.get(1..) {
            // Rows stay where they are: what is beyond the smaller of both extents goes.
            let rows = |dims: &[u64]| dims.iter().try_fold(elements.size, |n, &dim| n.checked_mul(dim));
            let end = rows(old.space.dims()).zip(rows(dims)).map_or(0, |(a, b)| a.min(b));
            let file = self.elements_mut(dataset, data)?;
            let len = file.metadata().map_err(|e| Error::io("look at elements", &e))?.len();
            return match len > end {
                true => file.set_len(end).map_err(|e| Error::io("cut elements", &e)),
                false => Ok(()),
            };
        }
        let waiting = self.waiting_path(dataset)?;
        let temporary = waiting.with_extension("tmp");
        let failed = |e: std::io::Error| Error::io("move elements", &e).with("path", waiting.display());
        let to = open_to_write(&temporary)?;
        to.set_len(0).map_err(failed)?;
        elements.relay(&from, old.space.dims(), &to, dims)?;
        // A commit moves what waits: not now.
        let _homes = self.homes();
        std::fs::rename(&temporary, &waiting).map_err(failed)?;
        data.is_fresh.store(true, Ordering::SeqCst);
        Ok(())
    }
}
