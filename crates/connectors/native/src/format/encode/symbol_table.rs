//! Symbol table entries and nodes of old-style groups (format spec III.B, III.C).

use model::Result;

use super::super::symbol_table::{Cached, SymbolTableEntry, node_bytes};
use super::super::{Address, Sizes};
use super::Encoder;

impl SymbolTableEntry {
    /// Appends the entry.
    pub(super) fn encode_into(&self, e: &mut Encoder) {
        e.length(self.name_offset).address(self.header);
        let kind = match self.cached {
            Cached::Nothing => 0,
            Cached::Group { .. } => 1,
            Cached::SoftLink(_) => 2,
        };
        e.u32(kind).zeros(4);
        let scratch = e.len();
        match self.cached {
            Cached::Nothing => {}
            Cached::Group { tree, heap } => {
                e.address(tree).address(heap);
            }
            Cached::SoftLink(offset) => {
                e.u32(offset);
            }
        }
        e.zeros((scratch + 16).saturating_sub(e.len()));
    }

    /// Returns the entry of an object; groups of the old style cache where their links are.
    pub(crate) fn hard(name_offset: u64, header: Address, cached: Cached) -> Self {
        SymbolTableEntry { name_offset, header: Some(header), cached }
    }

    /// Returns the entry of a soft link, whose text is in the local heap too.
    pub(crate) fn soft(name_offset: u64, text_offset: u32) -> Self {
        SymbolTableEntry { name_offset, header: None, cached: Cached::SoftLink(text_offset) }
    }
}

/// Returns a node with its entries, which the caller has sorted by name; unused space is zero.
pub(crate) fn node(entries: &[SymbolTableEntry], leaf_k: u16, sizes: Sizes) -> Result<Vec<u8>> {
    let mut e = Encoder::block("symbol table node", sizes, b"SNOD", 1);
    let bytes = node_bytes(leaf_k, sizes);
    e.reserve(bytes);
    e.zeros(1).count(entries.len(), 2);
    for entry in entries {
        entry.encode_into(&mut e);
    }
    e.finish_in(bytes)
}
