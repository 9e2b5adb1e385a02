//! From C's elements to the library's.

use std::ffi::{CStr, c_char};
use std::sync::Arc;

use hyperslab::vol::model::Heap;
use hyperslab::vol::model::heap::VarLenDescriptor;

use super::layout::{Layout, Value};
use super::{references, short_buffer};
use crate::failure::Fallible;
use crate::h5f::FileHandle;

/// What elements are read with.
pub(super) struct Reader<'a> {
    pub(super) file: Option<&'a Arc<FileHandle>>,
    pub(super) heap: &'a mut Heap,
}

impl Reader<'_> {
    /// Reads `count` elements, which both buffers have.
    pub(super) fn run(
        &mut self,
        layout: &Layout,
        from: &[u8],
        count: usize,
        into: &mut [u8],
    ) -> Fallible<()> {
        if layout.is_plain() {
            let bytes = count * layout.c_bytes;
            into[..bytes].copy_from_slice(&from[..bytes]);
            return Ok(());
        }
        for part in &layout.parts {
            let from = from.chunks_exact(layout.c_bytes).map(|element| &element[part.c..]);
            let into = into.chunks_exact_mut(layout.memory_bytes).map(|element| &mut element[part.memory..]);
            let mut elements = from.zip(into).take(count);
            match &part.value {
                Value::Plain(bytes) => {
                    elements.for_each(|(from, into)| into[..*bytes].copy_from_slice(&from[..*bytes]));
                }
                Value::Text => elements.try_for_each(|(from, into)| self.text(from, into))?,
                Value::Sequence(inner) => {
                    elements.try_for_each(|(from, into)| self.sequence(inner, from, into))?;
                }
                Value::Reference(kind) => elements.try_for_each(|(from, into)| {
                    let reference = references::load(*kind, from, self.file)?;
                    Ok::<(), crate::failure::Failure>(self.heap.store_reference(reference, into)?)
                })?,
                Value::Repeat(times, inner) => {
                    elements.try_for_each(|(from, into)| self.run(inner, from, *times, into))?;
                }
            }
        }
        Ok(())
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
