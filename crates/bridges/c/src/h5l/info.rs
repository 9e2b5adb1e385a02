//! The info of links in C's form.

use std::ffi::c_int;

use hyperslab::vol::model::CharacterSet;
use hyperslab::vol::model::text::as_bytes;
use hyperslab::{Link, LinkTarget};

use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{H5O_token_t, haddr_t};

/// `H5L_type_t`
pub(crate) mod kind {
    use std::ffi::c_int;
    pub(crate) const HARD: c_int = 0;
    pub(crate) const SOFT: c_int = 1;
    pub(crate) const EXTERNAL: c_int = 64;
    pub(crate) const MAX: c_int = 255;
}

/// The target of a hard link, or the size of another link's value.
#[repr(C)]
#[derive(Clone, Copy)]
pub union LinkValue2 {
    token: H5O_token_t,
    val_size: usize,
}

/// `H5L_info2_t`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct H5L_info2_t {
    kind: c_int,
    corder_valid: bool,
    corder: i64,
    cset: c_int,
    u: LinkValue2,
}

/// The address of an object, or the size of a link's value.
#[repr(C)]
#[derive(Clone, Copy)]
pub union LinkValue1 {
    address: haddr_t,
    val_size: usize,
}

/// `H5L_info1_t`, and `H5L_info_t` up to version 1.10.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct H5L_info1_t {
    kind: c_int,
    corder_valid: bool,
    corder: i64,
    cset: c_int,
    u: LinkValue1,
}

impl std::fmt::Debug for H5L_info2_t {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("H5L_info2_t").field("type", &self.kind).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for H5L_info1_t {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("H5L_info1_t").field("type", &self.kind).finish_non_exhaustive()
    }
}

/// A struct that tells what a link is.
pub(crate) trait LinkInfo: Sized + Copy {
    /// Fills it.
    fn of(link: &Link) -> Fallible<Self>;
}

fn charset(link: &Link) -> c_int {
    c_int::from(link.charset == CharacterSet::Utf8)
}

pub(crate) fn kind_of(link: &Link) -> c_int {
    match &link.target {
        LinkTarget::Hard(_) => kind::HARD,
        LinkTarget::Soft(_) => kind::SOFT,
        LinkTarget::External { .. } => kind::EXTERNAL,
        LinkTarget::User { class, .. } => c_int::from(*class),
    }
}

impl LinkInfo for H5L_info2_t {
    fn of(link: &Link) -> Fallible<Self> {
        let u = match &link.target {
            LinkTarget::Hard(token) => LinkValue2 { token: H5O_token_t { data: token.0 } },
            _ => {
                let mut value = LinkValue2 { token: H5O_token_t { data: [0; 16] } };
                value.val_size = value_bytes(link)?.len();
                value
            }
        };
        Ok(H5L_info2_t {
            kind: kind_of(link),
            corder_valid: link.creation_order.is_some(),
            corder: link.creation_order.unwrap_or(0),
            cset: charset(link),
            u,
        })
    }
}

impl LinkInfo for H5L_info1_t {
    fn of(link: &Link) -> Fallible<Self> {
        let u = match &link.target {
            LinkTarget::Hard(token) => LinkValue1 { address: token.to_u64() },
            _ => LinkValue1 { val_size: value_bytes(link)?.len() },
        };
        Ok(H5L_info1_t {
            kind: kind_of(link),
            corder_valid: link.creation_order.is_some(),
            corder: link.creation_order.unwrap_or(0),
            cset: charset(link),
            u,
        })
    }
}

/// Returns the value of an external link as libhdf5 packs it: a byte of version and flags, the file and the object.
pub(crate) fn pack_external(file: &str, path: &str) -> Vec<u8> {
    let mut value = vec![0];
    for text in [file, path] {
        value.extend_from_slice(&as_bytes(text));
        value.push(0);
    }
    value
}

/// Returns the value of a link that is not hard. A class of the program's own may give another.
pub(crate) fn value_bytes(link: &Link) -> Fallible<Vec<u8>> {
    match &link.target {
        LinkTarget::Hard(_) => Err(Failure::new(Major::LINK, Minor::BADTYPE, "link is not a symbolic link")),
        LinkTarget::Soft(path) => {
            let mut value = as_bytes(path).into_owned();
            value.push(0);
            Ok(value)
        }
        LinkTarget::External { file, path } => Ok(pack_external(file, path)),
        LinkTarget::User { class, data } => super::classes::query(&link.name, *class, data),
    }
}
