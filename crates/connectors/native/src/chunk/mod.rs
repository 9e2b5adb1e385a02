//! From a selection to bytes: contiguous, compact, external, chunked and virtual storage.

mod arrays;
pub(crate) mod cache;
mod chunked;
pub(crate) mod index;
pub(crate) mod load;
pub(crate) mod map;
pub(crate) mod pieces;
mod plain;
pub(crate) mod sources;
mod stored;

use model::properties::Layout as LayoutProperty;
use model::selection::{ChunkRuns, PointIndex};
use model::{Error, Result, Selection, Within};
use vol::{Allocation, StorageInfo};

use crate::file::File;
use crate::format::layout::Layout;
use crate::object::dataset::Dataset;
use crate::reader::Reader;

pub(crate) use plain::write_external;
pub(crate) use stored::{count, find, list, read_raw};

/// Returns the first element of a chunk.
pub(crate) fn start_of(chunk_coords: &[u64], shape: &[u64]) -> Vec<u64> {
    chunk_coords.iter().zip(shape).map(|(s, c)| s * c).collect()
}

/// Returns what a chunk has of a selection; points are found by their index, where there is one.
pub(crate) fn runs_in(
    dataset: &Dataset,
    shape: &[u64],
    (selection, points): (&Selection, Option<&PointIndex>),
    chunk_coords: &[u64],
) -> Result<ChunkRuns> {
    match points {
        Some(points) => points.chunk_runs(chunk_coords),
        None => selection.chunk_runs(dataset.dims(), &start_of(chunk_coords, shape), shape),
    }
}

/// Reads the selected elements, packed in selection order.
pub(crate) fn read(file: &File, dataset: &Dataset, selection: &Selection, into: &mut [u8]) -> Result<()> {
    let element_bytes = dataset.element_bytes() as u64;
    let dims = dataset.dims();
    if matches!(dataset.info.space, model::Dataspace::Null) {
        return if into.is_empty() {
            Ok(())
        } else {
            Err(Error::invalid("read dataset").with("problem", "it has no elements"))
        };
    }
    selection.validate(dims)?;
    let bytes = selection.element_count(dims)?.checked_mul(element_bytes);
    if bytes != Some(into.len() as u64) {
        return Err(Error::invalid("read dataset")
            .with("buffer bytes", into.len())
            .with("need", bytes.unwrap_or(u64::MAX)));
    }
    match &dataset.info.create.layout {
        LayoutProperty::External(list) => plain::external(file, dataset, list, selection, into),
        LayoutProperty::Virtual(mappings) => {
            fill(dataset, into);
            sources::of(file, dataset, mappings).read(file, selection, into)
        }
        _ => read_stored(file, dataset, selection, into),
    }
}

/// Reads elements that lie in the file itself. The selection is inside of the extent.
pub(crate) fn read_stored(
    file: &Reader,
    dataset: &Dataset,
    selection: &Selection,
    into: &mut [u8],
) -> Result<()> {
    match &dataset.layout {
        Layout::Compact { data } => plain::compact(dataset, data, selection, into),
        Layout::Contiguous { address, .. } => plain::contiguous(file, dataset, *address, selection, into),
        Layout::Chunked(chunked) => chunked::read(file, dataset, chunked, selection, into),
        Layout::Virtual { .. } => Err(Error::corrupt("read virtual dataset").at(dataset.address.0)),
    }
}

/// Repeats the fill value over a buffer.
pub(crate) fn fill(dataset: &Dataset, into: &mut [u8]) {
    let Some(value) = &dataset.fill else {
        into.fill(0);
        return;
    };
    for element in into.chunks_exact_mut(value.len()) {
        element.copy_from_slice(value);
    }
}

/// Returns whether elements that no one wrote are zeros.
pub(crate) fn fills_with_zeros(dataset: &Dataset) -> bool {
    dataset.fill.as_ref().is_none_or(|value| value.iter().all(|byte| *byte == 0))
}

/// Returns the number of bytes of a dataset's elements, by its extent.
pub(crate) fn logical_bytes(dataset: &Dataset) -> Result<u64> {
    let count = dataset.info.space.element_count()?;
    let bytes = count.checked_mul(u64::from(dataset.info.datatype.size()));
    bytes.ok_or_else(|| Error::corrupt("size of dataset").at(dataset.address.0).with("elements", count))
}

/// Returns how much storage a dataset takes.
pub(crate) fn storage(file: &Reader, dataset: &Dataset) -> Result<StorageInfo> {
    let bytes = logical_bytes(dataset)?;
    let whole = |is_there: bool| if is_there { Allocation::Full } else { Allocation::None };
    Ok(match (&dataset.info.create.layout, &dataset.layout) {
        // As the header says: libhdf5 does not change it when external data grows.
        (LayoutProperty::External(_), Layout::Contiguous { bytes: Some(stored), .. }) => {
            StorageInfo::new(*stored, Allocation::Full)
        }
        (LayoutProperty::External(_), _) => StorageInfo::new(bytes, Allocation::Full),
        (_, Layout::Compact { data }) => StorageInfo::new(data.len() as u64, Allocation::Full),
        (_, Layout::Contiguous { address, .. }) => {
            let there = address.is_some();
            let offset = address.map(|a| file.store.absolute(a));
            StorageInfo { offset, ..StorageInfo::new(if there { bytes } else { 0 }, whole(there)) }
        }
        (_, Layout::Chunked(chunked)) => stored::storage(file, dataset, chunked)?,
        (_, Layout::Virtual { .. }) => StorageInfo::new(0, Allocation::None),
    })
}

/// Returns the bytes of one chunk of `shape`.
pub(crate) fn chunk_bytes(file: &Reader, shape: &[u64], element_bytes: u64) -> Result<usize> {
    let bytes = shape.iter().try_fold(element_bytes, |n, &d| n.checked_mul(d));
    bytes.unwrap_or(u64::MAX).within(file.store.limits.chunk_bytes_max, "chunk")
}
