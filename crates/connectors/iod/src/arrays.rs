//! Which array a dataset is.

use keyed::Dataset;
use model::properties::Layout;
use model::{Dataspace, Datatype};

use crate::chunks::CELL_BYTES;

/// The array of a dataset.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ArrayOf {
    pub(crate) cell_bytes: u32,
    pub(crate) dims: Vec<u64>,
    pub(crate) chunk: Option<Vec<u64>>,
}

/// Returns the dimensions of an array without chunks. That of a null dataspace has a dimension without cells.
pub(crate) fn plain_dims(space: &Dataspace) -> Vec<u64> {
    match space {
        Dataspace::Null => vec![0],
        space => space.dims().to_vec(),
    }
}

/// Returns which array a dataset is. That of a chunked dataset is in every dimension but the first as large as the dataset
/// may become: only the first dimension of an array can change, and holes take no space. With filters a cell is a chunk.
pub(crate) fn array_of(dataset: &Dataset) -> ArrayOf {
    let info = &dataset.info;
    let cell_bytes = info.datatype.size();
    let Layout::Chunked { shape, .. } = &info.create.layout else {
        return ArrayOf { cell_bytes, dims: plain_dims(&info.space), chunk: None };
    };
    let mut dims = info.space.max_dims().to_vec();
    dims.iter_mut().zip(info.space.dims()).take(1).for_each(|(dim, now)| *dim = *now);
    if dataset.filters().is_empty() {
        return ArrayOf { cell_bytes, dims, chunk: Some(shape.clone()) };
    }
    let dims = dims.iter().zip(shape).map(|(dim, len)| dim.div_ceil(*len)).collect();
    ArrayOf { cell_bytes: CELL_BYTES, dims, chunk: None }
}

/// Returns the shape of chunks in which a dataset without chunked layout is stored: the blocks of its array.
pub(crate) fn automatic_chunks(space: &Dataspace, datatype: &Datatype) -> Vec<u64> {
    shape_of(&iod_storage::automatic_block(&plain_dims(space), datatype.size()), space)
}

/// Returns the shape of chunks for an array's blocks, cut to the extent if there is only one.
pub(crate) fn shape_of(block: &[u64], space: &Dataspace) -> Vec<u64> {
    let dims = space.dims();
    let cut = |(len, dim): (&u64, &u64)| (*len).min((*dim).max(1));
    block.iter().zip(dims).map(cut).collect()
}
