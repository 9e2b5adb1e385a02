//! Selections: which elements of an extent take part, and in what order.
//!
//! A selection stands apart from the extent it is used with; operations that need the extent take its `dims`.
//! Hyperslabs always run in C order, points in the order given. Whole-tree work happens when a selection is
//! made; iterating one never allocates per run and never looks at single elements of a hyperslab.

mod axis;
mod blocks;
mod chunk_copy;
mod chunk_runs;
mod chunks;
mod codec;
mod mask;
mod point_index;
mod points;
mod project;
mod regular;
mod runs;
mod setop;
mod space_codec;
mod spans;
mod strips;
mod sweep;
#[cfg(test)]
mod tests;
mod tree_runs;
mod united;

use std::sync::Arc;

pub use axis::Axis;
pub use blocks::Blocks;
pub use chunk_runs::{ChunkRun, ChunkRuns};
pub use chunks::Chunks;
pub use codec::SelectionVersion;
pub use mask::MaskRows;
pub use point_index::PointIndex;
pub use points::Points;
pub use project::{project_intersection, shape_same};
pub use regular::Regular;
pub use runs::{Run, Runs};
pub use setop::SetOp;
pub use space_codec::{decode_space, encode_space};
pub use spans::SpanTree;
pub use strips::Strips;

#[cfg(test)]
use crate::Limits;
use crate::dataspace::{self, UNLIMITED};
use crate::{Error, Result};
use spans::{Node, SPANS_MAX};

/// The selected elements of an extent.
///
/// ```
/// # use hyperslab_model::selection::{Run, Selection, SetOp};
/// let dims = [4, 6];
/// let rows = Selection::block(&[1, 0], &[2, 6])?;
/// assert_eq!(rows.runs(&dims)?.collect::<Vec<_>>(), [Run { offset: 6, len: 12 }]);
/// let corner = Selection::block(&[0, 0], &[2, 2])?;
/// assert_eq!(rows.combine(SetOp::And, &corner, &dims)?, Selection::block(&[1, 0], &[1, 2])?);
/// # Ok::<(), hyperslab_model::Error>(())
/// ```
#[derive(Debug, Clone)]
pub enum Selection {
    /// No element, of any extent.
    None,
    /// The whole extent, whatever it is.
    All,
    /// Single elements in the user's order.
    Points(Points),
    /// Blocks at even distances.
    Regular(Regular),
    /// Blocks in any arrangement.
    Irregular(SpanTree),
}

/// Equal selections are the same elements in the same order, however they came about.
impl PartialEq for Selection {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Selection::None, Selection::None) | (Selection::All, Selection::All) => true,
            (Selection::Points(a), Selection::Points(b)) => a == b,
            (Selection::Regular(a), Selection::Regular(b)) => a == b,
            (Selection::Irregular(a), Selection::Irregular(b)) => {
                let (a, b) = (a.tree(), b.tree());
                a.is_ok_and(|a| b.is_ok_and(|b| spans::same(&a.root, &b.root)))
            }
            (Selection::Irregular(tree), other) | (other, Selection::Irregular(tree)) => {
                let merged = tree.united().map(united::United::merged);
                merged.is_some_and(|merged| merged.is_ok_and(|merged| merged == *other))
            }
            _ => false,
        }
    }
}

impl Eq for Selection {}

impl Selection {
    /// Returns a regular hyperslab; all slices have one entry per dimension.
    pub fn hyperslab(start: &[u64], stride: &[u64], count: &[u64], block: &[u64]) -> Result<Self> {
        let rank = start.len();
        if [stride.len(), count.len(), block.len()] != [rank; 3] {
            return Err(invalid("start, stride, count and block differ in rank"));
        }
        let axes = (0..rank).map(|d| Axis::new(start[d], stride[d], count[d], block[d]));
        match axes.collect::<Result<Option<Vec<Axis>>>>()? {
            None => Ok(Selection::None),
            Some(axes) => {
                let declared = (0..rank).map(|d| [start[d], stride[d], count[d], block[d]]);
                Ok(Selection::Regular(Regular::new(axes)?.declared_as(declared)))
            }
        }
    }

    /// Returns one block of `shape` at `start`.
    pub fn block(start: &[u64], shape: &[u64]) -> Result<Self> {
        if start.len() != shape.len() {
            return Err(invalid("start and shape differ in rank"));
        }
        let mut axes = Vec::with_capacity(start.len());
        for (start, len) in start.iter().zip(shape) {
            match Axis::new(*start, 1, 1, *len)? {
                Some(axis) => axes.push(axis),
                None => return Ok(Selection::None),
            }
        }
        Regular::new(axes).map(Selection::Regular)
    }

    /// Points in order, as `rank` coordinates each.
    pub fn points(rank: usize, coords: Vec<u64>) -> Result<Self> {
        if coords.is_empty() {
            return Ok(Selection::None);
        }
        Points::new(rank, coords).map(Selection::Points)
    }

    /// Returns the union of blocks, each given as `rank` starts followed by `rank` ends (inclusive).
    pub fn union_of_blocks(rank: usize, corners: &[u64]) -> Result<Self> {
        Self::union_within(rank, corners, SPANS_MAX)
    }

    /// Does what [`Selection::union_of_blocks`] does, with at most `made_max` spans made on the way. Blocks in the order in which
    /// [`Selection::blocks`] lists them make none.
    pub fn union_within(rank: usize, corners: &[u64], made_max: u64) -> Result<Self> {
        if rank == 0 || rank > dataspace::RANK_MAX || !corners.len().is_multiple_of(2 * rank) {
            return Err(invalid("blocks are not whole").with("rank", rank));
        }
        let is_block = |b: &[u64]| (0..rank).all(|d| b[d] <= b[rank + d] && b[rank + d] < UNLIMITED);
        if !corners.chunks_exact(2 * rank).all(is_block) {
            return Err(invalid("a block ends before it starts"));
        }
        Ok(Self::from_node(setop::union_boxes(corners, rank, made_max)?))
    }

    /// Returns all combinations of the intervals of each dimension, which are first and last coordinates in ascending order.
    ///
    /// # Errors
    /// Returns an error of kind `Invalid` if intervals overlap or are not in order.
    pub fn product_of_intervals(axes: &[&[u64]]) -> Result<Self> {
        let is_sorted = |axis: &&[u64]| {
            let (pairs, rest) = axis.as_chunks::<2>();
            let is_apart = |pair: &[[u64; 2]]| pair[0][1] < pair[1][0];
            rest.is_empty()
                && pairs.iter().all(|[a, b]| a <= b && *b < UNLIMITED)
                && pairs.windows(2).all(is_apart)
        };
        if axes.is_empty() || axes.len() > dataspace::RANK_MAX || !axes.iter().all(is_sorted) {
            return Err(invalid("intervals are not in order").with("rank", axes.len()));
        }
        let pairs = axes.iter().map(|axis| axis.as_chunks::<2>().0.iter());
        Ok(Self::from_node(spans::product(pairs.map(|pairs| pairs.map(|pair| (pair[0], pair[1]))))?))
    }

    /// Returns the selection of a tree, in regular form where it has one.
    fn from_node(root: Option<Arc<Node>>) -> Self {
        let Some(root) = root else { return Selection::None };
        match regular::regular_form(&root) {
            Some(regular) => Selection::Regular(regular),
            None => Selection::Irregular(SpanTree::new(root)),
        }
    }

    /// Returns the selected set as a tree; `None` where it is empty. Not for rank 0.
    fn node(&self, dims: &[u64]) -> Result<Option<Arc<Node>>> {
        match self.bounded(dims)? {
            Selection::None | Selection::All => Ok(None),
            Selection::Regular(regular) => regular.tree(),
            Selection::Irregular(tree) => Ok(Some(tree.tree()?.root.clone())),
            Selection::Points(points) => setop::union_boxes(&doubled(&points), points.rank(), SPANS_MAX),
        }
    }

    /// Returns the same elements without reference to an extent: `All` becomes its block, unlimited ends at `dims`.
    /// `All` of a scalar stays `All`.
    fn bounded(&self, dims: &[u64]) -> Result<Selection> {
        self.check_rank(dims)?;
        match self {
            Selection::All if dims.is_empty() => Ok(Selection::All),
            Selection::All => Self::block(&vec![0; dims.len()], dims),
            Selection::Regular(regular) if regular.is_unlimited() => regular.clip(dims),
            bounded => bounded.merged(),
        }
    }

    /// Returns the same selection, with blocks that were united merged.
    fn merged(&self) -> Result<Selection> {
        match self {
            Selection::Irregular(tree) => tree.united().map_or(Ok(self.clone()), united::United::merged),
            _ => Ok(self.clone()),
        }
    }

    /// Combines with `other` as sets: `Points` lose their order, `All` is the extent `dims`.
    pub fn combine(&self, op: SetOp, other: &Selection, dims: &[u64]) -> Result<Selection> {
        if op == SetOp::Set {
            return Ok(other.clone());
        }
        if op == SetOp::Or
            && self.rank() == Some(dims.len())
            && let Some(united) = united::unite(self, other)
        {
            return Ok(Selection::Irregular(SpanTree::of_united(united)));
        }
        let (a, b) = (self.bounded(dims)?, other.bounded(dims)?);
        match (&a, &b) {
            (_, Selection::None) => return Ok(if op.keeps_only_a() { a } else { Selection::None }),
            (Selection::None, _) => return Ok(if op.keeps_only_b() { b } else { Selection::None }),
            (Selection::All, Selection::All) => return Ok(scalar_combined(op)),
            _ if op == SetOp::And => {
                if let Some(part) = both_in_block(&a, &b)? {
                    return Ok(part);
                }
            }
            _ => {}
        }
        match (a.node(dims)?, b.node(dims)?) {
            (Some(a), Some(b)) => Ok(Self::from_node(setop::combine(op, &a, &b)?)),
            _ => Err(invalid("a scalar extent has nothing to combine")),
        }
    }

    /// Returns the part of the selection in a block, in the same order.
    pub fn intersect_block(&self, dims: &[u64], start: &[u64], shape: &[u64]) -> Result<Selection> {
        self.check_rank(dims)?;
        if [start.len(), shape.len()] != [dims.len(); 2] {
            return Err(invalid("rank of the block").with("rank", start.len()));
        }
        match self {
            Selection::Points(points) => {
                let inside = points.iter().filter(|point| in_box(point, start, shape));
                Self::points(points.rank(), inside.flatten().copied().collect())
            }
            Selection::None => Ok(Selection::None),
            Selection::All if dims.is_empty() => Ok(Selection::All),
            _ => self.combine(SetOp::And, &Self::block(start, shape)?, dims),
        }
    }

    /// Returns the number of selected elements.
    pub fn element_count(&self, dims: &[u64]) -> Result<u64> {
        self.check_rank(dims)?;
        Ok(match self {
            Selection::None => 0,
            Selection::All => dataspace::element_count(dims)?,
            Selection::Points(points) => points.len() as u64,
            Selection::Regular(regular) if regular.is_unlimited() => {
                return regular.clip(dims)?.element_count(dims);
            }
            Selection::Regular(regular) => regular.elements(),
            Selection::Irregular(tree) => tree.tree()?.root.elements,
        })
    }

    /// Returns the number of dimensions, where the selection has its own.
    pub fn rank(&self) -> Option<usize> {
        match self {
            Selection::None | Selection::All => None,
            Selection::Points(points) => Some(points.rank()),
            Selection::Regular(regular) => Some(regular.axes().len()),
            Selection::Irregular(tree) => Some(tree.rank()),
        }
    }

    fn check_rank(&self, dims: &[u64]) -> Result<()> {
        match self.rank() {
            Some(rank) if rank != dims.len() => {
                Err(invalid("rank differs from the extent's").with("rank", rank).with("extent", dims.len()))
            }
            _ => Ok(()),
        }
    }

    /// Returns whether the elements are those of one block, or all.
    pub fn is_block(&self) -> bool {
        match self {
            Selection::All => true,
            Selection::Regular(regular) => regular.axes().iter().all(|axis| axis.single().is_some()),
            _ => false,
        }
    }

    /// Returns whether a dimension has no bound.
    pub fn is_unlimited(&self) -> bool {
        matches!(self, Selection::Regular(regular) if regular.is_unlimited())
    }

    /// Checks that rank and extent fit. Unlimited selections end where the extent does, and always fit.
    pub fn validate(&self, dims: &[u64]) -> Result<()> {
        self.check_rank(dims)?;
        dataspace::element_count(dims)?;
        if matches!(self, Selection::All | Selection::None) {
            return Ok(());
        }
        if let Selection::Regular(regular) = self
            && !regular.is_unlimited()
        {
            let beyond = regular.axes().iter().zip(dims).any(|(axis, dim)| axis.last() >= *dim);
            return if beyond { Err(invalid("reaches beyond the extent")) } else { Ok(()) };
        }
        match self.bounds(dims)? {
            Some((_, high)) if high.iter().zip(dims).any(|(high, dim)| high >= dim) => {
                Err(invalid("reaches beyond the extent"))
            }
            _ => Ok(()),
        }
    }

    /// Returns the smallest block around the selection: first and last coordinates. `None` where it is empty.
    pub fn bounds(&self, dims: &[u64]) -> Result<Option<(Vec<u64>, Vec<u64>)>> {
        Ok(match self.bounded(dims)? {
            Selection::None => None,
            Selection::All => Some((Vec::new(), Vec::new())),
            Selection::Points(points) => Some((points.low, points.high)),
            Selection::Irregular(tree) => {
                let tree = tree.tree()?;
                Some((tree.low.clone(), tree.high.clone()))
            }
            Selection::Regular(regular) => {
                Some(regular.axes().iter().map(|axis| (axis.start, axis.last())).unzip())
            }
        })
    }

    /// Returns the selection with an unlimited dimension ended at the extent; others as they are.
    pub fn clip(&self, dims: &[u64]) -> Result<Selection> {
        match self.is_unlimited() {
            true => self.bounded(dims),
            false => Ok(self.clone()),
        }
    }

    /// Returns whether the element at `point` is selected.
    pub fn contains(&self, dims: &[u64], point: &[u64]) -> Result<bool> {
        self.check_rank(dims)?;
        if point.len() != dims.len() {
            return Err(invalid("rank of the point").with("rank", point.len()));
        }
        let is_inside = point.iter().zip(dims).all(|(x, dim)| x < dim);
        Ok(match self {
            Selection::None => false,
            Selection::All => is_inside,
            Selection::Points(points) => points.iter().any(|other| other == point),
            Selection::Regular(regular) if regular.is_unlimited() => {
                is_inside && regular.clip(dims)?.contains(dims, point)?
            }
            Selection::Regular(regular) => {
                regular.axes().iter().zip(point).all(|(axis, &x)| axis.contains(x))
            }
            Selection::Irregular(tree) => tree_contains(&tree.tree()?.root, point),
        })
    }

    /// Returns the selection moved by `offset`, which has one entry per dimension.
    pub fn translate(&self, offset: &[i64]) -> Result<Selection> {
        if self.rank().is_some_and(|rank| rank != offset.len()) {
            return Err(invalid("rank of the offset").with("rank", offset.len()));
        }
        match &self.merged()? {
            merged @ (Selection::None | Selection::All) => Ok(merged.clone()),
            Selection::Points(points) => {
                let moved =
                    points.iter().flat_map(|point| point.iter().zip(offset).map(|(&x, &by)| shift(x, by)));
                Self::points(points.rank(), moved.collect::<Result<_>>()?)
            }
            Selection::Regular(regular) => {
                let moved = regular.axes().iter().zip(offset).map(|(axis, &by)| {
                    Axis::new(shift(axis.start, by)?, axis.stride, axis.count, axis.block)
                });
                let axes = moved.collect::<Result<Option<Vec<Axis>>>>()?;
                axes.map_or(Ok(Selection::None), |axes| Regular::new(axes).map(Selection::Regular))
            }
            Selection::Irregular(tree) => {
                Ok(Selection::Irregular(SpanTree::new(spans::shifted(&tree.tree()?.root, offset)?)))
            }
        }
    }
}

fn invalid(problem: &str) -> Error {
    Error::invalid("use selection").with("problem", problem)
}

fn shift(x: u64, by: i64) -> Result<u64> {
    let moved = x.checked_add_signed(by).filter(|&moved| moved < UNLIMITED);
    moved.ok_or_else(|| invalid("moved out of the coordinates").with("coordinate", x).with("by", by))
}

/// Returns the one element of a scalar combined with itself.
fn scalar_combined(op: SetOp) -> Selection {
    match op {
        SetOp::Or | SetOp::And | SetOp::Set => Selection::All,
        SetOp::Xor | SetOp::NotA | SetOp::NotB => Selection::None,
    }
}

/// Returns the intersection by arithmetic, where one side is regular and the other is a single block.
fn both_in_block(a: &Selection, b: &Selection) -> Result<Option<Selection>> {
    let (Selection::Regular(a), Selection::Regular(b)) = (a, b) else { return Ok(None) };
    let (many, (start, shape)) = match (a.as_block(), b.as_block()) {
        (_, Some(block)) => (a, block),
        (Some(block), _) => (b, block),
        _ => return Ok(None),
    };
    many.index_box(&many.indices_in(&start, &shape)).map(Some)
}

fn in_box(point: &[u64], start: &[u64], shape: &[u64]) -> bool {
    let mut corners = start.iter().zip(shape);
    point
        .iter()
        .all(|&x| corners.next().is_some_and(|(&low, &len)| x.checked_sub(low).is_some_and(|at| at < len)))
}

/// Returns each point as a box of one element.
fn doubled(points: &Points) -> Vec<u64> {
    points.iter().flat_map(|point| point.iter().chain(point)).copied().collect()
}

fn tree_contains(root: &Node, point: &[u64]) -> bool {
    let mut node = root;
    for &x in point {
        let Some(span) = node.spans.get(node.spans.partition_point(|span| span.high < x)) else {
            return false;
        };
        match &span.down {
            _ if x < span.low => return false,
            None => return true,
            Some(down) => node = down,
        }
    }
    false
}
