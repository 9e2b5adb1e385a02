//! Runs of regular hyperslabs by arithmetic, and runs of whole extents.

use super::chunk_copy::Comb;
use super::chunk_runs::{ChunkRun, ChunkRuns, Frame};
use super::{Axis, Regular, Selection};
use crate::{Result, dataspace};

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
pub struct Runs(NextRun);

#[derive(Debug, Clone)]
enum NextRun {
    One(Option<Run>),
    Many(ChunkRuns),
}

impl Iterator for Runs {
    type Item = Run;

    #[inline]
    fn next(&mut self) -> Option<Run> {
        match &mut self.0 {
            NextRun::One(run) => run.take(),
            // With the whole extent as the box, selection offsets have no gaps, so all runs that touch are merged.
            NextRun::Many(runs) => runs.next().map(|run| Run { offset: run.chunk_offset, len: run.len }),
        }
    }
}

impl Selection {
    /// Returns the runs of the selection, which must lie in the extent.
    pub fn runs(&self, dims: &[u64]) -> Result<Runs> {
        self.validate(dims)?;
        if let Selection::All = self {
            let len = dataspace::element_count(dims)?;
            return Ok(Runs(NextRun::One((len > 0).then_some(Run { offset: 0, len }))));
        }
        if let Some(run) = self.one_run(dims) {
            return Ok(Runs(NextRun::One(Some(run))));
        }
        self.chunk_runs(dims, &vec![0; dims.len()], dims).map(|runs| Runs(NextRun::Many(runs)))
    }

    /// Returns the run of a block that lies in one piece: most small reads and writes want no more than that.
    fn one_run(&self, dims: &[u64]) -> Option<Run> {
        let Selection::Regular(regular) = self else { return None };
        let (mut run, mut step, mut is_whole) = (Run { offset: 0, len: 1 }, 1u64, true);
        for (axis, dim) in regular.axes().iter().zip(dims).rev() {
            let (start, len) = axis.single()?;
            if !is_whole && len > 1 {
                return None;
            }
            run.offset = run.offset.checked_add(start.checked_mul(step)?)?;
            run.len = run.len.checked_mul(len)?;
            is_whole &= len == *dim;
            step = step.checked_mul(*dim)?;
        }
        Some(run)
    }
}

/// One slower dimension of the walk: an index range of its axis, and where the walk is in it.
#[derive(Debug, Clone)]
struct Level {
    stride: u64,
    block: u64,
    from: u64,
    to: u64,
    /// Coordinate of `from` relative to the box, and one past the end of its block.
    first_at: u64,
    first_block_end: u64,
    box_step: u64,
    selection_step: u64,
    index: u64,
    at: u64,
    block_end: u64,
}

impl Level {
    fn new(axis: &Axis, low: u64, (from, to): (u64, u64), box_step: u64, selection_step: u64) -> Self {
        let first_at = axis.coordinate(from) - low;
        let first_block_end = first_at + (axis.block - from % axis.block);
        let (stride, block) = (axis.stride, axis.block);
        let (index, at, block_end) = (from, first_at, first_block_end);
        Level {
            stride,
            block,
            from,
            to,
            first_at,
            first_block_end,
            box_step,
            selection_step,
            index,
            at,
            block_end,
        }
    }

    fn rewind(&mut self) {
        (self.index, self.at, self.block_end) = (self.from, self.first_at, self.first_block_end);
    }

    /// Returns whether the next index is the next coordinate too.
    fn steps_inside_block(&self) -> bool {
        self.index + 1 < self.to && self.at + 1 < self.block_end
    }

    /// Moves on by one index; false at the end of the range.
    fn advance(&mut self) -> bool {
        self.index += 1;
        self.at += 1;
        if self.index == self.to {
            return false;
        }
        if self.at == self.block_end {
            self.at += self.stride - self.block;
            self.block_end = self.at + self.block;
        }
        true
    }
}

/// The fastest dimension: segments of one row, the same in every row. Offsets are relative to the row.
#[derive(Debug, Clone)]
struct Row {
    first: ChunkRun,
    /// Whole blocks between the first and the last segment.
    middle_count: u64,
    middle: ChunkRun,
    middle_box_step: u64,
    last: Option<ChunkRun>,
    /// How many segments there are, where all are alike.
    teeth: Option<u64>,
}

impl Row {
    /// `unit` elements lie under each coordinate.
    fn new(axis: &Axis, low: u64, (from, to): (u64, u64), unit: u64) -> Self {
        let segment = |index: u64, len: u64| ChunkRun {
            chunk_offset: (axis.coordinate(index) - low) * unit,
            selection_offset: index * unit,
            len: len * unit,
        };
        let first_len = (axis.block - from % axis.block).min(to - from);
        let first = segment(from, first_len);
        if from + first_len == to {
            return Row {
                first,
                middle_count: 0,
                middle: first,
                middle_box_step: 0,
                last: None,
                teeth: None,
            };
        }
        let middle_from = from + first_len;
        let last_from = (to - 1) / axis.block * axis.block;
        let middle_count = (last_from - middle_from) / axis.block;
        let is_even = first_len == axis.block && to - last_from == axis.block;
        Row {
            first,
            middle_count,
            middle: segment(middle_from, axis.block.min(to - middle_from)),
            middle_box_step: axis.stride.saturating_mul(unit),
            last: Some(segment(last_from, to - last_from)),
            teeth: is_even.then_some(middle_count + 2),
        }
    }
}

/// The runs of a regular hyperslab in a box, merged where rows touch.
#[derive(Debug, Clone)]
pub(super) struct RegularWalk {
    /// Whole blocks left in this row, and the next of them: all there is to most steps.
    middle_left: u64,
    middle: ChunkRun,
    row: Row,
    outer: Vec<Level>,
    outer_box: u64,
    outer_selection: u64,
    next: Next,
}

/// The rest of a row after its whole blocks.
#[derive(Debug, Clone, Copy)]
enum Next {
    RowStart,
    RowEnd,
    Nothing,
}

impl RegularWalk {
    /// Returns the only element of a scalar.
    pub(super) fn one_element() -> Self {
        Self::of(Vec::new(), Row::new(&Axis::range(0, 1), 0, (0, 1), 1))
    }

    /// Returns the runs, or `None` if the hyperslab and the box do not meet.
    pub(super) fn new(regular: &Regular, frame: &Frame) -> Option<Self> {
        let ranges = regular.indices_in(&frame.low, &frame.shape);
        if ranges.iter().any(|(from, to)| from >= to) {
            return None;
        }
        let axes = regular.axes();
        // A dimension that fills the box and has nothing selected outside it is contiguous with the next.
        let is_whole = |d: usize| axes[d].size() == frame.shape[d] && ranges[d] == (0, frame.shape[d]);
        let whole = (1..axes.len()).rev().take_while(|&d| is_whole(d)).count();
        let inner = axes.len() - whole - 1;
        let row = Row::new(&axes[inner], frame.low[inner], ranges[inner], frame.steps[inner]);
        let mut selection_step = frame.steps[inner] * axes[inner].size();
        let mut outer = Vec::with_capacity(inner);
        for d in (0..inner).rev() {
            outer.push(Level::new(&axes[d], frame.low[d], ranges[d], frame.steps[d], selection_step));
            selection_step *= axes[d].size();
        }
        Some(Self::of(outer, row))
    }

    /// `outer` has the fastest dimension first.
    fn of(outer: Vec<Level>, row: Row) -> Self {
        let (middle, next) = (row.middle, Next::RowStart);
        let mut walk =
            RegularWalk { middle_left: 0, middle, row, outer, outer_box: 0, outer_selection: 0, next };
        walk.sum_outer();
        walk
    }

    fn sum_outer(&mut self) {
        self.outer_box = self.outer.iter().map(|level| level.at * level.box_step).sum();
        self.outer_selection = self.outer.iter().map(|level| level.index * level.selection_step).sum();
    }

    /// Moves to the next row; false after the last.
    fn next_row(&mut self) -> bool {
        if let Some(level) = self.outer.first_mut().filter(|level| level.steps_inside_block()) {
            (level.index, level.at) = (level.index + 1, level.at + 1);
            self.outer_box += level.box_step;
            self.outer_selection += level.selection_step;
            return true;
        }
        for level in &mut self.outer {
            if level.advance() {
                self.sum_outer();
                return true;
            }
            level.rewind();
        }
        false
    }

    fn in_row(&self, run: ChunkRun) -> ChunkRun {
        ChunkRun {
            chunk_offset: self.outer_box + run.chunk_offset,
            selection_offset: self.outer_selection + run.selection_offset,
            len: run.len,
        }
    }

    /// Leaves the first segment of a row behind.
    fn enter_middle(&mut self) {
        self.middle_left = self.row.middle_count;
        self.middle = self.in_row(self.row.middle);
        self.next = Next::RowEnd;
    }

    /// Returns the next run, or all the runs of a row that are alike.
    pub(super) fn next_comb(&mut self) -> Option<Comb> {
        if let (Next::RowStart, Some(teeth)) = (self.next, self.row.teeth) {
            let first = self.in_row(self.row.first);
            if !self.next_row() {
                self.next = Next::Nothing;
            }
            return Some(Comb { first, count: teeth, step: self.row.middle_box_step });
        }
        if self.middle_left > 0 {
            let comb = Comb { first: self.middle, count: self.middle_left, step: self.row.middle_box_step };
            self.middle_left = 0;
            return Some(comb);
        }
        self.next_edge().map(Comb::one)
    }

    /// Returns the first segment of a row or its last, which may go on into the next rows.
    fn next_edge(&mut self) -> Option<ChunkRun> {
        let mut run = match (self.next, self.row.last) {
            (Next::Nothing, _) => return None,
            (Next::RowStart, None) => self.in_row(self.row.first),
            (Next::RowStart, Some(_)) => {
                self.enter_middle();
                return Some(self.in_row(self.row.first));
            }
            (Next::RowEnd, last) => self.in_row(last.unwrap_or(self.row.first)),
        };
        self.next = Next::RowStart;
        while self.next_row() {
            let first = self.in_row(self.row.first);
            if !run.touches(&first) {
                return Some(run);
            }
            run.len += first.len;
            if self.row.last.is_some() {
                self.enter_middle();
                return Some(run);
            }
        }
        self.next = Next::Nothing;
        Some(run)
    }
}

impl Iterator for RegularWalk {
    type Item = ChunkRun;

    #[inline]
    fn next(&mut self) -> Option<ChunkRun> {
        if self.middle_left == 0 {
            return self.next_edge();
        }
        let run = self.middle;
        self.middle_left -= 1;
        // Wrapping: the step after the last block is not taken, but computed.
        self.middle.chunk_offset = run.chunk_offset.wrapping_add(self.row.middle_box_step);
        self.middle.selection_offset = run.selection_offset.wrapping_add(run.len);
        Some(run)
    }
}
