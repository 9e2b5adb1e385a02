//! Shared messages: records that say where a message is (format spec IV.A.2, III.F) and the table of
//! indexes whose heaps hold them (format spec II.C, "Shared Object Header Message Table").

use model::Result;
use model::bytes::Cursor;

use super::header::kind;
use super::{Address, SizedFields, Sizes, checksum};

/// Where a shared message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SharedAt {
    /// In the heap of its index.
    Heap([u8; 8]),
    /// In the header of a committed datatype.
    Object(Address),
}

impl SharedAt {
    pub(crate) fn decode(body: &[u8], sizes: Sizes) -> Result<Self> {
        let mut c = Cursor::new(body, "shared message");
        let version = c.version(1..=3)?;
        let kind = c.u8()?;
        match (version, kind) {
            // Version 1 carries the name offset of an old symbol table entry, which the specification omits.
            (1, _) => {
                c.skip(6 + sizes.length)?;
                Ok(SharedAt::Object(c.defined_address(sizes)?))
            }
            (3, 1) => Ok(SharedAt::Heap(c.array()?)),
            (2, _) | (3, 2) => Ok(SharedAt::Object(c.defined_address(sizes)?)),
            (_, n) => Err(c.corrupt(format!("shared message type {n}"))),
        }
    }
}

/// One index of shared messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SharedIndex {
    /// Bit 1 << message type.
    pub(crate) message_types: u16,
    pub(crate) bytes_min: u32,
    /// The index is a version 2 B-tree, not a list.
    pub(crate) is_tree: bool,
    /// With more messages than this a list becomes a tree.
    pub(crate) list_max: u16,
    /// With fewer than this a tree becomes a list.
    pub(crate) tree_min: u16,
    pub(crate) messages: u16,
    /// The list or the tree.
    pub(crate) index: Option<Address>,
    pub(crate) heap: Option<Address>,
}

impl SharedIndex {
    /// Returns whether messages of a kind belong to this index. Fill values of both kinds belong to one.
    pub(crate) fn holds(&self, message: u16) -> bool {
        let bit = if message == kind::FILL_OLD { kind::FILL } else { message };
        bit < 16 && self.message_types >> bit & 1 == 1
    }
}

/// Returns the shared message table message: address and number of indexes (format spec IV.A.2.p).
pub(crate) fn table_message(body: &[u8], sizes: Sizes) -> Result<(Address, u8)> {
    let mut c = Cursor::new(body, "shared message table message");
    c.version(0..=0)?;
    Ok((c.defined_address(sizes)?, c.u8()?))
}

/// Returns the number of bytes of a table.
pub(crate) fn table_bytes(count: u8, sizes: Sizes) -> u64 {
    8 + u64::from(count) * (14 + 2 * sizes.offset as u64)
}

/// Returns the indexes of a table.
pub(crate) fn table(bytes: &[u8], count: u8, sizes: Sizes) -> Result<Vec<SharedIndex>> {
    checksum::verify(bytes, "shared message table")?;
    let mut c = Cursor::new(bytes, "shared message table");
    c.signature(b"SMTB")?;
    (0..count).map(|_| table_entry(&mut c, sizes)).collect()
}

fn table_entry(c: &mut Cursor<'_>, sizes: Sizes) -> Result<SharedIndex> {
    c.version(0..=0)?;
    let is_tree = match c.u8()? {
        n @ (0 | 1) => n == 1,
        n => return Err(c.corrupt(format!("index type {n}"))),
    };
    let (message_types, bytes_min) = (c.u16()?, c.u32()?);
    let (list_max, tree_min, messages) = (c.u16()?, c.u16()?, c.u16()?);
    let (index, heap) = (c.address(sizes)?, c.address(sizes)?);
    Ok(SharedIndex { message_types, bytes_min, is_tree, list_max, tree_min, messages, index, heap })
}
