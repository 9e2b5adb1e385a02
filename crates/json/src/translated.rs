//! A container whose tokens are made from identities in text, over one that makes tokens as it likes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use algorithms::copy::CopyContext;
use model::datatype::ReferenceKind;
use model::{Limits, Link, LinkTarget, ObjectKind, Reference, ReferenceTarget, Result, Token};
use system::sync::{RwLock, RwLockWriteGuard};
use vol::*;

use crate::ids::{Ids, ObjectNames};
use crate::values::Objects;

/// The state that all handles of one container share.
#[derive(Debug)]
pub struct Shared {
    /// The IDs of objects.
    pub ids: RwLock<Ids>,
    changes: AtomicU64,
    /// Held shared by callers that change objects, and exclusively by one that needs a consistent snapshot.
    gate: RwLock<()>,
}

impl Shared {
    /// Returns what handles of a container share that is always called `place`.
    pub fn new(place: &str) -> Arc<Self> {
        Arc::new(Shared {
            ids: RwLock::new(Ids::new(place)),
            changes: AtomicU64::new(0),
            gate: RwLock::new(()),
        })
    }

    /// Returns a guard. While it is held, no one creates, links, unlinks or describes objects; elements may still be written.
    pub fn pause(&self) -> RwLockWriteGuard<'_, ()> {
        self.gate.write()
    }

    /// Sets the identity of the next object that is created, for a caller who paused the others.
    pub fn expect(&self, id: &str) {
        self.ids.write().expect(id);
    }

    /// Notes that something changed.
    pub fn change(&self) {
        self.changes.fetch_add(1, Ordering::SeqCst);
    }

    /// Returns how often something changed.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::SeqCst)
    }

    /// Returns the inner object.
    pub fn inner(&self, token: Token) -> Result<Token> {
        self.ids.read().inner(token)
    }

    /// Returns the token of an object below.
    pub fn outer(&self, inner: Token) -> Token {
        let known = self.ids.read().known(inner);
        known.unwrap_or_else(|| self.ids.write().token(inner))
    }

    /// Returns the identity of an object in text.
    pub fn id(&self, token: Token) -> Result<String> {
        self.ids.read().id(token).map(str::to_owned)
    }

    /// Notes an object below whose identity is known.
    pub fn add(&self, id: &str, inner: Token) -> Result<Token> {
        self.ids.write().add(id, inner)
    }
}

/// The container: a layer that translates. Clones are the same handle.
#[derive(Clone)]
pub struct Translated {
    inner: Arc<dyn Container>,
    shared: Arc<Shared>,
    info: TranslatedInfo,
    /// Opens what it refers to.
    resolver: Option<Arc<dyn Resolver>>,
}

/// The info of a translated container.
#[derive(Debug, Clone)]
pub struct TranslatedInfo {
    /// Its connector.
    pub connector: &'static str,
    /// Its capabilities.
    pub capability: Capability,
    /// Its limits of memory and work.
    pub limits: Limits,
    /// Whether this handle loads and saves the container; a pause does not apply to it.
    pub is_keeper: bool,
}

impl std::fmt::Debug for Translated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Translated").field("connector", &self.info.connector).finish_non_exhaustive()
    }
}

impl Translated {
    /// Returns a container over `inner`.
    pub fn new(inner: Arc<dyn Container>, shared: Arc<Shared>, info: TranslatedInfo) -> Self {
        Translated { inner, shared, info, resolver: None }
    }

    /// Adds a way to open what it refers to.
    #[must_use]
    pub fn with_resolver(self, resolver: Option<Arc<dyn Resolver>>) -> Self {
        Translated { resolver, ..self }
    }

    /// Returns how objects are copied inside the container.
    pub fn copy_context(&self) -> CopyContext<'_> {
        // It knows itself where the container is.
        let resolver = self.resolver.as_deref().map(|resolver| (resolver, ""));
        CopyContext { resolver, ..CopyContext::new(&self.info.limits) }
    }

    /// Returns the state that all handles share.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Returns the inner container, with its own tokens.
    pub fn inner(&self) -> &dyn Container {
        &*self.inner
    }

    /// Returns what objects are called in text.
    pub fn objects(&self) -> impl Objects + '_ {
        ObjectNames { ids: &self.shared.ids, container: self }
    }

    fn down(&self, token: Token) -> Result<Token> {
        self.shared.inner(token)
    }

    fn down_place(&self, place: &LinkLocation) -> Result<LinkLocation> {
        Ok(LinkLocation { group: self.down(place.group)?, ..place.clone() })
    }

    fn down_maybe(&self, place: Option<&LinkLocation>) -> Result<Option<LinkLocation>> {
        place.map(|place| self.down_place(place)).transpose()
    }

    fn down_token(&self, token: Option<Token>) -> Result<Option<Token>> {
        token.map(|token| self.down(token)).transpose()
    }

    fn up(&self, inner: Token) -> Token {
        self.shared.outer(inner)
    }

    /// Changes something, when no one needs it to hold still.
    fn change<T>(&self, change: impl FnOnce() -> Result<T>) -> Result<T> {
        let _entered = (!self.info.is_keeper).then(|| self.shared.gate.read());
        let done = change()?;
        self.shared.change();
        Ok(done)
    }

    fn make(&self, make: impl FnOnce() -> Result<Token>) -> Result<Token> {
        self.change(|| make().map(|inner| self.up(inner)))
    }

    fn up_link(&self, mut link: Link) -> Link {
        if let LinkTarget::Hard(inner) = link.target {
            link.target = LinkTarget::Hard(self.up(inner));
        }
        link
    }

    fn up_attribute(&self, mut info: AttributeInfo) -> AttributeInfo {
        info.committed = info.committed.map(|inner| self.up(inner));
        info
    }

    fn reference(
        &self,
        reference: &Reference,
        translate: impl Fn(Token) -> Result<Token>,
    ) -> Result<Reference> {
        let mut reference = reference.clone();
        if reference.file.is_none() {
            match &mut reference.target {
                ReferenceTarget::Null => {}
                ReferenceTarget::Object(token)
                | ReferenceTarget::Region { dataset: token, .. }
                | ReferenceTarget::Attribute { object: token, .. } => *token = translate(*token)?,
            }
        }
        Ok(reference)
    }
}

impl Layer for Translated {
    fn inner(&self) -> &dyn Container {
        &*self.inner
    }

    fn info(&self) -> Result<Arc<ContainerInfo>> {
        let mut info = ContainerInfo::clone(&*self.inner.info()?);
        info.root = self.up(info.root);
        info.connector = self.info.connector.to_owned();
        info.capability = self.info.capability;
        Ok(Arc::new(info))
    }

    fn retain(&self, object: Token) -> Result<()> {
        self.inner.retain(self.down(object)?)
    }

    fn release(&self, object: Token) -> Result<()> {
        self.inner.release(self.down(object)?)
    }

    fn object_info(&self, object: Token) -> Result<ObjectInfo> {
        let info = self.inner.object_info(self.down(object)?)?;
        let times = info.times.filter(|_| self.info.capability.times);
        Ok(ObjectInfo { token: object, times, ..info })
    }

    fn object_kinds(&self, objects: &[Token]) -> Result<Vec<ObjectKind>> {
        let inner = objects.iter().map(|object| self.down(*object)).collect::<Result<Vec<_>>>()?;
        self.inner.object_kinds(&inner)
    }

    fn object_refresh(&self, object: Token) -> Result<()> {
        self.inner.object_refresh(self.down(object)?)
    }

    fn object_copy(&self, op: &OpObjectCopy) -> Result<Token> {
        algorithms::copy::within(self, op, self.copy_context())
    }

    fn object_set_comment(&self, object: Token, comment: Option<&str>) -> Result<()> {
        self.change(|| self.inner.object_set_comment(self.down(object)?, comment))
    }

    fn object_adjust_references(&self, object: Token, by: i32) -> Result<u32> {
        self.change(|| self.inner.object_adjust_references(self.down(object)?, by))
    }

    fn group_create(&self, op: &OpGroupCreate) -> Result<Token> {
        let place = self.down_maybe(op.place.as_ref())?;
        self.make(|| self.inner.group_create(&OpGroupCreate { place, ..op.clone() }))
    }

    fn group_info(&self, group: Token) -> Result<GroupInfo> {
        self.inner.group_info(self.down(group)?)
    }

    fn link_create(&self, op: &OpLinkCreate) -> Result<()> {
        let target = match &op.target {
            LinkTarget::Hard(token) => LinkTarget::Hard(self.down(*token)?),
            other => other.clone(),
        };
        let place = self.down_place(&op.place)?;
        self.change(|| self.inner.link_create(&OpLinkCreate { place, target }))
    }

    fn link_get(&self, group: Token, name: &str) -> Result<Option<Link>> {
        Ok(self.inner.link_get(self.down(group)?, name)?.map(|link| self.up_link(link)))
    }

    fn link_list(&self, group: Token, op: &OpList) -> Result<Page<Link>> {
        let page = self.inner.link_list(self.down(group)?, op)?;
        let entries = page.entries.into_iter().map(|link| self.up_link(link)).collect();
        Ok(Page { entries, more: page.more })
    }

    fn link_delete(&self, group: Token, name: &str) -> Result<()> {
        self.change(|| self.inner.link_delete(self.down(group)?, name))
    }

    fn link_move(&self, op: &OpLinkMove) -> Result<()> {
        let (from, to) = (self.down(op.from)?, self.down_place(&op.to)?);
        self.change(|| self.inner.link_move(&OpLinkMove { from, to, ..op.clone() }))
    }

    fn lookup(&self, op: &OpLookup) -> Result<Lookup> {
        let found = self.inner.lookup(&OpLookup { from: self.down(op.from)?, ..op.clone() })?;
        Ok(match found {
            Lookup::Object(inner) => Lookup::Object(self.up(inner)),
            other => other,
        })
    }

    fn attribute_create(&self, op: &OpAttributeCreate) -> Result<()> {
        let (object, committed) = (self.down(op.object)?, self.down_token(op.committed)?);
        self.change(|| self.inner.attribute_create(&OpAttributeCreate { object, committed, ..op.clone() }))
    }

    fn attribute_info(&self, object: Token, name: &str) -> Result<Option<AttributeInfo>> {
        let found = self.inner.attribute_info(self.down(object)?, name)?;
        Ok(found.map(|info| self.up_attribute(info)))
    }

    fn attribute_list(&self, object: Token, op: &OpList) -> Result<Page<AttributeInfo>> {
        let page = self.inner.attribute_list(self.down(object)?, op)?;
        let entries = page.entries.into_iter().map(|info| self.up_attribute(info)).collect();
        Ok(Page { entries, more: page.more })
    }

    fn attribute_read(&self, object: Token, names: &[&str]) -> Result<Vec<Vec<u8>>> {
        self.inner.attribute_read(self.down(object)?, names)
    }

    fn attribute_write(&self, object: Token, name: &str, data: &[u8]) -> Result<()> {
        self.change(|| self.inner.attribute_write(self.down(object)?, name, data))
    }

    fn attribute_delete(&self, object: Token, name: &str) -> Result<()> {
        self.change(|| self.inner.attribute_delete(self.down(object)?, name))
    }

    fn attribute_rename(&self, object: Token, from: &str, to: &str) -> Result<()> {
        self.change(|| self.inner.attribute_rename(self.down(object)?, from, to))
    }

    fn dataset_create(&self, op: &OpDatasetCreate) -> Result<Token> {
        let (place, committed) = (self.down_maybe(op.place.as_ref())?, self.down_token(op.committed)?);
        self.make(|| self.inner.dataset_create(&OpDatasetCreate { place, committed, ..op.clone() }))
    }

    fn dataset_info(&self, dataset: Token) -> Result<Arc<DatasetInfo>> {
        let info = self.inner.dataset_info(self.down(dataset)?)?;
        Ok(match info.committed {
            None => info,
            Some(inner) => {
                Arc::new(DatasetInfo { committed: Some(self.up(inner)), ..DatasetInfo::clone(&info) })
            }
        })
    }

    fn dataset_storage(&self, dataset: Token) -> Result<StorageInfo> {
        self.inner.dataset_storage(self.down(dataset)?)
    }

    fn dataset_read(&self, reads: &mut [OpRead<'_>]) -> Result<()> {
        let mut below = Vec::with_capacity(reads.len());
        for read in reads.iter_mut() {
            let (dataset, selection) = (self.down(read.dataset)?, read.selection);
            below.push(OpRead { dataset, selection, into: &mut *read.into });
        }
        self.inner.dataset_read(&mut below)
    }

    // Without a pause: a write may go to another container, or by way of one to this one again.
    fn dataset_write(&self, writes: &[OpWrite<'_>]) -> Result<()> {
        let mut below = writes.to_vec();
        for write in &mut below {
            write.dataset = self.down(write.dataset)?;
        }
        self.inner.dataset_write(&below)?;
        self.shared.change();
        Ok(())
    }

    fn dataset_resize(&self, dataset: Token, dims: &[u64]) -> Result<()> {
        self.change(|| self.inner.dataset_resize(self.down(dataset)?, dims))
    }

    fn chunk_list(&self, dataset: Token, skip: u64, count_max: u64) -> Result<Page<ChunkInfo>> {
        self.inner.chunk_list(self.down(dataset)?, skip, count_max)
    }

    fn chunk_read(&self, dataset: Token, offset: &[u64]) -> Result<(u32, Vec<u8>)> {
        self.inner.chunk_read(self.down(dataset)?, offset)
    }

    fn chunk_write(&self, dataset: Token, offset: &[u64], filter_mask: u32, data: &[u8]) -> Result<()> {
        self.change(|| self.inner.chunk_write(self.down(dataset)?, offset, filter_mask, data))
    }

    fn datatype_commit(&self, op: &OpDatatypeCommit) -> Result<Token> {
        let place = self.down_maybe(op.place.as_ref())?;
        self.make(|| self.inner.datatype_commit(&OpDatatypeCommit { place, ..op.clone() }))
    }

    fn datatype_get(&self, datatype: Token) -> Result<model::Datatype> {
        self.inner.datatype_get(self.down(datatype)?)
    }

    fn map_create(&self, op: &OpMapCreate) -> Result<Token> {
        let place = self.down_maybe(op.place.as_ref())?;
        self.make(|| self.inner.map_create(&OpMapCreate { place, ..op.clone() }))
    }

    fn map_info(&self, map: Token) -> Result<MapInfo> {
        self.inner.map_info(self.down(map)?)
    }

    fn map_put(&self, map: Token, pairs: &[(&[u8], &[u8])]) -> Result<()> {
        self.change(|| self.inner.map_put(self.down(map)?, pairs))
    }

    fn map_get(&self, map: Token, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        self.inner.map_get(self.down(map)?, keys)
    }

    fn map_keys(&self, map: Token, after: Option<&[u8]>, count_max: u64) -> Result<Page<Vec<u8>>> {
        self.inner.map_keys(self.down(map)?, after, count_max)
    }

    fn map_delete(&self, map: Token, key: &[u8]) -> Result<bool> {
        self.change(|| self.inner.map_delete(self.down(map)?, key))
    }

    fn reference_get(&self, kind: ReferenceKind, descriptors: &[&[u8]]) -> Result<Vec<Reference>> {
        let references = self.inner.reference_get(kind, descriptors)?;
        references.iter().map(|r| self.reference(r, |inner| Ok(self.up(inner)))).collect()
    }

    fn reference_put(&self, kind: ReferenceKind, references: &[Reference]) -> Result<Vec<Vec<u8>>> {
        let below = references.iter().map(|r| self.reference(r, |token| self.down(token)));
        self.inner.reference_put(kind, &below.collect::<Result<Vec<_>>>()?)
    }
}
