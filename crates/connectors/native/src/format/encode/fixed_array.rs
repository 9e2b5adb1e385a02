//! Fixed array chunk index: header, data block, pages (format spec III.H, "Fixed Array").

use model::Result;

use super::super::fixed_array::FixedArray;
use super::super::{Address, Sizes};
use super::Encoder;

impl FixedArray {
    /// Returns the header.
    pub(crate) fn encode(&self, sizes: Sizes) -> Result<Vec<u8>> {
        let mut e = Encoder::block("fixed array header", sizes, b"FAHD", 0);
        e.u8(u8::from(self.filtered)).u8(self.element_bytes).u8(self.page_bits);
        e.length(self.entries).address(self.block).checksum().finish()
    }

    /// Returns the data block: `body` is all elements, or the bitmap of pages where the array has pages.
    pub(crate) fn encode_block(&self, header: Address, body: &[u8], sizes: Sizes) -> Result<Vec<u8>> {
        let mut e = Encoder::block("fixed array block", sizes, b"FADB", 0);
        e.u8(u8::from(self.filtered)).defined(header).raw(body).checksum();
        e.require(self.block_bytes(sizes) == Some(e.len() as u64), "size of block").finish()
    }

    /// Returns the number of bytes of all pages with their checksums.
    pub(crate) fn pages_bytes(&self) -> Option<u64> {
        let elements = self.entries.checked_mul(u64::from(self.element_bytes))?;
        if self.is_paged() { elements.checked_add(self.pages().checked_mul(4)?) } else { Some(0) }
    }
}

/// Returns a page of elements of a fixed or an extensible array.
pub(crate) fn page(elements: &[u8]) -> Result<Vec<u8>> {
    Encoder::plain("array page").raw(elements).checksum().finish()
}

/// Notes in a bitmap that a page was written; whether the bitmap has that page.
pub(crate) fn set_page_written(bitmap: &mut [u8], page: u64) -> bool {
    let byte = usize::try_from(page / 8).ok().and_then(|i| bitmap.get_mut(i));
    byte.map(|byte| *byte |= 0x80 >> (page % 8)).is_some()
}
