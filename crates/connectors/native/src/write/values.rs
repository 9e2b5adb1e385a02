//! Elements and attributes that name values of the global heap: an overwrite releases those that nothing names any more.

use algorithms::replaced_blobs;
use model::properties::FillValue;
use model::{Datatype, Error, Kind, Result};
use vol::OpWrite;

use super::Writer;
use crate::chunk;
use crate::format::global_heap::HeapId;
use crate::object::dataset::Dataset;
use crate::object::global_heap;

/// Elements before and after they were overwritten.
pub(super) struct Replaced<'a> {
    pub(super) datatype: &'a Datatype,
    pub(super) old: &'a [u8],
    pub(super) new: &'a [u8],
    /// The fill value, which unwritten elements show: its values are not theirs.
    pub(super) fill: Option<&'a [u8]>,
}

/// Returns whether elements of a type name values that an overwrite releases. Those of references stay, as in libhdf5.
pub(super) fn names_values(datatype: &Datatype) -> bool {
    datatype.any(&|part| matches!(part, Datatype::VarLen(_)))
}

impl Writer {
    /// Writes elements, and releases the values that only the old ones had. No one comes between the two.
    pub(super) fn write_with_blobs(&mut self, dataset: &Dataset, op: &OpWrite<'_>) -> Result<()> {
        // What waits is written first: the elements of before are read from the file.
        self.serialize(dataset.address)?;
        let before = self.dataset(dataset.address)?;
        let mut old = vec![0; op.from.len()];
        chunk::read_stored(&self.reader, &before, op.selection, &mut old)?;
        self.write_elements(&before, op)?;
        self.release_overwritten(&before, &old, op.from)
    }

    /// Elements of a dataset were overwritten: releases the values that only the old ones had.
    pub(crate) fn release_overwritten(&mut self, dataset: &Dataset, old: &[u8], new: &[u8]) -> Result<()> {
        let fill = match &dataset.info.create.fill.value {
            FillValue::Value(value) => Some(&value[..]),
            _ => None,
        };
        self.release_replaced(&Replaced { datatype: &dataset.info.datatype, old, new, fill })
    }

    /// Releases the values that only the old elements had.
    pub(super) fn release_replaced(&mut self, replaced: &Replaced<'_>) -> Result<()> {
        let Replaced { datatype, old, new, fill } = *replaced;
        if !names_values(datatype) {
            return Ok(());
        }
        let mut get = |ids: &[&[u8]], out: &mut vol::Blobs| {
            self.values.flush(&mut self.storage)?;
            global_heap::get(&self.reader, ids, out)
        };
        let ids = replaced_blobs(datatype, old, new, fill, &mut get)?;
        let id_bytes = self.storage.sizes.offset + 4;
        let ids = ids
            .chunks_exact(id_bytes)
            .map(|id| HeapId::of(id, self.storage.sizes))
            .collect::<Result<Vec<_>>>();
        // What was there may be broken, and is overwritten all the same.
        let due = self.reader.released.release(ids.unwrap_or_default().into_iter().flatten().collect());
        self.remove_released(due)
    }

    /// Removes values that no reader waits for.
    pub(crate) fn remove_released(&mut self, due: Vec<HeapId>) -> Result<()> {
        match self.values.remove(due.into_iter(), &mut self.storage) {
            Err(error) if must_be_reported(&error) => Err(error),
            _ => Ok(()),
        }
    }
}

/// Returns whether the error is of the storage. A value that is not there, or that cannot be found, is no reason to refuse a write.
fn must_be_reported(error: &Error) -> bool {
    matches!(error.kind(), Kind::Io | Kind::Denied)
}
