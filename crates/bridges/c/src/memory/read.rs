//! From C's elements to the library's.

use std::ffi::{CStr, c_char};
use std::sync::Arc;

use hyperslab::vol::model::Heap;
use hyperslab::vol::model::datatype::ReferenceKind;
use hyperslab::vol::model::heap::VarLenDescriptor;

use super::layout::{Layout, LayoutPart, Mover};
use super::{references, short_buffer};
use crate::failure::Fallible;
use crate::h5f::FileHandle;

/// What elements are read with.
pub(super) struct Reader<'a> {
    pub(super) file: Option<&'a Arc<FileHandle>>,
    pub(super) heap: &'a mut Heap,
}

impl Mover for Reader<'_> {
    fn element_bytes(layout: &Layout) -> (usize, usize) {
        (layout.c_bytes, layout.memory_bytes)
    }

    fn offsets(part: &LayoutPart) -> (usize, usize) {
        (part.c, part.memory)
    }

    fn reference(&mut self, kind: ReferenceKind, from: &[u8], into: &mut [u8]) -> Fallible<()> {
        let reference = references::load(kind, from, self.file)?;
        Ok(self.heap.store_reference(reference, into)?)
    }

    fn text(&mut self, from: &[u8], into: &mut [u8]) -> Fallible<()> {
        let text = pointer(from, 0)? as *const c_char;
        let descriptor = match text.is_null() {
            true => VarLenDescriptor::default(),
            false => {
                // SAFETY: the program's element points to a string that ends with NUL.
                let text = unsafe { CStr::from_ptr(text) }.to_bytes();
                self.heap.push(text, text.len() as u64)
            }
        };
        Ok(descriptor.store(into)?)
    }

    fn sequence(&mut self, inner: &Layout, from: &[u8], into: &mut [u8]) -> Fallible<()> {
        let (count, values) = (pointer(from, 0)?, pointer(from, size_of::<usize>())? as *const u8);
        if count == 0 || values.is_null() {
            return Ok(VarLenDescriptor::default().store(into)?);
        }
        let bytes = count.checked_mul(inner.c_bytes).filter(|bytes| isize::try_from(*bytes).is_ok());
        // SAFETY: the program's element points to `count` elements.
        let values = unsafe { std::slice::from_raw_parts(values, bytes.ok_or_else(short_buffer)?) };
        let descriptor = match inner.is_plain() {
            true => self.heap.push(values, count as u64),
            false => {
                let mut elements = vec![0; count.checked_mul(inner.memory_bytes).ok_or_else(short_buffer)?];
                self.run(inner, values, count, &mut elements)?;
                self.heap.push(&elements, count as u64)
            }
        };
        Ok(descriptor.store(into)?)
    }
}

/// Returns a pointer or a size of C's, which need not be aligned.
pub(super) fn pointer(from: &[u8], at: usize) -> Fallible<usize> {
    let bytes = from.get(at..).and_then(|bytes| bytes.first_chunk());
    bytes.map(|bytes| usize::from_ne_bytes(*bytes)).ok_or_else(short_buffer)
}
