//! Memory for values of variable length, which the program frees.

use std::ffi::c_void;

use crate::arguments::Opaque;
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi;
use crate::h5p::values::{AllocateFunction, FreeFunction, TransferValues};

/// Where values of variable length come from: `malloc`, or the functions that a program set with `H5Pset_vlen_mem_manager`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Allocator {
    allocate: AllocateFunction,
    allocate_data: Option<Opaque>,
    free: FreeFunction,
    free_data: Option<Opaque>,
}

impl Allocator {
    /// Returns the allocator of a transfer property list.
    pub fn of(values: &TransferValues) -> Self {
        let ((allocate, allocate_data), (free, free_data)) = (values.allocate, values.free);
        Allocator { allocate, allocate_data, free, free_data }
    }

    /// Allocates `bytes` bytes.
    pub(super) fn allocate(&self, bytes: usize) -> Fallible<*mut u8> {
        let data = self.allocate_data.map_or(std::ptr::null_mut(), |data| data.0);
        let memory = match self.allocate {
            // SAFETY: the program set both, for each other.
            Some(allocate) => unsafe { allocate(bytes, data) },
            None => ffi::allocate(bytes),
        };
        if memory.is_null() {
            let text = "memory allocation failed for VL data";
            return Err(Failure::new(Major::RESOURCE, Minor::NOSPACE, text));
        }
        Ok(memory.cast())
    }

    /// Frees what [`Allocator::allocate`] returned.
    ///
    /// # Safety
    /// `memory` must come from this allocator, and must not be used any more.
    pub(super) unsafe fn free(&self, memory: *mut c_void) {
        let data = self.free_data.map_or(std::ptr::null_mut(), |data| data.0);
        match self.free {
            // SAFETY: the program set both, for each other; the caller says the rest.
            Some(free) => unsafe { free(memory, data) },
            // SAFETY: the caller says so.
            None => unsafe { ffi::free(memory) },
        }
    }
}
