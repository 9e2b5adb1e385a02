//! Structs that drivers of libhdf5 take their properties in.

use std::ffi::{c_char, c_int, c_uint};

use hyperslab::vol::model::text;

use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::hid_t;

/// `H5FD_SPLITTER_MAGIC`
pub const SPLITTER_MAGIC: i32 = 0x2B91_6880;
/// `H5FD_MIRROR_FAPL_MAGIC`
pub const MIRROR_MAGIC: u32 = 0xF8DD_514C;
/// `H5FD_SUBFILING_FAPL_MAGIC`
pub const SUBFILING_MAGIC: u32 = 0xFED0_1331;
/// `H5FD_IOC_FAPL_MAGIC`
pub const IOC_MAGIC: u32 = 0xFED2_1331;

/// Properties of the splitter driver.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct H5FD_splitter_vfd_config_t {
    pub magic: i32,
    pub version: c_uint,
    pub rw_fapl_id: hid_t,
    pub wo_fapl_id: hid_t,
    pub wo_path: [c_char; 4097],
    pub log_file_path: [c_char; 4097],
    pub ignore_wo_errs: u8,
}

/// Properties of the onion driver.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct H5FD_onion_fapl_info_t {
    pub version: u8,
    pub backing_fapl_id: hid_t,
    pub page_size: u32,
    pub store_target: c_int,
    pub revision_num: u64,
    pub force_write_open: u8,
    pub creation_flags: u8,
    pub comment: [c_char; 256],
}

/// Properties of the mirror driver.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct H5FD_mirror_fapl_t {
    pub magic: u32,
    pub version: u32,
    pub handshake_port: c_int,
    pub remote_ip: [c_char; 46],
}

/// Properties that the subfiling driver and its concentrators share.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct H5FD_subfiling_params_t {
    pub ioc_selection: c_int,
    pub stripe_size: i64,
    pub stripe_count: i32,
}

/// Properties of the subfiling driver.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct H5FD_subfiling_config_t {
    pub magic: u32,
    pub version: u32,
    pub ioc_fapl_id: hid_t,
    pub require_ioc: u8,
    pub shared_cfg: H5FD_subfiling_params_t,
}

/// Properties of the concentrators of the subfiling driver.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct H5FD_ioc_config_t {
    pub magic: u32,
    pub version: u32,
    pub thread_pool_size: i32,
}

/// Properties of the driver of objects of S3.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct H5FD_ros3_fapl_t {
    pub version: i32,
    pub authenticate: u8,
    pub aws_region: [c_char; 33],
    pub secret_id: [c_char; 129],
    pub secret_key: [c_char; 129],
}

impl std::fmt::Debug for H5FD_ros3_fapl_t {
    /// Credentials are never printed.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("H5FD_ros3_fapl_t").field("region", &text_of(&self.aws_region)).finish_non_exhaustive()
    }
}

/// Returns the text in an array of a struct, which ends with NUL or with the array.
pub fn text_of(array: &[c_char]) -> String {
    let bytes: Vec<u8> = array.iter().take_while(|c| **c != 0).map(|c| c.to_ne_bytes()[0]).collect();
    text::from_bytes(&bytes)
}

/// Puts a text into an array of a struct, with a NUL.
pub fn put_text<const N: usize>(value: &str) -> [c_char; N] {
    let mut array = [0; N];
    let bytes = text::to_bytes(value);
    array.iter_mut().zip(bytes.iter().take(N - 1)).for_each(|(c, byte)| *c = c_char::from_ne_bytes([*byte]));
    array
}

/// Returns a text that can stand among the parameters of a driver.
pub fn passed_on(value: &str, what: &str) -> Fallible<String> {
    match value.contains(['{', '}', ',', '|']) {
        true => {
            let text = format!("{what} has characters that cannot be passed on to a driver: {{ }} , |");
            Err(Failure::new(Major::PLIST, Minor::UNSUPPORTED, text))
        }
        false => Ok(value.to_owned()),
    }
}
