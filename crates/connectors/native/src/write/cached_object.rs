//! An object as values: the messages of its header, and the parts that it refers to.

use std::sync::Arc;

use files::DataKind;
use model::properties::{GroupCreate, ObjectCreate};
use model::{Context, Dataspace, Error, ObjectKind, Result, Token};
use vol::LibVersion;

use super::parts::{Attributes, ChunkSet, HeaderPart, Links, Writing};
use super::storage::Storage;
use super::{chunk_index, versions};
use crate::format::encode::{header, messages};
use crate::format::header::{Message, MessageRef, Prefix, flag, kind};
use crate::format::layout::{Chunked, Index, Layout};
use crate::format::{Address, Sizes};
use crate::object::attribute::space_format;
use crate::object::dataset::{self, Dataset};
use crate::object::header::Header;
use crate::reader::Reader;
use crate::txn::PublishOrder;

/// An object that changed or may change.
///
/// Links, attributes and chunks become values when one of them changes for the first time; until then the
/// messages that say where they are stay as they are.
#[derive(Debug)]
pub(crate) struct CachedObject {
    pub(crate) address: Address,
    pub(crate) kind: ObjectKind,
    /// The header must be written anew.
    pub(crate) is_dirty: bool,
    /// Its readers ask the writer.
    pub(crate) is_marked: bool,
    /// The file holds a header of it.
    is_stored: bool,
    /// An index of shared messages leads to messages of the header as it stands in the file.
    pub(crate) is_indexed: bool,
    pub(crate) references: u32,
    /// When it was used last, by the storage's clock.
    pub(crate) used: u64,
    /// It is a group with these properties and nothing else, as it was created.
    pub(crate) empty_group: Option<GroupCreate>,
    pub(crate) prefix: Prefix,
    /// Continuation blocks of the header as it stands in the file.
    continuations: Vec<(Address, u64)>,
    /// Messages that are not made from the parts below.
    pub(crate) messages: Vec<Message>,
    /// Shared messages that others took the place of.
    pub(crate) unshared: Vec<Message>,
    pub(crate) links: Option<HeaderPart<Links>>,
    pub(crate) attributes: Option<HeaderPart<Attributes>>,
    pub(crate) chunks: Option<HeaderPart<ChunkSet>>,
}

/// The header of an empty group, which others of these properties have too if they are made in the same second.
#[derive(Debug)]
pub(crate) struct EmptyGroupHeader {
    create: GroupCreate,
    prefix: Prefix,
    block: Vec<u8>,
}

/// Messages that say where a header continues, what is unused, and how many links lead to it.
fn is_of_header(kind: u16) -> bool {
    matches!(kind, 0 | kind::CONTINUATION | kind::REFERENCES)
}

impl CachedObject {
    /// Returns a new object whose header has space for `space` bytes of messages.
    pub(crate) fn new(
        storage: &mut Storage,
        low: LibVersion,
        kind: ObjectKind,
        create: &ObjectCreate,
        capacity: u64,
    ) -> CachedObject {
        let prefix = versions::prefix(low, create, capacity);
        let address = storage.allocate(prefix.first_block_bytes(), DataKind::ObjectHeader);
        let mut messages = Vec::new();
        if prefix.version == 1 && create.track_times {
            let body = versions::time_message();
            messages.push(Message { kind: kind::TIME, flags: 0, creation_order: None, body });
        }
        let attributes = Attributes::new(create.attribute_phase);
        CachedObject {
            address,
            kind,
            is_dirty: true,
            is_marked: false,
            is_stored: false,
            is_indexed: false,
            references: 0,
            used: 0,
            empty_group: None,
            prefix,
            continuations: Vec::new(),
            messages,
            unshared: Vec::new(),
            links: None,
            attributes: Some(HeaderPart::new(attributes)),
            chunks: None,
        }
    }

    /// Returns the object as it stands in the file.
    pub(crate) fn load(reader: &Reader, address: Address) -> Result<CachedObject> {
        // Not through the cache: the object takes the header's place.
        let header = Header::load(&reader.store, address)?;
        let continuations = header.messages_of(kind::CONTINUATION);
        let continuations =
            continuations.map(|m| crate::format::header::continuation(m.body, reader.store.sizes()));
        let messages = header.messages().filter(|m| !is_of_header(m.kind));
        let unindexed = |m: MessageRef<'_>| Message { flags: m.flags & !flag::INDEXED, ..m.to_message() };
        Ok(CachedObject {
            address,
            kind: header.object_kind()?,
            is_dirty: false,
            is_marked: false,
            is_stored: true,
            is_indexed: header.messages().any(|m| m.flags & flag::INDEXED != 0),
            references: header.references()?,
            used: 0,
            empty_group: None,
            prefix: header.prefix.clone(),
            continuations: continuations.collect::<Result<_>>()?,
            messages: messages.map(unindexed).collect(),
            unshared: Vec::new(),
            links: None,
            attributes: None,
            chunks: None,
        })
    }

    /// Returns the header without the messages of the parts that became values.
    pub(crate) fn header(&self) -> Header {
        Header::of(self.address, self.prefix.clone(), &self.messages)
    }

    /// Returns the links, to be changed.
    pub(crate) fn links_mut(&mut self, reader: &Reader) -> Result<&mut Links> {
        if self.kind != ObjectKind::Group {
            return Err(Error::invalid("change links")
                .at(self.address.0)
                .with("problem", "object is not a group"));
        }
        if self.links.is_none() {
            self.links = Some(Links::load(reader, &self.header(), &mut self.messages)?);
        }
        self.is_dirty = true;
        Ok(self.links.get_or_insert_default().change())
    }

    /// Returns the attributes, to be changed.
    pub(crate) fn attributes_mut(&mut self, reader: &Reader) -> Result<&mut Attributes> {
        if self.attributes.is_none() {
            self.attributes = Some(Attributes::load(reader, &self.header(), &mut self.messages)?);
        }
        self.is_dirty = true;
        Ok(self.attributes.get_or_insert_default().change())
    }

    /// Returns the chunks, to be changed.
    pub(crate) fn chunks_mut(&mut self, reader: &Reader) -> Result<&mut ChunkSet> {
        self.is_dirty = true;
        Ok(self.chunk_part(reader)?.change())
    }

    /// Returns the chunks, to be looked at.
    pub(crate) fn chunks_seen(&mut self, reader: &Reader) -> Result<&mut ChunkSet> {
        Ok(self.chunk_part(reader)?.value_mut())
    }

    fn chunk_part(&mut self, reader: &Reader) -> Result<&mut HeaderPart<ChunkSet>> {
        if self.chunks.is_none() {
            self.chunks = Some(ChunkSet::load(reader, self.address)?);
        }
        self.chunks.as_mut().ok_or_else(|| Error::corrupt("change chunks").at(self.address.0))
    }

    /// Returns the dataset that this is, or `None` if the file must have its header to tell.
    pub(crate) fn dataset(&self, reader: &Reader) -> Result<Option<Arc<Dataset>>> {
        // While chunks change, only the extent does too.
        if self.chunks.is_some() {
            let dataset = reader.dataset(Token::from_u64(self.address.0))?;
            let space = self.messages.iter().find(|m| m.kind == kind::DATASPACE && !m.is_shared());
            let space = space.map(|m| Dataspace::decode(&m.body, &space_format(reader))).transpose()?;
            let space = space.filter(|space| *space != dataset.info.space);
            return Ok(Some(
                space.map_or_else(|| dataset.clone(), |s| dataset::in_space(dataset.clone(), s)),
            ));
        }
        if !self.is_plain(reader.store.sizes()) {
            return Ok(None);
        }
        let dataset = dataset::load(reader, &self.header()).during_at("open dataset", self.address.0)?;
        Ok(Some(Arc::new(dataset)))
    }

    /// Returns whether it is a dataset whose header alone says where its elements are.
    fn is_plain(&self, sizes: Sizes) -> bool {
        let layout = self.body(kind::LAYOUT).map(|body| Layout::decode(body, sizes));
        let is_plain = matches!(layout, Some(Ok(Layout::Contiguous { .. } | Layout::Compact { .. })));
        is_plain && self.body(kind::EXTERNAL_FILES).is_none()
    }

    /// Returns whether chunks lie in order and have no index.
    pub(crate) fn is_implicit(&self, sizes: Sizes) -> bool {
        let layout = self.body(kind::LAYOUT).map(|body| Layout::decode(body, sizes));
        matches!(layout, Some(Ok(Layout::Chunked(Chunked { index: Index::Implicit, .. }))))
    }

    /// Returns the body of the first message of a kind.
    pub(crate) fn body(&self, kind: u16) -> Option<&[u8]> {
        self.messages.iter().find(|m| m.kind == kind).map(|m| m.body.as_slice())
    }

    /// Replaces the first message of a kind, or adds one.
    pub(crate) fn set(&mut self, kind: u16, flags: u8, body: Vec<u8>) {
        self.is_dirty = true;
        match self.messages.iter_mut().find(|m| m.kind == kind) {
            Some(message) => {
                // Copied only where it is needed: extents change with every row that is appended.
                if message.is_shared() {
                    self.unshared.push(message.clone());
                }
                (message.flags, message.body) = (flags, body);
            }
            None => self.messages.push(Message { kind, flags, creation_order: None, body }),
        }
    }

    pub(crate) fn remove(&mut self, kind: u16) {
        self.is_dirty = true;
        self.unshared.extend(self.messages.extract_if(.., |m| m.kind == kind).filter(Message::is_shared));
    }

    /// Returns the number of bytes of memory, roughly.
    pub(crate) fn weight(&self) -> u64 {
        let messages: usize = self.messages.iter().map(|m| m.body.len() + 64).sum();
        let links = self.links.as_ref().map_or(0, |p| p.weight(Links::weight));
        let attributes = self.attributes.as_ref().map_or(0, |p| p.weight(Attributes::weight));
        let chunks = self.chunks.as_ref().map_or(0, |p| p.weight(ChunkSet::weight));
        (messages + links + attributes + chunks + 256) as u64
    }

    /// Writes the object's header, and in fresh space those of its parts that changed.
    pub(crate) fn serialize(&mut self, writing: &mut Writing<'_>) -> Result<()> {
        match self.empty_group.take().filter(|_| self.references == 1) {
            Some(create) => self.serialize_empty_group(create, writing),
            None => self.serialize_all(writing).map(drop),
        }
    }

    /// Writes the header of a dataset that was just created, to which one link leads. Returns the header, or `None` where more than its
    /// first block says what the dataset is.
    pub(crate) fn serialize_new(&mut self, writing: &mut Writing<'_>) -> Result<Option<Vec<u8>>> {
        let is_simple = self.references == 1 && self.is_plain(writing.storage.sizes);
        let block = self.serialize_all(writing)?;
        Ok((is_simple && self.continuations.is_empty()).then_some(block))
    }

    /// Writes the header of an empty group. Many are made one after the other, and their headers are alike to the last byte.
    fn serialize_empty_group(&mut self, create: GroupCreate, writing: &mut Writing<'_>) -> Result<()> {
        let last = writing.cache.empty_group.as_ref();
        let Some(empty_group) = last.filter(|b| b.create == create && b.prefix == self.prefix) else {
            let prefix = self.prefix.clone();
            let block = self.serialize_all(writing)?;
            writing.cache.empty_group = Some(EmptyGroupHeader { create, prefix, block });
            return Ok(());
        };
        let done = writing.storage.write(self.address, &empty_group.block);
        (self.is_stored, self.is_dirty) = (done.is_ok(), done.is_err());
        done
    }

    /// Serializes any object, and returns the first block of its header.
    fn serialize_all(&mut self, writing: &mut Writing<'_>) -> Result<Vec<u8>> {
        self.serialize_chunks(writing)?;
        if self.kind == ObjectKind::Dataset {
            writing.share(&mut self.messages)?;
        }
        writing.unshare(&std::mem::take(&mut self.unshared))?;
        let prefix = &self.prefix;
        if let Some(links) = &mut self.links {
            links.write(|links| links.write(writing))?;
        }
        if let Some(attributes) = &mut self.attributes {
            attributes.write(|attributes| attributes.write(prefix, writing))?;
        }
        let mut counted = None;
        if self.references > 1 && self.prefix.version == 2 {
            let body = messages::references(self.references)?;
            counted = Some(Message { kind: kind::REFERENCES, flags: 4, creation_order: None, body });
        }
        let block = self.store(writing.storage, counted.as_ref())?;
        self.is_dirty = false;
        Ok(block)
    }

    /// The layout message follows its chunk index. From then on the file knows where chunks are.
    fn serialize_chunks(&mut self, writing: &mut Writing<'_>) -> Result<()> {
        let Some(mut chunks) = self.chunks.take() else { return Ok(()) };
        let Some(body) = self.body(kind::LAYOUT) else { return Ok(()) };
        let (reader, storage) = (writing.reader, &mut *writing.storage);
        let done = chunks
            .write(|set| Ok(chunk_index::layout_message(body, set, reader, storage)?.into_iter().collect()));
        let message = done.map(|()| chunks.messages().first().cloned());
        match message {
            Ok(Some(message)) => self.set(kind::LAYOUT, message.flags, message.body),
            Ok(None) => {}
            Err(error) => {
                self.chunks = Some(chunks);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Lays messages out in the first block, and what does not fit in one continuation.
    fn store(&mut self, storage: &mut Storage, counted: Option<&Message>) -> Result<Vec<u8>> {
        for (at, len) in std::mem::take(&mut self.continuations) {
            storage.release(at, len);
        }
        let links = self.links.iter().flat_map(HeaderPart::messages);
        let attributes = self.attributes.iter().flat_map(HeaderPart::messages);
        let mut all: Vec<&Message> =
            self.messages.iter().chain(links).chain(attributes).chain(counted).collect();
        let (continues, rest, mut continuations);
        (rest, continuations) = (split(&self.prefix, &mut all, storage.sizes), Vec::new());
        if !rest.is_empty() {
            let len = self.prefix.continuation_bytes(&rest);
            let at = storage.allocate(len, DataKind::ObjectHeader);
            continuations.push((at, len));
            storage.write(at, &self.prefix.encode_continuation(&rest, len)?)?;
            let body = header::continuation(at, len, storage.sizes)?;
            continues = Message { kind: kind::CONTINUATION, flags: 0, creation_order: None, body };
            all.push(&continues);
        }
        let mut prefix = self.prefix.clone();
        if let Some([access, _, change, _]) = &mut prefix.times
            && self.is_stored
        {
            // As libhdf5 has it: data that changes is no change of the object.
            (*access, *change) = (versions::now(), versions::now());
        }
        if prefix.version == 1 {
            prefix.references = Some(self.references);
            let spare = prefix.block_bytes - prefix.messages_bytes(&all);
            let count = all.len() + rest.len() + usize::from(spare > 0);
            prefix.message_count =
                Some(u16::try_from(count).map_err(|_| Error::limit("store object header"))?);
        }
        let block = prefix.encode_first_block(&all)?;
        (self.prefix, self.continuations, self.is_stored) = (prefix, continuations, true);
        storage.write(self.address, &block)?;
        Ok(block)
    }

    /// Gives back the space of the header, and makes sure that it is not taken for one any more.
    pub(crate) fn release(&self, storage: &mut Storage) -> Result<()> {
        // What was never committed, nothing that was leads to.
        let bytes = self.prefix.first_block_bytes();
        if self.is_stored && !storage.is_fresh(self.address, bytes) {
            storage.write_in_turn(self.address, &[0; 4], PublishOrder::Last)?;
        }
        storage.release(self.address, bytes);
        for &(at, len) in &self.continuations {
            storage.release(at, len);
        }
        Ok(())
    }
}

/// Takes messages from the end until the others and a continuation message fit in the first block.
fn split<'m>(prefix: &Prefix, all: &mut Vec<&'m Message>, sizes: Sizes) -> Vec<&'m Message> {
    if prefix.messages_bytes(all) <= prefix.block_bytes {
        return Vec::new();
    }
    let continuation = prefix.message_head_bytes() + (sizes.offset + sizes.length).next_multiple_of(8);
    let capacity = prefix.block_bytes.saturating_sub(continuation as u64);
    let mut used = 0;
    let kept = all.iter().take_while(|message| {
        used += prefix.message_bytes(message) as u64;
        used <= capacity
    });
    let kept = kept.count();
    all.split_off(kept)
}
