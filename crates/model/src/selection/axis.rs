//! One dimension of a regular hyperslab: `count` blocks of `block` coordinates, `stride` apart.

use crate::dataspace::UNLIMITED;
use crate::{Error, Result};

/// One dimension of a regular hyperslab, in a form where equal sets are equal values:
/// blocks that touch are one block, and one block has stride 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Axis {
    pub(super) start: u64,
    pub(super) stride: u64,
    pub(super) count: u64,
    pub(super) block: u64,
}

impl Axis {
    /// Returns the axis, or `None` where it selects nothing.
    pub fn new(start: u64, stride: u64, count: u64, block: u64) -> Result<Option<Self>> {
        if count == 0 || block == 0 {
            return Ok(None);
        }
        if count == UNLIMITED && block == UNLIMITED {
            return Err(invalid("count and block both unlimited"));
        }
        if count > 1 && stride < block {
            return Err(invalid("blocks overlap").with("stride", stride).with("block", block));
        }
        let axis = Axis { start, stride, count, block }.merged();
        axis.check_end()?;
        Ok(Some(axis))
    }

    /// Returns start and length of the only block, where there is one.
    pub fn single(&self) -> Option<(u64, u64)> {
        (self.count == 1 && self.block != UNLIMITED).then_some((self.start, self.block))
    }

    /// Returns the axis of `len` coordinates from `start`.
    pub(super) fn range(start: u64, len: u64) -> Self {
        Axis { start, stride: 1, count: 1, block: len }
    }

    /// An unlimited count keeps its blocks: a virtual dataset maps each of them to another source.
    fn merged(self) -> Self {
        let merged_block = self.block.checked_mul(self.count).filter(|&len| len < UNLIMITED);
        match merged_block {
            _ if self.count == 1 => Axis { stride: 1, ..self },
            Some(block) if self.stride == self.block => {
                Axis { start: self.start, stride: 1, count: 1, block }
            }
            _ => self,
        }
    }

    fn check_end(&self) -> Result<()> {
        let (count, block) = match (self.count, self.block) {
            (UNLIMITED, block) => (1, block),
            (count, UNLIMITED) => (count, 1),
            finite => finite,
        };
        // The last coordinate stays below UNLIMITED, so that one past it is still a number.
        let last =
            (count - 1).checked_mul(self.stride).and_then(|n| n.checked_add(self.start)?.checked_add(block));
        last.filter(|&end| end < UNLIMITED).map(|_| ()).ok_or_else(|| invalid("coordinates exceed 64 bits"))
    }

    /// Returns start, stride, count and block.
    pub(super) fn numbers(&self) -> [u64; 4] {
        [self.start, self.stride, self.count, self.block]
    }

    /// Returns the first coordinate.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Returns the distance from one block's start to the next.
    pub fn stride(&self) -> u64 {
        self.stride
    }

    /// Returns the number of blocks.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the number of coordinates in each block.
    pub fn block(&self) -> u64 {
        self.block
    }

    /// Returns whether count or block has no bound.
    pub fn is_unlimited(&self) -> bool {
        self.count == UNLIMITED || self.block == UNLIMITED
    }

    /// Returns the number of selected coordinates of a bounded axis.
    pub(super) fn size(&self) -> u64 {
        self.count.saturating_mul(self.block)
    }

    /// Returns the last coordinate, of a bounded axis.
    pub(super) fn last(&self) -> u64 {
        self.start + (self.count - 1) * self.stride + (self.block - 1)
    }

    /// Returns the number of selected coordinates below `x`.
    pub(super) fn index_of(&self, x: u64) -> u64 {
        let Some(distance) = x.checked_sub(self.start) else { return 0 };
        if self.count == 1 {
            return distance.min(self.block);
        }
        let nth = distance / self.stride;
        if nth >= self.count {
            return self.size();
        }
        nth * self.block + (distance - nth * self.stride).min(self.block)
    }

    /// Returns the coordinate of that index, which is below the size.
    pub(super) fn coordinate(&self, index: u64) -> u64 {
        self.start + index / self.block * self.stride + index % self.block
    }

    /// Returns the least selected coordinate that is at least `x`.
    pub(super) fn next_from(&self, x: u64) -> Option<u64> {
        let index = self.index_of(x);
        (index < self.size()).then(|| self.coordinate(index))
    }

    pub(super) fn contains(&self, x: u64) -> bool {
        let Some(distance) = x.checked_sub(self.start) else { return false };
        match self.count {
            1 => distance < self.block,
            _ => distance / self.stride < self.count && distance % self.stride < self.block,
        }
    }

    /// Returns the coordinates of the indices `from..to` as an axis, unless both a cut block and a whole one remain.
    pub(super) fn slice(&self, from: u64, to: u64) -> Option<Self> {
        let (first, last) = (from / self.block, (to - 1) / self.block);
        if first == last {
            return Some(Axis::range(self.coordinate(from), to - from));
        }
        if !from.is_multiple_of(self.block) || !to.is_multiple_of(self.block) {
            return None;
        }
        let start = self.start + first * self.stride;
        Some(Axis { start, count: last - first + 1, ..*self }.merged())
    }

    /// Returns the intervals (first and last coordinate) that hold the indices `from..to`.
    pub(super) fn intervals(&self, from: u64, to: u64) -> impl Iterator<Item = (u64, u64)> {
        let (axis, mut at) = (*self, from);
        std::iter::from_fn(move || {
            if at >= to {
                return None;
            }
            let end = ((at / axis.block).saturating_add(1)).saturating_mul(axis.block).min(to);
            let low = axis.coordinate(at);
            let interval = (low, low + (end - at - 1));
            at = end;
            Some(interval)
        })
    }

    /// Returns the unlimited axis as far as an extent of `dim` goes: the axis to cut, and how many indices of it.
    pub(super) fn clipped(&self, dim: u64) -> Option<(Self, u64)> {
        let capacity = dim.checked_sub(self.start).filter(|&capacity| capacity > 0)?;
        let bounded = match (self.count, self.block) {
            (_, UNLIMITED) if self.count == 1 => Axis::range(self.start, capacity),
            (_, UNLIMITED) => return None,
            (UNLIMITED, block) if block == self.stride => Axis::range(self.start, capacity),
            (UNLIMITED, _) => Axis { count: capacity.div_ceil(self.stride), ..*self },
            _ => *self,
        };
        let indices = bounded.clip_size(capacity);
        Some((if bounded.count == 1 { Axis { stride: 1, ..bounded } } else { bounded }, indices))
    }

    fn clip_size(&self, capacity: u64) -> u64 {
        let whole = (self.count - 1).saturating_mul(self.stride);
        (self.count - 1)
            .saturating_mul(self.block)
            .saturating_add(self.block.min(capacity.saturating_sub(whole)))
    }
}

fn invalid(problem: &str) -> Error {
    Error::invalid("select hyperslab").with("problem", problem)
}
