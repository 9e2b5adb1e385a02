//! The intersection of a selection and a box (a chunk, or the whole extent), as runs that are contiguous in both.

use super::point_index::BucketWalk;
use super::runs::RegularWalk;
use super::tree_runs::TreeWalk;
use super::{Points, Selection, in_box, invalid};
use crate::Result;
use crate::dataspace;

/// Elements that lie one after the other both in a chunk and in the selection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ChunkRun {
    /// First element, counted in C order of the whole chunk.
    pub chunk_offset: u64,
    /// Its position in selection order.
    pub selection_offset: u64,
    /// Elements.
    pub len: u64,
}

impl ChunkRun {
    /// Returns whether `next` goes on where this run ends, on both sides.
    #[inline]
    pub(super) fn touches(&self, next: &ChunkRun) -> bool {
        next.chunk_offset == self.chunk_offset + self.len
            && next.selection_offset == self.selection_offset + self.len
    }
}

/// The runs of a selection in one box, in selection order.
#[derive(Debug, Clone)]
pub struct ChunkRuns(pub(super) Source);

#[derive(Debug, Clone)]
pub(super) enum Source {
    Nothing,
    Regular(RegularWalk),
    Tree(Merged<TreeWalk>),
    Points(Merged<PointWalk>),
    Bucket(Merged<BucketWalk>),
}

impl Iterator for ChunkRuns {
    type Item = ChunkRun;

    #[inline]
    fn next(&mut self) -> Option<ChunkRun> {
        match &mut self.0 {
            Source::Nothing => None,
            Source::Regular(walk) => walk.next(),
            Source::Tree(walk) => walk.next(),
            Source::Points(walk) => walk.next(),
            Source::Bucket(walk) => walk.next(),
        }
    }
}

/// Joins runs that touch.
#[derive(Debug, Clone)]
pub(super) struct Merged<W> {
    pub(super) walk: W,
    /// The next run, not yet joined with those after it.
    pub(super) pending: Option<ChunkRun>,
}

impl<W: Iterator<Item = ChunkRun>> Merged<W> {
    pub(super) fn new(mut walk: W) -> Self {
        let pending = walk.next();
        Merged { walk, pending }
    }

    #[inline]
    fn next(&mut self) -> Option<ChunkRun> {
        let mut run = self.pending?;
        loop {
            self.pending = self.walk.next();
            match &self.pending {
                Some(next) if run.touches(next) => run.len += next.len,
                _ => return Some(run),
            }
        }
    }
}

impl Selection {
    /// Returns the runs of the selection in the chunk of `chunk_shape` at `chunk_start`, without visiting anything
    /// outside it. Points are scanned; for many chunks, use [`PointIndex`](super::PointIndex).
    pub fn chunk_runs(&self, dims: &[u64], chunk_start: &[u64], chunk_shape: &[u64]) -> Result<ChunkRuns> {
        if [chunk_start.len(), chunk_shape.len()] != [dims.len(); 2] {
            return Err(invalid("rank of the chunk").with("rank", chunk_start.len()));
        }
        self.check_rank(dims)?;
        dataspace::element_count(chunk_shape)?;
        let frame = Frame::new(chunk_start, chunk_shape)?;
        Ok(ChunkRuns(match self.bounded(dims)? {
            Selection::None => Source::Nothing,
            Selection::All => Source::Regular(RegularWalk::one_element()),
            Selection::Regular(regular) => {
                RegularWalk::new(&regular, &frame).map_or(Source::Nothing, Source::Regular)
            }
            Selection::Irregular(tree) => {
                Source::Tree(Merged::new(TreeWalk::new(tree.tree()?.root.clone(), frame)))
            }
            Selection::Points(points) => Source::Points(Merged::new(PointWalk { points, frame, at: 0 })),
        }))
    }
}

/// A box, with the distance in elements between neighbours along each of its dimensions.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    pub(super) low: Vec<u64>,
    pub(super) shape: Vec<u64>,
    pub(super) steps: Vec<u64>,
}

impl Frame {
    /// Returns a box with a countable number of elements whose coordinates are below 2^64.
    fn new(low: &[u64], shape: &[u64]) -> Result<Self> {
        if low.iter().zip(shape).any(|(low, len)| low.checked_add(*len).is_none()) {
            return Err(invalid("chunk beyond the coordinates"));
        }
        let mut steps = vec![1u64; shape.len()];
        for d in (1..shape.len()).rev() {
            steps[d - 1] = steps[d].saturating_mul(shape[d]);
        }
        Ok(Frame { low: low.to_vec(), shape: shape.to_vec(), steps })
    }

    /// Returns one past the last coordinate of a dimension.
    pub(super) fn end(&self, d: usize) -> u64 {
        self.low[d] + self.shape[d]
    }

    fn offset_of(&self, point: &[u64]) -> u64 {
        (0..point.len()).map(|d| (point[d] - self.low[d]) * self.steps[d]).sum()
    }
}

/// Points of a box by looking at all points.
#[derive(Debug, Clone)]
pub(super) struct PointWalk {
    points: Points,
    frame: Frame,
    at: usize,
}

impl Iterator for PointWalk {
    type Item = ChunkRun;

    fn next(&mut self) -> Option<ChunkRun> {
        loop {
            let point = self.points.get(self.at)?;
            self.at += 1;
            if in_box(point, &self.frame.low, &self.frame.shape) {
                let selection_offset = self.at as u64 - 1;
                return Some(ChunkRun {
                    chunk_offset: self.frame.offset_of(point),
                    selection_offset,
                    len: 1,
                });
            }
        }
    }
}
