//! Shapes compared, and one selection's part carried over to another.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::spans::{Builder, Node, SPANS_MAX, charge, shifted};
use super::strips::pick;
use super::{Axis, Points, Regular, Selection, invalid};
use crate::{Error, Result};

/// Returns whether two selections have the same shape: equal up to an offset in the dimensions they share (the
/// fastest), with a single coordinate in each further dimension of the one with more.
pub fn shape_same(a: &Selection, a_dims: &[u64], b: &Selection, b_dims: &[u64]) -> Result<bool> {
    let (a_count, b_count) = (a.element_count(a_dims)?, b.element_count(b_dims)?);
    if a_count != b_count || a_count == 0 {
        return Ok(a_count == b_count);
    }
    let (a, b) = (Shape::of(a, a_dims)?, Shape::of(b, b_dims)?);
    if a.low.len() < b.low.len() { b.is_same(&a) } else { a.is_same(&b) }
}

/// A non-empty selection with its bounds.
struct Shape {
    selection: Selection,
    low: Vec<u64>,
    high: Vec<u64>,
}

impl Shape {
    fn of(selection: &Selection, dims: &[u64]) -> Result<Self> {
        let selection = selection.bounded(dims)?;
        let (low, high) = selection.bounds(dims)?.unwrap_or_default();
        Ok(Shape { selection, low, high })
    }

    /// `other` has at most as many dimensions.
    fn is_same(&self, other: &Shape) -> Result<bool> {
        let extra = self.low.len() - other.low.len();
        if self.low[..extra] != self.high[..extra] {
            return Ok(false);
        }
        let size = |shape: &Shape, d: usize| shape.high[d] - shape.low[d];
        if (0..other.low.len()).any(|d| size(self, extra + d) != size(other, d)) {
            return Ok(false);
        }
        match (&self.selection, &other.selection) {
            (Selection::Regular(a), Selection::Regular(b)) => {
                Ok(a.axes()[extra..].iter().zip(b.axes()).all(|(a, b)| same_axis(a, b)))
            }
            (Selection::Irregular(a), Selection::Irregular(b)) => {
                let (a, b) = (a.tree()?, b.tree()?);
                let a = drop_dims(&a.root, extra);
                Ok(super::spans::same(&at_origin(a, &self.low[extra..])?, &at_origin(&b.root, &other.low)?))
            }
            (Selection::Points(a), Selection::Points(b)) => {
                let ours = a.iter().map(|point| relative(&point[extra..], &self.low[extra..]));
                Ok(ours.eq(b.iter().map(|point| relative(point, &other.low))))
            }
            (Selection::Points(points), _) => self.in_order(points)?.map_or(Ok(false), |a| a.is_same(other)),
            (_, Selection::Points(points)) => other.in_order(points)?.map_or(Ok(false), |b| self.is_same(&b)),
            // What remains has one element, or differs in being regular.
            (a, b) => Ok(matches!(a, Selection::All) || matches!(b, Selection::All)),
        }
    }

    /// Points in ascending order as a hyperslab, which is always in that order.
    fn in_order(&self, points: &Points) -> Result<Option<Shape>> {
        if !points.iter().is_sorted_by(|a, b| a < b) {
            return Ok(None);
        }
        let selection = Selection::from_node(self.selection.node(&self.low)?);
        Ok(Some(Shape { selection, low: self.low.clone(), high: self.high.clone() }))
    }
}

fn relative(point: &[u64], low: &[u64]) -> Vec<u64> {
    point.iter().zip(low).map(|(x, low)| x - low).collect()
}

fn same_axis(a: &Axis, b: &Axis) -> bool {
    (a.stride, a.count, a.block) == (b.stride, b.count, b.block)
}

/// Returns the subtree below leading dimensions that have one coordinate each.
fn drop_dims(mut node: &Arc<Node>, extra: usize) -> &Arc<Node> {
    for _ in 0..extra {
        match &node.spans[0].down {
            Some(down) => node = down,
            None => break,
        }
    }
    node
}

fn at_origin(node: &Arc<Node>, low: &[u64]) -> Result<Arc<Node>> {
    let offset: Option<Vec<i64>> = low.iter().map(|&x| i64::try_from(x).ok().map(|x| -x)).collect();
    shifted(node, &offset.ok_or_else(|| invalid("coordinates beyond 63 bits"))?)
}

/// Returns the elements of `dst` that correspond, by their place in selection order, to the elements of `src` that
/// are also in `intersect`. `src` and `dst` have equally many elements; `intersect` is in the extent of `src`.
pub fn project_intersection(
    src: &Selection,
    src_dims: &[u64],
    intersect: &Selection,
    dst: &Selection,
    dst_dims: &[u64],
) -> Result<Selection> {
    if src.element_count(src_dims)? != dst.element_count(dst_dims)? {
        return Err(invalid("source and destination differ in size"));
    }
    let (src, dst) = (src.bounded(src_dims)?, dst.bounded(dst_dims)?);
    let intersect = intersect.bounded(src_dims)?;
    let ranges = match (&src, &intersect) {
        (Selection::None, _) | (_, Selection::None) => return Ok(Selection::None),
        (Selection::All, _) | (_, Selection::All) => return Ok(dst),
        (Selection::Points(points), _) => point_ranges(points, &intersect, src_dims)?,
        (Selection::Regular(from), _) => return project_regular(from, &src, src_dims, &intersect, &dst),
        (Selection::Irregular(_), _) => {
            let part = src.combine(super::SetOp::And, &intersect, src_dims)?;
            tree_ranges(&src, &part, src_dims)?
        }
    };
    place(&dst, &ranges)
}

type Memo = HashMap<*const Node, Arc<Node>>;

/// A hyperslab's part is found in the space of its indices; where `dst` has the same shape there, the part is
/// the same in both.
fn project_regular(
    from: &Regular,
    src: &Selection,
    src_dims: &[u64],
    intersect: &Selection,
    dst: &Selection,
) -> Result<Selection> {
    let sizes = from.sizes();
    let onto = match dst {
        Selection::Regular(dst) if dst.sizes() == sizes => Some(dst),
        _ => None,
    };
    if let Selection::Regular(block) = intersect
        && let Some((start, shape)) = block.as_block()
    {
        let ranges = from.indices_in(&start, &shape);
        return match onto {
            Some(onto) => onto.index_box(&ranges),
            None => place(dst, &runs_of_indices(&index_block(&ranges)?, &sizes)?),
        };
    }
    let part = src.combine(super::SetOp::And, intersect, src_dims)?;
    let Some(part) = part.node(src_dims)? else { return Ok(Selection::None) };
    let indices = to_indices(&part, from.axes(), &mut HashMap::new())?;
    match onto {
        Some(onto) => {
            let coordinates = to_coordinates(&indices, onto.axes(), &mut HashMap::new(), &mut 0)?;
            Ok(Selection::from_node(Some(coordinates)))
        }
        None => place(dst, &runs_of_indices(&Selection::from_node(Some(indices)), &sizes)?),
    }
}

fn index_block(ranges: &[(u64, u64)]) -> Result<Selection> {
    let (start, shape): (Vec<u64>, Vec<u64>) = ranges.iter().map(|&(from, to)| (from, to - from)).unzip();
    Selection::block(&start, &shape)
}

/// Returns the coordinates of a part of a hyperslab as indices in it. Touching coordinates have touching indices.
fn to_indices(node: &Arc<Node>, axes: &[Axis], memo: &mut Memo) -> Result<Arc<Node>> {
    if let Some(known) = memo.get(&Arc::as_ptr(node)) {
        return Ok(known.clone());
    }
    let mut out = Builder::default();
    for span in &node.spans {
        let down = span.down.as_ref().map(|down| to_indices(down, &axes[1..], memo)).transpose()?;
        out.push(axes[0].index_of(span.low), axes[0].index_of(span.high), down)?;
    }
    let indices = out.finish().unwrap_or_else(|| node.clone());
    memo.insert(Arc::as_ptr(node), indices.clone());
    Ok(indices)
}

/// Indices in a hyperslab as coordinates.
fn to_coordinates(node: &Arc<Node>, axes: &[Axis], memo: &mut Memo, made: &mut u64) -> Result<Arc<Node>> {
    if let Some(known) = memo.get(&Arc::as_ptr(node)) {
        return Ok(known.clone());
    }
    let mut out = Builder::default();
    for span in &node.spans {
        let down = span.down.as_ref().map(|down| to_coordinates(down, &axes[1..], memo, made)).transpose()?;
        for (low, high) in axes[0].intervals(span.low, span.high + 1) {
            charge(made, 1, SPANS_MAX)?;
            out.push(low, high, down.clone())?;
        }
    }
    let coordinates = out.finish().unwrap_or_else(|| node.clone());
    memo.insert(Arc::as_ptr(node), coordinates.clone());
    Ok(coordinates)
}

/// Sorted, disjoint ranges of places in selection order.
type Ranges = Vec<Range<u64>>;

fn add(ranges: &mut Ranges, start: u64, len: u64) -> Result<()> {
    if let Some(last) = ranges.last_mut().filter(|last| last.end == start) {
        last.end += len;
        return Ok(());
    }
    if ranges.len() as u64 >= SPANS_MAX {
        return Err(Error::limit("project selection").with("ranges", ranges.len()));
    }
    ranges.push(start..start + len);
    Ok(())
}

fn runs_of_indices(indices: &Selection, sizes: &[u64]) -> Result<Ranges> {
    let mut ranges = Ranges::new();
    for run in indices.runs(sizes)? {
        add(&mut ranges, run.offset, run.len)?;
    }
    Ok(ranges)
}

fn point_ranges(points: &Points, intersect: &Selection, dims: &[u64]) -> Result<Ranges> {
    let set = Selection::from_node(intersect.node(dims)?);
    let mut ranges = Ranges::new();
    for (n, point) in points.iter().enumerate() {
        if set.contains(dims, point)? {
            add(&mut ranges, n as u64, 1)?;
        }
    }
    Ok(ranges)
}

/// Returns the places of `part`, which lies in `src`.
fn tree_ranges(src: &Selection, part: &Selection, dims: &[u64]) -> Result<Ranges> {
    let mut found = Ranges::new();
    for (low, high) in part.blocks(dims)? {
        let shape: Vec<u64> = low.iter().zip(&high).map(|(low, high)| high - low + 1).collect();
        for run in src.chunk_runs(dims, &low, &shape)? {
            add(&mut found, run.selection_offset, run.len)?;
        }
    }
    found.sort_unstable_by_key(|range| range.start);
    let mut ranges = Ranges::new();
    for range in found {
        add(&mut ranges, range.start, range.end - range.start)?;
    }
    Ok(ranges)
}

/// Returns the elements of `dst` at those places.
fn place(dst: &Selection, ranges: &[Range<u64>]) -> Result<Selection> {
    let (Some(first), Some(last)) = (ranges.first(), ranges.last()) else { return Ok(Selection::None) };
    match dst {
        Selection::None | Selection::All => Ok(dst.clone()),
        Selection::Points(points) => {
            let chosen = ranges.iter().cloned().flatten().filter_map(|n| points.get(n as usize));
            Selection::points(points.rank(), chosen.flatten().copied().collect())
        }
        Selection::Irregular(tree) => pick(&tree.tree()?.root, ranges, 0).map(Selection::from_node),
        Selection::Regular(regular) => {
            // Only the rows that hold the ranges become a tree.
            let mut window: Vec<(u64, u64)> = regular.axes().iter().map(|axis| (0, axis.size())).collect();
            let row_elements = regular.elements() / window[0].1;
            window[0] = (first.start / row_elements, last.end.div_ceil(row_elements));
            let rows = regular.index_box(&window)?;
            let Some(root) = rows.node(&vec![0; window.len()])? else { return Ok(Selection::None) };
            pick(&root, ranges, window[0].0 * row_elements).map(Selection::from_node)
        }
    }
}
