//! An open handle of a file: objects are in the inner container, elements in the log.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use algorithms::copy::CopyContext;
use model::datatype::{DescriptorSizes, ReferenceKind};
use model::{Error, Link, Reference, Result, Token};
use vol::*;
use vol::{Optional, StoredBlock};

use crate::connector::{CAPABILITY, NAME};
use crate::extensions::{CheckRepack, CompactLog, LogEntriesText, LogStatisticsText};
use crate::hidden;
use crate::posting::LentBuffers;
use crate::state::Shared;
use crate::values::Values;

/// An open file whose datasets are logged.
///
/// Where several processes share it, all operations but [`Container::dataset_write`] and [`Container::dataset_read`] are
/// called by all of them together, in the same order and with the same arguments. A dataset is opened (`dataset_info`)
/// by all before elements move.
pub struct LogContainer {
    inner: Arc<dyn Container>,
    shared: Arc<Shared>,
    is_writable: bool,
    durability: Durability,
    descriptors: DescriptorSizes,
    /// Values of variable length, where several processes have the file open.
    values: Values,
    resolver: Option<Arc<dyn Resolver>>,
    is_closed: AtomicBool,
}

impl std::fmt::Debug for LogContainer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogContainer").field("path", &self.shared.path).finish_non_exhaustive()
    }
}

fn closed() -> Error {
    Error::invalid("use container").with("problem", "it is closed")
}

impl LogContainer {
    pub(crate) fn new(inner: Arc<dyn Container>, shared: Arc<Shared>, access: &FileAccess) -> Result<Self> {
        let info = inner.info()?;
        shared.handles.fetch_add(1, Ordering::AcqRel);
        Ok(LogContainer {
            inner,
            shared,
            is_writable: access.access == Access::Write,
            durability: access.durability,
            descriptors: info.descriptors,
            values: Values::new(info),
            resolver: access.resolver.clone(),
            is_closed: AtomicBool::new(false),
        })
    }

    fn release(&self) {
        if !self.is_closed.swap(true, Ordering::AcqRel) {
            self.shared.handles.fetch_sub(1, Ordering::AcqRel);
        }
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    pub(crate) fn inner(&self) -> &dyn Container {
        &*self.inner
    }

    pub(crate) fn descriptors(&self) -> DescriptorSizes {
        self.descriptors
    }

    pub(crate) fn check_open(&self) -> Result<()> {
        if self.is_closed.load(Ordering::Acquire) { Err(closed()) } else { Ok(()) }
    }

    pub(crate) fn check_writable(&self) -> Result<()> {
        self.check_open()?;
        match self.is_writable {
            true => Ok(()),
            false => Err(Error::denied("change container").with("path", &self.shared.path)),
        }
    }

    pub(crate) fn values(&self) -> &Values {
        &self.values
    }

    /// Returns what knows values of variable length: the inner container, unless several processes have it open.
    fn values_of_all(&self) -> &dyn Container {
        if self.shared.is_alone() { &*self.inner } else { &self.values }
    }
}

impl Drop for LogContainer {
    fn drop(&mut self) {
        self.release();
    }
}

impl Layer for LogContainer {
    fn inner(&self) -> &dyn Container {
        &*self.inner
    }

    fn info(&self) -> Result<Arc<ContainerInfo>> {
        let mut info = ContainerInfo::clone(&*self.inner.info()?);
        (info.connector, info.capability) = (NAME.to_owned(), CAPABILITY);
        info.writable = self.is_writable;
        Ok(Arc::new(info))
    }

    fn commit(&self, durability: Durability) -> Result<()> {
        self.check_open()?;
        match self.is_writable {
            true => self.flush_with(&LentBuffers::default(), durability),
            false => self.inner.commit(durability),
        }
    }

    fn close(&self) -> Result<()> {
        self.check_open()?;
        if self.is_writable {
            let state = &mut self.shared.write();
            self.flush_state(state, &LentBuffers::default(), self.durability)?;
            // Tables that cannot become one are no reason to lose what they lead to.
            let merged = self.merge(state, self.durability);
            self.finish(state, self.durability)?;
            merged?;
        }
        self.release();
        self.inner.close()
    }

    fn optional(&self, name: &str, request: &[u8]) -> Result<Vec<u8>> {
        self.check_open()?;
        Optional::new(name, request)
            .on::<LogStatisticsText>(|()| Ok(self.statistics()?.to_string()))
            .on::<LogEntriesText>(|skip| self.entries_text(skip))
            .on::<CheckRepack>(|()| self.check_repack())
            .on::<CompactLog>(|()| self.compact())
            .or_ask(&*self.inner)
    }

    fn stored_blocks(&self, dataset: Token) -> Result<Vec<StoredBlock>> {
        self.check_open()?;
        self.blocks_of(dataset)
    }

    fn object_info(&self, object: Token) -> Result<ObjectInfo> {
        let mut info = self.inner.object_info(object)?;
        if info.kind == model::ObjectKind::Dataset {
            info.attributes = info.attributes.saturating_sub(self.hidden_attributes(object)?.into());
        }
        Ok(info)
    }

    fn object_copy(&self, op: &OpObjectCopy) -> Result<Token> {
        self.check_place(Some(&op.place))?;
        let resolver = self.resolver.as_deref().map(|resolver| (resolver, self.shared.path.as_str()));
        let context = CopyContext { resolver, ..CopyContext::new(&self.shared.limits) };
        algorithms::copy::within(self, op, context)
    }

    fn group_create(&self, op: &OpGroupCreate) -> Result<Token> {
        self.check_place(op.place.as_ref())?;
        self.inner.group_create(op).map(|token| self.made(token))
    }

    fn group_info(&self, group: Token) -> Result<GroupInfo> {
        let info = self.inner.group_info(group)?;
        match self.is_root(group) {
            true => Ok(hidden::shown_group(info, self.own_link()?.as_ref())),
            false => Ok(info),
        }
    }

    fn link_create(&self, op: &OpLinkCreate) -> Result<()> {
        self.check_place(Some(&op.place))?;
        self.inner.link_create(op)
    }

    fn link_get(&self, group: Token, name: &str) -> Result<Option<Link>> {
        match self.is_root(group) {
            true if name == hidden::GROUP => self.check_open().map(|()| None),
            true => self.root_link(name),
            false => self.inner.link_get(group, name),
        }
    }

    fn link_list(&self, group: Token, op: &OpList) -> Result<Page<Link>> {
        match self.is_root(group) {
            true => hidden::root_links(&*self.inner, group, op, self.own_link()?.as_ref()),
            false => self.inner.link_list(group, op),
        }
    }

    fn link_delete(&self, group: Token, name: &str) -> Result<()> {
        if self.is_root(group) && name == hidden::GROUP {
            self.check_writable()?;
            return Err(Self::missing(name, "delete link"));
        }
        self.inner.link_delete(group, name)
    }

    fn link_move(&self, op: &OpLinkMove) -> Result<()> {
        self.check_place(Some(&op.to))?;
        if self.is_root(op.from) && op.name == hidden::GROUP {
            self.check_writable()?;
            return Err(Self::missing(&op.name, "move link"));
        }
        self.inner.link_move(op)
    }

    fn lookup(&self, op: &OpLookup) -> Result<Lookup> {
        vol::path::walk(self, op)
    }

    fn attribute_create(&self, op: &OpAttributeCreate) -> Result<()> {
        hidden::check_attribute(&op.name)?;
        self.inner.attribute_create(op)
    }

    fn attribute_info(&self, object: Token, name: &str) -> Result<Option<AttributeInfo>> {
        if hidden::is_hidden(name) {
            return self.check_open().map(|()| None);
        }
        let Some(info) = self.inner.attribute_info(object, name)? else { return Ok(None) };
        let own = if info.creation_order.is_some() { self.hidden_attributes(object)? } else { 0 };
        Ok(Some(hidden::shown_attribute(info, own)))
    }

    fn attribute_list(&self, object: Token, op: &OpList) -> Result<Page<AttributeInfo>> {
        match self.hidden_attributes(object)? {
            0 => self.inner.attribute_list(object, op),
            _ => hidden::attributes(&*self.inner, object, op),
        }
    }

    fn attribute_read(&self, object: Token, names: &[&str]) -> Result<Vec<Vec<u8>>> {
        match names.iter().find(|name| hidden::is_hidden(name)) {
            Some(name) => Err(Self::missing(name, "read attribute")),
            None => self.read_attributes(object, names),
        }
    }

    fn attribute_write(&self, object: Token, name: &str, data: &[u8]) -> Result<()> {
        match hidden::is_hidden(name) {
            true => Err(Self::missing(name, "write attribute")),
            false => self.write_attribute(object, name, data),
        }
    }

    fn attribute_delete(&self, object: Token, name: &str) -> Result<()> {
        match hidden::is_hidden(name) {
            true => Err(Self::missing(name, "delete attribute")),
            false => self.inner.attribute_delete(object, name),
        }
    }

    fn attribute_rename(&self, object: Token, from: &str, to: &str) -> Result<()> {
        hidden::check_attribute(to)?;
        match hidden::is_hidden(from) {
            true => Err(Self::missing(from, "rename attribute")),
            false => self.inner.attribute_rename(object, from, to),
        }
    }

    fn dataset_create(&self, op: &OpDatasetCreate) -> Result<Token> {
        self.make_dataset(op)
    }

    fn dataset_info(&self, dataset: Token) -> Result<Arc<DatasetInfo>> {
        self.show_dataset(dataset)
    }

    fn dataset_storage(&self, dataset: Token) -> Result<StorageInfo> {
        self.storage(dataset)
    }

    fn dataset_read(&self, reads: &mut [OpRead<'_>]) -> Result<()> {
        self.check_open()?;
        if self.shared.is_alone() {
            reads.iter().try_for_each(|read| self.know(read.dataset))?;
        }
        self.read_all(reads)
    }

    fn dataset_write(&self, writes: &[OpWrite<'_>]) -> Result<()> {
        self.check_writable()?;
        self.write_all(writes)
    }

    fn dataset_resize(&self, dataset: Token, dims: &[u64]) -> Result<()> {
        self.resize(dataset, dims)
    }

    fn blob_put(&self, values: &[&[u8]]) -> Result<Vec<u8>> {
        self.values_of_all().blob_put(values)
    }

    fn blob_get(&self, ids: &[&[u8]], out: &mut Blobs) -> Result<()> {
        self.values_of_all().blob_get(ids, out)
    }

    fn blob_delete(&self, ids: &[&[u8]]) -> Result<()> {
        self.values_of_all().blob_delete(ids)
    }

    fn blob_pin(&self, pin: u64) -> Result<()> {
        self.values_of_all().blob_pin(pin)
    }

    fn blob_unpin(&self, pin: u64) -> Result<()> {
        self.values_of_all().blob_unpin(pin)
    }

    fn reference_get(&self, kind: ReferenceKind, descriptors: &[&[u8]]) -> Result<Vec<Reference>> {
        self.values_of_all().reference_get(kind, descriptors)
    }

    fn reference_put(&self, kind: ReferenceKind, references: &[Reference]) -> Result<Vec<Vec<u8>>> {
        self.values_of_all().reference_put(kind, references)
    }

    fn posting<'c, 'b: 'c>(&'c self) -> Option<Box<dyn Posting<'b> + 'c>> {
        Some(Box::new(self.posting()))
    }

    fn collective(&self) -> Option<&dyn Collective> {
        (!self.shared.is_alone()).then_some(self)
    }

    // The document leaves maps out, and what is below would keep them apart from the log.
    fn map_create(&self, _op: &OpMapCreate) -> Result<Token> {
        Err(Error::unsupported("create map in a log"))
    }

    fn map_info(&self, _map: Token) -> Result<MapInfo> {
        Err(Error::unsupported("use map of a log"))
    }

    fn map_put(&self, _map: Token, _pairs: &[(&[u8], &[u8])]) -> Result<()> {
        Err(Error::unsupported("use map of a log"))
    }

    fn map_get(&self, _map: Token, _keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        Err(Error::unsupported("use map of a log"))
    }

    fn map_keys(&self, _map: Token, _after: Option<&[u8]>, _count_max: u64) -> Result<Page<Vec<u8>>> {
        Err(Error::unsupported("use map of a log"))
    }

    fn map_delete(&self, _map: Token, _key: &[u8]) -> Result<bool> {
        Err(Error::unsupported("use map of a log"))
    }

    fn chunk_list(&self, _dataset: Token, _skip: u64, _count_max: u64) -> Result<Page<ChunkInfo>> {
        Err(Error::unsupported("list raw chunks of a log"))
    }

    fn chunk_read(&self, _dataset: Token, _offset: &[u64]) -> Result<(u32, Vec<u8>)> {
        Err(Error::unsupported("read raw chunk of a log"))
    }

    fn chunk_write(&self, _dataset: Token, _offset: &[u64], _mask: u32, _data: &[u8]) -> Result<()> {
        Err(Error::unsupported("write raw chunk of a log"))
    }

    /// Elements of anchors are in the log.
    fn elements_find(&self, _op: &OpPlacement) -> Result<Placement> {
        Err(Error::unsupported("find elements of a log"))
    }

    fn elements_place(&self, _op: &OpPlacement) -> Result<Placement> {
        Err(Error::unsupported("place elements of a log"))
    }

    fn datatype_commit(&self, op: &OpDatatypeCommit) -> Result<Token> {
        self.check_place(op.place.as_ref())?;
        self.inner.datatype_commit(op).map(|token| self.made(token))
    }
}
