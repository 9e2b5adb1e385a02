//! Runs of regular hyperslabs by arithmetic, and runs of whole extents.

use super::chunk_runs::{ChunkRun, ChunkRuns, Frame};
use super::{Axis, Regular, Selection};
use crate::Result;

/// Selected elements that lie one after the other in the extent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Run {
    /// First element, counted in C order of the extent.
    pub offset: u64,
    /// Elements.
    pub len: u64,
}

/// The runs of a selection, in selection order; runs that touch are one.
#[derive(Debug, Clone)]
pub struct Runs(ChunkRuns);

impl Iterator for Runs {
    type Item = Run;

    #[inline]
    fn next(&mut self) -> Option<Run> {
        // With the whole extent as the box, selection offsets have no gaps, so all runs that touch are merged.
        self.0.next().map(|run| Run { offset: run.chunk_offset, len: run.len })
    }
}

impl Selection {
    /// The runs of the selection, which must lie in the extent.
    pub fn runs(&self, dims: &[u64]) -> Result<Runs> {
        self.validate(dims)?;
        self.chunk_runs(dims, &vec![0; dims.len()], dims).map(Runs)
    }
}

/// One dimension of the walk: an index range of its axis, and where the walk is in it.
#[derive(Debug, Clone)]
struct Level {
    axis: Axis,
    from: u64,
    to: u64,
    /// Coordinate of `from`, relative to the box, and of the start of its block (which may lie before the box).
    first_at: u64,
    first_block_end: u64,
    box_step: u64,
    selection_step: u64,
    index: u64,
    /// Coordinate of `index` relative to the box, and one past the end of its block.
    at: u64,
    block_end: u64,
}

impl Level {
    fn new(axis: Axis, low: u64, (from, to): (u64, u64), box_step: u64, selection_step: u64) -> Self {
        let first_at = axis.coordinate(from) - low;
        let first_block_end = first_at + (axis.block - from % axis.block);
        Level {
            axis,
            from,
            to,
            first_at,
            first_block_end,
            box_step,
            selection_step,
            index: from,
            at: first_at,
            block_end: first_block_end,
        }
    }

    fn rewind(&mut self) {
        (self.index, self.at, self.block_end) = (self.from, self.first_at, self.first_block_end);
    }

    /// Indices to the end of the block or of the range.
    fn segment(&self) -> u64 {
        (self.block_end - self.at).min(self.to - self.index)
    }

    /// Moves on by `n` indices of the same block; false at the end of the range.
    fn advance(&mut self, n: u64) -> bool {
        self.index += n;
        self.at += n;
        if self.index == self.to {
            return false;
        }
        if self.at == self.block_end {
            self.at += self.axis.stride - self.axis.block;
            self.block_end = self.at + self.axis.block;
        }
        true
    }

    fn box_offset(&self) -> u64 {
        self.at * self.box_step
    }

    fn selection_offset(&self) -> u64 {
        self.index * self.selection_step
    }
}

/// The runs of a regular hyperslab in a box.
#[derive(Debug, Clone)]
pub(super) struct RegularWalk {
    outer: Vec<Level>,
    inner: Level,
    /// Elements of the collapsed dimensions below the inner one.
    unit: u64,
    outer_box: u64,
    outer_selection: u64,
    is_done: bool,
}

impl RegularWalk {
    /// The only element of a scalar.
    pub(super) fn one_element() -> Self {
        Self::of_levels(Vec::new(), Level::new(Axis::range(0, 1), 0, (0, 1), 1, 1), 1)
    }

    /// `None` where the hyperslab and the box do not meet.
    pub(super) fn new(regular: &Regular, frame: &Frame) -> Option<Self> {
        let ranges = regular.indices_in(&frame.low, &frame.shape);
        if ranges.iter().any(|(from, to)| from >= to) {
            return None;
        }
        let axes = regular.axes();
        let mut levels = Vec::with_capacity(axes.len());
        let mut selection_step = 1;
        for d in (0..axes.len()).rev() {
            levels.push(Level::new(axes[d], frame.low[d], ranges[d], frame.steps[d], selection_step));
            selection_step *= axes[d].size();
        }
        // A dimension that fills the box and has nothing selected outside it is contiguous with the next.
        let is_whole = |d: usize| axes[d].size() == frame.shape[d] && ranges[d] == (0, frame.shape[d]);
        let whole = (1..axes.len()).rev().take_while(|&d| is_whole(d)).count();
        levels.drain(..whole);
        levels.reverse();
        let inner = levels.pop()?;
        let unit = inner.selection_step;
        Some(Self::of_levels(levels, inner, unit))
    }

    fn of_levels(outer: Vec<Level>, inner: Level, unit: u64) -> Self {
        let mut walk = RegularWalk { outer, inner, unit, outer_box: 0, outer_selection: 0, is_done: false };
        walk.sum_outer();
        walk
    }

    fn sum_outer(&mut self) {
        self.outer_box = self.outer.iter().map(Level::box_offset).sum();
        self.outer_selection = self.outer.iter().map(Level::selection_offset).sum();
    }

    fn next_row(&mut self) {
        self.inner.rewind();
        for level in self.outer.iter_mut().rev() {
            if level.advance(1) {
                self.sum_outer();
                return;
            }
            level.rewind();
        }
        self.is_done = true;
    }
}

impl Iterator for RegularWalk {
    type Item = ChunkRun;

    #[inline]
    fn next(&mut self) -> Option<ChunkRun> {
        if self.is_done {
            return None;
        }
        let segment = self.inner.segment();
        let run = ChunkRun {
            chunk_offset: self.outer_box + self.inner.box_offset(),
            selection_offset: self.outer_selection + self.inner.selection_offset(),
            len: segment * self.unit,
        };
        if !self.inner.advance(segment) {
            self.next_row();
        }
        Some(run)
    }
}
