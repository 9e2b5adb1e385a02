//! Object headers (format spec IV.A.1): prefixes, blocks and raw messages.

use std::ops::Range;

use model::bytes::Cursor;
use model::properties::PhaseChange;
use model::{Error, Result};

use super::{Address, SizedFields, Sizes, checksum};

/// Message types.
pub(crate) mod kind {
    pub(crate) const DATASPACE: u16 = 0x01;
    pub(crate) const LINK_INFO: u16 = 0x02;
    pub(crate) const DATATYPE: u16 = 0x03;
    pub(crate) const FILL_OLD: u16 = 0x04;
    pub(crate) const FILL: u16 = 0x05;
    pub(crate) const LINK: u16 = 0x06;
    pub(crate) const EXTERNAL_FILES: u16 = 0x07;
    pub(crate) const LAYOUT: u16 = 0x08;
    pub(crate) const GROUP_INFO: u16 = 0x0A;
    pub(crate) const FILTERS: u16 = 0x0B;
    pub(crate) const ATTRIBUTE: u16 = 0x0C;
    pub(crate) const COMMENT: u16 = 0x0D;
    pub(crate) const SHARED_TABLE: u16 = 0x0F;
    pub(crate) const CONTINUATION: u16 = 0x10;
    pub(crate) const SYMBOL_TABLE: u16 = 0x11;
    pub(crate) const TIME: u16 = 0x12;
    pub(crate) const TREE_K: u16 = 0x13;
    pub(crate) const DRIVER_INFO: u16 = 0x14;
    pub(crate) const ATTRIBUTE_INFO: u16 = 0x15;
    pub(crate) const REFERENCES: u16 = 0x16;
    pub(crate) const FILE_SPACE: u16 = 0x17;
    pub(crate) const CACHE_IMAGE: u16 = 0x18;
}

/// Message flags.
pub(crate) mod flag {
    pub(crate) const CONSTANT: u8 = 0x01;
    pub(crate) const SHARED: u8 = 0x02;
    pub(crate) const NEVER_SHARE: u8 = 0x04;
    /// A library that does not know the message and changes the object marks it.
    pub(crate) const MARK_UNKNOWN: u8 = 0x10;
    pub(crate) const WAS_UNKNOWN: u8 = 0x20;
    /// An index of shared messages may lead to this one.
    pub(crate) const INDEXED: u8 = 0x40;
    pub(crate) const FAIL_ALWAYS: u8 = 0x80;
}

/// A message, to be changed or stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) kind: u16,
    pub(crate) flags: u8,
    pub(crate) creation_order: Option<u16>,
    pub(crate) body: Vec<u8>,
}

impl Message {
    /// Returns whether the body says where the message is, instead of being it.
    pub(crate) fn is_shared(&self) -> bool {
        self.flags & flag::SHARED != 0
    }
}

/// A message as it stands in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MessageRef<'a> {
    pub(crate) kind: u16,
    pub(crate) flags: u8,
    pub(crate) creation_order: Option<u16>,
    pub(crate) body: &'a [u8],
}

impl MessageRef<'_> {
    /// Returns whether the body says where the message is, instead of being it.
    pub(crate) fn is_shared(&self) -> bool {
        self.flags & flag::SHARED != 0
    }

    pub(crate) fn to_message(self) -> Message {
        let MessageRef { kind, flags, creation_order, body } = self;
        Message { kind, flags, creation_order, body: body.to_vec() }
    }
}

/// Where a message stands: its body is a range of the bytes of all blocks, so that a header costs few allocations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MessageEntry {
    pub(crate) kind: u16,
    pub(crate) flags: u8,
    pub(crate) creation_order: Option<u16>,
    pub(crate) body: Range<usize>,
}

/// The prefix of an object header, before its messages.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Prefix {
    pub(crate) version: u8,
    pub(crate) references: Option<u32>,
    /// Access, modification, change, birth.
    pub(crate) times: Option<[u32; 4]>,
    pub(crate) attribute_phase: Option<PhaseChange>,
    pub(crate) attribute_order_tracked: bool,
    pub(crate) attribute_order_indexed: bool,
    pub(crate) message_count: Option<u16>,
    /// Bytes of the prefix.
    pub(crate) prefix_bytes: usize,
    /// Bytes of messages in the first block.
    pub(crate) block_bytes: u64,
}

/// Bytes that hold any prefix.
pub(crate) const PREFIX_BYTES_MAX: usize = 6 + 16 + 4 + 8;

impl Prefix {
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self> {
        if bytes.starts_with(b"OHDR") { new_prefix(bytes) } else { old_prefix(bytes) }
    }

    /// Returns the number of bytes of the whole first block, prefix and checksum included.
    pub(crate) fn first_block_bytes(&self) -> u64 {
        let checksum = if self.version == 2 { 4 } else { 0 };
        (self.prefix_bytes as u64).saturating_add(self.block_bytes).saturating_add(checksum)
    }
}

fn old_prefix(bytes: &[u8]) -> Result<Prefix> {
    let mut c = Cursor::new(bytes, "object header");
    c.version(1..=1)?;
    c.skip(1)?;
    let message_count = c.u16()?;
    let references = c.u32()?;
    let block_bytes = u64::from(c.u32()?);
    if message_count > 0 && block_bytes < 8 {
        return Err(c.corrupt(format!("{message_count} messages in {block_bytes} bytes")));
    }
    Ok(Prefix::version_1(references, message_count, block_bytes))
}

fn new_prefix(bytes: &[u8]) -> Result<Prefix> {
    let mut c = Cursor::new(bytes, "object header");
    c.signature(b"OHDR")?;
    c.version(2..=2)?;
    let flags = c.u8()?;
    if flags & 0xC0 != 0 {
        return Err(c.corrupt(format!("flags {flags:#x}")));
    }
    let times = if flags & 0x20 != 0 { Some([c.u32()?, c.u32()?, c.u32()?, c.u32()?]) } else { None };
    let mut attribute_phase = None;
    if flags & 0x10 != 0 {
        attribute_phase = Some(PhaseChange { compact_max: c.u16()?, dense_min: c.u16()? });
    }
    let block_bytes = c.uint(1 << (flags & 3))?;
    Ok(Prefix {
        version: 2,
        references: None,
        times,
        attribute_phase,
        attribute_order_tracked: flags & 4 != 0,
        attribute_order_indexed: flags & 8 != 0,
        message_count: None,
        prefix_bytes: c.position(),
        block_bytes,
    })
}

/// Adds the messages of the first block, which stands in `bytes` from `start` to the end, prefix included.
pub(crate) fn first_block(
    prefix: &Prefix,
    bytes: &[u8],
    start: usize,
    into: &mut Vec<MessageEntry>,
) -> Result<()> {
    if prefix.version == 1 {
        return old_messages(bytes, start + prefix.prefix_bytes, into);
    }
    checksum::verify(&bytes[start..], "object header")?;
    new_messages(prefix, &bytes[..bytes.len() - 4], start + prefix.prefix_bytes, into)
}

/// Adds the messages of a continuation block, which stands in `bytes` from `start` to the end.
pub(crate) fn continuation_block(
    prefix: &Prefix,
    bytes: &[u8],
    start: usize,
    into: &mut Vec<MessageEntry>,
) -> Result<()> {
    if prefix.version == 1 {
        return old_messages(bytes, start, into);
    }
    checksum::verify(&bytes[start..], "object header continuation")?;
    let mut c = Cursor::new(&bytes[start..], "object header continuation");
    c.signature(b"OCHK")?;
    new_messages(prefix, &bytes[..bytes.len() - 4], start + c.position(), into)
}

/// Messages of a header, as a rule.
const MESSAGES: usize = 8;

fn old_messages(block: &[u8], start: usize, messages: &mut Vec<MessageEntry>) -> Result<()> {
    let mut c = Cursor::new(block, "object header messages");
    c.skip(start)?;
    messages.reserve(MESSAGES);
    while c.remaining() >= 8 {
        let (kind, size, flags) = (c.u16()?, c.u16()?, c.u8()?);
        c.skip(3)?;
        if size % 8 != 0 {
            return Err(c.corrupt(format!("message of {size} bytes")));
        }
        push(messages, &mut c, (kind, flags, None), size)?;
    }
    Ok(())
}

fn new_messages(prefix: &Prefix, block: &[u8], start: usize, messages: &mut Vec<MessageEntry>) -> Result<()> {
    let mut c = Cursor::new(block, "object header messages");
    c.skip(start)?;
    let head = if prefix.attribute_order_tracked { 6 } else { 4 };
    messages.reserve(MESSAGES);
    // Less than a message's head at the end is a gap.
    while c.remaining() >= head {
        let (kind, size, flags) = (u16::from(c.u8()?), c.u16()?, c.u8()?);
        let creation_order = if prefix.attribute_order_tracked { Some(c.u16()?) } else { None };
        push(messages, &mut c, (kind, flags, creation_order), size)?;
    }
    Ok(())
}

/// Decodes one message whose head was read.
fn push(
    messages: &mut Vec<MessageEntry>,
    c: &mut Cursor<'_>,
    (kind, flags, creation_order): (u16, u8, Option<u16>),
    size: u16,
) -> Result<()> {
    let start = c.position();
    c.skip(usize::from(size))?;
    let known = kind <= kind::CACHE_IMAGE && kind != 0x09;
    if !known && flags & flag::FAIL_ALWAYS != 0 {
        return Err(Error::unsupported("read object header").with("message type", kind));
    }
    messages.push(MessageEntry { kind, flags, creation_order, body: start..c.position() });
    Ok(())
}

/// Returns a continuation message: where the next block is.
pub(crate) fn continuation(body: &[u8], sizes: Sizes) -> Result<(Address, u64)> {
    let mut c = Cursor::new(body, "continuation message");
    let (address, len) = (c.defined_address(sizes)?, c.length(sizes)?);
    if len == 0 { Err(c.corrupt("block of zero bytes")) } else { Ok((address, len)) }
}
