//! Bytes of objects.

use std::collections::VecDeque;
use std::sync::Arc;

use super::calls::rados_aio_read;
use super::{Code, Completion, Names, text};

/// Bytes to read from one object.
#[derive(Debug)]
pub(in crate::rados) struct Read<'a> {
    pub(in crate::rados) name: String,
    pub(in crate::rados) offset: u64,
    pub(in crate::rados) into: &'a mut [u8],
}

impl Names {
    /// Reads many pieces, `at_once` in flight, and answers for each how many bytes came, or why none.
    pub(in crate::rados) fn read(
        self: &Arc<Names>,
        reads: &mut [Read<'_>],
        at_once: usize,
    ) -> Result<Vec<Code>, Code> {
        let mut codes = Vec::with_capacity(reads.len());
        let mut flying: VecDeque<Completion> = VecDeque::new();
        for read in reads {
            if flying.len() >= at_once {
                codes.extend(flying.pop_front().map(|completion| completion.wait()));
            }
            let name = text(&read.name)?;
            let completion = Completion::new(self)?;
            let (into, length) = (read.into.as_mut_ptr(), read.into.len());
            // SAFETY: the buffer is borrowed until this returns, and `flying` waits for all when it goes.
            let code = unsafe {
                rados_aio_read(self.io, name.as_ptr(), completion.handle, into, length, read.offset)
            };
            if code < 0 {
                return Err(completion.abandon(code));
            }
            flying.push_back(completion);
        }
        codes.extend(flying.into_iter().map(|completion| completion.wait()));
        Ok(codes)
    }
}
