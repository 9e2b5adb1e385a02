//! Extensible array chunk index (format spec III.H, "Extensible Array").

use model::bytes::Cursor;
use model::{Error, Result};

use super::{Address, SizedFields, Sizes, checksum};

/// The header of an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExtensibleArray {
    /// Its elements have a stored size and a filter mask.
    pub(crate) filtered: bool,
    pub(crate) element_bytes: u8,
    pub(crate) max_bits: u8,
    pub(crate) index_elements: u8,
    pub(crate) block_elements_min: u8,
    pub(crate) pointers_min: u8,
    pub(crate) page_bits: u8,
    pub(crate) counts: Counts,
    /// Highest index in use, plus one.
    pub(crate) entries: u64,
    pub(crate) index_block: Option<Address>,
}

/// The blocks that an array has so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counts {
    pub(crate) secondary_blocks: u64,
    pub(crate) secondary_bytes: u64,
    pub(crate) data_blocks: u64,
    pub(crate) data_bytes: u64,
    /// Elements there is space for.
    pub(crate) elements: u64,
}

/// Every byte, to lend bits that had to be shifted as if they stood in a block.
static BYTES: [u8; 256] = {
    let (mut bytes, mut i) = ([0; 256], 0);
    while i < 256 {
        bytes[i] = i as u8;
        i += 1;
    }
    bytes
};

/// Where an element is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ElementLocation {
    /// In the index block.
    Index { element: u64 },
    /// In a data block that the index block points to.
    Direct { pointer: u64, group: Group, element: u64 },
    /// In a data block of a secondary block.
    Secondary { pointer: u64, group: Group, block: u64, element: u64 },
}

/// A super block: blocks of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) number: u64,
    /// Data blocks in it.
    pub(crate) blocks: u64,
    /// Elements of each.
    pub(crate) elements: u64,
}

/// A super block and where it hangs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GroupPlace {
    pub(crate) group: Group,
    pub(crate) first_element: u64,
    /// The index block points to its data blocks itself.
    pub(crate) is_direct: bool,
    /// Its secondary block's number, where it has one.
    pub(crate) pointer: u64,
}

impl ExtensibleArray {
    pub(crate) fn header_bytes(sizes: Sizes) -> u64 {
        (12 + 6 * sizes.length + sizes.offset + 4) as u64
    }

    pub(crate) fn decode(bytes: &[u8], sizes: Sizes) -> Result<Self> {
        checksum::verify(bytes, "extensible array header")?;
        let mut c = Cursor::new(bytes, "extensible array header");
        c.signature(b"EAHD")?;
        c.version(0..=0)?;
        let filtered = c.u8()? == 1;
        let [element_bytes, max_bits, index_elements, block_elements_min, pointers_min, page_bits] =
            c.array()?;
        let (secondary_blocks, secondary_bytes) = (c.length(sizes)?, c.length(sizes)?);
        let (data_blocks, data_bytes) = (c.length(sizes)?, c.length(sizes)?);
        let (entries, elements) = (c.length(sizes)?, c.length(sizes)?);
        let counts = Counts { secondary_blocks, secondary_bytes, data_blocks, data_bytes, elements };
        let index_block = c.address(sizes)?;
        let array = ExtensibleArray {
            filtered,
            element_bytes,
            max_bits,
            index_elements,
            block_elements_min,
            pointers_min,
            page_bits,
            counts,
            entries,
            index_block,
        };
        if array.is_sane(sizes) { Ok(array) } else { Err(c.corrupt("parameters of array")) }
    }

    fn is_sane(&self, sizes: Sizes) -> bool {
        usize::from(self.element_bytes) >= sizes.offset
            && self.block_elements_min.is_power_of_two()
            && self.pointers_min.is_power_of_two()
            && self.pointers_min >= 2
            && (1..=63).contains(&self.max_bits)
            && u64::from(self.max_bits) >= self.lg_min() + 2 * self.lg_pointers()
            && self.page_bits < 32
    }

    fn lg_min(&self) -> u64 {
        u64::from(self.block_elements_min.ilog2())
    }

    fn lg_pointers(&self) -> u64 {
        u64::from(self.pointers_min.ilog2())
    }

    /// Returns the number of super blocks whose data blocks the index block points to itself.
    fn direct_groups(&self) -> u64 {
        2 * self.lg_pointers()
    }

    pub(crate) fn direct_pointers(&self) -> u64 {
        2 * (u64::from(self.pointers_min) - 1)
    }

    pub(crate) fn secondary_pointers(&self) -> u64 {
        (1 + u64::from(self.max_bits) - self.lg_min()).saturating_sub(self.direct_groups())
    }

    pub(crate) fn group(&self, number: u64) -> Group {
        let elements = u64::from(self.block_elements_min) << number.div_ceil(2);
        Group { number, blocks: 1 << (number / 2), elements }
    }

    /// Returns where element `index` is.
    pub(crate) fn place(&self, index: u64) -> Result<ElementLocation> {
        let Some(rest) = index.checked_sub(u64::from(self.index_elements)) else {
            return Ok(ElementLocation::Index { element: index });
        };
        let min = u64::from(self.block_elements_min);
        let number = u64::from((rest / min + 1).ilog2());
        if number > u64::from(self.max_bits) - self.lg_min() {
            return Err(Error::corrupt("find chunk in extensible array").with("index", index));
        }
        let group = self.group(number);
        let within = rest - min * ((1 << number) - 1);
        let (block, element) = (within / group.elements, within % group.elements);
        if number < self.direct_groups() {
            let before: u64 = (0..number).map(|n| self.group(n).blocks).sum();
            return Ok(ElementLocation::Direct { pointer: before + block, group, element });
        }
        Ok(ElementLocation::Secondary { pointer: number - self.direct_groups(), group, block, element })
    }

    /// Returns all super blocks, in the order of their elements.
    pub(crate) fn groups(&self) -> impl Iterator<Item = GroupPlace> + '_ {
        let count = self.direct_groups() + self.secondary_pointers();
        (0..count).map(|number| GroupPlace {
            group: self.group(number),
            first_element: u64::from(self.index_elements)
                + u64::from(self.block_elements_min) * ((1 << number) - 1),
            is_direct: number < self.direct_groups(),
            pointer: number.saturating_sub(self.direct_groups()),
        })
    }

    /// Returns the number of bytes of the index block.
    pub(crate) fn index_block_bytes(&self, sizes: Sizes) -> u64 {
        let pointers = self.direct_pointers() + self.secondary_pointers();
        let elements = u64::from(self.index_elements) * u64::from(self.element_bytes);
        6 + sizes.offset as u64 + elements + pointers * sizes.offset as u64 + 4
    }

    /// Returns the elements and pointers of the index block.
    pub(crate) fn index_block<'a>(
        &self,
        bytes: &'a [u8],
        sizes: Sizes,
        header: Address,
    ) -> Result<IndexBlock<'a>> {
        let mut c = self.block(bytes, b"EAIB", sizes, header)?;
        checksum::verify(bytes, "extensible array index block")?;
        let elements = c.take(usize::from(self.index_elements) * usize::from(self.element_bytes))?;
        let direct = (0..self.direct_pointers()).map(|_| c.address(sizes)).collect::<Result<_>>()?;
        let secondary = (0..self.secondary_pointers()).map(|_| c.address(sizes)).collect::<Result<_>>()?;
        Ok(IndexBlock { elements, direct, secondary })
    }

    fn block<'a>(
        &self,
        bytes: &'a [u8],
        signature: &[u8],
        sizes: Sizes,
        header: Address,
    ) -> Result<Cursor<'a>> {
        let mut c = Cursor::new(bytes, "extensible array block");
        c.signature(signature)?;
        c.version(0..=0)?;
        c.skip(1)?;
        if c.address(sizes)? == Some(header) {
            Ok(c)
        } else {
            Err(c.corrupt("block belongs to another array"))
        }
    }

    pub(super) fn offset_bytes(&self) -> u64 {
        u64::from(self.max_bits).div_ceil(8)
    }

    pub(crate) fn page_entries(&self) -> u64 {
        1 << self.page_bits
    }

    pub(crate) fn is_paged(&self, group: Group) -> bool {
        group.elements > self.page_entries()
    }

    /// Returns the number of pages of a data block: none, or a power of two.
    pub(crate) fn pages(&self, group: Group) -> u64 {
        if self.is_paged(group) { group.elements / self.page_entries() } else { 0 }
    }

    /// Returns the number of bytes that a secondary block has for the page bits of one data block.
    pub(super) fn bitmap_bytes(&self, group: Group) -> u64 {
        self.pages(group).div_ceil(8)
    }

    /// Returns the page bits of data block `block`. They follow those of the block before without a gap, though
    /// there is space for whole bytes (the specification does not say so).
    fn page_bits_of<'a>(&self, bitmaps: &'a [u8], group: Group, block: u64) -> Option<&'a [u8]> {
        let pages = self.pages(group);
        let first = block.checked_mul(pages)?;
        let at = usize::try_from(first / 8).ok()?;
        match pages {
            0 => Some(&[]),
            1..8 => {
                let bits = bitmaps.get(at)? << (first % 8) & !(0xFF >> pages);
                Some(std::slice::from_ref(&BYTES[usize::from(bits)]))
            }
            _ => bitmaps.get(at..at.checked_add(usize::try_from(pages / 8).ok()?)?),
        }
    }

    /// Returns the number of bytes of a secondary block.
    pub(crate) fn secondary_bytes(&self, group: Group, sizes: Sizes) -> u64 {
        let o = sizes.offset as u64;
        6 + o + self.offset_bytes() + group.blocks * (self.bitmap_bytes(group) + o) + 4
    }

    /// Returns the address of data block `block`, and its page bits.
    pub(crate) fn secondary<'a>(
        &self,
        bytes: &'a [u8],
        sizes: Sizes,
        header: Address,
        group: Group,
        block: u64,
    ) -> Result<(Option<Address>, &'a [u8])> {
        let mut c = self.block(bytes, b"EASB", sizes, header)?;
        checksum::verify(bytes, "extensible array secondary block")?;
        c.skip(self.offset_bytes() as usize)?;
        let bitmaps = c.take(self.bitmap_bytes(group) as usize * group.blocks as usize)?;
        let bits = self.page_bits_of(bitmaps, group, block).ok_or_else(|| c.corrupt("page bits"))?;
        c.skip(block as usize * sizes.offset)?;
        Ok((c.address(sizes)?, bits))
    }

    fn data_prefix_bytes(&self, sizes: Sizes) -> u64 {
        6 + sizes.offset as u64 + self.offset_bytes()
    }

    /// Returns the number of bytes of a data block without pages.
    pub(crate) fn data_bytes(&self, group: Group, sizes: Sizes) -> u64 {
        self.data_prefix_bytes(sizes) + group.elements * u64::from(self.element_bytes) + 4
    }

    /// Checks a data block without pages.
    pub(crate) fn check_data(&self, bytes: &[u8], sizes: Sizes, header: Address) -> Result<()> {
        self.block(bytes, b"EADB", sizes, header)?;
        checksum::verify(bytes, "extensible array data block")
    }

    /// Returns the elements of a data block that was checked.
    pub(crate) fn data_elements<'a>(&self, bytes: &'a [u8], sizes: Sizes) -> &'a [u8] {
        &bytes[self.data_prefix_bytes(sizes) as usize..bytes.len() - 4]
    }

    /// Returns where a page starts, counted from its data block, and its bytes.
    pub(crate) fn page(&self, page: u64, sizes: Sizes) -> (u64, u64) {
        let bytes = self.page_entries() * u64::from(self.element_bytes) + 4;
        (self.data_prefix_bytes(sizes) + 4 + page * bytes, bytes)
    }
}

/// The content of the index block.
#[derive(Debug)]
pub(crate) struct IndexBlock<'a> {
    pub(crate) elements: &'a [u8],
    pub(crate) direct: Vec<Option<Address>>,
    pub(crate) secondary: Vec<Option<Address>>,
}
