//! Servers for tests.

use std::path::Path;

use hyperslab_http::{Config, Server, Source};

/// Returns the configuration of a server for all containers of a folder.
pub(crate) fn folder(path: &Path) -> Config {
    let source = Source::Root { folder: path.to_owned(), connector: None };
    Config::local(hyperslab::registry(), source)
}

/// Starts a server for all containers of a folder.
pub(crate) fn start(path: &Path) -> Server {
    Server::start(&folder(path)).unwrap()
}
