//! The blocks of a selection, fastest dimension first.

use std::sync::Arc;

use super::spans::Node;
use super::{Points, Regular, Selection};
use crate::{Error, Result};

/// The blocks of a selection as (first, last) corners, in HDF5's order.
#[derive(Debug, Clone)]
pub struct Blocks(Source);

#[derive(Debug, Clone)]
enum Source {
    Nothing,
    Scalar,
    Points(Points, usize),
    /// The hyperslab, and the number of the block in each dimension.
    Regular(Regular, Vec<u64>),
    /// Nodes from the root down, and the span each is at.
    Tree(Vec<(Arc<Node>, usize)>),
}

impl Selection {
    /// Returns the blocks of the selection; a point is a block of one element.
    pub fn blocks(&self, dims: &[u64]) -> Result<Blocks> {
        Ok(Blocks(match self.bounded(dims)? {
            Selection::None => Source::Nothing,
            Selection::All => Source::Scalar,
            Selection::Points(points) => Source::Points(points, 0),
            Selection::Regular(regular) => {
                let at = vec![0; regular.axes().len()];
                Source::Regular(regular, at)
            }
            Selection::Irregular(tree) => Source::Tree(leftmost(tree.tree()?.root.clone())),
        }))
    }

    /// Returns the number of blocks.
    pub fn block_count(&self, dims: &[u64]) -> Result<u64> {
        Ok(match self.bounded(dims)? {
            Selection::None => 0,
            Selection::All => 1,
            Selection::Points(points) => points.len() as u64,
            Selection::Regular(regular) => regular.blocks(),
            Selection::Irregular(tree) => {
                count(&tree.tree()?.root, &mut std::collections::HashMap::new()).ok_or_else(too_many)?
            }
        })
    }
}

fn too_many() -> Error {
    Error::invalid("count blocks").with("problem", "more than 64 bits count")
}

fn count(node: &Arc<Node>, memo: &mut std::collections::HashMap<*const Node, u64>) -> Option<u64> {
    if let Some(&known) = memo.get(&Arc::as_ptr(node)) {
        return Some(known);
    }
    let mut blocks = 0u64;
    for span in &node.spans {
        let below = span.down.as_ref().map_or(Some(1), |down| count(down, memo))?;
        blocks = blocks.checked_add(below)?;
    }
    memo.insert(Arc::as_ptr(node), blocks);
    Some(blocks)
}

/// Returns the path from `node` to its first leaf span.
fn leftmost(node: Arc<Node>) -> Vec<(Arc<Node>, usize)> {
    let mut path = vec![(node, 0)];
    descend(&mut path);
    path
}

fn descend(path: &mut Vec<(Arc<Node>, usize)>) {
    while let Some(down) = path.last().and_then(|(node, at)| node.spans[*at].down.clone()) {
        path.push((down, 0));
    }
}

/// Moves to the next leaf span; the path is empty after the last.
fn next_leaf(path: &mut Vec<(Arc<Node>, usize)>) {
    while let Some((node, at)) = path.last_mut() {
        *at += 1;
        if *at < node.spans.len() {
            return descend(path);
        }
        path.pop();
    }
}

fn next_regular(regular: &Regular, at: &mut Vec<u64>) -> Option<(Vec<u64>, Vec<u64>)> {
    if at.is_empty() {
        return None;
    }
    let corner = |(axis, n): (&super::Axis, &u64)| {
        let low = axis.start + n * axis.stride;
        (low, low + axis.block - 1)
    };
    let block = regular.axes().iter().zip(at.iter()).map(corner).unzip();
    for d in (0..at.len()).rev() {
        at[d] += 1;
        if at[d] < regular.axes()[d].count {
            return Some(block);
        }
        at[d] = 0;
    }
    at.clear();
    Some(block)
}

impl Iterator for Blocks {
    type Item = (Vec<u64>, Vec<u64>);

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Source::Nothing => None,
            Source::Scalar => {
                self.0 = Source::Nothing;
                Some((Vec::new(), Vec::new()))
            }
            Source::Points(points, at) => {
                *at += 1;
                points.get(*at - 1).map(|point| (point.to_vec(), point.to_vec()))
            }
            Source::Regular(regular, at) => next_regular(regular, at),
            Source::Tree(path) if path.is_empty() => None,
            Source::Tree(path) => {
                let corners = path.iter().map(|(node, at)| (node.spans[*at].low, node.spans[*at].high));
                let block = corners.unzip();
                next_leaf(path);
                Some(block)
            }
        }
    }
}
