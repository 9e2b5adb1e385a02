//! `hyperslab serve --http`: the same containers over HTTP, with the same rights.

use std::net::SocketAddr;
use std::sync::Arc;

use http_bridge::{Auth, Config, Server, Source};
use hyperslab::vol::FileAccess;
use hyperslab::{Error, Result};

/// Starts the server for HTTP next to another one. Containers are opened with its layers, and without files they refer to.
pub(super) fn start(
    config: &server::Config,
    origins: Vec<String>,
    other: &server::Server,
    listen: SocketAddr,
) -> Result<Server> {
    let (layers, connector) = config.split_stack();
    let folder = config.root.clone().ok_or_else(|| Error::not_found("find root folder"))?;
    Server::start(&Config {
        listen,
        access: FileAccess { stack: layers, ..FileAccess::read() },
        auth: other.rights().map_or(Auth::Off, |rights| Auth::Tokens(rights.clone())),
        origins,
        metrics: Some(Arc::new(other.metrics_source())),
        audit: Some(Arc::new(other.audit_source())),
        ..Config::local(config.registry.clone(), Source::Root { folder, connector })
    })
}
