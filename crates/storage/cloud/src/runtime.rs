//! The threads that requests run on, for callers that block.

use std::future::Future;
use std::io;
use std::sync::{Arc, LazyLock, mpsc};
use std::time::Duration;

use reqwest::Client;
use system::sync::Mutex;
use tokio::runtime::{Builder, Runtime};

/// Threads that requests run on: one decodes what the other waits for.
const THREADS: usize = 2;
/// How long a connection may take to come about.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a server may be silent in the middle of an answer.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// What one process uses for its requests.
struct Engine {
    /// The process that it was started in: threads and connections do not come along through a fork.
    process: u32,
    runtime: Runtime,
    client: Client,
}

static ENGINE: LazyLock<Mutex<Option<Arc<Engine>>>> = LazyLock::new(Mutex::default);

fn engine() -> io::Result<Arc<Engine>> {
    let mut current = ENGINE.lock();
    let process = std::process::id();
    if let Some(engine) = current.as_ref().filter(|engine| engine.process == process) {
        return Ok(engine.clone());
    }
    // The program may have chosen another provider, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = Client::builder().connect_timeout(CONNECT_TIMEOUT).read_timeout(READ_TIMEOUT).build();
    let runtime = Builder::new_multi_thread()
        .worker_threads(THREADS)
        .thread_name("hyperslab-cloud")
        .enable_all()
        .build()?;
    let engine = Arc::new(Engine { process, runtime, client: client.map_err(io::Error::other)? });
    // Threads of the parent are not here to be joined.
    std::mem::forget(current.replace(engine.clone()));
    Ok(engine)
}

/// Returns the client whose connections all files of this process share.
pub(crate) fn client() -> io::Result<Client> {
    Ok(engine()?.client.clone())
}

/// Starts `work`, and returns at once.
pub(crate) fn start(work: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
    engine()?.runtime.spawn(work);
    Ok(())
}

/// Runs `work` on the runtime and waits for it. The caller may be a thread of another runtime.
pub(crate) fn wait_for<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> io::Result<T> {
    let (send, receive) = mpsc::sync_channel(1);
    start(async move {
        // A caller that is gone does not want it.
        let _ = send.send(work.await);
    })?;
    receive.recv().map_err(|_| io::Error::other("a request was interrupted"))
}
