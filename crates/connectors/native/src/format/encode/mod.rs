//! Values in, bytes out: the exact bytes that libhdf5 writes, one file per structure as in the parent.
//!
//! A value that does not fit its field is an error of kind `Invalid`, never a cut-off number.

pub(crate) mod attribute;
pub(crate) mod btree1;
pub(crate) mod btree2;
pub(crate) mod cache_image;
pub(crate) mod driver_info;
pub(crate) mod extensible_array;
pub(crate) mod external_files;
pub(crate) mod file_space;
pub(crate) mod fill;
pub(crate) mod filters;
pub(crate) mod fixed_array;
pub(crate) mod fractal_heap;
pub(crate) mod free_space;
pub(crate) mod global_heap;
pub(crate) mod group;
pub(crate) mod header;
pub(crate) mod layout;
pub(crate) mod link;
pub(crate) mod local_heap;
pub(crate) mod messages;
pub(crate) mod shared;
pub(crate) mod superblock;
pub(crate) mod symbol_table;
pub(crate) mod virtual_map;

#[cfg(test)]
mod tests;

use model::bytes::Put;
use model::{Error, Result, text};

use super::{Address, Sizes, all_ones, checksum};

/// Bytes that most structures fit in.
const SMALL_BYTES: usize = 48;

/// Bytes under construction. The first value that does not fit is remembered, and `finish` reports it.
#[derive(Debug)]
pub(super) struct Encoder {
    bytes: Vec<u8>,
    sizes: Sizes,
    what: &'static str,
    problem: Option<String>,
}

impl Encoder {
    /// Returns an encoder of a structure with fields whose width the superblock defines.
    pub(super) fn new(what: &'static str, sizes: Sizes) -> Self {
        Encoder { bytes: Vec::with_capacity(SMALL_BYTES), sizes, what, problem: None }
    }

    /// Returns an encoder of a structure of about `bytes` bytes without such fields.
    pub(super) fn sized(what: &'static str, bytes: u64) -> Self {
        let bytes = Vec::with_capacity(usize::try_from(bytes).unwrap_or(0).min(1 << 20));
        Encoder { bytes, sizes: Sizes { offset: 8, length: 8 }, what, problem: None }
    }

    /// Returns an encoder of a structure without such fields.
    pub(super) fn plain(what: &'static str) -> Self {
        Self::new(what, Sizes { offset: 8, length: 8 })
    }

    /// Returns a block's signature and its version byte.
    pub(super) fn block(what: &'static str, sizes: Sizes, signature: &[u8; 4], version: u8) -> Self {
        let mut e = Self::new(what, sizes);
        e.raw(signature).u8(version);
        e
    }

    /// Reserves space at once for a structure whose size is known.
    pub(super) fn reserve(&mut self, bytes: u64) {
        self.bytes.reserve(usize::try_from(bytes).unwrap_or(0).min(1 << 20));
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Notes that the value cannot be said in this structure.
    pub(super) fn refuse(&mut self, problem: impl Into<String>) -> &mut Self {
        self.problem.get_or_insert_with(|| problem.into());
        self
    }

    /// Refuses unless `holds`.
    pub(super) fn require(&mut self, holds: bool, problem: &str) -> &mut Self {
        if holds { self } else { self.refuse(problem) }
    }

    pub(super) fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    pub(super) fn zeros(&mut self, count: usize) -> &mut Self {
        self.bytes.resize(self.bytes.len() + count, 0);
        self
    }

    pub(super) fn u8(&mut self, value: u8) -> &mut Self {
        self.raw(&[value])
    }

    pub(super) fn u16(&mut self, value: u16) -> &mut Self {
        self.raw(&value.to_le_bytes())
    }

    pub(super) fn u32(&mut self, value: u32) -> &mut Self {
        self.raw(&value.to_le_bytes())
    }

    pub(super) fn u64(&mut self, value: u64) -> &mut Self {
        self.raw(&value.to_le_bytes())
    }

    /// Appends `value` in `width` bytes (0 to 8). Only zero fits in none.
    pub(super) fn uint(&mut self, value: u64, width: usize) -> &mut Self {
        let width = width.min(8);
        if if width == 0 { value > 0 } else { value > all_ones(width) } {
            return self.refuse(format!("{value} does not fit in {width} bytes"));
        }
        self.bytes.put_uint(value, width);
        self
    }

    /// Appends a number of things in `width` bytes.
    pub(super) fn count(&mut self, count: usize, width: usize) -> &mut Self {
        self.uint(count as u64, width)
    }

    /// Appends a length, as wide as the superblock says.
    pub(super) fn length(&mut self, value: u64) -> &mut Self {
        self.uint(value, self.sizes.length)
    }

    /// Appends an address that may be undefined.
    pub(super) fn address(&mut self, address: Option<Address>) -> &mut Self {
        match address {
            Some(address) => self.defined(address),
            None => self.uint(all_ones(self.sizes.offset), self.sizes.offset),
        }
    }

    /// Appends an address. The one that would read back as undefined is refused.
    pub(super) fn defined(&mut self, Address(value): Address) -> &mut Self {
        if value >= all_ones(self.sizes.offset) {
            return self.refuse(format!("address {value:#x} does not fit"));
        }
        self.uint(value, self.sizes.offset)
    }

    /// Appends text and a NUL.
    pub(super) fn nul_text(&mut self, value: &str) -> &mut Self {
        let bytes = text::to_bytes(value);
        self.require(!bytes.contains(&0), "text holds a NUL");
        self.raw(&bytes).u8(0)
    }

    /// Appends zeros until the length counted from `start` is a multiple of `unit`.
    pub(super) fn pad(&mut self, start: usize, unit: usize) -> &mut Self {
        self.bytes.pad_to(start, unit);
        self
    }

    /// Returns the checksum of all bytes so far.
    pub(super) fn checksum(&mut self) -> &mut Self {
        let sum = checksum::lookup3(&self.bytes, 0);
        self.u32(sum)
    }

    /// Returns the bytes, all of which were used.
    pub(super) fn finish(&mut self) -> Result<Vec<u8>> {
        match self.problem.take() {
            Some(problem) => Err(Error::invalid(format!("encode {}", self.what)).with("problem", problem)),
            None => Ok(std::mem::take(&mut self.bytes)),
        }
    }

    /// Returns the bytes, with zeros up to the size of the block that holds them.
    pub(super) fn finish_in(&mut self, block_bytes: u64) -> Result<Vec<u8>> {
        match usize::try_from(block_bytes) {
            Ok(len) if self.len() <= len => self.bytes.resize(len, 0),
            _ => {
                self.refuse(format!("{} bytes in a block of {block_bytes}", self.len()));
            }
        }
        self.finish()
    }
}
