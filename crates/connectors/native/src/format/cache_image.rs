//! Metadata cache image: entries that override the file (format spec IV.A.2.y, "Metadata Cache Image").

use model::Result;
use model::bytes::Cursor;

use super::{Address, SizedFields, Sizes, checksum};

/// Returns where the image is.
pub(crate) fn message(body: &[u8], sizes: Sizes) -> Result<(Option<Address>, u64)> {
    let mut c = Cursor::new(body, "cache image message");
    c.version(0..=0)?;
    Ok((c.address(sizes)?, c.length(sizes)?))
}

/// Returns the addresses and bytes of the entries.
pub(crate) fn entries(bytes: &[u8], sizes: Sizes) -> Result<Vec<(Address, Vec<u8>)>> {
    checksum::verify(bytes, "cache image")?;
    let mut c = Cursor::new(bytes, "cache image");
    c.signature(b"MDCI")?;
    c.version(0..=0)?;
    c.skip(1)?;
    c.length(sizes)?;
    let count = c.u32()?;
    let mut entries = Vec::new();
    for _ in 0..count {
        c.skip(8)?;
        let parents = usize::from(c.u16()?);
        c.skip(4)?;
        let (address, len) = (c.defined_address(sizes)?, c.length(sizes)?);
        c.skip(parents * sizes.offset)?;
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        entries.push((address, c.take(len)?.to_vec()));
    }
    Ok(entries)
}
