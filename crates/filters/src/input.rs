//! A cursor over untrusted bytes that names the filter when they run out.

use crate::error::{Error, Origin};

/// Reads numbers and runs of bytes from the front of a slice.
#[derive(Debug, Clone)]
pub(crate) struct Input<'a> {
    at: Origin,
    rest: &'a [u8],
}

impl<'a> Input<'a> {
    pub(crate) fn new(at: Origin, bytes: &'a [u8]) -> Self {
        Self { at, rest: bytes }
    }

    /// Returns what has not been read yet.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], Error> {
        let (head, tail) =
            self.rest.split_at_checked(len).ok_or_else(|| self.at.corrupt("input ends too early"))?;
        self.rest = tail;
        Ok(head)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let (head, tail) =
            self.rest.split_first_chunk::<N>().ok_or_else(|| self.at.corrupt("input ends too early"))?;
        self.rest = tail;
        Ok(*head)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Error> {
        Ok(self.array::<1>()?[0])
    }

    pub(crate) fn u32_le(&mut self) -> Result<u32, Error> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(crate) fn u32_be(&mut self) -> Result<u32, Error> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    pub(crate) fn u64_be(&mut self) -> Result<u64, Error> {
        Ok(u64::from_be_bytes(self.array()?))
    }
}
