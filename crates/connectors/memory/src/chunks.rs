//! Chunks as they are stored.

use model::properties::Layout;
use model::{Error, Result, Token};
use vol::{ChunkInfo, Page};

use crate::blocks::start_of;
use crate::check;
use crate::datasets::Dataset;
use crate::objects::ContainerState;

impl Dataset {
    fn check_chunked(&self) -> Result<()> {
        if !matches!(self.info.create.layout, Layout::Chunked { .. }) {
            return Err(Error::invalid("use raw chunks").with("problem", "the dataset is not chunked"));
        }
        if !self.info.create.filters.is_empty() {
            return Err(Error::unsupported("use raw chunks of a filtered dataset in memory"));
        }
        Ok(())
    }

    /// Returns the chunk whose first element is at `offset`.
    fn chunk_coords(&self, offset: &[u64]) -> Result<Vec<u64>> {
        let (dims, shape) = (self.info.space.dims(), &self.blocks.shape);
        let is_chunk = offset.len() == dims.len()
            && offset.iter().zip(shape).all(|(at, len)| at.is_multiple_of(*len))
            && offset.iter().zip(dims).all(|(at, dim)| at < dim);
        if !is_chunk {
            return Err(Error::invalid("find chunk").with("offset", format!("{offset:?}")));
        }
        Ok(offset.iter().zip(shape).map(|(at, len)| at / len).collect())
    }
}

impl ContainerState {
    pub(crate) fn chunk_list(&self, dataset: Token, skip: u64, count_max: u64) -> Result<Page<ChunkInfo>> {
        let dataset = self.dataset(dataset)?;
        dataset.check_chunked()?;
        let skip = usize::try_from(skip).unwrap_or(usize::MAX);
        let count = usize::try_from(count_max).unwrap_or(usize::MAX);
        let shown = dataset.blocks.iter().skip(skip).take(count).map(|(chunk_coords, bytes)| ChunkInfo {
            offset: start_of(chunk_coords, &dataset.blocks.shape),
            filter_mask: 0,
            bytes: bytes.len() as u64,
            address: None,
        });
        Ok(Page { entries: shown.collect(), more: dataset.blocks.len() > skip.saturating_add(count) })
    }

    pub(crate) fn chunk_read(&self, dataset: Token, offset: &[u64]) -> Result<(u32, Vec<u8>)> {
        let dataset = self.dataset(dataset)?;
        dataset.check_chunked()?;
        let chunk = dataset.blocks.get(&dataset.chunk_coords(offset)?);
        let chunk =
            chunk.ok_or_else(|| Error::not_found("read chunk").with("offset", format!("{offset:?}")))?;
        Ok((0, chunk.clone()))
    }

    pub(crate) fn chunk_write(&mut self, token: Token, offset: &[u64], mask: u32, data: &[u8]) -> Result<()> {
        let dataset = self.dataset_mut(token)?;
        dataset.check_chunked()?;
        if mask != 0 {
            return Err(Error::invalid("write chunk").with("filter mask", mask));
        }
        check::length("write chunk", dataset.blocks.block_bytes() as u64, data.len())?;
        let chunk_coords = dataset.chunk_coords(offset)?;
        dataset.blocks.set(chunk_coords, data.to_vec())?;
        self.object_mut(token)?.touch_data();
        Ok(())
    }
}
