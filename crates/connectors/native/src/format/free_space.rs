//! Free-space managers of fractal heaps and of the file: header and section list (format spec III.I).

use model::bytes::{Cursor, uint_width};
use model::{Limits, Result, Within};

use super::{Address, SizedFields, Sizes, checksum};

/// Whose space it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Client {
    FractalHeap,
    File,
}

/// The header of a manager.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Manager {
    pub(crate) client: Client,
    /// Sum of all sections.
    pub(crate) bytes: u64,
    /// Stored sections and ghosts.
    pub(crate) sections: u64,
    pub(crate) stored_sections: u64,
    /// Sections that readers make from stored ones.
    pub(crate) ghost_sections: u64,
    pub(crate) classes: u16,
    pub(crate) shrink_percent: u16,
    pub(crate) expand_percent: u16,
    pub(crate) address_bits: u16,
    pub(crate) section_bytes_max: u64,
    /// Where the sections are.
    pub(crate) list: Option<Address>,
    pub(crate) list_used_bytes: u64,
    pub(crate) list_bytes: u64,
}

/// A free section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Section {
    /// Address in the file, or offset in the heap.
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    pub(crate) detail: Detail,
}

/// The kind of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// A range of bytes. In files: 0, or 1 (small) and 2 (large) with paged space.
    Plain(u8),
    /// A run of blocks that a heap has not made yet; `bytes` is what one of its first row can hold.
    Row { block_offset: u64, row: u16, column: u16, entries: u16 },
}

/// Signature, version and checksum of a list, without the header's address.
const LIST_OVERHEAD_BYTES: u64 = 9;

impl Manager {
    /// Returns a manager of file space without sections, as libhdf5 creates it.
    pub(crate) fn of_file() -> Self {
        Manager {
            client: Client::File,
            bytes: 0,
            sections: 0,
            stored_sections: 0,
            ghost_sections: 0,
            classes: 3,
            shrink_percent: 80,
            expand_percent: 120,
            address_bits: 63,
            section_bytes_max: (1 << 63) - 1,
            list: None,
            list_used_bytes: 0,
            list_bytes: 0,
        }
    }

    /// Returns a manager of heap space without sections, for a heap of this many offset bits and this largest block.
    pub(crate) fn of_heap(heap_bits: u16, direct_bytes_max: u64) -> Self {
        Manager {
            client: Client::FractalHeap,
            classes: 4,
            address_bits: heap_bits,
            section_bytes_max: direct_bytes_max,
            ..Self::of_file()
        }
    }

    /// Returns the number of bytes of the header.
    pub(crate) fn header_bytes(sizes: Sizes) -> u64 {
        (18 + 7 * sizes.length + sizes.offset) as u64
    }

    pub(crate) fn decode(bytes: &[u8], sizes: Sizes) -> Result<Self> {
        checksum::verify(bytes, "free-space manager")?;
        let mut c = Cursor::new(bytes, "free-space manager");
        c.signature(b"FSHD")?;
        c.version(0..=0)?;
        let client = match c.u8()? {
            0 => Client::FractalHeap,
            1 => Client::File,
            n => return Err(c.corrupt(format!("client {n}"))),
        };
        let manager = Manager {
            client,
            bytes: c.length(sizes)?,
            sections: c.length(sizes)?,
            stored_sections: c.length(sizes)?,
            ghost_sections: c.length(sizes)?,
            classes: c.u16()?,
            shrink_percent: c.u16()?,
            expand_percent: c.u16()?,
            address_bits: c.u16()?,
            section_bytes_max: c.length(sizes)?,
            list: c.address(sizes)?,
            list_used_bytes: c.length(sizes)?,
            list_bytes: c.length(sizes)?,
        };
        if manager.address_bits > 64 { Err(c.corrupt("address bits")) } else { Ok(manager) }
    }

    /// Returns the number of bytes of a count of sections.
    pub(super) fn count_bytes(&self) -> usize {
        uint_width(self.stored_sections)
    }

    /// Returns the largest section there can be. In files it is the address space: with lengths below 8 bytes libhdf5
    /// cuts the stored number off and still writes lists by the whole one (and then cannot read them).
    fn section_bytes_limit(&self) -> u64 {
        match self.client {
            Client::File => {
                u64::MAX.checked_shr(64u32.saturating_sub(u32::from(self.address_bits))).unwrap_or(0)
            }
            Client::FractalHeap => self.section_bytes_max,
        }
    }

    /// Returns the number of bytes of a section's size.
    pub(super) fn size_bytes(&self) -> usize {
        uint_width(self.section_bytes_limit())
    }

    /// Returns the number of bytes of a section's offset.
    pub(super) fn offset_bytes(&self) -> usize {
        usize::from(self.address_bits).div_ceil(8)
    }

    /// Returns the stored sections. `bytes` is the list's allocated space, or its used part.
    pub(crate) fn sections(
        &self,
        bytes: &[u8],
        header: Address,
        sizes: Sizes,
        limits: &Limits,
    ) -> Result<Vec<Section>> {
        let mut c = Cursor::new(bytes, "free-space sections");
        let used = self.list_used_bytes.within(limits.metadata_bytes_max, "free-space sections")?;
        if used as u64 <= LIST_OVERHEAD_BYTES || used > bytes.len() {
            return Err(c.corrupt(format!("list of {used} bytes")));
        }
        checksum::verify(&bytes[..used], "free-space sections")?;
        c.signature(b"FSSE")?;
        c.version(0..=0)?;
        if c.address(sizes)? != Some(header) {
            return Err(c.corrupt("list belongs to another manager"));
        }
        let mut sections = Vec::new();
        // A section has a type byte at least, so that the bytes bound the loop.
        while (sections.len() as u64) < self.stored_sections {
            self.set(&mut c, &mut sections)?;
        }
        Ok(sections)
    }

    /// Decodes sections of one size.
    fn set(&self, c: &mut Cursor<'_>, sections: &mut Vec<Section>) -> Result<()> {
        let (count, bytes) = (c.uint(self.count_bytes())?, c.uint(self.size_bytes())?);
        if count == 0 || count > self.stored_sections - sections.len() as u64 {
            return Err(c.corrupt(format!("set of {count} sections")));
        }
        // Heaps with 2-byte lengths have their largest size cut off, so that widths in the list are not known.
        if bytes > self.section_bytes_limit() {
            return Err(c.corrupt(format!("sections of {bytes} bytes")));
        }
        for _ in 0..count {
            let offset = c.uint(self.offset_bytes())?;
            sections.push(Section { offset, bytes, detail: self.detail(c)? });
        }
        Ok(())
    }

    fn detail(&self, c: &mut Cursor<'_>) -> Result<Detail> {
        match (self.client, c.u8()?) {
            (Client::FractalHeap, 1) => Ok(Detail::Row {
                block_offset: c.uint(self.offset_bytes())?,
                row: c.u16()?,
                column: c.u16()?,
                entries: c.u16()?,
            }),
            (Client::FractalHeap, 0) => Ok(Detail::Plain(0)),
            (Client::File, kind @ 0..=2) => Ok(Detail::Plain(kind)),
            (_, n) => Err(c.corrupt(format!("section type {n}"))),
        }
    }
}
