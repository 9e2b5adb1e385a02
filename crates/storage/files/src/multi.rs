//! Several files side by side in one address space, and the common case of two: metadata and raw data.

use std::io;

use crate::{File, Handle, Lock, Sync, read_end, read_padded, write_end};

/// One file of a [`Multi`], and the addresses it serves.
#[derive(Clone, Debug)]
pub struct Member {
    /// Address of the file's first byte.
    pub start: u64,
    /// One past the last address it may serve; without it, the next member's start, or 2^64 - 1.
    pub end: Option<u64>,
    /// The file.
    pub file: Handle,
}

/// Several files side by side in one address space.
///
/// The length is the end of the last member that is not empty. What lies below it and in no member reads as zeros;
/// writing there fails with `InvalidInput`.
#[derive(Debug)]
pub struct Multi {
    members: Vec<Window>,
}

/// A member whose end is known.
#[derive(Debug)]
struct Window {
    start: u64,
    end: u64,
    file: Handle,
}

/// The part of a request that falls on one member.
struct Piece<'a> {
    window: &'a Window,
    /// Absolute addresses.
    start: u64,
    end: u64,
}

impl Window {
    /// Absolute address where the member's bytes end, `None` when it has none.
    fn bytes_end(&self) -> io::Result<Option<u64>> {
        let len = self.file.len()?.min(self.end - self.start);
        Ok((len > 0).then(|| self.start + len))
    }
}

impl Multi {
    /// Puts `members` side by side. They need not be sorted; overlapping, empty or missing ones are `InvalidInput`.
    pub fn new(mut members: Vec<Member>) -> io::Result<Self> {
        members.sort_by_key(|member| member.start);
        let next_starts: Vec<u64> = members.iter().skip(1).map(|next| next.start).chain([u64::MAX]).collect();
        let windows = members.into_iter().zip(next_starts).map(|(member, next_start)| {
            let end = member.end.unwrap_or(next_start);
            Window { start: member.start, end, file: member.file }
        });
        let members: Vec<Window> = windows.collect();
        let overlaps = members.windows(2).any(|pair| pair[0].end > pair[1].start);
        if members.is_empty() || overlaps || members.iter().any(|member| member.end <= member.start) {
            return Err(invalid("members of a multi-file overlap or are empty"));
        }
        Ok(Multi { members })
    }

    fn pieces(&self, start: u64, end: u64) -> impl Iterator<Item = Piece<'_>> {
        self.members.iter().filter_map(move |window| {
            let (start, end) = (start.max(window.start), end.min(window.end));
            (start < end).then_some(Piece { window, start, end })
        })
    }

    fn read_with_holes(&self, offset: u64, buf: &mut [u8], end: u64) -> io::Result<()> {
        if end > self.len()? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        buf.fill(0);
        for Piece { window, start, end } in self.pieces(offset, end) {
            let part = &mut buf[(start - offset) as usize..(end - offset) as usize];
            read_padded(&*window.file, start - window.start, part)?;
        }
        Ok(())
    }
}

impl File for Multi {
    fn len(&self) -> io::Result<u64> {
        for member in self.members.iter().rev() {
            if let Some(end) = member.bytes_end()? {
                return Ok(end);
            }
        }
        Ok(0)
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        if buf.is_empty() {
            return Ok(());
        }
        let end = read_end(offset, buf.len())?;
        let one = self.members.iter().find(|window| window.start <= offset && end <= window.end);
        // Nearly every read falls inside one member's bytes and needs no look at lengths.
        match one.map(|window| window.file.read_at(offset - window.start, buf)) {
            Some(Err(error)) if error.kind() != io::ErrorKind::UnexpectedEof => Err(error),
            Some(Ok(())) => Ok(()),
            _ => self.read_with_holes(offset, buf, end),
        }
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let end = write_end(offset, data.len())?;
        let covered: u64 = self.pieces(offset, end).map(|piece| piece.end - piece.start).sum();
        if covered != data.len() as u64 {
            return Err(invalid("write to addresses that no member serves"));
        }
        for Piece { window, start, end } in self.pieces(offset, end) {
            let part = &data[(start - offset) as usize..(end - offset) as usize];
            window.file.write_at(start - window.start, part)?;
        }
        Ok(())
    }

    /// The member that serves the last byte gets the rest of the length, later ones are emptied, earlier ones stay.
    fn set_len(&self, len: u64) -> io::Result<()> {
        let after = self.members.partition_point(|member| member.start < len);
        let (kept, emptied) = self.members.split_at(after);
        match kept.last() {
            Some(last) if len > last.end => return Err(invalid("length ends where no member serves")),
            Some(last) => last.file.set_len(len - last.start)?,
            None if len > 0 => return Err(invalid("length ends where no member serves")),
            None => {}
        }
        emptied.iter().try_for_each(|member| member.file.set_len(0))
    }

    fn sync(&self, sync: Sync) -> io::Result<()> {
        self.members.iter().try_for_each(|member| member.file.sync(sync))
    }

    /// All members or none.
    fn lock(&self, lock: Lock) -> io::Result<()> {
        for (index, member) in self.members.iter().enumerate() {
            if let Err(error) = member.file.lock(lock) {
                self.members[..index].iter().try_for_each(|held| held.file.lock(Lock::Unlock))?;
                return Err(error);
            }
        }
        Ok(())
    }
}

/// Metadata in one file, raw data in another: the address space of libhdf5's split driver.
#[derive(Debug)]
pub struct Split {
    multi: Multi,
}

/// What is appended to a path to name the two files of a [`Split`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitNames<'a> {
    /// Suffix of the metadata file.
    pub metadata: &'a str,
    /// Suffix of the raw-data file.
    pub raw: &'a str,
}

impl Default for SplitNames<'_> {
    /// `-m.h5` and `-r.h5`.
    fn default() -> Self {
        SplitNames { metadata: "-m.h5", raw: "-r.h5" }
    }
}

impl Split {
    /// Address of the raw-data file's first byte: half of the largest defined address (2^64 - 2).
    pub const RAW_START: u64 = (u64::MAX - 1) / 2;

    /// Joins two open files.
    pub fn new(metadata: Handle, raw: Handle) -> io::Result<Self> {
        let metadata = Member { start: 0, end: None, file: metadata };
        let raw = Member { start: Self::RAW_START, end: None, file: raw };
        Ok(Split { multi: Multi::new(vec![metadata, raw])? })
    }

    /// Opens `path` + `-m.h5` and `path` + `-r.h5`.
    #[cfg(unix)]
    pub fn open(path: impl AsRef<std::path::Path>, mode: crate::Mode) -> io::Result<Self> {
        Self::open_named(path, mode, SplitNames::default())
    }

    /// Opens the two files that `names` makes of `path`.
    #[cfg(unix)]
    pub fn open_named(
        path: impl AsRef<std::path::Path>,
        mode: crate::Mode,
        names: SplitNames<'_>,
    ) -> io::Result<Self> {
        let open = |suffix: &str| -> io::Result<Handle> {
            let mut name = path.as_ref().as_os_str().to_owned();
            name.push(suffix);
            Ok(std::sync::Arc::new(crate::Posix::open(name, mode)?))
        };
        if names.metadata == names.raw {
            return Err(invalid("metadata and raw data need different files"));
        }
        Self::new(open(names.metadata)?, open(names.raw)?)
    }
}

impl File for Split {
    fn len(&self) -> io::Result<u64> {
        self.multi.len()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.multi.read_at(offset, buf)
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.multi.write_at(offset, data)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.multi.set_len(len)
    }

    fn sync(&self, sync: Sync) -> io::Result<()> {
        self.multi.sync(sync)
    }

    fn lock(&self, lock: Lock) -> io::Result<()> {
        self.multi.lock(lock)
    }
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

#[cfg(test)]
#[path = "multi_tests.rs"]
mod tests;
