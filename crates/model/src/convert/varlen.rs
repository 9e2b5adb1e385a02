//! Sequences of variable length: their elements converted, appended to the heap.

use std::collections::HashMap;

use super::Plan;
use crate::datatype::{MEMORY_SLOT_BYTES, VarLen};
use crate::heap::{SHARED_BYTES_MIN, VarLenDescriptor};
use crate::{Error, Heap, Result};

const SLOT_BYTES: usize = MEMORY_SLOT_BYTES as usize;

/// Refuses types that are not in the memory datatype.
pub(super) fn check_descriptors(from: &VarLen, to: &VarLen) -> Result<()> {
    if from.size != MEMORY_SLOT_BYTES || to.size != MEMORY_SLOT_BYTES {
        let error =
            Error::invalid("convert variable-length values").with("problem", "not in the memory datatype");
        return Err(error.with("from bytes", from.size).with("to bytes", to.size));
    }
    Ok(())
}

pub(super) fn run(plan: &Plan, from: &[u8], to: &mut [u8], heap: &mut Heap) -> Result<()> {
    let (mut source, mut target) = (Vec::new(), Vec::new());
    let mut converted: HashMap<(u64, u64), VarLenDescriptor> = HashMap::new();
    for (from, to) in from.chunks_exact(SLOT_BYTES).zip(to.chunks_exact_mut(SLOT_BYTES)) {
        let descriptor = VarLenDescriptor::load(from)?;
        if descriptor.count == 0 {
            to.fill(0);
            continue;
        }
        if let Some(known) = converted.get(&(descriptor.offset, descriptor.count)) {
            known.store(to)?;
            continue;
        }
        source.clear();
        source.extend_from_slice(heap.get(descriptor, plan.from_bytes as u64)?);
        // The descriptor was inside the heap, so its count is a size in memory.
        let count = descriptor.count as usize;
        zeroed(&mut target, count, plan.to_bytes)?;
        plan.run_exact(&source, &mut target, count, heap)?;
        heap.grow(target.len())?;
        let made = heap.push(&target, descriptor.count);
        made.store(to)?;
        if source.len() as u64 >= SHARED_BYTES_MIN {
            converted.insert((descriptor.offset, descriptor.count), made);
        }
    }
    Ok(())
}

/// Makes `buffer` hold zeros: parts of new elements that the source does not define have no older value.
fn zeroed(buffer: &mut Vec<u8>, count: usize, each: usize) -> Result<()> {
    let limit =
        || Error::limit("size of converted sequence").with("elements", count).with("bytes each", each);
    let len = count.checked_mul(each).ok_or_else(limit)?;
    buffer.clear();
    buffer.try_reserve(len).map_err(|_| limit())?;
    buffer.resize(len, 0);
    Ok(())
}
