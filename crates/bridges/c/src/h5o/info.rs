//! The info of objects in C's form.

use std::ffi::{c_int, c_uint, c_ulong};

use hyperslab::ObjectKind;
use hyperslab::extensions::ObjectMetadata;
use hyperslab::vol::call;

use crate::failure::Fallible;
use crate::ffi::{H5O_token_t, haddr_t, hsize_t};
use crate::h5f::H5_ih_info_t;
use crate::paths::FoundObject;

/// `H5O_INFO_…`: which fields are asked for.
pub(crate) mod fields {
    use std::ffi::c_uint;
    pub(crate) const BASIC: c_uint = 1;
    pub(crate) const TIME: c_uint = 2;
    pub(crate) const NUM_ATTRS: c_uint = 4;
    pub(crate) const HDR: c_uint = 8;
    pub(crate) const META_SIZE: c_uint = 0x10;
    pub(crate) const ALL: c_uint = BASIC | TIME | NUM_ATTRS | HDR | META_SIZE;
}

/// `H5O_hdr_info_t`
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct H5O_hdr_info_t {
    version: c_uint,
    nmesgs: c_uint,
    nchunks: c_uint,
    flags: c_uint,
    total: hsize_t,
    meta: hsize_t,
    mesg: hsize_t,
    free: hsize_t,
    present: u64,
    shared: u64,
}

/// `H5O_native_info_t`
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct H5O_native_info_t {
    hdr: H5O_hdr_info_t,
    obj: H5_ih_info_t,
    attr: H5_ih_info_t,
}

/// `H5O_info2_t`
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct H5O_info2_t {
    fileno: c_ulong,
    token: H5O_token_t,
    kind: c_int,
    rc: c_uint,
    atime: i64,
    mtime: i64,
    ctime: i64,
    btime: i64,
    num_attrs: hsize_t,
}

/// `H5O_info1_t`
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct H5O_info1_t {
    fileno: c_ulong,
    addr: haddr_t,
    kind: c_int,
    rc: c_uint,
    atime: i64,
    mtime: i64,
    ctime: i64,
    btime: i64,
    num_attrs: hsize_t,
    native: H5O_native_info_t,
}

/// Returns the number of an object's kind (`H5O_type_t`).
pub(crate) fn kind_number(kind: ObjectKind) -> c_int {
    match kind {
        ObjectKind::Group => 0,
        ObjectKind::Dataset => 1,
        ObjectKind::Datatype => 2,
        ObjectKind::Map => 3,
    }
}

/// A struct that tells what an object is.
pub(crate) trait ObjectDetails: Sized + Copy {
    /// Fills it.
    fn of(object: &FoundObject, fields: c_uint) -> Fallible<Self>;
}

impl ObjectDetails for H5O_info2_t {
    fn of(object: &FoundObject, fields: c_uint) -> Fallible<Self> {
        let info = object.container().object_info(object.token)?;
        let times = info.times.filter(|_| fields & fields::TIME != 0).unwrap_or_default();
        Ok(H5O_info2_t {
            fileno: object.file.shared.number as c_ulong,
            token: H5O_token_t { data: info.token.0 },
            kind: kind_number(info.kind),
            rc: info.references,
            atime: times.access.into(),
            mtime: times.modification.into(),
            ctime: times.change.into(),
            btime: times.birth.into(),
            num_attrs: if fields & fields::NUM_ATTRS != 0 { info.attributes } else { 0 },
        })
    }
}

impl ObjectDetails for H5O_info1_t {
    fn of(object: &FoundObject, fields: c_uint) -> Fallible<Self> {
        let all = H5O_info2_t::of(object, fields)?;
        let native = match fields & (fields::HDR | fields::META_SIZE) {
            0 => H5O_native_info_t::default(),
            _ => native_info(object)?,
        };
        Ok(H5O_info1_t {
            fileno: all.fileno,
            addr: object.token.to_u64(),
            kind: all.kind,
            rc: all.rc,
            atime: all.atime,
            mtime: all.mtime,
            ctime: all.ctime,
            btime: all.btime,
            num_attrs: all.num_attrs,
            native,
        })
    }
}

/// Returns the sizes of an object's metadata in an HDF5 file; zeros where a container has none.
pub(crate) fn native_info(object: &FoundObject) -> Fallible<H5O_native_info_t> {
    let Ok(sizes) = call::<ObjectMetadata>(&**object.container(), &object.token) else {
        return Ok(H5O_native_info_t::default());
    };
    let hdr = H5O_hdr_info_t {
        nchunks: 1,
        total: sizes.header_bytes,
        mesg: sizes.header_bytes.saturating_sub(sizes.header_unused_bytes),
        free: sizes.header_unused_bytes,
        ..H5O_hdr_info_t::default()
    };
    let index_size = sizes.link_index_bytes + sizes.chunk_index_bytes;
    Ok(H5O_native_info_t {
        hdr,
        obj: H5_ih_info_t { index_size, heap_size: sizes.link_heap_bytes + sizes.external_bytes },
        attr: H5_ih_info_t { index_size: sizes.attribute_index_bytes, heap_size: sizes.attribute_heap_bytes },
    })
}
