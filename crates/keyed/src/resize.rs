//! Extents that change: what falls out of them is gone, so that growing again shows the fill value.

use std::ops::Range;
use std::sync::Arc;

use model::properties::Layout;
use model::{Dataspace, Error, Result, Selection};
use vol::DatasetInfo;

use crate::filtered::applied;
use crate::{Chunks, Dataset, Datasets, space_bytes};

impl Dataset {
    /// The dataset with another extent; `None` where that is the one it has.
    pub fn resized(&self, dims: &[u64]) -> Result<Option<Dataset>> {
        let old = &self.info.space;
        if dims == old.dims() && *old != Dataspace::Null {
            return Ok(None);
        }
        let is_chunked = matches!(self.info.create.layout, Layout::Chunked { .. });
        if !is_chunked || dims.len() != old.rank() || dims.is_empty() {
            return Err(Error::invalid("resize dataset").with("rank", dims.len()));
        }
        let space = old.resized(dims)?;
        space_bytes(&space, &self.info.datatype)?;
        let info = DatasetInfo { space, ..DatasetInfo::clone(&self.info) };
        Ok(Some(Dataset { info: Arc::new(info), shape: self.shape.clone() }))
    }

    fn is_smaller_than(&self, old: &Dataset) -> bool {
        self.info.space.dims().iter().zip(old.info.space.dims()).any(|(new, old)| new < old)
    }
}

/// Elements of a chunk that are not inside, as ranges.
fn outside(shape: &[u64], inside: &[u64]) -> Result<Vec<Range<u64>>> {
    let (mut ranges, mut end) = (Vec::new(), 0);
    for run in Selection::block(&vec![0; inside.len()], inside)?.runs(shape)? {
        if run.offset > end {
            ranges.push(end..run.offset);
        }
        end = run.offset + run.len;
    }
    let all: u64 = shape.iter().product();
    if end < all {
        ranges.push(end..all);
    }
    Ok(ranges)
}

/// Removes what lies outside of a new extent, with the blobs of it. Nobody else looks at the elements, and none waits.
pub(crate) fn cut<const N: usize, D: Datasets<N> + ?Sized>(
    host: &D,
    id: <D::Chunks as Chunks>::Id,
    old: &Dataset,
    new: &Dataset,
) -> Result<()> {
    if !new.is_smaller_than(old) {
        return Ok(());
    }
    for start in host.chunk_starts(id, old)? {
        let left = new.inside(&start);
        if left.contains(&0) {
            let blobs = host.blobs_of_chunk(id, old, &start)?;
            host.elements().chunks.remove(id, old, &start)?;
            host.drop_blobs(&blobs)?;
        } else if left != old.inside(&start) {
            cut_edge(host, id, new, &start, &left)?;
        }
    }
    host.elements().chunks.changed(id);
    Ok(())
}

/// Cuts a chunk that is half inside.
fn cut_edge<const N: usize, D: Datasets<N> + ?Sized>(
    host: &D,
    id: <D::Chunks as Chunks>::Id,
    new: &Dataset,
    start: &[u64],
    left: &[u64],
) -> Result<()> {
    let before = host.blobs_of_chunk(id, new, start)?;
    match new.filters().is_empty() {
        true => host.elements().chunks.punch(id, start, &outside(&new.shape, left)?)?,
        false => rewrite_inside(host, id, new, start, left)?,
    }
    let after = host.blobs_of_chunk(id, new, start)?;
    host.drop_blobs(&before.into_iter().filter(|id| !after.contains(id)).collect::<Vec<_>>())
}

fn rewrite_inside<const N: usize, D: Datasets<N> + ?Sized>(
    host: &D,
    id: <D::Chunks as Chunks>::Id,
    new: &Dataset,
    start: &[u64],
    left: &[u64],
) -> Result<()> {
    let elements = host.elements();
    let Some(old) = elements.chunk(id, new, start, Vec::new())? else { return Ok(()) };
    let element_bytes = new.element_bytes();
    let mut chunk = new.filled();
    for run in Selection::block(&vec![0; left.len()], left)?.runs(&new.shape)? {
        let at = run.offset as usize * element_bytes;
        let range = at..at + run.len as usize * element_bytes;
        chunk[range.clone()].copy_from_slice(&old[range]);
    }
    let stored = applied(new, left == new.shape, &chunk)?;
    elements.chunks.store(id, new, &[start], &[stored])
}
