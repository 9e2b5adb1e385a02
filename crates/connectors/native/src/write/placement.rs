//! Room for elements that others write to the file themselves.

use model::{Error, Result, Selection};
use vol::{Placement, PlacementParts};

use super::Writer;
use crate::chunk::index::ChunkAt;
use crate::file::File;
use crate::format::Address;
use crate::format::layout::{Chunked, Layout};
use crate::object::dataset::Dataset;
use crate::{chunk, placement};

impl Writer {
    /// Where elements lie, for one who writes them there: all of them have room, and nothing of the dataset waits in memory.
    ///
    /// New room was free at the last commit, and holds the fill value. What is overwritten where the last commit has it is
    /// overwritten at once: there the commit is no longer atomic.
    pub(crate) fn place_elements(
        &mut self,
        file: &File,
        at: Address,
        selection: &Selection,
    ) -> Result<Placement> {
        self.check_there(at)?;
        let mut dataset = self.dataset(file, at)?;
        placement::check(file, &dataset, selection)?;
        if self.is_swmr() {
            return Err(Error::unsupported("place elements").with("problem", "readers look on"));
        }
        let parts = match &dataset.layout {
            Layout::Chunked(layout) => self.place_chunks(file, &dataset, layout, selection)?,
            Layout::Contiguous { address: None, .. } => {
                self.allocate_early(file, at)?;
                dataset = self.dataset(file, at)?;
                self.contiguous(&dataset)?
            }
            _ => self.contiguous(&dataset)?,
        };
        self.store.lay_bare(&placement::ranges(&dataset, &parts)?, true)?;
        // What was kept of chunks is not what will be there.
        self.pending.remove_dataset(at);
        self.is_changed = true;
        placement::told(file, &dataset, parts)
    }

    /// Others wrote elements in the file.
    pub(crate) fn elements_changed(&mut self, file: &File, at: Address, selection: &Selection) -> Result<()> {
        self.check_there(at)?;
        let dataset = self.dataset(file, at)?;
        placement::check(file, &dataset, selection)?;
        let parts = placement::parts(file, &dataset, selection)?;
        self.store.written_by_others(&placement::ranges(&dataset, &parts)?);
        Ok(())
    }

    fn contiguous(&self, dataset: &Dataset) -> Result<PlacementParts> {
        match dataset.layout {
            Layout::Contiguous { address: Some(at), .. } => {
                Ok(PlacementParts::Contiguous { offset: Some(self.store.base() + at.0) })
            }
            _ => Err(Error::corrupt("place elements").at(dataset.address.0)),
        }
    }

    fn place_chunks(
        &mut self,
        file: &File,
        dataset: &Dataset,
        layout: &Chunked,
        selection: &Selection,
    ) -> Result<PlacementParts> {
        // To look is cheap; once a chunk changes, the index of all is built anew.
        let mut parts = placement::parts(file, dataset, selection)?;
        let PlacementParts::Chunks { offsets, .. } = &mut parts else { return Ok(parts) };
        if offsets.iter().all(Option::is_some) {
            return Ok(parts);
        }
        let bytes = chunk::chunk_bytes(file, &layout.shape, layout.element_bytes)? as u64;
        let is_first = self.draft(file, dataset.address)?.chunks_mut(file)?.chunks.is_empty();
        let base = self.store.base();
        let wanted = placement::chunks(dataset, layout, selection)?;
        for (scaled, offset) in wanted.iter().zip(offsets).filter(|(_, offset)| offset.is_none()) {
            *offset = Some(base + self.chunk_room(file, dataset, scaled, bytes)?.0);
        }
        if is_first {
            self.allocate_late(file, dataset, layout)?;
        }
        Ok(parts)
    }

    /// The room of a chunk, which gets some with the fill value where it has none.
    fn chunk_room(&mut self, file: &File, dataset: &Dataset, scaled: &[u64], bytes: u64) -> Result<Address> {
        let found = self.chunks(dataset.address).and_then(|set| set.chunks.get(scaled).copied());
        if let Some(chunk) = found {
            return Ok(chunk.address);
        }
        let address = self.allocate_raw(bytes);
        if let Err(error) = self.write_fill(dataset, address, bytes) {
            // Nothing leads there yet.
            self.release_raw(address, bytes);
            return Err(error);
        }
        self.set_chunk(file, dataset.address, scaled, ChunkAt { address, bytes, filter_mask: 0 })?;
        Ok(address)
    }
}
