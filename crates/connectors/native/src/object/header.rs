//! Loading object headers, and finding shared messages.

use std::borrow::Cow;
use std::collections::HashSet;

use model::{Context, Error, ObjectKind, Result, Within};

use crate::format::Address;
use crate::format::header::{self, Message, MessageEntry, MessageRef, Prefix, kind};
use crate::format::shared::SharedAt;
use crate::object::shared_table::heap_body;
use crate::reader::Reader;
use crate::store::Store;

/// Bytes read at first: most headers fit, and longer ones cost one more read.
const FIRST_READ_BYTES: u64 = 512;

/// An object header with all its blocks.
#[derive(Debug, Default)]
pub(crate) struct Header {
    pub(crate) address: Address,
    pub(crate) prefix: Prefix,
    /// All blocks, one after another.
    bytes: Vec<u8>,
    entries: Vec<MessageEntry>,
}

impl Header {
    pub(crate) fn load(store: &Store, address: Address) -> Result<Header> {
        let mut header = Header::default();
        header.reload(store, address)?;
        Ok(header)
    }

    /// Becomes the header at `address`. A caller that looks at many headers spares the space for each.
    pub(crate) fn reload(&mut self, store: &Store, address: Address) -> Result<()> {
        load(self, store, address).during_at("read object header", address.0)
    }

    /// Returns the header that consists of this block alone.
    pub(crate) fn of_block(address: Address, block: &[u8]) -> Result<Header> {
        let prefix = Prefix::decode(&block[..block.len().min(header::PREFIX_BYTES_MAX)])?;
        let mut found = Header { address, prefix, bytes: block.to_vec(), entries: Vec::new() };
        header::first_block(&found.prefix, &found.bytes, 0, &mut found.entries)?;
        Ok(found)
    }

    /// Returns a header with these messages.
    pub(crate) fn of(address: Address, prefix: Prefix, messages: &[Message]) -> Header {
        let mut header = Header { address, prefix, bytes: Vec::new(), entries: Vec::new() };
        for Message { kind, flags, creation_order, body } in messages {
            let start = header.bytes.len();
            header.bytes.extend_from_slice(body);
            let body = start..header.bytes.len();
            header.entries.push(MessageEntry {
                kind: *kind,
                flags: *flags,
                creation_order: *creation_order,
                body,
            });
        }
        header
    }

    fn get(&self, entry: &MessageEntry) -> MessageRef<'_> {
        let MessageEntry { kind, flags, creation_order, ref body } = *entry;
        MessageRef { kind, flags, creation_order, body: &self.bytes[body.clone()] }
    }

    /// Returns all messages.
    pub(crate) fn messages(&self) -> impl Iterator<Item = MessageRef<'_>> {
        self.entries.iter().map(|entry| self.get(entry))
    }

    /// Returns the first message of a kind.
    pub(crate) fn message(&self, kind: u16) -> Option<MessageRef<'_>> {
        self.entries.iter().find(|m| m.kind == kind).map(|entry| self.get(entry))
    }

    /// Returns all messages of a kind.
    pub(crate) fn messages_of(&self, kind: u16) -> impl Iterator<Item = MessageRef<'_>> {
        self.entries.iter().filter(move |m| m.kind == kind).map(|entry| self.get(entry))
    }

    /// Returns the message that this object cannot do without.
    pub(crate) fn required(&self, kind: u16, what: &str) -> Result<MessageRef<'_>> {
        let missing = || Error::corrupt("read object header").at(self.address.0).with("missing", what);
        self.message(kind).ok_or_else(missing)
    }

    /// Returns the number of bytes of memory, roughly.
    pub(crate) fn weight(&self) -> u64 {
        (self.bytes.len() + self.entries.len() * size_of::<MessageEntry>() + 256) as u64
    }

    /// Returns what the object is, by the messages it has.
    pub(crate) fn object_kind(&self) -> Result<ObjectKind> {
        let has = |kind| self.message(kind).is_some();
        if has(kind::SYMBOL_TABLE) || has(kind::LINK_INFO) {
            Ok(ObjectKind::Group)
        } else if has(kind::DATATYPE) && has(kind::DATASPACE) {
            Ok(ObjectKind::Dataset)
        } else if has(kind::DATATYPE) {
            Ok(ObjectKind::Datatype)
        } else {
            Err(Error::corrupt("find kind of object").at(self.address.0))
        }
    }

    pub(crate) fn references(&self) -> Result<u32> {
        if let Some(count) = self.prefix.references {
            return Ok(count);
        }
        match self.message(kind::REFERENCES) {
            Some(message) => {
                let mut c = model::bytes::Cursor::new(message.body, "reference count");
                c.skip(1)?;
                c.u32()
            }
            None => Ok(1),
        }
    }
}

fn load(header: &mut Header, store: &Store, address: Address) -> Result<()> {
    let start = store.block_up_to(address, FIRST_READ_BYTES, "object header")?;
    header.address = address;
    header.prefix = Prefix::decode(&start[..start.len().min(header::PREFIX_BYTES_MAX)])?;
    header.bytes.clear();
    header.entries.clear();
    let whole = header.prefix.first_block_bytes();
    let len = whole.within(store.limits.metadata_bytes_max, "object header")?;
    match start.get(..len) {
        Some(block) => header.bytes.extend_from_slice(block),
        None => header.bytes.extend_from_slice(&store.block(address, whole, "object header")?),
    }
    header::first_block(&header.prefix, &header.bytes, 0, &mut header.entries)?;
    if header.message(kind::CONTINUATION).is_some() {
        continuations(store, header)?;
    }
    // The prefix of this version counts references itself; libhdf5 reads no header that does it twice.
    if header.prefix.version == 1 && header.message(kind::REFERENCES).is_some() {
        return Err(Error::corrupt("decode object header").with("problem", "two reference counts"));
    }
    Ok(())
}

/// Appends the messages of all further blocks, which may lead to others. Blocks that repeat, or that add up to more than
/// the file, end it.
fn continuations(store: &Store, header: &mut Header) -> Result<()> {
    let mut seen = HashSet::from([header.address]);
    let mut next = 0;
    while next < header.entries.len() {
        let entry = &header.entries[next];
        next += 1;
        if entry.kind != kind::CONTINUATION {
            continue;
        }
        let (at, len) = header::continuation(header.get(entry).body, store.sizes())?;
        if !seen.insert(at) {
            return Err(Error::corrupt("follow header continuation")
                .at(at.0)
                .with("problem", "block repeats"));
        }
        let start = header.bytes.len();
        header.bytes.extend_from_slice(&store.block(at, len, "object header continuation")?);
        header::continuation_block(&header.prefix, &header.bytes, start, &mut header.entries)
            .during_at("read header continuation", at.0)?;
        if header.entries.len() as u64 > store.limits.entries_max {
            return Err(Error::limit("read object header").with("messages", header.entries.len()));
        }
    }
    Ok(())
}

/// Returns a message's own bytes, and the committed datatype that holds them, where one does.
pub(crate) fn body<'m>(file: &Reader, message: MessageRef<'m>) -> Result<(Cow<'m, [u8]>, Option<Address>)> {
    match message.is_shared() {
        false => Ok((Cow::Borrowed(message.body), None)),
        true => shared_body(file, message.kind, message.body).map(|(body, at)| (Cow::Owned(body), at)),
    }
}

/// Returns the bytes that a shared record stands for.
pub(crate) fn shared_body(file: &Reader, kind: u16, record: &[u8]) -> Result<(Vec<u8>, Option<Address>)> {
    match SharedAt::decode(record, file.store.sizes())? {
        SharedAt::Heap(id) => Ok((heap_body(file, kind, &id)?, None)),
        SharedAt::Object(address) => {
            let header = file.header(address)?;
            let message = header.required(kind, "shared message")?;
            match message.is_shared() {
                false => Ok((message.body.to_vec(), Some(address))),
                // A committed type may itself lie in the heap of shared messages, but not in a further object.
                true => match SharedAt::decode(message.body, file.store.sizes())? {
                    SharedAt::Heap(id) => Ok((heap_body(file, kind, &id)?, Some(address))),
                    SharedAt::Object(_) => Err(Error::corrupt("follow shared message")
                        .at(address.0)
                        .with("problem", "it is shared again")),
                },
            }
        }
    }
}
