//! Symbol table entries and nodes of old-style groups (format spec III.B, III.C).

use model::Result;
use model::bytes::Cursor;

use super::{Address, SizedFields, Sizes};

/// The cached fields of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cached {
    Nothing,
    /// An old-style group; its header is the authority.
    Group {
        tree: Option<Address>,
        heap: Option<Address>,
    },
    /// A soft link: the text's offset in the local heap.
    SoftLink(u32),
}

/// One link of an old-style group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SymbolTableEntry {
    pub(crate) name_offset: u64,
    pub(crate) header: Option<Address>,
    pub(crate) cached: Cached,
}

impl SymbolTableEntry {
    /// Returns the number of bytes of an entry.
    pub(crate) fn bytes(sizes: Sizes) -> usize {
        sizes.length + sizes.offset + 24
    }

    pub(crate) fn decode(c: &mut Cursor<'_>, sizes: Sizes) -> Result<Self> {
        let name_offset = c.length(sizes)?;
        let header = c.address(sizes)?;
        let kind = c.u32()?;
        c.skip(4)?;
        let mut scratch = Cursor::new(c.take(16)?, "symbol table entry");
        let cached = match kind {
            0 => Cached::Nothing,
            1 => Cached::Group { tree: scratch.address(sizes)?, heap: scratch.address(sizes)? },
            2 => Cached::SoftLink(scratch.u32()?),
            n => return Err(c.corrupt(format!("cache type {n}"))),
        };
        Ok(SymbolTableEntry { name_offset, header, cached })
    }
}

/// Returns the entries of a node.
pub(crate) fn node(bytes: &[u8], sizes: Sizes) -> Result<Vec<SymbolTableEntry>> {
    let mut c = Cursor::new(bytes, "symbol table node");
    c.signature(b"SNOD")?;
    c.version(1..=1)?;
    c.skip(1)?;
    let count = c.u16()?;
    (0..count).map(|_| SymbolTableEntry::decode(&mut c, sizes)).collect()
}

/// Returns the number of bytes of a node.
pub(crate) fn node_bytes(leaf_k: u16, sizes: Sizes) -> u64 {
    8 + 2 * u64::from(leaf_k) * SymbolTableEntry::bytes(sizes) as u64
}
