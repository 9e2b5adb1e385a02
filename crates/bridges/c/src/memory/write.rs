//! From the library's elements to C's.

use std::sync::Arc;

use hyperslab::vol::model::Heap;
use hyperslab::vol::model::datatype::ReferenceKind;
use hyperslab::vol::model::heap::VarLenDescriptor;

use super::layout::{Layout, LayoutPart, Mover};
use super::{Allocator, references, short_buffer};
use crate::failure::Fallible;
use crate::ffi::hvl_t;
use crate::h5f::FileHandle;

/// Bytes of `hvl_t`.
const SEQUENCE: usize = size_of::<hvl_t>();

/// What elements are written with.
pub(super) struct Writer<'a> {
    pub(super) heap: &'a Heap,
    pub(super) file: Option<&'a Arc<FileHandle>>,
    pub(super) allocator: &'a Allocator,
}

impl Mover for Writer<'_> {
    fn element_bytes(layout: &Layout) -> (usize, usize) {
        (layout.memory_bytes, layout.c_bytes)
    }

    fn offsets(part: &LayoutPart) -> (usize, usize) {
        (part.memory, part.c)
    }

    fn reference(&mut self, kind: ReferenceKind, from: &[u8], into: &mut [u8]) -> Fallible<()> {
        references::store(kind, self.heap.load_reference(from)?, self.file, into)
    }

    fn text(&mut self, from: &[u8], into: &mut [u8]) -> Fallible<()> {
        let descriptor = VarLenDescriptor::load(from)?;
        let memory = match descriptor.is_null() {
            true => std::ptr::null_mut(),
            false => {
                let text = self.heap.get(descriptor, 1)?;
                let memory = self.allocator.allocate(text.len() + 1)?;
                // SAFETY: there is memory for the text and a NUL.
                unsafe {
                    std::ptr::copy_nonoverlapping(text.as_ptr(), memory, text.len());
                    memory.add(text.len()).write(0);
                }
                memory
            }
        };
        put_pointer(into, 0, memory as usize)
    }

    fn sequence(&mut self, inner: &Layout, from: &[u8], into: &mut [u8]) -> Fallible<()> {
        let descriptor = VarLenDescriptor::load(from)?;
        if descriptor.count == 0 {
            into[..SEQUENCE].fill(0);
            return Ok(());
        }
        let values = self.heap.get(descriptor, inner.memory_bytes as u64)?;
        // The descriptor was inside of the heap, so its count is a size in memory.
        let count = descriptor.count as usize;
        let bytes = count.checked_mul(inner.c_bytes).ok_or_else(short_buffer)?;
        let memory = self.allocator.allocate(bytes)?;
        // SAFETY: the allocator returned `bytes` bytes, which are set before they are seen as a slice.
        let target = unsafe {
            memory.write_bytes(0, bytes);
            std::slice::from_raw_parts_mut(memory, bytes)
        };
        put_pointer(into, 0, count)?;
        put_pointer(into, size_of::<usize>(), memory as usize)?;
        self.run(inner, values, count, target)
    }
}

/// Stores a pointer or a size of C's, which need not be aligned.
fn put_pointer(into: &mut [u8], at: usize, value: usize) -> Fallible<()> {
    let bytes = into.get_mut(at..at + size_of::<usize>()).ok_or_else(short_buffer)?;
    bytes.copy_from_slice(&value.to_ne_bytes());
    Ok(())
}

/// Stores elements in a new `hvl_t`.
pub(super) fn put_sequence(
    into: &mut [u8],
    count: usize,
    bytes: &[u8],
    allocator: &Allocator,
) -> Fallible<()> {
    let memory = match count {
        0 => std::ptr::null_mut(),
        _ => {
            let memory = allocator.allocate(bytes.len())?;
            // SAFETY: the allocator returned that many bytes.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), memory, bytes.len()) };
            memory
        }
    };
    put_pointer(into, 0, count)?;
    put_pointer(into, size_of::<usize>(), memory as usize)
}
