//! Room for bulk: used again by the operations of one connection, bounded for all of them together.

use std::io::{self, Read};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use crate::lock;

/// Buffers that a connection keeps, and the bytes of one of them.
const KEPT_MAX: usize = 4;
const KEPT_BYTES_MAX: usize = 4 << 20;
/// Room grows with the bytes that came.
const STEP_BYTES: usize = 1 << 20;

/// Buffers of one connection.
#[derive(Debug, Default)]
pub(crate) struct Buffers(Vec<Vec<u8>>);

impl Buffers {
    /// A buffer of at least so many bytes, whatever is in them.
    pub(crate) fn take(&mut self, bytes: usize) -> Vec<u8> {
        let mut buffer = self.0.pop().unwrap_or_default();
        if buffer.is_empty() && bytes > 0 {
            // Zeroed pages come from the system when they are first used.
            buffer = vec![0; bytes];
        } else if buffer.len() < bytes {
            buffer.resize(bytes, 0);
        }
        buffer
    }

    /// A buffer that holds the next `bytes`; more than was sent before gets room as it comes.
    pub(crate) fn receive(&mut self, from: &mut impl Read, bytes: usize) -> io::Result<Vec<u8>> {
        let mut buffer = self.0.pop().unwrap_or_default();
        let mut have = 0;
        while have < bytes {
            let end = bytes.min(have + STEP_BYTES).max(bytes.min(buffer.len()));
            if buffer.len() < end {
                buffer.resize(end, 0);
            }
            from.read_exact(&mut buffer[have..end])?;
            have = end;
        }
        Ok(buffer)
    }

    /// For the next operation.
    pub(crate) fn give(&mut self, buffer: Vec<u8>) {
        if self.0.len() < KEPT_MAX && buffer.len() <= KEPT_BYTES_MAX {
            self.0.push(buffer);
        }
    }
}

/// Bytes that all operations together may use.
#[derive(Debug)]
pub(crate) struct Budget {
    left: Mutex<u64>,
    more: Condvar,
}

/// A part of the budget, until it is dropped.
#[derive(Debug)]
pub(crate) struct Share<'a> {
    budget: &'a Budget,
    bytes: u64,
}

/// Operations up to so many bytes are not counted: connections are.
const UNCOUNTED_BYTES: u64 = 64 << 10;

impl Budget {
    pub(crate) fn new(bytes: u64) -> Self {
        Budget { left: Mutex::new(bytes), more: Condvar::new() }
    }

    /// Waits for room, for `patience` at most.
    pub(crate) fn share(&self, bytes: u64, patience: Duration) -> Option<Share<'_>> {
        if bytes <= UNCOUNTED_BYTES {
            return Some(Share { budget: self, bytes: 0 });
        }
        let left = lock(&self.left);
        let waited = self.more.wait_timeout_while(left, patience, |left| *left < bytes);
        let (mut left, _) = waited.unwrap_or_else(std::sync::PoisonError::into_inner);
        let rest = left.checked_sub(bytes)?;
        *left = rest;
        Some(Share { budget: self, bytes })
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        if self.bytes > 0 {
            *lock(&self.budget.left) += self.bytes;
            self.budget.more.notify_all();
        }
    }
}
