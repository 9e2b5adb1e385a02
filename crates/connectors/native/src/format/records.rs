//! Records of version 2 B-trees and elements of chunk arrays, both ways (format spec III.A.2, III.H).

use model::Result;
use model::bytes::Cursor;

use super::encode::Encoder;
use super::fractal_heap::StoredSize;
use super::{Address, SizedFields, Sizes};

/// Record types, as tree headers name them.
pub(crate) mod kind {
    pub(crate) const HUGE: u8 = 1;
    pub(crate) const HUGE_FILTERED: u8 = 2;
    pub(crate) const HUGE_DIRECT: u8 = 3;
    pub(crate) const HUGE_DIRECT_FILTERED: u8 = 4;
    pub(crate) const LINK_NAME: u8 = 5;
    pub(crate) const LINK_ORDER: u8 = 6;
    pub(crate) const SHARED: u8 = 7;
    pub(crate) const ATTRIBUTE_NAME: u8 = 8;
    pub(crate) const ATTRIBUTE_ORDER: u8 = 9;
    pub(crate) const CHUNK: u8 = 10;
    pub(crate) const CHUNK_FILTERED: u8 = 11;
}

/// A huge object of a fractal heap (types 1 to 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Huge {
    pub(crate) address: Address,
    /// Bytes in the file; its mask is 0 where the heap has no filters.
    pub(crate) stored: StoredSize,
    /// Bytes without filters.
    pub(crate) len: u64,
    /// The number in heap IDs of types 1 and 2.
    pub(crate) id: Option<u64>,
}

impl Huge {
    /// Returns the type of its record.
    pub(crate) fn kind(&self, filtered: bool) -> u8 {
        match (self.id, filtered) {
            (Some(_), false) => kind::HUGE,
            (Some(_), true) => kind::HUGE_FILTERED,
            (None, false) => kind::HUGE_DIRECT,
            (None, true) => kind::HUGE_DIRECT_FILTERED,
        }
    }

    /// Returns the number of bytes of a record of this type.
    pub(crate) fn bytes(kind: u8, sizes: Sizes) -> usize {
        let filtered = if is_filtered(kind) { 4 + sizes.length } else { 0 };
        sizes.offset + sizes.length + filtered + if has_id(kind) { sizes.length } else { 0 }
    }

    pub(crate) fn decode(record: &[u8], kind: u8, sizes: Sizes) -> Result<Self> {
        let mut c = Cursor::new(record, "huge object record");
        let (address, bytes) = (c.defined_address(sizes)?, c.length(sizes)?);
        let filter_mask = if is_filtered(kind) { c.u32()? } else { 0 };
        let len = if is_filtered(kind) { c.length(sizes)? } else { bytes };
        let id = if has_id(kind) { Some(c.length(sizes)?) } else { None };
        Ok(Huge { address, stored: StoredSize { bytes, filter_mask }, len, id })
    }

    pub(crate) fn encode(&self, filtered: bool, sizes: Sizes) -> Result<Vec<u8>> {
        let mut e = Encoder::new("huge object record", sizes);
        e.defined(self.address).length(self.stored.bytes);
        if filtered {
            e.u32(self.stored.filter_mask).length(self.len);
        }
        if let Some(id) = self.id {
            e.length(id);
        }
        e.finish()
    }
}

fn is_filtered(kind: u8) -> bool {
    matches!(kind, kind::HUGE_FILTERED | kind::HUGE_DIRECT_FILTERED)
}

fn has_id(kind: u8) -> bool {
    matches!(kind, kind::HUGE | kind::HUGE_FILTERED)
}

/// A dense link by name (type 5). The hash is lookup3 of the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LinkName {
    pub(crate) hash: u32,
    pub(crate) heap_id: [u8; 7],
}

impl LinkName {
    pub(crate) const BYTES: u16 = 11;

    pub(crate) fn decode(record: &[u8]) -> Result<Self> {
        let mut c = Cursor::new(record, "link record");
        Ok(LinkName { hash: c.u32()?, heap_id: c.array()? })
    }

    pub(crate) fn encode(&self) -> Result<Vec<u8>> {
        Encoder::plain("link record").u32(self.hash).raw(&self.heap_id).finish()
    }
}

/// A dense link by creation order (type 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LinkOrder {
    pub(crate) creation_order: i64,
    pub(crate) heap_id: [u8; 7],
}

impl LinkOrder {
    pub(crate) const BYTES: u16 = 15;

    pub(crate) fn decode(record: &[u8]) -> Result<Self> {
        let mut c = Cursor::new(record, "link order record");
        Ok(LinkOrder { creation_order: c.u64()? as i64, heap_id: c.array()? })
    }

    pub(crate) fn encode(&self) -> Result<Vec<u8>> {
        let mut e = Encoder::plain("link order record");
        e.raw(&self.creation_order.to_le_bytes()).raw(&self.heap_id).finish()
    }
}

/// A dense attribute, by name (type 8) or by creation order (type 9).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Attribute {
    /// In the heap of shared messages where the flags say shared.
    pub(crate) heap_id: [u8; 8],
    pub(crate) flags: u8,
    /// [`Attribute::UNTRACKED`] where the object does not track it.
    pub(crate) creation_order: u32,
    /// lookup3 of the name, in type 8.
    pub(crate) hash: Option<u32>,
}

impl Attribute {
    pub(crate) const NAME_BYTES: u16 = 17;
    pub(crate) const ORDER_BYTES: u16 = 13;
    pub(crate) const UNTRACKED: u32 = 0xFFFF;

    pub(crate) fn decode(record: &[u8], kind: u8) -> Result<Self> {
        let mut c = Cursor::new(record, "attribute record");
        let (heap_id, flags, creation_order) = (c.array()?, c.u8()?, c.u32()?);
        let hash = if kind == kind::ATTRIBUTE_NAME { Some(c.u32()?) } else { None };
        Ok(Attribute { heap_id, flags, creation_order, hash })
    }

    pub(crate) fn encode(&self) -> Result<Vec<u8>> {
        let mut e = Encoder::plain("attribute record");
        e.raw(&self.heap_id).u8(self.flags).u32(self.creation_order);
        if let Some(hash) = self.hash {
            e.u32(hash);
        }
        e.finish()
    }
}

/// A chunk as arrays hold it: an address, and how it is stored where the dataset has filters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Element {
    /// `None` where there is no chunk.
    pub(crate) address: Option<Address>,
    pub(crate) stored: Option<StoredSize>,
}

/// How wide chunk records are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ElementForm {
    pub(crate) sizes: Sizes,
    /// Bytes of a stored size; 0 without filters.
    pub(crate) size_bytes: usize,
}

impl ElementForm {
    /// Returns the form of elements of chunks without filters.
    pub(crate) fn plain(sizes: Sizes) -> Self {
        ElementForm { sizes, size_bytes: 0 }
    }

    /// Returns the form of elements of filtered chunks of `chunk_bytes` in a layout of this version. Version 5 has
    /// sizes as wide as lengths.
    pub(crate) fn filtered(layout_version: u8, chunk_bytes: u64, sizes: Sizes) -> Self {
        let lg = chunk_bytes.checked_ilog2().unwrap_or(0) as usize;
        let size_bytes = if layout_version >= 5 { sizes.length } else { (1 + (lg + 8) / 8).min(8) };
        ElementForm { sizes, size_bytes }
    }

    /// Returns the number of bytes of an element.
    pub(crate) fn bytes(self) -> usize {
        self.sizes.offset + if self.size_bytes > 0 { self.size_bytes + 4 } else { 0 }
    }

    /// Returns the element of a chunk that is not there.
    pub(crate) fn absent(self) -> Element {
        let stored = (self.size_bytes > 0).then_some(StoredSize { bytes: 0, filter_mask: 0 });
        Element { address: None, stored }
    }

    pub(crate) fn decode(self, element: &[u8]) -> Result<Element> {
        self.take(&mut Cursor::new(element, "chunk element"))
    }

    pub(crate) fn encode(self, element: Element) -> Result<Vec<u8>> {
        let mut e = Encoder::new("chunk element", self.sizes);
        self.put(&mut e, element);
        e.finish()
    }

    /// Returns the chunk coordinates and chunk of a record of type 10 or 11.
    pub(crate) fn decode_record(self, record: &[u8], rank: usize) -> Result<(Vec<u64>, Element)> {
        let mut c = Cursor::new(record, "chunk record");
        let element = self.take(&mut c)?;
        Ok(((0..rank).map(|_| c.u64()).collect::<Result<_>>()?, element))
    }

    /// Returns a record of type 10 or 11.
    pub(crate) fn encode_record(self, chunk_coords: &[u64], element: Element) -> Result<Vec<u8>> {
        let mut e = Encoder::new("chunk record", self.sizes);
        self.put(&mut e, element);
        for &at in chunk_coords {
            e.u64(at);
        }
        e.finish()
    }

    fn take(self, c: &mut Cursor<'_>) -> Result<Element> {
        let address = c.address(self.sizes)?;
        let mut stored = None;
        if self.size_bytes > 0 {
            stored = Some(StoredSize { bytes: c.uint(self.size_bytes)?, filter_mask: c.u32()? });
        }
        Ok(Element { address, stored })
    }

    fn put(self, e: &mut Encoder, element: Element) {
        e.address(element.address);
        e.require(element.stored.is_some() == (self.size_bytes > 0), "chunk with or without filters");
        if let Some(stored) = element.stored {
            e.uint(stored.bytes, self.size_bytes).u32(stored.filter_mask);
        }
    }
}
