//! Fixed array chunk index (format spec III.H, "Fixed Array").

use model::Result;
use model::bytes::Cursor;

use super::{Address, SizedFields, Sizes, checksum};

/// The header of an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FixedArray {
    /// Its elements have a stored size and a filter mask.
    pub(crate) filtered: bool,
    pub(crate) element_bytes: u8,
    pub(crate) page_bits: u8,
    pub(crate) entries: u64,
    pub(crate) block: Option<Address>,
}

impl FixedArray {
    pub(crate) fn header_bytes(sizes: Sizes) -> u64 {
        (12 + sizes.offset + sizes.length) as u64
    }

    pub(crate) fn decode(bytes: &[u8], sizes: Sizes) -> Result<Self> {
        checksum::verify(bytes, "fixed array header")?;
        let mut c = Cursor::new(bytes, "fixed array header");
        c.signature(b"FAHD")?;
        c.version(0..=0)?;
        let filtered = c.u8()? == 1;
        let (element_bytes, page_bits) = (c.u8()?, c.u8()?);
        if page_bits >= 32 || usize::from(element_bytes) < sizes.offset {
            return Err(c.corrupt(format!("elements of {element_bytes} bytes, pages of 2^{page_bits}")));
        }
        let (entries, block) = (c.length(sizes)?, c.address(sizes)?);
        Ok(FixedArray { filtered, element_bytes, page_bits, entries, block })
    }

    pub(crate) fn page_entries(&self) -> u64 {
        1 << self.page_bits
    }

    pub(crate) fn is_paged(&self) -> bool {
        self.entries > self.page_entries()
    }

    pub(crate) fn pages(&self) -> u64 {
        self.entries.div_ceil(self.page_entries())
    }

    fn prefix_bytes(sizes: Sizes) -> u64 {
        6 + sizes.offset as u64
    }

    /// Returns the number of bytes of the block that are read at once: all of it, or what stands before its pages.
    pub(crate) fn block_bytes(&self, sizes: Sizes) -> Option<u64> {
        let body = match self.is_paged() {
            true => self.pages().div_ceil(8),
            false => self.entries.checked_mul(u64::from(self.element_bytes))?,
        };
        body.checked_add(Self::prefix_bytes(sizes) + 4)
    }

    /// Checks a block (what stands before its pages, where it has any).
    pub(crate) fn check_block(&self, bytes: &[u8], sizes: Sizes, header: Address) -> Result<()> {
        checksum::verify(bytes, "fixed array block")?;
        let mut c = Cursor::new(bytes, "fixed array block");
        c.signature(b"FADB")?;
        c.version(0..=0)?;
        c.skip(1)?;
        if c.address(sizes)? == Some(header) {
            Ok(())
        } else {
            Err(c.corrupt("block belongs to another array"))
        }
    }

    /// Returns the elements of a block without pages, or the page bitmap of one with pages. The block was checked.
    pub(crate) fn block_body<'a>(&self, bytes: &'a [u8], sizes: Sizes) -> &'a [u8] {
        &bytes[Self::prefix_bytes(sizes) as usize..bytes.len() - 4]
    }

    /// Returns where page `page` starts, counted from the block, and how many entries it has.
    pub(crate) fn page(&self, page: u64, sizes: Sizes) -> Option<(u64, u64)> {
        let full = self.page_entries().checked_mul(u64::from(self.element_bytes))? + 4;
        let start = self.block_bytes(sizes)?.checked_add(page.checked_mul(full)?)?;
        let first = page.checked_mul(self.page_entries())?;
        Some((start, self.entries.checked_sub(first)?.min(self.page_entries())))
    }
}

/// Returns whether a page was ever written: bitmaps have their most significant bit first.
pub(crate) fn page_is_written(bitmap: &[u8], page: u64) -> bool {
    bitmap.get((page / 8) as usize).is_some_and(|byte| byte & (0x80 >> (page % 8)) != 0)
}
