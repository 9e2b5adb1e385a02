//! Settings of metadata caches and page buffers.

use std::ffi::{c_char, c_int, c_uint};

use super::file_access::{change, read};
use super::rows::{H5AC_cache_config_t, cache_config, set_cache_config};
use super::values::FileAccessValues;
use crate::api;
use crate::arguments::{Out, Text, TextOut, Values};
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{herr_t, hid_t};

const VERSION: c_int = 1;
/// libhdf5 takes no other value yet.
const AGEOUT_NONE: c_int = -1;

/// `H5AC_cache_image_config_t`
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct H5AC_cache_image_config_t {
    version: c_int,
    generate_image: bool,
    save_resize_status: bool,
    entry_ageout: c_int,
}

fn cache(text: &'static str) -> Failure {
    Failure::new(Major::CACHE, Minor::BADVALUE, text)
}

/// Returns the bytes of metadata that a program wants to be cached, if it chose a number.
pub fn cache_bytes(values: &FileAccessValues) -> Option<u64> {
    values.metadata_cache.as_ref()?;
    let config = cache_config(values);
    let is_fixed = config.set_initial_size && config.incr_mode == 0 && config.flash_incr_mode == 0;
    Some(if is_fixed { config.initial_size } else { config.max_size } as u64)
}

/// Returns an error for a configuration that no cache can have.
pub fn check(config: &H5AC_cache_config_t) -> Fallible<()> {
    if config.version != VERSION {
        return Err(cache("Unknown config version"));
    }
    let wrong = Failure::argument;
    if !(0.0..=1.0).contains(&config.min_clean_fraction) {
        return Err(wrong("min_clean_fraction must be in the interval [0.0, 1.0]"));
    }
    if config.max_size > 128 << 20 || config.min_size < 1024 {
        return Err(wrong("cache sizes are out of range"));
    }
    if config.min_size > config.max_size {
        return Err(wrong("min_size > max_size"));
    }
    if config.set_initial_size && !(config.min_size..=config.max_size).contains(&config.initial_size) {
        return Err(wrong("initial_size must be in the interval [min_size, max_size]"));
    }
    if !(100..=1_000_000).contains(&config.epoch_length) {
        return Err(wrong("epoch_length out of range"));
    }
    if !(0..=1).contains(&config.incr_mode) || !(0..=3).contains(&config.decr_mode) {
        return Err(wrong("invalid mode of automatic resizing"));
    }
    if !(0..=1).contains(&config.metadata_write_strategy) {
        return Err(cache("config_ptr->metadata_write_strategy out of range"));
    }
    Ok(())
}

api! { PLIST:
    /// Sets the configuration of the metadata cache.
    fn H5Pset_mdc_config(plist_id: hid_t, config_ptr: Values<H5AC_cache_config_t>) -> herr_t {
        super::list::list_of(plist_id, super::Kind::FileAccess)?;
        let config = config_ptr.one("config_ptr").map_err(|_| cache("NULL config_ptr on entry"))?;
        check(config)?;
        change(plist_id, &["mdc_initCacheCfg"], |access| set_cache_config(access, config))
    }

    /// Returns the configuration of the metadata cache.
    fn H5Pget_mdc_config(plist_id: hid_t, config_ptr: Out<H5AC_cache_config_t>) -> herr_t {
        let given = config_ptr.get().ok_or_else(|| Failure::argument("NULL config_ptr on entry."))?;
        if given.version != VERSION {
            return Err(Failure::argument("Unknown config version."));
        }
        config_ptr.put(read(plist_id, cache_config)?);
        Ok(())
    }

    /// Sets whether the metadata cache is stored in the file.
    fn H5Pset_mdc_image_config(plist_id: hid_t, config_ptr: Values<H5AC_cache_image_config_t>) -> herr_t {
        let config = config_ptr.one("config_ptr").map_err(|_| cache("NULL config_ptr on entry"))?;
        if config.version != VERSION {
            return Err(cache("Unknown image config version"));
        }
        if config.save_resize_status || config.entry_ageout != AGEOUT_NONE {
            return Err(cache("unexpected value in save_resize_status or entry_ageout field"));
        }
        let image = (config.generate_image, config.save_resize_status, config.entry_ageout);
        change(plist_id, &["mdc_initCacheImageCfg"], |access| access.metadata_cache_image = Some(image))
    }

    /// Returns whether the metadata cache is stored in the file.
    fn H5Pget_mdc_image_config(plist_id: hid_t, config_ptr: Out<H5AC_cache_image_config_t>) -> herr_t {
        let given = config_ptr.get().ok_or_else(|| Failure::argument("NULL config_ptr on entry."))?;
        if given.version != VERSION {
            return Err(Failure::argument("Unknown image config version."));
        }
        let image = read(plist_id, |access| access.metadata_cache_image)?.unwrap_or((false, false, -1));
        config_ptr.put(H5AC_cache_image_config_t {
            version: VERSION,
            generate_image: image.0,
            save_resize_status: image.1,
            entry_ageout: image.2,
        });
        Ok(())
    }

    /// Sets whether changes of the metadata cache are logged.
    fn H5Pset_mdc_log_options(plist_id: hid_t, is_enabled: bool, location: Text, start_on_access: bool) -> herr_t {
        let location = location.optional().ok_or_else(|| Failure::argument("location cannot be NULL"))?;
        let names = ["use_mdc_logging", "mdc_log_location", "start_mdc_log_on_access"];
        change(plist_id, &names, |access| access.metadata_log = Some((is_enabled, location, start_on_access)))
    }

    /// Returns whether changes of the metadata cache are logged.
    fn H5Pget_mdc_log_options(plist_id: hid_t, is_enabled: Out<bool>, location: *mut c_char, location_size: Out<usize>, start_on_access: Out<bool>) -> herr_t {
        let log = read(plist_id, |access| access.metadata_log.clone())?.unwrap_or_default();
        is_enabled.put(log.0);
        start_on_access.put(log.2);
        if let Some(size) = location_size.get() {
            TextOut(location).put_text(size, &log.1);
        }
        let is_stored = !log.1.is_empty();
        location_size.put(if is_stored { hyperslab::vol::model::text::as_bytes(&log.1).len() + 1 } else { 0 });
        Ok(())
    }

    /// Sets the size of the page buffer and the shares of it that metadata and raw data have.
    fn H5Pset_page_buffer_size(plist_id: hid_t, buf_size: usize, min_meta_per: c_uint, min_raw_per: c_uint) -> herr_t {
        if min_meta_per > 100 {
            return Err(Failure::argument("Minimum metadata fractions must be between 0 and 100 inclusive"));
        }
        if min_raw_per > 100 {
            return Err(Failure::argument("Minimum raw data fractions must be between 0 and 100 inclusive"));
        }
        if min_meta_per + min_raw_per > 100 {
            return Err(Failure::argument("Sum of minimum metadata and raw data fractions can't be bigger than 100"));
        }
        let names = ["page_buffer_size", "page_buffer_min_meta_perc", "page_buffer_min_raw_perc"];
        change(plist_id, &names, |access| access.page_buffer = (buf_size, min_meta_per, min_raw_per))
    }

    /// Returns the size of the page buffer and the shares of it that metadata and raw data have.
    fn H5Pget_page_buffer_size(plist_id: hid_t, buf_size: Out<usize>, min_meta_perc: Out<c_uint>, min_raw_perc: Out<c_uint>) -> herr_t {
        let (bytes, metadata, raw) = read(plist_id, |access| access.page_buffer)?;
        buf_size.put(bytes);
        min_meta_perc.put(metadata);
        min_raw_perc.put(raw);
        Ok(())
    }

    /// Sets whether a file in memory remembers which of its pages changed.
    fn H5Pset_core_write_tracking(fapl_id: hid_t, is_enabled: bool, page_size: usize) -> herr_t {
        if page_size == 0 {
            return Err(Failure::argument("page_size cannot be zero"));
        }
        change(fapl_id, &[], |access| access.core_write_tracking = Some((is_enabled, page_size)))
    }

    /// Returns whether a file in memory remembers which of its pages changed.
    fn H5Pget_core_write_tracking(fapl_id: hid_t, is_enabled: Out<bool>, page_size: Out<usize>) -> herr_t {
        let (is_tracked, bytes) = read(fapl_id, |access| access.core_write_tracking)?.unwrap_or((false, 524_288));
        is_enabled.put(is_tracked);
        page_size.put(bytes);
        Ok(())
    }
}
