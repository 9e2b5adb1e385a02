//! The redo record: what a commit is about to overwrite, past the end of the file.
//!
//! ```text
//! "HSLREDO1" | record bytes u64 | end of file u64 | entries u64
//! entry:  offset u64 | bytes u64 | sectors u64 | for each: checksum of what was there u64 | data
//! tail:   checksum of all before u64 | offset of the record u64 | "HSLREDOE"
//! ```
//!
//! The tail is the last thing in the file. A record is replayed only if its checksum holds, and if no structure that it
//! overwrites is whole and yet neither what was there before nor what the record brings: another writer's changes are
//! not undone. (A structure that is not whole was being written when power failed.)

use files::Handle;
use model::bytes::{Cursor, Put};
use model::{Error, Limits, Result, Within};
use vol::crew;

use super::io;
use crate::format::checksum::lookup3;
use crate::head::Head;

const HEAD: &[u8; 8] = b"HSLREDO1";
const TAIL: &[u8; 8] = b"HSLREDOE";
/// Entries whose old content one core reads before it takes more.
const ENTRIES_AT_ONCE: usize = 256;
const HEAD_BYTES: u64 = 32;
const TAIL_BYTES: u64 = 24;

/// Bytes that a commit puts in a place that was in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) at: u64,
    pub(crate) data: Vec<u8>,
}

/// A record, made or found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Redo {
    /// End of the file after the commit; the record stands at or after it.
    pub(crate) end: u64,
    pub(crate) entries: Vec<Entry>,
    /// For each entry, checksums of what was in its sectors before.
    before: Vec<Vec<u64>>,
}

/// Two 32-bit checksums as one of 64 bits: torn records must not pass by chance.
fn checksum(bytes: &[u8]) -> u64 {
    u64::from(lookup3(bytes, 0)) << 32 | u64::from(lookup3(bytes, 0x9E37_79B9))
}

/// Reads a place; what lies past the end of the file reads as nothing.
fn read(file: &Handle, at: u64, len: usize) -> Result<Vec<u8>> {
    read_before(file, io(file.len(), "get size of file")?, at, len)
}

/// The same, where the length of the file is known.
fn read_before(file: &Handle, end: u64, at: u64, len: usize) -> Result<Vec<u8>> {
    let have = end.saturating_sub(at);
    let mut bytes = vec![0; len.min(usize::try_from(have).unwrap_or(usize::MAX))];
    io(file.read_at(at, &mut bytes), "read file")?;
    Ok(bytes)
}

impl Redo {
    pub(crate) fn new(file: &Handle, entries: Vec<Entry>, end: u64) -> Result<Redo> {
        let len = io(file.len(), "get size of file")?;
        let sums = |e: &Entry| {
            let old = read_before(file, len, e.at, e.data.len())?;
            Ok(sectors(e.at, &old).map(checksum).collect())
        };
        // Many small ones are read by all cores.
        let shares = entries.chunks(ENTRIES_AT_ONCE).collect();
        let before = crew::map(shares, |share: &[Entry]| share.iter().map(sums).collect::<Result<Vec<_>>>())?;
        Ok(Redo { end, before: before.concat(), entries })
    }

    fn encode(&self, at: u64) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend_from_slice(HEAD);
        for field in [0, self.end, self.entries.len() as u64] {
            out.put_uint(field, 8);
        }
        for (entry, before) in self.entries.iter().zip(&self.before) {
            let head = [entry.at, entry.data.len() as u64, before.len() as u64];
            head.iter().chain(before).for_each(|field| out.put_uint(*field, 8));
            out.extend_from_slice(&entry.data);
        }
        let bytes = out.len() as u64 + TAIL_BYTES;
        out[8..16].copy_from_slice(&bytes.to_le_bytes());
        let sum = checksum(&out);
        out.put_uint(sum, 8);
        out.put_uint(at, 8);
        out.extend_from_slice(TAIL);
        out
    }

    /// Writes the record at the end of the file; the file ends with it.
    pub(crate) fn store(&self, file: &Handle) -> Result<()> {
        let at = self.place();
        let record = self.encode(at);
        // An older, longer record or fresh bytes given up again may stand behind.
        io(file.set_len(at), "place redo record")?;
        io(file.write_at(at, &record), "write redo record")
    }

    /// Where the record stands.
    fn place(&self) -> u64 {
        self.end.next_multiple_of(8)
    }

    /// Takes back a record that was not stored whole.
    pub(super) fn withdraw(&self, file: &Handle) -> Result<()> {
        match io(file.len(), "get size of file")? > self.place() {
            true => io(file.set_len(self.place()), "take back redo record"),
            false => Ok(()),
        }
    }

    /// Puts every entry in its place, the first one first.
    pub(crate) fn publish(&self, file: &Handle) -> Result<()> {
        self.entries.iter().try_for_each(|e| io(file.write_at(e.at, &e.data), "publish commit"))
    }

    /// The record that a file ends with, if it is whole.
    pub(crate) fn find(file: &Handle, head: &Head, limits: &Limits) -> Result<Option<Redo>> {
        let Some(tail_at) = head.len.checked_sub(TAIL_BYTES) else { return Ok(None) };
        let tail = io(head.read_at(file, tail_at, TAIL_BYTES as usize), "read file")?;
        let mut c = Cursor::new(&tail, "redo record");
        let (sum, at) = (c.u64()?, c.u64()?);
        if c.rest() != TAIL || at.checked_add(HEAD_BYTES).is_none_or(|start| start > tail_at) {
            return Ok(None);
        }
        if read(file, at, HEAD.len())? != HEAD {
            return Ok(None);
        }
        // It holds elements too, and those of a large dataset: metadata's bound would be too small.
        let bytes = read(file, at, (tail_at - at).within(limits.chunk_bytes_max, "redo record")?)?;
        if checksum(&bytes) != sum {
            return Ok(None);
        }
        Redo::decode(&bytes, at, tail_at + TAIL_BYTES - at).map(Some)
    }

    /// A record of `record_bytes` that stands at `place`: it brings nothing to where it is itself, nor behind.
    fn decode(bytes: &[u8], place: u64, record_bytes: u64) -> Result<Redo> {
        let mut c = Cursor::new(bytes, "redo record");
        c.signature(HEAD)?;
        let (stated, end, count) = (c.u64()?, c.u64()?, c.u64()?);
        if stated != record_bytes || end > place {
            return Err(c.corrupt("size does not match"));
        }
        let (mut entries, mut before) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let (at, len, sums) = (c.u64()?, c.u64()?, c.u64()?);
            before.push((0..sums).map(|_| c.u64()).collect::<Result<_>>()?);
            if at.checked_add(len).is_none_or(|stop| stop > place) {
                return Err(c.corrupt("entry beyond the end of the file"));
            }
            let len = usize::try_from(len).unwrap_or(usize::MAX);
            entries.push(Entry { at, data: c.take(len)?.to_vec() });
        }
        Ok(Redo { end, entries, before })
    }

    /// Whether nobody else wrote over what the commit overwrites.
    pub(crate) fn applies(&self, file: &Handle) -> Result<bool> {
        for (entry, before) in self.entries.iter().zip(&self.before) {
            let there = read(file, entry.at, entry.data.len())?;
            let mut pairs = sectors(entry.at, &there).zip(sectors(entry.at, &entry.data));
            let mut sums = before.iter();
            let is_known = pairs.all(|(now, new)| {
                let was_there = sums.next().is_some_and(|sum| *sum == checksum(now));
                was_there || now == new
            });
            if !is_known && is_whole(&entry.data) && is_whole(&there) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Replays the record and cuts it off: the file is as its commit promised.
    pub(crate) fn replay(&self, file: &Handle) -> Result<()> {
        self.publish(file)?;
        io(file.sync(files::Sync::Data), "sync file")?;
        // Where the cut is lost, the record is replayed again, to no other effect.
        io(file.set_len(self.end), "cut off redo record")
    }

    /// An error for a file that somebody else changed after the commit was cut short.
    pub(crate) fn foreign(&self) -> Error {
        Error::corrupt("recover commit")
            .with("problem", "another program changed the file after the commit was cut short")
    }
}

/// Whether bytes end with their own checksum, as headers and superblocks do from version 2 on.
fn is_whole(bytes: &[u8]) -> bool {
    let Some((body, sum)) = bytes.split_last_chunk::<4>() else { return false };
    !body.is_empty() && u32::from_le_bytes(*sum) == lookup3(body, 0)
}

/// Storage writes sectors whole; a larger write that is cut short leaves some of each.
const SECTOR_BYTES: u64 = 512;

/// The parts of `data`, which stands at `at`, by the sectors they are in.
fn sectors(at: u64, data: &[u8]) -> impl Iterator<Item = &[u8]> {
    let first = (SECTOR_BYTES - at % SECTOR_BYTES).min(data.len() as u64) as usize;
    let (head, rest) = data.split_at(first);
    std::iter::once(head).chain(rest.chunks(SECTOR_BYTES as usize))
}
