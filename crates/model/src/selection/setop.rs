//! Set operations on span trees: one sweep over two sorted lists, shared subtrees combined once.

use std::collections::HashMap;
use std::sync::Arc;

use super::spans::{Builder, Node, SPANS_MAX, Span, charge, single_box};
use super::sweep;
use crate::Result;

/// How a selection combines with another. `A` is the first, `B` the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SetOp {
    /// B replaces A.
    Set,
    /// In A or in B.
    Or,
    /// In both.
    And,
    /// In exactly one.
    Xor,
    /// In A but not in B.
    NotB,
    /// In B but not in A.
    NotA,
}

impl SetOp {
    pub(super) fn keeps_only_a(self) -> bool {
        matches!(self, SetOp::Or | SetOp::Xor | SetOp::NotB)
    }

    pub(super) fn keeps_only_b(self) -> bool {
        matches!(self, SetOp::Set | SetOp::Or | SetOp::Xor | SetOp::NotA)
    }

    fn keeps_both(self) -> bool {
        matches!(self, SetOp::Set | SetOp::Or | SetOp::And)
    }
}

/// A result of combining: `None` selects nothing.
type Combined = Option<Arc<Node>>;

struct Combiner<'m> {
    op: SetOp,
    memo: HashMap<(*const Node, *const Node), Combined>,
    made: &'m mut u64,
    made_max: u64,
}

/// Combines two trees of equal rank.
pub(super) fn combine(op: SetOp, a: &Arc<Node>, b: &Arc<Node>) -> Result<Combined> {
    Combiner { op, memo: HashMap::new(), made: &mut 0, made_max: SPANS_MAX }.pair(a, b)
}

/// Returns the union of trees of equal rank, in rounds of pairs so that each span is copied log n times.
pub(super) fn union(mut trees: Vec<Arc<Node>>, made_max: u64) -> Result<Combined> {
    let mut made = 0;
    while trees.len() > 1 {
        let mut next = Vec::with_capacity(trees.len().div_ceil(2));
        for pair in trees.chunks(2) {
            next.push(match pair {
                [a, b] => {
                    let mut combiner =
                        Combiner { op: SetOp::Or, memo: HashMap::new(), made: &mut made, made_max };
                    combiner.pair(a, b)?.unwrap_or_else(|| a.clone())
                }
                _ => pair[0].clone(),
            });
        }
        trees = next;
    }
    Ok(trees.pop())
}

/// Returns the union of boxes given as `rank` lows followed by `rank` highs each.
pub(super) fn union_boxes(boxes: &[u64], rank: usize, made_max: u64) -> Result<Combined> {
    if let Some(root) = ordered_boxes(boxes, rank, 0)? {
        return Ok(Some(root));
    }
    // Neighbours first: trees that do not overlap combine without looking below the top.
    let mut sorted: Vec<&[u64]> = boxes.chunks_exact(2 * rank).collect();
    sorted.sort_unstable();
    let mut made = 0;
    if let Some(root) = sweep::union(&sorted, rank, &mut made, made_max)? {
        return Ok(Some(root));
    }
    let mut trees = Vec::with_capacity(sorted.len());
    for corners in sorted {
        trees.extend(single_box(&corners[..rank], &corners[rank..])?);
    }
    union(trees, made_max - made.min(made_max))
}

/// Boxes in the order that a span tree lists them become a tree without any set operation.
/// `None` where they are in another order or overlap.
fn ordered_boxes(boxes: &[u64], rank: usize, depth: usize) -> Result<Combined> {
    let width = 2 * rank;
    let mut builder = Builder::default();
    let (mut at, mut end) = (0, 0);
    while at < boxes.len() {
        let (low, high) = (boxes[at + depth], boxes[at + rank + depth]);
        if at > 0 && low < end {
            return Ok(None);
        }
        let group =
            boxes[at..].chunks_exact(width).take_while(|b| (b[depth], b[rank + depth]) == (low, high));
        let next = at + group.count() * width;
        let down = match depth + 1 == rank {
            true if next > at + width => return Ok(None),
            true => None,
            false => match ordered_boxes(&boxes[at..next], rank, depth + 1)? {
                None => return Ok(None),
                down => down,
            },
        };
        builder.push(low, high, down)?;
        end = high + 1;
        at = next;
    }
    Ok(builder.finish())
}

impl Combiner<'_> {
    fn pair(&mut self, a: &Arc<Node>, b: &Arc<Node>) -> Result<Combined> {
        if Arc::ptr_eq(a, b) {
            return Ok(self.op.keeps_both().then(|| a.clone()));
        }
        // A pair can come again only where both of its trees are shared.
        let is_shared = Arc::strong_count(a) > 1 && Arc::strong_count(b) > 1;
        if !is_shared {
            return self.sweep(a, b);
        }
        let key = (Arc::as_ptr(a), Arc::as_ptr(b));
        if let Some(known) = self.memo.get(&key) {
            return Ok(known.clone());
        }
        let result = self.sweep(a, b)?;
        self.memo.insert(key, result.clone());
        Ok(result)
    }

    fn sweep(&mut self, a: &Node, b: &Node) -> Result<Combined> {
        let mut out = Builder::default();
        let (mut a, mut b) = (Side::new(&a.spans), Side::new(&b.spans));
        while let Some((low, high)) = next_segment(&a, &b) {
            let kept = match (a.covers(low), b.covers(low)) {
                (Some(a), Some(b)) => self.both(a, b)?,
                (Some(a), None) => self.op.keeps_only_a().then(|| a.down.clone()),
                (None, Some(b)) => self.op.keeps_only_b().then(|| b.down.clone()),
                (None, None) => None,
            };
            if let Some(down) = kept {
                out.push(low, high, down)?;
            }
            a.advance(high);
            b.advance(high);
        }
        charge(self.made, out.len() + 1, self.made_max)?;
        Ok(out.finish())
    }

    /// Returns what remains below coordinates in both: `Some(None)` is a leaf that stays.
    fn both(&mut self, a: &Span, b: &Span) -> Result<Option<Option<Arc<Node>>>> {
        match (&a.down, &b.down) {
            (Some(a), Some(b)) => Ok(self.pair(a, b)?.map(Some)),
            _ => Ok(self.op.keeps_both().then_some(None)),
        }
    }
}

/// One of the two lists of a sweep, and how far the sweep has come in it.
struct Side<'s> {
    spans: &'s [Span],
    low: u64,
}

impl<'s> Side<'s> {
    fn new(spans: &'s [Span]) -> Self {
        Side { spans, low: spans.first().map_or(0, |span| span.low) }
    }

    fn head(&self) -> Option<(u64, u64)> {
        self.spans.first().map(|span| (self.low, span.high))
    }

    fn covers(&self, low: u64) -> Option<&'s Span> {
        self.spans.first().filter(|_| self.low == low)
    }

    fn advance(&mut self, high: u64) {
        let Some(span) = self.spans.first() else { return };
        if span.high <= high {
            self.spans = &self.spans[1..];
            self.low = self.spans.first().map_or(0, |span| span.low);
        } else if self.low <= high {
            self.low = high + 1;
        }
    }
}

/// Returns the next coordinates over which neither list changes.
fn next_segment(a: &Side<'_>, b: &Side<'_>) -> Option<(u64, u64)> {
    match (a.head(), b.head()) {
        (Some((a_low, a_high)), Some((b_low, b_high))) => Some(match a_low.cmp(&b_low) {
            std::cmp::Ordering::Less => (a_low, a_high.min(b_low - 1)),
            std::cmp::Ordering::Greater => (b_low, b_high.min(a_low - 1)),
            std::cmp::Ordering::Equal => (a_low, a_high.min(b_high)),
        }),
        (one, other) => one.or(other),
    }
}
