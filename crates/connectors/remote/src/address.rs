//! Addresses of containers: `host:port/name?options`, or `[unix:/path/to/socket]/name?options`. Several servers of one
//! store are separated by commas.

use std::path::PathBuf;
use std::time::Duration;

use model::{Error, Result};

/// Bytes of changes that a client of several nodes buffers by default.
const KEPT_BYTES_MAX: u64 = 64 << 20;

/// The port where none is named.
pub const PORT: u16 = 4555;

/// A server's place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// Host and port.
    Tcp(String, u16),
    /// A socket of this machine.
    Unix(PathBuf),
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Endpoint::Tcp(host, port) => write!(f, "{host}:{port}"),
            Endpoint::Unix(path) => write!(f, "[unix:{}]", path.display()),
        }
    }
}

/// A container of a server, and how to reach it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// The servers, all of which have the container; most locations name one.
    pub nodes: Vec<Endpoint>,
    /// The container's name there, as it stands: nothing in it is decoded.
    pub name: String,
    /// The options after the question mark.
    pub options: Options,
}

/// How to reach a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The bearer token; `None` is that of a server of this machine, where it is ours ([`protocol::tokens`]).
    pub token: Option<String>,
    /// Certificates that the server's own is checked against (PEM): the connection is encrypted.
    pub ca: Option<PathBuf>,
    /// Our own certificate and its key (PEM).
    pub identity: Option<(PathBuf, PathBuf)>,
    /// The name that the server's certificate has, where it is not the host.
    pub server_name: Option<String>,
    /// Changes are sent without waiting for each.
    pub pipeline: bool,
    /// No operation waits longer for a silent server.
    pub deadline: Duration,
    /// Connections that a large transfer uses at once.
    pub connections: usize,
    /// The node that is used first, counted from 0.
    pub node: Option<usize>,
    /// Bytes of changes that a client of several nodes buffers until they are stored.
    pub kept_bytes_max: u64,
    /// Elements are read and written in the file itself, which we see as the server does.
    pub direct: bool,
    /// Where we see the server's root, if not where it does.
    pub root: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            token: None,
            ca: None,
            identity: None,
            server_name: None,
            pipeline: false,
            deadline: Duration::from_secs(60),
            connections: 2,
            node: None,
            kept_bytes_max: KEPT_BYTES_MAX,
            direct: false,
            root: None,
        }
    }
}

impl Address {
    /// Reads the path part of a location.
    pub fn parse(text: &str) -> Result<Self> {
        let (place, query) = text.split_once('?').unwrap_or((text, ""));
        let (mut nodes, mut rest) = (Vec::new(), place);
        let name = loop {
            let (node, after) =
                endpoint(rest).ok_or_else(|| wrong(text, "not a host and a port, and a name"))?;
            nodes.push(node);
            match after.split_at_checked(1) {
                Some(("/", name)) if !name.is_empty() => break name,
                Some((",", others)) => rest = others,
                _ => return Err(wrong(text, "a name is missing")),
            }
        };
        let options = options(query, text)?;
        if nodes.len() > 1 && options.pipeline {
            return Err(wrong(text, "pipeline is for one node"));
        }
        Ok(Address { nodes, name: name.to_owned(), options })
    }

    /// Returns the node that is used first: the one that the location names, that of this process's rank in a parallel
    /// program, or else one by `random` bytes, which spreads clients.
    pub(crate) fn first_node(&self, random: [u8; 16]) -> usize {
        let number = self.options.node.or_else(rank);
        number.unwrap_or_else(|| u128::from_le_bytes(random) as usize) % self.nodes.len()
    }
}

/// Variables in which launchers of parallel programs tell a process its rank.
const RANK_VARIABLES: [&str; 5] =
    ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID"];

fn rank() -> Option<usize> {
    RANK_VARIABLES.iter().find_map(|name| std::env::var(name).ok()?.parse().ok())
}

/// Returns the first server of a list, and what follows it.
fn endpoint(text: &str) -> Option<(Endpoint, &str)> {
    if let Some(rest) = text.strip_prefix("[unix:") {
        let end = [rest.find("]/"), rest.find("],")].into_iter().flatten().min()?;
        return Some((Endpoint::Unix(PathBuf::from(&rest[..end])), &rest[end + 1..]));
    }
    let (server, after) = text.split_at(text.find(['/', ','])?);
    Some((host_and_port(server)?, after))
}

fn host_and_port(server: &str) -> Option<Endpoint> {
    // The colons of an IPv6 address stand in brackets.
    let (host, port) = match server.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
        _ => (server, PORT),
    };
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    (!host.is_empty()).then(|| Endpoint::Tcp(host.to_owned(), port))
}

fn options(query: &str, text: &str) -> Result<Options> {
    let mut options = Options::default();
    let (mut certificate, mut key) = (None, None);
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, "yes"));
        match name {
            "token" => options.token = Some(value.to_owned()),
            "token_file" => options.token = Some(token_of(value)?),
            "ca" => options.ca = Some(value.into()),
            "cert" => certificate = Some(PathBuf::from(value)),
            "key" => key = Some(PathBuf::from(value)),
            "server_name" => options.server_name = Some(value.to_owned()),
            "pipeline" => {
                options.pipeline = is_yes(value).ok_or_else(|| wrong(text, "pipeline=yes or no"))?;
            }
            "deadline" => options.deadline = Duration::from_secs(number(value, text)?.max(1)),
            "node" => options.node = usize::try_from(number(value, text)?).ok(),
            "kept" => options.kept_bytes_max = number(value, text)?.saturating_mul(1 << 20),
            "root" => options.root = Some(value.into()),
            "connections" => options.connections = number(value, text)?.clamp(1, 64) as usize,
            _ => return Err(wrong(text, "unknown option").with("option", name)),
        }
    }
    options.identity = match (certificate, key) {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        (None, None) => None,
        _ => return Err(wrong(text, "cert and key go together")),
    };
    if options.token.is_none() {
        options.token = token_of_environment()?;
    }
    Ok(options)
}

/// `HYPERSLAB_TOKEN`, or what stands in the file `HYPERSLAB_TOKEN_FILE`.
fn token_of_environment() -> Result<Option<String>> {
    let named = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    match (named("HYPERSLAB_TOKEN"), named("HYPERSLAB_TOKEN_FILE")) {
        (Some(token), _) => Ok(Some(token)),
        (None, Some(path)) => token_of(&path).map(Some),
        (None, None) => Ok(None),
    }
}

fn token_of(path: &str) -> Result<String> {
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|e| Error::io("read token file", &e).with("path", path))?;
    Ok(text.trim().to_owned())
}

fn is_yes(value: &str) -> Option<bool> {
    match value {
        "yes" | "1" | "true" => Some(true),
        "no" | "0" | "false" => Some(false),
        _ => None,
    }
}

fn number(value: &str, text: &str) -> Result<u64> {
    value.parse().map_err(|_| wrong(text, "not a number").with("value", value))
}

/// A token must not stand in messages.
fn wrong(text: &str, problem: &str) -> Error {
    let shown = text.split_once('?').map_or(text, |(place, _)| place);
    Error::invalid("read remote location").with("location", shown).with("problem", problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_server_container_and_options() {
        let a = Address::parse("ion7:4600/runs/42.h5?token=s3cret&pipeline&deadline=5").unwrap();
        assert_eq!(a.nodes[0], Endpoint::Tcp("ion7".into(), 4600));
        assert_eq!((a.name.as_str(), a.options.pipeline), ("runs/42.h5", true));
        assert_eq!((a.options.token.as_deref(), a.options.deadline.as_secs()), (Some("s3cret"), 5));
        assert_eq!(Address::parse("ion7/x").unwrap().nodes[0], Endpoint::Tcp("ion7".into(), PORT));
        assert_eq!(Address::parse("[::1]:9/x").unwrap().nodes[0], Endpoint::Tcp("::1".into(), 9));
        assert_eq!(Address::parse("[::1]/x").unwrap().nodes[0], Endpoint::Tcp("::1".into(), PORT));
        let unix = Address::parse("[unix:/run/h5.sock]/x").unwrap();
        assert_eq!(unix.nodes[0], Endpoint::Unix("/run/h5.sock".into()));
    }

    #[test]
    fn several_nodes_are_separated_by_commas() {
        let a = Address::parse("a:1,b,[::1]:2,[unix:/run/h,5]/x,y?node=6").unwrap();
        let nodes: Vec<String> = a.nodes.iter().map(Endpoint::to_string).collect();
        assert_eq!(nodes, ["a:1", "b:4555", "::1:2", "[unix:/run/h,5]"]);
        assert_eq!((a.name.as_str(), a.first_node([0; 16])), ("x,y", 2));
        for text in ["a,/x", "a,b", "a:1,,b/x", "a,b/x?pipeline=yes"] {
            assert!(Address::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_broken_address_says_why_and_keeps_the_token() {
        for text in ["", "host", "host/", "host:x/n", ":1/n", "[unix:/x]", "h/n?what=1", "h/n?cert=a"] {
            assert_eq!(Address::parse(text).unwrap_err().kind(), model::Kind::Invalid, "{text}");
        }
        let error = Address::parse("h:x/n?token=s3cret").unwrap_err().to_string();
        assert!(!error.contains("s3cret"), "{error}");
    }
}
