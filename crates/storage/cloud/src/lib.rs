//! Virtual file drivers for HDF5 files behind HTTP and in object stores.
//!
//! A file far away is read by ranges ([`RemoteFile`]): the first request brings the start of the file, metadata is read by
//! neighbourhood, and elements are fetched in parallel before they are needed. A new file is collected and uploaded as a
//! whole by each commit ([`CollectedFile`]), so that readers never see half of it.
#![forbid(unsafe_code)]

mod cache;
mod collected;
mod direct;
mod failure;
mod http;
mod latency;
mod options;
mod planned;
mod remote;
mod runtime;
mod segments;
mod source;
mod stores;

use std::sync::Arc;

use files::Driver;

pub use cache::DiskCache;
pub use collected::CollectedFile;
pub use http::HttpDriver;
pub use remote::RemoteFile;
pub use stores::{AzureDriver, ConfiguredS3Driver, GoogleDriver, S3Credentials, S3Driver, S3Settings};

/// Returns the drivers of this crate.
pub fn drivers() -> Vec<Arc<dyn Driver>> {
    vec![Arc::new(HttpDriver), Arc::new(S3Driver), Arc::new(GoogleDriver), Arc::new(AzureDriver)]
}
