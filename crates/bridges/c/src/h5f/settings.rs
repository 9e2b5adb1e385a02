//! Settings and free space of an open file.

use std::ffi::c_int;

use hyperslab::extensions::{FreeSections, SetVersionBounds};
use hyperslab::vol::{LibVersion, call};

use super::FileHandle;
use crate::failure::{Failure, Fallible};
use crate::ffi::{haddr_t, hsize_t};

/// Kinds of data, with 0 for all (`H5FD_MEM_NTYPES`).
const MEMORY_TYPES: u64 = 7;

/// `H5F_sect_info_t`
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct H5F_sect_info_t {
    addr: haddr_t,
    size: hsize_t,
}

/// Returns the generation that a number of `H5F_libver_t` means.
pub(super) fn libver(number: c_int) -> Fallible<LibVersion> {
    Ok(match number {
        0 => LibVersion::Earliest,
        1 => LibVersion::V18,
        2 => LibVersion::V110,
        3 => LibVersion::V112,
        4 => LibVersion::V114,
        5 => LibVersion::V200,
        _ => return Err(Failure::argument("bound is not valid")),
    })
}

/// Returns the free sections of one kind of data (`H5FD_mem_t`), or of all for 0.
pub(super) fn free_sections(file: &FileHandle, kind: c_int) -> Fallible<Vec<H5F_sect_info_t>> {
    let kind = u64::try_from(kind).ok().filter(|kind| *kind < MEMORY_TYPES);
    let kind = kind.ok_or_else(|| Failure::argument("invalid kind of data"))?;
    let known = call::<FreeSections>(&**file.container(), &())?;
    let (sections, _) = known.as_chunks::<3>();
    let wanted = sections.iter().filter(|[manager, ..]| kind == 0 || *manager == kind);
    Ok(wanted.map(|[_, addr, size]| H5F_sect_info_t { addr: *addr, size: *size }).collect())
}

/// Sets which versions of the format are written from now on. Containers that are no HDF5 files have none.
pub(super) fn set_version_bounds(file: &FileHandle, low: LibVersion, high: LibVersion) -> Fallible<()> {
    if file.shared.is_writable {
        match call::<SetVersionBounds>(&**file.container(), &SetVersionBounds { low, high }) {
            Err(error) if error.kind() != hyperslab::Kind::Unsupported => return Err(error.into()),
            _ => {}
        }
    }
    let mut values = file.shared.values.write();
    (values.version_low, values.version_high) = (low, high);
    Ok(())
}
