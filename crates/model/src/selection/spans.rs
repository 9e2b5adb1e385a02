//! Span trees: the selected coordinates of one dimension as sorted spans, each with the tree of the
//! dimensions below it. Equal subtrees are shared, so a tree is far smaller than its list of blocks.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::united::United;
use crate::{Error, Result};

/// Spans that one operation may make. Unions of n boxes in d dimensions can need n^d of them.
pub(super) const SPANS_MAX: u64 = 1 << 24;

/// The coordinates `low..=high`, each with the same selection below.
#[derive(Debug, Clone)]
pub(super) struct Span {
    pub(super) low: u64,
    pub(super) high: u64,
    /// Elements of the node that come before this span.
    pub(super) before: u64,
    pub(super) down: Option<Arc<Node>>,
}

impl Span {
    /// Returns the number of elements under each coordinate of the span.
    pub(super) fn row_elements(&self) -> u64 {
        self.down.as_ref().map_or(1, |down| down.elements)
    }
}

/// Sorted, disjoint, non-empty spans of one dimension; touching spans differ below.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) spans: Vec<Span>,
    pub(super) elements: u64,
    /// Equal trees have equal hashes, so that most comparisons of unequal ones end at once.
    hash: u64,
}

/// A non-empty selection of rank 1 or more: blocks that no start, stride, count and block describe, or that
/// were not merged yet.
#[derive(Debug, Clone)]
pub struct SpanTree(Form);

#[derive(Debug, Clone)]
enum Form {
    Tree(Arc<Tree>),
    United(United),
}

/// A tree and its bounds.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) root: Arc<Node>,
    pub(super) low: Vec<u64>,
    pub(super) high: Vec<u64>,
}

impl Tree {
    fn new(root: Arc<Node>) -> Self {
        let (mut low, mut high) = (Vec::new(), Vec::new());
        stretch(&root, 0, &mut low, &mut high, &mut HashSet::new());
        Tree { root, low, high }
    }
}

impl SpanTree {
    pub(super) fn new(root: Arc<Node>) -> Self {
        SpanTree(Form::Tree(Arc::new(Tree::new(root))))
    }

    pub(super) fn of_united(united: United) -> Self {
        SpanTree(Form::United(united))
    }

    /// Blocks that were not merged yet.
    pub(super) fn united(&self) -> Option<&United> {
        match &self.0 {
            Form::Tree(_) => None,
            Form::United(united) => Some(united),
        }
    }

    /// Returns whether the tree has at least so many spans in its first two dimensions.
    pub(super) fn has_spans(&self, count: u64) -> bool {
        let Form::Tree(tree) = &self.0 else { return true };
        let below = |span: &Span| span.down.as_ref().map_or(1, |down| down.spans.len() as u64);
        tree.root.spans.iter().map(below).sum::<u64>() >= count
    }

    /// Returns the tree, and builds it at the first call.
    pub(super) fn tree(&self) -> Result<Arc<Tree>> {
        match &self.0 {
            Form::Tree(tree) => Ok(tree.clone()),
            Form::United(united) => {
                let nowhere = vec![0; united.rank()];
                let root = united.merged()?.node(&nowhere)?;
                root.map(|root| Arc::new(Tree::new(root))).ok_or_else(|| Error::invalid("unite nothing"))
            }
        }
    }

    /// Returns the number of dimensions.
    pub fn rank(&self) -> usize {
        match &self.0 {
            Form::Tree(tree) => tree.low.len(),
            Form::United(united) => united.rank(),
        }
    }
}

fn stretch(
    node: &Arc<Node>,
    depth: usize,
    low: &mut Vec<u64>,
    high: &mut Vec<u64>,
    seen: &mut HashSet<*const Node>,
) {
    let (Some(first), Some(last)) = (node.spans.first(), node.spans.last()) else { return };
    if low.len() == depth {
        low.push(first.low);
        high.push(last.high);
    }
    low[depth] = low[depth].min(first.low);
    high[depth] = high[depth].max(last.high);
    for down in node.spans.iter().filter_map(|span| span.down.as_ref()) {
        // A leaf costs less to look at than to remember.
        let is_leaf = down.spans.first().is_some_and(|span| span.down.is_none());
        if is_leaf || seen.insert(Arc::as_ptr(down)) {
            stretch(down, depth + 1, low, high, seen);
        }
    }
}

/// Collects the spans of a node in ascending order.
#[derive(Debug, Default)]
pub(super) struct Builder {
    spans: Vec<Span>,
    elements: u64,
}

impl Builder {
    /// Adds `low..=high`, which starts after everything added before.
    pub(super) fn push(&mut self, low: u64, high: u64, down: Option<Arc<Node>>) -> Result<()> {
        let row_elements = down.as_ref().map_or(1, |down| down.elements);
        let added = (high - low).checked_add(1).and_then(|rows| rows.checked_mul(row_elements));
        let total = added.and_then(|added| added.checked_add(self.elements)).ok_or_else(too_many)?;
        match self.spans.last_mut() {
            Some(last) if last.high + 1 == low && same_down(&last.down, &down) => last.high = high,
            _ => self.spans.push(Span { low, high, before: self.elements, down }),
        }
        self.elements = total;
        Ok(())
    }

    pub(super) fn len(&self) -> u64 {
        self.spans.len() as u64
    }

    /// Returns the node, or `None` where nothing was added.
    pub(super) fn finish(mut self) -> Option<Arc<Node>> {
        if self.spans.is_empty() {
            return None;
        }
        self.spans.shrink_to_fit();
        let hash = self.spans.iter().fold(0, |hash, span| {
            let below = span.down.as_ref().map_or(1, |down| down.hash);
            mix(mix(mix(hash, span.low), span.high), below)
        });
        Some(Arc::new(Node { spans: self.spans, elements: self.elements, hash }))
    }
}

fn too_many() -> Error {
    Error::invalid("combine selections").with("problem", "more elements than 64 bits count")
}

fn mix(hash: u64, value: u64) -> u64 {
    (hash.rotate_left(5) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Returns whether two subtrees select the same.
pub(super) fn same(a: &Arc<Node>, b: &Arc<Node>) -> bool {
    same_below(a, b, &mut HashSet::new())
}

pub(super) fn same_down(a: &Option<Arc<Node>>, b: &Option<Arc<Node>>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => same(a, b),
        (a, b) => a.is_none() && b.is_none(),
    }
}

/// `seen` holds pairs already found equal, so that shared subtrees are compared once.
fn same_below(a: &Arc<Node>, b: &Arc<Node>, seen: &mut HashSet<(*const Node, *const Node)>) -> bool {
    if Arc::ptr_eq(a, b) {
        return true;
    }
    if (a.hash, a.elements, a.spans.len()) != (b.hash, b.elements, b.spans.len()) {
        return false;
    }
    if seen.contains(&(Arc::as_ptr(a), Arc::as_ptr(b))) {
        return true;
    }
    let equal = a.spans.iter().zip(&b.spans).all(|(x, y)| {
        (x.low, x.high) == (y.low, y.high)
            && match (&x.down, &y.down) {
                (Some(x), Some(y)) => same_below(x, y, seen),
                (x, y) => x.is_none() && y.is_none(),
            }
    });
    if equal && a.spans[0].down.is_some() {
        seen.insert((Arc::as_ptr(a), Arc::as_ptr(b)));
    }
    equal
}

/// Returns the tree of all combinations of the intervals of each dimension; every subtree is shared.
pub(super) fn product<I: Iterator<Item = (u64, u64)>>(
    axes: impl DoubleEndedIterator<Item = I>,
) -> Result<Option<Arc<Node>>> {
    let mut down = None;
    let mut made = 0;
    for intervals in axes.rev() {
        let mut builder = Builder::default();
        for (low, high) in intervals {
            builder.push(low, high, down.clone())?;
            charge(&mut made, 1, SPANS_MAX)?;
        }
        down = builder.finish();
        if down.is_none() {
            return Ok(None);
        }
    }
    Ok(down)
}

/// Counts spans against the budget of an operation.
pub(super) fn charge(made: &mut u64, spans: u64, max: u64) -> Result<()> {
    *made += spans;
    if *made > max {
        return Err(Error::limit("combine selections").with("spans", *made).with("limit", max));
    }
    Ok(())
}

/// Returns one box as a chain of single spans; `low` and `high` have the same, non-zero length.
pub(super) fn single_box(low: &[u64], high: &[u64]) -> Result<Option<Arc<Node>>> {
    product(low.iter().zip(high).map(|(&low, &high)| std::iter::once((low, high))))
}

/// Returns the tree moved by one offset per dimension.
pub(super) fn shifted(root: &Arc<Node>, offset: &[i64]) -> Result<Arc<Node>> {
    shifted_below(root, offset, &mut HashMap::new())
}

fn shifted_below(
    node: &Arc<Node>,
    offset: &[i64],
    memo: &mut HashMap<*const Node, Arc<Node>>,
) -> Result<Arc<Node>> {
    if let Some(known) = memo.get(&Arc::as_ptr(node)) {
        return Ok(known.clone());
    }
    let mut builder = Builder::default();
    for span in &node.spans {
        let down = span.down.as_ref().map(|down| shifted_below(down, &offset[1..], memo)).transpose()?;
        builder.push(super::shift(span.low, offset[0])?, super::shift(span.high, offset[0])?, down)?;
    }
    let moved = builder.finish().unwrap_or_else(|| node.clone());
    memo.insert(Arc::as_ptr(node), moved.clone());
    Ok(moved)
}
