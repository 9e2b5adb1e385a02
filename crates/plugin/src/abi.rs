//! The C interface, version 1, as `include/hyperslab_connector.h` has it.

use std::ffi::{c_char, c_void};

/// The version of this interface.
pub const ABI: u32 = 1;

/// The symbol of a plugin: a function without arguments that returns a pointer to its [`Table`].
pub const SYMBOL: &str = "hyperslab_connector_v1";

/// The plugin stores containers.
pub const KIND_CONNECTOR: u32 = 1;
/// The plugin puts something over containers.
pub const KIND_LAYER: u32 = 2;

/// The plugin is a filter of chunks.
pub const KIND_FILTER: u32 = 3;

/// The plugin is a virtual file driver.
pub const KIND_DRIVER: u32 = 4;

/// An operation went well.
pub const OK: i32 = 0;
/// An operation failed; the bytes of its answer are the error.
pub const FAILED: i32 = 1;

/// Codes of requests to a connector or layer.
pub mod connector {
    /// Creates a container.
    pub const CREATE: u32 = 1;
    /// Opens a container.
    pub const OPEN: u32 = 2;
    /// Removes a container.
    pub const REMOVE: u32 = 3;
    /// Whether there is a container.
    pub const IS_ACCESSIBLE: u32 = 4;
    /// Puts a layer over a container.
    pub const WRAP: u32 = 5;
}

/// Codes of requests to a filter.
pub mod filter {
    /// Applies the filter to a chunk.
    pub const ENCODE: u32 = 1;
    /// Undoes the filter.
    pub const DECODE: u32 = 2;
}

/// Codes of requests to a virtual file driver.
pub mod driver {
    /// Creates a file, or opens the one that is there.
    pub const CREATE: u32 = 1;
    /// Opens a file.
    pub const OPEN: u32 = 2;
    /// Deletes a file.
    pub const DELETE: u32 = 3;
    /// Whether a file could be created.
    pub const CHECK_CREATE: u32 = 4;
}

/// Codes of requests to a file of a driver.
pub mod file {
    /// Reads at an offset.
    pub const READ_AT: u32 = 1;
    /// Writes at an offset.
    pub const WRITE_AT: u32 = 2;
    /// The length.
    pub const LEN: u32 = 3;
    /// Cuts or extends.
    pub const SET_LEN: u32 = 4;
    /// Makes earlier writes durable.
    pub const SYNC: u32 = 5;
    /// Takes or releases a lock.
    pub const LOCK: u32 = 6;
    /// What names the file in this process.
    pub const IDENTITY: u32 = 7;
}

/// Codes of requests to a resolver.
pub mod resolver {
    /// Another container, to read.
    pub const CONTAINER: u32 = 1;
    /// Another container, to change.
    pub const CONTAINER_FOR_WRITING: u32 = 2;
    /// A file of raw data.
    pub const BYTES: u32 = 3;
}

/// Codes of requests to a file of raw data.
pub mod raw {
    /// Reads at an offset.
    pub const READ_AT: u32 = 1;
    /// Writes at an offset.
    pub const WRITE_AT: u32 = 2;
}

/// Codes of requests to a registry.
pub mod registry {
    /// Its connectors.
    pub const CONNECTORS: u32 = 1;
    /// Its layers.
    pub const LAYERS: u32 = 2;
    /// One connector, by name.
    pub const CONNECTOR: u32 = 3;
    /// One layer, by name.
    pub const LAYER: u32 = 4;
}

/// Bytes to read.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Bytes {
    /// The first; of no meaning where there are none.
    pub data: *const u8,
    /// How many.
    pub length: u64,
}

/// Bytes to write.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct OutBuffer {
    /// The first; of no meaning where there are none.
    pub data: *mut u8,
    /// How many.
    pub length: u64,
}

/// Answers a request to `this`. Called from any thread, and from many at once.
pub type Call = unsafe extern "C" fn(this: *mut c_void, request: *const Request, answer: *mut Answer) -> i32;

/// Counts one holder more, or one less.
pub type Count = unsafe extern "C" fn(this: *mut c_void);

/// Something that answers requests: a container, a resolver, a file of raw data, a registry, a connector.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Object {
    /// The first argument of the functions.
    pub this: *mut c_void,
    /// Answers a request.
    pub call: Option<Call>,
    /// One holder more.
    pub retain: Option<Count>,
    /// One holder less; after the last no one calls it.
    pub release: Option<Count>,
}

impl Object {
    /// No object.
    pub const NONE: Object = Object { this: std::ptr::null_mut(), call: None, retain: None, release: None };
}

/// A request. All of it is lent for the time of the call.
#[repr(C)]
#[derive(Debug)]
pub struct Request {
    /// Bytes of this structure.
    pub size: u32,
    /// The code of the request.
    pub code: u32,
    /// Arguments.
    pub arguments: Bytes,
    /// Byte strings.
    pub bulk: *const Bytes,
    /// How many.
    pub bulk_count: u64,
    /// Space for elements.
    pub into: *const OutBuffer,
    /// How many.
    pub into_count: u64,
    /// For a layer: the inner container.
    pub inner: *const Object,
    /// Opens what a container refers to; null where nothing may be opened.
    pub resolver: *const Object,
    /// Other connectors; may be null.
    pub registry: *const Object,
}

/// Where an answer goes.
#[repr(C)]
#[derive(Debug)]
pub struct Answer {
    /// The first argument of the functions.
    pub this: *mut c_void,
    /// Space for the next bytes of the answer, valid until the next call; null where there is no memory.
    pub bytes: Option<unsafe extern "C" fn(this: *mut c_void, length: u64) -> *mut u8>,
    /// Space for the next byte string, valid until the call returns; null where there is no memory.
    pub bulk: Option<unsafe extern "C" fn(this: *mut c_void, length: u64) -> *mut u8>,
    /// An object that was asked for, which now is the caller's to release.
    pub object: Object,
}

/// The description of a plugin. It stays where it is, unchanged, for the rest of the process.
#[repr(C)]
#[derive(Debug)]
pub struct Table {
    /// [`ABI`].
    pub abi: u32,
    /// Bytes of this structure.
    pub size: u32,
    /// [`protocol::wire::VERSION`].
    pub wire: u32,
    /// [`KIND_CONNECTOR`], [`KIND_LAYER`], [`KIND_FILTER`] or [`KIND_DRIVER`].
    pub kind: u32,
    /// Unique number.
    pub value: u32,
    /// Version of the plugin.
    pub version: u32,
    /// [`vol::Capability::to_bits`].
    pub capability: u64,
    /// Unique name.
    pub name: *const c_char,
    /// One line for people.
    pub about: *const c_char,
    /// The first argument of the functions.
    pub this: *mut c_void,
    /// [`connector::CREATE`].
    pub create: Option<Call>,
    /// [`connector::OPEN`].
    pub open: Option<Call>,
    /// [`connector::REMOVE`].
    pub remove: Option<Call>,
    /// [`connector::IS_ACCESSIBLE`].
    pub is_accessible: Option<Call>,
    /// [`connector::WRAP`].
    pub wrap: Option<Call>,
    /// [`filter::ENCODE`] and [`filter::DECODE`]. Tables of older headers end before this.
    pub filter: Option<Call>,
    /// [`mod@driver`]. Tables of older headers end before this.
    pub driver: Option<Call>,
}
