//! Sizes of elements and their values in memory.

use hyperslab::vol::model::Heap;
use hyperslab::vol::model::datatype::Datatype;
use hyperslab::vol::model::heap::VarLenDescriptor;

use super::layout::{Layout, Value};
use crate::failure::{Failure, Fallible};

/// Returns the bytes of `count` elements.
pub fn buffer_bytes(count: u64, datatype: &Datatype) -> Fallible<usize> {
    let bytes = count.checked_mul(u64::from(datatype.size())).and_then(|bytes| usize::try_from(bytes).ok());
    bytes
        .filter(|bytes| isize::try_from(*bytes).is_ok())
        .ok_or_else(|| Failure::argument("buffer is too large"))
}

/// Returns zeroed space for `count` elements, or an error if there is no memory.
pub fn zeroed(count: usize, each: u32) -> Fallible<Vec<u8>> {
    let bytes = count.checked_mul(each as usize).ok_or_else(|| Failure::argument("buffer is too large"))?;
    let mut space = Vec::new();
    space.try_reserve_exact(bytes).map_err(|_| Failure::argument("no memory for elements"))?;
    space.resize(bytes, 0);
    Ok(space)
}

/// Returns the bytes that the values of variable length of elements take in C's form. The elements are in the library's
/// memory datatype.
pub fn value_bytes(datatype: &Datatype, elements: &[u8], heap: &Heap) -> Fallible<u64> {
    sum(&Layout::new(datatype)?, elements, heap)
}

fn sum(layout: &Layout, elements: &[u8], heap: &Heap) -> Fallible<u64> {
    let mut total = 0;
    for part in &layout.parts {
        for element in elements.chunks_exact(layout.memory_bytes) {
            let value = &element[part.memory..];
            total += match &part.value {
                Value::Plain(_) | Value::Reference(_) => 0,
                // A NUL follows the characters.
                Value::Text => VarLenDescriptor::load(value)?.count + 1,
                Value::Sequence(inner) => {
                    let descriptor = VarLenDescriptor::load(value)?;
                    let inside = heap.get(descriptor, inner.memory_bytes as u64)?;
                    descriptor.count * inner.c_bytes as u64 + sum(inner, inside, heap)?
                }
                Value::Repeat(times, inner) => sum(inner, &value[..times * inner.memory_bytes], heap)?,
            };
        }
    }
    Ok(total)
}
