//! Numbers in stored values: seven bits a byte, the lowest first.

use crate::{Error, Result};

/// Appends a number.
pub(crate) fn put(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Reads stored bytes from their begin.
#[derive(Debug)]
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    /// Returns a value that ends too early, or says what cannot be.
    pub(crate) fn corrupt() -> Error {
        Error::Corrupt("a stored value is not valid".into())
    }

    pub(crate) fn byte(&mut self) -> Result<u8> {
        let (&first, rest) = self.0.split_first().ok_or_else(Reader::corrupt)?;
        self.0 = rest;
        Ok(first)
    }

    pub(crate) fn number(&mut self) -> Result<u64> {
        let mut number = 0u64;
        for shift in (0..70).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Reader::corrupt())
    }

    /// Returns a count of things that take at least a byte each, so that no wrong number allocates much.
    pub(crate) fn count(&mut self) -> Result<usize> {
        let count = self.number()?;
        if count > self.0.len() as u64 { Err(Reader::corrupt()) } else { Ok(count as usize) }
    }

    /// Returns bytes behind their count.
    pub(crate) fn counted(&mut self) -> Result<&'a [u8]> {
        let count = self.count()?;
        let (bytes, rest) = self.0.split_at_checked(count).ok_or_else(Reader::corrupt)?;
        self.0 = rest;
        Ok(bytes)
    }

    /// Returns a checksum.
    pub(crate) fn sum(&mut self) -> Result<u32> {
        let (sum, rest) = self.0.split_first_chunk().ok_or_else(Reader::corrupt)?;
        self.0 = rest;
        Ok(u32::from_le_bytes(*sum))
    }

    /// Returns all that is left.
    pub(crate) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }
}

/// Appends runs, each as its distance from the end of the last one and its length.
pub(crate) fn put_runs(runs: &crate::runs::Runs, out: &mut Vec<u8>) {
    put(runs.as_slice().len() as u64, out);
    let mut last = 0;
    for &(start, end) in runs.as_slice() {
        put(start - last, out);
        put(end - start, out);
        last = end;
    }
}

/// Decodes runs that [`put_runs`] appended.
pub(crate) fn runs(reader: &mut Reader<'_>) -> Result<crate::runs::Runs> {
    let count = reader.count()?;
    let (mut all, mut last) = (Vec::with_capacity(count), 0u64);
    for _ in 0..count {
        let start = last.checked_add(reader.number()?).ok_or_else(Reader::corrupt)?;
        last = start.checked_add(reader.number()?).ok_or_else(Reader::corrupt)?;
        all.push((start, last));
    }
    crate::runs::Runs::from_stored(all).ok_or_else(Reader::corrupt)
}
