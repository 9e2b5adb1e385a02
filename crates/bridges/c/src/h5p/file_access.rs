//! Properties of access to files.

use std::ffi::{c_int, c_uint, c_void};

use hyperslab::vol::LibVersion;

use super::class::Kind;
use super::link::{data, pointer};
use super::list;
use super::object::out_of_range;
use super::rows::{version, version_number};
use super::values::{ChunkCache, FileAccessValues, FlushCallback};
use crate::api;
use crate::arguments::Out;
use crate::failure::{Failure, Fallible};
use crate::ffi::{herr_t, hid_t, hsize_t};

/// `H5F_RFIC_UNUSUAL_NUM_UNUSED_NUMERIC_BITS`
const RELAXED_CHECKS: u64 = 1;

pub(super) fn read<T>(id: hid_t, read: impl FnOnce(&FileAccessValues) -> T) -> Fallible<T> {
    list::get(id, Kind::FileAccess, |values| values.access_ref().map(read))
}

pub(super) fn change<T>(
    id: hid_t,
    names: &[&str],
    change: impl FnOnce(&mut FileAccessValues) -> T,
) -> Fallible<T> {
    list::set(id, Kind::FileAccess, names, |values| values.access().map(change))
}

/// Defines a setter and a getter of one field.
macro_rules! field {
    ($($(#[$doc:meta])* $set:ident, $get:ident, $name:literal, $field:ident : $ty:ty;)+) => {
        api! { PLIST: $(
            #[doc = concat!("Sets ", $(stringify!($doc),)* " `", $name, "`.")]
            fn $set(fapl_id: hid_t, value: $ty) -> herr_t {
                change(fapl_id, &[$name], |access| access.$field = value)
            }

            #[doc = concat!("Returns `", $name, "`.")]
            fn $get(fapl_id: hid_t, value: Out<$ty>) -> herr_t {
                let found = read(fapl_id, |access| access.$field)?;
                value.put(found);
                Ok(())
            }
        )+ }
    };
}

field! {
    H5Pset_meta_block_size, H5Pget_meta_block_size, "meta_block_size", metadata_block_bytes: hsize_t;
    H5Pset_small_data_block_size, H5Pget_small_data_block_size, "sdata_block_size", small_data_block_bytes: hsize_t;
    H5Pset_sieve_buf_size, H5Pget_sieve_buf_size, "sieve_buf_size", sieve_buffer_bytes: usize;
    H5Pset_gc_references, H5Pget_gc_references, "gc_ref", garbage_collect_references: c_uint;
    H5Pset_family_offset, H5Pget_family_offset, "family_offset", family_offset: hsize_t;
    H5Pset_multi_type, H5Pget_multi_type, "multi_type", multi_type: c_int;
    H5Pset_evict_on_close, H5Pget_evict_on_close, "evict_on_close_flag", is_evicted_on_close: bool;
    H5Pset_elink_file_cache_size, H5Pget_elink_file_cache_size, "efc_size", external_file_cache: c_uint;
    H5Pset_fclose_degree, H5Pget_fclose_degree, "close_degree", close_degree: c_int;
}

fn bounds(low: c_int, high: c_int) -> Fallible<(LibVersion, LibVersion)> {
    let low = version(low).ok_or_else(|| out_of_range("low bound is not valid"))?;
    let high = version(high).ok_or_else(|| out_of_range("high bound is not valid"))?;
    if high == LibVersion::Earliest || low > high {
        return Err(Failure::argument("Invalid (low,high) combination of library version bound"));
    }
    Ok((low, high))
}

api! { PLIST:
    /// Sets the generations of the file format that may be written.
    fn H5Pset_libver_bounds(plist_id: hid_t, low: c_int, high: c_int) -> herr_t {
        let (low, high) = bounds(low, high)?;
        change(plist_id, &["libver_low_bound", "libver_high_bound"], |access| {
            (access.version_low, access.version_high) = (low, high);
        })
    }

    /// Returns the generations of the file format that may be written.
    fn H5Pget_libver_bounds(plist_id: hid_t, low: Out<c_int>, high: Out<c_int>) -> herr_t {
        let (from, to) = read(plist_id, |access| (access.version_low, access.version_high))?;
        low.put(version_number(from));
        high.put(version_number(to));
        Ok(())
    }

    /// Sets the alignment of objects in the file.
    fn H5Pset_alignment(fapl_id: hid_t, threshold: hsize_t, alignment: hsize_t) -> herr_t {
        if alignment < 1 {
            return Err(Failure::argument("alignment must be positive"));
        }
        change(fapl_id, &["threshold", "align"], |access| {
            (access.alignment_threshold, access.alignment) = (threshold, alignment);
        })
    }

    /// Returns the alignment of objects in the file.
    fn H5Pget_alignment(fapl_id: hid_t, threshold: Out<hsize_t>, alignment: Out<hsize_t>) -> herr_t {
        let (from, bytes) = read(fapl_id, |access| (access.alignment_threshold, access.alignment))?;
        threshold.put(from);
        alignment.put(bytes);
        Ok(())
    }

    /// Sets the sizes of caches of chunks.
    fn H5Pset_cache(plist_id: hid_t, _mdc_nelmts: c_int, rdcc_nslots: usize, rdcc_nbytes: usize, rdcc_w0: f64) -> herr_t {
        if !(0.0..=1.0).contains(&rdcc_w0) {
            return Err(Failure::argument("raw data cache w0 value must be between 0.0 and 1.0 inclusive"));
        }
        let cache = ChunkCache { slots: rdcc_nslots, bytes: rdcc_nbytes, preemption: rdcc_w0 };
        change(plist_id, &["rdcc_nslots", "rdcc_nbytes", "rdcc_w0"], |access| access.chunk_cache = cache)
    }

    /// Returns the sizes of caches of chunks.
    fn H5Pget_cache(plist_id: hid_t, mdc_nelmts: Out<c_int>, rdcc_nslots: Out<usize>, rdcc_nbytes: Out<usize>, rdcc_w0: Out<f64>) -> herr_t {
        let cache = read(plist_id, |access| access.chunk_cache)?;
        // No longer used, as in libhdf5.
        mdc_nelmts.put(0);
        rdcc_nslots.put(cache.slots);
        rdcc_nbytes.put(cache.bytes);
        rdcc_w0.put(cache.preemption);
        Ok(())
    }

    /// Sets whether files are locked.
    fn H5Pset_file_locking(fapl_id: hid_t, use_file_locking: bool, ignore_when_disabled: bool) -> herr_t {
        change(fapl_id, &["use_file_locking", "ignore_disabled_file_locks"], |access| {
            access.locking = Some((use_file_locking, ignore_when_disabled));
        })
    }

    /// Returns whether files are locked.
    fn H5Pget_file_locking(fapl_id: hid_t, use_file_locking: Out<bool>, ignore_when_disabled: Out<bool>) -> herr_t {
        let (is_used, is_ignored) = read(fapl_id, |access| access.locking)?.unwrap_or((true, true));
        use_file_locking.put(is_used);
        ignore_when_disabled.put(is_ignored);
        Ok(())
    }

    /// Sets how often metadata is read again whose checksum is wrong.
    fn H5Pset_metadata_read_attempts(plist_id: hid_t, attempts: c_uint) -> herr_t {
        if attempts == 0 {
            return Err(Failure::argument("number of metadatata read attempts must be greater than 0"));
        }
        change(plist_id, &["metadata_read_attempts"], |access| access.metadata_read_attempts = attempts)
    }

    /// Returns how often metadata is read again whose checksum is wrong.
    fn H5Pget_metadata_read_attempts(plist_id: hid_t, attempts: Out<c_uint>) -> herr_t {
        // 0 is none that was set: metadata is read once.
        attempts.put(read(plist_id, |access| access.metadata_read_attempts)?.max(1));
        Ok(())
    }

    /// Sets a function that is called when an object is flushed.
    fn H5Pset_object_flush_cb(plist_id: hid_t, func: FlushCallback, udata: *mut c_void) -> herr_t {
        if func.is_none() && !udata.is_null() {
            return Err(Failure::argument("callback is NULL while user data is not"));
        }
        change(plist_id, &["object_flush_cb"], |access| access.object_flush = (func, pointer(udata)))
    }

    /// Returns the function that is called when an object is flushed.
    fn H5Pget_object_flush_cb(plist_id: hid_t, func: Out<FlushCallback>, udata: Out<*mut c_void>) -> herr_t {
        let callback = read(plist_id, |access| access.object_flush)?;
        func.put(callback.0);
        udata.put(data(callback.1));
        Ok(())
    }

    /// Sets which oddities of files are accepted.
    fn H5Pset_relax_file_integrity_checks(plist_id: hid_t, flags: u64) -> herr_t {
        // All flags at once ask for all that there are.
        if flags & !RELAXED_CHECKS != 0 && flags != u64::MAX {
            return Err(Failure::argument("invalid flags"));
        }
        change(plist_id, &["rfic_flags"], |access| access.relaxed_checks = flags)
    }

    /// Returns which oddities of files are accepted.
    fn H5Pget_relax_file_integrity_checks(plist_id: hid_t, flags: Out<u64>) -> herr_t {
        flags.put(read(plist_id, |access| access.relaxed_checks)?);
        Ok(())
    }
}
