//! Runs of span trees in a box, with an explicit stack; parts outside the box are passed over whole.

use std::sync::Arc;

use super::chunk_runs::{ChunkRun, Frame};
use super::spans::Node;

/// A node above the leaves on the way down, and how far the walk has come in it.
#[derive(Debug, Clone)]
struct TreePosition {
    node: Arc<Node>,
    span: usize,
    /// Least coordinate not yet visited.
    row: u64,
    box_base: u64,
    selection_base: u64,
}

/// A row of the fastest dimension: those of its spans that meet the box.
#[derive(Debug, Clone)]
struct Leaf {
    node: Arc<Node>,
    span: usize,
    span_end: usize,
    box_base: u64,
    selection_base: u64,
}

/// The runs of a span tree in a box.
#[derive(Debug, Clone)]
pub(super) struct TreeWalk {
    frame: Frame,
    stack: Vec<TreePosition>,
    leaf: Option<Leaf>,
    /// The box in the fastest dimension.
    leaf_low: u64,
    leaf_end: u64,
}

impl TreeWalk {
    /// The box has the rank of the tree, which is at least 1.
    pub(super) fn new(root: Arc<Node>, frame: Frame) -> Self {
        let fastest = frame.low.len() - 1;
        let (leaf_low, leaf_end) = (frame.low[fastest], frame.end(fastest));
        let stack = Vec::with_capacity(fastest);
        let mut walk = TreeWalk { frame, stack, leaf: None, leaf_low, leaf_end };
        walk.enter(root, 0, 0);
        walk
    }

    fn enter(&mut self, node: Arc<Node>, box_base: u64, selection_base: u64) {
        let depth = self.stack.len();
        let row = self.frame.low[depth];
        let span = node.spans.partition_point(|span| span.high < row);
        if depth + 1 < self.frame.low.len() {
            self.stack.push(TreePosition { node, span, row, box_base, selection_base });
        } else {
            let met = node.spans[span..].partition_point(|span| span.low < self.leaf_end);
            self.leaf = Some(Leaf { node, span, span_end: span + met, box_base, selection_base });
        }
    }

    #[inline]
    fn next_in_leaf(&mut self) -> Option<ChunkRun> {
        let leaf = self.leaf.as_mut().filter(|leaf| leaf.span < leaf.span_end)?;
        let span = &leaf.node.spans[leaf.span];
        leaf.span += 1;
        let low = span.low.max(self.leaf_low);
        Some(ChunkRun {
            chunk_offset: leaf.box_base + (low - self.leaf_low),
            selection_offset: leaf.selection_base + span.before + (low - span.low),
            len: self.leaf_end.min(span.high + 1) - low,
        })
    }

    /// Returns whether the subtree is exactly the box in its dimensions, from `depth` on.
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

    /// One move above the leaves, which may find that whole rows are one run.
    fn step(&mut self) -> Option<ChunkRun> {
        let depth = self.stack.len();
        let place = self.stack.last_mut()?;
        let (low, end) = (self.frame.low[depth - 1], self.frame.end(depth - 1));
        let Some(span) = place.node.spans.get(place.span).filter(|span| span.low < end) else {
            self.stack.pop();
            return None;
        };
        let row = place.row.max(span.low);
        let rows_end = end.min(span.high + 1);
        let down = span.down.as_ref().filter(|_| row < rows_end).cloned();
        let Some(down) = down else {
            place.span += 1;
            return None;
        };
        let chunk_offset = place.box_base + (row - low) * self.frame.steps[depth - 1];
        let selection_offset = place.selection_base + span.before + (row - span.low) * down.elements;
        place.row = row + 1;
        if !self.is_whole(&down, depth) {
            self.enter(down, chunk_offset, selection_offset);
            return None;
        }
        if let Some(place) = self.stack.last_mut() {
            place.row = rows_end;
        }
        Some(ChunkRun { chunk_offset, selection_offset, len: (rows_end - row) * down.elements })
    }
}

impl Iterator for TreeWalk {
    type Item = ChunkRun;

    #[inline]
    fn next(&mut self) -> Option<ChunkRun> {
        loop {
            if let Some(run) = self.next_in_leaf() {
                return Some(run);
            }
            self.leaf = None;
            if self.stack.is_empty() {
                return None;
            }
            if let Some(run) = self.step() {
                return Some(run);
            }
        }
    }
}
