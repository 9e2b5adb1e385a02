//! The values of property lists, one struct for each class, with libhdf5's defaults.
//!
//! Other families ask for the values of a list with the functions of this module; `H5P_DEFAULT` is the default list of the
//! class that is asked for.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;

use hyperslab::vol::CopyOptions;
use hyperslab::vol::model::datatype::Datatype;
use hyperslab::vol::model::properties::{
    AllocTime, ChunkIndexKind, ExternalFile, FileCreate, FillTime, FilterSpec, GroupCreate, ObjectCreate,
};

use crate::arguments::Opaque;
use crate::ffi::{herr_t, hid_t, hsize_t};
use crate::handles::Space;

pub use super::file_access_values::{ConnectorChoice, DriverChoice, FileAccessValues, FlushCallback};

/// Properties that every list of links and names has (`H5P_STRING_CREATE`): 0 is ASCII, 1 is UTF-8.
pub type CharEncoding = c_int;

/// `H5P_FILE_CREATE`
pub type FileCreateValues = FileCreate;
/// `H5P_GROUP_CREATE`
pub type GroupCreateValues = GroupCreate;
/// `H5P_OBJECT_CREATE`, `H5P_DATATYPE_CREATE` and `H5P_MAP_CREATE`
pub type ObjectCreateValues = ObjectCreate;

/// The layout that a program asked for.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum LayoutChoice {
    /// Inside of the object header.
    Compact,
    /// In one piece.
    #[default]
    Contiguous,
    /// In chunks; without a shape the chunks were not set yet.
    Chunked { shape: Vec<u64>, options: c_uint, index: Option<ChunkIndexKind> },
    /// Of elements of other datasets.
    Virtual,
}

/// A mapping of a virtual dataset, with the extents of both selections.
#[derive(Debug, Clone)]
pub struct VirtualMappingChoice {
    pub file: String,
    pub dataset: String,
    pub source: Space,
    pub target: Space,
}

/// A fill value that a program set.
#[derive(Debug, Clone, Default)]
pub enum FillChoice {
    /// The program said that there is none.
    Undefined,
    /// Zeros.
    #[default]
    Default,
    /// An element of a type (in C's form). Values of variable length are on the heap of the list.
    Value(Arc<FillElement>),
}

/// An element in the library's memory datatype (`Datatype::memory_type`) with its heap.
#[derive(Debug)]
pub struct FillElement {
    /// Its type in C's form.
    pub datatype: Datatype,
    /// The element in the memory datatype.
    pub bytes: Vec<u8>,
    /// Values of variable length.
    pub heap: hyperslab::vol::model::Heap,
}

/// `H5P_DATASET_CREATE`
#[derive(Debug, Clone)]
pub struct DatasetCreateValues {
    pub object: ObjectCreate,
    pub layout: LayoutChoice,
    pub filters: Vec<FilterSpec>,
    pub fill: FillChoice,
    pub fill_time: FillTime,
    pub alloc_time: AllocTime,
    pub external: Vec<ExternalFile>,
    pub virtual_mappings: Vec<VirtualMappingChoice>,
    pub no_attributes_hint: bool,
    pub virtual_spatial_tree: bool,
}

impl Default for DatasetCreateValues {
    fn default() -> Self {
        DatasetCreateValues {
            object: ObjectCreate::default(),
            layout: LayoutChoice::default(),
            filters: Vec::new(),
            fill: FillChoice::default(),
            fill_time: FillTime::IfSet,
            alloc_time: AllocTime::Default,
            external: Vec::new(),
            virtual_mappings: Vec::new(),
            no_attributes_hint: false,
            virtual_spatial_tree: true,
        }
    }
}

/// Sizes of a cache of chunks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChunkCache {
    pub slots: usize,
    pub bytes: usize,
    pub preemption: f64,
}

impl ChunkCache {
    /// What stands in a dataset access list for the values of the file.
    pub const OF_FILE: ChunkCache = ChunkCache { slots: usize::MAX, bytes: usize::MAX, preemption: -1.0 };

    /// Returns these values, and those of the file where they are its.
    pub fn or(self, file: ChunkCache) -> ChunkCache {
        let size = |own: usize, of_file: usize| if own == usize::MAX { of_file } else { own };
        ChunkCache {
            slots: size(self.slots, file.slots),
            bytes: size(self.bytes, file.bytes),
            preemption: if self.preemption < 0.0 { file.preemption } else { self.preemption },
        }
    }
}

/// Called when a dataset was extended past a boundary (`H5D_append_cb_t`).
pub type AppendCallback = Option<unsafe extern "C" fn(hid_t, *mut hsize_t, *mut c_void) -> herr_t>;

/// `H5P_DATASET_ACCESS`
#[derive(Debug, Clone)]
pub struct DatasetAccessValues {
    /// `None` is that of the file; single values may be that of the file too (see [`ChunkCache::or`]).
    pub chunk_cache: Option<ChunkCache>,
    /// `H5D_vds_view_t`: 0 first missing, 1 last available.
    pub virtual_first_missing: bool,
    pub virtual_printf_gap: u64,
    pub external_prefix: Option<String>,
    pub virtual_prefix: Option<String>,
    pub append_boundary: Vec<u64>,
    pub append_callback: (AppendCallback, Option<Opaque>),
    /// Whether mappings of a virtual dataset are found by a tree. Stored and returned.
    pub virtual_spatial_tree: bool,
    pub link: LinkAccessValues,
}

impl Default for DatasetAccessValues {
    fn default() -> Self {
        DatasetAccessValues {
            chunk_cache: None,
            virtual_first_missing: false,
            virtual_printf_gap: 0,
            external_prefix: None,
            virtual_prefix: None,
            append_boundary: Vec::new(),
            append_callback: (None, None),
            virtual_spatial_tree: true,
            link: LinkAccessValues::default(),
        }
    }
}

/// Allocates values of variable length (`H5MM_allocate_t`).
pub type AllocateFunction = Option<unsafe extern "C" fn(usize, *mut c_void) -> *mut c_void>;
/// Frees values of variable length (`H5MM_free_t`).
pub type FreeFunction = Option<unsafe extern "C" fn(*mut c_void, *mut c_void)>;
/// `H5T_conv_except_func_t`
pub type ExceptionFunction =
    Option<unsafe extern "C" fn(c_int, hid_t, hid_t, *mut c_void, *mut c_void, *mut c_void) -> c_int>;
/// `H5Z_filter_func_t`
pub type FilterFunction = Option<unsafe extern "C" fn(c_int, *mut c_void, usize, *mut c_void) -> c_int>;

/// `H5P_DATASET_XFER`
#[derive(Debug, Clone)]
pub struct TransferValues {
    pub buffer_bytes: usize,
    pub conversion_buffer: Option<Opaque>,
    pub background_buffer: Option<Opaque>,
    pub preserve: bool,
    pub edc_check: c_int,
    pub btree_ratios: [f64; 3],
    pub hyper_vector_size: usize,
    pub allocate: (AllocateFunction, Option<Opaque>),
    pub free: (FreeFunction, Option<Opaque>),
    pub exception: (ExceptionFunction, Option<Opaque>),
    pub filter_callback: (FilterFunction, Option<Opaque>),
    /// The text of a data transform.
    pub transform: Option<String>,
    pub selection_io: c_int,
    pub modify_write_buffer: bool,
    /// A file selection that `H5S_PLIST` stands for.
    pub plist_selection: Option<Space>,
    pub is_collective: bool,
    pub collective_opt: c_int,
    pub chunk_opt: c_int,
    pub chunk_opt_num: c_uint,
    pub chunk_opt_ratio: c_uint,
    /// What the last transfer with the list did.
    pub outcome: Outcome,
}

/// How processes transferred elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// `H5D_mpio_actual_io_mode_t`
    pub io_mode: c_int,
    /// `H5D_mpio_actual_chunk_opt_mode_t`
    pub chunk_opt: c_int,
    /// Why processes did not transfer together: bits of `H5D_mpio_no_collective_cause_t`.
    pub cause: u32,
}

impl Default for TransferValues {
    fn default() -> Self {
        TransferValues {
            buffer_bytes: 1 << 20,
            conversion_buffer: None,
            background_buffer: None,
            preserve: false,
            edc_check: 1,
            btree_ratios: [0.1, 0.5, 0.9],
            hyper_vector_size: 1024,
            allocate: (None, None),
            free: (None, None),
            exception: (None, None),
            filter_callback: (None, None),
            transform: None,
            selection_io: 0,
            modify_write_buffer: false,
            plist_selection: None,
            is_collective: false,
            collective_opt: 0,
            chunk_opt: 0,
            chunk_opt_num: 0,
            chunk_opt_ratio: 60,
            outcome: Outcome::default(),
        }
    }
}

/// `H5L_elink_traverse_t`
pub type ElinkCallback = Option<
    unsafe extern "C" fn(
        *const std::ffi::c_char,
        *const std::ffi::c_char,
        *const std::ffi::c_char,
        *const std::ffi::c_char,
        *mut c_uint,
        hid_t,
        *mut c_void,
    ) -> herr_t,
>;

/// `H5P_LINK_ACCESS`, and the part of it in lists of groups, datatypes, datasets and maps.
#[derive(Debug, Clone)]
pub struct LinkAccessValues {
    pub traversals_max: usize,
    pub external_prefix: Option<String>,
    /// Access properties of files that external links lead to; `None` is those of the file they are in.
    pub external_access: Option<Arc<FileAccessValues>>,
    /// `H5F_ACC_…`; `None` is that of the file they are in.
    pub external_flags: Option<c_uint>,
    pub external_callback: (ElinkCallback, Option<Opaque>),
    /// Whether processes read metadata together. Stored and returned.
    pub collective_metadata_read: bool,
}

impl Default for LinkAccessValues {
    fn default() -> Self {
        LinkAccessValues {
            traversals_max: 16,
            external_prefix: None,
            external_access: None,
            external_flags: None,
            external_callback: (None, None),
            collective_metadata_read: false,
        }
    }
}

/// `H5P_LINK_CREATE`
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LinkCreateValues {
    pub encoding: CharEncoding,
    pub intermediate_groups: bool,
}

/// `H5P_ATTRIBUTE_CREATE`
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct AttributeCreateValues {
    pub encoding: CharEncoding,
}

/// `H5O_mcdt_search_cb_t`
pub type SearchCallback = Option<unsafe extern "C" fn(*mut c_void) -> c_int>;

/// `H5P_OBJECT_COPY`
#[derive(Debug, Clone, Default)]
pub struct ObjectCopyValues {
    /// The flags as they were set (`H5O_COPY_…`).
    pub flags: c_uint,
    pub merge_paths: Vec<String>,
    pub search: (SearchCallback, Option<Opaque>),
}

impl ObjectCopyValues {
    /// Returns the flags as options of the library.
    pub fn options(&self) -> CopyOptions {
        let is_set = |bit: u32| self.flags & 1 << bit != 0;
        CopyOptions {
            shallow: is_set(0),
            expand_soft_links: is_set(1),
            expand_external_links: is_set(2),
            expand_references: is_set(3),
            without_attributes: is_set(4),
            merge_committed_types: is_set(6),
        }
    }
}

/// `H5P_FILE_MOUNT`
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct FileMountValues {
    pub is_local: bool,
}

/// `H5P_MAP_ACCESS`
#[derive(Debug, Clone)]
pub struct MapAccessValues {
    pub key_prefetch: usize,
    pub key_alloc_bytes: usize,
    pub link: LinkAccessValues,
}

impl Default for MapAccessValues {
    fn default() -> Self {
        MapAccessValues {
            key_prefetch: 16 << 10,
            key_alloc_bytes: 1 << 20,
            link: LinkAccessValues::default(),
        }
    }
}
