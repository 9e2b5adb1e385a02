//! Where a selection meets a box (a chunk, or the whole extent): runs that are contiguous on both sides.

use std::ops::Range;
use std::sync::Arc;

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
    /// The same element, counted in selection order.
    pub selection_offset: u64,
    /// Elements.
    pub len: u64,
}

impl ChunkRun {
    /// Whether `next` goes on where this run ends, on both sides.
    #[inline]
    pub(super) fn touches(&self, next: &ChunkRun) -> bool {
        next.chunk_offset == self.chunk_offset + self.len
            && next.selection_offset == self.selection_offset + self.len
    }
}

/// The runs of a selection in one box, in selection order.
#[derive(Debug, Clone)]
pub struct ChunkRuns(Source);

#[derive(Debug, Clone)]
enum Source {
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
struct Merged<W> {
    walk: W,
    pending: Option<ChunkRun>,
}

impl<W: Iterator<Item = ChunkRun>> Merged<W> {
    fn new(mut walk: W) -> Self {
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
    /// The runs of the selection in the chunk of `chunk_shape` at `chunk_start`, without visiting anything
    /// outside it. Points are scanned; for many chunks, use [`PointIndex`].
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
            Selection::Irregular(tree) => Source::Tree(Merged::new(TreeWalk::new(tree.root, frame))),
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
    /// A box with a countable number of elements whose coordinates are below 2^64.
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

    /// One past the last coordinate of a dimension.
    pub(super) fn end(&self, d: usize) -> u64 {
        self.low[d] + self.shape[d]
    }

    fn offset_of(&self, point: &[u64]) -> u64 {
        (0..point.len()).map(|d| (point[d] - self.low[d]) * self.steps[d]).sum()
    }
}

/// Points of a box by looking at all points.
#[derive(Debug, Clone)]
struct PointWalk {
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

/// Points grouped by the chunk they fall in, so that each chunk finds its own at once.
#[derive(Debug, Clone)]
pub struct PointIndex {
    points: Points,
    chunk_shape: Vec<u64>,
    /// Numbers of points, by chunk and then by selection order.
    order: Arc<[usize]>,
    groups: Vec<Range<usize>>,
}

impl PointIndex {
    /// Groups `points` by chunks of `chunk_shape`.
    pub fn new(points: &Points, chunk_shape: &[u64]) -> Result<Self> {
        if chunk_shape.len() != points.rank() || chunk_shape.contains(&0) {
            return Err(invalid("chunk shape").with("rank", chunk_shape.len()));
        }
        dataspace::element_count(chunk_shape)?;
        let rank = points.rank();
        let divided = points.iter().flat_map(|point| point.iter().zip(chunk_shape).map(|(x, len)| x / len));
        let divided: Vec<u64> = divided.collect();
        let scaled = |n: usize| &divided[n * rank..(n + 1) * rank];
        let mut order: Vec<usize> = (0..points.len()).collect();
        order.sort_by_key(|&n| scaled(n));
        let mut groups: Vec<Range<usize>> = Vec::new();
        for at in 0..order.len() {
            match groups.last_mut() {
                Some(group) if scaled(order[group.start]) == scaled(order[at]) => group.end = at + 1,
                _ => groups.push(at..at + 1),
            }
        }
        Ok(PointIndex {
            points: points.clone(),
            chunk_shape: chunk_shape.to_vec(),
            order: order.into(),
            groups,
        })
    }

    /// Number of chunks that hold points.
    pub fn chunk_count(&self) -> usize {
        self.groups.len()
    }

    /// Scaled coordinates of the chunks that hold points, in C order.
    pub fn chunks(&self) -> impl Iterator<Item = Vec<u64>> + '_ {
        self.groups.iter().map(|group| self.scaled(group))
    }

    fn scaled(&self, group: &Range<usize>) -> Vec<u64> {
        let point = self.points.get(self.order[group.start]).unwrap_or(&[]);
        point.iter().zip(&self.chunk_shape).map(|(x, len)| x / len).collect()
    }

    /// The runs of the points in the chunk with those scaled coordinates.
    pub fn chunk_runs(&self, scaled: &[u64]) -> Result<ChunkRuns> {
        let found = self.groups.binary_search_by(|group| self.scaled(group).as_slice().cmp(scaled));
        let Ok(found) = found else { return Ok(ChunkRuns(Source::Nothing)) };
        let low: Vec<u64> = scaled.iter().zip(&self.chunk_shape).map(|(n, len)| n * len).collect();
        let frame = Frame::new(&low, &self.chunk_shape)?;
        let (points, order) = (self.points.clone(), self.order.clone());
        let walk = BucketWalk { points, order, left: self.groups[found].clone(), frame };
        Ok(ChunkRuns(Source::Bucket(Merged::new(walk))))
    }
}

/// Points of one chunk of an index.
#[derive(Debug, Clone)]
struct BucketWalk {
    points: Points,
    order: Arc<[usize]>,
    left: Range<usize>,
    frame: Frame,
}

impl Iterator for BucketWalk {
    type Item = ChunkRun;

    fn next(&mut self) -> Option<ChunkRun> {
        let n = self.order[self.left.next()?];
        let chunk_offset = self.frame.offset_of(self.points.get(n)?);
        Some(ChunkRun { chunk_offset, selection_offset: n as u64, len: 1 })
    }
}
