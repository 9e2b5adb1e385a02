//! Runs of span trees in a box, with an explicit stack; parts outside the box are passed over whole.

use std::sync::Arc;

use super::chunk_runs::{ChunkRun, Frame};
use super::spans::Node;

/// A node on the way down, and how far the walk has come in it.
#[derive(Debug, Clone)]
struct Place {
    node: Arc<Node>,
    span: usize,
    /// Least coordinate not yet visited.
    row: u64,
    box_base: u64,
    selection_base: u64,
}

/// The runs of a span tree in a box.
#[derive(Debug, Clone)]
pub(super) struct TreeWalk {
    frame: Frame,
    stack: Vec<Place>,
}

impl TreeWalk {
    pub(super) fn new(root: Arc<Node>, frame: Frame) -> Self {
        let mut walk = TreeWalk { stack: Vec::with_capacity(frame.low.len()), frame };
        walk.enter(root, 0, 0);
        walk
    }

    fn enter(&mut self, node: Arc<Node>, box_base: u64, selection_base: u64) {
        let row = self.frame.low[self.stack.len()];
        let span = node.spans.partition_point(|span| span.high < row);
        self.stack.push(Place { node, span, row, box_base, selection_base });
    }

    /// Whether the subtree is exactly the box in its dimensions, from `depth` on.
    fn is_whole(&self, mut node: &Arc<Node>, mut depth: usize) -> bool {
        loop {
            let [span] = node.spans.as_slice() else { return false };
            if span.low != self.frame.low[depth] || span.high - span.low + 1 != self.frame.shape[depth] {
                return false;
            }
            match &span.down {
                None => return true,
                Some(down) => node = down,
            }
            depth += 1;
        }
    }

    /// One move: `Err` where it found no run, `Ok(None)` at the end.
    fn step(&mut self) -> Result<Option<ChunkRun>, ()> {
        let depth = self.stack.len();
        let Some(place) = self.stack.last() else { return Ok(None) };
        let (low, end) = (self.frame.low[depth - 1], self.frame.end(depth - 1));
        let Some(span) = place.node.spans.get(place.span).filter(|span| span.low < end) else {
            self.stack.pop();
            return Err(());
        };
        let row = place.row.max(span.low);
        let rows_end = end.min(span.high + 1);
        if row >= rows_end {
            self.next_span();
            return Err(());
        }
        let chunk_offset = place.box_base + (row - low) * self.frame.steps[depth - 1];
        let selection_offset = place.selection_base + span.before + (row - span.low) * span.row_elements();
        let is_run = span.down.as_ref().is_none_or(|down| self.is_whole(down, depth));
        if is_run {
            let len = (rows_end - row) * span.row_elements();
            self.next_span();
            return Ok(Some(ChunkRun { chunk_offset, selection_offset, len }));
        }
        let down = span.down.clone();
        if let Some(place) = self.stack.last_mut() {
            place.row = row + 1;
        }
        if let Some(down) = down {
            self.enter(down, chunk_offset, selection_offset);
        }
        Err(())
    }

    fn next_span(&mut self) {
        if let Some(place) = self.stack.last_mut() {
            place.span += 1;
        }
    }
}

impl Iterator for TreeWalk {
    type Item = ChunkRun;

    fn next(&mut self) -> Option<ChunkRun> {
        loop {
            if let Ok(found) = self.step() {
                return found;
            }
        }
    }
}
