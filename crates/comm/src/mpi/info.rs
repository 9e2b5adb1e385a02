//! Hints of a program to MPI.
#![expect(unsafe_code, reason = "the C interface")]

use std::ffi::{CStr, c_int};

use ::mpi::ffi;
use ffi::MPI_Info;
use model::Result;

use super::raw::{check, is_running};

/// Digits of a hint that is a number.
const HINT_BYTES: usize = 31;

/// Hints to MPI, of the library's own.
#[derive(Debug)]
pub struct Info(MPI_Info);

// SAFETY: an object of hints is a name, and the library does not change it.
unsafe impl Send for Info {}
// SAFETY: as above.
unsafe impl Sync for Info {}

/// Returns a duplicate of hints. None have none.
unsafe fn duplicate_info(info: MPI_Info) -> Result<MPI_Info> {
    // SAFETY: a name of MPI's.
    if info == unsafe { ffi::RSMPI_INFO_NULL } {
        return Ok(info);
    }
    let mut own = info;
    // SAFETY: the caller's promise.
    check("MPI_Info_dup", unsafe { ffi::MPI_Info_dup(info, &raw mut own) })?;
    Ok(own)
}

impl Info {
    /// Duplicates hints of the program.
    ///
    /// # Safety
    /// MPI is running, and `info` is valid, or `MPI_INFO_NULL`.
    pub unsafe fn duplicate(info: MPI_Info) -> Result<Self> {
        // SAFETY: the caller's promise.
        unsafe { duplicate_info(info) }.map(Info)
    }

    /// Returns the number that a hint is, or `None` if there is no such hint, or it is no number.
    pub fn number(&self, key: &CStr) -> Result<Option<u64>> {
        // SAFETY: a name of MPI's.
        if self.0 == unsafe { ffi::RSMPI_INFO_NULL } {
            return Ok(None);
        }
        let (mut value, mut is_there) = ([0u8; HINT_BYTES + 1], 0);
        let len = HINT_BYTES as c_int;
        // SAFETY: the hints are valid, and there is space for so many bytes and the NUL.
        let code = unsafe {
            ffi::MPI_Info_get(self.0, key.as_ptr(), len, value.as_mut_ptr().cast(), &raw mut is_there)
        };
        check("MPI_Info_get", code)?;
        let text = CStr::from_bytes_until_nul(&value).ok().and_then(|value| value.to_str().ok());
        Ok(text.filter(|_| is_there != 0).and_then(|text| text.trim().parse().ok()))
    }

    /// Returns a duplicate that the caller frees.
    pub fn give(&self) -> Result<MPI_Info> {
        // SAFETY: the hints are valid.
        unsafe { duplicate_info(self.0) }
    }
}

impl Drop for Info {
    fn drop(&mut self) {
        // SAFETY: the hints are valid, and no one uses them any more.
        unsafe {
            if is_running() && self.0 != ffi::RSMPI_INFO_NULL {
                ffi::MPI_Info_free(&raw mut self.0);
            }
        }
    }
}
