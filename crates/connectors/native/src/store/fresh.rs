//! Writes to space where nothing committed is, from many threads at once.

use std::ops::Range;

use model::{Error, Result};
use system::sync::Mutex;

use crate::format::Address;
use crate::txn::split_around;

/// Writes where nothing committed is.
pub(crate) struct FreshWrite {
    pub(super) file: files::Handle,
    pub(super) base: u64,
    /// Bytes that only a commit writes, and what is held back for it.
    pub(super) reserved: Range<u64>,
    pub(super) held: Mutex<Vec<(u64, Vec<u8>)>>,
}

impl FreshWrite {
    pub(crate) fn put(&self, at: Address, data: &[u8]) -> Result<()> {
        let at = self.base + at.0;
        let (before, held, after) = split_around(&self.reserved, at, data);
        let held_at = at + before.len() as u64;
        if !held.is_empty() {
            self.held.lock().push((held_at, held.to_vec()));
        }
        let pieces = [(at, before), (held_at + held.len() as u64, after)];
        pieces.into_iter().filter(|(_, data)| !data.is_empty()).try_for_each(|(at, data)| {
            self.file.write_at(at, data).map_err(|e| Error::io("write to file", &e))
        })
    }
}
