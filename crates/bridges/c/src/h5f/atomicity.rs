//! When processes see what others wrote.

use std::sync::atomic::Ordering;

use super::FileHandle;
use crate::api;
use crate::arguments::Out;
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{herr_t, hid_t};
use crate::handles;

fn check_parallel(file: &FileHandle, what: &str) -> Fallible<()> {
    match file.shared.is_parallel {
        true => Ok(()),
        false => {
            let text = format!("incorrect VFL driver, does not support MPI atomicity mode: can't {what} it");
            Err(Failure::new(Major::FILE, Minor::BADVALUE, text))
        }
    }
}

api! { FILE:
    /// Sets whether a process reads at once what others wrote independently. All processes call this.
    fn H5Fset_mpi_atomicity(file_id: hid_t, flag: bool) -> herr_t {
        let file = handles::file(file_id)?;
        check_parallel(&file, "set")?;
        file.shared.is_atomic.store(flag, Ordering::Relaxed);
        Ok(())
    }

    /// Returns whether a process reads at once what others wrote independently.
    fn H5Fget_mpi_atomicity(file_id: hid_t, flag: Out<bool>) -> herr_t {
        let file = handles::file(file_id)?;
        check_parallel(&file, "get")?;
        flag.put_required(file.shared.is_atomic.load(Ordering::Relaxed), "atomicity flag")
    }
}
