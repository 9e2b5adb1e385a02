//! The values of file access lists.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;

use hyperslab::vol::LibVersion;

use super::values::ChunkCache;
use crate::arguments::Opaque;
use crate::ffi::{herr_t, hid_t};

/// The virtual file driver of a file.
#[derive(Debug, Clone)]
pub struct DriverChoice {
    /// The identifier that the program set.
    pub driver: Arc<crate::h5fd::DriverHandle>,
    /// The driver as the registry finds it (`family{member_bytes=1024}`), for drivers of the library.
    pub text: Option<String>,
    /// The driver's own properties as C passes them, for `H5Pget_driver_info` and for drivers of programs.
    pub info: Option<Arc<crate::h5fd::DriverInfo>>,
}

/// The connector of a file.
#[derive(Debug, Clone)]
pub struct ConnectorChoice {
    pub connector: Arc<crate::h5vl::ConnectorHandle>,
    /// The connector's own properties as text.
    pub info: Option<String>,
}

/// `H5F_flush_cb_t`
pub type FlushCallback = Option<unsafe extern "C" fn(hid_t, *mut c_void) -> herr_t>;

/// `H5P_FILE_ACCESS`
#[derive(Debug, Clone)]
pub struct FileAccessValues {
    /// `None` is the default driver.
    pub driver: Option<DriverChoice>,
    /// `None` is the default connector.
    pub connector: Option<ConnectorChoice>,
    /// Communicator and hints of files that many processes have open together.
    pub mpi: crate::mpi::Choice,
    pub version_low: LibVersion,
    pub version_high: LibVersion,
    /// `H5F_close_degree_t`
    pub close_degree: c_int,
    pub chunk_cache: ChunkCache,
    pub alignment_threshold: u64,
    pub alignment: u64,
    pub metadata_block_bytes: u64,
    pub small_data_block_bytes: u64,
    pub sieve_buffer_bytes: usize,
    pub garbage_collect_references: c_uint,
    pub family_offset: u64,
    pub multi_type: c_int,
    pub is_evicted_on_close: bool,
    pub external_file_cache: c_uint,
    /// `H5Pset_file_locking`; `None` is as the environment says, or best effort.
    pub locking: Option<(bool, bool)>,
    pub core_write_tracking: Option<(bool, usize)>,
    /// The initial content of a file of the `core` driver.
    pub image: Option<Arc<super::file_image::FileImage>>,
    /// The program's functions for the memory of images (`H5Pset_file_image_callbacks`).
    pub image_callbacks: Option<Arc<super::file_image::ImageCallbacks>>,
    /// `H5AC_cache_config_t` as it was set; `None` is the default.
    pub metadata_cache: Option<Arc<Vec<u8>>>,
    pub metadata_cache_image: Option<(bool, bool, c_int)>,
    pub metadata_log: Option<(bool, String, bool)>,
    pub metadata_read_attempts: c_uint,
    pub object_flush: (FlushCallback, Option<Opaque>),
    pub page_buffer: (usize, c_uint, c_uint),
    pub relaxed_checks: u64,
    pub collective_metadata_read: bool,
    pub collective_metadata_write: bool,
}

impl Default for FileAccessValues {
    fn default() -> Self {
        FileAccessValues {
            driver: None,
            connector: None,
            mpi: None,
            version_low: LibVersion::V18,
            version_high: LibVersion::LATEST,
            close_degree: 0,
            chunk_cache: ChunkCache { slots: 8191, bytes: 8 << 20, preemption: 0.75 },
            alignment_threshold: 1,
            alignment: 1,
            metadata_block_bytes: 2048,
            small_data_block_bytes: 2048,
            sieve_buffer_bytes: 64 << 10,
            garbage_collect_references: 0,
            family_offset: 0,
            multi_type: 0,
            is_evicted_on_close: false,
            external_file_cache: 0,
            locking: None,
            core_write_tracking: None,
            image: None,
            image_callbacks: None,
            metadata_cache: None,
            metadata_cache_image: None,
            metadata_log: None,
            metadata_read_attempts: 0,
            object_flush: (None, None),
            page_buffer: (0, 0, 0),
            relaxed_checks: 0,
            collective_metadata_read: false,
            collective_metadata_write: false,
        }
    }
}
