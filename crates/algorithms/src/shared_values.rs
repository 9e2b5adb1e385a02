//! Elements that share values: each value is fetched once.

use std::collections::HashMap;

use model::heap::SHARED_BYTES_MIN;
use model::{Heap, Result};

/// A slot of the container: elements of the value, and its identity.
pub(crate) type FileSlot<'a> = (u64, &'a [u8]);

/// The different slots among those of many elements.
pub(crate) struct Distinct<'a> {
    pub(crate) slots: Vec<FileSlot<'a>>,
    /// For each element, which of the slots it has.
    which: Vec<usize>,
    /// Bytes of values, each counted once, and counted for every element.
    once: u64,
    all: u64,
}

impl<'a> Distinct<'a> {
    /// `None` where it does not pay to look, or no two elements share a value. `each` is the size of an element of a value, and
    /// those with values of their own (`is_nested`) may stand for more than they take.
    pub(crate) fn of(slots: &[FileSlot<'a>], each: u64, is_nested: bool) -> Option<Self> {
        let claimed = slots.iter().fold(0u64, |sum, slot| sum.saturating_add(slot.0)).saturating_mul(each);
        if !is_nested && claimed / SHARED_BYTES_MIN < slots.len() as u64 {
            return None;
        }
        let (mut seen, mut distinct) = (HashMap::new(), Vec::new());
        let which = slots.iter().map(|&slot| {
            *seen.entry(slot).or_insert_with(|| {
                distinct.push(slot);
                distinct.len() - 1
            })
        });
        let which: Vec<usize> = which.collect();
        let once = distinct.iter().fold(0u64, |sum, slot| sum.saturating_add(slot.0)).saturating_mul(each);
        let is_shared = distinct.len() < slots.len();
        is_shared.then_some(Distinct { slots: distinct, which, once, all: claimed })
    }

    /// Tells the heap what the values would take if none were shared, where fetching them once took it from `before` bytes to
    /// what it has now.
    pub(crate) fn charge(&self, before: u64, heap: &mut Heap) -> Result<()> {
        let fetched = u128::from(heap.expanded().saturating_sub(before));
        let all = fetched * u128::from(self.all) / u128::from(self.once.max(1));
        heap.set_expanded(before.saturating_add(u64::try_from(all).unwrap_or(u64::MAX)))
    }

    /// Gives every element the slot in memory that stands for its own.
    pub(crate) fn spread(&self, found: &[u8], places: Places<'_>) {
        let slots: Vec<&[u8]> = found.chunks_exact(SLOT_BYTES).collect();
        for (place, &which) in places.iter().zip(&self.which) {
            place[..SLOT_BYTES].copy_from_slice(slots[which]);
        }
    }
}

/// Bytes of a slot in memory.
pub(crate) const SLOT_BYTES: usize = model::datatype::MEMORY_SLOT_BYTES as usize;

/// Slots in the elements of a buffer.
pub(crate) struct Places<'m> {
    pub(crate) memory: &'m mut [u8],
    /// Bytes of an element, and where the slot is in it.
    pub(crate) each: usize,
    pub(crate) at: usize,
}

impl<'m> Places<'m> {
    pub(crate) fn iter(self) -> impl Iterator<Item = &'m mut [u8]> {
        let at = self.at;
        self.memory.chunks_exact_mut(self.each).map(move |element| &mut element[at..])
    }
}
