//! What a server is started with.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use ::server::{Admission, ServerLimits};
use hyperslab::vol::model::Budget;
use hyperslab::vol::{FileAccess, Registry};
use hyperslab::{Error, Result};

use crate::guard::Audit;
use crate::limits::HttpLimits;

/// The containers that are served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// One container, of any connector. The parameter `file` of requests is ignored.
    One {
        /// Its location.
        location: String,
        /// Its name in answers.
        name: String,
    },
    /// All containers under a folder.
    Root {
        /// The folder.
        folder: PathBuf,
        /// The connector of all of them; `None` lets their content decide.
        connector: Option<String>,
    },
}

/// The authentication that clients need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Auth {
    /// A cookie, which a browser gets for the code that the server makes when it starts ([`crate::Server::url`]). The
    /// code is good for one browser.
    Code,
    /// A token, as a bearer token or as the password of basic authentication, with its rights.
    Tokens(::server::Rights),
    /// None: everybody on this machine may read and change everything.
    Off,
}

/// Returns the metrics of a server as text.
pub type Metrics = Arc<dyn Fn() -> String + Send + Sync>;

/// Returns the account of the memory that a caller of this name may use.
pub type Accounts = Arc<dyn Fn(&str) -> Budget + Send + Sync>;

/// Bytes of the bodies of all requests and answers at the same time, where no other server has the account.
const MEMORY_BYTES_MAX: u64 = 1 << 30;

/// A server to be.
#[derive(Clone)]
pub struct Config {
    /// Where to listen; port 0 is any that is free.
    pub listen: SocketAddr,
    /// The containers.
    pub source: Source,
    /// Connectors and layers.
    pub registry: Registry,
    /// How containers are opened: limits, layers, and a resolver if other files may be opened.
    pub access: FileAccess,
    /// The authentication.
    pub auth: Auth,
    /// Origins (`https://host:port`) whose pages may read answers (CORS).
    pub origins: Vec<String>,
    /// What `/metrics` answers; without it there are neither `/metrics` nor `/healthz`.
    pub metrics: Option<Metrics>,
    /// Where changes and refusals are written down.
    pub audit: Option<Audit>,
    /// The account of connections, with its limits.
    pub connections: Arc<Admission>,
    /// The memory of the bodies of requests and answers.
    pub memory: Accounts,
    /// The limits of what clients may use.
    pub limits: HttpLimits,
}

/// Returns one account for all callers.
fn one_account(bytes_max: u64) -> Accounts {
    let memory = Budget::new("HTTP bodies", bytes_max);
    Arc::new(move |_| memory.clone())
}

impl std::fmt::Debug for Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let fields = (&self.listen, &self.source, &self.auth, &self.origins);
        f.debug_tuple("Config").field(&fields).finish()
    }
}

impl Config {
    /// Returns a server on a free port of this machine for one container, which one browser may read.
    pub fn view(registry: Registry, location: impl Into<String>) -> Self {
        let location = location.into();
        let last = location.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default();
        let source = Source::One { name: last.to_owned(), location };
        Config { auth: Auth::Code, ..Self::local(registry, source) }
    }

    /// Returns a server on a free port of this machine, without authentication.
    pub fn local(registry: Registry, source: Source) -> Self {
        Config {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            source,
            registry,
            access: FileAccess::read(),
            auth: Auth::Off,
            origins: Vec::new(),
            metrics: None,
            audit: None,
            connections: Arc::new(Admission::new(&ServerLimits::default())),
            memory: one_account(MEMORY_BYTES_MAX),
            limits: HttpLimits::default(),
        }
    }

    /// With so many bytes for the bodies of all requests and answers at the same time.
    pub fn with_memory(self, bytes_max: u64) -> Self {
        Config { memory: one_account(bytes_max), ..self }
    }

    /// Returns an error if the configuration is not safe or makes no sense.
    pub fn check(&self) -> Result<()> {
        let wrong = |problem: &str| Error::invalid("check configuration").with("problem", problem);
        if !self.listen.ip().is_loopback() && !matches!(self.auth, Auth::Tokens(_)) {
            return Err(wrong("beyond this machine, HTTP clients need tokens"));
        }
        match &self.source {
            Source::Root { folder, .. } if !folder.is_dir() => {
                Err(Error::not_found("find root folder").with("root", folder.display()))
            }
            _ => Ok(()),
        }
    }
}
