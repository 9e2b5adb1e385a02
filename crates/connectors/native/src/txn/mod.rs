//! Changes to a file: staged, then committed as one.
//!
//! Bytes that were free at the last commit are *fresh*: writes to them go straight to the file, many small ones
//! after each other as one, since nothing that was committed is there. All other writes are staged in memory. A commit makes them one:
//!
//! 1. sync, so that fresh bytes are there before anything points to them;
//! 2. write the redo record past the end of the file, with every staged byte and the superblock; sync;
//! 3. publish: the superblock first (an end that is too large hurts no reader, one that is too small does), then the rest; sync;
//! 4. cut the record off.
//!
//! Until step 2 is durable the last commit stands; from then on the record is replayed when the file is opened.

pub(crate) mod redo;

use std::collections::BTreeMap;

use files::Handle;
use model::{Error, Result};
use vol::Durability;

use redo::{Entry, Redo};

/// Where the file's own description of itself goes.
#[derive(Debug, Clone)]
pub(crate) struct Publish<'a> {
    /// Offset of the superblock.
    pub(crate) superblock_at: u64,
    /// The superblock as it shall be.
    pub(crate) superblock: &'a [u8],
    /// End of the file as it shall be.
    pub(crate) end: u64,
}

/// The changes since the last commit. Offsets count from the start of the file.
#[derive(Debug)]
pub(crate) struct Txn {
    file: Handle,
    /// Ranges that were free at the last commit, by start; they do not touch.
    fresh: BTreeMap<u64, u64>,
    /// Staged bytes by offset; they do not overlap.
    staged: BTreeMap<u64, Vec<u8>>,
    /// Fresh bytes that are not in the file yet, and where they start.
    buffer: (u64, Vec<u8>),
    /// The last commit rests on its record, which must stay until what it published is synced.
    unsettled: bool,
}

/// Fresh bytes that are written at once.
const BUFFER_BYTES: usize = 256 << 10;
/// Unused bytes between two things that still are written at once.
const GAP_BYTES_MAX: u64 = 8;

fn io<T>(result: std::io::Result<T>, operation: &str) -> Result<T> {
    result.map_err(|e| Error::io(operation, &e))
}

impl Txn {
    /// No changes yet; everything from `end` on is free.
    pub(crate) fn new(file: Handle, end: u64) -> Self {
        Txn {
            file,
            fresh: BTreeMap::from([(end, u64::MAX)]),
            staged: BTreeMap::new(),
            buffer: (0, Vec::new()),
            unsettled: false,
        }
    }

    /// A range inside the file that was free at the last commit.
    pub(crate) fn add_fresh(&mut self, start: u64, end: u64) {
        let before = self.fresh.range(..=end).rev();
        let touching: Vec<u64> = before.take_while(|&(_, &e)| e >= start).map(|(&s, _)| s).collect();
        let (mut low, mut high) = (start, end);
        for s in touching {
            let e = self.fresh.remove(&s).unwrap_or(s);
            (low, high) = (low.min(s), high.max(e));
        }
        self.fresh.insert(low, high);
    }

    fn is_fresh(&self, start: u64, len: u64) -> bool {
        let found = self.fresh.range(..=start).next_back();
        found.is_some_and(|(_, &end)| start.checked_add(len).is_some_and(|stop| stop <= end))
    }

    /// Writes bytes: at once where nothing committed is, else at the next commit.
    pub(crate) fn write(&mut self, at: u64, data: &[u8]) -> Result<()> {
        if data.is_empty() {
            return Ok(());
        }
        if self.is_fresh(at, data.len() as u64) { self.write_fresh(at, data) } else { self.stage(at, data) }
    }

    fn write_fresh(&mut self, at: u64, data: &[u8]) -> Result<()> {
        let (start, bytes) = &mut self.buffer;
        let end = *start + bytes.len() as u64;
        // What lies between two new objects belongs to nobody.
        let follows = (end..=end + GAP_BYTES_MAX).contains(&at) && !bytes.is_empty();
        if data.len() < BUFFER_BYTES && follows && self.is_fresh(end, at - end) {
            let (start, bytes) = &mut self.buffer;
            bytes.resize((at - *start) as usize, 0);
            bytes.extend_from_slice(data);
        } else {
            self.flush()?;
            if data.len() >= BUFFER_BYTES {
                self.settle()?;
                return io(self.file.write_at(at, data), "write to file");
            }
            self.buffer = (at, data.to_vec());
        }
        if self.buffer.1.len() >= BUFFER_BYTES { self.flush() } else { Ok(()) }
    }

    /// Writes what waits in the buffer. On an error it waits on.
    fn flush(&mut self) -> Result<()> {
        if self.buffer.1.is_empty() {
            return Ok(());
        }
        self.settle()?;
        io(self.file.write_at(self.buffer.0, &self.buffer.1), "write to file")?;
        self.buffer.1.clear();
        Ok(())
    }

    /// Keeps bytes for the commit. What was staged there before is replaced; its rest stays.
    fn stage(&mut self, at: u64, data: &[u8]) -> Result<()> {
        let end = at
            .checked_add(data.len() as u64)
            .ok_or_else(|| Error::limit("write to file").with("offset", at))?;
        let before = self.staged.range(..end).rev();
        let overlapping: Vec<u64> =
            before.take_while(|(s, d)| *s + d.len() as u64 > at).map(|(&s, _)| s).collect();
        for start in overlapping {
            let old = self.staged.remove(&start).unwrap_or_default();
            let old_end = start + old.len() as u64;
            if start < at {
                self.staged.insert(start, old[..(at - start) as usize].to_vec());
            }
            if old_end > end {
                self.staged.insert(end, old[(end - start) as usize..].to_vec());
            }
        }
        self.staged.insert(at, data.to_vec());
        Ok(())
    }

    /// Puts bytes that are not in the file yet over what was read from it at `at`.
    pub(crate) fn overlay(&self, at: u64, into: &mut [u8]) {
        let end = at.saturating_add(into.len() as u64);
        let mut put = |start: u64, data: &[u8]| {
            let (from, to) = (start.max(at), (start + data.len() as u64).min(end));
            if from < to {
                let source = &data[(from - start) as usize..(to - start) as usize];
                into[(from - at) as usize..(to - at) as usize].copy_from_slice(source);
            }
        };
        put(self.buffer.0, &self.buffer.1);
        let before = self.staged.range(..end).rev();
        before.take_while(|(s, d)| *s + d.len() as u64 > at).for_each(|(&start, data)| put(start, data));
    }

    /// Bytes that wait for the commit.
    #[cfg(test)]
    pub(crate) fn staged_bytes(&self) -> u64 {
        self.staged.values().map(|d| d.len() as u64).sum()
    }

    /// Makes all changes since the last commit one. On an error the last commit stands, and the changes wait.
    pub(crate) fn commit(&mut self, publish: &Publish<'_>, durability: Durability) -> Result<()> {
        self.flush()?;
        let redo = self.redo(publish)?;
        if durability != Durability::None {
            self.sync()?;
            self.unsettled = false;
        }
        redo.store(&self.file)?;
        if durability != Durability::None {
            self.sync()?;
        }
        redo.publish(&self.file)?;
        match durability {
            Durability::Full => {
                self.sync()?;
                // Only now is the record superfluous; without the sync it is what makes the commit last.
                io(self.file.set_len(publish.end), "cut off redo record")?;
            }
            Durability::Ordered => self.unsettled = true,
            Durability::None => io(self.file.set_len(publish.end), "cut off redo record")?,
        }
        self.staged.clear();
        self.fresh = BTreeMap::from([(publish.end, u64::MAX)]);
        Ok(())
    }

    /// Syncs what the last commit published before anything is written over its record.
    fn settle(&mut self) -> Result<()> {
        if std::mem::take(&mut self.unsettled) { self.sync() } else { Ok(()) }
    }

    fn redo(&self, publish: &Publish<'_>) -> Result<Redo> {
        let superblock = Entry { at: publish.superblock_at, data: publish.superblock.to_vec() };
        let others = self.staged.iter().map(|(&at, data)| Entry { at, data: data.clone() });
        // The superblock's own bytes come from the publisher, not from what else was staged over them.
        let entries: Vec<Entry> = std::iter::once(superblock).chain(others).collect();
        Redo::new(&self.file, entries, publish.end)
    }

    fn sync(&self) -> Result<()> {
        io(self.file.sync(files::Sync::Data), "sync file")
    }
}

#[cfg(test)]
mod tests;
