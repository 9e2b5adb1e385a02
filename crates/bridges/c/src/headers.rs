//! Detection of the headers that the program was built with.
//!
//! Names of functions tell versions apart, but for one thing: the numbers of the types of identifiers (`H5I_type_t`) changed
//! between 1.10 and 1.12 under the same name. A program that runs on this library still loads the libhdf5 that it was linked
//! with, and the name of that file ends with the version of its interface: 100 to 103 is 1.10, 200 is 1.12, 310 is 1.14.

use std::ffi::c_int;

use crate::ffi::id_type;

#[cfg(target_os = "linux")]
use loaded::is_built_for_1_10;

/// Elsewhere programs are taken for new ones.
#[cfg(not(target_os = "linux"))]
fn is_built_for_1_10() -> bool {
    false
}

#[cfg(target_os = "linux")]
mod loaded {
    use std::ffi::{CStr, c_int, c_void};
    use std::sync::atomic::{AtomicU64, Ordering};

    /// What was found, with the number of libraries that had been loaded by then above it.
    static FOUND: AtomicU64 = AtomicU64::new(0);
    const NOTHING: u64 = 0;
    const OLD: u64 = 1;
    const NEW: u64 = 2;
    const FOUND_BITS: u32 = 2;

    /// Returns the version in the name of a libhdf5, such as 103 in `libhdf5_serial.so.103`.
    pub(super) fn interface_version(path: &[u8]) -> Option<u32> {
        let name = path.rsplit(|byte| *byte == b'/').next()?;
        let name = std::str::from_utf8(name).ok()?;
        let (stem, version) = name.strip_prefix("libhdf5")?.split_once(".so.")?;
        // Others of the family have versions of their own: libhdf5_hl, libhdf5_cpp.
        let is_itself =
            stem.is_empty() || stem.starts_with('-') || matches!(stem, "_serial" | "_openmpi" | "_mpich");
        version.split('.').next()?.parse().ok().filter(|_| is_itself)
    }

    struct Scan {
        loads: u64,
        found: u64,
    }

    unsafe extern "C" fn look_at(info: *mut libc::dl_phdr_info, _size: usize, scan: *mut c_void) -> c_int {
        // SAFETY: the loader passes one library, and `Scan` comes from `scan` below.
        let (info, scan) = unsafe { (&*info, &mut *scan.cast::<Scan>()) };
        scan.loads = info.dlpi_adds;
        if info.dlpi_name.is_null() {
            return 0;
        }
        // SAFETY: the loader's names end with NUL.
        match interface_version(unsafe { CStr::from_ptr(info.dlpi_name) }.to_bytes()) {
            Some(..200) => scan.found = scan.found.max(OLD),
            Some(_) => scan.found = NEW,
            None => {}
        }
        0
    }

    unsafe extern "C" fn only_count(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        loads: *mut c_void,
    ) -> c_int {
        // SAFETY: as in `look_at`.
        unsafe { *loads.cast::<u64>() = (*info).dlpi_adds };
        1
    }

    /// Returns whether every libhdf5 that the process has loaded is of 1.10 or older, and there is one.
    pub(super) fn is_built_for_1_10() -> bool {
        let known = FOUND.load(Ordering::Relaxed);
        if known & NEW != 0 {
            return false;
        }
        let mut loads = 0u64;
        // SAFETY: the function stores one number.
        unsafe { libc::dl_iterate_phdr(Some(only_count), (&raw mut loads).cast()) };
        // Libraries were loaded since: one of them may be a newer libhdf5.
        if known >> FOUND_BITS != loads {
            let mut scan = Scan { loads, found: NOTHING };
            // SAFETY: the function is called with this scan, before the call returns.
            unsafe { libc::dl_iterate_phdr(Some(look_at), (&raw mut scan).cast()) };
            FOUND.store(scan.loads << FOUND_BITS | scan.found, Ordering::Relaxed);
            return scan.found == OLD;
        }
        known & OLD != 0
    }
}

/// Types of identifiers in the order of their numbers in 1.10, from 1 on. Number 7 was that of references, which have none.
const OLD_ORDER: [c_int; 13] = [
    id_type::FILE,
    id_type::GROUP,
    id_type::DATATYPE,
    id_type::DATASPACE,
    id_type::DATASET,
    id_type::ATTR,
    id_type::BADID,
    id_type::VFL,
    id_type::GENPROP_CLS,
    id_type::GENPROP_LST,
    id_type::ERROR_CLASS,
    id_type::ERROR_MSG,
    id_type::ERROR_STACK,
];

fn old_number(kind: c_int) -> c_int {
    let at = OLD_ORDER.iter().position(|known| *known == kind && kind != id_type::BADID);
    at.map_or(kind, |at| at as c_int + 1)
}

fn from_old_number(number: c_int) -> c_int {
    let at = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
    at.and_then(|at| OLD_ORDER.get(at).copied()).unwrap_or(number)
}

/// Returns the number of a type of identifiers as the program knows it.
pub(crate) fn type_for_program(kind: c_int) -> c_int {
    if is_built_for_1_10() { old_number(kind) } else { kind }
}

/// Returns the type of identifiers that a number of the program stands for.
pub(crate) fn type_from_program(number: c_int) -> c_int {
    if is_built_for_1_10() { from_old_number(number) } else { number }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn versions_are_read_from_names_of_libraries() {
        for (path, version) in [
            ("/usr/lib/x86_64-linux-gnu/libhdf5_serial.so.103", Some(103)),
            ("/opt/h5py.libs/libhdf5-3e8ab7a4.so.320.0.0", Some(320)),
            ("/opt/lib/libhdf5.so.310", Some(310)),
            ("/usr/lib/libhdf5_serial_hl.so.100", None),
            ("/usr/lib/libhdf5_cpp.so.103", None),
            ("/opt/lib/libhdf5.so", None),
            ("/lib/libc.so.6", None),
        ] {
            assert_eq!(loaded::interface_version(path.as_bytes()), version, "{path}");
        }
    }

    #[test]
    fn numbers_of_1_10_are_translated_both_ways() {
        assert_eq!(old_number(id_type::ATTR), 6);
        assert_eq!(old_number(id_type::GENPROP_CLS), 9);
        assert_eq!(old_number(id_type::BADID), id_type::BADID);
        for kind in OLD_ORDER.into_iter().filter(|kind| *kind != id_type::BADID) {
            assert_eq!(from_old_number(old_number(kind)), kind);
        }
    }
}
