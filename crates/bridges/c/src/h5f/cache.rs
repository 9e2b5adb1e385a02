//! The metadata cache and the page buffer of a file, as far as they can be looked at.

use std::ffi::{c_int, c_uint, c_void};
use std::os::fd::IntoRawFd;
use std::sync::LazyLock;

use hyperslab::extensions::FileImage;
use hyperslab::vol::call;
use hyperslab::vol::model::text::to_path;
use system::sync::Mutex;

use super::FileHandle;
use crate::api;
use crate::arguments::{Out, Values};
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{HADDR_UNDEF, haddr_t, herr_t, hid_t, hsize_t};
use crate::h5p::rows::{H5AC_cache_config_t, cache_config, set_cache_config};
use crate::handles;

/// What a handle that was given to a program points to. It stays where it is until the process ends.
enum FileMemory {
    /// A descriptor of the file.
    Descriptor(Box<c_int>),
    /// The address of the bytes of a file that lies in memory, as the core driver has it.
    Image(Box<*const u8>),
}

// SAFETY: the pointer is to bytes that nobody changes or frees.
unsafe impl Send for FileMemory {}

/// Handles that were given to programs, by the number of their file.
static HANDLES: LazyLock<Mutex<Vec<(u64, FileMemory)>>> = LazyLock::new(Mutex::default);

/// Returns a handle of a file: a pointer to a file descriptor, or to the address of its bytes in memory. Programs look at the
/// file through it; they neither close nor free it.
pub(super) fn vfd_handle(file: &FileHandle) -> Fallible<*mut c_void> {
    let number = file.shared.number;
    let mut known = HANDLES.lock();
    let at = match known.iter().position(|(of, _)| *of == number) {
        Some(at) => at,
        None => {
            known.push((number, file_memory(file)?));
            known.len() - 1
        }
    };
    Ok(match &known[at].1 {
        FileMemory::Descriptor(descriptor) => (&raw const **descriptor).cast_mut().cast(),
        FileMemory::Image(pointer) => (&raw const **pointer).cast_mut().cast(),
    })
}

fn file_memory(file: &FileHandle) -> Fallible<FileMemory> {
    let driver = file.shared.access.driver.as_deref().unwrap_or("posix");
    if driver.starts_with("core") || driver == "image" {
        let image = call::<FileImage>(&**file.container(), &())?;
        // The program may keep the pointer for as long as it likes.
        return Ok(FileMemory::Image(Box::new(image.leak().as_ptr())));
    }
    let opened = std::fs::File::open(to_path(&file.shared.location));
    let opened = opened.map_err(|_| Failure::unsupported("the container is not one file"))?;
    Ok(FileMemory::Descriptor(Box::new(opened.into_raw_fd())))
}

fn cache_bytes(file: &FileHandle) -> usize {
    usize::try_from(file.shared.access.metadata_cache_bytes.unwrap_or(64 << 20)).unwrap_or(usize::MAX)
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
fn check_page_buffer(id: hid_t) -> Fallible<()> {
    match handles::file(id)?.shared.values.read().page_buffer {
        (0, ..) => Err(Failure::new(Major::FILE, Minor::CANTGET, "page buffering is not enabled on file")),
        _ => Ok(()),
    }
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

    /// Sets the configuration of the metadata cache, which is stored and returned.
    fn H5Fset_mdc_config(id: hid_t, config: Values<H5AC_cache_config_t>) -> herr_t {
        let file = handles::file(id)?;
        let config = config.one("config_ptr")?;
        crate::h5p::file_cache::check(config)?;
        set_cache_config(&mut file.shared.values.write(), config);
        Ok(())
    }

    /// Returns how often metadata was read again: never.
    fn H5Fget_metadata_read_retry_info(id: hid_t, info: Out<H5F_retry_info_t>) -> herr_t {
        handles::file(id)?;
        info.put_required(H5F_retry_info_t { nbins: 0, retries: [std::ptr::null_mut(); RETRY_TYPES] }, "retry info")
    }

    /// Returns the hit rate of the metadata cache, which is not counted.
    fn H5Fget_mdc_hit_rate(id: hid_t, rate: Out<f64>) -> herr_t {
        handles::file(id)?;
        rate.put_required(0.0, "hit_rate_ptr")
    }

    /// Counts nothing, so there is nothing to be set back.
    fn H5Freset_mdc_hit_rate_stats(id: hid_t) -> herr_t {
        handles::file(id).map(drop)
    }

    /// Returns the bound of the metadata cache.
    fn H5Fget_mdc_size(id: hid_t, max: Out<usize>, min_clean: Out<usize>, current: Out<usize>, entries: Out<c_int>) -> herr_t {
        let file = handles::file(id)?;
        max.put(cache_bytes(&file));
        min_clean.put(0);
        current.put(0);
        entries.put(0);
        Ok(())
    }

    /// Metadata is not logged.
    fn H5Fstart_mdc_logging(id: hid_t) -> herr_t {
        handles::file(id)?;
        Err::<(), _>(Failure::unsupported("metadata operations are not logged"))
    }

    /// Metadata is not logged.
    fn H5Fstop_mdc_logging(id: hid_t) -> herr_t {
        handles::file(id)?;
        Err::<(), _>(Failure::unsupported("metadata operations are not logged"))
    }

    /// Metadata is not logged.
    fn H5Fget_mdc_logging_status(id: hid_t, is_enabled: Out<bool>, is_logging: Out<bool>) -> herr_t {
        handles::file(id)?;
        is_enabled.put(false);
        is_logging.put(false);
        Ok(())
    }

    /// Returns the place of a cache image: there is none in a file that is open.
    fn H5Fget_mdc_image_info(id: hid_t, address: Out<haddr_t>, size: Out<hsize_t>) -> herr_t {
        handles::file(id)?;
        address.put(HADDR_UNDEF);
        size.put(0);
        Ok(())
    }

    /// Sets the statistics of the page buffer back.
    fn H5Freset_page_buffering_stats(id: hid_t) -> herr_t {
        check_page_buffer(id)
    }

    /// Returns the statistics of the page buffer, of metadata and of raw data: nothing passes through it yet.
    fn H5Fget_page_buffering_stats(
        id: hid_t, accesses: Out<c_uint>, hits: Out<c_uint>, misses: Out<c_uint>, evictions: Out<c_uint>, bypasses: Out<c_uint>,
    ) -> herr_t {
        let all = [accesses, hits, misses, evictions, bypasses];
        all.iter().try_for_each(|counts| counts.check("statistics"))?;
        check_page_buffer(id)?;
        all.iter().for_each(|counts| counts.put_all(&[0, 0], 2));
        Ok(())
    }
}

crate::refused! { FILE:
    /// Files are not opened by several MPI processes yet.
    fn H5Fset_mpi_atomicity(_id: hid_t, _is_atomic: bool) -> herr_t;
    /// Files are not opened by several MPI processes yet.
    fn H5Fget_mpi_atomicity(_id: hid_t, _is_atomic: *mut bool) -> herr_t;
}
