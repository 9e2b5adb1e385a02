//! The metadata cache and the page buffer of a file.

use std::ffi::{c_int, c_uint};

use hyperslab::extensions::{
    LogMetadataCache, MetadataCache, PageBufferStatistics, ResetMetadataCacheCounts,
    ResetPageBufferStatistics, SetMetadataCacheBytes,
};
use hyperslab::vol::call;

use super::FileHandle;
use crate::api;
use crate::arguments::{Out, Values};
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{HADDR_UNDEF, haddr_t, herr_t, hid_t, hsize_t};
use crate::h5p::file_cache::cache_bytes;
use crate::h5p::rows::{H5AC_cache_config_t, cache_config, set_cache_config};
use crate::handles;

/// Returns the metadata cache of a file. Containers that are no HDF5 files have none.
fn metadata_cache(file: &FileHandle) -> MetadataCache {
    call::<MetadataCache>(&**file.container(), &()).unwrap_or_default()
}

fn to_size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// Starts or stops the log of the metadata cache, in the words of libhdf5.
fn log(id: hid_t, choice: u64, text: &'static str) -> Fallible<()> {
    let file = handles::file(id)?;
    let done = call::<LogMetadataCache>(&**file.container(), &choice);
    done.map_err(|error| Failure {
        cause: Some(Box::new(error)),
        ..Failure::new(Major::CACHE, Minor::LOGGING, text)
    })
}

/// `H5F_retry_info_t`
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct H5F_retry_info_t {
    nbins: c_uint,
    retries: [*mut u32; RETRY_TYPES],
}

/// Kinds of metadata whose reads may be repeated.
const RETRY_TYPES: usize = 21;

/// Returns an error where a file was opened without a page buffer.
fn check_page_buffer(file: &FileHandle, text: &'static str) -> Fallible<()> {
    match file.shared.values.read().page_buffer {
        (0, ..) => Err(Failure::new(Major::FILE, Minor::CANTGET, text)),
        _ => Ok(()),
    }
}

/// Returns accesses, hits, misses, evictions and bypasses, each of metadata and of raw data.
fn page_counts(found: &PageBufferStatistics) -> [[c_uint; 2]; 5] {
    let pairs = [
        [found.metadata_accesses, found.raw_accesses],
        [found.metadata_hits, found.raw_hits],
        [found.metadata_misses, found.raw_misses],
        [found.metadata_evictions, found.raw_evictions],
        [found.metadata_bypasses, found.raw_bypasses],
    ];
    pairs.map(|pair| pair.map(|count| c_uint::try_from(count).unwrap_or(c_uint::MAX)))
}

api! { FILE:
    /// Returns the configuration of the metadata cache, as it was set.
    fn H5Fget_mdc_config(id: hid_t, config: Out<H5AC_cache_config_t>) -> herr_t {
        let file = handles::file(id)?;
        let given = config.get().ok_or_else(|| Failure::argument("NULL config_ptr on entry"))?;
        let known = cache_config(&file.shared.values.read());
        if given.version != known.version {
            return Err(Failure::argument("Unknown config version"));
        }
        config.put(known);
        Ok(())
    }

    /// Sets the configuration of the metadata cache. Its size is bounded from now on; the rest is stored and returned.
    fn H5Fset_mdc_config(id: hid_t, config: Values<H5AC_cache_config_t>) -> herr_t {
        let file = handles::file(id)?;
        let config = config.one("config_ptr")?;
        crate::h5p::file_cache::check(config)?;
        set_cache_config(&mut file.shared.values.write(), config);
        if let Some(bytes) = cache_bytes(&file.shared.values.read())
            && let Err(error) = call::<SetMetadataCacheBytes>(&**file.container(), &bytes)
            && error.kind() != hyperslab::Kind::Unsupported
        {
            return Err(error.into());
        }
        Ok(())
    }

    /// Returns how often metadata was read again: never.
    fn H5Fget_metadata_read_retry_info(id: hid_t, info: Out<H5F_retry_info_t>) -> herr_t {
        handles::file(id)?;
        info.put_required(H5F_retry_info_t { nbins: 0, retries: [std::ptr::null_mut(); RETRY_TYPES] }, "retry info")
    }

    /// Returns the share of look-ups in the metadata cache that found something.
    fn H5Fget_mdc_hit_rate(id: hid_t, rate: Out<f64>) -> herr_t {
        let cache = metadata_cache(&*handles::file(id)?);
        rate.put_required(if cache.accesses == 0 { 0.0 } else { cache.hits as f64 / cache.accesses as f64 }, "hit_rate_ptr")
    }

    /// Counts look-ups in the metadata cache from zero on.
    fn H5Freset_mdc_hit_rate_stats(id: hid_t) -> herr_t {
        let file = handles::file(id)?;
        match call::<ResetMetadataCacheCounts>(&**file.container(), &()) {
            Err(error) if error.kind() != hyperslab::Kind::Unsupported => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Returns the bound of the metadata cache, and what is in it.
    fn H5Fget_mdc_size(id: hid_t, max: Out<usize>, min_clean: Out<usize>, current: Out<usize>, entries: Out<c_int>) -> herr_t {
        let file = handles::file(id)?;
        let cache = metadata_cache(&file);
        let clean = cache_config(&file.shared.values.read()).min_clean_fraction * cache.bytes_max as f64;
        max.put(to_size(cache.bytes_max));
        min_clean.put(clean as usize);
        current.put(to_size(cache.bytes));
        entries.put(c_int::try_from(cache.entries).unwrap_or(c_int::MAX));
        Ok(())
    }

    /// Starts to log what happens in the metadata cache.
    fn H5Fstart_mdc_logging(id: hid_t) -> herr_t {
        log(id, 1, "unable to start mdc logging")
    }

    /// Stops the log of the metadata cache.
    fn H5Fstop_mdc_logging(id: hid_t) -> herr_t {
        log(id, 0, "unable to stop mdc logging")
    }

    /// Returns whether a file has a log of its metadata cache, and whether it is written.
    fn H5Fget_mdc_logging_status(id: hid_t, is_enabled: Out<bool>, is_logging: Out<bool>) -> herr_t {
        let cache = metadata_cache(&*handles::file(id)?);
        is_enabled.put(cache.has_log != 0);
        is_logging.put(cache.is_logging != 0);
        Ok(())
    }

    /// Returns the place of the cache image. A file that is open for writing has none any more.
    fn H5Fget_mdc_image_info(id: hid_t, address: Out<haddr_t>, size: Out<hsize_t>) -> herr_t {
        let cache = metadata_cache(&*handles::file(id)?);
        address.put(if cache.image_bytes == 0 { HADDR_UNDEF } else { cache.image_address });
        size.put(cache.image_bytes);
        Ok(())
    }

    /// Sets the statistics of the page buffer back.
    fn H5Freset_page_buffering_stats(id: hid_t) -> herr_t {
        let file = handles::file(id)?;
        check_page_buffer(&file, "Can't reset stats for page buffering (page buffering not enabled on file)")?;
        Ok(call::<ResetPageBufferStatistics>(&**file.container(), &())?)
    }

    /// Returns the statistics of the page buffer, of metadata and of raw data: what was read through it.
    fn H5Fget_page_buffering_stats(
        id: hid_t, accesses: Out<c_uint>, hits: Out<c_uint>, misses: Out<c_uint>, evictions: Out<c_uint>, bypasses: Out<c_uint>,
    ) -> herr_t {
        let all = [accesses, hits, misses, evictions, bypasses];
        all.iter().try_for_each(|counts| counts.check("statistics"))?;
        let file = handles::file(id)?;
        check_page_buffer(&file, "Can't retrieve stats for page buffering (page buffering not enabled on file)")?;
        let found = page_counts(&call::<PageBufferStatistics>(&**file.container(), &())?);
        all.iter().zip(found).for_each(|(counts, found)| counts.put_all(&found, 2));
        Ok(())
    }
}
