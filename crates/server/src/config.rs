//! What a server is started with.

use std::path::PathBuf;
use std::time::Duration;
use system::socket::SocketAddr;

use model::{Error, Result};
use vol::{Registry, Stack};

use crate::rights::Rights;
use crate::stand::Stand;

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    /// An address and a port; port 0 is any that is free.
    Tcp(SocketAddr),
    /// A socket of this machine: the permissions of its folder say who may connect.
    Unix(PathBuf),
}

impl Listen {
    /// Returns whether others than this machine can reach it.
    pub fn is_beyond_loopback(&self) -> bool {
        matches!(self, Listen::Tcp(address) if !address.ip().is_loopback())
    }
}

/// The limits of what clients may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerLimits {
    /// Bytes of arguments of one operation: selections, types, names.
    pub arguments_bytes_max: u32,
    /// Bytes of elements or values of one operation.
    pub bulk_bytes_max: u64,
    /// Bytes of everything that clients can make grow, of all clients together: frames, answers, handles, what containers
    /// keep. Sessions with one token may have three eighths of it. More waits, then is refused.
    pub memory_bytes_max: u64,
    /// An operation waits for memory that others use for this long at most.
    pub memory_patience: Duration,
    /// Connections at once, of clients that said who they are.
    pub connections_max: usize,
    /// Of these, connections of one address of another machine.
    pub connections_per_address_max: usize,
    /// Of these, connections with one token.
    pub connections_per_token_max: usize,
    /// New connections in a second, of one address of another machine and with one token; twice as many at once.
    pub connects_per_second_max: u32,
    /// Connections that did not say yet who they are; where there are more, the oldest goes.
    pub handshakes_max: usize,
    /// A connection must have said who it is within this time.
    pub handshake: Duration,
    /// Operations that run at once. Of those that wait, the token that used the least processor time is next.
    pub running_max: usize,
    /// A caller that is refused again and again waits for its answers, longer each time, for this long at most.
    pub offence_delay_max: Duration,
    /// Containers open at once. Those of one token are three quarters of them at most.
    pub sessions_max: usize,
    /// Objects that one session holds open.
    pub objects_max: usize,
    /// A frame that began must go on within this time, and be taken within it.
    pub patience: Duration,
    /// Connections without a word end after this.
    pub idle: Duration,
    /// A session without a connection ends after this.
    pub lease: Duration,
    /// A lock of a client that reads or writes elements in the file itself is good for this, unless it is renewed.
    pub lock_lease: Duration,
    /// A caller that waits for locks of others gives up after this.
    pub lock_patience: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        ServerLimits {
            arguments_bytes_max: 16 << 20,
            bulk_bytes_max: 256 << 20,
            memory_bytes_max: 1 << 30,
            memory_patience: Duration::from_secs(10),
            connections_max: 256,
            connections_per_address_max: 224,
            connections_per_token_max: 224,
            connects_per_second_max: 250,
            handshakes_max: 128,
            handshake: crate::admission::HANDSHAKE,
            running_max: running_max(),
            offence_delay_max: Duration::from_secs(1),
            sessions_max: 1024,
            objects_max: 1 << 20,
            patience: Duration::from_secs(30),
            idle: Duration::from_secs(3600),
            lease: Duration::from_secs(60),
            lock_lease: Duration::from_secs(10),
            lock_patience: Duration::from_secs(30),
        }
    }
}

/// Two for each processor: one computes while the other waits for a disk.
fn running_max() -> usize {
    2 * system::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Bytes of a connection before it asks for anything large: bytes read ahead, a small frame and a small answer.
pub(crate) const CONNECTION_BYTES: u64 = 128 << 10;
/// Caches of one container, no matter who asks for it.
const CACHE_BYTES_MAX: u64 = 64 << 20;

/// How [`ServerLimits::memory_bytes_max`] is shared.
impl ServerLimits {
    /// Returns the number of bytes that connections have in any case.
    pub(crate) fn connections_bytes(&self) -> u64 {
        let count = self.connections_max.saturating_add(self.handshakes_max) as u64;
        count.saturating_mul(CONNECTION_BYTES).min(self.memory_bytes_max / 4)
    }

    fn usable_bytes(&self) -> u64 {
        self.memory_bytes_max - self.connections_bytes()
    }

    /// Returns the number of bytes of all sessions with one token: two tokens together leave something to others.
    pub(crate) fn token_bytes_max(&self) -> u64 {
        self.usable_bytes() / 8 * 3
    }

    /// Returns the number of bytes of one session.
    pub(crate) fn session_bytes_max(&self) -> u64 {
        self.token_bytes_max()
    }

    /// Containers that are open with one token.
    pub(crate) fn sessions_per_token_max(&self) -> usize {
        (self.sessions_max / 4 * 3).max(1)
    }

    /// Returns the number of bytes of what all containers keep.
    pub(crate) fn containers_bytes_max(&self) -> u64 {
        self.usable_bytes() / 2
    }

    /// Returns the number of bytes of a cache of a container that is opened where `sessions` are open: those of all together stay within the
    /// bound, and the first ones get most.
    pub(crate) fn cache_bytes(&self, sessions: usize) -> u64 {
        (self.usable_bytes() / 32 / (sessions as u64 + 1)).min(CACHE_BYTES_MAX)
    }

    /// Returns the number of bytes of elements or values of one operation that a session has memory for.
    pub(crate) fn frame_bytes_max(&self) -> u64 {
        self.bulk_bytes_max.min(self.session_bytes_max() / 4 * 3)
    }
}

/// Files of certificates and keys (PEM).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The server's certificate, and those that vouch for it.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
    /// Clients must have a certificate that one of these vouches for.
    pub client_ca: Option<PathBuf>,
}

/// The authentication that a server asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Auth {
    /// A caller that has the token that the server makes when it starts, which clients of the same user on this machine find
    /// ([`Server::token_file`](crate::Server::token_file)). For servers of this machine only.
    #[default]
    Made,
    /// A caller that has one of these tokens, with its rights.
    Tokens(Rights),
    /// Everybody everything, on this machine or with a certificate.
    Off,
}

/// A server to be.
#[derive(Debug, Clone)]
pub struct Config {
    /// Connectors and layers.
    pub registry: Registry,
    /// Layers over every container, and the connector of new ones: `stats | iod:`. See [`Config::split_stack`].
    pub stack: Option<String>,
    /// The folder of all containers; `None` only for connectors without files (`memory:`).
    pub root: Option<PathBuf>,
    /// Where to listen.
    pub listen: Listen,
    /// Where `/healthz` and `/metrics` are reported.
    pub http: Option<SocketAddr>,
    /// The authentication.
    pub auth: Auth,
    /// Where to write down who asked for what; see `docs/serve.md`.
    pub audit: Option<PathBuf>,
    /// Encryption.
    pub tls: Option<TlsFiles>,
    /// Several sessions may write to one container, whatever its connector.
    pub shared_writers: bool,
    /// Clients that see the same file system may read and write elements in the files themselves.
    pub direct: bool,
    /// The limits of what clients may use.
    pub limits: ServerLimits,
}

impl Config {
    /// Returns a server on a free port of this machine, for containers of `registry` under `root`.
    pub fn local(registry: Registry, root: impl Into<PathBuf>) -> Self {
        Config {
            registry,
            stack: None,
            root: Some(root.into()),
            listen: Listen::Tcp(SocketAddr::from(([127, 0, 0, 1], 0))),
            http: None,
            auth: Auth::Made,
            audit: None,
            tls: None,
            shared_writers: false,
            direct: false,
            limits: ServerLimits::default(),
        }
    }

    /// Returns the layers, and the connector where the last part is one: `raw:`, or `object+rados:pool/`, under which the names
    /// of containers stand.
    pub fn split_stack(&self) -> (Option<String>, Option<String>) {
        let Some(stack) = &self.stack else { return (None, None) };
        let (layers, last) = stack.rsplit_once('|').unwrap_or(("", stack));
        match Stand::parse(last.trim()) {
            Some(_) => (some(layers), Some(last.trim().trim_end_matches(':').to_owned())),
            None => (some(stack), None),
        }
    }

    /// Returns the connector of all containers, where the stack names one.
    pub(crate) fn stand(&self) -> Option<Stand> {
        let stack = self.stack.as_deref()?;
        Stand::parse(stack.rsplit_once('|').map_or(stack, |(_, last)| last).trim())
    }

    /// Returns whether containers are in no folder: in memory, or in a store that the stack names.
    pub fn is_without_folder(&self) -> bool {
        self.stand().is_some_and(|stand| stand.is_without_folder())
    }

    /// Returns an error where it makes no sense, or is not safe.
    pub fn check(&self) -> Result<()> {
        let (layers, _) = self.split_stack();
        layers.map_or(Ok(Stack::default()), |layers| self.registry.check_stack(&layers))?;
        let stand = self.stand();
        let name = stand.as_ref().map_or("native", |stand| &stand.connector);
        self.registry.by_name(name)?;
        if name == protocol::CONNECTOR {
            return Err(wrong("a server does not stand on another"));
        }
        match &self.root {
            Some(root) if !root.is_dir() => {
                return Err(Error::not_found("find root folder").with("root", root.display()));
            }
            _ if self.direct && !cfg!(unix) => {
                return Err(Error::unsupported("serve files directly").with("system", std::env::consts::OS));
            }
            None if self.direct => return Err(wrong("direct access needs a folder: root")),
            None if !self.is_without_folder() => return Err(wrong("containers need a folder: root")),
            _ => {}
        }
        self.check_safety()
    }

    fn check_safety(&self) -> Result<()> {
        let has_certificates = self.tls.as_ref().is_some_and(|tls| tls.client_ca.is_some());
        let asks_who = match self.auth {
            Auth::Tokens(_) => true,
            Auth::Off => has_certificates,
            Auth::Made => false,
        };
        if self.listen.is_beyond_loopback() && !asks_who {
            return Err(wrong("beyond this machine, clients need tokens or certificates"));
        }
        if self.tls.is_some() && !cfg!(feature = "tls") {
            return Err(Error::unsupported("encrypt connections")
                .with("problem", "this build has no TLS; it is the feature `tls`"));
        }
        #[cfg(feature = "tls")]
        if let Some(files) = &self.tls {
            crate::tls::acceptor(files)?;
        }
        Ok(())
    }
}

fn some(text: &str) -> Option<String> {
    (!text.trim().is_empty()).then(|| text.trim().to_owned())
}

fn wrong(problem: &str) -> Error {
    Error::invalid("check configuration").with("problem", problem)
}
