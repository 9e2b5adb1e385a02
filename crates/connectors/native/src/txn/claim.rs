//! Checks whether the end of a file is the record of a commit of this file.

use std::ops::Range;

use files::Handle;
use model::Result;
use model::bytes::Cursor;

use super::io;
use super::moves::Moves;
use super::redo::{
    HEAD, HEAD_BYTES, HEAD_V1, HEAD_V1_BYTES, HEAD_V3, RESERVED_BYTES, Redo, RedoEntry, SALT, SaltBytes,
    TAIL, TAIL_BYTES, checksum, encode_salt, place, read, reserved,
};
use crate::head::Head;

/// The last bytes of a file that may end with a record.
pub(super) struct Tail {
    pub(super) sum: u64,
    /// Where the record stands.
    pub(super) at: u64,
    /// Where it ends but for these bytes.
    pub(super) tail_at: u64,
}

impl Tail {
    pub(super) fn read(file: &Handle, head: &Head) -> Result<Option<Tail>> {
        let Some(tail_at) = head.len.checked_sub(TAIL_BYTES) else { return Ok(None) };
        let tail = io(head.read_at(file, tail_at, TAIL_BYTES as usize), "read file")?;
        let mut c = Cursor::new(&tail, "redo record");
        let (sum, at) = (c.u64()?, c.u64()?);
        let is_one = c.rest() == TAIL && at.checked_add(HEAD_V1_BYTES).is_some_and(|start| start <= tail_at);
        Ok(is_one.then_some(Tail { sum, at, tail_at }))
    }

    fn end(&self) -> u64 {
        self.tail_at + TAIL_BYTES
    }
}

/// The claim of a record's head about the file.
pub(super) struct Claim {
    /// Version 1 does not say where the file ended before, and has no salt.
    before: Option<(u64, SaltBytes)>,
    end: u64,
    record_bytes: u64,
    entries: u64,
    head_bytes: u64,
    /// Some bytes wait in the file.
    has_moves: bool,
}

impl Claim {
    pub(super) fn read(file: &Handle, tail: &Tail) -> Result<Option<Claim>> {
        let bytes = read(file, tail.at, HEAD_BYTES as usize)?;
        let mut c = Cursor::new(&bytes, "redo record");
        let signature: [u8; 8] = c.array()?;
        let record_bytes = c.u64()?;
        let (before, end, head_bytes) = match &signature {
            HEAD_V1 => (None, c.u64()?, HEAD_V1_BYTES),
            HEAD | HEAD_V3 if bytes.len() as u64 == HEAD_BYTES => {
                let (start, end) = (c.u64()?, c.u64()?);
                (Some((start, c.array()?)), end, HEAD_BYTES)
            }
            _ => return Ok(None),
        };
        let has_moves = signature == *HEAD_V3;
        Ok(Some(Claim { before, end, record_bytes, entries: c.u64()?, head_bytes, has_moves }))
    }

    /// Returns whether the record is one of this file as it is.
    pub(super) fn check(
        &self,
        file: &Handle,
        stored_end: Option<u64>,
        tail: &Tail,
    ) -> std::result::Result<(), &'static str> {
        if stored_end.is_some_and(|end| tail.at < end) {
            return Err("it is inside the stored end of the file");
        }
        if self.record_bytes != tail.end() - tail.at {
            return Err("it has another size than it says");
        }
        let Some((start, salt)) = &self.before else { return self.check_v1(stored_end, tail) };
        if tail.at != place(*start, self.end) {
            return Err("it stands in another place than its commit would put it");
        }
        match stored_end {
            // Right behind the end there is space for many a record: only one that has its salt there is meant.
            Some(end) if end == self.end && *start > end => check_shrunk(file, end, salt),
            Some(end) if end == self.end => Ok(()),
            Some(end) if end == *start => check_salt(file, *start, salt),
            Some(_) => Err("the superblock is not the one before or after its commit"),
            None => Ok(()),
        }
    }

    fn check_v1(&self, stored_end: Option<u64>, tail: &Tail) -> std::result::Result<(), &'static str> {
        match stored_end {
            _ if tail.at != self.end.next_multiple_of(8) => {
                Err("it stands in another place than its commit would put it")
            }
            Some(end) if end != self.end => {
                Err("it is of version 1, without a salt, and its commit had not begun to publish")
            }
            _ => Ok(()),
        }
    }

    /// Returns the record that stands at the start of `outside`: it brings nothing to where it is itself, nor behind, up to the end of
    /// the member.
    pub(super) fn decode(&self, bytes: &[u8], outside: Range<u64>) -> Result<Redo> {
        let mut c = Cursor::new(bytes, "redo record");
        c.skip(self.head_bytes as usize)?;
        let (mut entries, mut before) = (Vec::new(), Vec::new());
        for _ in 0..self.entries {
            let (to, len, sums) = (c.u64()?, c.u64()?, c.u64()?);
            before.push((0..sums).map(|_| c.u64()).collect::<Result<_>>()?);
            if !is_inside(&outside, to, len) {
                return Err(c.corrupt("entry beyond the end of the file"));
            }
            let len = usize::try_from(len).unwrap_or(usize::MAX);
            entries.push(RedoEntry { at: to, data: c.take(len)?.to_vec() });
        }
        let moves = if self.has_moves { Moves::decode(&mut c, &outside)? } else { Moves::default() };
        let (start, salt) = self.before.unwrap_or((self.end, SaltBytes::default()));
        Ok(Redo { start, end: self.end, salt, entries, before, moves })
    }
}

/// Returns whether a range of `len` bytes has none of `outside`.
pub(super) fn is_inside(outside: &Range<u64>, start: u64, len: u64) -> bool {
    start.checked_add(len).is_some_and(|stop| stop <= outside.start || start >= outside.end)
}

/// Returns the commit made the file shorter: it has left its salt behind the new end.
fn check_shrunk(file: &Handle, end: u64, salt: &SaltBytes) -> std::result::Result<(), &'static str> {
    let there = read(file, reserved(end).start, RESERVED_BYTES as usize);
    match there.is_ok_and(|there| there == encode_salt(end, salt)) {
        true => Ok(()),
        false => Err("it would make the file shorter, and has no salt"),
    }
}

/// Nothing of the commit was published as far as the superblock tells: the salt in the file must be that of the record. Where
/// something else is there, publishing had begun all the same, and what the commit brings is in its place.
fn check_salt(file: &Handle, start: u64, salt: &SaltBytes) -> std::result::Result<(), &'static str> {
    let there =
        read(file, reserved(start).start, RESERVED_BYTES as usize).map_err(|_| "its salt cannot be read")?;
    let (body, sum) = there.split_at(there.len().min(32));
    let is_salt = body.starts_with(SALT) && sum.starts_with(&checksum(body).to_le_bytes());
    match () {
        // Only the body counts: what is published over the rest of it may be in the file before the superblock is.
        () if is_salt && !encode_salt(start, salt).starts_with(body) => {
            Err("it has the salt of another commit")
        }
        () if there.iter().all(|&b| b == 0) => Err("it has no salt"),
        () => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use files::Memory;

    use super::*;

    fn check(change: impl FnOnce(&mut [u8])) -> std::result::Result<(), &'static str> {
        let (start, salt) = (976, [7; 16]);
        let mut image = vec![0; 2048];
        let at = reserved(start).start as usize;
        let stored = encode_salt(start, &salt);
        image[at..at + stored.len()].copy_from_slice(&stored);
        change(&mut image[at..at + stored.len()]);
        let file: Handle = Arc::new(Memory::from_image(image));
        check_salt(&file, start, &salt)
    }

    #[test]
    fn a_salt_that_something_was_published_over_in_part_is_that_of_its_commit() {
        assert!(check(|_| ()).is_ok());
        // A sector ends in the middle of the salt, and what was published came to the disk in one of the two only.
        assert!(check(|salt| salt[48..].fill(1)).is_ok());
        assert!(check(|salt| salt[..48].fill(1)).is_ok());
        let of_another = encode_salt(976, &[8; 16]);
        assert!(check(|salt| salt.copy_from_slice(&of_another)).is_err());
        assert!(check(|salt| salt.fill(0)).is_err());
    }
}
