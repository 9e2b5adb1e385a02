//! Global heap collections: variable-length values, old references, virtual maps (format spec III.E).

use model::Result;
use model::bytes::Cursor;

use super::{Address, SizedFields, Sizes};

/// The name of an object in the global heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct HeapId {
    pub(crate) collection: Address,
    pub(crate) index: u32,
}

impl HeapId {
    /// Returns the identity in a descriptor; `None` as below. Most are of one shape, and there are many of them.
    #[inline]
    pub(crate) fn of(descriptor: &[u8], sizes: Sizes) -> Result<Option<Self>> {
        match descriptor.split_first_chunk::<8>() {
            Some((address, &[a, b, c, d])) if sizes.offset == 8 => {
                let (address, index) = (u64::from_le_bytes(*address), u32::from_le_bytes([a, b, c, d]));
                let is_null = address == 0 || address == u64::MAX || index == 0;
                Ok((!is_null).then_some(HeapId { collection: Address(address), index }))
            }
            _ => Self::of_any(descriptor, sizes),
        }
    }

    #[cold]
    fn of_any(descriptor: &[u8], sizes: Sizes) -> Result<Option<Self>> {
        Self::decode(&mut Cursor::new(descriptor, "heap ID"), sizes)
    }

    /// `None` is the null reference: address 0 or undefined, or index 0 (which names free space).
    #[inline]
    pub(crate) fn decode(c: &mut Cursor<'_>, sizes: Sizes) -> Result<Option<Self>> {
        let (collection, index) = (c.address(sizes)?, c.u32()?);
        Ok(collection.filter(|a| a.0 != 0 && index != 0).map(|collection| HeapId { collection, index }))
    }
}

/// Returns the number of bytes of a collection's header.
pub(crate) fn header_bytes(sizes: Sizes) -> u64 {
    (8 + sizes.length as u64).next_multiple_of(8)
}

/// Returns the size of the whole collection, from its header.
pub(crate) fn collection_bytes(header: &[u8], sizes: Sizes) -> Result<u64> {
    let mut c = Cursor::new(header, "global heap collection");
    c.signature(b"GCOL")?;
    c.version(1..=1)?;
    c.skip(3)?;
    let bytes = c.length(sizes)?;
    if bytes < header_bytes(sizes) {
        Err(c.corrupt(format!("collection of {bytes} bytes")))
    } else {
        Ok(bytes)
    }
}

/// Bytes before an object's data: eight, and a length of up to eight that is padded.
pub(crate) const OBJECT_HEAD_BYTES: usize = 16;

/// Returns the number of bytes of an object, its head included.
pub(crate) fn object_bytes(len: usize) -> u64 {
    OBJECT_HEAD_BYTES as u64 + (len as u64).next_multiple_of(8)
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |n, &b| n << 8 | u64::from(b))
}

/// Returns where each object lies in its collection.
pub(crate) fn objects(collection: &[u8], sizes: Sizes) -> Result<Vec<(u32, std::ops::Range<usize>)>> {
    let mut at = header_bytes(sizes) as usize;
    let mut objects = Vec::with_capacity(collection.len() / (2 * OBJECT_HEAD_BYTES));
    // Less than a header at the end is free space without one.
    while let Some(head) = collection.get(at..at.saturating_add(OBJECT_HEAD_BYTES)) {
        let index = u16::from_le_bytes([head[0], head[1]]);
        if index == 0 {
            break;
        }
        let bytes = match head.last_chunk::<8>() {
            Some(bytes) if sizes.length == 8 => u64::from_le_bytes(*bytes),
            _ => little_endian(&head[8..8 + sizes.length]),
        };
        let start = at + OBJECT_HEAD_BYTES;
        let end = usize::try_from(bytes).ok().and_then(|n| start.checked_add(n));
        let Some(end) = end.filter(|&end| end <= collection.len()) else {
            let c = Cursor::new(collection, "global heap object");
            return Err(c.corrupt(format!("object {index} of {bytes} bytes leaves the collection")));
        };
        objects.push((u32::from(index), start..end));
        at = start + (end - start).next_multiple_of(8);
    }
    Ok(objects)
}
