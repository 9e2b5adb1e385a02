//! The length of encoded values that C passes without it.
//!
//! No byte is looked at that the ones before it do not announce.

use crate::arguments::Values;
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};

/// Encoded values are at most this long.
const BYTES_MAX: usize = 1 << 30;

/// Types may nest this deep.
const DEPTH_MAX: u32 = 64;

/// A position in bytes whose end is not known.
#[derive(Debug)]
pub(crate) struct Announced {
    bytes: Values<u8>,
    at: usize,
}

impl Announced {
    /// Returns the position at the start of `bytes`.
    pub(crate) fn new(bytes: Values<u8>) -> Self {
        Announced { bytes, at: 0 }
    }

    /// Returns the next `count` bytes.
    pub(crate) fn take<'a>(&mut self, count: usize) -> Fallible<&'a [u8]> {
        let start = self.at;
        self.at = start.checked_add(count).filter(|end| *end <= BYTES_MAX).ok_or_else(broken)?;
        Ok(&self.bytes.required(self.at, "buf")?[start..])
    }

    /// Returns a little-endian number of up to eight bytes.
    pub(crate) fn number(&mut self, width: usize) -> Fallible<u64> {
        Ok(self.take(width)?.iter().rev().fold(0, |n, byte| n << 8 | u64::from(*byte)))
    }

    /// Passes over `count` items of `each` bytes.
    pub(crate) fn skip(&mut self, count: u64, each: u64) -> Fallible<()> {
        let bytes = count.checked_mul(each).and_then(|bytes| usize::try_from(bytes).ok());
        self.take(bytes.ok_or_else(broken)?).map(drop)
    }

    /// Returns everything up to here.
    pub(crate) fn all<'a>(&self) -> Fallible<&'a [u8]> {
        self.bytes.required(self.at, "buf")
    }

    fn skip_name(&mut self, version: u8) -> Fallible<()> {
        let start = self.at;
        while self.take(1)? != [0] {}
        let used = self.at - start;
        let padding = if version < 3 { used.next_multiple_of(8) - used } else { 0 };
        self.take(padding).map(drop)
    }

    /// Passes over a datatype message (format spec IV.A.2.d).
    fn skip_datatype(&mut self, depth: u32) -> Fallible<()> {
        let depth = depth.checked_sub(1).ok_or_else(broken)?;
        let (first, flags, size) = (self.number(1)? as u8, self.number(3)?, self.number(4)?);
        let version = first >> 4;
        match first & 15 {
            0 | 4 => self.take(4).map(drop),
            1 => self.take(12).map(drop),
            2 => self.take(2).map(drop),
            3 | 7 => Ok(()),
            5 => self.skip(flags & 0xff, 1),
            6 => self.skip_members(version, flags & 0xffff, size, depth),
            8 => {
                self.skip_datatype(depth)?;
                (0..flags & 0xffff).try_for_each(|_| self.skip_name(version))?;
                self.skip(flags & 0xffff, size)
            }
            9 | 11 => self.skip_datatype(depth),
            10 => {
                let rank = self.number(1)?;
                self.skip(if version == 2 { 3 + 8 * rank } else { 4 * rank }, 1)?;
                self.skip_datatype(depth)
            }
            _ => Err(broken()),
        }
    }

    fn skip_members(&mut self, version: u8, count: u64, size: u64, depth: u32) -> Fallible<()> {
        let offset_bytes = match version {
            1 => 32,
            2 => 4,
            // As many bytes as the size of the compound takes.
            _ => u64::from((64 - size.leading_zeros()).div_ceil(8).max(1)),
        };
        for _ in 0..count {
            self.skip_name(version)?;
            self.skip(offset_bytes, 1)?;
            self.skip_datatype(depth)?;
        }
        Ok(())
    }
}

fn broken() -> Failure {
    Failure::new(Major::DATATYPE, Minor::CANTDECODE, "can't decode object")
}

/// Returns the bytes of an encoded datatype.
pub(super) fn encoded_datatype<'a>(bytes: Values<u8>) -> Fallible<&'a [u8]> {
    let mut announced = Announced::new(bytes);
    announced.take(2)?;
    announced.skip_datatype(DEPTH_MAX)?;
    announced.all()
}
