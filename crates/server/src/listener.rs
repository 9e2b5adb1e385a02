//! Starting, accepting and stopping.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use system::thread::JoinHandle;

use system::clock::Instant;

use model::{Budget, Error, Result};
use protocol::stream::{Duplex, Stream};
use protocol::tokens::{TokenFile, TokenPlace};
use system::socket::{Closer, Shutdown, Socket, SocketAddr, TcpListener, UnixListener};
use system::sync::{Condvar, Mutex};
use vol::FileAccess;

use crate::admission::Admission;
use crate::audit::AuditedRequest;
use crate::config::{Auth, Config, Listen};
use crate::connection::Connection;
use crate::http;
use crate::party::Party;
use crate::shared::Shared;

/// How often sessions are looked at whose clients are gone.
const EXPIRE_EVERY: Duration = Duration::from_secs(1);
/// Operations that run when the server stops get so much time.
const STOP_PATIENCE: Duration = Duration::from_secs(30);

/// Bytes of stack of a thread: types nest, and each level is a call.
const STACK_BYTES: usize = 32 << 20;

enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listener {
    /// Returns the next connection, and from where: clients of a socket of this machine have no address.
    fn accept(&self) -> io::Result<(Socket, Option<SocketAddr>)> {
        match self {
            Listener::Tcp(listener) => {
                let (socket, peer) = listener.accept()?;
                socket.set_nodelay(true)?;
                Ok((socket.into(), Some(peer)))
            }
            Listener::Unix(listener) => Ok((listener.accept()?.0.into(), None)),
        }
    }
}

impl Listener {
    /// Returns a handle that ends the waiting for connections.
    fn closer(&self) -> io::Result<Closer> {
        match self {
            Listener::Tcp(listener) => Closer::tcp(listener),
            Listener::Unix(listener) => Closer::unix(listener),
        }
    }
}

type Secure = dyn Fn(Socket) -> Result<Box<dyn Duplex>> + Send + Sync;

/// A server that runs until it is stopped or dropped.
pub struct Server {
    shared: Arc<Shared>,
    listen: Listen,
    http: Option<SocketAddr>,
    token: Option<TokenFile>,
    threads: Vec<JoinHandle<()>>,
    closers: Vec<Closer>,
    /// Wakes the thread that ends sessions.
    wake: Arc<(Mutex<bool>, Condvar)>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("listen", &self.listen).finish_non_exhaustive()
    }
}

impl Server {
    /// Checks the configuration, listens, and serves on threads of its own.
    pub fn start(config: &Config) -> Result<Server> {
        config.check()?;
        let (listener, listen) = bind(&config.listen)?;
        let token = (config.auth == Auth::Made).then(|| make_token(&listen)).transpose()?;
        let shared = Arc::new(Shared::new(config, token.as_ref().map(TokenFile::token))?);
        let secure = secure(config)?;
        let mut server = Server {
            shared: shared.clone(),
            listen,
            http: None,
            token,
            threads: Vec::new(),
            closers: Vec::new(),
            wake: Arc::default(),
        };
        server.closers.push(listener.closer().map_err(|e| Error::io("listen", &e))?);
        if let Some(address) = config.http {
            let http = http::start(address, shared.clone())?;
            server.http = Some(http.address);
            server.threads.push(http.thread);
            server.closers.push(http.closer);
        }
        let wake = server.wake.clone();
        let expiring = shared.clone();
        server.threads.push(spawn("expire", move || expire(&expiring, &wake))?);
        server.threads.push(spawn("accept", move || accept(&shared, &listener, &secure))?);
        tracing::info!(listen = ?server.listen, "serving");
        Ok(server)
    }

    /// Returns where it listens: the port is the one it has.
    pub fn listen(&self) -> &Listen {
        &self.listen
    }

    /// Returns where `/metrics` is.
    pub fn http(&self) -> Option<SocketAddr> {
        self.http
    }

    /// Returns what `/metrics` answers, for another server of this process.
    pub fn metrics_source(&self) -> impl Fn() -> String + Send + Sync + 'static {
        let shared = self.shared.clone();
        move || shared.metrics_text()
    }

    /// Returns what writes to the audit log, for another server of this process.
    pub fn audit_source(
        &self,
    ) -> impl Fn(AuditedRequest<'_>, std::result::Result<(), &Error>) + Send + Sync + 'static {
        let shared = self.shared.clone();
        move |asked, outcome| shared.audit.note(asked, outcome)
    }

    /// Returns the account of connections, for another server of this process.
    pub fn admission(&self) -> Arc<Admission> {
        self.shared.admission.clone()
    }

    /// Returns what gives the memory of each token, for another server of this process.
    pub fn memory_source(&self) -> impl Fn(&str) -> Budget + Send + Sync + 'static {
        let shared = self.shared.clone();
        move |who| shared.memory.token(who)
    }

    /// Returns how another server of this process opens containers, of which it has `containers_max` open at most: what they
    /// decode and cache is in the memory of this one. Caches of all of them take a quarter of it at most.
    pub fn file_access(&self, containers_max: usize) -> FileAccess {
        let cache_bytes = Some(self.shared.limits.cache_bytes(containers_max / 4));
        let access = FileAccess::read().with_budget(self.shared.memory.container());
        FileAccess { chunk_cache_bytes: cache_bytes, metadata_cache_bytes: cache_bytes, ..access }
    }

    /// Returns who may do what; `None` lets everybody do everything.
    pub fn rights(&self) -> Option<&crate::Rights> {
        self.shared.rights.as_ref()
    }

    /// Returns the file of the token that was made for this server, which clients of the same user on this machine find.
    pub fn token_file(&self) -> Option<&Path> {
        self.token.as_ref().map(TokenFile::path)
    }

    /// Returns the location of a container of this server, for clients on this machine.
    pub fn location(&self, name: &str) -> String {
        match &self.listen {
            Listen::Tcp(address) => format!("h5s://{address}/{name}"),
            Listen::Unix(path) => format!("h5s://[unix:{}]/{name}", path.display()),
        }
    }

    /// Returns the same, for clients that use the file themselves.
    pub fn direct_location(&self, name: &str) -> String {
        self.location(name).replacen("h5s://", "h5s+direct://", 1)
    }

    /// Returns what is counted, as Prometheus reads it.
    pub fn metrics(&self) -> String {
        self.shared.metrics_text()
    }

    /// Ends in good order: no new connections, operations that run are finished, containers are committed and closed.
    pub fn stop(mut self) -> Result<()> {
        self.halt();
        let outcome = self.shared.finish();
        tracing::info!("stopped");
        outcome
    }

    /// Ends connections; containers stay as they are.
    fn halt(&mut self) {
        if self.shared.stopping.swap(true, Ordering::AcqRel) {
            return;
        }
        *self.wake.0.lock() = true;
        self.wake.1.notify_all();
        self.closers.iter().for_each(Closer::close);
        // What a client sent is still run and answered; then its connection is at its end.
        self.shared.admission.shut(Shutdown::Read);
        let since = Instant::now();
        while self.shared.connections.load(Ordering::Acquire) > 0 && since.elapsed() < STOP_PATIENCE {
            system::thread::sleep(Duration::from_millis(2));
        }
        self.shared.admission.shut(Shutdown::Both);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        if let Listen::Unix(path) = &self.listen {
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.halt();
    }
}

fn bind(listen: &Listen) -> Result<(Listener, Listen)> {
    let failed = |e: io::Error| Error::io("listen", &e).with("at", format!("{listen:?}"));
    Ok(match listen {
        Listen::Tcp(address) => {
            let listener = TcpListener::bind(address).map_err(failed)?;
            let address = listener.local_addr().map_err(failed)?;
            (Listener::Tcp(listener), Listen::Tcp(address))
        }
        Listen::Unix(path) => {
            (Listener::Unix(UnixListener::bind(path).map_err(failed)?), Listen::Unix(path.clone()))
        }
    })
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    let thread = system::thread::Builder::named(format!("serve-{name}")).stack_size(STACK_BYTES);
    thread.spawn(work).map_err(|e| Error::io("start thread", &e))
}

fn expire(shared: &Shared, wake: &(Mutex<bool>, Condvar)) {
    let mut stopping = wake.0.lock();
    while !*stopping {
        stopping = wake.1.wait_timeout(stopping, EXPIRE_EVERY);
        if !*stopping {
            shared.admission.expire();
            shared.expire();
        }
    }
}

fn accept(shared: &Arc<Shared>, listener: &Listener, secure: &Arc<Secure>) {
    loop {
        let accepted = listener.accept();
        if shared.stopping.load(Ordering::Acquire) {
            return;
        }
        match accepted {
            Ok((socket, peer)) => admit(shared, socket, peer, secure),
            // No more descriptors, or a client that went away at once: the next one may do better.
            Err(error) => {
                tracing::error!(why = %error, "could not accept a connection");
                system::thread::sleep(Duration::from_millis(10));
            }
        }
    }
}

fn admit(shared: &Arc<Shared>, socket: Socket, peer: Option<SocketAddr>, secure: &Arc<Secure>) {
    let number = shared.admission.number();
    shared.metrics.connections_total.fetch_add(1, Ordering::Relaxed);
    let from = peer.map_or_else(|| "unix".to_owned(), |peer| peer.to_string());
    let again = socket.try_clone().map_err(|e| Error::io("set up connection", &e));
    // All clients of this machine have the same address: it says nothing about them.
    let address = peer.map(|peer| peer.ip()).filter(|ip| !ip.is_loopback());
    if let Err(error) = again.and_then(|again| shared.admission.arrive(number, address, again)) {
        shared.metrics.refusals_total.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(peer = from, why = %error, "refused a connection");
        return;
    }
    shared.connections.fetch_add(1, Ordering::AcqRel);
    let left = CountedConnection { shared: shared.clone(), number, party: Party::Stranger(address) };
    let secure = secure.clone();
    let started = spawn("client", move || {
        if let Err(error) = run(&left, socket, from.clone(), &secure) {
            tracing::warn!(peer = from, why = %error, "refused a connection");
        }
    });
    if let Err(error) = started {
        tracing::error!(why = %error, "could not serve a connection");
    }
}

/// A connection that is counted until it ends, however it does.
struct CountedConnection {
    shared: Arc<Shared>,
    number: u64,
    party: Party,
}

impl Drop for CountedConnection {
    fn drop(&mut self) {
        self.shared.admission.leave(self.number);
        self.shared.connections.fetch_sub(1, Ordering::AcqRel);
    }
}

fn run(left: &CountedConnection, socket: Socket, peer: String, secure: &Arc<Secure>) -> Result<()> {
    let CountedConnection { shared, number, party } = left;
    // Who comes often waits until others had their turns, also with what it costs to find out who it is.
    drop(shared.turns.take(party));
    let failed = |e: io::Error| Error::io("set up connection", &e);
    let patience = shared.limits.patience;
    let again = socket.try_clone().map_err(failed)?;
    // A caller that says nothing is given up sooner; [`Admission::expire`] ends those that say it slowly.
    let handshake = shared.limits.handshake.min(patience);
    socket.set_patience(handshake).and_then(|()| socket.keep_alive()).map_err(failed)?;
    let stream = Stream::new(secure(socket)?, patience);
    Connection::new(shared, stream, peer).of(*number, again, party.clone()).serve();
    Ok(())
}

/// Returns a token for a server of this machine.
fn make_token(listen: &Listen) -> Result<TokenFile> {
    let place = match listen {
        Listen::Tcp(address) => TokenPlace::tcp(*address),
        Listen::Unix(path) => TokenPlace::unix(path),
    };
    let error = || Error::invalid("create token").with("problem", "the server is not one of this machine");
    TokenFile::make(&place.ok_or_else(error)?)
}

#[cfg(feature = "tls")]
fn secure(config: &Config) -> Result<Arc<Secure>> {
    match &config.tls {
        None => Ok(Arc::new(|socket| Ok(Box::new(socket)))),
        Some(files) => {
            let acceptor = crate::tls::acceptor(files)?;
            Ok(Arc::new(move |socket| crate::tls::accept(&acceptor, socket)))
        }
    }
}

#[cfg(not(feature = "tls"))]
fn secure(_: &Config) -> Result<Arc<Secure>> {
    Ok(Arc::new(|socket| Ok(Box::new(socket))))
}
