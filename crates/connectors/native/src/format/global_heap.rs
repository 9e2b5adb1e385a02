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
    /// `None` is the null reference: address 0 or undefined, or index 0 (which names free space).
    pub(crate) fn decode(c: &mut Cursor<'_>, sizes: Sizes) -> Result<Option<Self>> {
        let (collection, index) = (c.address(sizes)?, c.u32()?);
        Ok(collection.filter(|a| a.0 != 0 && index != 0).map(|collection| HeapId { collection, index }))
    }
}

/// Bytes of a collection's header.
pub(crate) fn header_bytes(sizes: Sizes) -> u64 {
    (8 + sizes.length as u64).next_multiple_of(8)
}

/// The size of the whole collection, from its header.
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

/// Where each object lies in its collection.
pub(crate) fn objects(collection: &[u8], sizes: Sizes) -> Result<Vec<(u32, std::ops::Range<usize>)>> {
    let object_header = (8 + sizes.length).next_multiple_of(8);
    let mut at = header_bytes(sizes) as usize;
    let mut objects = Vec::new();
    // Less than a header at the end is free space without one.
    while collection.len().saturating_sub(at) >= object_header {
        let mut c = Cursor::new(&collection[at..], "global heap object");
        let index = c.u16()?;
        c.skip(6)?;
        let bytes = c.length(sizes)?;
        if index == 0 {
            break;
        }
        let start = at + object_header;
        let end = usize::try_from(bytes)
            .ok()
            .and_then(|n| start.checked_add(n))
            .filter(|&end| end <= collection.len());
        let end =
            end.ok_or_else(|| c.corrupt(format!("object {index} of {bytes} bytes leaves the collection")))?;
        objects.push((u32::from(index), start..end));
        at = start + (end - start).next_multiple_of(8);
    }
    Ok(objects)
}
