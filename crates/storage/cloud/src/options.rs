//! Parameters that all drivers of this crate take.

use std::io;
use std::path::PathBuf;

use files::DriverParameters;

use crate::cache::DiskCache;

/// Bytes of a file that are cached in memory by default.
const MEMORY_BYTES: u64 = 64 << 20;
/// Bytes of a cache on disk, unless the caller says otherwise.
const CACHE_BYTES: u64 = 1 << 30;

/// Names of the parameters, each with one line for people.
pub(crate) const PARAMETERS: &[(&str, &str)] = &[
    ("memory_bytes", "bytes of the file that are cached in memory (default: 67108864)"),
    ("cache", "folder that keeps what was fetched after the program ends"),
    ("cache_bytes", "size of that folder (default: 1073741824)"),
];

/// How a remote file is read.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(crate) memory_bytes: u64,
    pub(crate) cache: Option<DiskCache>,
}

impl Options {
    pub(crate) fn of(parameters: &DriverParameters) -> io::Result<Self> {
        let cache_bytes = parameters.number("cache_bytes")?.unwrap_or(CACHE_BYTES);
        let cache = parameters.get("cache").map(|folder| DiskCache::open(PathBuf::from(folder), cache_bytes));
        Ok(Options {
            memory_bytes: parameters.number("memory_bytes")?.unwrap_or(MEMORY_BYTES),
            cache: cache.transpose()?,
        })
    }
}
