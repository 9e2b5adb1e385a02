//! External data files message (format spec IV.A.2.h).

use model::Result;
use model::bytes::Cursor;

use super::{Address, SizedFields, Sizes, all_ones};

/// One file of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    /// In the local heap.
    pub(crate) name_offset: u64,
    pub(crate) offset: u64,
    /// `u64::MAX` is unlimited.
    pub(crate) size: u64,
}

/// Returns the heap of names, and the files.
pub(crate) fn decode(body: &[u8], sizes: Sizes) -> Result<(Address, Vec<Slot>)> {
    let mut c = Cursor::new(body, "external file list");
    c.version(1..=1)?;
    c.skip(5)?;
    let used = c.u16()?;
    let heap = c.defined_address(sizes)?;
    let slots = (0..used).map(|_| slot(&mut c, sizes)).collect::<Result<_>>()?;
    Ok((heap, slots))
}

fn slot(c: &mut Cursor<'_>, sizes: Sizes) -> Result<Slot> {
    let (name_offset, offset, size) = (c.length(sizes)?, c.length(sizes)?, c.length(sizes)?);
    let size = if size == all_ones(sizes.length) { u64::MAX } else { size };
    Ok(Slot { name_offset, offset, size })
}
