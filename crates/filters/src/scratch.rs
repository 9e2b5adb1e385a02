//! Buffers that a worker uses again for each chunk, and the bytes between the stages of a pipeline.

use std::fmt;

use crate::codec::States;
use crate::error::{Error, Origin};
use crate::output::{Done, Output, at_least};
use crate::{FilterId, Size};

/// Buffers and compressor states that serve chunk after chunk. A thread that filters chunks keeps one: after
/// the first chunk no other allocates. It holds as much memory as its largest chunk asked for.
#[derive(Debug, Default)]
pub struct Scratch {
    /// The output of the last step.
    front: Vec<u8>,
    /// The output of the next step.
    back: Vec<u8>,
    codecs: Codecs,
}

impl Scratch {
    /// Returns an empty one.
    pub fn new() -> Self {
        Self::default()
    }
}

/// States of compressors, and work buffers of the filters that go block by block.
#[derive(Default)]
pub struct Codecs {
    pub(crate) states: States,
    pub(crate) work: [Vec<u8>; 4],
}

impl fmt::Debug for Codecs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Codecs").finish_non_exhaustive()
    }
}

/// Bytes on their way through a pipeline.
pub(crate) struct Flow<'a> {
    input: &'a [u8],
    scratch: &'a mut Scratch,
    /// They are in the front buffer, no longer in the input.
    moved: bool,
    len: usize,
}

impl<'a> Flow<'a> {
    pub(crate) fn new(input: &'a [u8], scratch: &'a mut Scratch) -> Self {
        Self { input, scratch, moved: false, len: input.len() }
    }

    /// Runs one filter, into the back buffer.
    pub(crate) fn step(
        &mut self,
        filter: FilterId,
        size: Size,
        run: impl FnOnce(&[u8], &mut Output<'_>, &mut Codecs) -> Result<Done, Error>,
    ) -> Result<(), Error> {
        let Scratch { front, back, codecs } = &mut *self.scratch;
        let source = if self.moved { &front[..self.len] } else { &self.input[..self.len] };
        let mut out = Output::vector(filter, size, back);
        match run(source, &mut out, codecs)? {
            Done::Written => {
                self.len = out.len();
                self.moved = true;
                std::mem::swap(front, back);
            }
            Done::Prefix(len) => self.len = self.len.min(len),
            Done::Appended(tail) => self.append(Origin(filter), &tail)?,
        }
        Ok(())
    }

    fn append(&mut self, at: Origin, tail: &[u8]) -> Result<(), Error> {
        let len = self.len + tail.len();
        let front = &mut self.scratch.front;
        if !self.moved {
            at_least(at, front, len)?[..self.len].copy_from_slice(&self.input[..self.len]);
            self.moved = true;
        } else if front.len() < len {
            front.resize(len, 0);
        }
        front[self.len..len].copy_from_slice(tail);
        self.len = len;
        Ok(())
    }

    /// Returns the last filter, into the caller's output; the length of its result, which may be above that.
    pub(crate) fn last(
        self,
        mut out: Output<'_>,
        run: impl FnOnce(&[u8], &mut Output<'_>, &mut Codecs) -> Result<Done, Error>,
    ) -> Result<usize, Error> {
        let Scratch { front, codecs, .. } = self.scratch;
        let source = if self.moved { &front[..self.len] } else { &self.input[..self.len] };
        run(source, &mut out, codecs)?.deliver(source, &mut out)?;
        Ok(out.finish())
    }

    /// Puts the bytes at the start of `out`, in exchange for its space; how many they are.
    pub(crate) fn swap_into(self, out: &mut Vec<u8>) -> usize {
        match self.moved {
            true => std::mem::swap(&mut self.scratch.front, out),
            false => {
                out.clear();
                out.extend_from_slice(&self.input[..self.len]);
            }
        }
        self.len
    }

    /// Returns the bytes out of the scratch, or `None` and the length when they are still the input's.
    pub(crate) fn take(self) -> (Option<Vec<u8>>, usize) {
        let bytes = self.moved.then(|| std::mem::take(&mut self.scratch.front));
        (bytes, self.len)
    }
}
