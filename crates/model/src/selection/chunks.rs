//! The chunks that a selection touches, without looking at its elements.

use std::collections::HashMap;
use std::sync::Arc;

use super::point_index::PointIndex;
use super::spans::{self, Builder, Node, SPANS_MAX};
use super::{Axis, Selection, invalid, setop};
use crate::Result;

/// Chunk coordinates (chunk numbers in each dimension) of the touched chunks, in C order.
#[derive(Debug, Clone)]
pub struct Chunks(Source);

#[derive(Debug, Clone)]
enum Source {
    Product(Product),
    List(std::vec::IntoIter<Vec<u64>>),
    Tree(TreeElements),
}

impl Selection {
    /// Returns the chunks of `chunk_shape` that hold selected elements.
    pub fn chunks(&self, dims: &[u64], chunk_shape: &[u64]) -> Result<Chunks> {
        if chunk_shape.len() != dims.len() || chunk_shape.contains(&0) {
            return Err(invalid("chunk shape").with("rank", chunk_shape.len()));
        }
        self.validate(dims)?;
        Ok(Chunks(match self.bounded(dims)? {
            Selection::None => Source::List(Vec::new().into_iter()),
            Selection::All => Source::List(vec![Vec::new()].into_iter()),
            Selection::Regular(regular) => Source::Product(Product::new(regular.axes(), chunk_shape)),
            Selection::Points(points) => {
                Source::List(PointIndex::new(&points, chunk_shape)?.chunks().collect::<Vec<_>>().into_iter())
            }
            Selection::Irregular(tree) => {
                let chunk_coords = chunk_coords(&tree.tree()?.root, chunk_shape, &mut HashMap::new())?;
                Source::Tree(TreeElements::new(chunk_coords))
            }
        }))
    }
}

impl Iterator for Chunks {
    type Item = Vec<u64>;

    fn next(&mut self) -> Option<Vec<u64>> {
        match &mut self.0 {
            Source::Product(product) => product.next(),
            Source::List(list) => list.next(),
            Source::Tree(tree) => tree.next(),
        }
    }
}

/// Returns the next chunk number from `from` on in which an axis has a coordinate.
fn chunk_from(axis: &Axis, chunk_len: u64, from: u64) -> Option<u64> {
    axis.next_from(from.checked_mul(chunk_len)?).map(|x| x / chunk_len)
}

/// Chunks of a regular hyperslab: all combinations of the chunk numbers of each axis.
#[derive(Debug, Clone)]
struct Product {
    axes: Vec<(Axis, u64)>,
    at: Option<Vec<u64>>,
}

impl Product {
    fn new(axes: &[Axis], chunk_shape: &[u64]) -> Self {
        let first = axes.iter().zip(chunk_shape).map(|(axis, len)| axis.start / len).collect();
        Product { axes: axes.iter().copied().zip(chunk_shape.iter().copied()).collect(), at: Some(first) }
    }

    fn next(&mut self) -> Option<Vec<u64>> {
        let current = self.at.take()?;
        let mut next = current.clone();
        for (d, (axis, chunk_len)) in self.axes.iter().enumerate().rev() {
            if let Some(number) = chunk_from(axis, *chunk_len, next[d] + 1) {
                next[d] = number;
                self.at = Some(next);
                break;
            }
            next[d] = axis.start / chunk_len;
        }
        Some(current)
    }
}

/// Returns the tree of the chunk numbers under a tree of coordinates.
fn chunk_coords(
    node: &Arc<Node>,
    chunk_shape: &[u64],
    memo: &mut HashMap<*const Node, Arc<Node>>,
) -> Result<Arc<Node>> {
    if let Some(known) = memo.get(&Arc::as_ptr(node)) {
        return Ok(known.clone());
    }
    // Neighbours with the same chunks below become one. What still overlaps is united.
    let mut rows: Vec<ChunkRows> = Vec::new();
    for span in &node.spans {
        let down = span.down.as_ref().map(|down| chunk_coords(down, &chunk_shape[1..], memo)).transpose()?;
        let next = ChunkRows { low: span.low / chunk_shape[0], high: span.high / chunk_shape[0], down };
        match rows.last_mut() {
            Some(last) if last.goes_on_with(&next) => last.high = next.high,
            _ => rows.push(next),
        }
    }
    let result = united_rows(rows)?.unwrap_or_else(|| node.clone());
    memo.insert(Arc::as_ptr(node), result.clone());
    Ok(result)
}

/// Chunk numbers of one dimension that have the same chunk numbers below. They follow each other in order of `low`.
struct ChunkRows {
    low: u64,
    high: u64,
    down: Option<Arc<Node>>,
}

impl ChunkRows {
    fn goes_on_with(&self, next: &ChunkRows) -> bool {
        next.low <= self.high + 1 && spans::same_down(&self.down, &next.down)
    }
}

/// Returns the tree of rows: in one pass where none overlap.
fn united_rows(rows: Vec<ChunkRows>) -> Result<Option<Arc<Node>>> {
    let is_disjoint = rows.windows(2).all(|pair| pair[0].high < pair[1].low);
    let mut trees: Vec<Arc<Node>> = Vec::new();
    let mut builder = Builder::default();
    for row in rows {
        builder.push(row.low, row.high, row.down)?;
        if !is_disjoint {
            trees.extend(std::mem::take(&mut builder).finish());
        }
    }
    match is_disjoint {
        true => Ok(builder.finish()),
        false => setop::union(trees, SPANS_MAX),
    }
}

/// The elements of a tree as coordinates.
#[derive(Debug, Clone)]
struct TreeElements {
    /// Nodes from the root down, the span each is at, and the coordinate in it.
    path: Vec<(Arc<Node>, usize, u64)>,
}

impl TreeElements {
    fn new(root: Arc<Node>) -> Self {
        let low = root.spans[0].low;
        let mut elements = TreeElements { path: vec![(root, 0, low)] };
        elements.descend();
        elements
    }

    fn descend(&mut self) {
        while let Some(down) = self.path.last().and_then(|(node, span, _)| node.spans[*span].down.clone()) {
            let low = down.spans[0].low;
            self.path.push((down, 0, low));
        }
    }

    fn next(&mut self) -> Option<Vec<u64>> {
        if self.path.is_empty() {
            return None;
        }
        let current = self.path.iter().map(|(_, _, x)| *x).collect();
        while let Some((node, span, x)) = self.path.last_mut() {
            if *x < node.spans[*span].high {
                *x += 1;
            } else if let Some(next) = node.spans.get(*span + 1) {
                (*span, *x) = (*span + 1, next.low);
            } else {
                self.path.pop();
                continue;
            }
            self.descend();
            break;
        }
        Some(current)
    }
}
