//! Extensible array chunk index: header and blocks (format spec III.H, "Extensible Array").

use model::bytes::Cursor;
use model::{Error, Result};

use super::super::extensible_array::{ExtensibleArray, Group, IndexBlock};
use super::super::fixed_array::page_is_written;
use super::super::{Address, SizedFields, Sizes, checksum};
use super::Encoder;
use super::fixed_array::set_page_written;

/// All of a secondary block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SecondaryBlock {
    /// Page bits of all data blocks, one after another, in space for whole bytes each.
    pub(crate) bitmaps: Vec<u8>,
    pub(crate) blocks: Vec<Option<Address>>,
}

impl ExtensibleArray {
    /// Returns the header.
    pub(crate) fn encode(&self, sizes: Sizes) -> Result<Vec<u8>> {
        let mut e = Encoder::block("extensible array header", sizes, b"EAHD", 0);
        e.u8(u8::from(self.filtered)).u8(self.element_bytes).u8(self.max_bits).u8(self.index_elements);
        e.u8(self.block_elements_min).u8(self.pointers_min).u8(self.page_bits);
        let counts = self.counts;
        e.length(counts.secondary_blocks).length(counts.secondary_bytes);
        e.length(counts.data_blocks).length(counts.data_bytes);
        e.length(self.entries).length(counts.elements);
        e.address(self.index_block).checksum().finish()
    }

    fn start(&self, signature: &[u8; 4], header: Address, sizes: Sizes) -> Encoder {
        let mut e = Encoder::block("extensible array block", sizes, signature, 0);
        e.u8(u8::from(self.filtered)).defined(header);
        e
    }

    /// Returns the index block.
    pub(crate) fn encode_index_block(
        &self,
        header: Address,
        block: &IndexBlock<'_>,
        sizes: Sizes,
    ) -> Result<Vec<u8>> {
        let mut e = self.start(b"EAIB", header, sizes);
        e.require(block.direct.len() as u64 == self.direct_pointers(), "number of data blocks");
        e.require(block.secondary.len() as u64 == self.secondary_pointers(), "number of secondary blocks");
        e.raw(block.elements);
        for &address in block.direct.iter().chain(&block.secondary) {
            e.address(address);
        }
        e.checksum();
        e.require(e.len() as u64 == self.index_block_bytes(sizes), "size of elements").finish()
    }

    /// Returns the first element of a super block, counted after the elements of the index block.
    fn group_start(&self, group: Group) -> u64 {
        u64::from(self.block_elements_min).saturating_mul((1 << group.number.min(63)) - 1)
    }

    /// Returns the offset stored in data block `block` of a super block.
    ///
    /// Under the index block libhdf5 counts the blocks of earlier super blocks again, and readers take it.
    pub(crate) fn block_offset(&self, group: Group, block: u64) -> u64 {
        let is_direct = self.groups().any(|place| place.group == group && place.is_direct);
        let before: u64 = if is_direct { (0..group.number).map(|n| self.group(n).blocks).sum() } else { 0 };
        self.group_start(group).saturating_add((before + block).saturating_mul(group.elements))
    }

    /// Returns a secondary block whose data blocks were not created yet.
    pub(crate) fn empty_secondary(&self, group: Group) -> Result<SecondaryBlock> {
        let bitmaps = group.blocks.checked_mul(self.bitmap_bytes(group));
        let fits = |n: u64| usize::try_from(n).ok().filter(|&n| n <= 1 << 30);
        let (Some(bitmaps), Some(blocks)) = (bitmaps.and_then(fits), fits(group.blocks)) else {
            return Err(Error::invalid("create extensible array secondary block"));
        };
        Ok(SecondaryBlock { bitmaps: vec![0; bitmaps], blocks: vec![None; blocks] })
    }

    /// Notes that a page of data block `block` was written; whether there is such a page.
    pub(crate) fn set_page_written(
        &self,
        group: Group,
        secondary: &mut SecondaryBlock,
        block: u64,
        page: u64,
    ) -> bool {
        let pages = self.pages(group);
        let bit = block.checked_mul(pages).and_then(|first| first.checked_add(page));
        page < pages && bit.is_some_and(|bit| set_page_written(&mut secondary.bitmaps, bit))
    }

    /// Returns whether a page of data block `block` was written.
    pub(crate) fn is_page_written(
        &self,
        group: Group,
        secondary: &SecondaryBlock,
        block: u64,
        page: u64,
    ) -> bool {
        let bit = block.checked_mul(self.pages(group)).and_then(|first| first.checked_add(page));
        bit.is_some_and(|bit| page_is_written(&secondary.bitmaps, bit))
    }

    /// Returns a secondary block.
    pub(crate) fn encode_secondary(
        &self,
        header: Address,
        group: Group,
        block: &SecondaryBlock,
        sizes: Sizes,
    ) -> Result<Vec<u8>> {
        let mut e = self.start(b"EASB", header, sizes);
        e.uint(self.group_start(group), self.offset_bytes() as usize).raw(&block.bitmaps);
        for &address in &block.blocks {
            e.address(address);
        }
        e.checksum();
        e.require(block.blocks.len() as u64 == group.blocks, "number of data blocks");
        e.require(e.len() as u64 == self.secondary_bytes(group, sizes), "size of page bitmaps").finish()
    }

    /// Returns all of a secondary block, to be changed and written again.
    pub(crate) fn decode_secondary(
        &self,
        bytes: &[u8],
        header: Address,
        group: Group,
        sizes: Sizes,
    ) -> Result<SecondaryBlock> {
        checksum::verify(bytes, "extensible array secondary block")?;
        let mut c = Cursor::new(bytes, "extensible array secondary block");
        if bytes.len() as u64 != self.secondary_bytes(group, sizes) {
            return Err(c.corrupt("size of block"));
        }
        c.signature(b"EASB")?;
        c.version(0..=0)?;
        c.skip(1)?;
        if c.address(sizes)? != Some(header) {
            return Err(c.corrupt("block belongs to another array"));
        }
        c.skip(self.offset_bytes() as usize)?;
        let bitmaps = c.take((self.bitmap_bytes(group) * group.blocks) as usize)?.to_vec();
        let blocks = (0..group.blocks).map(|_| c.address(sizes)).collect::<Result<_>>()?;
        Ok(SecondaryBlock { bitmaps, blocks })
    }

    /// Data block `block` of a super block: its elements, or nothing where they are in pages after it.
    pub(crate) fn encode_data(
        &self,
        header: Address,
        (group, block): (Group, u64),
        elements: &[u8],
        sizes: Sizes,
    ) -> Result<Vec<u8>> {
        let mut e = self.start(b"EADB", header, sizes);
        let expected = if self.is_paged(group) { 0 } else { group.elements * u64::from(self.element_bytes) };
        e.require(elements.len() as u64 == expected, "size of elements");
        e.uint(self.block_offset(group, block), self.offset_bytes() as usize).raw(elements);
        e.checksum().finish()
    }
}
