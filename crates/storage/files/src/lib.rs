//! Virtual file drivers: bytes at addresses, for the native connector.
//!
//! [`File`] is an open file: six methods on `&self`, no shared cursor, safe to call from many threads. A [`Driver`] creates,
//! opens and deletes files of one kind, and [`Drivers`] finds drivers by name.
//! Files store bytes ([`Posix`], [`Direct`], [`Memory`], [`Family`], [`Multi`], [`Onion`], [`Subfiling`], [`View`]), some on top of
//! any other ([`Log`], [`PageBuffer`], [`Splitter`]), one on a server ([`Mirror`]); test layers wrap any file ([`Fault`], [`Pause`], [`Crash`], [`Meter`]).
//!
//! ```
//! use files::{File, Memory};
//! # use hyperslab_files as files;
//! let file = Memory::new();
//! file.write_at(4, b"data")?;
//! assert_eq!(file.image()?, b"\0\0\0\0data");
//! # Ok::<(), std::io::Error>(())
//! ```
#![forbid(unsafe_code)]

mod copy;
pub mod crash;
mod direct;
mod driver;
pub mod family;
pub mod fault;
mod forward;
mod log;
mod member_map;
mod members;
mod memory;
pub mod meter;
mod mirror;
mod multi;
mod onion;
mod page_buffer;
pub mod pause;
mod posix;
pub mod probe;
mod relabelled;
mod splitter;
mod subfiling;
mod view;

use std::io;
use std::sync::Arc;

pub use copy::copy;
pub use crash::Crash;
pub use direct::{Direct, DirectOptions};
pub use driver::{CoreDriver, Created, Driver, DriverInfo, DriverParameters, Drivers, NamedDriver, Target};
pub use driver::{
    DirectDriver, FamilyDriver, LogDriver, MirrorDriver, MultiDriver, OnionDriver, PosixDriver,
    onion_parameters,
};
pub use driver::{SplitDriver, SplitterDriver, SubfilingDriver};
pub use family::Family;
pub use fault::Fault;
pub use log::{Log, LogFlags};
pub use members::{DataKind, MemberRange, MemberRanges, MemberStart};
pub use memory::{Memory, MemoryOptions};
pub use meter::Meter;
pub use mirror::{MIRROR_PORT_DEFAULT, Mirror, MirrorOptions};
pub use multi::Multi;
pub use onion::{Onion, OnionOptions, RevisionInfo};
pub use page_buffer::{PageBuffer, PageBufferOptions, PageCounts, PageKind, PageStatistics};
pub use pause::Pause;
pub use posix::Posix;
pub use relabelled::Relabelled;
pub use splitter::{Failures, Splitter};
pub use subfiling::{Subfiling, SubfilingOptions};
pub use view::View;

/// A shared, type-erased file: what the layers above hold.
pub type Handle = Arc<dyn File>;

/// Device and number of a file: equal for two handles of one file, whatever it is called.
pub type Identity = (u64, u64);

/// The driver information that is stored in a file, so that it can be opened again (`H5FD_sb_encode`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriverBlock {
    /// Identification of the driver.
    pub id: [u8; 8],
    /// The driver's own bytes.
    pub data: Vec<u8>,
}

/// Requests to a server that stores a file, and the bytes of its answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestCounts {
    /// Requests, each attempt counted.
    pub requests: u64,
    /// Attempts after a failed one.
    pub retries: u64,
    /// Bytes of answers.
    pub bytes: u64,
}

/// How far [`File::sync`] must push earlier writes. Both are barriers: what was written before is durable after.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sync {
    /// Contents, and the length needed to read them back (`fdatasync`).
    Data,
    /// Contents and all attributes of the file (`fsync`).
    All,
}

/// A request to [`File::lock`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lock {
    /// Many holders, none of them exclusive.
    Shared,
    /// One holder.
    Exclusive,
    /// Give up whatever is held; without a lock it does nothing.
    Unlock,
}

/// How a driver opens its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// An existing file; writes fail with `PermissionDenied`.
    Read,
    /// An existing file, for reading and writing.
    ReadWrite,
    /// A new file, or an existing one cut to length zero.
    Create,
    /// A new file; an existing one is `AlreadyExists`.
    CreateNew,
}

impl Mode {
    /// Returns whether writes are allowed.
    pub fn is_writable(self) -> bool {
        self != Mode::Read
    }
}

/// Bytes at addresses.
///
/// Calls may overlap in time. Two writes, or a write and a read, of the same bytes at the same time give some mix
/// of old and new bytes; callers that care serialise them.
pub trait File: Send + std::marker::Sync + std::fmt::Debug {
    /// Returns the current length in bytes.
    fn len(&self) -> io::Result<u64>;

    /// Fills `buf` from `offset`, or fails with `UnexpectedEof` if the file ends before. An empty `buf` always
    /// succeeds. After an error the contents of `buf` are unspecified.
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()>;

    /// Returns the `len` bytes from `offset` on, as [`File::read_at`] fills a buffer with them. A driver that can spares the zeros that
    /// a buffer begins with.
    fn read_vec(&self, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; len];
        self.read_at(offset, &mut bytes)?;
        Ok(bytes)
    }

    /// Writes all of `data` at `offset`, extending the file if need be; a hole left behind reads as zeros.
    /// Empty `data` changes nothing, not even the length. After an error any part may have been written.
    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()>;

    /// Cuts or extends the file; new bytes read as zeros.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// Returns once every write that returned before this call is durable.
    fn sync(&self, sync: Sync) -> io::Result<()>;

    /// Takes, converts or releases an advisory lock without waiting; `WouldBlock` if another holder is in the way.
    /// A conversion need not be atomic. The lock ends with the file's last handle.
    fn lock(&self, lock: Lock) -> io::Result<()>;

    /// Returns whether the file has length zero.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Returns the identity of the file in this process, if it can be opened more than once.
    fn identity(&self) -> Option<Identity> {
        None
    }

    /// Returns whether these bytes are those of one file of the operating system, which others can open by its path.
    fn is_system_file(&self) -> bool {
        false
    }

    /// Returns whether only threads that call the library may use the file. Threads of the library's own pool do not: a driver of a
    /// program may wait for a lock that the caller holds.
    fn is_serial(&self) -> bool {
        false
    }

    /// Returns the members of a file whose kinds of data lie in address ranges of their own, or `None` if all bytes lie in one
    /// range. [`File::len`] and [`File::set_len`] are about the first member then, but for a length of zero, which empties all.
    fn members(&self) -> Option<MemberRanges> {
        None
    }

    /// Returns where the bytes end among which `offset` lies: the length of the file, or the end of the member's bytes.
    fn bytes_end(&self, offset: u64) -> io::Result<u64> {
        let _ = offset;
        self.len()
    }

    /// Says how many bytes of each member are allocated. [`File::driver_block`] has the numbers from then on, and members after
    /// the first have at least as many bytes.
    fn set_allocated(&self, allocated: &[u64]) -> io::Result<()> {
        let _ = allocated;
        Ok(())
    }

    /// Cuts off what members after the first have past their allocated bytes.
    fn trim(&self) -> io::Result<()> {
        Ok(())
    }

    /// Notes that space was allocated for a kind of data. Most drivers have no use for it.
    fn note_allocated(&self, kind: DataKind, offset: u64, len: u64) {
        let _ = (kind, offset, len);
    }

    /// Notes that space is free again. Most drivers have no use for it.
    fn note_freed(&self, offset: u64, len: u64) {
        let _ = (offset, len);
    }

    /// Returns the driver information that must be stored in the file, if any.
    fn driver_block(&self) -> Option<DriverBlock> {
        None
    }

    /// Takes what [`File::driver_block`] returned when the file was created. Called once the start of the file was read.
    ///
    /// # Errors
    /// Returns `InvalidData` if it is another driver's, and `InvalidInput` if it contradicts the parameters that the file was
    /// opened with.
    fn set_driver_block(&self, block: &DriverBlock) -> io::Result<()> {
        let _ = block;
        Ok(())
    }

    /// Returns whether a read takes so long to begin that it pays to say with [`File::prefetch`] what will be read next.
    fn is_remote(&self) -> bool {
        false
    }

    /// Returns the requests that were made to a server since the file was opened, or `None` if there is no server.
    fn request_counts(&self) -> Option<RequestCounts> {
        None
    }

    /// Starts to fetch ranges that will be read soon, and returns before they are there. Reads of them wait for them.
    fn prefetch(&self, ranges: &[std::ops::Range<u64>]) -> io::Result<()> {
        let _ = ranges;
        Ok(())
    }

    /// Returns whether nobody else sees the bytes before [`File::publish`].
    fn is_private(&self) -> bool {
        false
    }

    /// Lets others see the file as it is. Called when a commit is whole in the file, and after that once more if it failed.
    fn publish(&self) -> io::Result<()> {
        Ok(())
    }

    /// Fills each buffer from its offset, as [`File::read_at`] does. A driver for which requests are dear overrides
    /// this to merge or overlap them.
    fn read_many_at(&self, ranges: &mut [(u64, &mut [u8])]) -> io::Result<()> {
        ranges.iter_mut().try_for_each(|(offset, buf)| self.read_at(*offset, buf))
    }
}

/// Returns one past the last address of a read. Past 2^64 lies beyond any file's end.
fn read_end(offset: u64, len: usize) -> io::Result<u64> {
    end_of(offset, len).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

/// Returns one past the last address of a write. Past 2^64 no file can reach.
fn write_end(offset: u64, len: usize) -> io::Result<u64> {
    end_of(offset, len).ok_or_else(|| io::ErrorKind::FileTooLarge.into())
}

fn end_of(offset: u64, len: usize) -> Option<u64> {
    offset.checked_add(u64::try_from(len).ok()?)
}

/// Returns the error of a driver whose file was opened to read.
pub fn read_only() -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, "file is open for reading only")
}

#[cfg(test)]
mod scratch;
