//! Extents that change: what falls out of them is gone, so that growing again shows the fill value.

use std::sync::Arc;

use model::properties::Layout;
use model::{Dataspace, Error, Result, Selection, encode};
use objects::{Change, ObjectId, Phase, Range64, Update};
use vol::DatasetInfo;

use crate::attributes::space_bytes;
use crate::described::{Body, Dataset, Described};
use crate::error::During;
use crate::filtered::{applied, put_chunks};
use crate::keys::{self, DATASPACE, ELEMENTS};
use crate::opening::Opening;

/// The part of a chunk that is inside of an extent.
fn inside(start: &[u64], shape: &[u64], dims: &[u64]) -> Vec<u64> {
    let room = start.iter().zip(dims).map(|(at, dim)| dim.saturating_sub(*at));
    room.zip(shape).map(|(room, len)| room.min(*len)).collect()
}

/// Elements of a chunk that are not inside, as ranges of records.
fn outside(shape: &[u64], inside: &[u64]) -> Result<Vec<Range64>> {
    let (mut ranges, mut end) = (Vec::new(), 0);
    for run in Selection::block(&vec![0; inside.len()], inside)?.runs(shape)? {
        if run.offset > end {
            ranges.push(Range64 { start: end, end: run.offset });
        }
        end = run.offset + run.len;
    }
    let all: u64 = shape.iter().product();
    if end < all {
        ranges.push(Range64 { start: end, end: all });
    }
    Ok(ranges)
}

impl Opening {
    pub(crate) fn resize(&self, id: ObjectId, dims: &[u64]) -> Result<()> {
        let _alone = self.shared.changing(id);
        self.shared.settle(id)?;
        let described = self.shared.describe(id, self.limits())?;
        let dataset = described.dataset()?;
        let old = &dataset.info.space;
        if dims == old.dims() && *old != Dataspace::Null {
            return Ok(());
        }
        let is_chunked = matches!(dataset.info.create.layout, Layout::Chunked { .. });
        if !is_chunked || dims.len() != old.rank() || dims.is_empty() {
            return Err(Error::invalid("resize dataset").with("rank", dims.len()));
        }
        let space = old.resized(dims)?;
        space_bytes(&space, &dataset.info.datatype)?;
        let bytes = encode::space(&space)?;
        let shrinks = dims.iter().zip(old.dims()).any(|(new, old)| new < old);
        let info = DatasetInfo { space, ..DatasetInfo::clone(&dataset.info) };
        let resized = Dataset { info: Arc::new(info), shape: dataset.shape.clone() };
        if shrinks {
            self.cut(&described, &resized)?;
        }
        self.describe_as(id, &[Change::Single(DATASPACE, &bytes)], &[])?;
        self.shared.remember(Arc::new(Described { id, body: Body::Dataset(resized) }));
        Ok(())
    }

    /// Removes what lies outside of the new extent.
    fn cut(&self, old: &Described, new: &Dataset) -> Result<()> {
        let dims = new.info.space.dims();
        for start in self.chunk_starts(old)? {
            let (shape, left) = (&new.shape, inside(&start, &new.shape, dims));
            if left.contains(&0) {
                self.cut_chunk(old, &start)?;
            } else if left != inside(&start, shape, old.dataset()?.info.space.dims()) {
                self.cut_edge(old, new, &start, &left)?;
            }
        }
        self.shared.listings.changed(old.id);
        Ok(())
    }

    fn cut_chunk(&self, old: &Described, start: &[u64]) -> Result<()> {
        if old.dataset()?.info.datatype.has_slots() {
            let blobs = self.blobs_of_chunk(old, start)?;
            self.drop_blobs(&blobs)?;
        }
        self.store().punch_dkey(old.id, &keys::chunk(start), Phase::Content).during("cut dataset")
    }

    /// Cuts a chunk that is half inside.
    fn cut_edge(&self, old: &Described, new: &Dataset, start: &[u64], left: &[u64]) -> Result<()> {
        let before = self.blobs_if_any(old, start)?;
        match new.filters().is_empty() {
            true => self.punch_outside(old.id, new, start, left)?,
            false => self.rewrite_inside(old.id, new, start, left)?,
        }
        let after = self.blobs_if_any(old, start)?;
        self.drop_blobs(&before.into_iter().filter(|id| !after.contains(id)).collect::<Vec<_>>())
    }

    fn blobs_if_any(&self, described: &Described, start: &[u64]) -> Result<Vec<crate::slots::BlobId>> {
        match described.dataset()?.info.datatype.has_slots() {
            true => self.blobs_of_chunk(described, start),
            false => Ok(Vec::new()),
        }
    }

    fn punch_outside(&self, id: ObjectId, new: &Dataset, start: &[u64], left: &[u64]) -> Result<()> {
        let ranges = outside(&new.shape, left)?;
        let changes: Vec<Change<'_>> =
            ranges.iter().map(|range| Change::PunchRecords { akey: ELEMENTS, range: *range }).collect();
        let dkey = keys::chunk(start);
        let update =
            Update { object: id, dkey: &dkey, changes: &changes, conditions: &[], phase: Phase::Content };
        self.store().update(&update).during("cut dataset")
    }

    fn rewrite_inside(&self, id: ObjectId, new: &Dataset, start: &[u64], left: &[u64]) -> Result<()> {
        let Some(old) = self.chunk_elements(id, new, start, Vec::new())? else { return Ok(()) };
        let element_bytes = new.element_bytes();
        let mut chunk = vec![0; new.chunk_bytes()];
        new.fill(&mut chunk);
        for run in Selection::block(&vec![0; left.len()], left)?.runs(&new.shape)? {
            let at = run.offset as usize * element_bytes;
            let range = at..at + run.len as usize * element_bytes;
            chunk[range.clone()].copy_from_slice(&old[range]);
        }
        let stored = applied(new, left == new.shape, &chunk)?;
        put_chunks(self.store(), id, &[&keys::chunk(start)], &[stored])
    }
}
