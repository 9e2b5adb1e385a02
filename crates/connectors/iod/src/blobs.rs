//! Values of variable length and references: a blob each, whose identity stands in the cell.

use iod_storage::{Batch, Id, Kind, ScratchPad};
use keyed::Values;
use model::datatype::SlotSizes;
use model::{Datatype, Error, Limits, Result, Token};
use vol::{Blobs, Released};

use crate::error::During;
use crate::identity;
use crate::opening::Opening;

/// Bytes of a blob's identity.
pub(crate) const ID_BYTES: usize = 8;

/// Every slot has the same form: four bytes of length, and a blob's identity.
pub(crate) const SLOTS: SlotSizes = keyed::slot_sizes(ID_BYTES as u32);

/// A stored type. Its slots have our sizes, or it is not ours.
pub(crate) fn decode_type(bytes: &[u8], limits: &Limits) -> Result<Datatype> {
    keyed::decode_type(bytes, &SLOTS, limits)
}

fn blob(id: &[u8], operation: &str) -> Result<Id> {
    let bytes: [u8; ID_BYTES] =
        id.try_into().map_err(|_| Error::invalid(operation).with("bytes", id.len()))?;
    match Id::from_bytes(bytes) {
        id if id.kind() == Some(Kind::Blob) => Ok(id),
        id => Err(Error::not_found(operation).with("identity", id)),
    }
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
        let ids = self.shared.numbers.take(self.storage(), Kind::Blob, values.len())?;
        let mut batch = Batch::new();
        for (id, value) in ids.iter().zip(values) {
            batch.create_blob(*id, ScratchPad::NULL, *value);
        }
        self.shared.apply(&batch, "store blobs")?;
        Ok(ids.iter().flat_map(|id| id.to_bytes()).collect())
    }

    fn get_blobs(&self, ids: &[&[u8]], out: &mut Blobs) -> Result<()> {
        let ids = ids.iter().map(|id| blob(id, "read blob")).collect::<Result<Vec<_>>>()?;
        let limit = self.limits().blob_bytes_max;
        let found = self.storage().read_blobs(&ids, limit).during("read blobs")?;
        for (id, value) in ids.iter().zip(found) {
            out.push(&value.ok_or_else(|| Error::not_found("read blob").with("identity", id))?)?;
        }
        Ok(())
    }

    fn released(&self) -> &Released<[u8; ID_BYTES]> {
        &self.shared.released
    }

    fn remove_blobs(&self, ids: &[[u8; ID_BYTES]]) -> Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        let mut batch = Batch::new();
        discard(&mut batch, ids);
        self.shared.apply(&batch, "delete blobs")
    }
}

/// Removes blobs, as far as they are there.
fn discard(batch: &mut Batch<'_>, ids: &[[u8; ID_BYTES]]) {
    // An element that was copied as bytes names the same blob twice.
    let ids: std::collections::BTreeSet<&[u8; ID_BYTES]> = ids.iter().collect();
    for id in ids.into_iter().map(|id| Id::from_bytes(*id)) {
        if id.kind() == Some(Kind::Blob) {
            batch.discard(id);
        }
    }
}

impl Opening {
    /// Removes blobs, all of which are there.
    pub(crate) fn delete_blobs(&self, ids: &[&[u8]]) -> Result<()> {
        let mut batch = Batch::new();
        for id in ids {
            let id = blob(id, "delete blob")?;
            match self.storage().open(id) {
                Err(iod_storage::Error::NotFound(_)) => {
                    return Err(Error::not_found("delete blob").with("identity", id));
                }
                opened => opened.during("delete blob").map(drop)?,
            }
            batch.discard(id);
        }
        self.shared.apply(&batch, "delete blobs")
    }
}
