//! The output of a filter: the caller's own slice, or a vector that is used for one chunk after another.

use crate::error::{Error, Origin};
use crate::{FilterId, Size};

/// Space past the expected size: a few checksums of earlier stages, without a second attempt.
const SLACK_BYTES: usize = 64;
const ATTEMPT_BYTES_MIN: usize = 256;

/// The output of a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// The result is in the [`Output`].
    Written,
    /// The result is this many bytes at the front of the input; nothing was copied.
    Prefix(usize),
    /// The result is the input and these bytes after it; nothing was copied.
    Appended([u8; 4]),
}

impl Done {
    /// Makes [`Done::Written`] of the other two.
    pub(crate) fn deliver(self, input: &[u8], out: &mut Output<'_>) -> Result<(), Error> {
        match self {
            Self::Written => {}
            Self::Prefix(len) => {
                let kept = &input[..len.min(input.len())];
                out.buffer(kept.len())?.copy_from_slice(kept);
            }
            Self::Appended(tail) => {
                let buffer = out.buffer(input.len() + tail.len())?;
                buffer[..input.len()].copy_from_slice(input);
                buffer[input.len()..].copy_from_slice(&tail);
            }
        }
        Ok(())
    }
}

/// Takes the result of one filter. Its space holds bytes of earlier chunks until they are overwritten.
#[derive(Debug)]
pub struct Output<'a> {
    at: Origin,
    size: Size,
    target: Target<'a>,
    /// Bytes that were handed out.
    capacity: usize,
    /// Bytes of the result.
    len: usize,
}

#[derive(Debug)]
enum Target<'a> {
    /// `spill` takes a result that is longer than the slice.
    Slice { slice: &'a mut [u8], spill: Vec<u8> },
    /// Its length is what was ever needed: growing alone writes zeros.
    Vector(&'a mut Vec<u8>),
}

impl<'a> Output<'a> {
    pub(crate) fn slice(filter: FilterId, size: Size, slice: &'a mut [u8]) -> Self {
        let target = Target::Slice { slice, spill: Vec::new() };
        Self { at: Origin(filter), size, target, capacity: 0, len: 0 }
    }

    pub(crate) fn vector(filter: FilterId, size: Size, vector: &'a mut Vec<u8>) -> Self {
        Self { at: Origin(filter), size, target: Target::Vector(vector), capacity: 0, len: 0 }
    }

    /// Returns how long the result may be.
    pub fn size(&self) -> Size {
        self.size
    }

    /// Returns the number of bytes of the result.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns a buffer for a result of `len` bytes; what an earlier call gave is lost. The filter overwrites all of it, or
    /// says with [`Output::truncate`] how much.
    pub fn buffer(&mut self, len: usize) -> Result<&mut [u8], Error> {
        self.at.within(len as u64, self.size.max)?;
        (self.capacity, self.len) = (len, len);
        let vector = match &mut self.target {
            Target::Slice { slice, .. } if len <= slice.len() => return Ok(&mut slice[..len]),
            Target::Slice { spill, .. } => spill,
            Target::Vector(vector) => vector,
        };
        at_least(self.at, vector, len)
    }

    /// Shortens the result to the first `len` bytes of the buffer.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Takes a result that has a vector of its own.
    pub fn put(&mut self, bytes: Vec<u8>) -> Result<Done, Error> {
        self.len = self.at.within(bytes.len() as u64, self.size.max)?;
        match &mut self.target {
            Target::Slice { slice, .. } if bytes.len() <= slice.len() => {
                self.capacity = bytes.len();
                slice[..bytes.len()].copy_from_slice(&bytes);
            }
            Target::Slice { spill, .. } => {
                self.capacity = bytes.len();
                *spill = bytes;
            }
            Target::Vector(vector) => **vector = bytes,
        }
        Ok(Done::Written)
    }

    /// Runs a decoder that learns the size of its result only at the end, with larger and larger buffers until the
    /// result fits. `decode` returns `None` if its buffer is too short.
    pub fn fill(
        &mut self,
        mut decode: impl FnMut(&mut [u8]) -> Result<Option<usize>, Error>,
    ) -> Result<Done, Error> {
        let max = self.size.max;
        let mut capacity = self.first_capacity();
        loop {
            if let Some(len) = decode(self.buffer(capacity)?)? {
                self.truncate(len);
                return Ok(Done::Written);
            }
            if capacity == max {
                return Err(self.at.limit(max as u64 + 1, max));
            }
            capacity = capacity.saturating_mul(2).max(ATTEMPT_BYTES_MIN).min(max);
        }
    }

    fn first_capacity(&self) -> usize {
        let capacity = match &self.target {
            Target::Slice { slice, .. } => slice.len(),
            Target::Vector(_) => self.size.expected().saturating_add(SLACK_BYTES),
        };
        capacity.min(self.size.max)
    }

    /// Cuts a result that is longer than the slice; the length it had.
    pub(crate) fn finish(self) -> usize {
        if let Target::Slice { slice, spill } = self.target
            && self.capacity > slice.len()
        {
            let len = self.len.min(slice.len());
            slice[..len].copy_from_slice(&spill[..len]);
        }
        self.len
    }
}

/// Returns the first `len` bytes of a vector that grows when it must. They hold anything.
pub(crate) fn at_least(at: Origin, vector: &mut Vec<u8>, len: usize) -> Result<&mut [u8], Error> {
    if vector.len() < len {
        // Dropped first: what it held needs no copy, and both at once no memory.
        *vector = Vec::new();
        *vector = at.zeroed(len)?;
    }
    Ok(&mut vector[..len])
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size { hint: 4, max: 1000 };

    #[test]
    fn longer_result_is_cut_to_the_slice() {
        let mut slice = [0; 4];
        let mut out = Output::slice(1, SIZE, &mut slice);
        out.buffer(6).unwrap().copy_from_slice(&[1, 2, 3, 4, 5, 6]);
        assert_eq!(out.finish(), 6);
        assert_eq!(slice, [1, 2, 3, 4]);
    }

    #[test]
    fn truncated_spill_reaches_the_slice() {
        let mut slice = [9; 4];
        let mut out = Output::slice(1, SIZE, &mut slice);
        out.buffer(6).unwrap().copy_from_slice(&[1, 2, 3, 4, 5, 6]);
        out.truncate(3);
        assert_eq!(out.finish(), 3);
        assert_eq!(slice, [1, 2, 3, 9]);
    }

    #[test]
    fn fill_grows_to_the_limit_and_no_further() {
        let mut vector = Vec::new();
        let mut buffers = Vec::new();
        let mut out = Output::vector(1, SIZE, &mut vector);
        let error = out
            .fill(|buffer| {
                buffers.push(buffer.len());
                Ok(None)
            })
            .unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::Limit);
        assert_eq!(buffers, [68, 256, 512, 1000]);
    }

    #[test]
    fn put_after_buffer_wins() {
        let mut slice = [0; 2];
        let mut out = Output::slice(1, SIZE, &mut slice);
        out.buffer(6).unwrap().fill(7);
        out.put(vec![1, 2]).unwrap();
        assert_eq!(out.finish(), 2);
        assert_eq!(slice, [1, 2]);
    }
}
