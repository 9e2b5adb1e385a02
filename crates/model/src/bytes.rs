//! Reading and writing little-endian fields with bounds checked once.

use crate::{Error, Result};

/// A position in a byte slice. Every read says what it was reading when the bytes run out.
#[derive(Debug, Clone)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    what: &'static str,
}

impl<'a> Cursor<'a> {
    /// Returns a cursor at the start of `bytes`, which hold a `what`.
    #[inline]
    pub fn new(bytes: &'a [u8], what: &'static str) -> Self {
        Cursor { bytes, at: 0, what }
    }

    /// Returns the number of bytes consumed so far.
    #[inline]
    pub fn position(&self) -> usize {
        self.at
    }

    /// Returns the number of bytes left.
    #[inline]
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Returns the remaining bytes without consuming them.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// Returns the next `n` bytes.
    #[inline]
    pub fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        let end = self.at.checked_add(n).filter(|&end| end <= self.bytes.len());
        let end = end.ok_or_else(|| self.short(n))?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    #[cold]
    fn short(&self, n: usize) -> Error {
        Error::corrupt(format!("decode {}", self.what))
            .with("problem", "bytes run out")
            .with("offset", self.at)
            .with("need", n)
            .with("have", self.remaining())
    }

    /// Returns an error of kind `Corrupt` about this structure.
    #[cold]
    pub fn corrupt(&self, problem: impl std::fmt::Display) -> Error {
        Error::corrupt(format!("decode {}", self.what)).with("problem", problem).with("offset", self.at)
    }

    /// Skips `n` bytes.
    #[inline]
    pub fn skip(&mut self, n: usize) -> Result<()> {
        self.take(n).map(|_| ())
    }

    /// Returns the next `N` bytes as an array.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(N)?);
        Ok(out)
    }

    /// Returns one byte.
    #[inline]
    pub fn u8(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }

    /// Reads two bytes, little-endian.
    #[inline]
    pub fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_le_bytes)
    }

    /// Reads four bytes, little-endian.
    #[inline]
    pub fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// Reads eight bytes, little-endian.
    #[inline]
    pub fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// Reads `width` bytes (0 to 8), little-endian.
    #[inline]
    pub fn uint(&mut self, width: usize) -> Result<u64> {
        if width > 8 {
            return Err(self.corrupt(format!("integer of {width} bytes")));
        }
        let mut out = [0; 8];
        out[..width].copy_from_slice(self.take(width)?);
        Ok(u64::from_le_bytes(out))
    }

    /// Reads the bytes `expected`, or fails with an error that names what was there.
    pub fn signature(&mut self, expected: &[u8]) -> Result<()> {
        let found = self.take(expected.len())?;
        if found == expected {
            return Ok(());
        }
        let (want, got) =
            (String::from_utf8_lossy(expected), String::from_utf8_lossy(found).escape_debug().to_string());
        Err(self.corrupt(format!("signature is \"{got}\", not \"{want}\"")))
    }

    /// Returns bytes up to a NUL, which is consumed but not returned.
    pub fn until_nul(&mut self) -> Result<&'a [u8]> {
        let len =
            self.rest().iter().position(|&b| b == 0).ok_or_else(|| self.corrupt("text without its NUL"))?;
        let text = self.take(len)?;
        self.skip(1)?;
        Ok(text)
    }
}

/// Appending little-endian fields.
pub trait Put {
    /// Appends the `width` low bytes of `value`, little-endian.
    fn put_uint(&mut self, value: u64, width: usize);
    /// Appends zeros until the length counted from `start` is a multiple of `unit`.
    fn pad_to(&mut self, start: usize, unit: usize);
}

impl Put for Vec<u8> {
    #[inline]
    fn put_uint(&mut self, value: u64, width: usize) {
        self.extend_from_slice(&value.to_le_bytes()[..width]);
    }

    fn pad_to(&mut self, start: usize, unit: usize) {
        let used = self.len() - start;
        self.resize(start + used.next_multiple_of(unit), 0);
    }
}

/// Returns the number of bytes that an unsigned integer needs: `floor(log2 n) / 8 + 1`, and 1 for zero.
pub fn uint_width(n: u64) -> usize {
    (n.checked_ilog2().unwrap_or(0) / 8 + 1) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_follow_the_format() {
        assert_eq!([0, 255, 256, 65535, 65536].map(uint_width), [1, 1, 2, 2, 3]);
    }

    #[test]
    fn running_out_names_the_structure() {
        let e = Cursor::new(&[1, 2], "superblock").u32().unwrap_err();
        assert!(e.to_string().contains("decode superblock"));
    }
}
