//! A file in memory: images in and out, and optionally a backing file that follows at `sync` and at drop.

use std::collections::BTreeSet;
use std::io;

use system::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::{File, Handle, Identity, Lock, Sync, read_end, read_only, write_end};

/// Granularity at which a backing file is brought up to date.
const DIRTY_BLOCK_BYTES: u64 = 64 * 1024;

/// What a [`Memory`] file may do.
#[derive(Clone, Debug)]
pub struct MemoryOptions {
    /// Memory is reserved in multiples of this.
    pub increment_bytes: u64,
    /// Longer files fail with `FileTooLarge`: one stray offset must not eat the machine's memory.
    pub bytes_max: u64,
    /// Where contents go at `sync` and at drop; also what `lock` locks.
    pub backing: Option<Handle>,
    /// Whether writes fail with `PermissionDenied`.
    pub read_only: bool,
}

impl Default for MemoryOptions {
    /// Returns the defaults: 64 KiB increments, at most 4 GiB, no backing file, writable.
    fn default() -> Self {
        MemoryOptions { increment_bytes: 64 * 1024, bytes_max: 1 << 32, backing: None, read_only: false }
    }
}

/// A file in memory.
///
/// Reads run in parallel; a write waits for them. Without a backing file `sync` and `lock` have nothing to do:
/// no other caller can open it.
#[derive(Debug)]
pub struct Memory {
    state: RwLock<MemoryState>,
    options: MemoryOptions,
}

struct MemoryState {
    bytes: Vec<u8>,
    /// Blocks that the backing file lacks; stays empty without one.
    dirty: BTreeSet<u64>,
    len_changed: bool,
}

impl Memory {
    /// Returns an empty file with default options.
    pub fn new() -> Self {
        Self::from_image(Vec::new())
    }

    /// Returns a file with the given contents. The length limit is raised to fit them.
    pub fn from_image(image: Vec<u8>) -> Self {
        Self::with_options(image, MemoryOptions::default())
    }

    /// Returns a file with the given contents and options. A backing file is taken to hold `image` already.
    pub fn with_options(image: Vec<u8>, mut options: MemoryOptions) -> Self {
        options.bytes_max = options.bytes_max.max(image.len() as u64);
        let state = MemoryState { bytes: image, dirty: BTreeSet::new(), len_changed: false };
        Memory { state: RwLock::new(state), options }
    }

    /// Loads the file at `path`; what is written goes back there at `sync` and at drop.
    pub fn open(path: impl AsRef<std::path::Path>, mode: crate::Mode) -> io::Result<Self> {
        let backing: Handle = std::sync::Arc::new(crate::Posix::open(path, mode)?);
        let options = MemoryOptions { read_only: !mode.is_writable(), ..MemoryOptions::default() };
        Self::load(backing, options)
    }

    /// Loads all of `backing`, which stays the backing file. Fails with `FileTooLarge` past `options.bytes_max`.
    pub fn load(backing: Handle, mut options: MemoryOptions) -> io::Result<Self> {
        let mut image = Vec::new();
        grow(&mut image, backing.len()?, &options)?;
        backing.read_at(0, &mut image)?;
        options.backing = Some(backing);
        Ok(Self::with_options(image, options))
    }

    /// Copies all of `file` into memory; changes do not go back. Fails with `FileTooLarge` past `options.bytes_max`.
    pub fn copy_of(file: &Handle, options: MemoryOptions) -> io::Result<Self> {
        let mut image = Vec::new();
        grow(&mut image, file.len()?, &options)?;
        file.read_at(0, &mut image)?;
        Ok(Self::with_options(image, options))
    }

    /// Returns a copy of the contents.
    pub fn image(&self) -> io::Result<Vec<u8>> {
        let state = self.read();
        let mut image = Vec::new();
        image.try_reserve_exact(state.bytes.len())?;
        image.extend_from_slice(&state.bytes);
        Ok(image)
    }

    /// Returns the contents, without a copy. A backing file is brought up to date first.
    pub fn into_image(self) -> io::Result<Vec<u8>> {
        self.write_back()?;
        Ok(std::mem::take(&mut self.write().bytes))
    }

    fn read(&self) -> RwLockReadGuard<'_, MemoryState> {
        self.state.read()
    }

    fn write(&self) -> RwLockWriteGuard<'_, MemoryState> {
        self.state.write()
    }

    fn check_writable(&self) -> io::Result<()> {
        if self.options.read_only { Err(read_only()) } else { Ok(()) }
    }

    /// Brings the backing file up to date. What could not be written stays marked, so a later call tries again.
    fn write_back(&self) -> io::Result<()> {
        let Some(backing) = &self.options.backing else { return Ok(()) };
        let mut state = self.write();
        if state.len_changed {
            backing.set_len(state.bytes.len() as u64)?;
            state.len_changed = false;
        }
        while let Some(&first) = state.dirty.first() {
            let last = run_end(&state.dirty, first);
            state.write_blocks(backing, first, last)?;
            state.dirty = state.dirty.split_off(&last);
        }
        Ok(())
    }
}

impl MemoryState {
    /// Marks `[start, end)` as missing from the backing file.
    fn touch(&mut self, start: u64, end: u64) {
        self.dirty.extend(start / DIRTY_BLOCK_BYTES..end.div_ceil(DIRTY_BLOCK_BYTES));
    }

    fn write_blocks(&self, backing: &Handle, first: u64, last: u64) -> io::Result<()> {
        let start = first.saturating_mul(DIRTY_BLOCK_BYTES);
        let end = last.saturating_mul(DIRTY_BLOCK_BYTES).min(self.bytes.len() as u64);
        match self.bytes.get(start as usize..end as usize) {
            Some(run) => backing.write_at(start, run),
            None => Ok(()), // cut off since it was written
        }
    }
}

/// Returns one past the last block of the run of consecutive blocks that starts at `first`.
fn run_end(dirty: &BTreeSet<u64>, first: u64) -> u64 {
    let mut blocks = dirty.range(first..).zip(first..);
    let gap = blocks.find(|(block, expected)| *block != expected);
    gap.map_or_else(|| dirty.last().map_or(first, |last| last + 1), |(_, expected)| expected)
}

/// Extends `bytes` with zeros to `len`, reserving whole increments.
fn grow(bytes: &mut Vec<u8>, len: u64, options: &MemoryOptions) -> io::Result<()> {
    if len > options.bytes_max {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let increment = options.increment_bytes.max(1);
    let capacity = len.checked_next_multiple_of(increment).unwrap_or(len).min(options.bytes_max);
    let len = usize::try_from(len).map_err(|_| io::ErrorKind::FileTooLarge)?;
    let capacity = usize::try_from(capacity).unwrap_or(len);
    if capacity > bytes.capacity() {
        // At least half as much again, so that many small appends do not copy the file each time.
        let comfortable = capacity.max(bytes.capacity().saturating_add(bytes.capacity() / 2));
        bytes.try_reserve_exact(comfortable.saturating_sub(bytes.len()))?;
    }
    bytes.resize(len, 0);
    Ok(())
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Memory {
    /// An error here has nowhere to go; call `sync` first to see it.
    fn drop(&mut self) {
        let _ = self.write_back();
    }
}

impl std::fmt::Debug for MemoryState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryState")
            .field("len", &self.bytes.len())
            .field("dirty", &self.dirty.len())
            .finish()
    }
}

impl File for Memory {
    fn len(&self) -> io::Result<u64> {
        Ok(self.read().bytes.len() as u64)
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        if buf.is_empty() {
            return Ok(());
        }
        let end = read_end(offset, buf.len())?;
        let state = self.read();
        if end > state.bytes.len() as u64 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        buf.copy_from_slice(&state.bytes[offset as usize..end as usize]);
        Ok(())
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.check_writable()?;
        if data.is_empty() {
            return Ok(());
        }
        let end = write_end(offset, data.len())?;
        let mut state = self.write();
        let old_len = state.bytes.len() as u64;
        if end > old_len {
            grow(&mut state.bytes, end, &self.options)?;
            state.len_changed = true;
        }
        state.bytes[offset as usize..end as usize].copy_from_slice(data);
        if self.options.backing.is_some() {
            state.touch(offset, end);
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.check_writable()?;
        let mut state = self.write();
        let old_len = state.bytes.len() as u64;
        if len < old_len {
            state.bytes.truncate(len as usize);
        } else {
            grow(&mut state.bytes, len, &self.options)?;
        }
        if self.options.backing.is_some() {
            // The backing file may still hold old bytes where a cut and a growth left zeros.
            state.touch(len.min(old_len), len.max(old_len));
        }
        state.len_changed = true;
        Ok(())
    }

    fn sync(&self, sync: Sync) -> io::Result<()> {
        self.write_back()?;
        self.options.backing.as_ref().map_or(Ok(()), |backing| backing.sync(sync))
    }

    fn lock(&self, lock: Lock) -> io::Result<()> {
        self.options.backing.as_ref().map_or(Ok(()), |backing| backing.lock(lock))
    }

    fn identity(&self) -> Option<Identity> {
        self.options.backing.as_ref()?.identity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::ErrorKind;
    use std::sync::Arc;

    #[test]
    fn image_goes_in_and_comes_out() {
        let file = Memory::from_image(b"hello".to_vec());
        file.write_at(3, b"p!").unwrap();
        assert_eq!(file.image().unwrap(), b"help!");
        assert_eq!(file.into_image().unwrap(), b"help!");
    }

    #[test]
    fn length_limit_is_an_error_and_changes_nothing() {
        let file =
            Memory::with_options(vec![1; 10], MemoryOptions { bytes_max: 16, ..MemoryOptions::default() });
        assert_eq!(file.set_len(17).unwrap_err().kind(), ErrorKind::FileTooLarge);
        assert_eq!(file.write_at(16, b"x").unwrap_err().kind(), ErrorKind::FileTooLarge);
        assert_eq!(file.len().unwrap(), 10);
        file.set_len(16).unwrap();
    }

    #[test]
    fn zero_increment_still_grows() {
        let file =
            Memory::with_options(vec![], MemoryOptions { increment_bytes: 0, ..MemoryOptions::default() });
        file.write_at(5, b"x").unwrap();
        assert_eq!(file.len().unwrap(), 6);
    }

    fn backed(backing: &Arc<Memory>) -> Memory {
        Memory::load(backing.clone(), MemoryOptions::default()).unwrap()
    }

    #[test]
    fn backing_follows_at_sync_and_at_drop_not_before() {
        let backing = Arc::new(Memory::from_image(b"old".to_vec()));
        let file = backed(&backing);
        file.write_at(0, b"new").unwrap();
        assert_eq!(backing.image().unwrap(), b"old");
        file.sync(Sync::Data).unwrap();
        assert_eq!(backing.image().unwrap(), b"new");
        file.write_at(3, b"er").unwrap();
        drop(file);
        assert_eq!(backing.image().unwrap(), b"newer");
    }

    #[test]
    fn backing_sees_zeros_after_cut_and_growth() {
        let backing = Arc::new(Memory::from_image(vec![7; 300_000]));
        let file = backed(&backing);
        file.set_len(100).unwrap();
        file.set_len(200_000).unwrap();
        file.write_at(199_999, b"x").unwrap();
        file.sync(Sync::All).unwrap();
        assert_eq!(backing.image().unwrap(), file.image().unwrap());
    }

    #[test]
    fn backing_sees_every_one_of_scattered_writes() {
        let backing = Arc::new(Memory::new());
        let file = backed(&backing);
        for offset in [5u64, 70_000, 140_000, 131_071, 900_000, 65_535] {
            file.write_at(offset, b"ab").unwrap();
        }
        file.set_len(800_000).unwrap();
        file.sync(Sync::Data).unwrap();
        assert_eq!(backing.image().unwrap(), file.image().unwrap());
    }

    #[test]
    fn read_mode_loads_and_refuses_to_write() {
        let dir = crate::scratch::Scratch::new();
        std::fs::write(dir.path("a"), b"abc").unwrap();
        let file = Memory::open(dir.path("a"), crate::Mode::Read).unwrap();
        assert_eq!(file.image().unwrap(), b"abc");
        assert_eq!(file.write_at(0, b"x").unwrap_err().kind(), ErrorKind::PermissionDenied);
    }
}
