//! The contract's operations on an open file.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLockReadGuard};

use algorithms::copy::CopyOptions;
use algorithms::thread_pool;
use algorithms::virtual_dataset::WritePlan;
use model::datatype::{ReferenceKind, SlotSizes};
use model::{Context, Datatype, Error, Index, Link, ObjectKind, Order, Reference, Result, Token};
use vol::{
    AttributeInfo, Blobs, Capability, ChunkCacheInfo, ChunkInfo, Container, ContainerInfo, DatasetInfo,
    Durability, GroupInfo, Lookup, MapInfo, ObjectInfo, OpAttributeCreate, OpDatasetCreate, OpDatatypeCommit,
    OpGroupCreate, OpLinkCreate, OpLinkMove, OpList, OpLookup, OpMapCreate, OpObjectCopy, OpPlacement,
    OpRead, OpWrite, Optional, Page, Place, Placement, StorageInfo, Times,
};

use crate::chunk::{self, sources};
use crate::file::{File, Still};
use crate::format::Address;
use crate::format::header::kind;
use crate::format::layout::{Chunked, Layout};
use crate::gate::Scope;
use crate::image::FileImage;
use crate::listing;
use crate::maps;
use crate::object::header::Header;
use crate::object::{attribute, dataset, global_heap, group, reference};
use crate::placement;
use crate::statistics::{self, FileMetadata, ObjectMetadata};
use crate::store::Commit;
use crate::write::{Writer, check_elements};

/// What this connector can do with a file.
pub(crate) const CAPABILITY: Capability = Capability::ALL;

/// Objects whose kind one core tells before it takes more.
const KINDS_AT_ONCE: usize = 64;

/// An open HDF5 file.
#[derive(Debug)]
pub struct NativeContainer {
    pub(crate) file: Arc<File>,
    info: Arc<ContainerInfo>,
    listing: Mutex<Option<Listing>>,
    /// The attribute whose type was asked for last: as a rule its value is asked for next.
    attribute: Mutex<Option<LastAttribute>>,
    pub(crate) closed: AtomicBool,
    /// Whoever made this one holds the file still already.
    pub(crate) is_held: bool,
}

/// The value of an attribute whose type was asked for.
#[derive(Debug, Clone)]
struct LastAttribute {
    object: Token,
    name: String,
    data: Vec<u8>,
}

/// The links of the group that was listed last, sorted: pages of one listing come one after another.
#[derive(Debug, Clone)]
struct Listing {
    group: Token,
    op: (Index, Order),
    links: Arc<Vec<Link>>,
}

impl NativeContainer {
    pub(crate) fn new(file: Arc<File>) -> Result<Arc<Self>> {
        Self::with(file, false)
    }

    /// A container for one who reads this very file at the moment.
    pub(crate) fn within(file: Arc<File>) -> Result<Arc<Self>> {
        Self::with(file, true)
    }

    fn with(file: Arc<File>, is_held: bool) -> Result<Arc<Self>> {
        let info = {
            // What is read while others write must not be kept when it is out of date.
            let _still = if is_held { None } else { file.reading()? };
            Arc::new(describe(&file)?)
        };
        Ok(Arc::new(NativeContainer {
            file,
            info,
            listing: Mutex::new(None),
            attribute: Mutex::new(None),
            closed: AtomicBool::new(false),
            is_held,
        }))
    }

    /// The file, unless it was closed.
    pub(crate) fn open_file(&self) -> Result<&File> {
        match self.closed.load(Ordering::Acquire) {
            true => Err(Error::invalid("use container").with("problem", "it is closed")),
            false => Ok(&self.file),
        }
    }

    /// The file with all changes to an object laid out, which holds still while it is looked at.
    fn view(&self, token: Token) -> Result<View<'_>> {
        let file = self.open_file()?;
        let still = if self.is_held { Still::Nothing } else { file.reading_object(address(token))? };
        Ok(View { file, _still: still })
    }

    /// What the writer says of an object with changes that the file does not hold, or else what the file says.
    fn look<T>(
        &self,
        token: Token,
        in_memory: impl FnOnce(&Writer) -> Result<Option<T>>,
        stored: impl FnOnce(&View<'_>) -> Result<T>,
    ) -> Result<T> {
        if self.open_file()?.is_dirty(address(token))
            && let Some(writer) = self.reading()?
            && let Some(found) = in_memory(&writer)?
        {
            return Ok(found);
        }
        stored(&self.view(token)?)
    }

    /// Changes that the file need not be asked for.
    fn reading(&self) -> Result<Option<RwLockReadGuard<'_, Writer>>> {
        let file = self.open_file()?;
        if self.is_held { Ok(None) } else { file.reading() }
    }

    /// An object's header, with all changes laid out.
    fn header(&self, token: Token) -> Result<Arc<Header>> {
        self.view(token)?.header(token)
    }

    /// Changes the file, as far as `scope` says.
    pub(crate) fn change<T>(
        &self,
        scope: Scope<'_>,
        change: impl FnOnce(&mut Writer) -> Result<T>,
    ) -> Result<T> {
        match self.open_file()?.writable {
            true => self.change_state(scope, change),
            false => Err(Error::denied("change file").with("problem", "it is open to read")),
        }
    }

    /// Changes what is in the file beside elements and extents.
    pub(crate) fn change_structure<T>(&self, change: impl FnOnce(&mut Writer) -> Result<T>) -> Result<T> {
        self.change(Scope::All, |writer| {
            writer.check_structure()?;
            change(writer)
        })
    }

    /// Changes values, which no object leads to yet or any more.
    fn change_values<T>(&self, change: impl FnOnce(&mut Writer) -> Result<T>) -> Result<T> {
        self.change(Scope::Nothing, |writer| {
            writer.check_structure()?;
            change(writer)
        })
    }

    /// Changes what is known of the file, which a handle may that only reads.
    fn change_state<T>(&self, scope: Scope<'_>, change: impl FnOnce(&mut Writer) -> Result<T>) -> Result<T> {
        let file = self.open_file()?;
        let mut writer = file.writer()?;
        let done = {
            let _changing = file.changing(scope);
            let done = change(&mut writer);
            writer.settle_marks();
            done?
        };
        writer.trim()?;
        Ok(done)
    }

    /// A dataset, and the view in which it can be read.
    fn dataset(&self, token: Token) -> Result<(View<'_>, Arc<dataset::Dataset>)> {
        let view = self.view(token)?;
        let dataset = view.stored_dataset(token)?;
        if !matches!(dataset.layout, Layout::Virtual { .. }) {
            return Ok((view, dataset));
        }
        let view = match view.file.writer.is_none() || self.is_held {
            true => view,
            false => self.view_of_all(view, token)?,
        };
        let dataset = view.file.dataset(token)?;
        Ok((view, dataset))
    }

    /// All of the file, for a virtual dataset: its sources may be in it, and how far it reaches is theirs to say.
    fn view_of_all(&self, view: View<'_>, token: Token) -> Result<View<'_>> {
        drop(view);
        let file = self.open_file()?;
        file.writer()?.lay_out_all()?;
        file.forget(address(token));
        Ok(View { file, _still: file.settled(token)? })
    }

    /// Makes an object and links it, or leaves nothing behind.
    fn create(
        &self,
        place: Option<&Place>,
        make: impl FnOnce(&mut Writer) -> Result<Address>,
    ) -> Result<Token> {
        self.change_structure(|writer| {
            if let Some(place) = place {
                writer.check_place(place)?;
            }
            let at = make(writer)?;
            if let Some(place) = place {
                writer.link_new(place, at)?;
            }
            Ok(Token::from_u64(at.0))
        })
    }

    /// Some elements do not go to this file. Where to is found before anything is written; and while they go there,
    /// this file is not held: it may be asked to write them.
    fn write_outside(&self, writes: &[OpWrite<'_>], outside: &[Token]) -> Result<()> {
        let chosen = |wanted| writes.iter().filter(move |op| outside.contains(&op.dataset) == wanted);
        let plans = chosen(true).map(|op| self.plan_outside(op)).collect::<Result<Vec<_>>>()?;
        self.change(Scope::Objects(&datasets(writes)), |writer| {
            chosen(false).try_for_each(|op| writer.dataset_write(op))
        })?;
        plans.iter().zip(chosen(true)).try_for_each(|(plan, op)| match plan {
            Outside::Virtual(plan) => plan.write(self.open_file()?, op.from),
            Outside::External(dataset) => self.write_external(dataset, op),
        })
    }

    fn plan_outside(&self, op: &OpWrite<'_>) -> Result<Outside> {
        let (view, dataset) = self.dataset(op.dataset)?;
        check_elements(&dataset, op)?;
        match sources::virtual_dataset(&dataset) {
            Some(found) => found.plan_write(view.file, op.selection).map(Outside::Virtual),
            None => Ok(Outside::External(dataset)),
        }
    }

    /// Writes elements to external files, and releases the values that only the old ones had.
    fn write_external(&self, dataset: &dataset::Dataset, op: &OpWrite<'_>) -> Result<()> {
        let file = self.open_file()?;
        if !dataset.info.datatype.has_slots() {
            return chunk::write_external(file, dataset, op.selection, op.from);
        }
        let mut old = vec![0; op.from.len()];
        chunk::read(file, dataset, op.selection, &mut old)?;
        chunk::write_external(file, dataset, op.selection, op.from)?;
        self.change(Scope::Nothing, |writer| writer.release_overwritten(dataset, &old, op.from))
    }

    /// A dataset whose header waits and need not be laid out to say what it is: whoever makes one asks next.
    fn drafted(&self, token: Token) -> Result<Option<Arc<dataset::Dataset>>> {
        let at = address(token);
        let waits = !self.is_held && self.open_file()?.is_dirty(at);
        match waits && self.reading()?.is_some_and(|writer| writer.must_lay_out(at)) {
            true => self.change_state(Scope::Objects(&[at]), |writer| writer.drafted_dataset(at)),
            false => Ok(None),
        }
    }

    fn chunked(&self, token: Token) -> Result<(View<'_>, Arc<dataset::Dataset>, Chunked)> {
        let (view, dataset) = self.dataset(token)?;
        match &dataset.layout {
            Layout::Chunked(layout) => {
                let layout = layout.clone();
                Ok((view, dataset, layout))
            }
            _ => Err(Error::invalid("list chunks").with("problem", "dataset is not chunked")),
        }
    }

    fn last_attribute(&self) -> MutexGuard<'_, Option<LastAttribute>> {
        self.attribute.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn last_listing(&self) -> MutexGuard<'_, Option<Listing>> {
        self.listing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn links(&self, group: Token, op: &OpList) -> Result<Arc<Vec<Link>>> {
        let key = (op.index, op.order);
        let cacheable = !self.file.store.may_change();
        if let Some(last) = &*self.last_listing()
            && last.group == group
            && last.op == key
        {
            return Ok(last.links.clone());
        }
        let mut links = self.all_links(group)?;
        listing::sort(&mut links, op)?;
        let links = Arc::new(links);
        let is_one_page = op.skip == 0 && links.len() as u64 <= op.count_max;
        if cacheable && !is_one_page {
            *self.last_listing() = Some(Listing { group, op: key, links: links.clone() });
        }
        Ok(links)
    }
}

impl NativeContainer {
    fn all_links(&self, group: Token) -> Result<Vec<Link>> {
        let stored = |view: &View<'_>| {
            let header = view.header(group)?;
            view.file.steady(|| group::links(view.file, &header)).during_at("list links", group.to_u64())
        };
        self.look(group, |writer| writer.all_links(address(group)), stored)
    }

    fn attribute(&self, object: Token, name: &str) -> Result<Option<attribute::Attribute>> {
        let stored = |view: &View<'_>| {
            let header = view.header(object)?;
            view.file.steady(|| attribute::find(view.file, &header, name))
        };
        self.look(object, |writer| writer.attribute(address(object), name), stored)
    }
}

/// Where elements go that are not in this file.
enum Outside {
    Virtual(WritePlan),
    External(Arc<dataset::Dataset>),
}

/// A file of which something stays as it is.
struct View<'f> {
    file: &'f File,
    _still: Still<'f>,
}

impl View<'_> {
    fn header(&self, token: Token) -> Result<Arc<Header>> {
        self.file.header_of(token).map_err(|e| self.unknown(token, e))
    }

    /// A dataset as its header has it.
    fn stored_dataset(&self, token: Token) -> Result<Arc<dataset::Dataset>> {
        self.header(token)?;
        self.file.stored_dataset(token)
    }

    /// A token that names nothing in an intact file is the caller's mistake.
    fn unknown(&self, token: Token, error: Error) -> Error {
        match self.file.writer.is_some() {
            true => Error::not_found("open object").with("token", token).because(error),
            false => error,
        }
    }
}

fn object_info(header: &Header, kind: ObjectKind, references: u32, attributes: u64) -> ObjectInfo {
    ObjectInfo {
        token: Token::from_u64(header.address.0),
        kind,
        references,
        attributes,
        times: times(header),
        create: attribute::object_create(header),
        comment: comment(header),
    }
}

fn address(token: Token) -> Address {
    Address(token.to_u64())
}

/// The datasets that are written to.
fn datasets(writes: &[OpWrite<'_>]) -> Vec<Address> {
    writes.iter().map(|op| address(op.dataset)).collect()
}

fn describe(file: &File) -> Result<ContainerInfo> {
    let root = file.store.superblock.root;
    let header = file.header(root).during("open root group")?;
    let create = group::creation(file, &header).during("open root group")?;
    let sizes = file.store.sizes();
    let superblock = &file.store.superblock;
    Ok(ContainerInfo {
        connector: "native".to_owned(),
        capability: CAPABILITY,
        writable: file.writable,
        root: Token::from_u64(root.0),
        slots: SlotSizes::native(sizes.offset as u32),
        create: file.creation(create),
        storage_bytes: Some(file.store.file_bytes()?),
        versions: vec![
            ("superblock".into(), u32::from(superblock.version)),
            ("free list".into(), 0),
            ("symbol table".into(), 0),
            ("object header".into(), 0),
        ],
        warnings: file.warnings.clone(),
    })
}

fn times(header: &Header) -> Option<Times> {
    if let Some([access, modification, change, birth]) = header.prefix.times {
        return Some(Times { access, modification, change, birth });
    }
    let message = header.message(kind::TIME)?;
    let change = u32::from_le_bytes(*message.body.get(4..8)?.first_chunk()?);
    // libhdf5 tells this one time as the change of metadata, and no other.
    Some(Times { access: 0, modification: 0, change, birth: 0 })
}

fn comment(header: &Header) -> Option<String> {
    let body = &header.message(kind::COMMENT)?.body;
    let end = body.iter().position(|&b| b == 0).unwrap_or(body.len());
    Some(model::text::from_bytes(&body[..end]))
}

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
            begun.map_or(Ok(()), Commit::run)
        })
    }

    fn close(&self) -> Result<()> {
        self.close_handle()
    }

    fn retain(&self, object: Token) -> Result<()> {
        // In a file that nobody changes, objects stay.
        if self.open_file()?.writer.is_none() {
            return Ok(());
        }
        let is_dirty = self.open_file()?.is_dirty(address(object));
        let is_draft = is_dirty && self.reading()?.is_some_and(|w| w.existing(address(object)).is_some());
        if !is_draft {
            self.header(object)?;
        }
        self.change_state(Scope::Nothing, |writer| writer.retain(address(object)))
    }

    fn release(&self, object: Token) -> Result<()> {
        let at = address(object);
        if self.open_file()?.writer.is_none() {
            return Ok(());
        }
        match self.change_state(Scope::Nothing, |writer| writer.release_handle(at))? {
            true => self.change_state(Scope::All, |writer| writer.remove_if_unused(at)),
            false => Ok(()),
        }
    }

    fn object_copy(&self, op: &OpObjectCopy) -> Result<Token> {
        let file = self.open_file()?;
        let mut options = CopyOptions::of(op, &file.store.limits);
        options.resolver = file.resolver.as_deref().map(|resolver| (resolver, file.path.as_str()));
        algorithms::copy::within(self, op, options)
    }

    fn object_set_comment(&self, object: Token, comment: Option<&str>) -> Result<()> {
        self.change_structure(|writer| writer.set_comment(address(object), comment))
    }

    fn object_adjust_references(&self, object: Token, by: i32) -> Result<u32> {
        self.change_structure(|writer| writer.adjust_references(address(object), by))
    }

    fn group_create(&self, op: &OpGroupCreate) -> Result<Token> {
        self.create(op.place.as_ref(), |writer| writer.group_create(&op.create))
    }

    fn link_create(&self, op: &OpLinkCreate) -> Result<()> {
        self.change_structure(|writer| writer.link_create(&op.place, op.target.clone()))
    }

    fn link_delete(&self, group: Token, name: &str) -> Result<()> {
        self.change_structure(|writer| writer.link_delete(address(group), name))
    }

    fn link_move(&self, op: &OpLinkMove) -> Result<()> {
        self.change_structure(|writer| writer.link_move(op))
    }

    fn attribute_create(&self, op: &OpAttributeCreate) -> Result<()> {
        maps::check_attribute(&op.name)?;
        self.change_structure(|writer| writer.attribute_create(op))
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
        self.change_structure(|writer| writer.attribute_rename(address(object), from, to))
    }

    fn dataset_create(&self, op: &OpDatasetCreate) -> Result<Token> {
        self.create(op.place.as_ref(), |writer| writer.dataset_create(op))
    }

    fn datatype_commit(&self, op: &OpDatatypeCommit) -> Result<Token> {
        self.create(op.place.as_ref(), |writer| writer.datatype_commit(op))
    }

    fn dataset_write(&self, writes: &[OpWrite<'_>]) -> Result<()> {
        let outside = self.change(Scope::Objects(&datasets(writes)), |writer| {
            // All or none: what is wrong with one is found before any is written.
            let mut outside = Vec::new();
            for op in writes {
                if !writer.check_write(op)? {
                    outside.push(op.dataset);
                }
            }
            if outside.is_empty() {
                writes.iter().try_for_each(|op| writer.dataset_write(op))?;
            }
            Ok(outside)
        })?;
        if outside.is_empty() { Ok(()) } else { self.write_outside(writes, &outside) }
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
        let file = self.open_file()?;
        let check = |dataset: &dataset::Dataset| placement::check(file, dataset, &op.selection);
        let at = address(op.dataset);
        let placed =
            self.change(Scope::Objects(&[at]), |writer| writer.place_elements(at, &op.selection, &check));
        placed.and_then(|(dataset, parts)| placement::told(file, &dataset, parts))
    }

    fn elements_changed(&self, op: &OpPlacement) -> Result<()> {
        // Nobody is in the middle of reading what is out of date, to keep it.
        let file = self.open_file()?;
        let check = |dataset: &dataset::Dataset| placement::check(file, dataset, &op.selection);
        let at = address(op.dataset);
        self.change_state(Scope::Objects(&[at]), |writer| writer.elements_changed(at, &op.selection, &check))
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
        self.change_values(|writer| writer.blobs_put(values))
    }

    fn blob_delete(&self, ids: &[&[u8]]) -> Result<()> {
        self.change_values(|writer| writer.blob_delete(ids))
    }

    fn reference_put(&self, kind: ReferenceKind, references: &[Reference]) -> Result<Vec<Vec<u8>>> {
        self.change_values(|writer| references.iter().map(|r| writer.reference_put(kind, r)).collect())
    }

    fn object_info(&self, object: Token) -> Result<ObjectInfo> {
        let file = self.open_file()?;
        if file.is_dirty(address(object))
            && let Some(writer) = self.reading()?
            && let Some(draft) = writer.existing(address(object))
        {
            let header = draft.header();
            let is_map = draft.kind == ObjectKind::Group
                && match writer.attribute(address(object), maps::MARK)? {
                    Some(found) => found.is_some(),
                    None => attribute::find(file, &header, maps::MARK)?.is_some(),
                };
            let attributes = draft.attribute_count(file)?;
            let info = object_info(&header, draft.kind, draft.references, attributes);
            return Ok(if is_map { maps::told(info) } else { info });
        }
        let view = self.view(object)?;
        let header = view.header(object)?;
        let attributes = view.file.steady(|| attribute::count(view.file, &header))?;
        let info = object_info(&header, header.object_kind()?, header.references()?, attributes);
        Ok(if maps::is_map(view.file, &header)? { maps::told(info) } else { info })
    }

    fn object_kinds(&self, objects: &[Token]) -> Result<Vec<ObjectKind>> {
        let file = self.open_file()?;
        if file.writer.is_some() {
            return objects.iter().map(|object| Ok(self.object_info(*object)?.kind)).collect();
        }
        // Few of them are looked at again soon, so their headers are not kept.
        let kind = |room: &mut Header, object: &Token| match file.headers.get(&address(*object)) {
            Some(header) => maps::kind_of(file, &header),
            None => {
                file.steady(|| room.reload(&file.store, address(*object)))?;
                maps::kind_of(file, room)
            }
        };
        let shares = objects.chunks(KINDS_AT_ONCE).collect();
        let kinds = thread_pool::map(shares, |share: &[Token]| {
            let mut room = Header::default();
            share.iter().map(|object| kind(&mut room, object)).collect::<Result<Vec<_>>>()
        })?;
        Ok(kinds.concat())
    }

    fn group_info(&self, group: Token) -> Result<GroupInfo> {
        let view = self.view(group)?;
        let header = view.header(group)?;
        view.file.steady(|| group::info(view.file, &header))
    }

    fn link_get(&self, group: Token, name: &str) -> Result<Option<Link>> {
        let stored = |view: &View<'_>| {
            let header = view.header(group)?;
            view.file.steady(|| group::find(view.file, &header, name))
        };
        self.look(group, |writer| writer.link(address(group), name), stored)
    }

    fn lookup(&self, op: &OpLookup) -> Result<Lookup> {
        vol::path::walk(self, op)
    }

    fn link_list(&self, group: Token, op: &OpList) -> Result<Page<Link>> {
        let links = self.links(group, op)?;
        let is_one_page = op.skip == 0 && links.len() as u64 <= op.count_max;
        match Arc::try_unwrap(links) {
            // It was not kept, and need not be copied.
            Ok(entries) if is_one_page => Ok(Page { entries, more: false }),
            Ok(links) => Ok(listing::page(&links, op)),
            Err(links) => Ok(listing::page(&links, op)),
        }
    }

    fn attribute_info(&self, object: Token, name: &str) -> Result<Option<AttributeInfo>> {
        let found = self.attribute(object, name)?;
        let Some(attribute::Attribute { info, data }) = found else { return Ok(None) };
        if !self.file.store.may_change() {
            *self.last_attribute() = Some(LastAttribute { object, name: info.name.clone(), data });
        }
        Ok(Some(info))
    }

    fn attribute_list(&self, object: Token, op: &OpList) -> Result<Page<AttributeInfo>> {
        let view = self.view(object)?;
        let header = view.header(object)?;
        let all = view.file.steady(|| attribute::all(view.file, &header))?;
        let shown = all.into_iter().map(|a| a.info).filter(|info| info.name != maps::MARK);
        let mut infos: Vec<AttributeInfo> = shown.collect();
        listing::sort(&mut infos, op)?;
        Ok(listing::page(&infos, op))
    }

    fn attribute_read(&self, object: Token, names: &[&str]) -> Result<Vec<Vec<u8>>> {
        self.open_file()?;
        let one = |name: &&str| {
            let is_it = |last: &mut LastAttribute| last.object == object && last.name == **name;
            if let Some(last) = self.last_attribute().take_if(is_it) {
                return Ok(last.data);
            }
            let found = self.attribute(object, name)?;
            found.map(|a| a.data).ok_or_else(|| Error::not_found("read attribute").with("name", name))
        };
        names.iter().map(one).collect()
    }

    fn dataset_info(&self, dataset: Token) -> Result<Arc<DatasetInfo>> {
        Ok(match self.drafted(dataset)? {
            Some(drafted) => drafted.info.clone(),
            None => self.dataset(dataset)?.1.info.clone(),
        })
    }

    fn dataset_storage(&self, dataset: Token) -> Result<StorageInfo> {
        let (view, dataset) = self.dataset(dataset)?;
        view.file.steady(|| chunk::storage(view.file, &dataset))
    }

    fn optional(&self, name: &str, request: &[u8]) -> Result<Vec<u8>> {
        Optional::new(name, request)
            .on::<ObjectMetadata>(|object| {
                let view = self.view(object)?;
                statistics::object(view.file, &*view.header(object)?)
            })
            .on::<FileMetadata>(|()| match &self.file.writer {
                None => statistics::file(self.open_file()?),
                // What a writer has not committed yet is nowhere.
                Some(_) => {
                    Err(Error::unsupported("read file metadata").with("problem", "it is open for writing"))
                }
            })
            .on::<FileImage>(|()| self.open_file()?.image())
            .or_unsupported()
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
        for op in reads {
            let (view, dataset) = self.dataset(op.dataset)?;
            let read = || chunk::read(view.file, &dataset, op.selection, op.into);
            view.file.steady(read).during_at("read dataset", op.dataset.to_u64())?;
        }
        Ok(())
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

    fn reference_get(&self, kind: ReferenceKind, slots: &[&[u8]]) -> Result<Vec<Reference>> {
        let file = self.open_file()?;
        let _still = if self.is_held { None } else { file.reading_values()? };
        slots.iter().map(|slot| reference::decode(&self.file, kind, slot)).collect()
    }
}
