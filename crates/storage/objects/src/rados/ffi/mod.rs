//! The calls of librados that are needed, with safe wrappers. All unsafe code of the crate is here.
//!
//! Two rules make the wrappers safe: what an operation in flight points to lives until it completed (a completion
//! waits when it is dropped), and a handle outlives all that was made from it (`Arc`).
#![expect(unsafe_code, reason = "librados is a C library")]

mod ask;
mod calls;
mod cluster;
mod completion;
mod read;
mod write;

use std::ffi::{CString, c_int};

pub(super) use ask::{Answer, Ask};
pub(super) use cluster::{Cluster, Names, Step};
pub(super) use completion::Completion;
pub(super) use read::Read;
pub(super) use write::{Guard, Write};

/// A negative number of errno.h.
pub(super) type Code = c_int;

pub(super) const NOT_PERMITTED: Code = -1;
pub(super) const NOT_FOUND: Code = -2;
pub(super) const INVALID: Code = -22;
/// A guard did not hold, and nothing changed.
pub(super) const CANCELED: Code = -125;

fn checked(code: c_int) -> Result<(), Code> {
    if code < 0 { Err(code) } else { Ok(()) }
}

/// Converts text for C. A 0 byte in it is an invalid argument.
fn text(text: &str) -> Result<CString, Code> {
    CString::new(text).map_err(|_| INVALID)
}

fn pointers<'a>(items: impl Iterator<Item = &'a Vec<u8>>) -> (Vec<*const u8>, Vec<usize>) {
    items.map(|item| (item.as_ptr(), item.len())).unzip()
}

/// SAFETY: `length` bytes are at `from`, unless there are none.
unsafe fn bytes(from: *const u8, length: usize) -> Vec<u8> {
    if from.is_null() || length == 0 {
        return Vec::new();
    }
    // SAFETY: the caller says so.
    unsafe { std::slice::from_raw_parts(from, length) }.to_vec()
}

/// Returns what the system calls an error.
pub(super) fn explain(code: Code) -> std::io::Error {
    std::io::Error::from_raw_os_error(-code)
}
