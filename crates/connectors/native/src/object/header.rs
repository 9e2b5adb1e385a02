//! Loading object headers, and finding messages that are kept elsewhere.

use std::borrow::Cow;
use std::collections::{HashSet, VecDeque};

use model::{Context, Error, ObjectKind, Result, Within};

use crate::file::File;
use crate::format::Address;
use crate::format::header::{self, Message, Prefix, kind};
use crate::format::shared::SharedAt;
use crate::object::fractal_heap;
use crate::store::Store;

/// Bytes read at first: most headers fit, and longer ones cost one more read.
const FIRST_READ_BYTES: u64 = 512;

/// An object header with all its blocks.
#[derive(Debug)]
pub(crate) struct Header {
    pub(crate) address: Address,
    pub(crate) prefix: Prefix,
    pub(crate) messages: Vec<Message>,
}

impl Header {
    pub(crate) fn load(store: &Store, address: Address) -> Result<Header> {
        load(store, address).during_at("read object header", address.0)
    }

    /// The first message of a kind.
    pub(crate) fn message(&self, kind: u16) -> Option<&Message> {
        self.messages.iter().find(|m| m.kind == kind)
    }

    /// All messages of a kind.
    pub(crate) fn messages_of(&self, kind: u16) -> impl Iterator<Item = &Message> {
        self.messages.iter().filter(move |m| m.kind == kind)
    }

    /// The message that this object cannot do without.
    pub(crate) fn required(&self, kind: u16, what: &str) -> Result<&Message> {
        let missing = || Error::corrupt("read object header").at(self.address.0).with("missing", what);
        self.message(kind).ok_or_else(missing)
    }

    /// What the object is, by the messages it has.
    pub(crate) fn object_kind(&self) -> Result<ObjectKind> {
        let has = |kind| self.message(kind).is_some();
        if has(kind::SYMBOL_TABLE) || has(kind::LINK_INFO) {
            Ok(ObjectKind::Group)
        } else if has(kind::DATATYPE) && has(kind::DATASPACE) {
            Ok(ObjectKind::Dataset)
        } else if has(kind::DATATYPE) {
            Ok(ObjectKind::Datatype)
        } else {
            Err(Error::corrupt("tell kind of object").at(self.address.0))
        }
    }

    pub(crate) fn references(&self) -> Result<u32> {
        if let Some(count) = self.prefix.references {
            return Ok(count);
        }
        match self.message(kind::REFERENCES) {
            Some(message) => {
                let mut c = model::bytes::Cursor::new(&message.body, "reference count");
                c.skip(1)?;
                c.u32()
            }
            None => Ok(1),
        }
    }
}

fn load(store: &Store, address: Address) -> Result<Header> {
    let start = store.block_up_to(address, FIRST_READ_BYTES, "object header")?;
    let prefix = Prefix::decode(&start[..start.len().min(header::PREFIX_BYTES_MAX)])?;
    let whole = prefix.first_block_bytes();
    let len = whole.within(store.limits.metadata_bytes_max, "object header")?;
    let longer;
    let block = match start.get(..len) {
        Some(block) => block,
        None => {
            longer = store.block(address, whole, "object header")?;
            &longer
        }
    };
    let mut messages = header::first_block(&prefix, block)?;
    continuations(store, address, &prefix, &mut messages)?;
    let header = Header { address, prefix, messages };
    // The prefix of this version counts references itself; libhdf5 reads no header that does it twice.
    if header.prefix.version == 1 && header.message(kind::REFERENCES).is_some() {
        return Err(Error::corrupt("decode object header").with("problem", "two reference counts"));
    }
    Ok(header)
}

/// Appends the messages of all further blocks. Blocks that repeat, or that add up to more than the file, end it.
fn continuations(
    store: &Store,
    address: Address,
    prefix: &Prefix,
    messages: &mut Vec<Message>,
) -> Result<()> {
    let mut seen = HashSet::from([address]);
    let mut queue: VecDeque<Vec<u8>> = continuation_bodies(messages);
    while let Some(body) = queue.pop_front() {
        let (at, len) = header::continuation(&body, store.sizes())?;
        if !seen.insert(at) {
            return Err(Error::corrupt("follow header continuation")
                .at(at.0)
                .with("problem", "block repeats"));
        }
        let block = store.block(at, len, "object header continuation")?;
        let more = header::continuation_block(prefix, &block).during_at("read header continuation", at.0)?;
        queue.extend(continuation_bodies(&more));
        messages.extend(more);
        if messages.len() as u64 > store.limits.entries_max {
            return Err(Error::limit("read object header").with("messages", messages.len()));
        }
    }
    Ok(())
}

fn continuation_bodies(messages: &[Message]) -> VecDeque<Vec<u8>> {
    messages.iter().filter(|m| m.kind == kind::CONTINUATION).map(|m| m.body.clone()).collect()
}

/// A message's own bytes, and the committed datatype that holds them, where one does.
pub(crate) fn body<'m>(file: &File, message: &'m Message) -> Result<(Cow<'m, [u8]>, Option<Address>)> {
    match message.is_shared() {
        false => Ok((Cow::Borrowed(&message.body), None)),
        true => shared_body(file, message.kind, &message.body).map(|(body, at)| (Cow::Owned(body), at)),
    }
}

/// The bytes that a shared record stands for.
pub(crate) fn shared_body(file: &File, kind: u16, record: &[u8]) -> Result<(Vec<u8>, Option<Address>)> {
    match SharedAt::decode(record, file.store.sizes())? {
        SharedAt::Heap(id) => Ok((heap_body(file, kind, &id)?, None)),
        SharedAt::Object(address) => {
            let header = file.header(address)?;
            let message = header.required(kind, "shared message")?;
            match message.is_shared() {
                false => Ok((message.body.clone(), Some(address))),
                // A committed type may itself lie in the heap of shared messages, but not in a further object.
                true => match SharedAt::decode(&message.body, file.store.sizes())? {
                    SharedAt::Heap(id) => Ok((heap_body(file, kind, &id)?, Some(address))),
                    SharedAt::Object(_) => Err(Error::corrupt("follow shared message")
                        .at(address.0)
                        .with("problem", "it is shared again")),
                },
            }
        }
    }
}

fn heap_body(file: &File, kind: u16, id: &[u8]) -> Result<Vec<u8>> {
    let index = file.shared_indexes.iter().find(|index| index.message_types >> kind & 1 == 1);
    let heap = index.and_then(|index| index.heap);
    let heap = heap.ok_or_else(|| Error::corrupt("find shared message").with("message type", kind))?;
    fractal_heap::open(file, heap)?.get(id)
}
