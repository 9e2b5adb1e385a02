//! The structures of the HDF5 File Format Specification, one file each: bytes in, values out, no I/O.
//! `encode` is the way back, with the same file names.
#![forbid(unsafe_code)]

pub(crate) mod attribute;
pub(crate) mod btree1;
pub(crate) mod btree2;
pub(crate) mod cache_image;
pub(crate) mod checksum;
pub(crate) mod driver_info;
#[cfg_attr(not(test), expect(dead_code, reason = "the writer does not need all of it yet"))]
pub(crate) mod encode;
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
#[cfg_attr(not(test), expect(dead_code, reason = "the writer does not need all of it yet"))]
pub(crate) mod records;
pub(crate) mod shared;
pub(crate) mod shared_list;
pub(crate) mod superblock;
pub(crate) mod symbol_table;
pub(crate) mod virtual_map;

use model::Result;
use model::bytes::Cursor;

/// A position in the file, counted from the superblock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) struct Address(pub(crate) u64);

impl From<Address> for u64 {
    fn from(address: Address) -> u64 {
        address.0
    }
}

/// Widths of addresses and lengths, from the superblock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sizes {
    pub(crate) offset: usize,
    pub(crate) length: usize,
}

/// Fields whose width the superblock chose.
pub(crate) trait SizedFields {
    /// Returns an address; all ones is undefined.
    fn address(&mut self, sizes: Sizes) -> Result<Option<Address>>;
    /// Returns an address that must be there.
    fn defined_address(&mut self, sizes: Sizes) -> Result<Address>;
    /// Returns a length.
    fn length(&mut self, sizes: Sizes) -> Result<u64>;
    /// Returns a version byte that must be one of `allowed`.
    fn version(&mut self, allowed: std::ops::RangeInclusive<u8>) -> Result<u8>;
}

/// Returns all ones in `width` bytes.
pub(crate) fn all_ones(width: usize) -> u64 {
    u64::MAX >> (64 - 8 * width.clamp(1, 8))
}

impl SizedFields for Cursor<'_> {
    fn address(&mut self, sizes: Sizes) -> Result<Option<Address>> {
        let value = self.uint(sizes.offset)?;
        Ok((value != all_ones(sizes.offset)).then_some(Address(value)))
    }

    fn defined_address(&mut self, sizes: Sizes) -> Result<Address> {
        self.address(sizes)?.ok_or_else(|| self.corrupt("address is undefined"))
    }

    fn length(&mut self, sizes: Sizes) -> Result<u64> {
        self.uint(sizes.length)
    }

    fn version(&mut self, allowed: std::ops::RangeInclusive<u8>) -> Result<u8> {
        let version = self.u8()?;
        if allowed.contains(&version) { Ok(version) } else { Err(self.corrupt(format!("version {version}"))) }
    }
}
