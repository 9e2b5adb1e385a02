//! The file that the index is in, as redb sees it.
//!
//! Three things are between redb and the file:
//!
//! - **Its head is there twice.** redb cannot open a file without its first bytes. A copy of them, with a checksum, is a
//!   sector of its own before them: both are written at once and made durable by the same sync, and where one of them is
//!   damaged the other is good. Where they differ without damage, a crash came before that sync ended, and both are
//!   states that redb goes back from to the last commit.
//! - **Reading never writes.** redb writes when it opens and closes, and more after a crash. For a reader all of that
//!   stays in memory.
//! - **A full disk does not stop redb**, which after an error takes no more calls. From the first write on that finds no
//!   space all of them wait, in their order, so that the file is as a crash would leave it; they are done before the next
//!   commit, or that one fails.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use redb::StorageBackend;

use super::medium::MediumFile;
use super::reserve::Reserve;
use crate::layout::sums;

/// What redb's files begin with.
const REDB: &[u8] = b"redb\x1a\x0a\xa9\x0d\x0a";
/// What the sector before redb's first one begins with.
const MARK: &[u8; 8] = b"HSLBIDX\x01";
/// Bytes of that sector.
const SECTOR: u64 = 4096;
/// redb's head is shorter.
const HEAD_BYTES: usize = 512;
const PAGE: u64 = 4096;

/// What a file cannot be: redb would take it for a new one.
fn no_index() -> io::Error {
    io::Error::new(ErrorKind::InvalidData, "it is not an index, or its first bytes are gone")
}

/// Whether an error says that there is no space left.
pub(super) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

/// Bytes over those of the file.
#[derive(Debug, Default)]
struct Overlay {
    pages: BTreeMap<u64, Vec<u8>>,
    /// The length, where it is not the file's.
    len: Option<u64>,
}

/// Something that redb asks for.
#[derive(Debug)]
enum Step<'a> {
    Write(u64, Cow<'a, [u8]>),
    SetLen(u64),
    Sync,
}

impl Step<'_> {
    fn into_owned(self) -> Step<'static> {
        match self {
            Step::Write(at, bytes) => Step::Write(at, Cow::Owned(bytes.into_owned())),
            Step::SetLen(len) => Step::SetLen(len),
            Step::Sync => Step::Sync,
        }
    }
}

/// The file of an index.
pub(super) struct IndexFile {
    file: Box<dyn MediumFile>,
    /// Where redb's bytes begin: older programs wrote no copy of the head.
    start: u64,
    head: Mutex<[u8; HEAD_BYTES]>,
    overlay: RwLock<Option<Overlay>>,
    /// What waits until there is space.
    waiting: Mutex<Vec<Step<'static>>>,
    /// Whether nothing is ever written to the file.
    is_read_only: bool,
    /// Space that is given up when there is no other.
    reserve: Option<Reserve>,
}

impl fmt::Debug for IndexFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IndexFile")
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The sector with the copy of a head.
fn sector(head: &[u8; HEAD_BYTES]) -> Vec<u8> {
    let mut sector = MARK.to_vec();
    sector.extend(sums::of(head).to_le_bytes());
    sector.extend(head);
    sector.resize(SECTOR as usize, 0);
    sector
}

/// The head that a sector has a copy of.
fn copy_in(sector: &[u8]) -> Option<[u8; HEAD_BYTES]> {
    let (sum, rest) = sector.strip_prefix(MARK)?.split_first_chunk()?;
    let head = rest.first_chunk::<HEAD_BYTES>()?;
    (u32::from_le_bytes(*sum) == sums::of(head)).then_some(*head)
}

fn read_head(file: &dyn MediumFile, at: u64) -> io::Result<[u8; HEAD_BYTES]> {
    let mut head = [0; HEAD_BYTES];
    let count = file.len()?.saturating_sub(at).min(HEAD_BYTES as u64) as usize;
    file.read_exact_at(&mut head[..count], at)?;
    Ok(head)
}

impl IndexFile {
    /// A new file.
    pub(super) fn create(file: Box<dyn MediumFile>) -> io::Result<IndexFile> {
        file.write_all_at(&sector(&[0; HEAD_BYTES]), 0)?;
        Ok(IndexFile::new(file, SECTOR, [0; HEAD_BYTES]))
    }

    fn new(file: Box<dyn MediumFile>, start: u64, head: [u8; HEAD_BYTES]) -> IndexFile {
        let (overlay, waiting) = (RwLock::default(), Mutex::default());
        let (head, is_read_only) = (Mutex::new(head), false);
        IndexFile { file, start, head, overlay, waiting, is_read_only, reserve: None }
    }

    /// A file that is there. Nothing is written to it before redb writes.
    fn find(file: Box<dyn MediumFile>) -> io::Result<(IndexFile, bool)> {
        let mut first = vec![0; SECTOR as usize];
        let count = file.len()?.min(SECTOR) as usize;
        file.read_exact_at(first.get_mut(..count).unwrap_or_default(), 0)?;
        let copy = copy_in(&first);
        if copy.is_none() && first.starts_with(REDB) {
            let head = read_head(&*file, 0)?;
            return Ok((IndexFile::new(file, 0, head), true));
        }
        let found = read_head(&*file, SECTOR)?;
        let head = copy.unwrap_or(found);
        match head.starts_with(REDB) {
            true => Ok((IndexFile::new(file, SECTOR, head), copy == Some(found))),
            false => Err(no_index()),
        }
    }

    /// A file to read: what redb writes stays in memory.
    pub(super) fn open_to_read(file: Box<dyn MediumFile>) -> io::Result<IndexFile> {
        let (mut file, _) = IndexFile::find(file)?;
        file.is_read_only = true;
        let head = lock(&file.head).to_vec();
        let mut overlay = Overlay::default();
        overlay.write(&file, 0, &head)?;
        *file.overlay.write().unwrap_or_else(PoisonError::into_inner) = Some(overlay);
        Ok(file)
    }

    /// A file to write; a head that is damaged is made good.
    pub(super) fn open_to_write(file: Box<dyn MediumFile>, reserve: Reserve) -> io::Result<IndexFile> {
        let (mut file, is_whole) = IndexFile::find(file)?;
        file.reserve = Some(reserve);
        if !is_whole {
            let head = *lock(&file.head);
            file.write_file(0, &head)?;
            file.file.sync_data()?;
        }
        Ok(file)
    }

    /// The bytes of the file itself; what lies behind its end is zeros.
    fn read_file(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        let len = self.file.len()?.saturating_sub(self.start);
        let count = len.saturating_sub(at).min(into.len() as u64) as usize;
        let (held, behind) = into.split_at_mut(count);
        behind.fill(0);
        self.file.read_exact_at(held, self.start + at)
    }

    /// Writes to the file, and with the head its copy.
    fn write_file(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, self.start + at)?;
        if at >= HEAD_BYTES as u64 || self.start == 0 {
            return Ok(());
        }
        let mut head = lock(&self.head);
        let at = at as usize;
        let count = bytes.len().min(HEAD_BYTES - at);
        head[at..at + count].copy_from_slice(&bytes[..count]);
        self.file.write_all_at(&sector(&head), 0)
    }

    fn run(&self, step: &Step<'_>) -> io::Result<()> {
        match step {
            Step::Write(at, bytes) => self.write_file(*at, bytes),
            Step::SetLen(len) => self.file.set_len(self.start + len),
            Step::Sync => self.file.sync_data(),
        }
    }

    /// Does a step with the space that was kept for it, where there is no other.
    fn run_with_reserve(&self, step: &Step<'_>) -> io::Result<()> {
        match self.run(step) {
            Err(error) if is_full(&error) && self.reserve.as_ref().is_some_and(Reserve::release) => {
                self.run(step)
            }
            other => other,
        }
    }

    /// Does a step, or lets it wait.
    fn step(&self, step: Step<'_>) -> io::Result<()> {
        if self.is_read_only {
            return self.note(&step);
        }
        let mut waiting = lock(&self.waiting);
        if waiting.is_empty() {
            match self.run_with_reserve(&step) {
                Err(error) if is_full(&error) => {}
                other => return other,
            }
        }
        self.note(&step)?;
        waiting.push(step.into_owned());
        Ok(())
    }

    /// Keeps the result of a step in memory.
    fn note(&self, step: &Step<'_>) -> io::Result<()> {
        let mut overlay = self.overlay.write().unwrap_or_else(PoisonError::into_inner);
        let overlay = overlay.get_or_insert_default();
        match step {
            Step::Write(at, bytes) => overlay.write(self, *at, bytes),
            Step::SetLen(len) => {
                overlay.cut(*len);
                Ok(())
            }
            Step::Sync => Ok(()),
        }
    }

    /// Does what waits; an error says that there is still no space.
    pub(super) fn drain(&self) -> io::Result<()> {
        let mut waiting = lock(&self.waiting);
        if waiting.is_empty() {
            return Ok(());
        }
        // A step may be done twice: it does the same again.
        waiting.iter().try_for_each(|step| self.run_with_reserve(step))?;
        *self.overlay.write().unwrap_or_else(PoisonError::into_inner) = None;
        waiting.clear();
        Ok(())
    }

    /// The length that redb sees.
    fn len_with(&self, overlay: Option<&Overlay>) -> io::Result<u64> {
        match overlay.and_then(|overlay| overlay.len) {
            Some(len) => Ok(len),
            None => Ok(self.file.len()?.saturating_sub(self.start)),
        }
    }
}

impl Overlay {
    fn write(&mut self, file: &IndexFile, at: u64, bytes: &[u8]) -> io::Result<()> {
        let (mut at, mut rest) = (at, bytes);
        while !rest.is_empty() {
            let (page, offset) = (at / PAGE, (at % PAGE) as usize);
            let (now, later) = rest.split_at(rest.len().min(PAGE as usize - offset));
            let held = match self.pages.entry(page) {
                std::collections::btree_map::Entry::Occupied(held) => held.into_mut(),
                std::collections::btree_map::Entry::Vacant(place) => {
                    let mut held = vec![0; PAGE as usize];
                    file.read_file(page * PAGE, &mut held)?;
                    place.insert(held)
                }
            };
            held[offset..offset + now.len()].copy_from_slice(now);
            (at, rest) = (at + now.len() as u64, later);
        }
        let len = file.len_with(Some(self))?.max(at);
        self.len = Some(len);
        Ok(())
    }

    fn cut(&mut self, len: u64) {
        // What is cut off and grown again is zeros.
        self.pages.retain(|page, _| page * PAGE < len);
        if let Some(last) = self.pages.get_mut(&(len / PAGE)) {
            last[(len % PAGE) as usize..].fill(0);
        }
        self.len = Some(len);
    }

    fn read(&self, file: &IndexFile, at: u64, into: &mut [u8]) -> io::Result<()> {
        let end = at + into.len() as u64;
        if end > file.len_with(Some(self))? {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        file.read_file(at, into)?;
        for (page, held) in self.pages.range(at / PAGE..end.div_ceil(PAGE)) {
            let (from, to) = ((page * PAGE).max(at), ((page + 1) * PAGE).min(end));
            let held = &held[(from - page * PAGE) as usize..(to - page * PAGE) as usize];
            into[(from - at) as usize..(to - at) as usize].copy_from_slice(held);
        }
        Ok(())
    }
}

/// redb has a handle of its own.
#[derive(Clone, Debug)]
pub(super) struct Backend(pub(super) Arc<IndexFile>);

impl StorageBackend for Backend {
    fn len(&self) -> io::Result<u64> {
        let overlay = self.0.overlay.read().unwrap_or_else(PoisonError::into_inner);
        self.0.len_with(overlay.as_ref())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let overlay = self.0.overlay.read().unwrap_or_else(PoisonError::into_inner);
        match overlay.as_ref() {
            Some(overlay) => overlay.read(&self.0, offset, out),
            None => self.0.file.read_exact_at(out, self.0.start + offset),
        }
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.step(Step::SetLen(len))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.step(Step::Sync)
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.step(Step::Write(offset, Cow::Borrowed(data)))
    }

    fn close(&self) -> io::Result<()> {
        self.0.drain()
    }
}
