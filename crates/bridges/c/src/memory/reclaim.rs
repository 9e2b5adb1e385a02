//! Freeing the values of elements in C's form.

use hyperslab::vol::model::datatype::Datatype;

use super::layout::{Layout, Value};
use super::read::pointer;
use super::{Allocator, REFERENCE_BYTES, references, short_buffer};
use crate::failure::Fallible;
use crate::handles::NOTHING;

/// Frees the values of `count` packed elements in C's form. Pointers in them are NULL afterwards.
pub fn reclaim(datatype: &Datatype, buffer: &mut [u8], count: usize, allocator: &Allocator) -> Fallible<()> {
    if !datatype.has_descriptors() {
        return Ok(());
    }
    let layout = Layout::new(datatype)?;
    if buffer.len() / layout.c_bytes < count {
        return Err(short_buffer());
    }
    free_elements(&layout, buffer, count, allocator)
}

fn free_elements(layout: &Layout, buffer: &mut [u8], count: usize, allocator: &Allocator) -> Fallible<()> {
    for element in buffer.chunks_exact_mut(layout.c_bytes).take(count) {
        for part in &layout.parts {
            free_value(&part.value, &mut element[part.c..], allocator)?;
        }
    }
    Ok(())
}

fn free_value(value: &Value, element: &mut [u8], allocator: &Allocator) -> Fallible<()> {
    match value {
        Value::Plain(_) => Ok(()),
        Value::Text => free_pointer(element, 0, allocator),
        Value::Sequence(inner) => {
            let (count, values) = (pointer(element, 0)?, pointer(element, size_of::<usize>())? as *mut u8);
            if count > 0 && !values.is_null() && !inner.is_plain() {
                let bytes = count.checked_mul(inner.c_bytes).ok_or_else(short_buffer)?;
                // SAFETY: the program's element points to `count` elements.
                let values = unsafe { std::slice::from_raw_parts_mut(values, bytes) };
                free_elements(inner, values, count, allocator)?;
            }
            element[..size_of::<usize>()].fill(0);
            free_pointer(element, size_of::<usize>(), allocator)
        }
        Value::Reference(kind) if references::is_owned(*kind) => {
            references::destroy(&element[..REFERENCE_BYTES as usize]);
            element[..REFERENCE_BYTES as usize].fill(0);
            Ok(())
        }
        Value::Reference(_) => Ok(()),
        Value::Repeat(times, inner) => free_elements(inner, element, *times, allocator),
    }
}

fn free_pointer(element: &mut [u8], at: usize, allocator: &Allocator) -> Fallible<()> {
    let memory = pointer(element, at)? as *mut std::ffi::c_void;
    if memory != NOTHING {
        // SAFETY: the program says that its elements came from this allocator, and that it uses them no more.
        unsafe { allocator.free(memory) };
        element[at..at + size_of::<usize>()].fill(0);
    }
    Ok(())
}
