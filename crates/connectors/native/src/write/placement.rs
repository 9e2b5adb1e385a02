//! Space for elements that others write to the file themselves.

use std::sync::Arc;

use files::DataKind;
use model::properties::FillTime;
use model::{Error, Result, Selection};
use vol::PlacementParts;

use super::Writer;
use super::storage::Storage;
use crate::chunk::index::ChunkAt;
use crate::format::Address;
use crate::format::layout::{Chunked, Layout};
use crate::object::dataset::Dataset;
use crate::{chunk, placement};

impl Writer {
    /// Returns where elements lie, for a caller that writes them there: all of them have space, and nothing of the dataset waits in memory.
    ///
    /// New space was free at the last commit, and holds the fill value. What is overwritten where the last commit has it is
    /// overwritten at once: there the commit is no longer atomic.
    pub(crate) fn place_elements(
        &mut self,
        at: Address,
        selection: &Selection,
        check: &dyn Fn(&Dataset) -> Result<()>,
    ) -> Result<(Arc<Dataset>, PlacementParts)> {
        self.serialize(at)?;
        let mut dataset = self.dataset(at)?;
        check(&dataset)?;
        if self.storage.is_swmr() {
            return Err(Error::unsupported("place elements").with("problem", "readers look on"));
        }
        let parts = match &dataset.layout {
            Layout::Chunked(layout) => self.place_chunks(&dataset, layout, selection)?,
            Layout::Contiguous { address: None, .. } if dataset.info.create.fill.time == FillTime::Never => {
                let offset = Some(self.allocate_unfilled(&dataset)?);
                return Ok((self.dataset(at)?, PlacementParts::Contiguous { offset }));
            }
            Layout::Contiguous { address: None, .. } => {
                self.allocate_early(at)?;
                self.serialize(at)?;
                dataset = self.dataset(at)?;
                contiguous(&self.storage, &dataset)?
            }
            _ => contiguous(&self.storage, &dataset)?,
        };
        self.storage.store().ensure_in_file(&placement::ranges(&dataset, &parts)?, true)?;
        // What was kept of chunks is not what will be there.
        self.chunks.pending.remove_dataset(at);
        self.storage.transaction.is_changed = true;
        Ok((dataset, parts))
    }

    /// Others wrote elements in the file.
    pub(crate) fn elements_changed(
        &mut self,
        at: Address,
        selection: &Selection,
        check: &dyn Fn(&Dataset) -> Result<()>,
    ) -> Result<()> {
        self.serialize(at)?;
        let dataset = self.dataset(at)?;
        check(&dataset)?;
        let parts = placement::parts(&self.reader, &dataset, selection)?;
        self.storage.store().written_by_others(&placement::ranges(&dataset, &parts)?);
        Ok(())
    }

    pub(super) fn place_chunks(
        &mut self,
        dataset: &Dataset,
        layout: &Chunked,
        selection: &Selection,
    ) -> Result<PlacementParts> {
        let mut parts = placement::parts(&self.reader, dataset, selection)?;
        let PlacementParts::Chunks { offsets, .. } = &mut parts else { return Ok(parts) };
        if offsets.iter().all(Option::is_some) {
            return Ok(parts);
        }
        let bytes = chunk::chunk_bytes(&self.reader, &layout.shape, layout.element_bytes)? as u64;
        let is_first = self.objects.has_no_chunks(dataset.address)?;
        let base = self.storage.store().base();
        let wanted = placement::chunks(dataset, layout, selection)?;
        for (chunk_coords, offset) in wanted.iter().zip(offsets).filter(|(_, offset)| offset.is_none()) {
            *offset = Some(base + self.chunk_space(dataset, chunk_coords, bytes)?.0);
        }
        if is_first {
            self.allocate_late(dataset, layout)?;
        }
        Ok(parts)
    }

    /// Returns the space of a chunk, which gets some with the fill value where it has none.
    pub(super) fn chunk_space(
        &mut self,
        dataset: &Dataset,
        chunk_coords: &[u64],
        bytes: u64,
    ) -> Result<Address> {
        if let Some(chunk) = self.objects.chunk_at(dataset.address, chunk_coords)? {
            return Ok(chunk.address);
        }
        let address = self.storage.allocate(bytes, DataKind::Raw);
        if let Err(error) = self.storage.write_fill(dataset, address, bytes) {
            // Nothing leads there yet.
            self.storage.release_raw(address, bytes);
            return Err(error);
        }
        self.set_chunk(dataset.address, chunk_coords, Some(ChunkAt { address, bytes, filter_mask: 0 }))?;
        Ok(address)
    }
}

fn contiguous(storage: &Storage, dataset: &Dataset) -> Result<PlacementParts> {
    match dataset.layout {
        Layout::Contiguous { address: Some(at), .. } => {
            Ok(PlacementParts::Contiguous { offset: Some(storage.store().base() + at.0) })
        }
        _ => Err(Error::corrupt("place elements").at(dataset.address.0)),
    }
}
