//! Fractal heaps: header, blocks, heap IDs (format spec III.G).

use model::properties::FilterSpec;
use model::{Error, Result};

use super::super::fractal_heap::{Child, Counts, FractalHeap, ObjectId};
use super::super::{Address, Sizes, checksum};
use super::{Encoder, filters};

/// Largest direct block of heaps that are made here. libhdf5 makes them of up to 64 KiB, and reads any: a block is written and
/// its checksum created anew whenever an object is added to it, which costs the more the larger it is.
const DIRECT_BYTES_MAX: u64 = 8 << 10;

/// The user of a heap: each has a geometry of its own in libhdf5.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Client {
    /// Dense links.
    Links,
    /// Dense attributes, and shared messages.
    Attributes,
}

impl FractalHeap {
    /// Returns a heap without objects, as libhdf5 creates it for this client but for the size of its blocks.
    pub(crate) fn empty(client: Client, filters: Vec<FilterSpec>, sizes: Sizes) -> Self {
        let (id_bytes, start_bytes, heap_bits) = match client {
            Client::Links => (7, 512, 32),
            Client::Attributes => (8, 1024, 40),
        };
        FractalHeap {
            sizes,
            id_bytes,
            huge_ids_wrapped: false,
            checksummed: true,
            managed_bytes_max: 4096,
            huge_id_last: 0,
            huge_tree: None,
            free_space: None,
            counts: Counts::default(),
            width: 4,
            start_bytes,
            direct_bytes_max: DIRECT_BYTES_MAX,
            heap_bits,
            start_rows: 1,
            root: None,
            root_rows: 0,
            root_stored: None,
            filters,
            filters_version: 2,
        }
    }

    /// Returns the header.
    pub(crate) fn encode(&self) -> Result<Vec<u8>> {
        let mut e = Encoder::block("fractal heap header", self.sizes, b"FRHP", 0);
        // Blocks of libhdf5, and heaps of some size, would not fit.
        e.require(self.sizes.length > 2, "lengths of two bytes");
        let filtered = !self.filters.is_empty();
        let pipeline =
            if filtered { filters::encode(&self.filters, self.filters_version)? } else { Vec::new() };
        e.u16(self.id_bytes).count(pipeline.len(), 2);
        e.u8(u8::from(self.huge_ids_wrapped) | u8::from(self.checksummed) << 1).u32(self.managed_bytes_max);
        e.length(self.huge_id_last).address(self.huge_tree);
        e.length(self.counts.free_bytes).address(self.free_space);
        self.encode_counts(&mut e);
        e.uint(self.width, 2).length(self.start_bytes).length(self.direct_bytes_max);
        e.u16(self.heap_bits).u16(self.start_rows).address(self.root).u16(self.root_rows);
        if filtered {
            e.length(self.root_stored.map_or(0, |s| s.bytes));
            e.u32(self.root_stored.map_or(0, |s| s.filter_mask)).raw(&pipeline);
        }
        e.checksum().finish()
    }

    fn encode_counts(&self, e: &mut Encoder) {
        let c = &self.counts;
        e.length(c.managed_bytes).length(c.allocated_bytes).length(c.next_offset).length(c.managed_objects);
        e.length(c.huge_bytes).length(c.huge_objects).length(c.tiny_bytes).length(c.tiny_objects);
    }

    fn block(&self, signature: &[u8; 4], header: Address, offset: u64) -> Encoder {
        let mut e = Encoder::block("fractal heap block", self.sizes, signature, 0);
        e.defined(header).uint(offset, self.offset_bytes());
        e
    }

    /// Returns a direct block at `offset` in heap space: `body` is all of it after the prefix.
    pub(crate) fn encode_direct(&self, header: Address, offset: u64, body: &[u8]) -> Result<Vec<u8>> {
        let mut e = self.block(b"FHDB", header, offset);
        if self.checksummed {
            e.zeros(4);
        }
        e.reserve(body.len() as u64);
        let mut block = e.raw(body).finish()?;
        self.seal_direct(&mut block)?;
        Ok(block)
    }

    /// Puts the checksum in a direct block whose bytes changed. It covers the block with its own field zero.
    pub(crate) fn seal_direct(&self, block: &mut [u8]) -> Result<()> {
        if !self.checksummed {
            return Ok(());
        }
        let end = self.direct_prefix_bytes();
        let short = || Error::invalid("encode fractal heap block").with("problem", "no space for the prefix");
        block.get_mut(end - 4..end).ok_or_else(short)?.fill(0);
        let sum = checksum::lookup3(block, 0);
        block[end - 4..end].copy_from_slice(&sum.to_le_bytes());
        Ok(())
    }

    /// Returns an indirect block of `rows` rows: direct entries first, absent ones undefined.
    pub(crate) fn encode_indirect(
        &self,
        header: Address,
        offset: u64,
        rows: u64,
        children: &[Child],
    ) -> Result<Vec<u8>> {
        let mut e = self.block(b"FHIB", header, offset);
        e.require(rows.checked_mul(self.width) == Some(children.len() as u64), "number of entries");
        let direct = rows.min(self.direct_rows()) * self.width;
        for (i, child) in children.iter().enumerate() {
            e.address(child.address);
            if (i as u64) < direct && !self.filters.is_empty() {
                let stored = child.stored.map_or((0, 0), |s| (s.bytes, s.filter_mask));
                e.length(stored.0).u32(stored.1);
            }
        }
        e.checksum().finish()
    }

    /// Returns the number of bytes of the longest object that a heap ID holds itself.
    pub(crate) fn tiny_bytes_max(&self) -> usize {
        let capacity = usize::from(self.id_bytes).saturating_sub(1);
        if capacity <= 17 { capacity.min(16) } else { capacity - 1 }
    }

    /// Heap IDs, one after the other.
    pub(crate) fn encode_ids(&self, ids: &[ObjectId]) -> Result<Vec<u8>> {
        let mut e = Encoder::new("fractal heap ID", self.sizes);
        e.reserve(ids.len() as u64 * u64::from(self.id_bytes));
        for id in ids {
            let end = e.len() + usize::from(self.id_bytes);
            self.encode_id(&mut e, id);
            let len = e.len();
            e.require(len <= end, "longer than IDs of this heap").zeros(end.saturating_sub(len));
        }
        e.finish()
    }

    fn encode_id(&self, e: &mut Encoder, id: &ObjectId) {
        match id {
            ObjectId::Managed { offset, len } => {
                e.u8(0).uint(*offset, self.offset_bytes()).uint(*len, self.length_bytes());
            }
            ObjectId::Tiny(data) => self.tiny(e, data),
            ObjectId::HugeDirect { address, stored, len } => {
                e.u8(1 << 4).defined(*address).length(stored.bytes);
                if !self.filters.is_empty() {
                    e.u32(stored.filter_mask).length(*len);
                }
            }
            ObjectId::HugeIndirect { key } => {
                e.u8(1 << 4).uint(*key, usize::from(self.id_bytes).saturating_sub(1).min(8));
            }
        }
    }

    fn tiny(&self, e: &mut Encoder, data: &[u8]) {
        let fits = (1..=self.tiny_bytes_max()).contains(&data.len());
        e.require(fits && data.len() <= 1 << 12, "size of tiny object");
        let less = data.len().saturating_sub(1);
        if self.id_bytes < 19 {
            e.u8(2 << 4 | (less & 15) as u8).raw(data);
        } else {
            e.u8(2 << 4 | (less >> 8 & 15) as u8).u8((less & 0xFF) as u8).raw(data);
        }
    }
}
