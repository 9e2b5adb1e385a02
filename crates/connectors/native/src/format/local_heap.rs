//! Local heaps: the names of old-style groups (format spec III.D).

use model::bytes::Cursor;
use model::{Error, Result};

use super::{Address, SizedFields, Sizes};

/// The offset that says there is no free block (the specification says undefined).
pub(crate) const NO_FREE_BLOCK: u64 = 1;

/// Where a heap's bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LocalHeap {
    pub(crate) data_bytes: u64,
    /// First free block in the data, where there is one.
    pub(crate) free: Option<u64>,
    pub(crate) data: Address,
}

impl LocalHeap {
    /// Returns the number of bytes of the header.
    pub(crate) fn header_bytes(sizes: Sizes) -> u64 {
        (8 + 2 * sizes.length + sizes.offset) as u64
    }

    pub(crate) fn decode(bytes: &[u8], sizes: Sizes) -> Result<Self> {
        let mut c = Cursor::new(bytes, "local heap");
        c.signature(b"HEAP")?;
        c.version(0..=0)?;
        c.skip(3)?;
        let data_bytes = c.length(sizes)?;
        let free = Some(c.length(sizes)?).filter(|&at| at != NO_FREE_BLOCK);
        Ok(LocalHeap { data_bytes, free, data: c.defined_address(sizes)? })
    }
}

/// Returns the text at `offset`, up to its NUL. A broken free list does not matter to it.
pub(crate) fn text(data: &[u8], offset: u64) -> Result<&[u8]> {
    let rest = usize::try_from(offset).ok().and_then(|at| data.get(at..));
    let rest = rest.ok_or_else(|| Error::corrupt("read name in local heap").with("offset", offset))?;
    let len = rest.iter().position(|&b| b == 0);
    Ok(&rest[..len.ok_or_else(|| Error::corrupt("read name in local heap").with("problem", "no NUL"))?])
}
