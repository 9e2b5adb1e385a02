//! Blocks united one after the other: a list until the first use, then merged at once.
//!
//! Uniting each block with the tree of those before it would copy that tree for every block.

use std::sync::{Arc, OnceLock};

use system::sync::Mutex;

use super::spans::SPANS_MAX;
use super::{Selection, SetOp, setop};
use crate::Result;

/// Smaller selections are united at once: a list gains nothing there.
const BLOCKS_MIN: u64 = 16;

/// A selection, and blocks that are united with it.
#[derive(Debug, Clone)]
pub(super) struct United {
    rank: usize,
    base: Arc<Selection>,
    /// Corners of blocks. Other selections may share the list, and have added more than this one.
    list: Arc<Mutex<Vec<u64>>>,
    /// How much of the list is ours.
    len: usize,
    merged: Arc<OnceLock<Selection>>,
}

impl United {
    fn new(rank: usize, base: Selection, corners: Vec<u64>) -> Self {
        let (len, base) = (corners.len(), Arc::new(base));
        United { rank, base, list: Arc::new(Mutex::new(corners)), len, merged: Arc::default() }
    }

    /// With one more block, which `corners` are.
    fn with(&self, corners: &[u64]) -> Self {
        if let Some(merged) = self.merged.get() {
            return United::new(self.rank, merged.clone(), corners.to_vec());
        }
        let mut list = self.list.lock();
        if list.len() != self.len {
            let ours = list.get(..self.len).unwrap_or_default();
            return United {
                base: self.base.clone(),
                ..United::new(self.rank, Selection::None, [ours, corners].concat())
            };
        }
        list.extend_from_slice(corners);
        let (base, list_of_all) = (self.base.clone(), self.list.clone());
        United { rank: self.rank, base, list: list_of_all, len: list.len(), merged: Arc::default() }
    }

    pub(super) fn rank(&self) -> usize {
        self.rank
    }

    /// Returns the union, merged at the first look.
    pub(super) fn merged(&self) -> Result<Selection> {
        if let Some(merged) = self.merged.get() {
            return Ok(merged.clone());
        }
        let list = self.list.lock();
        let ours = list.get(..self.len).unwrap_or_default();
        let blocks = setop::union_boxes(ours, self.rank, SPANS_MAX)?;
        drop(list);
        // Neither side refers to an extent, so that any of this rank does.
        let nowhere = vec![0; self.rank];
        let union = match (self.base.node(&nowhere)?, blocks) {
            (Some(base), Some(blocks)) => setop::combine(SetOp::Or, &base, &blocks)?,
            (one, other) => one.or(other),
        };
        Ok(self.merged.get_or_init(|| Selection::from_node(union)).clone())
    }
}

/// Returns the union of a selection of many blocks with one more, as a list; `None` where it is to be made at once.
pub(super) fn unite(many: &Selection, block: &Selection) -> Option<United> {
    let Selection::Regular(block) = block else { return None };
    let (low, shape) = block.as_block().filter(|_| !block.is_unlimited())?;
    if many.rank() != Some(low.len()) {
        return None;
    }
    let high = low.iter().zip(&shape).map(|(low, len)| low + len - 1);
    let corners: Vec<u64> = low.iter().copied().chain(high).collect();
    match many {
        Selection::Irregular(tree) => match tree.united() {
            Some(united) => Some(united.with(&corners)),
            None => tree.has_spans(BLOCKS_MIN).then(|| United::new(low.len(), many.clone(), corners)),
        },
        Selection::Regular(regular) if !regular.is_unlimited() && regular.blocks() >= BLOCKS_MIN => {
            Some(United::new(low.len(), many.clone(), corners))
        }
        _ => None,
    }
}
