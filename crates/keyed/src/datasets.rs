//! What containers do with datasets, once they say where chunks and blobs are.

use algorithms::checks;
use model::{Datatype, Error, Result, Selection, Token};
use system::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use vol::{Allocation, ChunkInfo, OpList, OpRead, OpWrite, Page, StorageInfo};

use crate::{Chunks, Dataset, Elements, Values, slice};

/// Datasets of a container.
pub trait Datasets<const N: usize>: Values<N> {
    /// Where chunks are.
    type Chunks: Chunks;

    /// Elements of all datasets.
    fn elements(&self) -> Elements<'_, Self::Chunks>;
    /// A dataset, as it is now.
    fn dataset(&self, token: Token) -> Result<(<Self::Chunks as Chunks>::Id, Dataset)>;
    /// The lock of a dataset's elements; several may share one.
    fn lock_of(&self, id: <Self::Chunks as Chunks>::Id) -> &RwLock<()>;

    /// Elements of a dataset hold still.
    fn reading(&self, id: <Self::Chunks as Chunks>::Id) -> RwLockReadGuard<'_, ()> {
        self.lock_of(id).read()
    }

    /// Nobody else looks at the elements of a dataset.
    fn changing(&self, id: <Self::Chunks as Chunks>::Id) -> RwLockWriteGuard<'_, ()> {
        self.lock_of(id).write()
    }

    /// Nobody else changes values of a map that name blobs: each blob is released once.
    fn changing_values(
        &self,
        map: <Self::Chunks as Chunks>::Id,
        value: &Datatype,
    ) -> Option<RwLockWriteGuard<'_, ()>> {
        value.has_slots().then(|| self.changing(map))
    }

    /// Reads elements.
    fn read_elements(&self, reads: &mut [OpRead<'_>]) -> Result<()> {
        // One alone is checked below, before anything happens.
        for read in reads.iter().filter(|_| reads.len() > 1) {
            checks::transfer(&self.dataset(read.dataset)?.1.info, read.selection, read.into.len())?;
        }
        for read in reads.iter_mut() {
            let (id, _) = self.dataset(read.dataset)?;
            let _still = self.reading(id);
            // The extent may have changed before the elements held still.
            let (_, dataset) = self.dataset(read.dataset)?;
            checks::transfer(&dataset.info, read.selection, read.into.len())?;
            if read.into.is_empty() {
                continue;
            }
            self.elements().read(id, &dataset, read.selection, read.into)?;
        }
        Ok(())
    }

    /// Writes elements.
    fn write_elements(&self, writes: &[OpWrite<'_>]) -> Result<()> {
        for write in writes.iter().filter(|_| writes.len() > 1) {
            checks::transfer(&self.dataset(write.dataset)?.1.info, write.selection, write.from.len())?;
        }
        for write in writes {
            let (id, _) = self.dataset(write.dataset)?;
            let _alone = self.changing(id);
            let (_, dataset) = self.dataset(write.dataset)?;
            checks::transfer(&dataset.info, write.selection, write.from.len())?;
            if write.from.is_empty() {
                continue;
            }
            let old = self.blobs_before(id, &dataset, write)?;
            self.elements().write(id, &dataset, write.selection, write.from)?;
            self.drop_replaced(&dataset.info.datatype, old, write.from)?;
        }
        Ok(())
    }

    /// The blobs of elements that are about to be overwritten, but those of the fill value, which all of them share.
    fn blobs_before(
        &self,
        id: <Self::Chunks as Chunks>::Id,
        dataset: &Dataset,
        write: &OpWrite<'_>,
    ) -> Result<Vec<[u8; N]>> {
        if !dataset.info.datatype.has_slots() {
            return Ok(Vec::new());
        }
        let mut elements = vec![0; write.from.len()];
        self.elements().read(id, dataset, write.selection, &mut elements)?;
        let mut old = self.blobs_in(&dataset.info.datatype, &elements)?;
        if !old.is_empty() {
            let shared = self.blobs_of_fill(dataset)?;
            old.retain(|id| !shared.contains(id));
        }
        Ok(old)
    }

    /// First elements of the chunks that are stored, in C order.
    fn chunk_starts(&self, id: <Self::Chunks as Chunks>::Id, dataset: &Dataset) -> Result<Vec<Vec<u64>>> {
        let elements = self.elements();
        elements.settle(id)?;
        elements.chunks.starts(id, dataset)
    }

    /// Some of the chunks that are stored.
    fn list_chunks(&self, token: Token, skip: u64, count_max: u64) -> Result<Page<ChunkInfo>> {
        let (id, dataset) = self.dataset(token)?;
        dataset.check_chunked()?;
        let starts = self.chunk_starts(id, &dataset)?;
        let (starts, more) = slice(&starts, &OpList { skip, count_max, ..OpList::default() });
        let sizes = self.chunk_sizes(id, &dataset, &starts)?;
        let entry = |(offset, (filter_mask, bytes))| ChunkInfo { offset, filter_mask, bytes, address: None };
        Ok(Page { entries: starts.into_iter().zip(sizes).map(entry).collect(), more })
    }

    /// Masks and bytes of chunks.
    fn chunk_sizes(
        &self,
        id: <Self::Chunks as Chunks>::Id,
        dataset: &Dataset,
        starts: &[Vec<u64>],
    ) -> Result<Vec<(u32, u64)>> {
        if dataset.filters().is_empty() {
            return Ok(vec![(0, dataset.chunk_bytes() as u64); starts.len()]);
        }
        let starts: Vec<&[u64]> = starts.iter().map(Vec::as_slice).collect();
        self.elements().chunks.stored_sizes(id, dataset, &starts)
    }

    /// How much storage a dataset takes.
    fn storage_of(&self, token: Token) -> Result<StorageInfo> {
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

    /// One chunk as stored.
    fn read_chunk(&self, token: Token, offset: &[u64]) -> Result<(u32, Vec<u8>)> {
        let (id, dataset) = self.dataset(token)?;
        dataset.check_chunked()?;
        dataset.check_offset(offset)?;
        let _still = self.reading(id);
        let elements = self.elements();
        let found = match dataset.filters().is_empty() {
            true => elements.chunk(id, &dataset, offset, dataset.filled())?.map(|chunk| (0, chunk)),
            false => {
                elements.settle(id)?;
                elements.chunks.stored(id, &dataset, &[offset])?.pop().flatten()
            }
        };
        found.ok_or_else(|| Error::not_found("read chunk").with("offset", format!("{offset:?}")))
    }

    /// Stores one chunk as given.
    fn write_chunk(&self, token: Token, offset: &[u64], mask: u32, data: &[u8]) -> Result<()> {
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
        let _alone = self.changing(id);
        let elements = self.elements();
        if filters.is_empty() {
            return write_inside(&elements, id, &dataset, offset, data);
        }
        elements.settle(id)?;
        let done = elements.chunks.store(id, &dataset, &[offset], &[(mask, data.to_vec())]);
        elements.chunks.changed(id);
        done
    }

    /// Removes what lies outside of a new extent, with its blobs. Nobody else looks at the elements.
    fn cut(&self, id: <Self::Chunks as Chunks>::Id, old: &Dataset, new: &Dataset) -> Result<()> {
        crate::resize::cut(self, id, old, new)
    }

    /// The blobs that a chunk's elements use, without those of the fill value, which all of them share.
    fn blobs_of_chunk(
        &self,
        id: <Self::Chunks as Chunks>::Id,
        dataset: &Dataset,
        start: &[u64],
    ) -> Result<Vec<[u8; N]>> {
        if !dataset.info.datatype.has_slots() {
            return Ok(Vec::new());
        }
        let room = vec![0; dataset.chunk_bytes()];
        let Some(chunk) = self.elements().chunk(id, dataset, start, room)? else {
            return Ok(Vec::new());
        };
        let shared = self.blobs_of_fill(dataset)?;
        let mut found = self.blobs_in(&dataset.info.datatype, &chunk)?;
        found.retain(|id| !shared.contains(id));
        Ok(found)
    }

    /// The blobs that the chunks of a dataset use.
    fn blobs_of_chunks(&self, id: <Self::Chunks as Chunks>::Id, dataset: &Dataset) -> Result<Vec<[u8; N]>> {
        let mut blobs = Vec::new();
        if dataset.info.datatype.has_slots() {
            for start in &self.chunk_starts(id, dataset)? {
                blobs.extend(self.blobs_of_chunk(id, dataset, start)?);
            }
        }
        Ok(blobs)
    }
}

/// Writes of a chunk what is inside of the extent: the rest would show when the extent grows.
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
