//! Positions of elements in the file, for callers that read and write them there (`docs/serve.md`).

use algorithms::placement;
use model::properties::Layout as LayoutProperty;
use model::{Error, Result, Selection};
use vol::{Placement, PlacementParts};

use crate::chunk;
use crate::chunk::index::Chunks;
use crate::file::File;
use crate::format::layout::{Chunked, Layout};
use crate::object::dataset::Dataset;
use crate::reader::Reader;

/// Chunks of one placement. Where there are more, they are small, and better left to us.
pub(crate) const CHUNKS_MAX: usize = 1 << 16;

fn no_placement(problem: &str) -> Error {
    Error::unsupported("place elements").with("problem", problem)
}

/// Returns an error where elements do not lie in the file as they are.
pub(crate) fn check(file: &File, dataset: &Dataset, selection: &Selection) -> Result<()> {
    if !file.is_file || file.driver.is_some() || file.store.has_overlay() || file.store.is_live() {
        return Err(no_placement("not in one plain file"));
    }
    check_dataset(dataset, selection)
}

/// An error where elements are not stored as they are.
pub(crate) fn check_dataset(dataset: &Dataset, selection: &Selection) -> Result<()> {
    if dataset.info.datatype.has_descriptors() {
        return Err(no_placement("elements are descriptors of values"));
    }
    if !dataset.filters().is_empty() {
        return Err(no_placement("filters"));
    }
    let is_plain = match (&dataset.info.create.layout, &dataset.layout) {
        (LayoutProperty::External(_) | LayoutProperty::Virtual(_), _) => false,
        (_, layout) => matches!(layout, Layout::Contiguous { .. } | Layout::Chunked(_)),
    };
    match is_plain && chunk::logical_bytes(dataset)? > 0 {
        true => selection.validate(dataset.dims()),
        false => Err(no_placement("neither contiguous nor in chunks")),
    }
}

/// Returns the chunks of a selection, unless they are too many.
pub(crate) fn chunks(dataset: &Dataset, layout: &Chunked, selection: &Selection) -> Result<Vec<Vec<u64>>> {
    // Points first: nothing is listed for a selection of more chunks than are wanted.
    let count = match selection {
        Selection::Points(points) => points.len(),
        _ => selection.chunks(dataset.dims(), &layout.shape)?.take(CHUNKS_MAX + 1).count(),
    };
    match count <= CHUNKS_MAX {
        true => placement::chunks(selection, dataset.dims(), &layout.shape),
        false => Err(Error::limit("place elements").with("chunks", count)),
    }
}

/// Returns where elements lie. The dataset has no changes in memory.
pub(crate) fn find(file: &File, dataset: &Dataset, selection: &Selection) -> Result<Placement> {
    check(file, dataset, selection)?;
    let parts = parts(file, dataset, selection)?;
    file.store.shared.ensure_in_file(&ranges(dataset, &parts)?, false)?;
    placement(file, dataset, parts)
}

pub(crate) fn placement(file: &File, dataset: &Dataset, parts: PlacementParts) -> Result<Placement> {
    let path = std::path::absolute(&file.path).map_err(|e| Error::io("place elements", &e))?;
    Ok(Placement {
        path: path.to_string_lossy().into_owned(),
        dims: dataset.dims().to_vec(),
        element_bytes: dataset.info.datatype.size(),
        fill: dataset.fill.clone(),
        parts,
    })
}

/// Returns the places that the file has now.
pub(crate) fn parts(file: &Reader, dataset: &Dataset, selection: &Selection) -> Result<PlacementParts> {
    match &dataset.layout {
        Layout::Contiguous { address, .. } => {
            Ok(PlacementParts::Contiguous { offset: address.map(|at| file.store.absolute(at)) })
        }
        Layout::Chunked(layout) => {
            let index = Chunks::open(file, dataset, layout)?;
            let grid: Vec<u64> =
                dataset.dims().iter().zip(&layout.shape).map(|(d, c)| d.div_ceil(*c)).collect();
            let find = |chunk_coords: &Vec<u64>| {
                let found = dataset.map.find(&index, &grid, chunk_coords)?;
                Ok(found.map(|chunk| file.store.absolute(chunk.address)))
            };
            let offsets = chunks(dataset, layout, selection)?.iter().map(find).collect::<Result<_>>()?;
            Ok(PlacementParts::Chunks { shape: layout.shape.clone(), offsets })
        }
        _ => Err(no_placement("neither contiguous nor in chunks")),
    }
}

/// Returns the first byte and length of each piece.
pub(crate) fn ranges(dataset: &Dataset, parts: &PlacementParts) -> Result<Vec<(u64, u64)>> {
    let bytes = dataset.element_bytes() as u64;
    Ok(match parts {
        PlacementParts::Contiguous { offset } => {
            let all = chunk::logical_bytes(dataset)?;
            offset.iter().map(|&offset| (offset, all)).collect()
        }
        PlacementParts::Chunks { shape, offsets } => {
            let chunk = shape.iter().fold(bytes, |bytes, &side| bytes.saturating_mul(side));
            offsets.iter().flatten().map(|&offset| (offset, chunk)).collect()
        }
    })
}
