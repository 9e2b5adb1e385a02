//! Datasets: reads, writes, raw chunks.

use algorithms::checks;
use model::{Datatype, Error, Result, Selection, Token};
use system::sync::{RwLockReadGuard, RwLockWriteGuard};
use vol::{Allocation, ChunkInfo, OpList, OpRead, OpWrite, Page, StorageInfo};

use crate::checks::slice;
use crate::listing::View;
use crate::mapping::{Chunks, Mapping};
use crate::{Dataset, Elements, Handle};

impl<M: Mapping> Handle<M> {
    /// Returns a dataset, as it is now.
    fn dataset(&self, token: Token) -> Result<(M::Id, Dataset)> {
        let header = self.header(token)?;
        Ok((header.id, header.dataset()?.clone()))
    }

    /// Locks the elements of a dataset to read them.
    fn lock_read(&self, id: M::Id) -> RwLockReadGuard<'_, ()> {
        self.shared.lock_of(id).read()
    }

    /// Locks the elements of a dataset to change them.
    pub(crate) fn lock_write(&self, id: M::Id) -> RwLockWriteGuard<'_, ()> {
        self.shared.lock_of(id).write()
    }

    /// Locks the values of a map if they name blobs, so that each blob is released once.
    pub(crate) fn lock_values(&self, map: M::Id, value: &Datatype) -> Option<RwLockWriteGuard<'_, ()>> {
        value.has_descriptors().then(|| self.lock_write(map))
    }

    /// Reads elements.
    pub(crate) fn read_elements(&self, reads: &mut [OpRead<'_>]) -> Result<()> {
        // One alone is checked below, before anything happens.
        for read in reads.iter().filter(|_| reads.len() > 1) {
            checks::transfer(&self.dataset(read.dataset)?.1.info, read.selection, read.into.len())?;
        }
        for read in reads.iter_mut() {
            let (id, _) = self.dataset(read.dataset)?;
            let _lock = self.lock_read(id);
            // The extent may have changed before the elements were locked.
            let (_, dataset) = self.dataset(read.dataset)?;
            checks::transfer(&dataset.info, read.selection, read.into.len())?;
            if read.into.is_empty() {
                continue;
            }
            self.shared.elements().read(id, &dataset, read.selection, read.into)?;
        }
        Ok(())
    }

    /// Writes elements.
    pub(crate) fn write_elements(&self, writes: &[OpWrite<'_>]) -> Result<()> {
        for write in writes.iter().filter(|_| writes.len() > 1) {
            checks::transfer(&self.dataset(write.dataset)?.1.info, write.selection, write.from.len())?;
        }
        for write in writes {
            let (id, _) = self.dataset(write.dataset)?;
            let _lock = self.lock_write(id);
            let (_, dataset) = self.dataset(write.dataset)?;
            checks::transfer(&dataset.info, write.selection, write.from.len())?;
            if write.from.is_empty() {
                continue;
            }
            let old = self.blobs_before(id, &dataset, write)?;
            self.shared.elements().write(id, &dataset, write.selection, write.from)?;
            self.drop_replaced(&dataset.info.datatype, old, write.from)?;
        }
        Ok(())
    }

    /// Returns the blobs of elements that are about to be overwritten, without those of the fill value, which all elements
    /// share.
    fn blobs_before(&self, id: M::Id, dataset: &Dataset, write: &OpWrite<'_>) -> Result<Vec<M::BlobId>> {
        if !dataset.info.datatype.has_descriptors() {
            return Ok(Vec::new());
        }
        let mut elements = vec![0; write.from.len()];
        self.shared.elements().read(id, dataset, write.selection, &mut elements)?;
        let mut old = self.blobs_in(&dataset.info.datatype, &elements)?;
        if !old.is_empty() {
            let shared = self.blobs_of_fill(dataset)?;
            old.retain(|id| !shared.contains(id));
        }
        Ok(old)
    }

    /// Returns the first elements of the chunks that are stored, in C order.
    pub(crate) fn chunk_starts(&self, id: M::Id, dataset: &Dataset) -> Result<Vec<Vec<u64>>> {
        self.shared.elements().flush(id)?;
        let listed = self.shared.listings.snapshot(id, View::Chunks, || {
            let starts = self.mapping().starts(id, dataset)?;
            Ok(starts.iter().map(|start| start.iter().flat_map(|at| at.to_le_bytes()).collect()).collect())
        })?;
        let numbers =
            |start: &Vec<u8>| start.as_chunks().0.iter().map(|at| u64::from_le_bytes(*at)).collect();
        Ok(listed.iter().map(numbers).collect())
    }

    /// Returns up to `count_max` of the chunks that are stored, after the first `skip`.
    pub(crate) fn list_chunks(&self, token: Token, skip: u64, count_max: u64) -> Result<Page<ChunkInfo>> {
        let (id, dataset) = self.dataset(token)?;
        dataset.check_chunked()?;
        let starts = self.chunk_starts(id, &dataset)?;
        let (starts, more) = slice(&starts, &OpList { skip, count_max, ..OpList::default() });
        let sizes = self.chunk_sizes(id, &dataset, &starts)?;
        let entry = |(offset, (filter_mask, bytes))| ChunkInfo { offset, filter_mask, bytes, address: None };
        Ok(Page { entries: starts.into_iter().zip(sizes).map(entry).collect(), more })
    }

    /// Returns the filter masks and sizes in bytes of chunks.
    fn chunk_sizes(&self, id: M::Id, dataset: &Dataset, starts: &[Vec<u64>]) -> Result<Vec<(u32, u64)>> {
        if dataset.filters().is_empty() {
            return Ok(vec![(0, dataset.chunk_bytes() as u64); starts.len()]);
        }
        let starts: Vec<&[u64]> = starts.iter().map(Vec::as_slice).collect();
        self.shared.elements().chunks.stored_sizes(id, dataset, &starts)
    }

    /// Returns the size of a dataset in storage.
    pub(crate) fn storage_of(&self, token: Token) -> Result<StorageInfo> {
        let (id, dataset) = self.dataset(token)?;
        let starts = self.chunk_starts(id, &dataset)?;
        let sizes = self.chunk_sizes(id, &dataset, &starts)?;
        let bytes = sizes.iter().fold(0u64, |all, (_, bytes)| all.saturating_add(*bytes));
        let dims = dataset.info.space.dims().iter().zip(&dataset.shape);
        let all = dims.fold(1u64, |n, (dim, len)| n.saturating_mul(dim.div_ceil(*len)));
        let allocation = match starts.len() as u64 {
            0 => Allocation::None,
            n if n >= all => Allocation::Full,
            _ => Allocation::Part,
        };
        Ok(StorageInfo::new(bytes, allocation))
    }

    /// Returns one chunk as stored.
    ///
    /// # Errors
    /// Returns `NotFound` if the chunk is not stored.
    pub(crate) fn read_chunk(&self, token: Token, offset: &[u64]) -> Result<(u32, Vec<u8>)> {
        let (id, dataset) = self.dataset(token)?;
        dataset.check_chunked()?;
        dataset.check_offset(offset)?;
        let _lock = self.lock_read(id);
        let elements = self.shared.elements();
        let found = match dataset.filters().is_empty() {
            true => elements.chunk(id, &dataset, offset, dataset.filled())?.map(|chunk| (0, chunk)),
            false => {
                elements.flush(id)?;
                elements.chunks.stored(id, &dataset, &[offset])?.pop().flatten()
            }
        };
        found.ok_or_else(|| Error::not_found("read chunk").with("offset", format!("{offset:?}")))
    }

    /// Replaces one chunk as stored.
    pub(crate) fn write_chunk(&self, token: Token, offset: &[u64], mask: u32, data: &[u8]) -> Result<()> {
        let (id, dataset) = self.dataset(token)?;
        dataset.check_chunked()?;
        dataset.check_offset(offset)?;
        let filters = dataset.filters();
        if mask == filters::pipeline::mask_of_none(filters) && data.len() != dataset.chunk_bytes() {
            let wanted = dataset.chunk_bytes();
            return Err(Error::invalid("write chunk").with("bytes", data.len()).with("wanted", wanted));
        }
        if filters.is_empty() && mask != 0 {
            return Err(Error::invalid("write chunk").with("filter mask", mask));
        }
        let _lock = self.lock_write(id);
        let elements = self.shared.elements();
        if filters.is_empty() {
            return write_inside(&elements, id, &dataset, offset, data);
        }
        elements.flush(id)?;
        let done = elements.chunks.store(id, &dataset, &[offset], &[(mask, data.to_vec())]);
        elements.listings.changed(id);
        done
    }

    /// Returns the blobs that a chunk's elements use, without those of the fill value, which all elements share.
    pub(crate) fn blobs_of_chunk(
        &self,
        id: M::Id,
        dataset: &Dataset,
        start: &[u64],
    ) -> Result<Vec<M::BlobId>> {
        if !dataset.info.datatype.has_descriptors() {
            return Ok(Vec::new());
        }
        let buffer = vec![0; dataset.chunk_bytes()];
        let Some(chunk) = self.shared.elements().chunk(id, dataset, start, buffer)? else {
            return Ok(Vec::new());
        };
        let shared = self.blobs_of_fill(dataset)?;
        let mut found = self.blobs_in(&dataset.info.datatype, &chunk)?;
        found.retain(|id| !shared.contains(id));
        Ok(found)
    }

    /// Returns the blobs that the elements of a dataset use.
    fn blobs_of_chunks(&self, id: M::Id, dataset: &Dataset) -> Result<Vec<M::BlobId>> {
        let mut blobs = Vec::new();
        if dataset.info.datatype.has_descriptors() {
            for start in &self.chunk_starts(id, dataset)? {
                blobs.extend(self.blobs_of_chunk(id, dataset, start)?);
            }
        }
        Ok(blobs)
    }

    /// Returns the blobs that a dataset uses: for its fill value, its elements, and its filtered chunks.
    pub(crate) fn blobs_of_dataset(&self, id: M::Id, dataset: &Dataset) -> Result<Vec<M::BlobId>> {
        let mut blobs = self.blobs_of_fill(dataset)?;
        blobs.extend(self.blobs_of_chunks(id, dataset)?);
        if M::HAS_CHUNK_BLOBS && !dataset.filters().is_empty() {
            self.shared.elements().flush(id)?;
            blobs.extend(self.mapping().chunk_blobs(id, dataset)?);
        }
        Ok(blobs)
    }
}

/// Writes the part of a chunk that is inside of the extent: the rest would appear when the extent grows.
fn write_inside<C: Chunks>(
    elements: &Elements<'_, C>,
    id: C::Id,
    dataset: &Dataset,
    start: &[u64],
    data: &[u8],
) -> Result<()> {
    let (selection, shape) = dataset.chunk_selection(start)?;
    if shape == dataset.shape {
        return elements.write(id, dataset, &selection, data);
    }
    let mut packed = Vec::new();
    let element_bytes = dataset.element_bytes();
    for run in Selection::block(&vec![0; shape.len()], &shape)?.runs(&dataset.shape)? {
        let at = run.offset as usize * element_bytes;
        packed.extend_from_slice(&data[at..at + run.len as usize * element_bytes]);
    }
    elements.write(id, dataset, &selection, &packed)
}
