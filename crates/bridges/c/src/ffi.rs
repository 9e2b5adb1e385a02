//! C types and constants that several families share (`H5public.h`, `H5Ipublic.h`).

use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::AtomicI64;

/// An identifier.
pub type hid_t = i64;
/// Success (not negative) or failure.
pub type herr_t = c_int;
/// True, false or failure (negative).
pub type htri_t = c_int;
/// A size or a coordinate.
pub type hsize_t = u64;
/// A difference of coordinates.
pub type hssize_t = i64;
/// An address in a file.
pub type haddr_t = u64;
/// A `size_t` that may be negative.
pub type ssize_t = isize;

/// An identifier as a global value. It is writable, as in libhdf5: plugins of the `hdf5plugin` wheel have variables of the same
/// names, and where this library is loaded first they store the values that they look up into ours.
pub type GlobalId = AtomicI64;

/// No identifier.
pub const H5I_INVALID_HID: hid_t = -1;
/// The default property list.
pub const H5P_DEFAULT: hid_t = 0;
/// All of a dataspace.
pub const H5S_ALL: hid_t = 0;
/// No event set.
pub const H5ES_NONE: hid_t = 0;
/// The default error stack.
pub const H5E_DEFAULT: hid_t = 0;
/// An address that is not one.
pub const HADDR_UNDEF: haddr_t = haddr_t::MAX;
/// A dimension without an upper limit.
pub const H5S_UNLIMITED: hsize_t = hsize_t::MAX;

/// `H5_index_t`
pub const H5_INDEX_NAME: c_int = 0;
/// Creation order.
pub const H5_INDEX_CRT_ORDER: c_int = 1;

/// `H5_iter_order_t`
pub const H5_ITER_INC: c_int = 0;
/// Decreasing.
pub const H5_ITER_DEC: c_int = 1;
/// Whichever is fastest.
pub const H5_ITER_NATIVE: c_int = 2;

/// `H5I_type_t`: what an identifier stands for.
pub mod id_type {
    use super::c_int;
    pub const BADID: c_int = -1;
    pub const FILE: c_int = 1;
    pub const GROUP: c_int = 2;
    pub const DATATYPE: c_int = 3;
    pub const DATASPACE: c_int = 4;
    pub const DATASET: c_int = 5;
    pub const MAP: c_int = 6;
    pub const ATTR: c_int = 7;
    pub const VFL: c_int = 8;
    pub const VOL: c_int = 9;
    pub const GENPROP_CLS: c_int = 10;
    pub const GENPROP_LST: c_int = 11;
    pub const ERROR_CLASS: c_int = 12;
    pub const ERROR_MSG: c_int = 13;
    pub const ERROR_STACK: c_int = 14;
    pub const SPACE_SEL_ITER: c_int = 15;
    pub const EVENTSET: c_int = 16;
    /// Types of the library end here, and those of callers begin.
    pub const NTYPES: c_int = 17;
    /// The last type that fits into an identifier.
    pub const MAX: c_int = 127;
}

/// `H5O_token_t`
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct H5O_token_t {
    pub data: [u8; 16],
}

/// `hvl_t`: a value of variable length in memory.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct hvl_t {
    pub len: usize,
    pub p: *mut c_void,
}

/// Allocates memory that the program frees with `free` or `H5free_memory`.
pub fn allocate(bytes: usize) -> *mut c_void {
    // SAFETY: malloc takes any size; its answer is checked by the caller.
    unsafe { libc::malloc(bytes.max(1)) }
}

/// Returns memory of another size with the content of `memory`, or NULL if there is none.
///
/// # Safety
/// `memory` must be NULL or come from `malloc`; it must not be used any more, unless NULL is returned.
pub unsafe fn reallocate(memory: *mut c_void, bytes: usize) -> *mut c_void {
    // SAFETY: the caller says so.
    unsafe { libc::realloc(memory, bytes.max(1)) }
}

/// Frees what [`allocate`] returned.
///
/// # Safety
/// `memory` must be NULL or come from `malloc`, and must not be used any more.
pub unsafe fn free(memory: *mut c_void) {
    // SAFETY: the caller says so.
    unsafe { libc::free(memory) };
}

/// Returns `text` as a string that the program frees, or NULL if there is no memory.
pub fn allocate_text(text: &[u8]) -> *mut c_char {
    let memory = allocate(text.len() + 1).cast::<u8>();
    if !memory.is_null() {
        // SAFETY: there is memory for the text and a NUL.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), memory, text.len());
            memory.add(text.len()).write(0);
        }
    }
    memory.cast()
}
