//! Reading bytes that anybody may have sent.

use model::bytes::Cursor;
use model::{Error, Result};

use super::DEPTH_MAX;

/// A place in bytes.
#[derive(Debug)]
pub struct Reader<'a> {
    cursor: Cursor<'a>,
    depth: u32,
}

impl<'a> Reader<'a> {
    /// Returns the start of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader { cursor: Cursor::new(bytes, "message"), depth: 0 }
    }

    /// Returns the number of bytes left.
    pub fn remaining(&self) -> usize {
        self.cursor.remaining()
    }

    /// Returns the next `count` bytes.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        self.cursor.take(count)
    }

    /// Returns the next `N` bytes.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        self.cursor.array()
    }

    /// Returns one byte.
    pub fn u8(&mut self) -> Result<u8> {
        self.cursor.u8()
    }

    /// Returns how many items follow, each of at least `item_bytes`.
    pub fn count(&mut self, item_bytes: usize) -> Result<usize> {
        let count = u32::from_le_bytes(self.array()?) as usize;
        match count.checked_mul(item_bytes.max(1)) {
            Some(bytes) if bytes <= self.remaining() => Ok(count),
            _ => Err(self
                .corrupt("more items than bytes")
                .with("items", count)
                .with("bytes", self.remaining())),
        }
    }

    /// Reads text without copying it.
    pub fn text(&mut self) -> Result<&'a str> {
        let count = self.count(1)?;
        let bytes = self.take(count)?;
        std::str::from_utf8(bytes).map_err(|_| self.corrupt("text that is not UTF-8"))
    }

    /// Returns one level deeper, for values that hold values of their own kind.
    pub fn nested<T>(&mut self, get: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= DEPTH_MAX {
            return Err(Error::limit("decode message")
                .with("problem", "nested too deeply")
                .with("limit", DEPTH_MAX));
        }
        self.depth += 1;
        let value = get(self);
        self.depth -= 1;
        value
    }

    /// Returns an error where bytes are left.
    pub fn finish(&self) -> Result<()> {
        match self.remaining() {
            0 => Ok(()),
            left => Err(self.corrupt("bytes are left").with("bytes", left)),
        }
    }

    /// Returns an error about these bytes.
    #[cold]
    pub fn corrupt(&self, problem: &str) -> Error {
        self.cursor.corrupt(problem)
    }

    #[cold]
    pub(super) fn unknown(&self, what: &'static str, tag: u8) -> Error {
        self.corrupt("unknown choice").with("of", what).with("tag", tag)
    }
}
