//! Fractal heaps: dense links and attributes, shared messages (format spec III.G).

use model::bytes::{Cursor, uint_width};
use model::properties::FilterSpec;
use model::{Error, Result};

use super::{Address, SizedFields, Sizes, checksum, filters};

/// The header of a heap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FractalHeap {
    pub(crate) sizes: Sizes,
    pub(crate) id_bytes: u16,
    pub(crate) huge_ids_wrapped: bool,
    pub(crate) checksummed: bool,
    pub(crate) managed_bytes_max: u32,
    /// Last number given to a huge object; 0 before the first.
    pub(crate) huge_id_last: u64,
    pub(crate) huge_tree: Option<Address>,
    /// The manager of free space in blocks.
    pub(crate) free_space: Option<Address>,
    pub(crate) counts: Counts,
    pub(crate) width: u64,
    pub(crate) start_bytes: u64,
    pub(crate) direct_bytes_max: u64,
    pub(crate) heap_bits: u16,
    pub(crate) start_rows: u16,
    pub(crate) root: Option<Address>,
    /// 0: the root is a direct block.
    pub(crate) root_rows: u16,
    pub(crate) root_stored: Option<StoredSize>,
    pub(crate) filters: Vec<FilterSpec>,
    /// Version of the pipeline message in the header.
    pub(crate) filters_version: u8,
}

/// The content of a heap in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counts {
    /// In blocks, those not yet made included.
    pub(crate) free_bytes: u64,
    /// Heap space that the root block covers.
    pub(crate) managed_bytes: u64,
    /// Sum of the direct blocks there are.
    pub(crate) allocated_bytes: u64,
    /// Where the next direct block goes, in heap space.
    pub(crate) next_offset: u64,
    pub(crate) managed_objects: u64,
    pub(crate) huge_bytes: u64,
    pub(crate) huge_objects: u64,
    pub(crate) tiny_bytes: u64,
    pub(crate) tiny_objects: u64,
}

/// How a filtered block is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoredSize {
    pub(crate) bytes: u64,
    pub(crate) filter_mask: u32,
}

/// A decoded heap ID.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ObjectId {
    Managed { offset: u64, len: u64 },
    Tiny(Vec<u8>),
    HugeDirect { address: Address, stored: StoredSize, len: u64 },
    HugeIndirect { key: u64 },
}

/// One entry of an indirect block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Child {
    pub(crate) address: Option<Address>,
    pub(crate) stored: Option<StoredSize>,
}

/// Where an offset falls in a doubling table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TablePosition {
    pub(crate) entry: u64,
    pub(crate) row: u64,
    /// Offset of the block from the start of its table.
    pub(crate) block_offset: u64,
    pub(crate) block_bytes: u64,
}

fn counts(c: &mut Cursor<'_>, free_bytes: u64, sizes: Sizes) -> Result<Counts> {
    Ok(Counts {
        free_bytes,
        managed_bytes: c.length(sizes)?,
        allocated_bytes: c.length(sizes)?,
        next_offset: c.length(sizes)?,
        managed_objects: c.length(sizes)?,
        huge_bytes: c.length(sizes)?,
        huge_objects: c.length(sizes)?,
        tiny_bytes: c.length(sizes)?,
        tiny_objects: c.length(sizes)?,
    })
}

impl FractalHeap {
    /// Returns the number of bytes of the header without its filters.
    pub(crate) fn header_bytes(sizes: Sizes) -> u64 {
        (22 + 12 * sizes.length + 3 * sizes.offset + 4) as u64
    }

    /// Returns the number of bytes of the whole header, from its first ones.
    pub(crate) fn header_bytes_of(start: &[u8], sizes: Sizes) -> Result<u64> {
        let mut c = Cursor::new(start, "fractal heap header");
        c.skip(7)?;
        let filters = u64::from(c.u16()?);
        let filtered = if filters > 0 { filters + sizes.length as u64 + 4 } else { 0 };
        Ok(Self::header_bytes(sizes) + filtered)
    }

    pub(crate) fn decode(bytes: &[u8], sizes: Sizes) -> Result<Self> {
        checksum::verify(bytes, "fractal heap header")?;
        let mut c = Cursor::new(bytes, "fractal heap header");
        c.signature(b"FRHP")?;
        c.version(0..=0)?;
        let (id_bytes, filter_bytes, flags, managed_bytes_max) = (c.u16()?, c.u16()?, c.u8()?, c.u32()?);
        let (huge_id_last, huge_tree) = (c.length(sizes)?, c.address(sizes)?);
        let (free_bytes, free_space) = (c.length(sizes)?, c.address(sizes)?);
        let counts = counts(&mut c, free_bytes, sizes)?;
        let width = u64::from(c.u16()?);
        let (start_bytes, direct_bytes_max, heap_bits) = (c.length(sizes)?, c.length(sizes)?, c.u16()?);
        let start_rows = c.u16()?;
        let (root, root_rows) = (c.address(sizes)?, c.u16()?);
        let (mut root_stored, mut pipeline, mut filters_version) = (None, Vec::new(), 2);
        if filter_bytes > 0 {
            root_stored = Some(StoredSize { bytes: c.length(sizes)?, filter_mask: c.u32()? });
            let body = c.take(usize::from(filter_bytes))?;
            pipeline = filters::decode(body)?;
            filters_version = body[0];
        }
        let heap = FractalHeap {
            sizes,
            id_bytes,
            huge_ids_wrapped: flags & 1 != 0,
            checksummed: flags & 2 != 0,
            managed_bytes_max,
            huge_id_last,
            huge_tree,
            free_space,
            counts,
            width,
            start_bytes,
            direct_bytes_max,
            heap_bits,
            start_rows,
            root,
            root_rows,
            root_stored,
            filters: pipeline,
            filters_version,
        };
        heap.check(&c)?;
        Ok(heap)
    }

    fn check(&self, c: &Cursor<'_>) -> Result<()> {
        let powers =
            [self.width, self.start_bytes, self.direct_bytes_max].iter().all(|n| n.is_power_of_two());
        if !powers
            || self.start_bytes > self.direct_bytes_max
            || self.direct_bytes_max > 1 << 31
            || self.heap_bits > 64
        {
            return Err(c.corrupt("geometry of doubling table"));
        }
        if u64::from(self.root_rows) > self.rows_max() {
            return Err(c.corrupt(format!("{} rows in root block", self.root_rows)));
        }
        Ok(())
    }

    fn lg(n: u64) -> u64 {
        u64::from(n.checked_ilog2().unwrap_or(0))
    }

    pub(crate) fn rows_max(&self) -> u64 {
        (u64::from(self.heap_bits) + 1).saturating_sub(Self::lg(self.start_bytes) + Self::lg(self.width))
    }

    /// Returns the number of rows whose blocks hold objects. The others hold tables.
    pub(crate) fn direct_rows(&self) -> u64 {
        Self::lg(self.direct_bytes_max) - Self::lg(self.start_bytes) + 2
    }

    /// Returns the number of rows of the table in an indirect block that covers `bytes`.
    pub(crate) fn rows_of(&self, bytes: u64) -> u64 {
        (Self::lg(bytes) + 1).saturating_sub(Self::lg(self.start_bytes) + Self::lg(self.width))
    }

    pub(super) fn offset_bytes(&self) -> usize {
        usize::from(self.heap_bits).div_ceil(8)
    }

    pub(super) fn length_bytes(&self) -> usize {
        let by_block = (Self::lg(self.direct_bytes_max) as usize).div_ceil(8);
        by_block.min(uint_width(u64::from(self.managed_bytes_max)))
    }

    pub(crate) fn row_bytes(&self, row: u64) -> Option<u64> {
        match row {
            0 => Some(self.start_bytes),
            r => self
                .start_bytes
                .checked_shl(u32::try_from(r - 1).ok()?)
                .filter(|n| n >> (r - 1) == self.start_bytes),
        }
    }

    /// Returns the entry that covers `offset`, counted from the start of the table.
    pub(crate) fn spot(&self, offset: u64) -> Result<TablePosition> {
        let bad = || Error::corrupt("find fractal heap object").with("offset", offset);
        let first_row = self.width.checked_mul(self.start_bytes).ok_or_else(bad)?;
        let (row, row_offset) = if offset < first_row {
            (0, 0)
        } else {
            let top = Self::lg(offset);
            (top - Self::lg(first_row) + 1, 1u64 << top)
        };
        let block_bytes = self.row_bytes(row).ok_or_else(bad)?;
        let column = (offset - row_offset) / block_bytes;
        Ok(TablePosition {
            entry: row * self.width + column,
            row,
            block_offset: row_offset + column * block_bytes,
            block_bytes,
        })
    }

    /// Reads a heap ID.
    pub(crate) fn object_id(&self, id: &[u8]) -> Result<ObjectId> {
        let mut c = Cursor::new(id, "fractal heap ID");
        let first = c.u8()?;
        if first >> 6 != 0 {
            return Err(c.corrupt(format!("version {}", first >> 6)));
        }
        match first >> 4 & 3 {
            0 => Ok(ObjectId::Managed {
                offset: c.uint(self.offset_bytes())?,
                len: c.uint(self.length_bytes())?,
            }),
            1 => self.huge_id(&mut c),
            2 => self.tiny_id(&mut c, first),
            n => Err(c.corrupt(format!("object type {n}"))),
        }
    }

    fn huge_id(&self, c: &mut Cursor<'_>) -> Result<ObjectId> {
        let (capacity, o, l) = (c.remaining(), self.sizes.offset, self.sizes.length);
        if self.filters.is_empty() && capacity >= o + l {
            let (address, len) = (c.defined_address(self.sizes)?, c.length(self.sizes)?);
            return Ok(ObjectId::HugeDirect {
                address,
                stored: StoredSize { bytes: len, filter_mask: 0 },
                len,
            });
        }
        if !self.filters.is_empty() && capacity >= o + 2 * l + 4 {
            let address = c.defined_address(self.sizes)?;
            let stored = StoredSize { bytes: c.length(self.sizes)?, filter_mask: c.u32()? };
            return Ok(ObjectId::HugeDirect { address, stored, len: c.length(self.sizes)? });
        }
        Ok(ObjectId::HugeIndirect { key: c.uint(capacity.min(8))? })
    }

    fn tiny_id(&self, c: &mut Cursor<'_>, first: u8) -> Result<ObjectId> {
        let len = if self.id_bytes < 19 {
            usize::from(first & 15) + 1
        } else {
            (usize::from(first & 15) << 8 | usize::from(c.u8()?)) + 1
        };
        Ok(ObjectId::Tiny(c.take(len)?.to_vec()))
    }

    /// Returns the number of bytes before the first object of a direct block.
    pub(crate) fn direct_prefix_bytes(&self) -> usize {
        5 + self.sizes.offset + self.offset_bytes() + if self.checksummed { 4 } else { 0 }
    }

    /// Checks a direct block after filters were undone.
    pub(crate) fn check_direct(&self, block: &[u8], header: Address, offset: u64) -> Result<()> {
        let mut c = Cursor::new(block, "fractal heap direct block");
        c.signature(b"FHDB")?;
        self.check_prefix(&mut c, header, offset)?;
        if !self.checksummed {
            return Ok(());
        }
        let at = c.position();
        let stored = c.u32()?;
        let mut zeroed = block.to_vec();
        zeroed[at..at + 4].fill(0);
        if checksum::matches(stored, checksum::lookup3(&zeroed, 0)) {
            Ok(())
        } else {
            Err(c.corrupt("checksum does not match"))
        }
    }

    fn check_prefix(&self, c: &mut Cursor<'_>, header: Address, offset: u64) -> Result<()> {
        c.version(0..=0)?;
        let (owner, block_offset) = (c.address(self.sizes)?, c.uint(self.offset_bytes())?);
        if owner == Some(header) && block_offset == offset {
            return Ok(());
        }
        Err(c.corrupt("block belongs to another address"))
    }

    /// Returns the number of bytes of an indirect block with `rows` rows.
    pub(crate) fn indirect_bytes(&self, rows: u64) -> u64 {
        let direct = rows.min(self.direct_rows()) * self.width;
        let indirect = rows.saturating_sub(self.direct_rows()) * self.width;
        let o = self.sizes.offset as u64;
        let filtered = if self.filters.is_empty() { 0 } else { self.sizes.length as u64 + 4 };
        5 + o + self.offset_bytes() as u64 + direct * (o + filtered) + indirect * o + 4
    }

    /// Returns the entries of an indirect block.
    pub(crate) fn indirect(
        &self,
        block: &[u8],
        header: Address,
        offset: u64,
        rows: u64,
    ) -> Result<Vec<Child>> {
        checksum::verify(block, "fractal heap indirect block")?;
        let mut c = Cursor::new(block, "fractal heap indirect block");
        c.signature(b"FHIB")?;
        self.check_prefix(&mut c, header, offset)?;
        let direct = rows.min(self.direct_rows()) * self.width;
        (0..rows * self.width).map(|i| self.child(&mut c, i < direct)).collect()
    }

    fn child(&self, c: &mut Cursor<'_>, direct: bool) -> Result<Child> {
        let address = c.address(self.sizes)?;
        let mut stored = None;
        if direct && !self.filters.is_empty() {
            stored = Some(StoredSize { bytes: c.length(self.sizes)?, filter_mask: c.u32()? });
        }
        Ok(Child { address, stored })
    }
}
