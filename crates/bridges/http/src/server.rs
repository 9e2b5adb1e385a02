//! The listener and its connections.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use hyperslab::{Error, Result};
use server::Admission;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;

use crate::config::Config;
use crate::connection::{self, Connection};
use crate::containers::Containers;
use crate::guard::Guard;
use crate::hsds::IdentifierTable;
use crate::limits::HttpLimits;
use crate::patience::PatientStream;
use crate::routes;
use crate::run::Shared;

/// Threads that wait for sockets. Requests run on others.
const SOCKET_THREADS: usize = 2;
/// Bytes of the line and the headers of a request.
const HEADER_BYTES_MAX: usize = 64 << 10;
/// How often containers that no one uses are looked for.
const IDLE_EVERY: Duration = Duration::from_millis(500);
/// Requests that run may finish within this time when the server stops.
const STOP_TIME_MAX: Duration = Duration::from_secs(2);
/// What a client gets that is one too many.
const FULL: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 1\r\nConnection: close\r\n\r\n";

/// A running server. Dropping it stops it.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    code: Option<String>,
    /// `None` once it was stopped.
    runtime: Option<Runtime>,
}

impl Server {
    /// Starts a server.
    ///
    /// # Errors
    /// Returns an error if the configuration is not safe, or if the address is in use.
    pub fn start(config: &Config) -> Result<Server> {
        config.check()?;
        let limits = config.limits.clone();
        let containers = Containers::new(config)?;
        let runtime = runtime(&limits)?;
        let failed = |e: std::io::Error| Error::io("listen", &e).with("at", config.listen);
        let listener = runtime.block_on(TcpListener::bind(config.listen)).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let guard = Arc::new(Guard::new(config, address)?);
        let code = guard.code().map(str::to_owned);
        let shared = Arc::new(Shared {
            containers,
            identifiers: IdentifierTable::new()?,
            started: u64::from(system::clock::seconds()),
            memory: config.memory.clone(),
            running: Arc::new(Semaphore::new(limits.running_max.max(1))),
            limits,
        });
        runtime.spawn(close_idle(shared.clone()));
        let (limits, admission) = (shared.limits.clone(), config.connections.clone());
        runtime.spawn(accept(listener, routes::router(shared, guard, config), admission, limits));
        Ok(Server { address, code, runtime: Some(runtime) })
    }

    /// Returns where it listens: the port is the one it has.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the address of the page, with the code for one browser where one is needed.
    pub fn url(&self) -> String {
        match &self.code {
            Some(code) => format!("http://{}/?code={code}", self.address),
            None => format!("http://{}/", self.address),
        }
    }

    /// Ends it: no new connections; requests that run have two seconds.
    pub fn stop(mut self) {
        self.halt();
    }

    fn halt(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(STOP_TIME_MAX);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.halt();
    }
}

fn runtime(limits: &HttpLimits) -> Result<Runtime> {
    let built = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(SOCKET_THREADS)
        .max_blocking_threads(limits.running_max.max(1) + SOCKET_THREADS)
        .thread_name("http")
        .enable_io()
        .enable_time()
        .build();
    built.map_err(|e| Error::io("start threads", &e))
}

/// Closes containers that no request used for a while.
async fn close_idle(shared: Arc<Shared>) {
    loop {
        tokio::time::sleep(IDLE_EVERY).await;
        let shared = shared.clone();
        // A failure here is the end of the runtime.
        let closed = tokio::task::spawn_blocking(move || {
            shared.identifiers.release_unlinked();
            shared.containers.close_idle();
        });
        let _ = closed.await;
    }
}

async fn accept(listener: TcpListener, router: Router, admission: Arc<Admission>, limits: HttpLimits) {
    loop {
        let Ok((stream, peer)) = listener.accept().await else {
            // No more descriptors, or a client that went away at once: the next one may do better.
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        // Where the system gives no second handle, the connection ends.
        let Ok((stream, handle)) = connection::with_handle(stream) else { continue };
        match Connection::arrive(&admission, handle, peer) {
            Ok(connection) => drop(tokio::spawn(serve(stream, connection, router.clone(), limits.clone()))),
            Err(_) => refuse(stream).await,
        }
    }
}

/// Says that there are too many clients. What does not fit into the socket's buffer is not waited for.
async fn refuse(mut stream: TcpStream) {
    let _ = tokio::time::timeout(Duration::from_millis(10), stream.write_all(FULL)).await;
}

async fn serve(stream: TcpStream, connection: Connection, router: Router, limits: HttpLimits) {
    let connection = Arc::new(connection);
    // Small answers go out at once.
    let _ = stream.set_nodelay(true);
    let io = TokioIo::new(PatientStream::new(stream, limits.stall_time_max));
    let routes = TowerToHyperService::new(router);
    let counted = connection.clone();
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(counted.clone());
        routes.call(request)
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_time_max)
        .max_buf_size(HEADER_BYTES_MAX)
        .serve_connection(io, service);
    // A client that asks badly or goes away gets no answer, or half of one.
    let _ = served.await;
    drop(connection);
}
