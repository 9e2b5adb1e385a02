//! Blobs: values of variable length, in the object of global metadata, each under a UUID.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use keyed::Values;
use model::{Error, Limits, Result, Token};
use objects::{Change, Phase, Update};
use vol::Released;

use crate::error::During;
use crate::identity;
use crate::keys::{BLOB, GLOBAL};
use crate::opening::Opening;
use crate::slots::{BlobId, ID_BYTES};

/// Keys that the system gave this process: nobody else makes the same identities.
static KEYS: LazyLock<(RandomState, RandomState)> = LazyLock::new(Default::default);
static NEXT: AtomicU64 = AtomicU64::new(1);

/// A UUID of version 4.
pub(crate) fn new_id() -> BlobId {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let mut id = [0; ID_BYTES];
    id[..8].copy_from_slice(&KEYS.0.hash_one(number).to_le_bytes());
    id[8..].copy_from_slice(&KEYS.1.hash_one(number).to_le_bytes());
    id[6] = id[6] & 0x0f | 0x40;
    id[8] = id[8] & 0x3f | 0x80;
    id
}

fn checked<'i>(id: &'i [u8], operation: &str) -> Result<&'i [u8]> {
    match id.len() {
        ID_BYTES => Ok(id),
        bytes => Err(Error::invalid(operation).with("bytes", bytes)),
    }
}

fn shown(id: &[u8]) -> String {
    format!("{id:02x?}")
}

impl Values<ID_BYTES> for Opening {
    fn limits(&self) -> &Limits {
        &self.access.limits
    }

    fn check_token(&self, token: Token) -> Result<()> {
        identity::object(token).map(drop)
    }

    fn put_blobs(&self, values: &[&[u8]]) -> Result<Vec<u8>> {
        self.check_blobs(values)?;
        let ids: Vec<BlobId> = values.iter().map(|_| new_id()).collect();
        let changes: Vec<_> = values.iter().map(|value| [Change::Single(BLOB, value)]).collect();
        let updates: Vec<Update<'_>> = ids
            .iter()
            .zip(&changes)
            .map(|(id, changes)| Update {
                object: GLOBAL,
                dkey: id,
                changes,
                conditions: &[],
                phase: Phase::Content,
            })
            .collect();
        self.update_all(&updates).during("store blobs")?;
        Ok(ids.concat())
    }

    fn get_blobs(&self, ids: &[&[u8]], out: &mut vol::Blobs) -> Result<()> {
        let keys =
            ids.iter().map(|id| Ok((GLOBAL, checked(id, "read blob")?, BLOB))).collect::<Result<Vec<_>>>()?;
        let values = self.store().get_many(&keys).during("read blobs")?;
        for (id, value) in ids.iter().zip(values) {
            let value = value.ok_or_else(|| Error::not_found("read blob").with("identity", shown(id)))?;
            out.push(&value)?;
        }
        Ok(())
    }

    fn released(&self) -> &Released<BlobId> {
        &self.shared.released
    }

    fn remove_blobs(&self, ids: &[BlobId]) -> Result<()> {
        let changes = [Change::Punch(BLOB)];
        let update = |id| Update {
            object: GLOBAL,
            dkey: id,
            changes: &changes,
            conditions: &[],
            phase: Phase::Removal,
        };
        let updates: Vec<Update<'_>> = ids.iter().map(|id| update(&id[..])).collect();
        self.update_all(&updates).during("delete blobs")
    }
}

impl Opening {
    /// Removes blobs, all of which are there.
    pub(crate) fn delete_blobs(&self, ids: &[&[u8]]) -> Result<()> {
        for id in ids {
            let size = self.store().size(GLOBAL, checked(id, "delete blob")?, BLOB).during("delete blob")?;
            if size.is_none() {
                return Err(Error::not_found("delete blob").with("identity", shown(id)));
            }
        }
        let ids: Vec<BlobId> = ids.iter().filter_map(|id| (*id).try_into().ok()).collect();
        self.remove_blobs(&ids)
    }
}
