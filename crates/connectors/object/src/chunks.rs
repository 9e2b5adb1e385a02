//! Chunks as they are stored.

use std::sync::Arc;

use model::properties::{FillValue, Layout};
use model::{Error, Result, Selection};
use objects::{Fetch, ObjectId, Size};
use vol::{Allocation, ChunkInfo, OpList, Page, StorageInfo};

use crate::described::{Dataset, Described};
use crate::error::{During, fetched};
use crate::filtered::{put_chunks, undone};
use crate::keys::{self, ELEMENTS};
use crate::links::slice;
use crate::listing::{View, each_dkey};
use crate::opening::Opening;
use crate::slots::BlobId;

fn check_chunked(dataset: &Dataset) -> Result<()> {
    match dataset.info.create.layout {
        Layout::Chunked { .. } => Ok(()),
        _ => Err(Error::invalid("use raw chunks").with("problem", "the dataset is not chunked")),
    }
}

/// An error unless a chunk begins there.
fn check_offset(dataset: &Dataset, offset: &[u64]) -> Result<()> {
    let dims = dataset.info.space.dims();
    let is_chunk = offset.len() == dims.len()
        && offset.iter().zip(&dataset.shape).all(|(at, len)| at.is_multiple_of(*len))
        && offset.iter().zip(dims).all(|(at, dim)| at < dim);
    match is_chunk {
        true => Ok(()),
        false => Err(Error::invalid("find chunk").with("offset", format!("{offset:?}"))),
    }
}

/// The selection of what a chunk has inside of the extent.
fn inside(dataset: &Dataset, start: &[u64]) -> Result<(Selection, Vec<u64>)> {
    let room = start.iter().zip(dataset.info.space.dims()).map(|(at, dim)| dim.saturating_sub(*at));
    let shape: Vec<u64> = room.zip(&dataset.shape).map(|(room, len)| room.min(*len)).collect();
    let selection = if start.is_empty() { Selection::All } else { Selection::block(start, &shape)? };
    Ok((selection, shape))
}

impl Opening {
    /// First elements of the chunks that are stored, in C order.
    pub(crate) fn chunk_starts(&self, described: &Described) -> Result<Vec<Vec<u64>>> {
        let rank = described.dataset()?.shape.len();
        let id = described.id;
        self.shared.settle(id)?;
        let dkeys = self.shared.listings.snapshot(id, View::Chunks, || {
            let mut found = Vec::new();
            // Other keys begin with a slash, which comes after all of these.
            each_dkey(self.store(), id, &[0], |dkey| {
                found.extend(keys::chunk_start(dkey, rank));
                Ok(dkey.first() == Some(&0))
            })?;
            found.sort_unstable();
            Ok(found.iter().map(|start| keys::chunk(start)).collect())
        })?;
        Ok(dkeys.iter().filter_map(|dkey| keys::chunk_start(dkey, rank)).collect())
    }

    fn stored_bytes(&self, id: ObjectId, dataset: &Dataset, start: &[u64]) -> Result<u64> {
        if dataset.filters().is_empty() {
            return Ok(dataset.chunk_bytes() as u64);
        }
        match self.store().size(id, &keys::chunk(start), ELEMENTS).during("list chunks")? {
            Some(Size::Single(bytes)) => Ok(bytes),
            _ => Ok(0),
        }
    }

    pub(crate) fn list_chunks(
        &self,
        described: &Described,
        skip: u64,
        count: u64,
    ) -> Result<Page<ChunkInfo>> {
        let (id, dataset) = (described.id, described.dataset()?);
        check_chunked(dataset)?;
        let starts = self.chunk_starts(described)?;
        let (starts, more) = slice(&starts, &OpList { skip, count_max: count, ..OpList::default() });
        let dkeys: Vec<Vec<u8>> = starts.iter().map(|start| keys::chunk(start)).collect();
        let masks: Vec<_> = dkeys.iter().map(|dkey| (id, &dkey[..], keys::FILTER_MASK)).collect();
        let masks = match dataset.filters().is_empty() {
            true => vec![None; starts.len()],
            false => self.store().get_many(&masks).during("list chunks")?,
        };
        let mut entries = Vec::with_capacity(starts.len());
        for (offset, mask) in starts.into_iter().zip(masks) {
            let mask = mask.and_then(|mask| mask.try_into().ok()).map_or(0, u32::from_le_bytes);
            let bytes = self.stored_bytes(id, dataset, &offset)?;
            entries.push(ChunkInfo { offset, filter_mask: mask, bytes, address: None });
        }
        Ok(Page { entries, more })
    }

    pub(crate) fn storage_of(&self, described: &Described) -> Result<StorageInfo> {
        let (id, dataset) = (described.id, described.dataset()?);
        let starts = self.chunk_starts(described)?;
        let mut bytes = 0u64;
        for start in &starts {
            bytes = bytes.saturating_add(self.stored_bytes(id, dataset, start)?);
        }
        let dims = dataset.info.space.dims().iter().zip(&dataset.shape);
        let all = dims.fold(1u64, |n, (dim, len)| n.saturating_mul(dim.div_ceil(*len)));
        let allocation = match starts.len() as u64 {
            0 => Allocation::None,
            n if n >= all => Allocation::Full,
            _ => Allocation::Part,
        };
        Ok(StorageInfo { bytes, allocation, offset: None })
    }

    /// All elements of a chunk, or `None` where nothing is stored; what nobody wrote stays as it is in `room`.
    pub(crate) fn chunk_elements(
        &self,
        id: ObjectId,
        dataset: &Dataset,
        start: &[u64],
        mut room: Vec<u8>,
    ) -> Result<Option<Vec<u8>>> {
        let dkey = keys::chunk(start);
        if !dataset.filters().is_empty() {
            self.shared.settle(id)?;
            let stored = self.stored_chunks(id, &[&dkey])?.pop().flatten();
            return stored.map(|(mask, stored)| undone(dataset, mask, &stored)).transpose();
        }
        if self.store().size(id, &dkey, ELEMENTS).during("read chunk")?.is_none() {
            return Ok(None);
        }
        let record_size = dataset.element_bytes() as u32;
        let fetch = Fetch { object: id, dkey: &dkey, akey: ELEMENTS, record_size, start: 0, into: &mut room };
        self.store().fetch(&mut [fetch]).map_err(|error| fetched("read chunk", &error))?;
        Ok(Some(room))
    }

    pub(crate) fn read_chunk(&self, described: &Described, offset: &[u64]) -> Result<(u32, Vec<u8>)> {
        let (id, dataset) = (described.id, described.dataset()?);
        check_chunked(dataset)?;
        check_offset(dataset, offset)?;
        let _still = self.shared.reading(id);
        self.shared.settle(id)?;
        let found = match dataset.filters().is_empty() {
            true => {
                let mut room = vec![0; dataset.chunk_bytes()];
                dataset.fill(&mut room);
                self.chunk_elements(id, dataset, offset, room)?.map(|chunk| (0, chunk))
            }
            false => self.stored_chunks(id, &[&keys::chunk(offset)])?.pop().flatten(),
        };
        found.ok_or_else(|| Error::not_found("read chunk").with("offset", format!("{offset:?}")))
    }

    pub(crate) fn write_chunk(
        &self,
        described: &Arc<Described>,
        offset: &[u64],
        mask: u32,
        data: &[u8],
    ) -> Result<()> {
        let (id, dataset) = (described.id, described.dataset()?);
        check_chunked(dataset)?;
        check_offset(dataset, offset)?;
        let filters = dataset.filters();
        let is_plain = mask == pipeline::mask_of_none(filters);
        if is_plain && data.len() != dataset.chunk_bytes() {
            let wanted = dataset.chunk_bytes();
            return Err(Error::invalid("write chunk").with("bytes", data.len()).with("wanted", wanted));
        }
        if filters.is_empty() && mask != 0 {
            return Err(Error::invalid("write chunk").with("filter mask", mask));
        }
        let _alone = self.shared.changing(id);
        if filters.is_empty() {
            return self.write_inside(described, dataset, offset, data);
        }
        self.shared.settle(id)?;
        let done = put_chunks(self.store(), id, &[&keys::chunk(offset)], &[(mask, data.to_vec())]);
        self.shared.listings.changed(id);
        done
    }

    /// Writes of a chunk what is inside of the extent: the rest would show when the extent grows.
    fn write_inside(
        &self,
        described: &Arc<Described>,
        dataset: &Dataset,
        start: &[u64],
        data: &[u8],
    ) -> Result<()> {
        let (selection, shape) = inside(dataset, start)?;
        if shape == dataset.shape {
            return self.write_selection(described, dataset, &selection, data);
        }
        let mut packed = Vec::new();
        let element_bytes = dataset.element_bytes();
        for run in Selection::block(&vec![0; shape.len()], &shape)?.runs(&dataset.shape)? {
            let at = run.offset as usize * element_bytes;
            packed.extend_from_slice(&data[at..at + run.len as usize * element_bytes]);
        }
        self.write_selection(described, dataset, &selection, &packed)
    }

    /// The blobs that a chunk's elements use, without those of the fill value, which all of them share.
    pub(crate) fn blobs_of_chunk(&self, described: &Described, start: &[u64]) -> Result<Vec<BlobId>> {
        let dataset = described.dataset()?;
        let room = vec![0; dataset.chunk_bytes()];
        let Some(chunk) = self.chunk_elements(described.id, dataset, start, room)? else {
            return Ok(Vec::new());
        };
        let shared = self.blobs_of_fill(dataset)?;
        let mut found = self.blobs_in(&dataset.info.datatype, &chunk)?;
        found.retain(|id| !shared.contains(id));
        Ok(found)
    }

    /// The blobs of a fill value.
    pub(crate) fn blobs_of_fill(&self, dataset: &Dataset) -> Result<Vec<BlobId>> {
        match &dataset.info.create.fill.value {
            FillValue::Value(value) => self.blobs_in(&dataset.info.datatype, value),
            _ => Ok(Vec::new()),
        }
    }
}
