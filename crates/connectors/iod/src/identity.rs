//! IDs of objects: their tokens and numbers.

use std::ops::Range;

use iod_storage::{Container, Id, Kind};
use keyed::missing_token;
use model::{Error, Result, Token};
use system::sync::{Mutex, MutexGuard};

use crate::error::During;
use crate::keys::{ARRAY_INDEX, BLOB_INDEX, KV_INDEX, ROOT_METADATA, number, number_of};

/// The second half of every token: the root group's ID is 0, and a token of zeros stands for no object.
const MARK: [u8; 8] = 1u64.to_le_bytes();

/// Returns the token of an object: the eight bytes of its ID, and a 1 of eight bytes.
pub(crate) fn token(id: Id) -> Token {
    let mut token = Token::default();
    token.0[..8].copy_from_slice(&id.to_bytes());
    token.0[8..].copy_from_slice(&MARK);
    token
}

/// Returns the object of a token.
///
/// # Errors
/// Returns `NotFound` if no object can have the token.
pub(crate) fn object(given: Token) -> Result<Id> {
    let id = given.0.first_chunk::<8>().map(|bytes| Id::from_bytes(*bytes));
    match id {
        Some(id) if token(id) == given && id.kind().is_some() => Ok(id),
        _ => Err(missing_token(given)),
    }
}

/// Numbers that are reserved at a time.
const RANGE: u64 = 1024;

/// The reserved numbers for new objects of each kind.
#[derive(Debug, Default)]
pub(crate) struct Numbers(Mutex<[Range<u64>; 3]>);

fn index_of(kind: Kind) -> (usize, &'static [u8]) {
    match kind {
        Kind::KeyValue => (0, KV_INDEX),
        Kind::Array => (1, ARRAY_INDEX),
        Kind::Blob => (2, BLOB_INDEX),
    }
}

impl Numbers {
    fn ranges(&self) -> MutexGuard<'_, [Range<u64>; 3]> {
        self.0.lock()
    }

    /// Returns the ID of a new object.
    pub(crate) fn next(&self, storage: &Container, kind: Kind) -> Result<Id> {
        let all = self.take(storage, kind, 1)?;
        all.first().copied().ok_or_else(|| Error::limit("allocate object numbers"))
    }

    /// Returns the IDs of new objects.
    pub(crate) fn take(&self, storage: &Container, kind: Kind, count: usize) -> Result<Vec<Id>> {
        let (place, key) = index_of(kind);
        let mut ranges = self.ranges();
        let range = &mut ranges[place];
        let mut taken = Vec::with_capacity(count);
        while taken.len() < count {
            if range.is_empty() {
                *range = reserve(storage, key, RANGE.max((count - taken.len()) as u64))?;
            }
            taken.extend(range.by_ref().take(count - taken.len()).map(|number| Id::new(kind, number)));
        }
        Ok(taken)
    }

    /// Gives reserved numbers back that were not used, if no other numbers were reserved since.
    pub(crate) fn give_back(&self, storage: &Container) -> Result<()> {
        let mut ranges = self.ranges();
        for kind in [Kind::KeyValue, Kind::Array, Kind::Blob] {
            let (place, key) = index_of(kind);
            let range = std::mem::take(&mut ranges[place]);
            if !range.is_empty() && read_index(storage, key)? == range.end {
                storage.put(ROOT_METADATA, &[(key, &number(range.start))]).during("give back numbers")?;
            }
        }
        Ok(())
    }
}

fn read_index(storage: &Container, key: &[u8]) -> Result<u64> {
    let found = storage.get(ROOT_METADATA, &[key]).during("allocate object numbers")?.pop().flatten();
    number_of(&found.unwrap_or_default(), "index of identities")
}

/// Reserves numbers. This needs no flush: where a flush is one commit, both the index and the objects that have the numbers
/// are as before after a crash, and elsewhere the index is stored at once.
fn reserve(storage: &Container, key: &[u8], count: u64) -> Result<Range<u64>> {
    let first = read_index(storage, key)?;
    let end = first.checked_add(count).filter(|end| *end < 1 << 62);
    let end = end.ok_or_else(|| Error::limit("allocate object numbers").with("first", first))?;
    storage.put_early(ROOT_METADATA, key, &number(end)).during("allocate object numbers")?;
    Ok(first..end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::ROOT;

    #[test]
    fn tokens_are_the_bytes_of_identities() {
        let id = Id::new(Kind::Blob, 0x0102);
        assert_eq!(token(id).0, [2, 1, 0, 0, 0, 0, 0, 0x80, 1, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(object(token(id)).unwrap(), id);
        assert_eq!(object(token(ROOT)).unwrap(), ROOT);
    }

    #[test]
    fn what_is_no_object_is_not_found() {
        for token in [Token([0; 16]), Token([0xee; 16]), token(Id::UNDEFINED)] {
            assert!(object(token).is_err());
        }
    }
}
