//! The union of many boxes in one sweep along the slowest dimension, for boxes of which few overlap.

use std::sync::Arc;

use super::spans::{Builder, Node, charge};
use crate::Result;

/// Boxes looked at for each box there is: where more overlap, uniting trees by pairs is cheaper.
const WORK_EACH_MAX: u64 = 256;

/// A box: lows of all dimensions, then highs.
type Corners<'a> = &'a [u64];

/// The bounds of a sweep.
struct Sweep<'m> {
    rank: usize,
    work_left: u64,
    made: &'m mut u64,
    made_max: u64,
}

/// Returns the union of boxes, which are sorted by their first low; `None` where a sweep would cost too much.
pub(super) fn union(
    sorted: &[Corners<'_>],
    rank: usize,
    made: &mut u64,
    made_max: u64,
) -> Result<Option<Arc<Node>>> {
    let work_left = WORK_EACH_MAX.saturating_mul(sorted.len() as u64);
    Sweep { rank, work_left, made, made_max }.dimension(sorted, 0)
}

impl Sweep<'_> {
    /// Boxes are sorted by their lows in this dimension.
    fn dimension(&mut self, sorted: &[Corners<'_>], depth: usize) -> Result<Option<Arc<Node>>> {
        if depth + 1 == self.rank {
            return self.line(sorted);
        }
        let (low, high, below) = (depth, self.rank + depth, depth + 1);
        let mut out = Builder::default();
        let mut later = sorted.iter().copied().peekable();
        // The boxes at this coordinate, by their lows in the next dimension.
        let mut active: Vec<Corners<'_>> = Vec::new();
        let mut at = 0;
        loop {
            if active.is_empty() {
                let Some(next) = later.peek() else { break };
                at = next[low];
            }
            while let Some(next) = later.next_if(|next| next[low] == at) {
                active.insert(active.partition_point(|other| other[below] < next[below]), next);
            }
            let Some(left) = self.work_left.checked_sub(active.len() as u64) else { return Ok(None) };
            self.work_left = left;
            let end = active.iter().map(|corners| corners[high]).min().unwrap_or(at) + 1;
            let end = later.peek().map_or(end, |next| end.min(next[low]));
            let Some(down) = self.dimension(&active, below)? else { return Ok(None) };
            out.push(at, end - 1, Some(down))?;
            at = end;
            active.retain(|corners| corners[high] >= at);
        }
        charge(self.made, out.len() + 1, self.made_max)?;
        Ok(out.finish())
    }

    /// Returns the fastest dimension: intervals that overlap or touch become one.
    fn line(&mut self, sorted: &[Corners<'_>]) -> Result<Option<Arc<Node>>> {
        let (low, high) = (self.rank - 1, 2 * self.rank - 1);
        let mut out = Builder::default();
        let mut open: Option<(u64, u64)> = None;
        for corners in sorted {
            open = match open {
                Some((from, to)) if corners[low] <= to + 1 => Some((from, to.max(corners[high]))),
                done => {
                    if let Some((from, to)) = done {
                        out.push(from, to, None)?;
                    }
                    Some((corners[low], corners[high]))
                }
            };
        }
        if let Some((from, to)) = open {
            out.push(from, to, None)?;
        }
        charge(self.made, out.len() + 1, self.made_max)?;
        Ok(out.finish())
    }
}
