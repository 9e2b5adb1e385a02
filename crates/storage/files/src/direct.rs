//! A file of the operating system that bypasses its cache (`O_DIRECT`), through aligned buffers.

use std::io;
use std::ops::Range;
use std::path::Path;

use system::sync::{Mutex, RwLock};

use crate::posix::Caching;
use crate::{File, Identity, Lock, Mode, Posix, Sync, read_end, read_only, write_end};

/// Buffers that wait to be used again: as many as threads that usually are at work.
const BUFFERS_MAX: usize = 4;

/// Sizes of direct I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectOptions {
    /// Addresses of buffers in memory are multiples of this.
    pub alignment: usize,
    /// Offsets and lengths in the file are multiples of this.
    pub block_bytes: usize,
    /// Most bytes of a copy buffer, for requests that are not aligned.
    pub copy_buffer_bytes: usize,
}

impl Default for DirectOptions {
    /// Returns libhdf5's defaults: 4 KiB, 4 KiB and 16 MiB.
    fn default() -> Self {
        DirectOptions { alignment: 4096, block_bytes: 4096, copy_buffer_bytes: 16 << 20 }
    }
}

/// The largest value of each size.
const BYTES_MAX: usize = 1 << 30;

impl DirectOptions {
    /// Checks that the sizes fit together.
    ///
    /// # Errors
    /// Returns `InvalidInput` if the alignment is not a power of two, the copy buffer does not have whole blocks, or a size is 0
    /// or more than 1 GiB.
    pub fn check(&self) -> io::Result<()> {
        let problem = match self {
            options
                if options.alignment.max(options.block_bytes).max(options.copy_buffer_bytes) > BYTES_MAX =>
            {
                "sizes of direct I/O are 1 GiB at most"
            }
            options if !options.alignment.is_power_of_two() => {
                "the alignment of memory must be a power of two"
            }
            options if options.block_bytes == 0 => "the block size must not be 0",
            options
                if options.copy_buffer_bytes == 0 || options.copy_buffer_bytes % options.block_bytes != 0 =>
            {
                "the copy buffer must be a multiple of the block size"
            }
            _ => return Ok(()),
        };
        Err(io::Error::new(io::ErrorKind::InvalidInput, problem))
    }
}

/// A file of the operating system without its cache.
///
/// Requests whose offset, length and memory are aligned go to the file as they are. Others go through a copy buffer, and
/// blocks that a write covers in part are read first. The file has its exact length after every write.
#[derive(Debug)]
pub struct Direct {
    posix: Posix,
    mode: Mode,
    options: DirectOptions,
    /// Held by writes that change a block in part or the length; others share it.
    blocks: RwLock<()>,
    buffers: Mutex<Vec<AlignedBuffer>>,
}

/// Memory that begins at an aligned address, within a longer allocation.
#[derive(Debug)]
struct AlignedBuffer {
    memory: Vec<u8>,
    start: usize,
}

impl AlignedBuffer {
    fn new(len: usize, alignment: usize) -> io::Result<Self> {
        let bytes = len.checked_add(alignment).ok_or(io::ErrorKind::OutOfMemory)?;
        let mut memory = Vec::new();
        memory.try_reserve_exact(bytes)?;
        memory.resize(bytes, 0);
        let start = memory.as_ptr().align_offset(alignment);
        Ok(AlignedBuffer { memory, start })
    }

    fn len(&self, alignment: usize) -> usize {
        self.memory.len() - alignment
    }

    fn bytes(&mut self, len: usize) -> &mut [u8] {
        &mut self.memory[self.start..self.start + len]
    }
}

impl Direct {
    /// Opens or creates the file at `path`.
    ///
    /// # Errors
    /// Returns `Unsupported` if the system or the file system has no direct I/O, and `InvalidInput` for sizes that do not fit
    /// together.
    pub fn open(path: impl AsRef<Path>, mode: Mode, options: DirectOptions) -> io::Result<Self> {
        options.check()?;
        let posix = Posix::open_with(path.as_ref(), mode, Caching::Bypassed)?;
        Ok(Direct { posix, mode, options, blocks: RwLock::default(), buffers: Mutex::default() })
    }

    /// Returns the whole blocks that a range touches.
    fn blocks_of(&self, range: &Range<u64>) -> io::Result<Range<u64>> {
        let block = self.options.block_bytes as u64;
        let end = range.end.checked_next_multiple_of(block).filter(|end| *end <= i64::MAX as u64);
        Ok(range.start / block * block..end.ok_or(io::ErrorKind::FileTooLarge)?)
    }

    fn is_aligned(&self, offset: u64, bytes: &[u8]) -> bool {
        let block = self.options.block_bytes;
        offset.is_multiple_of(block as u64)
            && bytes.len().is_multiple_of(block)
            && bytes.as_ptr().addr().is_multiple_of(self.options.alignment)
    }

    /// Calls `work` with a buffer of `len` bytes, at most those of the copy buffer.
    fn with_buffer<T>(&self, len: usize, work: impl FnOnce(&mut [u8]) -> io::Result<T>) -> io::Result<T> {
        let alignment = self.options.alignment;
        let waiting = self.buffers.lock().pop().filter(|buffer| buffer.len(alignment) >= len);
        let mut buffer = match waiting {
            Some(buffer) => buffer,
            None => AlignedBuffer::new(len, alignment)?,
        };
        let done = work(buffer.bytes(len));
        let mut buffers = self.buffers.lock();
        if buffers.len() < BUFFERS_MAX {
            buffers.push(buffer);
        }
        done
    }

    /// Cuts a range of whole blocks into parts that a copy buffer holds.
    fn parts(&self, blocks: Range<u64>) -> impl Iterator<Item = Range<u64>> {
        let step = self.options.copy_buffer_bytes as u64;
        let starts =
            (0..blocks.end.saturating_sub(blocks.start).div_ceil(step)).map(move |n| blocks.start + n * step);
        starts.map(move |start| start..(start + step).min(blocks.end))
    }

    /// Fills `into` from `offset` on. Past the end of the file there are zeros.
    fn read_blocks(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let mut done = 0;
        while done < into.len() {
            match system::file::read_at(self.posix.file(), &mut into[done..], offset + done as u64) {
                Ok(0) => break,
                // A count that is no multiple of the block size is the end of the file.
                Ok(count) if count % self.options.block_bytes != 0 => {
                    done += count;
                    break;
                }
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.explained(error)),
            }
        }
        into[done..].fill(0);
        Ok(())
    }

    fn write_blocks(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        system::file::write_all_at(self.posix.file(), data, offset).map_err(|error| self.explained(error))
    }

    /// The system only says that an argument is invalid.
    fn explained(&self, error: io::Error) -> io::Error {
        if error.kind() != io::ErrorKind::InvalidInput {
            return error;
        }
        let DirectOptions { alignment, block_bytes, .. } = self.options;
        let problem = format!(
            "direct I/O with blocks of {block_bytes} bytes and memory aligned to {alignment} is less than the device asks for"
        );
        io::Error::new(io::ErrorKind::Unsupported, problem)
    }

    fn read_copied(&self, range: Range<u64>, buf: &mut [u8]) -> io::Result<()> {
        for part in self.parts(self.blocks_of(&range)?) {
            self.with_buffer((part.end - part.start) as usize, |copy| {
                self.read_blocks(part.start, copy)?;
                let (from, to) = (range.start.max(part.start), range.end.min(part.end));
                let (into, of) = ((from - range.start) as usize, (from - part.start) as usize);
                let len = (to - from) as usize;
                buf[into..into + len].copy_from_slice(&copy[of..of + len]);
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Writes through the copy buffer; the caller holds the blocks.
    fn write_copied(&self, range: &Range<u64>, data: &[u8]) -> io::Result<()> {
        let block = self.options.block_bytes as u64;
        for part in self.parts(self.blocks_of(range)?) {
            self.with_buffer((part.end - part.start) as usize, |copy| {
                let (from, to) = (range.start.max(part.start), range.end.min(part.end));
                if from > part.start {
                    self.read_blocks(part.start, &mut copy[..block as usize])?;
                }
                let last = part.end - block;
                if to < part.end && (last > part.start || from == part.start) {
                    self.read_blocks(last, &mut copy[(last - part.start) as usize..])?;
                }
                let (into, of) = ((from - part.start) as usize, (from - range.start) as usize);
                let len = (to - from) as usize;
                copy[into..into + len].copy_from_slice(&data[of..of + len]);
                self.write_blocks(part.start, copy)
            })?;
        }
        Ok(())
    }
}

impl File for Direct {
    fn len(&self) -> io::Result<u64> {
        let _blocks = self.blocks.read();
        self.posix.len()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        if buf.is_empty() {
            return Ok(());
        }
        let end = read_end(offset, buf.len())?;
        let _blocks = self.blocks.read();
        if end > self.posix.len()? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        match self.is_aligned(offset, buf) {
            true => self.read_blocks(offset, buf),
            false => self.read_copied(offset..end, buf),
        }
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        if !self.mode.is_writable() {
            return Err(read_only());
        }
        if data.is_empty() {
            return Ok(());
        }
        let end = write_end(offset, data.len())?;
        self.blocks_of(&(offset..end))?;
        if self.is_aligned(offset, data) {
            let _blocks = self.blocks.read();
            return self.write_blocks(offset, data);
        }
        let _blocks = self.blocks.write();
        let len = self.posix.len()?;
        let written = self.write_copied(&(offset..end), data);
        // The last block may have made the file longer than its bytes, also where writing stopped half-way.
        if self.posix.len()? > len.max(end) {
            self.posix.set_len(len.max(end))?;
        }
        written
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let _blocks = self.blocks.write();
        self.posix.set_len(len)
    }

    /// The length is cut after a write, so it is made durable too.
    fn sync(&self, _sync: Sync) -> io::Result<()> {
        self.posix.sync(Sync::All)
    }

    fn lock(&self, lock: Lock) -> io::Result<()> {
        self.posix.lock(lock)
    }

    fn identity(&self) -> Option<Identity> {
        Some(self.posix.identity())
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::scratch::Scratch;
    use std::io::ErrorKind;

    fn options(block_bytes: usize, copy_buffer_bytes: usize) -> DirectOptions {
        DirectOptions { alignment: 4096, block_bytes, copy_buffer_bytes }
    }

    /// Returns a file, or `None` if the file system of the tests has no direct I/O.
    fn created(dir: &Scratch, name: &str, options: DirectOptions) -> Option<Direct> {
        match Direct::open(dir.path(name), Mode::Create, options) {
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                eprintln!("SKIPPED: {error}");
                None
            }
            opened => Some(opened.unwrap()),
        }
    }

    #[test]
    fn sizes_that_do_not_fit_are_refused() {
        for (alignment, block, copy) in
            [(3, 512, 512), (512, 0, 512), (512, 512, 513), (512, 512, 0), (512, 512, 1 << 31)]
        {
            let options = DirectOptions { alignment, block_bytes: block, copy_buffer_bytes: copy };
            assert_eq!(options.check().unwrap_err().kind(), ErrorKind::InvalidInput, "{options:?}");
        }
        DirectOptions::default().check().unwrap();
    }

    #[test]
    fn a_file_has_its_exact_length_and_its_bytes_after_every_write() {
        let dir = Scratch::new();
        let Some(file) = created(&dir, "a", options(4096, 8192)) else { return };
        let mut expected = Vec::new();
        for (offset, len) in
            [(0, 5), (4090, 12), (20_000, 30_000), (3, 4096), (8192, 8192), (12_287, 1), (49_999, 2)]
        {
            let data: Vec<u8> = (0..len).map(|n| (n * 7 + offset) as u8).collect();
            file.write_at(offset as u64, &data).unwrap();
            expected.resize(expected.len().max(offset + len), 0);
            expected[offset..offset + len].copy_from_slice(&data);
            assert_eq!(std::fs::read(dir.path("a")).unwrap(), expected, "{offset} {len}");
        }
        for (offset, len) in [(0, expected.len()), (1, 4096), (4096, 4096), (49_990, 11)] {
            assert_eq!(file.read_vec(offset as u64, len).unwrap(), expected[offset..offset + len]);
        }
        assert_eq!(file.read_at(49_990, &mut [0; 12]).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn aligned_memory_needs_no_copy() {
        let dir = Scratch::new();
        let Some(file) = created(&dir, "a", options(4096, 4096)) else { return };
        let mut buffer = AlignedBuffer::new(65_536, 4096).unwrap();
        buffer.bytes(65_536).fill(9);
        file.write_at(4096, buffer.bytes(65_536)).unwrap();
        assert_eq!(file.len().unwrap(), 69_632);
        file.read_at(0, buffer.bytes(65_536)).unwrap();
        assert_eq!((buffer.bytes(65_536)[4095], buffer.bytes(65_536)[4096]), (0, 9));
        assert!(file.buffers.lock().is_empty(), "no copy buffer was needed");
    }

    #[test]
    fn threads_that_write_next_to_each_other_lose_nothing() {
        let dir = Scratch::new();
        let Some(file) = created(&dir, "a", options(4096, 4096)) else { return };
        system::thread::scope(|scope| {
            for thread in 0..4u64 {
                let file = &file;
                scope.spawn(move || {
                    (0..100u64)
                        .for_each(|n| file.write_at((n * 4 + thread) * 50, &[thread as u8 + 1; 50]).unwrap());
                });
            }
        });
        let bytes = std::fs::read(dir.path("a")).unwrap();
        assert_eq!(bytes.len(), 20_000);
        assert!(bytes.chunks(50).enumerate().all(|(n, run)| run == [(n % 4) as u8 + 1; 50]));
    }

    #[test]
    fn a_file_system_without_direct_io_is_named() {
        let error = open_refused(Path::new("/proc/self/status"));
        assert!(error.kind() != ErrorKind::Other && !error.to_string().is_empty(), "{error}");
    }

    fn open_refused(path: &Path) -> io::Error {
        let opened = Direct::open(path, Mode::Read, DirectOptions::default());
        opened.map(|file| file.read_at(0, &mut [0])).and_then(|read| read).unwrap_err()
    }
}
