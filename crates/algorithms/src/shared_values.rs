//! Elements that share values: each value is fetched once.

use std::collections::HashMap;

use model::heap::SHARED_BYTES_MIN;
use model::{Heap, Result};

use crate::descriptor_bytes::split_descriptor;

/// A descriptor of the container: elements of the value, and its identity.
pub(crate) type StoredDescriptor<'a> = (u64, &'a [u8]);

/// Descriptors of the container, one for each of some elements.
pub(crate) struct StoredDescriptors<'a> {
    pub(crate) all: Vec<StoredDescriptor<'a>>,
    /// Identities of the values that are not empty.
    pub(crate) ids: Vec<&'a [u8]>,
    /// Elements of all values together.
    pub(crate) claimed: u64,
}

impl<'a> StoredDescriptors<'a> {
    fn with_capacity(count: usize) -> Self {
        StoredDescriptors { all: Vec::with_capacity(count), ids: Vec::with_capacity(count), claimed: 0 }
    }

    /// Splits the bytes of descriptors.
    pub(crate) fn split(descriptors: impl ExactSizeIterator<Item = &'a [u8]>) -> Result<Self> {
        let mut split = Self::with_capacity(descriptors.len());
        for descriptor in descriptors {
            split.push(split_descriptor(descriptor)?);
        }
        Ok(split)
    }

    #[inline]
    fn push(&mut self, descriptor: StoredDescriptor<'a>) {
        self.all.push(descriptor);
        if descriptor.0 > 0 {
            self.ids.push(descriptor.1);
        }
        // A descriptor has 32 bits for this.
        self.claimed += descriptor.0;
    }
}

/// The different descriptors among those of many elements.
pub(crate) struct Distinct<'a> {
    pub(crate) descriptors: StoredDescriptors<'a>,
    /// For each element, which of the descriptors it has.
    which: Vec<usize>,
    /// Elements of all values together, where each counts for every element that has it.
    claimed: u64,
}

impl<'a> Distinct<'a> {
    /// `None` where it does not pay to look, or no two elements share a value. `each` is the size of an element of a value, and
    /// those with values of their own (`is_nested`) may stand for more than they take.
    pub(crate) fn of(descriptors: &StoredDescriptors<'a>, each: u64, is_nested: bool) -> Option<Self> {
        let (count, claimed) = (descriptors.all.len(), descriptors.claimed);
        if !is_nested && claimed.saturating_mul(each) / SHARED_BYTES_MIN < count as u64 {
            return None;
        }
        let (mut seen, mut distinct) = (HashMap::new(), StoredDescriptors::with_capacity(0));
        let which = descriptors.all.iter().map(|&descriptor| {
            *seen.entry(descriptor).or_insert_with(|| {
                distinct.push(descriptor);
                distinct.all.len() - 1
            })
        });
        let which: Vec<usize> = which.collect();
        (distinct.all.len() < count).then_some(Distinct { descriptors: distinct, which, claimed })
    }

    /// Tells the heap what the values would take if none were shared, where fetching them once took it from `before` bytes to
    /// what it has now.
    pub(crate) fn charge(&self, before: u64, heap: &mut Heap) -> Result<()> {
        let fetched = u128::from(heap.expanded().saturating_sub(before));
        let all = fetched * u128::from(self.claimed) / u128::from(self.descriptors.claimed.max(1));
        heap.set_expanded(before.saturating_add(u64::try_from(all).unwrap_or(u64::MAX)))
    }

    /// Gives every element the descriptor in memory that stands for its own.
    pub(crate) fn spread(&self, found: &[u8], places: DescriptorOffsets<'_>) {
        let descriptors: Vec<&[u8]> = found.chunks_exact(SLOT_BYTES).collect();
        for (place, &which) in places.iter().zip(&self.which) {
            place[..SLOT_BYTES].copy_from_slice(descriptors[which]);
        }
    }
}

/// Bytes of a descriptor in memory.
pub(crate) const SLOT_BYTES: usize = model::datatype::MEMORY_SLOT_BYTES as usize;

/// Descriptors in the elements of a buffer.
pub(crate) struct DescriptorOffsets<'m> {
    pub(crate) memory: &'m mut [u8],
    /// Bytes of an element, and where the descriptor is in it.
    pub(crate) each: usize,
    pub(crate) at: usize,
}

impl<'m> DescriptorOffsets<'m> {
    pub(crate) fn iter(self) -> impl Iterator<Item = &'m mut [u8]> {
        let at = self.at;
        self.memory.chunks_exact_mut(self.each).map(move |element| &mut element[at..])
    }
}
