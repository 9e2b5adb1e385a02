//! Extents that change: elements outside of a new extent are removed, so that growing again shows the fill value.

use std::ops::Range;
use std::sync::Arc;

use model::properties::Layout;
use model::{Dataspace, Error, Result, Selection};
use vol::DatasetInfo;

use crate::checks::space_bytes;
use crate::filtered::applied;
use crate::mapping::Mapping;
use crate::retry::retried;
use crate::{Body, Dataset, Handle, ObjectHeader};

impl Dataset {
    /// Returns the dataset with another extent, or `None` if it has that extent.
    ///
    /// # Errors
    /// Returns `Invalid` if the dataset is not chunked, or the extent has another rank.
    fn resized(&self, dims: &[u64]) -> Result<Option<Dataset>> {
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

/// Returns the extent that `wanted` asks for where `seen` became `stored` meanwhile.
fn merged(seen: &[u64], wanted: &[u64], stored: &[u64]) -> Vec<u64> {
    if seen.len() != wanted.len() || stored.len() != wanted.len() {
        return wanted.to_vec();
    }
    let dims = wanted.iter().zip(seen).zip(stored);
    dims.map(|((wanted, seen), stored)| if wanted < seen { *wanted } else { *wanted.max(stored) }).collect()
}

/// Returns the elements of a chunk that are outside of the extent, as ranges.
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

impl<M: Mapping> Handle<M> {
    /// Changes the extent of a dataset. A dimension that grows here keeps what other processes made of it meanwhile, if
    /// that is more.
    ///
    /// # Errors
    /// Returns `Busy` if other processes change the extent all the time.
    pub(crate) fn resize(&self, id: M::Id, dims: &[u64]) -> Result<()> {
        let _lock = self.lock_write(id);
        self.shared.elements().flush(id)?;
        let seen = self.header_of(id)?.dataset()?.info.space.dims().to_vec();
        retried("resize dataset", || {
            if self.mapping().is_concurrent() {
                self.shared.forget_header(id);
            }
            let header = self.header_of(id)?;
            let dataset = header.dataset()?;
            let wanted = merged(&seen, dims, dataset.info.space.dims());
            let Some(resized) = dataset.resized(&wanted)? else { return Ok(Some(())) };
            self.cut(id, dataset, &resized)?;
            if !self.mapping().put_extent(&header, &resized)? {
                return Ok(None);
            }
            let (location, body) = (header.location, Body::Dataset(resized));
            self.shared.cache_header(Arc::new(ObjectHeader { id, location, body }));
            Ok(Some(()))
        })
    }

    /// Removes the elements outside of a new extent, with their blobs. The elements are locked, and no chunk of the
    /// dataset is in the cache.
    fn cut(&self, id: M::Id, old: &Dataset, new: &Dataset) -> Result<()> {
        if !new.is_smaller_than(old) {
            return Ok(());
        }
        for start in self.chunk_starts(id, old)? {
            let left = new.inside(&start);
            if left.contains(&0) {
                let blobs = self.blobs_of_chunk(id, old, &start)?;
                self.mapping().remove(id, old, &start)?;
                self.drop_blobs(&blobs)?;
            } else if left != old.inside(&start) {
                self.cut_edge(id, new, &start, &left)?;
            }
        }
        self.shared.listings.changed(id);
        Ok(())
    }

    /// Cuts a chunk of which a part stays.
    fn cut_edge(&self, id: M::Id, new: &Dataset, start: &[u64], left: &[u64]) -> Result<()> {
        let before = self.blobs_of_chunk(id, new, start)?;
        match new.filters().is_empty() {
            true => self.mapping().punch(id, start, &outside(&new.shape, left)?)?,
            false => self.rewrite_inside(id, new, start, left)?,
        }
        let after = self.blobs_of_chunk(id, new, start)?;
        self.drop_blobs(&before.into_iter().filter(|id| !after.contains(id)).collect::<Vec<_>>())
    }

    fn rewrite_inside(&self, id: M::Id, new: &Dataset, start: &[u64], left: &[u64]) -> Result<()> {
        let elements = self.shared.elements();
        let Some(old) = elements.chunk(id, new, start, Vec::new())? else { return Ok(()) };
        let element_bytes = new.element_bytes();
        let mut chunk = new.filled();
        for run in Selection::block(&vec![0; left.len()], left)?.runs(&new.shape)? {
            let at = run.offset as usize * element_bytes;
            let range = at..at + run.len as usize * element_bytes;
            chunk[range.clone()].copy_from_slice(&old[range]);
        }
        let stored = applied(elements.filters, new, left == new.shape, &chunk)?;
        self.mapping().store(id, new, &[start], &[stored])
    }
}
