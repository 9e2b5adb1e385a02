//! Blobs: variable-length values and references, in the object of global metadata, each under the dkey of a UUID.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use keyed::{BlobStore, During};
use model::{Error, Limits, Result};
use objects::{Change, Phase, Update};

use crate::ObjectMapping;
use crate::keys::{BLOB, EMPTY_BLOB, GLOBAL};

/// Bytes of a blob's ID: a UUID.
pub(crate) const ID_BYTES: usize = 16;
/// A blob's ID.
pub(crate) type BlobId = [u8; ID_BYTES];

/// Random keys of this process: no other process makes the same IDs.
static KEYS: LazyLock<(RandomState, RandomState)> = LazyLock::new(Default::default);
static NEXT: AtomicU64 = AtomicU64::new(1);

/// Returns a new UUID of version 4.
pub(crate) fn new_id() -> BlobId {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let mut id = [0; ID_BYTES];
    id[..8].copy_from_slice(&KEYS.0.hash_one(number).to_le_bytes());
    id[8..].copy_from_slice(&KEYS.1.hash_one(number).to_le_bytes());
    id[6] = id[6] & 0x0f | 0x40;
    id[8] = id[8] & 0x3f | 0x80;
    id
}

/// # Errors
/// Returns `Invalid` if `id` has another size than an ID.
fn checked(id: &[u8], operation: &str) -> Result<BlobId> {
    id.try_into().map_err(|_| Error::invalid(operation).with("bytes", id.len()))
}

fn blob_change(value: &[u8]) -> Change<'_> {
    match value {
        [] => Change::Single(EMPTY_BLOB, &[0]),
        value => Change::Single(BLOB, value),
    }
}

fn missing(id: &[u8], operation: &str) -> Error {
    Error::not_found(operation).with("identity", format!("{id:02x?}"))
}

impl ObjectMapping {
    fn is_empty_blob(&self, id: &[u8], operation: &str) -> Result<bool> {
        Ok(self.store.size(GLOBAL, id, EMPTY_BLOB).during(operation)?.is_some())
    }
}

impl BlobStore for ObjectMapping {
    fn put_blobs(&self, values: &[&[u8]]) -> Result<Vec<u8>> {
        let ids: Vec<BlobId> = values.iter().map(|_| new_id()).collect();
        let changes: Vec<_> = values.iter().map(|value| [blob_change(value)]).collect();
        let phase = Phase::Content;
        let updates: Vec<Update<'_>> = ids
            .iter()
            .zip(&changes)
            .map(|(dkey, changes)| Update { object: GLOBAL, dkey, changes, conditions: &[], phase })
            .collect();
        self.update_all(&updates).during("store blobs")?;
        Ok(ids.concat())
    }

    fn get_blobs(&self, ids: &[&[u8]], _limits: &Limits, out: &mut vol::Blobs) -> Result<()> {
        for id in ids {
            checked(id, "read blob")?;
        }
        let keys: Vec<_> = ids.iter().map(|id| (GLOBAL, *id, BLOB)).collect();
        let values = self.store.get_many(&keys).during("read blobs")?;
        for (id, value) in ids.iter().zip(values) {
            match value {
                Some(value) => out.push(&value)?,
                None if self.is_empty_blob(id, "read blob")? => out.push(&[])?,
                None => return Err(missing(id, "read blob")),
            }
        }
        Ok(())
    }

    fn find_blob(&self, id: &[u8], operation: &str) -> Result<BlobId> {
        let id = checked(id, operation)?;
        match self.store.size(GLOBAL, &id, BLOB).during(operation)? {
            Some(_) => Ok(id),
            None if self.is_empty_blob(&id, operation)? => Ok(id),
            None => Err(missing(&id, operation)),
        }
    }

    fn remove_blobs(&self, ids: &[BlobId]) -> Result<()> {
        let (changes, phase) = ([Change::Punch(BLOB), Change::Punch(EMPTY_BLOB)], Phase::Removal);
        let update = |dkey| Update { object: GLOBAL, dkey, changes: &changes, conditions: &[], phase };
        let updates: Vec<Update<'_>> = ids.iter().map(|id| update(&id[..])).collect();
        self.update_all(&updates).during("delete blobs")
    }
}
