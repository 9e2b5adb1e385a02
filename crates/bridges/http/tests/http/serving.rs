//! Servers for tests.

use std::path::Path;
use std::sync::Arc;

use hyperslab_http::{Config, Server, Source};
use server::{Admission, ServerLimits};

/// Returns the configuration of a server for all containers of a folder.
pub(crate) fn folder(path: &Path) -> Config {
    let source = Source::Root { folder: path.to_owned(), connector: None };
    Config::local(hyperslab::registry(), source)
}

/// Returns an account of connections with these limits.
pub(crate) fn connections(limits: &ServerLimits) -> Arc<Admission> {
    Arc::new(Admission::new(limits))
}

/// Starts a server for all containers of a folder.
pub(crate) fn start(path: &Path) -> Server {
    Server::start(&folder(path)).unwrap()
}
