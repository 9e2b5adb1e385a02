//! One address space cut into member files of equal size, for file systems that cannot hold long files.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use system::sync::RwLock;

use crate::{DriverBlock, File, Handle, Identity, Lock, Mode, Posix, Sync, read_end, read_only, write_end};

/// Member size of a new family when none is given: 100 MiB, as libhdf5 has it.
pub const MEMBER_BYTES_DEFAULT: u64 = 100 << 20;

/// The identification of a family in the driver information of a file.
const ID: [u8; 8] = *b"NCSAfami";

/// More members than this fail with `FileTooLarge`: a stray offset must not fill a folder with files.
pub const MEMBERS_MAX: u64 = 10_000;

/// Member files of equal size, numbered in their names.
///
/// The name is a pattern with one `%d` (or `%05d`, …) for the number; `%%` is a percent sign. Members are made when
/// first written; those before the last are extended to full size, as libhdf5 leaves them. Cutting the file empties
/// members and keeps their files.
#[derive(Debug)]
pub struct Family {
    pattern: Pattern,
    /// What the caller asked for; what the file says must be the same.
    asked_bytes: Option<u64>,
    member_bytes: AtomicU64,
    mode: Mode,
    members: RwLock<Members>,
}

#[derive(Debug)]
struct Members {
    files: Vec<Handle>,
    /// So many of the first are known to have full size.
    full: u64,
}

impl Members {
    /// Returns whether `count` members exist, all but the last of them full.
    fn has(&self, count: u64) -> bool {
        self.files.len() as u64 >= count && self.full >= count.saturating_sub(1)
    }
}

/// The part of a request that falls on one member.
struct MemberPart {
    member: u64,
    offset: u64,
    /// Which bytes of the caller's buffer.
    part: Range<usize>,
}

impl Family {
    /// Opens or creates the family named by `pattern`. The member size is the first member's length, or
    /// [`MEMBER_BYTES_DEFAULT`] while that is empty. Where a family has been cut to less than one member, only
    /// [`Family::open_sized`] knows better.
    pub fn open(pattern: impl AsRef<Path>, mode: Mode) -> io::Result<Self> {
        Self::open_inner(pattern.as_ref(), mode, None)
    }

    /// Opens or creates the family named by `pattern`, with members of `member_bytes`.
    pub fn open_sized(pattern: impl AsRef<Path>, mode: Mode, member_bytes: u64) -> io::Result<Self> {
        Self::open_inner(pattern.as_ref(), mode, Some(member_bytes))
    }

    fn open_inner(pattern: &Path, mode: Mode, member_bytes: Option<u64>) -> io::Result<Self> {
        let pattern = Pattern::parse(pattern)?;
        check_size(member_bytes)?;
        let first = Posix::open(pattern.name(0), mode)?;
        let first_bytes = Some(first.len()?).filter(|len| *len > 0);
        Self::with_first(pattern, first, mode, member_bytes, first_bytes)
    }

    /// Creates a family with members of `member_bytes`, or of [`MEMBER_BYTES_DEFAULT`]. One that is there is opened with its
    /// content if `may_exist`. Returns whether it is new.
    pub fn create(
        pattern: impl AsRef<Path>,
        member_bytes: Option<u64>,
        may_exist: bool,
    ) -> io::Result<(Self, bool)> {
        let pattern = Pattern::parse(pattern.as_ref())?;
        check_size(member_bytes)?;
        let (first, is_new) = match Posix::open(pattern.name(0), Mode::CreateNew) {
            Err(error) if may_exist && error.kind() == io::ErrorKind::AlreadyExists => {
                (Posix::open(pattern.name(0), Mode::ReadWrite)?, false)
            }
            created => (created?, true),
        };
        // Members that an earlier family left behind are taken over, so that they do not come back as the new one grows.
        let mode = if may_exist { Mode::ReadWrite } else { Mode::CreateNew };
        let family = Self::with_first(pattern, first, mode, member_bytes, None);
        family.map(|family| (family, is_new))
    }

    fn with_first(
        pattern: Pattern,
        first: Posix,
        mode: Mode,
        asked_bytes: Option<u64>,
        first_bytes: Option<u64>,
    ) -> io::Result<Self> {
        let member_bytes = asked_bytes.or(first_bytes).unwrap_or(MEMBER_BYTES_DEFAULT);
        let mut members: Vec<Handle> = vec![Arc::new(first)];
        open_rest(&pattern, mode, &mut members)?;
        let members = RwLock::new(Members { files: members, full: 0 });
        Ok(Family { pattern, asked_bytes, member_bytes: AtomicU64::new(member_bytes), mode, members })
    }

    /// Returns the size of each member but the last.
    pub fn member_bytes(&self) -> u64 {
        self.member_bytes.load(Ordering::Acquire)
    }

    fn check_writable(&self) -> io::Result<()> {
        if self.mode.is_writable() { Ok(()) } else { Err(read_only()) }
    }

    fn members(&self) -> Vec<Handle> {
        self.members.read().files.clone()
    }

    fn member(&self, index: u64) -> Option<Handle> {
        self.members.read().files.get(usize::try_from(index).ok()?).cloned()
    }

    /// Creates members until there are `count`, and fills those before the last of them.
    fn ensure(&self, count: u64) -> io::Result<()> {
        if count > MEMBERS_MAX {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let before_last = count.saturating_sub(1);
        if self.members.read().has(count) {
            return Ok(());
        }
        let mut members = self.members.write();
        for index in members.files.len() as u64..count {
            members.files.push(Arc::new(Posix::open(self.pattern.name(index), Mode::CreateNew)?));
        }
        let earlier = members.files.iter().take(before_last as usize);
        earlier.skip(members.full as usize).try_for_each(|member| extend_to(member, self.member_bytes()))?;
        members.full = members.full.max(before_last);
        Ok(())
    }

    fn pieces(&self, offset: u64, len: usize) -> impl Iterator<Item = MemberPart> {
        let member_bytes = self.member_bytes();
        let mut done = 0;
        std::iter::from_fn(move || {
            let at = offset + done as u64;
            let within = at % member_bytes;
            let capacity = usize::try_from(member_bytes - within).unwrap_or(usize::MAX);
            let part = done..done + capacity.min(len - done);
            done = part.end;
            (!part.is_empty()).then_some(MemberPart { member: at / member_bytes, offset: within, part })
        })
    }

    fn read_with_holes(&self, offset: u64, buf: &mut [u8], end: u64) -> io::Result<()> {
        if end > self.len()? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        for MemberPart { member, offset, part } in self.pieces(offset, buf.len()) {
            let file = self.member(member).ok_or(io::ErrorKind::UnexpectedEof)?;
            read_padded(&*file, offset, &mut buf[part])?;
        }
        Ok(())
    }

    fn read_exact(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        for MemberPart { member, offset, part } in self.pieces(offset, buf.len()) {
            let file = self.member(member).ok_or(io::ErrorKind::UnexpectedEof)?;
            file.read_at(offset, &mut buf[part])?;
        }
        Ok(())
    }
}

impl File for Family {
    fn len(&self) -> io::Result<u64> {
        for (index, member) in self.members().iter().enumerate().rev() {
            let len = member.len()?.min(self.member_bytes());
            if len > 0 {
                return Ok((index as u64).saturating_mul(self.member_bytes()).saturating_add(len));
            }
        }
        Ok(0)
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        let end = read_end(offset, buf.len())?;
        match self.read_exact(offset, buf) {
            // A short member in the middle is a hole; only then are lengths worth a look.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                self.read_with_holes(offset, buf, end)
            }
            result => result,
        }
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.check_writable()?;
        if data.is_empty() {
            return Ok(());
        }
        self.ensure(write_end(offset, data.len())?.div_ceil(self.member_bytes()))?;
        for MemberPart { member, offset, part } in self.pieces(offset, data.len()) {
            let file = self.member(member).ok_or(io::ErrorKind::FileTooLarge)?;
            file.write_at(offset, &data[part])?;
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.check_writable()?;
        self.ensure(len.div_ceil(self.member_bytes()))?;
        let mut members = self.members.write();
        members.full = members.full.min(len / self.member_bytes());
        for (index, member) in members.files.iter().enumerate() {
            let start = (index as u64).saturating_mul(self.member_bytes());
            member.set_len(len.saturating_sub(start).min(self.member_bytes()))?;
        }
        Ok(())
    }

    fn sync(&self, sync: Sync) -> io::Result<()> {
        self.members().iter().try_for_each(|member| member.sync(sync))
    }

    /// The first member stands for all: every opener has it, and later ones come and go.
    fn lock(&self, lock: Lock) -> io::Result<()> {
        self.members().first().map_or(Ok(()), |first| first.lock(lock))
    }

    /// The first member stands for all.
    fn identity(&self) -> Option<Identity> {
        self.members().first()?.identity()
    }

    fn driver_block(&self) -> Option<DriverBlock> {
        Some(DriverBlock { id: ID, data: self.member_bytes().to_le_bytes().to_vec() })
    }

    fn set_driver_block(&self, block: &DriverBlock) -> io::Result<()> {
        let stored = block.data.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
        let Some(stored) = stored.filter(|bytes| block.id == ID && *bytes > 0) else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is not a family of files"));
        };
        if let Some(asked) = self.asked_bytes.filter(|asked| *asked != stored) {
            return Err(invalid(&format!("members of this family have {stored} bytes, not {asked}")));
        }
        self.members.write().full = 0;
        self.member_bytes.store(stored, Ordering::Release);
        Ok(())
    }
}

/// Reads from a file that is part of a longer one: past its own end there is a hole.
pub(crate) fn read_padded(file: &dyn File, offset: u64, buf: &mut [u8]) -> io::Result<()> {
    let have = file.len()?.saturating_sub(offset).min(buf.len() as u64) as usize;
    let (bytes, hole) = buf.split_at_mut(have);
    hole.fill(0);
    file.read_at(offset, bytes)
}

fn check_size(member_bytes: Option<u64>) -> io::Result<()> {
    if member_bytes == Some(0) { Err(invalid("members of a family need a size")) } else { Ok(()) }
}

/// Adds the members after the first that exist. `Create` empties them, so that they do not come back to life as the
/// new file grows; `CreateNew` leaves them, and fails when it reaches them.
fn open_rest(pattern: &Pattern, mode: Mode, members: &mut Vec<Handle>) -> io::Result<()> {
    let open_mode = match mode {
        Mode::Read => Mode::Read,
        Mode::ReadWrite | Mode::Create => Mode::ReadWrite,
        Mode::CreateNew => return Ok(()),
    };
    for index in 1..MEMBERS_MAX {
        let member = match Posix::open(pattern.name(index), open_mode) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => break,
            result => result?,
        };
        if mode == Mode::Create {
            member.set_len(0)?;
        }
        members.push(Arc::new(member));
    }
    Ok(())
}

/// Returns whether a name has one place for the number of a member.
pub fn is_pattern(path: &Path) -> bool {
    Pattern::parse(path).is_ok()
}

/// Returns the paths of all members that a family of this name may have.
pub(crate) fn member_paths(pattern: &Path) -> io::Result<impl Iterator<Item = PathBuf>> {
    let pattern = Pattern::parse(pattern)?;
    Ok((0..MEMBERS_MAX).map(move |index| pattern.name(index)))
}

fn extend_to(member: &Handle, len: u64) -> io::Result<()> {
    if member.len()? < len { member.set_len(len) } else { Ok(()) }
}

/// A name with a place for a number.
#[derive(Debug, PartialEq, Eq)]
struct Pattern {
    before: String,
    after: String,
    width: usize,
    zeros: bool,
}

impl Pattern {
    /// Reads `text%05d`; exactly one number, `%%` for a percent sign.
    fn parse(path: &Path) -> io::Result<Self> {
        let text = path.to_str().ok_or_else(|| invalid("family name is not UTF-8"))?;
        let mut parts = vec![String::new()];
        let (mut width, mut zeros) = (0, false);
        let mut rest = text;
        while let Some((plain, directive)) = rest.split_once('%') {
            push(&mut parts, plain);
            if let Some(after) = directive.strip_prefix('%') {
                push(&mut parts, "%");
                rest = after;
                continue;
            }
            (width, zeros, rest) = parse_number(directive)?;
            parts.push(String::new());
        }
        push(&mut parts, rest);
        match <[String; 2]>::try_from(parts) {
            Ok([before, after]) => Ok(Pattern { before, after, width, zeros }),
            Err(_) => Err(invalid("family name needs exactly one %d")),
        }
    }

    fn name(&self, index: u64) -> PathBuf {
        let Pattern { before, after, width, zeros } = self;
        let width = *width;
        let number = if *zeros { format!("{index:0width$}") } else { format!("{index:width$}") };
        PathBuf::from(format!("{before}{number}{after}"))
    }
}

fn push(parts: &mut [String], text: &str) {
    if let Some(last) = parts.last_mut() {
        last.push_str(text);
    }
}

/// Returns what follows the `%`: an optional zero flag, an optional width of at most two digits, then `d`, `i` or `u`.
fn parse_number(directive: &str) -> io::Result<(usize, bool, &str)> {
    let end = directive.find(|c: char| !c.is_ascii_digit()).unwrap_or(directive.len());
    let (digits, rest) = directive.split_at(end);
    let rest = rest.strip_prefix(['d', 'i', 'u']).ok_or_else(|| invalid("family name needs one %d"))?;
    let width = digits.trim_start_matches('0');
    match width.len() {
        0 => Ok((0, false, rest)),
        1 | 2 => Ok((width.parse().unwrap_or(0), digits.starts_with('0'), rest)),
        _ => Err(invalid("number in a family name is too wide")),
    }
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

#[cfg(test)]
#[path = "family_tests.rs"]
mod tests;
