//! Datasets: how elements are stored in chunks.

use std::sync::Arc;

use model::properties::{DatasetCreate, FillValue, FilterSpec, Layout};
use model::{Datatype, Error, Limits, Result, Selection};
use vol::{DatasetInfo, OpDatasetCreate};

use crate::checks::space_bytes;

/// A dataset and how its elements are stored.
#[derive(Debug, Clone)]
pub struct Dataset {
    /// Datatype, extent and creation properties.
    pub info: Arc<DatasetInfo>,
    /// The shape of stored chunks, also if the layout is not chunked.
    pub shape: Vec<u64>,
}

impl Dataset {
    /// Returns the size of an element in bytes.
    pub fn element_bytes(&self) -> usize {
        self.info.datatype.size() as usize
    }

    /// Returns the number of elements of a chunk. [`Dataset::check`] makes sure that it fits.
    pub fn chunk_elements(&self) -> u64 {
        self.shape.iter().product()
    }

    /// Returns the size of a chunk's elements in bytes.
    pub fn chunk_bytes(&self) -> usize {
        self.chunk_elements() as usize * self.element_bytes()
    }

    /// Returns the filters of chunks. Those of other layouts are stored and not applied.
    pub fn filters(&self) -> &[FilterSpec] {
        match &self.info.create.layout {
            Layout::Chunked { .. } => &self.info.create.filters,
            _ => &[],
        }
    }

    /// Fills a buffer with elements that were never written.
    pub fn fill(&self, out: &mut [u8]) {
        match &self.info.create.fill.value {
            FillValue::Value(value) if value.iter().any(|&byte| byte != 0) => {
                out.chunks_exact_mut(value.len()).for_each(|element| element.copy_from_slice(value));
            }
            _ => out.fill(0),
        }
    }

    /// Returns the elements of a chunk that was never written.
    pub(crate) fn filled(&self) -> Vec<u8> {
        let mut chunk = vec![0; self.chunk_bytes()];
        self.fill(&mut chunk);
        chunk
    }

    /// Checks a dataset whose header was read from storage.
    ///
    /// # Errors
    /// Returns `Corrupt` if its parts do not fit together, and `Limit` if its chunks are too large.
    pub fn check(&self, limits: &Limits) -> Result<()> {
        let rank = self.info.space.rank();
        let element_bytes = u64::from(self.info.datatype.size());
        let bytes = self.shape.iter().try_fold(element_bytes, |n, &len| n.checked_mul(len));
        if self.shape.len() != rank || self.shape.contains(&0) {
            return Err(corrupt("its chunks do not fit its extent"));
        }
        if bytes.is_none_or(|bytes| bytes > limits.chunk_bytes_max) {
            return Err(Error::limit("open dataset").with("limit", limits.chunk_bytes_max));
        }
        match &self.info.create.fill.value {
            FillValue::Value(value) if value.len() as u64 != element_bytes => {
                Err(corrupt("its fill value has another size than its elements"))
            }
            _ => Ok(()),
        }
    }

    /// Returns the shape of the part of a chunk that is inside of the extent.
    pub(crate) fn inside(&self, start: &[u64]) -> Vec<u64> {
        let left = start.iter().zip(self.info.space.dims()).map(|(at, dim)| dim.saturating_sub(*at));
        left.zip(&self.shape).map(|(left, len)| left.min(*len)).collect()
    }

    /// Returns whether all of a chunk is inside of the extent.
    pub(crate) fn is_inside(&self, start: &[u64]) -> bool {
        self.inside(start) == self.shape
    }

    /// Returns the elements of a chunk that are inside of the extent as a selection of the dataset, and their shape.
    pub(crate) fn chunk_selection(&self, start: &[u64]) -> Result<(Selection, Vec<u64>)> {
        let shape = self.inside(start);
        let selection = if start.is_empty() { Selection::All } else { Selection::block(start, &shape)? };
        Ok((selection, shape))
    }

    pub(crate) fn check_chunked(&self) -> Result<()> {
        match self.info.create.layout {
            Layout::Chunked { .. } => Ok(()),
            _ => Err(Error::invalid("use raw chunks").with("problem", "the dataset is not chunked")),
        }
    }

    /// # Errors
    /// Returns `Invalid` if no chunk begins at `offset`.
    pub(crate) fn check_offset(&self, offset: &[u64]) -> Result<()> {
        let dims = self.info.space.dims();
        let is_chunk = offset.len() == dims.len()
            && offset.iter().zip(&self.shape).all(|(at, len)| at.is_multiple_of(*len))
            && offset.iter().zip(dims).all(|(at, dim)| at < dim);
        match is_chunk {
            true => Ok(()),
            false => Err(Error::invalid("find chunk").with("offset", format!("{offset:?}"))),
        }
    }
}

fn corrupt(problem: &str) -> Error {
    Error::corrupt("read object").with("problem", problem)
}

/// Size of a chunk in bytes if the layout is not chunked.
const CHUNK_BYTES: u64 = 1 << 20;

/// Returns the shape of chunks for an extent whose layout is not chunked: whole rows of the fastest dimensions.
pub fn automatic_shape(dims: &[u64], element_bytes: u64) -> Vec<u64> {
    let mut elements = (CHUNK_BYTES / element_bytes.max(1)).max(1);
    let mut shape = vec![1; dims.len()];
    for (len, &dim) in shape.iter_mut().zip(dims).rev() {
        *len = dim.clamp(1, elements);
        elements = (elements / *len).max(1);
    }
    shape
}

/// Checks whether a dataset with this stored datatype can be created.
///
/// # Errors
/// Returns `Unsupported` for external raw data and virtual datasets, and `Invalid` if properties do not fit together.
pub(crate) fn check_dataset(
    op: &OpDatasetCreate,
    datatype: &Datatype,
    limits: &Limits,
    connector: &str,
) -> Result<()> {
    space_bytes(&op.space, datatype)?;
    check_layout(op, datatype, limits, connector)?;
    check_fill(&op.create, datatype)
}

fn check_fill(create: &DatasetCreate, datatype: &Datatype) -> Result<()> {
    match &create.fill.value {
        FillValue::Value(value) if value.len() != datatype.size() as usize => {
            let wanted = datatype.size();
            Err(Error::invalid("set fill value").with("bytes", value.len()).with("wanted", wanted))
        }
        _ => Ok(()),
    }
}

fn check_layout(op: &OpDatasetCreate, datatype: &Datatype, limits: &Limits, connector: &str) -> Result<()> {
    let unsupported = |operation: &str| Err(Error::unsupported(operation).with("connector", connector));
    algorithms::checks::layout(op, datatype.size(), limits)?;
    match &op.create.layout {
        Layout::External(_) => unsupported("create dataset with external raw data"),
        Layout::Virtual(_) => unsupported("create virtual dataset"),
        _ => Ok(()),
    }
}
