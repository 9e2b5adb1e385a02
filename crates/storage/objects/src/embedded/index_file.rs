//! The file that the index is in, as redb sees it.
//!
//! Three things are between redb and the file:
//!
//! - **Its head is there twice.** redb cannot open a file without its first bytes. Instead of redb's first page the file
//!   has two sectors, each with these bytes, a number that grows and a checksum; the one with the higher number counts.
//!   What redb writes goes to one of them. Only when it is durable the other one becomes the same, and the next head goes
//!   there: so one of both is always durable and of the last commit, and noise in any sector loses nothing.
//! - **Reading never writes.** redb writes when it opens and closes, and more after a crash. For a reader all of that
//!   stays in memory.
//! - **A full disk does not stop redb**, which after an error takes no more calls. From the first write on that finds no
//!   space all of them wait, in their order, so that the file is as a crash would leave it; they are done before the next
//!   commit, or that one fails.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, ErrorKind};
use std::sync::Arc;

use redb::StorageBackend;
use system::sync::{Mutex, MutexGuard, RwLock};

use super::medium::MediumFile;
use super::pages;
use super::reserve::Reserve;
use crate::layout::sums;

/// The signature of redb's files.
const REDB: &[u8] = b"redb\x1a\x0a\xa9\x0d\x0a";
/// The signature of the head's sectors.
const MARK: &[u8; 8] = b"HSLBIDX\x01";
/// Bytes of such a sector.
const SECTOR: u64 = 4096;
/// redb's head is shorter.
const HEAD_BYTES: usize = 512;
const PAGE: u64 = 4096;

/// Returns what a file cannot be: redb would take it for a new one.
fn no_index() -> io::Error {
    io::Error::new(ErrorKind::InvalidData, "it is not an index, or its first bytes are gone")
}

/// Returns whether an error says that there is no space left.
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
    /// How far behind redb's places the file's are; 0 in a file of an older program, which is redb's own.
    start: u64,
    head: Mutex<Head>,
    overlay: RwLock<Option<Overlay>>,
    /// Steps that wait until there is space.
    waiting: Mutex<Vec<Step<'static>>>,
    /// Whether nothing is ever written to the file.
    is_read_only: bool,
    /// Space that is given up when there is no other.
    reserve: Option<Reserve>,
    /// Where it refers to pages that are larger than itself.
    tables: Vec<u64>,
}

impl fmt::Debug for IndexFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IndexFile")
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

/// The first bytes of redb's file, which are in two sectors.
#[derive(Clone, Copy, Debug)]
struct Head {
    bytes: [u8; HEAD_BYTES],
    /// Grows with every change.
    number: u64,
    /// Which sector may be written: the other one is durable.
    sector: u64,
    /// Whether that one was written since the last sync.
    is_dirty: bool,
}

impl Head {
    const NEW: Head = Head { bytes: [0; HEAD_BYTES], number: 0, sector: 0, is_dirty: false };

    fn encode(&self) -> Vec<u8> {
        let mut covered = self.number.to_le_bytes().to_vec();
        covered.extend(self.bytes);
        let mut sector = MARK.to_vec();
        sector.extend(sums::of(&covered).to_le_bytes());
        sector.extend(covered);
        sector.resize(SECTOR as usize, 0);
        sector
    }

    /// Returns the head in a sector, if it is whole. The other sector may be written then.
    fn decode(sectors: &[u8], sector: u64) -> Option<Head> {
        let stored = sectors.get((sector * SECTOR) as usize..)?.strip_prefix(MARK)?;
        let (sum, rest) = stored.split_first_chunk()?;
        let covered = rest.get(..8 + HEAD_BYTES)?;
        let (number, bytes) = covered.split_first_chunk()?;
        let is_whole = u32::from_le_bytes(*sum) == sums::of(covered);
        let (number, bytes) = (u64::from_le_bytes(*number), *bytes.first_chunk()?);
        is_whole.then_some(Head { bytes, number, sector: 1 - sector, is_dirty: false })
    }

    /// Returns the newest head of a file.
    fn find(sectors: &[u8]) -> Option<Head> {
        let both = [0, 1].into_iter().filter_map(|sector| Head::decode(sectors, sector));
        both.max_by_key(|head| head.number)
    }

    /// Writes the sector that may be written.
    fn write(&self, file: &dyn MediumFile) -> io::Result<()> {
        file.write_all_at(&self.encode(), self.sector * SECTOR)
    }
}

impl IndexFile {
    /// Returns a new file.
    pub(super) fn create(file: Box<dyn MediumFile>) -> io::Result<IndexFile> {
        Head::NEW.write(&*file)?;
        Ok(IndexFile::new(file, SECTOR, Head::NEW))
    }

    fn new(file: Box<dyn MediumFile>, start: u64, head: Head) -> IndexFile {
        let (overlay, waiting) = (RwLock::default(), Mutex::default());
        let (head, is_read_only) = (Mutex::new(head), false);
        IndexFile { file, start, head, overlay, waiting, is_read_only, reserve: None, tables: Vec::new() }
    }

    /// Returns a file that is there. Nothing is written to it.
    fn find(file: Box<dyn MediumFile>) -> io::Result<IndexFile> {
        let mut sectors = vec![0; 2 * SECTOR as usize];
        let count = file.len()?.min(2 * SECTOR) as usize;
        file.read_exact_at(sectors.get_mut(..count).unwrap_or_default(), 0)?;
        let mut found = match Head::find(&sectors) {
            Some(head) if head.bytes.starts_with(REDB) => IndexFile::new(file, SECTOR, head),
            None if sectors.starts_with(REDB) => IndexFile::new(file, 0, Head::NEW),
            _ => return Err(no_index()),
        };
        let mut head = [0; HEAD_BYTES];
        found.read_file(0, &mut head)?;
        found.tables = pages::tables(&head, found.len_with(None)?, |at, page| found.read_file(at, page))?;
        Ok(found)
    }

    /// Returns a file to read: what redb writes stays in memory.
    pub(super) fn open_to_read(file: Box<dyn MediumFile>) -> io::Result<IndexFile> {
        let mut file = IndexFile::find(file)?;
        file.is_read_only = true;
        *file.overlay.write() = Some(Overlay::default());
        Ok(file)
    }

    /// Returns a file to write; a sector of its head that is damaged is made good.
    pub(super) fn open_to_write(file: Box<dyn MediumFile>, reserve: Reserve) -> io::Result<IndexFile> {
        let mut file = IndexFile::find(file)?;
        file.reserve = Some(reserve);
        if file.start > 0 {
            lock(&file.head).write(&*file.file)?;
        }
        Ok(file)
    }

    /// The bytes of the file itself; what lies behind its end is zeros.
    fn read_file(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        let in_head =
            if self.start == 0 { 0 } else { PAGE.saturating_sub(at).min(into.len() as u64) as usize };
        let (first, rest) = into.split_at_mut(in_head);
        self.read_head(at, first);
        let at = at + in_head as u64;
        let len = self.file.len()?.saturating_sub(self.start);
        let count = len.saturating_sub(at).min(rest.len() as u64) as usize;
        let (held, behind) = rest.split_at_mut(count);
        behind.fill(0);
        if held.is_empty() { Ok(()) } else { self.file.read_exact_at(held, self.start + at) }
    }

    /// Bytes of redb's first page, of which only the head is stored.
    fn read_head(&self, at: u64, into: &mut [u8]) {
        into.fill(0);
        let head = lock(&self.head);
        let held = head.bytes.get(at as usize..).unwrap_or_default();
        into.iter_mut().zip(held).for_each(|(byte, held)| *byte = *held);
    }

    /// Writes to the file. Of redb's first page there is nothing but the head.
    fn write_file(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        if at >= PAGE || self.start == 0 {
            return self.file.write_all_at(bytes, self.start + at);
        }
        let mut head = lock(&self.head);
        let mut new = Head { number: head.number + 1, is_dirty: true, ..*head };
        let buffer = new.bytes.get_mut(at as usize..).unwrap_or_default();
        buffer.iter_mut().zip(bytes).for_each(|(byte, new)| *byte = *new);
        new.write(&*self.file)?;
        *head = new;
        Ok(())
    }

    /// Makes all durable; then the other sector of the head becomes the same.
    fn sync_file(&self) -> io::Result<()> {
        self.file.sync_data()?;
        let mut head = lock(&self.head);
        if head.is_dirty {
            *head = Head { sector: 1 - head.sector, is_dirty: false, ..*head };
            head.write(&*self.file)?;
        }
        Ok(())
    }

    fn run(&self, step: &Step<'_>) -> io::Result<()> {
        match step {
            Step::Write(at, bytes) => self.write_file(*at, bytes),
            Step::SetLen(len) => self.file.set_len(self.start + len),
            Step::Sync => self.sync_file(),
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
        let mut overlay = self.overlay.write();
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
        *self.overlay.write() = None;
        waiting.clear();
        Ok(())
    }

    /// Returns the length that redb sees.
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
        let overlay = self.0.overlay.read();
        self.0.len_with(overlay.as_ref())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let overlay = self.0.overlay.read();
        match overlay.as_ref() {
            Some(overlay) => overlay.read(&self.0, offset, out)?,
            None if offset >= PAGE || self.0.start == 0 => {
                self.0.file.read_exact_at(out, self.0.start + offset)?;
            }
            None => self.0.read_file(offset, out)?,
        }
        pages::defuse(out, offset, self.0.len_with(overlay.as_ref())?, &self.0.tables);
        Ok(())
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
