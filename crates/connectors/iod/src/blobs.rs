//! Variable-length values and references: a blob each, whose ID stands in the cell.

use std::collections::BTreeSet;

use iod_storage::{Batch, Id, Kind, ScratchPad};
use keyed::BlobStore;
use model::{Error, Limits, Result};
use vol::Blobs;

use crate::IodMapping;
use crate::error::During;

type BlobId = [u8; 8];

/// # Errors
/// Returns `Invalid` if `id` has another size than an ID, and `NotFound` if it cannot be that of a blob.
fn checked(id: &[u8], operation: &str) -> Result<Id> {
    let bytes: BlobId = id.try_into().map_err(|_| Error::invalid(operation).with("bytes", id.len()))?;
    match Id::from_bytes(bytes) {
        id if id.kind() == Some(Kind::Blob) => Ok(id),
        id => Err(missing(id, operation)),
    }
}

fn missing(id: Id, operation: &str) -> Error {
    Error::not_found(operation).with("identity", id)
}

impl BlobStore for IodMapping {
    fn put_blobs(&self, values: &[&[u8]]) -> Result<Vec<u8>> {
        let ids = self.numbers.take(&self.storage, Kind::Blob, values.len())?;
        let mut batch = Batch::new();
        for (id, value) in ids.iter().zip(values) {
            batch.create_blob(*id, ScratchPad::NULL, *value);
        }
        self.apply_batch(&batch, "store blobs")?;
        Ok(ids.iter().flat_map(|id| id.to_bytes()).collect())
    }

    fn get_blobs(&self, ids: &[&[u8]], limits: &Limits, out: &mut Blobs) -> Result<()> {
        let ids = ids.iter().map(|id| checked(id, "read blob")).collect::<Result<Vec<_>>>()?;
        let found = self.storage.read_blobs(&ids, limits.blob_bytes_max).during("read blobs")?;
        for (id, value) in ids.iter().zip(found) {
            out.push(&value.ok_or_else(|| missing(*id, "read blob"))?)?;
        }
        Ok(())
    }

    fn find_blob(&self, id: &[u8], operation: &str) -> Result<BlobId> {
        let id = checked(id, operation)?;
        match self.storage.open(id) {
            Err(iod_storage::Error::NotFound(_)) => Err(missing(id, operation)),
            opened => opened.during(operation).map(|_| id.to_bytes()),
        }
    }

    fn remove_blobs(&self, ids: &[BlobId]) -> Result<()> {
        let mut batch = Batch::new();
        // An element that was copied as bytes names the same blob twice.
        for id in ids.iter().collect::<BTreeSet<_>>() {
            let id = Id::from_bytes(*id);
            if id.kind() == Some(Kind::Blob) {
                batch.discard(id);
            }
        }
        self.apply_batch(&batch, "delete blobs")
    }
}
