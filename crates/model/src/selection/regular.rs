//! Regular hyperslabs: the product of one axis per dimension.

use super::spans::{self, Node};
use super::{Axis, Selection};
use crate::dataspace::RANK_MAX;
use crate::{Error, Result};
use std::sync::Arc;

/// A regular hyperslab: one [`Axis`] per dimension, slowest first; at most one is unlimited.
#[derive(Debug, Clone)]
pub struct Regular {
    axes: Vec<Axis>,
    /// Start, stride, count and block of each dimension as the caller gave them, where blocks that touch were merged.
    declared: Option<Arc<[[u64; 4]]>>,
}

/// Equal hyperslabs are the same elements, however they were declared.
impl PartialEq for Regular {
    fn eq(&self, other: &Self) -> bool {
        self.axes == other.axes
    }
}

impl Eq for Regular {}

impl std::hash::Hash for Regular {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.axes.hash(state);
    }
}

impl Regular {
    /// Checks rank and unlimited dimensions, and that the elements can be counted.
    pub(super) fn new(axes: Vec<Axis>) -> Result<Self> {
        if axes.is_empty() || axes.len() > RANK_MAX {
            return Err(invalid("rank").with("rank", axes.len()));
        }
        if axes.iter().filter(|axis| axis.is_unlimited()).count() > 1 {
            return Err(invalid("more than one unlimited dimension"));
        }
        let bounded = axes.iter().filter(|axis| !axis.is_unlimited());
        let elements = bounded.into_iter().try_fold(1u64, |n, axis| n.checked_mul(axis.size()));
        elements.ok_or_else(|| invalid("more elements than 64 bits count"))?;
        Ok(Regular { axes, declared: None })
    }

    /// Returns the same hyperslab, which remembers how the caller declared it.
    pub(super) fn declared_as(self, declared: impl ExactSizeIterator<Item = [u64; 4]> + Clone) -> Self {
        let is_same = declared.clone().eq(self.axes.iter().map(Axis::numbers));
        let declared = if is_same { None } else { Some(declared.collect()) };
        Regular { declared, ..self }
    }

    /// Returns start, stride, count and block of each dimension as they were given to [`Selection::hyperslab`]; those of
    /// [`Regular::axes`] if the hyperslab came about otherwise.
    pub fn declared(&self) -> Vec<[u64; 4]> {
        match &self.declared {
            Some(declared) => declared.to_vec(),
            None => self.axes.iter().map(Axis::numbers).collect(),
        }
    }

    /// Returns the dimensions, slowest first.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// Returns whether a dimension has no bound.
    pub fn is_unlimited(&self) -> bool {
        self.axes.iter().any(Axis::is_unlimited)
    }

    /// Returns the number of selected elements of a bounded hyperslab.
    pub(super) fn elements(&self) -> u64 {
        self.axes.iter().map(Axis::size).product()
    }

    /// Returns the number of blocks of a bounded hyperslab.
    pub(super) fn blocks(&self) -> u64 {
        self.axes.iter().map(|axis| axis.count).product()
    }

    /// Returns the start and shape, where there is only one block.
    pub(super) fn as_block(&self) -> Option<(Vec<u64>, Vec<u64>)> {
        let is_block = self.axes.iter().all(|axis| axis.count == 1);
        is_block.then(|| self.axes.iter().map(|axis| (axis.start, axis.block)).unzip())
    }

    /// Returns the number of selected coordinates in each dimension.
    pub(super) fn sizes(&self) -> Vec<u64> {
        self.axes.iter().map(Axis::size).collect()
    }

    pub(super) fn tree(&self) -> Result<Option<Arc<Node>>> {
        spans::product(self.axes.iter().map(|axis| axis.intervals(0, axis.size())))
    }

    /// Returns the elements whose index in each dimension lies in the given range (from, to).
    pub(super) fn index_box(&self, ranges: &[(u64, u64)]) -> Result<Selection> {
        if ranges.iter().any(|&(from, to)| from >= to) {
            return Ok(Selection::None);
        }
        let axes = || self.axes.iter().zip(ranges);
        let slices: Option<Vec<Axis>> = axes().map(|(axis, &(from, to))| axis.slice(from, to)).collect();
        match slices {
            Some(axes) => Ok(Selection::Regular(Regular { axes, declared: None })),
            None => {
                let intervals = axes().map(|(axis, &(from, to))| axis.intervals(from, to));
                spans::product(intervals).map(Selection::from_node)
            }
        }
    }

    /// Returns, in each dimension, the range of indices whose coordinates lie in the box.
    pub(super) fn indices_in(&self, start: &[u64], shape: &[u64]) -> Vec<(u64, u64)> {
        let corners = start.iter().zip(shape);
        let range = |(axis, (&low, &len)): (&Axis, (&u64, &u64))| {
            (axis.index_of(low), axis.index_of(low.saturating_add(len)))
        };
        self.axes.iter().zip(corners).map(range).collect()
    }

    /// As far as `dims` go, where a dimension is unlimited.
    pub(super) fn clip(&self, dims: &[u64]) -> Result<Selection> {
        let mut axes = Vec::with_capacity(self.axes.len());
        let mut ranges = Vec::with_capacity(self.axes.len());
        for (axis, &dim) in self.axes.iter().zip(dims) {
            let (bounded, to) = match axis.is_unlimited() {
                false => (*axis, axis.size()),
                true => match axis.clipped(dim) {
                    None => return Ok(Selection::None),
                    Some(clipped) => clipped,
                },
            };
            axes.push(bounded);
            ranges.push((0, to));
        }
        Regular::new(axes)?.index_box(&ranges)
    }
}

fn invalid(problem: &str) -> Error {
    Error::invalid("select hyperslab").with("problem", problem)
}

/// Returns the regular form of a tree, where it has one: on every level equal, evenly spaced spans over one subtree.
pub(super) fn regular_form(root: &Arc<Node>) -> Option<Regular> {
    let mut axes = Vec::new();
    let mut next = Some(root);
    while let Some(node) = next {
        axes.push(regular_axis(node)?);
        next = node.spans[0].down.as_ref();
    }
    Some(Regular { axes, declared: None })
}

fn regular_axis(node: &Node) -> Option<Axis> {
    let first = node.spans.first()?;
    let block = first.high - first.low + 1;
    let stride = node.spans.get(1).map_or(1, |second| second.low - first.low);
    let is_even = node.spans.windows(2).all(|pair| pair[1].low - pair[0].low == stride);
    let is_equal = |span: &spans::Span| span.high - span.low + 1 == block;
    if !is_even || !node.spans.iter().all(is_equal) {
        return None;
    }
    let is_one = node.spans.iter().all(|span| spans::same_down(&span.down, &first.down));
    is_one.then_some(Axis { start: first.low, stride, count: node.spans.len() as u64, block })
}
