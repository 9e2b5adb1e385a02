//! Point selections: coordinates in the order the user gave them.

use std::sync::Arc;

use super::Selection;
use crate::dataspace::{RANK_MAX, UNLIMITED};
use crate::{Error, Result};

/// Points in their own order; one may come twice. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Points {
    rank: usize,
    coords: Arc<[u64]>,
    pub(super) low: Vec<u64>,
    pub(super) high: Vec<u64>,
}

impl Points {
    /// Points from coordinates one after the other, which are at least one point's.
    pub(super) fn new(rank: usize, coords: Vec<u64>) -> Result<Self> {
        if rank == 0 || rank > RANK_MAX || coords.is_empty() || !coords.len().is_multiple_of(rank) {
            return Err(Error::invalid("select points").with("rank", rank).with("coordinates", coords.len()));
        }
        if coords.contains(&UNLIMITED) {
            return Err(Error::invalid("select points").with("problem", "coordinate without bound"));
        }
        let (mut low, mut high) = (coords[..rank].to_vec(), coords[..rank].to_vec());
        for point in coords.chunks_exact(rank) {
            for (d, &x) in point.iter().enumerate() {
                low[d] = low[d].min(x);
                high[d] = high[d].max(x);
            }
        }
        Ok(Points { rank, coords: coords.into(), low, high })
    }

    /// Returns the number of dimensions.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Returns the number of points.
    pub fn len(&self) -> usize {
        self.coords.len() / self.rank
    }

    /// Returns whether there are no points; never true: no points are [`Selection::None`](super::Selection::None).
    pub fn is_empty(&self) -> bool {
        self.coords.is_empty()
    }

    /// Returns the coordinates of all points, one after the other.
    pub fn coords(&self) -> &[u64] {
        &self.coords
    }

    /// Returns the points, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u64]> + '_ {
        self.coords.chunks_exact(self.rank)
    }

    /// Returns the points number `from` up to `to`.
    pub(super) fn slice(&self, from: u64, to: u64) -> Option<Selection> {
        let (from, to) = (usize::try_from(from).ok()?, usize::try_from(to).ok()?);
        let coords = self.coords.get(from * self.rank..to * self.rank)?;
        Selection::points(self.rank, coords.to_vec()).ok()
    }

    pub(super) fn get(&self, n: usize) -> Option<&[u64]> {
        self.coords.get(n * self.rank..(n + 1) * self.rank)
    }
}
