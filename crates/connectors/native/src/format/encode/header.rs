//! Object headers (format spec IV.A.1): prefixes, blocks serialized from messages, continuations.

use std::borrow::Borrow;

use model::properties::PhaseChange;
use model::{Error, Result};

use super::super::header::{Message, Prefix};
use super::super::{Address, Sizes};
use super::Encoder;

/// The message type of unused space.
const NIL: u16 = 0;
/// Signature and checksum of a continuation block of version 2.
const CONTINUATION_OVERHEAD_BYTES: u64 = 8;

/// The optional fields of a version 2 prefix.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PrefixOptions {
    /// Access, modification, change, birth.
    pub(crate) times: Option<[u32; 4]>,
    /// Stored only where it is not the default.
    pub(crate) attribute_phase: Option<PhaseChange>,
    pub(crate) attribute_order_tracked: bool,
    pub(crate) attribute_order_indexed: bool,
}

impl Prefix {
    /// Returns a version 1 prefix. `message_count` is of all blocks, unused space and continuations included.
    pub(crate) fn version_1(references: u32, message_count: u16, block_bytes: u64) -> Self {
        Prefix {
            version: 1,
            references: Some(references),
            times: None,
            attribute_phase: None,
            attribute_order_tracked: false,
            attribute_order_indexed: false,
            message_count: Some(message_count),
            prefix_bytes: 16,
            block_bytes,
        }
    }

    /// Returns a version 2 prefix whose size field is as wide as `block_bytes` needs.
    pub(crate) fn version_2(options: &PrefixOptions, block_bytes: u64) -> Self {
        let width = match block_bytes {
            0..=0xFF => 1,
            0x100..=0xFFFF => 2,
            0x1_0000..=0xFFFF_FFFF => 4,
            _ => 8,
        };
        let mut prefix = Prefix {
            version: 2,
            references: None,
            times: options.times,
            attribute_phase: options.attribute_phase,
            attribute_order_tracked: options.attribute_order_tracked,
            attribute_order_indexed: options.attribute_order_indexed,
            message_count: None,
            prefix_bytes: 0,
            block_bytes,
        };
        prefix.prefix_bytes = prefix.fixed_bytes() + width;
        prefix
    }

    /// Returns the number of bytes of a version 2 prefix before its size field.
    fn fixed_bytes(&self) -> usize {
        6 + if self.times.is_some() { 16 } else { 0 } + if self.attribute_phase.is_some() { 4 } else { 0 }
    }

    /// Returns the number of bytes of the head of every message.
    pub(crate) fn message_head_bytes(&self) -> usize {
        match (self.version, self.attribute_order_tracked) {
            (1, _) => 8,
            (_, false) => 4,
            (_, true) => 6,
        }
    }

    /// Returns the number of bytes that a message takes in a block.
    pub(crate) fn message_bytes(&self, message: &Message) -> usize {
        let body = message.body.len();
        self.message_head_bytes() + if self.version == 1 { body.next_multiple_of(8) } else { body }
    }

    /// Returns the number of bytes that messages take in a block without anything unused.
    pub(crate) fn messages_bytes<M: Borrow<Message>>(&self, messages: &[M]) -> u64 {
        messages.iter().map(|m| self.message_bytes(m.borrow()) as u64).sum()
    }

    /// Returns the number of bytes of a continuation block that holds just these messages.
    pub(crate) fn continuation_bytes<M: Borrow<Message>>(&self, messages: &[M]) -> u64 {
        self.messages_bytes(messages) + if self.version == 1 { 0 } else { CONTINUATION_OVERHEAD_BYTES }
    }

    /// Returns the prefix alone.
    pub(crate) fn encode(&self) -> Result<Vec<u8>> {
        let mut e = Encoder::plain("object header");
        self.encode_into(&mut e);
        e.finish()
    }

    fn encode_into(&self, e: &mut Encoder) {
        if self.version == 1 {
            e.u8(1).zeros(1).u16(self.message_count.unwrap_or(0)).u32(self.references.unwrap_or(1));
            e.uint(self.block_bytes, 4).zeros(4);
            return;
        }
        let width = self.prefix_bytes.saturating_sub(self.fixed_bytes());
        e.require(self.version == 2 && matches!(width, 1 | 2 | 4 | 8), "version or width of size field");
        e.raw(b"OHDR").u8(2).u8(self.flags(width));
        for time in self.times.iter().flatten() {
            e.u32(*time);
        }
        if let Some(phase) = self.attribute_phase {
            e.u16(phase.compact_max).u16(phase.dense_min);
        }
        e.uint(self.block_bytes, width);
    }

    fn flags(&self, width: usize) -> u8 {
        width.checked_ilog2().unwrap_or(0) as u8
            | u8::from(self.attribute_order_tracked) << 2
            | u8::from(self.attribute_order_indexed) << 3
            | u8::from(self.attribute_phase.is_some()) << 4
            | u8::from(self.times.is_some()) << 5
    }

    /// Returns the first block: prefix, messages, what is left unused, and version 2's checksum.
    pub(crate) fn encode_first_block<M: Borrow<Message>>(&self, messages: &[M]) -> Result<Vec<u8>> {
        let mut e = Encoder::sized("object header", self.first_block_bytes());
        self.encode_into(&mut e);
        self.serialize(&mut e, messages, self.block_bytes);
        if self.version == 2 {
            e.checksum();
        }
        e.finish()
    }

    /// Returns a continuation block of `block_bytes`, which counts all of it.
    pub(crate) fn encode_continuation<M: Borrow<Message>>(
        &self,
        messages: &[M],
        block_bytes: u64,
    ) -> Result<Vec<u8>> {
        let mut e = Encoder::sized("object header continuation", block_bytes);
        if self.version == 1 {
            self.serialize(&mut e, messages, block_bytes);
            return e.finish();
        }
        let capacity = block_bytes.checked_sub(CONTINUATION_OVERHEAD_BYTES);
        let capacity = capacity.ok_or_else(|| Error::invalid("encode object header continuation"))?;
        e.raw(b"OCHK");
        self.serialize(&mut e, messages, capacity);
        e.checksum().finish()
    }

    fn serialize<M: Borrow<Message>>(&self, e: &mut Encoder, messages: &[M], capacity: u64) {
        let Some(spare) = capacity.checked_sub(self.messages_bytes(messages)) else {
            e.refuse(format!("messages do not fit in {capacity} bytes"));
            return;
        };
        let Ok(spare) = usize::try_from(spare) else {
            e.refuse("block is too large");
            return;
        };
        e.require(self.version == 2 || capacity.is_multiple_of(8), "block is not a multiple of 8");
        // Less than a head is a gap, but libhdf5 rejects one in a block that has unused space as a message.
        let gap = spare < self.message_head_bytes();
        let grown = messages.iter().rposition(|m| m.borrow().kind == NIL).filter(|_| gap);
        for (i, message) in messages.iter().enumerate() {
            self.message(e, message.borrow(), if grown == Some(i) { spare } else { 0 });
        }
        match (gap, grown) {
            (true, None) => {
                e.zeros(spare);
            }
            (true, Some(_)) => {}
            (false, _) => self.unused(e, spare),
        }
    }

    fn message(&self, e: &mut Encoder, message: &Message, more: usize) {
        let body = self.message_bytes(message) - self.message_head_bytes() + more;
        e.uint(u64::from(message.kind), if self.version == 1 { 2 } else { 1 });
        e.count(body, 2).u8(message.flags);
        match (self.version, self.attribute_order_tracked) {
            (1, _) => {
                e.zeros(3);
            }
            (_, true) => {
                e.u16(message.creation_order.unwrap_or(0));
            }
            _ => {}
        }
        e.raw(&message.body).zeros(body.saturating_sub(message.body.len()));
    }

    /// Messages of unused space that cover `spare` bytes, which are more than a head.
    fn unused(&self, e: &mut Encoder, mut spare: usize) {
        let (head, body_max) = (self.message_head_bytes(), if self.version == 1 { 0xFFF8 } else { 0xFFFF });
        while spare >= head {
            let mut body = (spare - head).min(body_max);
            let rest = spare - head - body;
            if rest > 0 && rest < head {
                body -= head;
            }
            let nil = Message { kind: NIL, flags: 0, creation_order: None, body: Vec::new() };
            self.message(e, &nil, body);
            spare -= head + body;
        }
    }
}

/// Returns a continuation message: where the next block is, and all its bytes.
pub(crate) fn continuation(address: Address, len: u64, sizes: Sizes) -> Result<Vec<u8>> {
    let mut e = Encoder::new("continuation message", sizes);
    e.require(len > 0, "block of zero bytes").defined(address).length(len).finish()
}
