//! A cursor over the space of an output, for encoders that put parts one after another.

use crate::error::{Error, Origin};

/// Fills a slice from the front.
pub(crate) struct Writer<'a> {
    at: Origin,
    buffer: &'a mut [u8],
    len: usize,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(at: Origin, buffer: &'a mut [u8]) -> Self {
        Self { at, buffer, len: 0 }
    }

    /// Returns the number of bytes written so far.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let at = self.at;
        let full = || at.incompressible("result is longer than its buffer");
        self.rest().get_mut(..bytes.len()).ok_or_else(full)?.copy_from_slice(bytes);
        self.len += bytes.len();
        Ok(())
    }

    /// Writes a part whose 32-bit length stands before it. `encode` writes it and says how long it is; where it has
    /// nothing shorter, the part is `plain`.
    pub(crate) fn part(
        &mut self,
        length: fn(u32) -> [u8; 4],
        plain: &[u8],
        encode: impl FnOnce(&mut [u8]) -> Result<Option<usize>, Error>,
    ) -> Result<(), Error> {
        let start = self.len;
        self.push(&[0; 4])?;
        match encode(self.rest())? {
            Some(len) => self.len += len,
            None => self.push(plain)?,
        }
        let bytes = length((self.len - start - 4) as u32);
        self.patch(start, &bytes);
        Ok(())
    }

    /// Forgets what was written from `len` on.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Writes over what was written before.
    pub(crate) fn patch(&mut self, at: usize, bytes: &[u8]) {
        self.buffer[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn rest(&mut self) -> &mut [u8] {
        &mut self.buffer[self.len..]
    }
}
