//! The redo record: what a commit is about to overwrite, past the end of the file.
//!
//! ```text
//! "HSLREDO2" | record bytes u64 | stored end of file u64 | end of file u64 | salt 16 | entries u64
//! entry:  offset u64 | bytes u64 | sectors u64 | for each: checksum of what was there u64 | data
//! tail:   checksum of all before u64 | offset of the record u64 | "HSLREDOE"
//! ```
//!
//! A record with bytes that wait in the file ([`journal`](super::journal)) begins with "HSLREDO3", and has behind its entries
//!
//! ```text
//! entries that are published before u64 | ranges u64 | for each: offset u64, bytes u64, checksum u64
//! moves u64 | for each: to u64, from u64, bytes u64
//! ```
//!
//! The tail is the last thing in the file. Elements are written past the stored end too, before they are committed, and a
//! crash may leave them there: bytes that look like a record must not become one. The first [`RESERVED_BYTES`] past the stored
//! end are therefore never written but here ([`reserved`]). A commit that does not grow the file has its record there. One that
//! does has the salt there, random bytes of this one commit, and the same salt in its record:
//!
//! ```text
//! "HSLSALT2" | stored end of file u64 | salt 16 | checksum of all before u64 | the salt again, 24
//! ```
//!
//! What decides is the superblock. If it states the end before the commit, the salt in the file must be that of the record,
//! or something else was already published over it. If it states the end after the commit, the record stands right behind it.
//! A commit that makes the file shorter has its record behind the old end, and its salt behind the new one, where nothing is
//! in use before or after it. If the superblock states the end after such a commit, that salt must be there.
//! If it states another end, the record is not one of this file as it is. If the superblock is not whole, publishing had
//! begun, and the record, which has the new superblock, was stored.
//!
//! A record is replayed only if, besides, its checksum holds, and if no structure that it overwrites is whole and yet neither
//! what was there before nor what the record brings: another writer's changes are not undone. (A structure that is not whole
//! was being written when power failed.)
//!
//! Records of version 1 have no salt. They are replayed only where publishing had begun with the superblock.

use algorithms::thread_pool;
use files::Handle;
use model::bytes::Put;
use model::{Error, Limits, Result, Within};

use super::claim::{Claim, Tail};
use super::io;
use super::journal::{self, Move};
use super::moves::Moves;
use crate::format::checksum::{lookup3, lookup3_each};
use crate::head::Head;

pub(super) const HEAD: &[u8; 8] = b"HSLREDO2";
pub(super) const HEAD_V3: &[u8; 8] = b"HSLREDO3";
pub(super) const HEAD_V1: &[u8; 8] = b"HSLREDO1";
pub(super) const SALT: &[u8; 8] = b"HSLSALT2";
pub(super) const TAIL: &[u8; 8] = b"HSLREDOE";
/// Entries whose old content one core reads before it takes more.
const ENTRIES_AT_ONCE: usize = 256;
pub(super) const HEAD_BYTES: u64 = 56;
pub(super) const HEAD_V1_BYTES: u64 = 32;
/// Bytes past the stored end that only a commit writes.
pub(crate) const RESERVED_BYTES: u64 = 64;
pub(super) const TAIL_BYTES: u64 = 24;

/// Bytes that a commit puts in a place that was in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RedoEntry {
    pub(crate) at: u64,
    pub(crate) data: Vec<u8>,
}

/// Random bytes that nothing that is stored can hold before the commit.
pub(crate) type SaltBytes = [u8; 16];

/// A record, made or found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Redo {
    /// End of the file before the commit.
    pub(super) start: u64,
    /// End of the file after the commit; the record stands at or after it.
    pub(crate) end: u64,
    pub(super) salt: SaltBytes,
    pub(crate) entries: Vec<RedoEntry>,
    /// For each entry, checksums of what was in its sectors before.
    pub(super) before: Vec<Vec<u64>>,
    pub(super) moves: Moves,
}

/// Two 32-bit checksums as one of 64 bits: torn records must not pass by chance.
pub(super) fn checksum(bytes: &[u8]) -> u64 {
    let [high, low] = lookup3_each(bytes, [0, 0x9E37_79B9]);
    u64::from(high) << 32 | u64::from(low)
}

/// Returns the range past a stored end that only a commit writes.
pub(crate) fn reserved(stored_end: u64) -> std::ops::Range<u64> {
    let start = stored_end.next_multiple_of(8);
    start..start.saturating_add(RESERVED_BYTES)
}

/// Returns where the record of a commit stands that moves the end of the file from `start` to `end`.
pub(super) fn place(start: u64, end: u64) -> u64 {
    let (reserved, end) = (reserved(start), end.next_multiple_of(8));
    if end <= reserved.start { reserved.start } else { end.max(reserved.end) }
}

/// Returns the salt of a new commit, which elements cannot foresee.
pub(super) fn random_salt() -> SaltBytes {
    system::random::unique()
}

/// Returns what stands in the reserved bytes while a commit is stored.
pub(super) fn encode_salt(stored_end: u64, salt: &SaltBytes) -> Vec<u8> {
    let mut out = SALT.to_vec();
    out.put_uint(stored_end, 8);
    out.extend_from_slice(salt);
    let sum = checksum(&out);
    out.put_uint(sum, 8);
    out.extend_from_slice(salt);
    out.extend_from_slice(&salt[..8]);
    out
}

/// Reads a place; what lies past the end of the file reads as nothing.
pub(super) fn read(file: &Handle, at: u64, len: usize) -> Result<Vec<u8>> {
    read_before(file, io(file.bytes_end(at), "get size of file")?, at, len)
}

/// Returns one past the last offset of the member that has the superblock: records are past the end of that member.
pub(super) fn first_end(file: &Handle) -> u64 {
    file.members().map_or(u64::MAX, |members| members.first().end)
}

/// Returns up to `len` bytes from `at` on, fewer if the file or member ends before, at `end`.
fn read_before(file: &Handle, end: u64, at: u64, len: usize) -> Result<Vec<u8>> {
    let have = end.saturating_sub(at);
    let mut bytes = vec![0; len.min(usize::try_from(have).unwrap_or(usize::MAX))];
    io(file.read_at(at, &mut bytes), "read file")?;
    Ok(bytes)
}

impl Redo {
    /// Returns the record of a commit that moves the end of the file from the first of `ends` to the second.
    pub(crate) fn new(
        file: &Handle,
        entries: Vec<RedoEntry>,
        salt: SaltBytes,
        ends: (u64, u64),
    ) -> Result<Redo> {
        let (len, first_end) = (io(file.len(), "get size of file")?, first_end(file));
        let sums = |e: &RedoEntry| {
            let old = match e.at < first_end {
                true => read_before(file, len, e.at, e.data.len())?,
                false => read(file, e.at, e.data.len())?,
            };
            Ok(sectors(e.at, &old).map(checksum).collect())
        };
        // Many small ones are read by all cores.
        let share_len = if file.is_serial() { entries.len().max(1) } else { ENTRIES_AT_ONCE };
        let shares = entries.chunks(share_len).collect();
        let before = thread_pool::map(shares, |share: &[RedoEntry]| {
            share.iter().map(sums).collect::<Result<Vec<_>>>()
        })?;
        Ok(Redo {
            start: ends.0,
            end: ends.1,
            salt,
            before: before.concat(),
            entries,
            moves: Moves::default(),
        })
    }

    fn encode(&self, at: u64) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend_from_slice(if self.moves.all.is_empty() { HEAD } else { HEAD_V3 });
        for field in [0, self.start, self.end] {
            out.put_uint(field, 8);
        }
        out.extend_from_slice(&self.salt);
        out.put_uint(self.entries.len() as u64, 8);
        for (entry, before) in self.entries.iter().zip(&self.before) {
            let head = [entry.at, entry.data.len() as u64, before.len() as u64];
            head.iter().chain(before).for_each(|field| out.put_uint(*field, 8));
            out.extend_from_slice(&entry.data);
        }
        self.moves.encode(&mut out);
        let bytes = self.bytes();
        out[8..16].copy_from_slice(&bytes.to_le_bytes());
        let sum = checksum(&out);
        out.put_uint(sum, 8);
        out.put_uint(at, 8);
        out.extend_from_slice(TAIL);
        out
    }

    /// Returns the number of bytes of the record.
    pub(crate) fn bytes(&self) -> u64 {
        let entry =
            |(entry, before): (&RedoEntry, &Vec<u64>)| 24 + 8 * before.len() as u64 + entry.data.len() as u64;
        let entries = self.entries.iter().zip(&self.before).map(entry).sum::<u64>();
        HEAD_BYTES + entries + self.moves.bytes() + TAIL_BYTES
    }

    /// Writes the salt, and the record at the end of the file; the file ends with it.
    pub(crate) fn store(&self, file: &Handle) -> Result<()> {
        let at = self.place();
        let record = self.encode(at);
        // An older, longer record or fresh bytes given up again may stand behind.
        io(file.set_len(at), "place redo record")?;
        if self.is_salted() {
            let salt = encode_salt(self.start, &self.salt);
            io(file.write_at(reserved(self.start).start, &salt), "write salt of redo record")?;
        }
        if self.shrinks() {
            let salt = encode_salt(self.end, &self.salt);
            io(file.write_at(reserved(self.end).start, &salt), "write salt of redo record")?;
        }
        io(file.write_at(at, &record), "write redo record")
    }

    /// Returns where the record stands.
    fn place(&self) -> u64 {
        place(self.start, self.end)
    }

    /// Returns whether the file is shorter after the commit.
    fn shrinks(&self) -> bool {
        self.end < self.start
    }

    /// Returns whether the record does not stand in the reserved range itself.
    fn is_salted(&self) -> bool {
        self.place() >= reserved(self.start).end
    }

    /// Returns whether the superblock must be durable before anything else is published: zeros in the place of the salt would look as
    /// if there never was one.
    pub(crate) fn needs_superblock_first(&self) -> bool {
        let reserved = reserved(self.start);
        let is_zero = |e: &RedoEntry| {
            let inside =
                |at: u64| usize::try_from(at.saturating_sub(e.at)).unwrap_or(usize::MAX).min(e.data.len());
            e.data[inside(reserved.start)..inside(reserved.end)].iter().all(|&b| b == 0)
        };
        self.is_salted() && self.entries.iter().all(is_zero)
    }

    /// Takes back a record that was not stored whole.
    pub(super) fn withdraw(&self, file: &Handle) -> Result<()> {
        match io(file.len(), "get size of file")? > self.place() {
            true => io(file.set_len(self.place()), "take back redo record"),
            false => Ok(()),
        }
    }

    /// Puts the superblock in its place.
    pub(crate) fn publish_superblock(&self, file: &Handle) -> Result<()> {
        self.entries.iter().take(1).try_for_each(|e| publish(file, e))
    }

    /// Puts every other entry in its place, in their order.
    pub(crate) fn publish_rest(&self, file: &Handle) -> Result<()> {
        let (before, after) =
            self.entries.split_at(self.moves.after.clamp(1.min(self.entries.len()), self.entries.len()));
        before.iter().skip(1).try_for_each(|e| publish(file, e))?;
        self.moves.all.iter().try_for_each(|moved| io(journal::publish(file, moved), "publish commit"))?;
        after.iter().try_for_each(|e| publish(file, e))
    }

    /// Returns the record that a file ends with, if it is whole and one of this file. `stored_end` is what the superblock states; `None`
    /// if that is not whole. Bytes that look like a record and are none are left alone, with a warning.
    pub(crate) fn find(
        file: &Handle,
        head: &Head,
        stored_end: Option<u64>,
        limits: &Limits,
        warnings: &mut Vec<String>,
    ) -> Result<Option<Redo>> {
        let Some(tail) = Tail::read(file, head)? else { return Ok(None) };
        let claim = Claim::read(file, &tail)?.ok_or("it has no head");
        let claim = claim.and_then(|claim| claim.check(file, stored_end, &tail).map(|()| claim));
        let claim = match claim {
            Ok(claim) => claim,
            Err(problem) => {
                warnings.push(format!(
                    "the file ends with what looks like a redo record; it is left alone: {problem}"
                ));
                return Ok(None);
            }
        };
        // It is as large as a commit of this library may be: a reader with less refuses the file rather than half a commit.
        let bytes =
            read(file, tail.at, (tail.tail_at - tail.at).within(limits.redo_bytes_max, "redo record")?)?;
        if checksum(&bytes) != tail.sum {
            return Ok(None);
        }
        claim.decode(&bytes, tail.at..first_end(file)).map(Some)
    }

    /// Returns whether no other caller wrote over what the commit overwrites.
    pub(crate) fn applies(&self, file: &Handle) -> Result<bool> {
        for extent in &self.moves.extents {
            if !io(extent.is_whole(file), "read journal")? {
                return Ok(false);
            }
        }
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

    /// Returns whether bytes wait in the file that the commit brings to their places.
    pub(crate) fn has_moves(&self) -> bool {
        !self.moves.all.is_empty()
    }

    pub(crate) fn moves(&self) -> &[Move] {
        &self.moves.all
    }

    /// Replays the record and cuts it off: the file is as its commit promised.
    pub(crate) fn replay(&self, file: &Handle) -> Result<()> {
        self.publish_superblock(file)?;
        if self.needs_superblock_first() {
            io(file.sync(files::Sync::Data), "sync file")?;
        }
        self.publish_rest(file)?;
        io(file.sync(files::Sync::Data), "sync file")?;
        // Where the cut is lost, the record is replayed again, to no other effect.
        io(file.set_len(self.end), "cut off redo record")
    }

    /// Returns an error for a file that another caller changed after the commit was cut short.
    pub(crate) fn foreign(&self) -> Error {
        Error::corrupt("recover commit")
            .with("problem", "another program changed the file after the commit was cut short")
    }
}

fn publish(file: &Handle, entry: &RedoEntry) -> Result<()> {
    io(file.write_at(entry.at, &entry.data), "publish commit")
}

/// Returns whether bytes end with their own checksum, as headers and superblocks do from version 2 on.
fn is_whole(bytes: &[u8]) -> bool {
    let Some((body, sum)) = bytes.split_last_chunk::<4>() else { return false };
    !body.is_empty() && u32::from_le_bytes(*sum) == lookup3(body, 0)
}

/// Storage writes sectors whole; a larger write that is cut short leaves some of each.
const SECTOR_BYTES: u64 = 512;

/// Returns the parts of `data`, which stands at `at`, by the sectors they are in.
fn sectors(at: u64, data: &[u8]) -> impl Iterator<Item = &[u8]> {
    let first = (SECTOR_BYTES - at % SECTOR_BYTES).min(data.len() as u64) as usize;
    let (head, rest) = data.split_at(first);
    std::iter::once(head).chain(rest.chunks(SECTOR_BYTES as usize))
}
