//! Shared message records, the shared message table and its message (format spec IV.A.2, II.C).

use model::Result;

use super::super::shared::{SharedAt, SharedIndex};
use super::super::{Address, Sizes};
use super::Encoder;

impl SharedAt {
    /// Returns the record: version 2 for a committed datatype, version 3 for the heap.
    pub(crate) fn encode(&self, sizes: Sizes) -> Result<Vec<u8>> {
        let mut e = Encoder::new("shared message", sizes);
        match self {
            SharedAt::Heap(id) => e.u8(3).u8(1).raw(id),
            SharedAt::Object(address) => e.u8(2).u8(2).defined(*address),
        };
        e.finish()
    }
}

/// Returns the shared message table message (format spec IV.A.2.p).
pub(crate) fn table_message(table: Address, count: u8, sizes: Sizes) -> Result<Vec<u8>> {
    Encoder::new("shared message table message", sizes).u8(0).defined(table).u8(count).finish()
}

/// Returns the table of indexes, at most eight.
pub(crate) fn table(indexes: &[SharedIndex], sizes: Sizes) -> Result<Vec<u8>> {
    let mut e = Encoder::new("shared message table", sizes);
    e.raw(b"SMTB").require(indexes.len() <= 8, "more than 8 indexes");
    for index in indexes {
        e.u8(0).u8(u8::from(index.is_tree)).u16(index.message_types).u32(index.bytes_min);
        e.u16(index.list_max).u16(index.tree_min).u16(index.messages);
        e.address(index.index).address(index.heap);
    }
    e.checksum().finish()
}
