//! `hyperslab serve --http`: the same containers over HTTP, with the same rights and limits.

use std::net::SocketAddr;
use std::sync::Arc;

use http_bridge::{Auth, Config, HttpLimits, Server, Source};
use hyperslab::vol::FileAccess;
use hyperslab::{Error, Result};
use server::ServerLimits;

/// Starts the server for HTTP next to another one. Containers are opened with its layers, and without files they refer to.
pub(super) fn start(
    config: &server::Config,
    origins: Vec<String>,
    other: &server::Server,
    listen: SocketAddr,
) -> Result<Server> {
    Server::start(&beside(config, origins, other, listen)?)
}

/// Returns the configuration of the server for HTTP. Its connections and its memory count together with those of the other one.
fn beside(
    config: &server::Config,
    origins: Vec<String>,
    other: &server::Server,
    listen: SocketAddr,
) -> Result<Config> {
    let (layers, connector) = config.split_stack();
    let folder = config.root.clone().ok_or_else(|| Error::not_found("find root folder"))?;
    let limits = limits(&config.limits);
    Ok(Config {
        listen,
        access: FileAccess { stack: layers, ..other.file_access(limits.containers_max) },
        auth: other.rights().map_or(Auth::Off, |rights| Auth::Tokens(rights.clone())),
        origins,
        metrics: Some(Arc::new(other.metrics_source())),
        audit: Some(Arc::new(other.audit_source())),
        connections: other.admission(),
        memory: Arc::new(other.memory_source()),
        limits,
        ..Config::local(config.registry.clone(), Source::Root { folder, connector })
    })
}

/// Returns what the limits of the other server are for requests.
fn limits(other: &ServerLimits) -> HttpLimits {
    let default = HttpLimits::default();
    HttpLimits {
        response_bytes_max: other.bulk_bytes_max,
        write_bytes_max: other.bulk_bytes_max,
        running_max: other.running_max,
        stall_time_max: other.patience,
        header_time_max: other.patience.min(default.header_time_max),
        ..default
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn started(options: &[&str]) -> (super::super::ServeOptions, server::Server, Config) {
        let words: Vec<String> = options.iter().map(|word| (*word).to_owned()).collect();
        let mut wanted = super::super::wanted(&words).unwrap();
        wanted.config.listen = server::Listen::Tcp(SocketAddr::from(([127, 0, 0, 1], 0)));
        let other = server::Server::start(&wanted.config).unwrap();
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let config = beside(&wanted.config, Vec::new(), &other, listen).unwrap();
        (wanted, other, config)
    }

    #[test]
    fn times_and_sizes_of_requests_are_those_of_the_options() {
        let (_, _server, config) =
            started(&["--no-auth", "--patience", "3", "--max-bulk", "1000", "--max-memory", "100000000"]);
        assert_eq!(config.limits.stall_time_max, Duration::from_secs(3));
        assert_eq!(config.limits.header_time_max, Duration::from_secs(3));
        assert_eq!((config.limits.response_bytes_max, config.limits.write_bytes_max), (1000, 1000));
        let memory = (config.memory)("ann");
        assert!(memory.limit() < 100_000_000 / 2, "{}", memory.limit());
        let access = config.access.budget();
        assert!(access.limit() < 100_000_000 / 2, "{}", access.limit());
        // What one of them takes, the other does not have.
        let _charge = memory.charge(1_000_000, "body").unwrap();
        assert!((config.memory)("ann").left() < memory.limit());
    }

    #[test]
    fn connections_are_counted_together() {
        let (wanted, other, config) = started(&[
            "--no-auth",
            "--max-connections",
            "5",
            "--max-connections-per-address",
            "4",
            "--max-connections-per-token",
            "3",
            "--max-connects-per-second",
            "2",
        ]);
        let limits = &wanted.config.limits;
        assert_eq!((limits.connections_max, limits.connections_per_address_max), (5, 4));
        assert_eq!((limits.connections_per_token_max, limits.connects_per_second_max), (3, 2));
        assert!(Arc::ptr_eq(&config.connections, &other.admission()));
    }
}
