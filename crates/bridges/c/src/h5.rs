//! H5: the library as a whole.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use system::sync::Mutex;

use crate::api;
use crate::arguments::{Opaque, Out};
use crate::failure::Failure;
use crate::ffi::{allocate, free, herr_t};

/// The version of HDF5 whose interface this is. `HYPERSLAB_HDF5_VERSION` sets what programs see.
const VERSION: (c_uint, c_uint, c_uint) = (2, 2, 0);

/// The oldest and the newest major and minor version of headers that a program may have been built with.
const HEADERS: ((c_uint, c_uint), (c_uint, c_uint)) = ((1, 10), (2, c_uint::MAX));

/// Whether the library is ready, as headers look at it: it always is.
#[unsafe(no_mangle)]
pub static H5_libinit_g: AtomicBool = AtomicBool::new(true);

/// Whether the library is being ended.
#[unsafe(no_mangle)]
pub static H5_libterm_g: AtomicBool = AtomicBool::new(false);

/// `H5_alloc_stats_t` of 1.10 to 1.14.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct H5_alloc_stats_t {
    pub total_alloc_bytes: u64,
    pub curr_alloc_bytes: usize,
    pub peak_alloc_bytes: usize,
    pub max_block_size: usize,
    pub total_alloc_blocks_count: usize,
    pub curr_alloc_blocks_count: usize,
    pub peak_alloc_blocks_count: usize,
}

/// The oldest version of headers that a program of this process was built with, as far as it is known.
static OLDEST_PROGRAM: AtomicU64 = AtomicU64::new(u64::MAX);

/// Returns a version as a number, so that later ones are larger.
fn number_of(major: c_uint, minor: c_uint, release: c_uint) -> u64 {
    u64::from(major.min(0xffff)) << 32 | u64::from(minor.min(0xffff)) << 16 | u64::from(release.min(0xffff))
}

/// Returns whether all programs of this process were built with headers of a version, or later ones.
pub(crate) fn is_known_to_programs(major: c_uint, minor: c_uint, release: c_uint) -> bool {
    OLDEST_PROGRAM.load(Ordering::Relaxed) >= number_of(major, minor, release)
}

type AtClose = Option<unsafe extern "C" fn(*mut c_void)>;

static AT_CLOSE: Mutex<Vec<(AtClose, Opaque)>> = Mutex::new(Vec::new());
static EXITS_SILENTLY: AtomicBool = AtomicBool::new(false);
static AT_EXIT: Once = Once::new();

/// Returns the version that programs see.
pub(crate) fn version() -> (c_uint, c_uint, c_uint) {
    let text = std::env::var("HYPERSLAB_HDF5_VERSION").unwrap_or_default();
    let numbers: Vec<c_uint> = text.split('.').filter_map(|part| part.parse().ok()).collect();
    match numbers[..] {
        [major, minor, release] => (major, minor, release),
        _ => VERSION,
    }
}

pub(crate) fn version_text() -> String {
    let (major, minor, release) = version();
    format!("{major}.{minor}.{release}")
}

/// Closes everything when the process ends, as libhdf5 does, and notes when it is forked. Called when the first file is opened.
pub(crate) fn close_at_exit() {
    extern "C" fn in_child() {
        system::process::note_fork();
    }
    extern "C" fn at_exit() {
        if !EXITS_SILENTLY.load(Ordering::Relaxed) {
            end();
        }
    }
    AT_EXIT.call_once(|| {
        // SAFETY: the function takes nothing and does not unwind: `end` catches panics.
        unsafe { libc::atexit(at_exit) };
        // SAFETY: the function only adds to a number.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    });
}

/// Commits and closes everything that is open.
pub(crate) fn end() {
    H5_libterm_g.store(true, Ordering::Relaxed);
    let _ = std::panic::catch_unwind(|| {
        let functions = std::mem::take(&mut *AT_CLOSE.lock());
        for (function, data) in functions.into_iter().rev() {
            if let Some(function) = function {
                // SAFETY: the program registered both, for each other.
                unsafe { function(data.0) };
            }
        }
        crate::h5f::close_all();
    });
    H5_libterm_g.store(false, Ordering::Relaxed);
}

api! { LIB:
    /// Makes the library ready. It always is.
    fn H5open() -> herr_t {
        crate::globals::restore();
        Ok(())
    }

    /// Commits and closes everything that is open.
    fn H5close() -> herr_t {
        end();
        Ok(())
    }

    /// Registers a function that is called when the library ends.
    fn H5atclose(function: AtClose, data: *mut c_void) -> herr_t {
        if function.is_none() {
            return Err(Failure::argument("NULL func pointer"));
        }
        close_at_exit();
        AT_CLOSE.lock().push((function, Opaque(data)));
        Ok(())
    }

    /// Leaves what is open alone when the process ends.
    fn H5dont_atexit() -> herr_t {
        EXITS_SILENTLY.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// There are no free lists to be collected.
    fn H5garbage_collect() -> herr_t {
        Ok(())
    }

    /// There are no free lists to be limited.
    fn H5set_free_list_limits(_a: c_int, _b: c_int, _c: c_int, _d: c_int, _e: c_int, _f: c_int) -> herr_t {
        Ok(())
    }

    /// Returns the sizes of free lists: there are none.
    fn H5get_free_list_sizes(regular: Out<usize>, arrays: Out<usize>, blocks: Out<usize>, factories: Out<usize>) -> herr_t {
        [regular, arrays, blocks, factories].into_iter().for_each(|size| size.put(0));
        Ok(())
    }

    /// Returns how much memory is allocated, which is not counted: libhdf5 returns zeros too, unless it is built for it.
    fn H5get_alloc_stats(stats: Out<H5_alloc_stats_t>) -> herr_t {
        stats.put_required(H5_alloc_stats_t::default(), "stats")
    }

    /// Returns the version of HDF5 that this is.
    fn H5get_libversion(major: Out<c_uint>, minor: Out<c_uint>, release: Out<c_uint>) -> herr_t {
        let version = version();
        major.put(version.0);
        minor.put(version.1);
        release.put(version.2);
        Ok(())
    }

    /// Accepts programs that were built with headers from 1.10 on.
    fn H5check_version(major: c_uint, minor: c_uint, release: c_uint) -> herr_t {
        let (oldest, newest) = HEADERS;
        if (major, minor) < oldest || (major, minor) > newest {
            return Err(Failure::argument(format!(
                "the program was built for HDF5 {major}.{minor}.{release}; this library knows 1.10 to 2"
            )));
        }
        OLDEST_PROGRAM.fetch_min(number_of(major, minor, release), Ordering::Relaxed);
        Ok(())
    }

    /// Says whether the library is being ended.
    fn H5is_library_terminating(is_terminating: Out<bool>) -> herr_t {
        is_terminating.put_required(H5_libterm_g.load(Ordering::Relaxed), "is_terminating")
    }

    /// Every function may be called from every thread.
    fn H5is_library_threadsafe(is_threadsafe: Out<bool>) -> herr_t {
        is_threadsafe.put(true);
        Ok(())
    }

    /// Frees memory that the library returned.
    fn H5free_memory(memory: *mut c_void) -> herr_t {
        // SAFETY: the program passes memory that the library allocated, once.
        unsafe { free(memory) };
        Ok(())
    }

    /// Allocates memory that the library frees.
    fn H5allocate_memory(bytes: usize, clear: bool) -> *mut c_void {
        if bytes == 0 {
            return Ok(std::ptr::null_mut());
        }
        let memory = allocate(bytes);
        if clear && !memory.is_null() {
            // SAFETY: there are `bytes` bytes.
            unsafe { memory.cast::<u8>().write_bytes(0, bytes) };
        }
        Ok(memory)
    }

    /// Changes the size of memory that `H5allocate_memory` returned.
    fn H5resize_memory(memory: *mut c_void, bytes: usize) -> *mut c_void {
        if bytes == 0 {
            // SAFETY: the program passes memory that the library allocated, once.
            unsafe { free(memory) };
            return Ok(std::ptr::null_mut());
        }
        // SAFETY: as above.
        Ok(unsafe { libc::realloc(memory, bytes) })
    }
}

crate::refused! { LIB:
    /// There is no global lock to be taken.
    fn H5TSmutex_acquire(_count: c_uint, _is_acquired: *mut bool) -> herr_t;
    /// There is no global lock to be given back.
    fn H5TSmutex_release(_count: *mut c_uint) -> herr_t;
    /// There is no global lock to be counted.
    fn H5TSmutex_get_attempt_count(_count: *mut c_uint) -> herr_t;
}
