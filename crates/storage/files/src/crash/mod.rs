//! A layer that records what reaches the disk, and makes the files a crash could leave behind.
//!
//! The model: a `sync` makes all earlier events durable. Events after the last `sync` are pending; of them a crash
//! keeps any subset, in any order, and of a write any of its 512-byte sectors. A sector itself is never torn.

mod log;
mod sample;
mod states;

use std::io;
use std::sync::Arc;
use system::sync::{Mutex, MutexGuard};

use crate::{File, Handle, Lock, Memory, MemoryOptions, Sync};

pub use log::{CrashState, Log, SurvivingEvent, SurvivingPart};
pub use states::StatesMax;

/// A write is torn only where its addresses cross a multiple of this.
pub const SECTOR_BYTES: u64 = 512;

/// Something that changed the file, or made changes durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A write of at least one byte.
    Write {
        /// Address of the first byte.
        offset: u64,
        /// The bytes.
        data: Arc<[u8]>,
    },
    /// A change of length.
    SetLen(u64),
    /// A barrier: all earlier events are durable.
    Sync(Sync),
}

/// Records the events that succeed on the file below.
///
/// Put it directly on the driver: a [`Fault`](crate::Fault) above it then shortens writes before they are recorded,
/// whereas below it a failed write would leave bytes that the record lacks.
#[derive(Debug)]
pub struct Crash {
    inner: Handle,
    base: Arc<[u8]>,
    events: Mutex<Vec<Event>>,
}

impl Crash {
    /// Starts recording. What `inner` holds now counts as durable.
    pub fn new(inner: Handle) -> io::Result<Self> {
        let base = Memory::load(inner.clone(), MemoryOptions::default())?.image()?.into();
        Ok(Crash { inner, base, events: Mutex::default() })
    }

    /// Events so far. Note it when a promise is made: every later crash must keep that promise.
    pub fn position(&self) -> usize {
        self.events().len()
    }

    /// Returns the record so far.
    pub fn log(&self) -> Log {
        Log::new(self.base.clone(), self.events().clone())
    }

    fn events(&self) -> MutexGuard<'_, Vec<Event>> {
        self.events.lock()
    }

    /// Acts and records under one lock, so that the record has the order of the effects.
    fn record(&self, act: impl FnOnce(&Handle) -> io::Result<()>, event: Event) -> io::Result<()> {
        let mut events = self.events();
        act(&self.inner)?;
        events.push(event);
        Ok(())
    }
}

impl File for Crash {
    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.inner.read_at(offset, buf)
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        if data.is_empty() {
            return self.inner.write_at(offset, data);
        }
        self.record(|inner| inner.write_at(offset, data), Event::Write { offset, data: data.into() })
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.record(|inner| inner.set_len(len), Event::SetLen(len))
    }

    fn sync(&self, sync: Sync) -> io::Result<()> {
        self.record(|inner| inner.sync(sync), Event::Sync(sync))
    }

    fn lock(&self, lock: Lock) -> io::Result<()> {
        self.inner.lock(lock)
    }
}

#[cfg(test)]
mod tests;
