//! The configuration of the metadata cache. It is stored and returned; nothing here has such a cache.

use std::ffi::{c_char, c_int, c_long};
use std::sync::Arc;

use hyperslab::vol::model::Result;
use hyperslab::vol::model::bytes::{Cursor, Put};

use super::{absent, put_sized, take_sized};
use crate::h5p::list_values::ListValues;
use crate::h5p::values::FileAccessValues;

const NAME_BYTES: usize = 1025;

/// `H5AC_cache_config_t`
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct H5AC_cache_config_t {
    pub version: c_int,
    pub rpt_fcn_enabled: bool,
    pub open_trace_file: bool,
    pub close_trace_file: bool,
    pub trace_file_name: [c_char; NAME_BYTES],
    pub evictions_enabled: bool,
    pub set_initial_size: bool,
    pub initial_size: usize,
    pub min_clean_fraction: f64,
    pub max_size: usize,
    pub min_size: usize,
    pub epoch_length: c_long,
    pub incr_mode: c_int,
    pub lower_hr_threshold: f64,
    pub increment: f64,
    pub apply_max_increment: bool,
    pub max_increment: usize,
    pub flash_incr_mode: c_int,
    pub flash_multiple: f64,
    pub flash_threshold: f64,
    pub decr_mode: c_int,
    pub upper_hr_threshold: f64,
    pub decrement: f64,
    pub apply_max_decrement: bool,
    pub max_decrement: usize,
    pub epochs_before_eviction: c_int,
    pub apply_empty_reserve: bool,
    pub empty_reserve: f64,
    pub dirty_bytes_threshold: usize,
    pub metadata_write_strategy: c_int,
}

impl Default for H5AC_cache_config_t {
    fn default() -> Self {
        H5AC_cache_config_t {
            version: 1,
            rpt_fcn_enabled: false,
            open_trace_file: false,
            close_trace_file: false,
            trace_file_name: [0; NAME_BYTES],
            evictions_enabled: true,
            set_initial_size: true,
            initial_size: 2 << 20,
            min_clean_fraction: 0.01,
            max_size: 32 << 20,
            min_size: 1 << 20,
            epoch_length: 50_000,
            incr_mode: 1,
            lower_hr_threshold: 0.9,
            increment: 2.0,
            apply_max_increment: true,
            max_increment: 4 << 20,
            flash_incr_mode: 1,
            flash_multiple: 1.4,
            flash_threshold: 0.25,
            decr_mode: 3,
            upper_hr_threshold: 0.999,
            decrement: 0.9,
            apply_max_decrement: true,
            max_decrement: 1 << 20,
            epochs_before_eviction: 3,
            apply_empty_reserve: true,
            empty_reserve: 0.1,
            dirty_bytes_threshold: 256 << 10,
            metadata_write_strategy: 1,
        }
    }
}

/// Returns the configuration of a list.
pub fn cache_config(values: &FileAccessValues) -> H5AC_cache_config_t {
    let Some(bytes) = &values.metadata_cache else { return H5AC_cache_config_t::default() };
    let mut cursor = Cursor::new(bytes, "metadata cache configuration");
    decode(&mut cursor).unwrap_or_default()
}

/// Stores the configuration in a list, in its encoded form.
pub fn set_cache_config(values: &mut FileAccessValues, config: &H5AC_cache_config_t) {
    values.metadata_cache = Some(Arc::new(encode(config)));
}

fn put_real(out: &mut Vec<u8>, value: f64) {
    out.put_uint(value.to_bits(), 8);
}

fn take_real(cursor: &mut Cursor<'_>) -> Result<f64> {
    cursor.u64().map(f64::from_bits)
}

fn put_flag(out: &mut Vec<u8>, value: bool) {
    out.put_uint(value.into(), 4);
}

fn take_flag(cursor: &mut Cursor<'_>) -> Result<bool> {
    cursor.u32().map(|flag| flag != 0)
}

fn encode(config: &H5AC_cache_config_t) -> Vec<u8> {
    let mut out = vec![4, 8];
    out.put_uint(config.version as u32 as u64, 4);
    put_flag(&mut out, config.rpt_fcn_enabled);
    put_flag(&mut out, config.open_trace_file);
    put_flag(&mut out, config.close_trace_file);
    out.extend(config.trace_file_name.iter().map(|c| *c as u8));
    put_flag(&mut out, config.evictions_enabled);
    put_flag(&mut out, config.set_initial_size);
    put_sized(&mut out, config.initial_size as u64);
    put_real(&mut out, config.min_clean_fraction);
    put_sized(&mut out, config.max_size as u64);
    put_sized(&mut out, config.min_size as u64);
    out.put_uint(config.epoch_length as u64, 8);
    out.push(config.incr_mode as u8);
    put_real(&mut out, config.lower_hr_threshold);
    put_real(&mut out, config.increment);
    put_flag(&mut out, config.apply_max_increment);
    put_sized(&mut out, config.max_increment as u64);
    out.push(config.flash_incr_mode as u8);
    put_real(&mut out, config.flash_multiple);
    put_real(&mut out, config.flash_threshold);
    out.push(config.decr_mode as u8);
    put_real(&mut out, config.upper_hr_threshold);
    put_real(&mut out, config.decrement);
    put_flag(&mut out, config.apply_max_decrement);
    put_sized(&mut out, config.max_decrement as u64);
    out.put_uint(config.epochs_before_eviction as u32 as u64, 4);
    put_flag(&mut out, config.apply_empty_reserve);
    put_real(&mut out, config.empty_reserve);
    out.put_uint(config.dirty_bytes_threshold as u32 as u64, 4);
    out.put_uint(config.metadata_write_strategy as u32 as u64, 4);
    out
}

fn decode(cursor: &mut Cursor<'_>) -> Result<H5AC_cache_config_t> {
    cursor.skip(2)?;
    let size = |cursor: &mut Cursor<'_>| take_sized(cursor).map(|size| size as usize);
    // Fields are evaluated in the order in which they stand.
    Ok(H5AC_cache_config_t {
        version: cursor.u32()? as c_int,
        rpt_fcn_enabled: take_flag(cursor)?,
        open_trace_file: take_flag(cursor)?,
        close_trace_file: take_flag(cursor)?,
        trace_file_name: cursor.array::<NAME_BYTES>()?.map(|byte| byte as c_char),
        evictions_enabled: take_flag(cursor)?,
        set_initial_size: take_flag(cursor)?,
        initial_size: size(cursor)?,
        min_clean_fraction: take_real(cursor)?,
        max_size: size(cursor)?,
        min_size: size(cursor)?,
        epoch_length: cursor.u64()? as c_long,
        incr_mode: cursor.u8()?.into(),
        lower_hr_threshold: take_real(cursor)?,
        increment: take_real(cursor)?,
        apply_max_increment: take_flag(cursor)?,
        max_increment: size(cursor)?,
        flash_incr_mode: cursor.u8()?.into(),
        flash_multiple: take_real(cursor)?,
        flash_threshold: take_real(cursor)?,
        decr_mode: cursor.u8()?.into(),
        upper_hr_threshold: take_real(cursor)?,
        decrement: take_real(cursor)?,
        apply_max_decrement: take_flag(cursor)?,
        max_decrement: size(cursor)?,
        epochs_before_eviction: cursor.u32()? as c_int,
        apply_empty_reserve: take_flag(cursor)?,
        empty_reserve: take_real(cursor)?,
        dirty_bytes_threshold: cursor.u32()? as usize,
        metadata_write_strategy: cursor.u32()? as c_int,
    })
}

pub(super) fn put(values: &mut ListValues) -> Result<Vec<u8>> {
    Ok(encode(&cache_config(values.access().ok_or_else(absent)?)))
}

pub(super) fn take(values: &mut ListValues, cursor: &mut Cursor<'_>) -> Result<()> {
    let config = decode(cursor)?;
    let access = values.access().ok_or_else(absent)?;
    if encode(&config) != encode(&cache_config(access)) {
        set_cache_config(access, &config);
    }
    Ok(())
}
