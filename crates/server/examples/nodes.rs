//! How much more several nodes do than one, where the nodes are the limit: each runs one operation at a time.
//!
//! `cargo run --release -p hyperslab-server --example nodes`: nodes in front of one store in memory, where every operation
//! waits for a millisecond, as for a disk. With `--features rados`, `-- object+rados:POOL/?conf=FILE` puts the nodes in
//! front of a pool of a Ceph cluster; then every operation waits for the cluster.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hyperslab_server::{Auth, Config, Listen, Server, ServerLimits};
use model::datatype::ByteOrder;
use model::properties::{DatasetCreate, FileCreate};
use model::{Dataspace, Datatype, Selection, Token};
use vol::*;

const CLIENTS: usize = 8;
const SECONDS: u64 = 3;
const ELEMENTS: u64 = 4096;
/// A client commits after so many writes.
const COMMIT_ROUNDS: u32 = 16;
/// What an operation waits for where the store is memory.
const LATENCY: Duration = Duration::from_millis(1);

/// Object stores in memory, which all nodes share, and which take their time.
#[derive(Debug, Default)]
struct Slow(object::ObjectConnector);

struct SlowContainer(Arc<dyn Container>);

impl Layer for SlowContainer {
    fn inner(&self) -> &dyn Container {
        &*self.0
    }

    fn dataset_read(&self, reads: &mut [OpRead<'_>]) -> Result<()> {
        std::thread::sleep(LATENCY);
        self.0.dataset_read(reads)
    }

    fn dataset_write(&self, writes: &[OpWrite<'_>]) -> Result<()> {
        std::thread::sleep(LATENCY);
        self.0.dataset_write(writes)
    }
}

impl Connector for Slow {
    fn info(&self) -> ConnectorInfo {
        self.0.info()
    }

    fn writers(&self, _engine: Option<&str>, _registry: &Registry) -> Writers {
        Writers::Many
    }

    fn create(&self, op: &ContainerCreate<'_>) -> Result<Arc<dyn Container>> {
        Ok(Arc::new(SlowContainer(self.0.create(op)?)))
    }

    fn open(&self, op: &ContainerOpen<'_>) -> Result<Arc<dyn Container>> {
        Ok(Arc::new(SlowContainer(self.0.open(op)?)))
    }

    fn is_accessible(&self, op: &ContainerOpen<'_>) -> Result<bool> {
        self.0.is_accessible(op)
    }
}

fn main() -> Result<()> {
    let stack = std::env::args().nth(1);
    let alone = measure(stack.as_deref(), 1)?;
    let both = measure(stack.as_deref(), 2)?;
    let limit = "each node runs one operation at a time, which waits for the store";
    println!("2 nodes do {:.2} times as much as 1 (the limit: {limit})", both / alone);
    Ok(())
}

/// Returns operations in a second of all clients together.
fn measure(stack: Option<&str>, count: usize) -> Result<f64> {
    let servers = start(stack, count)?;
    let addresses: Vec<String> = servers
        .iter()
        .map(|server| match server.listen() {
            Listen::Tcp(address) => address.to_string(),
            Listen::Unix(path) => format!("[unix:{}]", path.display()),
        })
        .collect();
    let location = format!("h5s://{}/nodes-example", addresses.join(","));
    let mut clients = Registry::new();
    clients.register(Arc::new(remote::RemoteConnector))?;
    let container = clients.create(&location, &FileCreate::default(), &FileAccess::write(), true)?;
    let datasets = (0..CLIENTS).map(|n| dataset(&*container, n)).collect::<Result<Vec<Token>>>()?;
    container.commit(Durability::Full)?;
    let operations = AtomicU64::new(0);
    let began = Instant::now();
    std::thread::scope(|scope| {
        for (client, dataset) in datasets.into_iter().enumerate() {
            let (location, clients, operations) =
                (format!("{location}?node={client}"), &clients, &operations);
            scope.spawn(move || work(clients, &location, dataset, operations).expect("a client"));
        }
    });
    let rate = operations.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64();
    println!("{count} node(s), {CLIENTS} clients: {rate:.0} operations a second");
    container.close()?;
    clients.delete(&location, &FileAccess::write()).or_else(|error| match error.kind() {
        model::Kind::Unsupported => Ok(()),
        _ => Err(error),
    })?;
    Ok(rate)
}

fn start(stack: Option<&str>, count: usize) -> Result<Vec<Server>> {
    let mut slow = Registry::new();
    slow.register(Arc::new(Slow::default()))?;
    let limits = ServerLimits { running_max: 1, ..ServerLimits::default() };
    let start = || {
        let mut registry = slow.clone();
        if stack.is_some() {
            // A connection to the cluster of its own, as in a process of its own.
            registry = Registry::new();
            registry.register(Arc::new(object::ObjectConnector::new()))?;
        }
        let stack = Some(stack.unwrap_or("object+memory:").to_owned());
        let limits = limits.clone();
        Server::start(&Config { stack, root: None, auth: Auth::Off, limits, ..Config::local(registry, "") })
    };
    (0..count).map(|_| start()).collect()
}

fn dataset(container: &dyn Container, number: usize) -> Result<Token> {
    container.dataset_create(&OpDatasetCreate {
        place: Some(LinkLocation::new(container.info()?.root, format!("data{number}"))),
        datatype: Datatype::integer(1, false, ByteOrder::Little),
        committed: None,
        space: Dataspace::simple(&[ELEMENTS])?,
        create: DatasetCreate::default(),
    })
}

/// Writes and reads the dataset of one client in turn, and commits now and then.
fn work(clients: &Registry, location: &str, dataset: Token, operations: &AtomicU64) -> Result<()> {
    let container = clients.open(location, &FileAccess::write())?;
    let mut bytes = vec![1; ELEMENTS as usize];
    let began = Instant::now();
    for round in 1u32.. {
        container.dataset_write(&[OpWrite { dataset, selection: &Selection::All, from: &bytes }])?;
        container.dataset_read(&mut [OpRead { dataset, selection: &Selection::All, into: &mut bytes }])?;
        operations.fetch_add(2, Ordering::Relaxed);
        if round % COMMIT_ROUNDS == 0 {
            container.commit(Durability::Full)?;
            operations.fetch_add(1, Ordering::Relaxed);
        }
        if began.elapsed() >= Duration::from_secs(SECONDS) {
            break;
        }
    }
    container.close()
}
