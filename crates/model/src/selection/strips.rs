//! Strip mining: a selection cut into pieces of bounded size, in selection order.

use super::spans::{Builder, Node};
use super::{Axis, Regular, Selection, invalid};
use crate::Result;
use std::ops::Range;
use std::sync::Arc;

/// Consecutive parts of a selection. Cuts fall between rows of the slowest dimension that allows them.
#[derive(Debug, Clone)]
pub struct Strips {
    selection: Selection,
    elements_max: u64,
    at: u64,
    total: u64,
    chunk_shape: Vec<u64>,
}

impl Selection {
    /// Cuts the selection into strips of at most `elements_max` (at least 1) elements.
    pub fn strips(&self, dims: &[u64], elements_max: u64) -> Result<Strips> {
        if elements_max == 0 {
            return Err(invalid("strips of no elements"));
        }
        let selection = self.bounded(dims)?;
        let total = selection.element_count(dims)?;
        Ok(Strips { selection, elements_max, at: 0, total, chunk_shape: Vec::new() })
    }
}

impl Strips {
    /// Lets cuts of blocks fall between chunks of this shape, where a strip holds a whole row of them.
    pub fn between_chunks(self, chunk_shape: &[u64]) -> Result<Strips> {
        if self.selection.rank().is_some_and(|rank| rank != chunk_shape.len()) || chunk_shape.contains(&0) {
            return Err(invalid("chunk shape").with("rank", chunk_shape.len()));
        }
        Ok(Strips { chunk_shape: chunk_shape.to_vec(), ..self })
    }
}

impl Iterator for Strips {
    type Item = Selection;

    fn next(&mut self) -> Option<Selection> {
        if self.at >= self.total {
            return None;
        }
        let limit = self.at.saturating_add(self.elements_max).min(self.total);
        if self.at == 0 && limit == self.total {
            self.at = self.total;
            return Some(self.selection.clone());
        }
        // Errors cannot come here: a part of a countable selection is countable, and its cuts are regular.
        let (strip, end) = match &self.selection {
            Selection::None => return None,
            Selection::All => (Selection::All, self.total),
            Selection::Points(points) => (points.slice(self.at, limit)?, limit),
            Selection::Regular(regular) => {
                regular_strip(regular, self.at, self.elements_max, &self.chunk_shape)?
            }
            Selection::Irregular(tree) => {
                let tree = tree.tree().ok()?;
                let end = cut(&tree.root, self.at, limit);
                let part = pick(&tree.root, std::slice::from_ref(&(self.at..end)), 0).ok()?;
                (Selection::from_node(part), end)
            }
        };
        self.at = end;
        Some(strip)
    }
}

/// Returns the strip from element `at` on and its end. It spans one index in the dimensions before the one it cuts,
/// and all in those after; whole blocks where one fits, so that it is regular again.
fn regular_strip(
    regular: &Regular,
    at: u64,
    elements_max: u64,
    chunk_shape: &[u64],
) -> Option<(Selection, u64)> {
    let axes = regular.axes();
    let (mut rest, mut row_elements) = (at, regular.elements());
    let mut ranges = Vec::with_capacity(axes.len());
    let mut end = at;
    for (d, axis) in axes.iter().enumerate() {
        row_elements /= axis.size();
        if end > at {
            ranges.push((0, axis.size()));
            continue;
        }
        let index = rest / row_elements;
        rest %= row_elements;
        if row_elements > elements_max || rest > 0 {
            ranges.push((index, index + 1));
            continue;
        }
        let capacity = elements_max / row_elements;
        let to = match capacity / axis.block {
            blocks if blocks > 0 && index.is_multiple_of(axis.block) => {
                index.saturating_add(blocks.saturating_mul(axis.block))
            }
            _ => index.saturating_add(capacity).min((index / axis.block + 1).saturating_mul(axis.block)),
        };
        let to = match chunk_shape.get(d) {
            Some(&len) if to < axis.size() && axis.count == 1 => between(axis, index, to, len),
            _ => to.min(axis.size()),
        };
        ranges.push((index, to));
        end = at + (to - index) * row_elements;
    }
    Some((regular.index_box(&ranges).ok()?, end))
}

/// Returns the last index up to `to` where a chunk of `len` begins, if it comes after `index`; else `to`.
fn between(axis: &Axis, index: u64, to: u64, len: u64) -> u64 {
    let end = axis.start + to;
    let boundary = end - end % len;
    if boundary > axis.start + index { boundary - axis.start } else { to }
}

/// Returns the last boundary of a row, in the slowest dimension that has one after `at`, up to `limit`.
fn cut(node: &Node, at: u64, limit: u64) -> u64 {
    let nth = node.spans.partition_point(|span| span.before <= limit).saturating_sub(1);
    let span = &node.spans[nth];
    let rows = (limit - span.before) / span.row_elements();
    let boundary = span.before + rows * span.row_elements();
    match &span.down {
        Some(down) if boundary <= at => boundary + cut(down, at - boundary, limit - boundary),
        _ => boundary,
    }
}

/// Returns the part of a tree whose elements, counted from `base`, lie in the sorted, disjoint `ranges`.
pub(super) fn pick(node: &Arc<Node>, ranges: &[Range<u64>], base: u64) -> Result<Option<Arc<Node>>> {
    let mut out = Builder::default();
    let mut ranges = ranges;
    let Some(start) = ranges.first().map(|range| range.start.saturating_sub(base)) else { return Ok(None) };
    let skipped = node.spans.partition_point(|span| span.before <= start).saturating_sub(1);
    for span in &node.spans[skipped..] {
        let row_elements = span.row_elements();
        let mut row = span.low;
        while row <= span.high {
            let row_base = base + span.before + (row - span.low) * row_elements;
            let skip = ranges.partition_point(|range| range.end <= row_base);
            ranges = &ranges[skip..];
            let Some(first) = ranges.first() else { return Ok(out.finish()) };
            // Rows before the first range, then whole rows inside it, in one step each.
            if first.start >= row_base + row_elements {
                row = row.saturating_add((first.start - row_base) / row_elements);
                continue;
            }
            let whole = if first.start <= row_base { (first.end - row_base) / row_elements } else { 0 };
            if whole > 0 {
                let last = row.saturating_add(whole - 1).min(span.high);
                out.push(row, last, span.down.clone())?;
                row = last + 1;
                continue;
            }
            if let Some(down) = &span.down {
                let inside = ranges.partition_point(|range| range.start < row_base + row_elements);
                if let Some(part) = pick(down, &ranges[..inside], row_base)? {
                    out.push(row, row, Some(part))?;
                }
            }
            row += 1;
        }
    }
    Ok(out.finish())
}
