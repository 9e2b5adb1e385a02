//! Single chunks with filters, for processes that share them out.

use model::properties::Layout as LayoutProperty;
use model::{Error, Result, Token, Within};
use vol::ChunkGrid;

use super::NativeContainer;
use crate::chunk;
use crate::chunk::index::Chunks;
use crate::format::layout::Layout;
use crate::write::filters_of;

impl NativeContainer {
    /// Returns the chunks of a dataset whose elements have filters, and nothing else that leads away from them.
    pub(crate) fn chunk_grid(&self, token: Token) -> Result<Option<ChunkGrid>> {
        let (_view, dataset) = self.dataset(token)?;
        let is_filtered = !dataset.filters().is_empty() && !dataset.info.datatype.has_descriptors();
        match (&dataset.layout, &dataset.info.create.layout) {
            (Layout::Chunked(layout), LayoutProperty::Chunked { .. }) if is_filtered => Ok(Some(ChunkGrid {
                dims: dataset.dims().to_vec(),
                shape: layout.shape.clone(),
                element_bytes: dataset.info.datatype.size(),
            })),
            _ => Ok(None),
        }
    }

    /// Returns the elements of a chunk: the fill value where nothing is stored.
    pub(crate) fn load_chunk(&self, token: Token, chunk_coords: &[u64]) -> Result<Vec<u8>> {
        let (view, dataset, layout) = self.chunked(token)?;
        let bytes = chunk::chunk_bytes(view.file, &layout.shape, layout.element_bytes)?;
        let Some(at) = Chunks::open(view.file, &dataset, &layout)?.find(chunk_coords)? else {
            let mut chunk = vec![0; bytes];
            chunk::fill(&dataset, &mut chunk);
            return Ok(chunk);
        };
        let store = &view.file.store;
        let mut raw = vec![0; at.bytes.within(store.limits.chunk_bytes_max, "stored chunk")?];
        store.read(at.address, &mut raw, "chunk")?;
        let filters = filters_of(&dataset, &layout, chunk_coords, dataset.dims());
        let chunk = match filters.is_empty() {
            true => raw,
            false => view.file.unfilter(filters, at.filter_mask, raw, bytes)?,
        };
        if chunk.len() == bytes { Ok(chunk) } else { Err(Error::corrupt("read chunk").at(at.address.0)) }
    }

    /// Returns a chunk after its filters, and the mask of those that were left out.
    pub(crate) fn encode_chunk(
        &self,
        token: Token,
        chunk_coords: &[u64],
        chunk: Vec<u8>,
    ) -> Result<(Vec<u8>, u32)> {
        let (view, dataset, layout) = self.chunked(token)?;
        view.file.filter(filters_of(&dataset, &layout, chunk_coords, dataset.dims()), chunk)
    }
}
