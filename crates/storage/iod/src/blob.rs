//! Blobs: rows of bytes. One that was made whole lies in its head; one that was written in parts and is large lies
//! next to it, as records of one byte.

use objects::{Change, Fetch, Range64, Size, Update};

use crate::container::{PHASE, missing};
use crate::head::{HEAD, Head};
use crate::{Container, Error, Id, Kind, Result};

/// Between a head and the bytes of a blob that lie there.
pub(crate) const WHOLE: u8 = 1;
/// The akey of bytes next to the head.
const SEPARATE: &[u8] = &[1];
/// A blob that is written in parts stays in its head up to this size: beyond, every part would rewrite too much.
const PARTS_BYTES_MAX: u64 = 64 << 10;

/// A blob as it was found.
enum StoredBlob {
    Whole(Head, Vec<u8>),
    Separate { len: u64 },
}

fn check_kind(id: Id) -> Result<()> {
    match id.kind() {
        Some(Kind::Blob) => Ok(()),
        _ => Err(Error::Condition(format!("{id} is not a blob"))),
    }
}

/// Returns the head of a blob and its bytes, where they lie there.
fn split(id: Id, stored: &[u8]) -> Result<(Head, Option<&[u8]>)> {
    let (head, rest) = Head::decode(id, stored)?;
    match rest.split_first() {
        None => Ok((head, None)),
        Some((&WHOLE, bytes)) => Ok((head, Some(bytes))),
        Some(_) => Err(Error::Corrupt(format!("{id} is damaged: its bytes make no sense"))),
    }
}

impl Container {
    fn find_blob(&self, id: Id) -> Result<StoredBlob> {
        check_kind(id)?;
        let stored = self.store().get(id.object(), self.here(), &[HEAD])?.pop().flatten();
        let stored = stored.ok_or_else(|| missing(id))?;
        match split(id, &stored)? {
            (head, Some(bytes)) => Ok(StoredBlob::Whole(head, bytes.to_vec())),
            (_, None) => Ok(StoredBlob::Separate { len: self.separate_bytes(id)? }),
        }
    }

    fn separate_bytes(&self, id: Id) -> Result<u64> {
        match self.store().size(id.object(), self.here(), SEPARATE)? {
            None => Ok(0),
            Some(Size::Records { end, .. }) => Ok(end),
            Some(Size::Single(_)) => Err(Error::Corrupt(format!("{id} is damaged: its bytes make no sense"))),
        }
    }

    /// Returns the number of bytes of a blob.
    pub fn blob_len(&self, id: Id) -> Result<u64> {
        match self.find_blob(id)? {
            StoredBlob::Whole(_, bytes) => Ok(bytes.len() as u64),
            StoredBlob::Separate { len } => Ok(len),
        }
    }

    /// Returns the number of bytes of a blob from `offset` on, as many as it has and as there is space for; returns how many. Holes are zeros.
    pub fn read_blob(&self, id: Id, offset: u64, into: &mut [u8]) -> Result<usize> {
        let found = self.find_blob(id)?;
        let len = match &found {
            StoredBlob::Whole(_, bytes) => bytes.len() as u64,
            StoredBlob::Separate { len } => *len,
        };
        let count = usize::try_from(len.saturating_sub(offset)).unwrap_or(usize::MAX).min(into.len());
        let Some(into) = into.get_mut(..count).filter(|into| !into.is_empty()) else { return Ok(0) };
        match &found {
            StoredBlob::Whole(_, bytes) => {
                let at = offset as usize;
                into.copy_from_slice(bytes.get(at..at + count).unwrap_or_default());
            }
            StoredBlob::Separate { .. } => {
                into.fill(0);
                let fetch = Fetch {
                    object: id.object(),
                    dkey: self.here(),
                    akey: SEPARATE,
                    record_size: 1,
                    start: offset,
                    into,
                };
                self.store().fetch(&mut [fetch])?;
            }
        }
        Ok(count)
    }

    /// Returns all bytes of blobs, `None` for those that are not there. None may have more than `bytes_max`.
    pub fn read_blobs(&self, ids: &[Id], bytes_max: u64) -> Result<Vec<Option<Vec<u8>>>> {
        ids.iter().try_for_each(|id| check_kind(*id))?;
        let wanted: Vec<_> = ids.iter().map(|id| (id.object(), self.here(), HEAD)).collect();
        let found = self.store().get_many(&wanted)?;
        let mut blobs = Vec::with_capacity(ids.len());
        for (id, stored) in ids.iter().zip(found) {
            blobs.push(match stored {
                None => None,
                Some(stored) => Some(self.whole(*id, stored, bytes_max)?),
            });
        }
        Ok(blobs)
    }

    fn whole(&self, id: Id, mut stored: Vec<u8>, bytes_max: u64) -> Result<Vec<u8>> {
        if let (_, Some(bytes)) = split(id, &stored)? {
            let at = stored.len() - bytes.len();
            return Ok(stored.split_off(at));
        }
        let len = self.separate_bytes(id)?;
        if len > bytes_max {
            return Err(Error::TooLarge(format!("{id} has {len} bytes: at most {bytes_max}")));
        }
        let mut bytes = vec![0; len as usize];
        self.read_blob(id, 0, &mut bytes)?;
        Ok(bytes)
    }

    /// Writes bytes of a blob from `offset` on; it grows as it must.
    pub fn write_blob(&self, id: Id, offset: u64, from: &[u8]) -> Result<()> {
        self.check_writable()?;
        let end = offset.checked_add(from.len() as u64);
        let end = end
            .ok_or_else(|| Error::TooLarge(format!("{id} cannot have {from:?} bytes", from = from.len())))?;
        if from.is_empty() {
            return self.find_blob(id).map(drop);
        }
        let _alone = self.core.alone();
        match self.find_blob(id)? {
            StoredBlob::Whole(head, mut bytes) if end <= PARTS_BYTES_MAX.max(bytes.len() as u64) => {
                let (at, end) = (offset as usize, end as usize);
                bytes.resize(bytes.len().max(end), 0);
                bytes.get_mut(at..end).into_iter().for_each(|place| place.copy_from_slice(from));
                self.put_whole(id, &head, &bytes)
            }
            StoredBlob::Whole(head, bytes) => {
                let head = head.encode();
                let mut changes = vec![Change::Single(HEAD, &head)];
                if !bytes.is_empty() {
                    changes.push(separate(0, &bytes));
                }
                changes.push(separate(offset, from));
                self.change_blob(id, &changes)
            }
            StoredBlob::Separate { .. } => self.change_blob(id, &[separate(offset, from)]),
        }
    }

    /// Cuts a blob to at most `len` bytes.
    pub fn truncate_blob(&self, id: Id, len: u64) -> Result<()> {
        self.check_writable()?;
        let _alone = self.core.alone();
        match self.find_blob(id)? {
            StoredBlob::Whole(head, mut bytes) if len < bytes.len() as u64 => {
                bytes.truncate(len as usize);
                self.put_whole(id, &head, &bytes)
            }
            StoredBlob::Separate { len: old } if len < old => {
                let range = Range64 { start: len, end: old };
                let mut changes = vec![Change::PunchRecords { akey: SEPARATE, range }];
                // The last byte is what tells the length, also where it is a hole.
                if len > 0 {
                    let mut last = [0];
                    self.read_blob(id, len - 1, &mut last)?;
                    changes.push(separate(len - 1, &last));
                    return self.change_blob(id, &changes);
                }
                self.change_blob(id, &changes)
            }
            _ => Ok(()),
        }
    }

    fn put_whole(&self, id: Id, head: &Head, bytes: &[u8]) -> Result<()> {
        let mut stored = head.encode();
        stored.push(WHOLE);
        stored.extend_from_slice(bytes);
        self.change_blob(id, &[Change::Single(HEAD, &stored)])
    }

    fn change_blob(&self, id: Id, changes: &[Change<'_>]) -> Result<()> {
        self.store().update(&Update {
            object: id.object(),
            dkey: self.here(),
            changes,
            conditions: &[],
            phase: PHASE,
        })
    }
}

fn separate(start: u64, bytes: &[u8]) -> Change<'_> {
    Change::Records { akey: SEPARATE, record_size: 1, start, bytes }
}
