//! The object connector next to others: `cargo run --release -p object-bench [bulk] [small] [maps] [--in FOLDER]`; with the word
//! `iod` the iod connector stands in its place.
//!
//! Both sides take turns, and each figure is the best of some rounds, so that a busy machine disturbs all of them alike.

mod bulk;
#[cfg(feature = "rados")]
mod ceph;
mod maps;
mod small;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use model::Result;
use model::properties::FileCreate;
use vol::{Container, FileAccess, Registry};

/// Where containers are created, and who makes them.
struct Bench {
    registry: Registry,
    folder: PathBuf,
    /// Whether the iod connector stands where the object connector is.
    is_iod: bool,
}

/// The two connectors that are compared.
#[derive(Debug, Clone, Copy)]
enum Side {
    Native,
    Object,
}

impl Bench {
    fn new(folder: &Path, is_iod: bool) -> Result<Self> {
        let mut registry = Registry::new();
        registry.register(Arc::new(native::NativeConnector))?;
        registry.register(Arc::new(object::ObjectConnector::new()))?;
        registry.register(Arc::new(iod::IodConnector::new()))?;
        Ok(Bench { registry, folder: folder.to_owned(), is_iod })
    }

    fn location(&self, side: Side, name: &str) -> String {
        let folder = self.folder.display();
        match side {
            Side::Native => format!("native:{folder}/{name}.h5"),
            Side::Object if self.is_iod => format!("iod:{folder}/{name}/"),
            Side::Object => format!("object:{folder}/{name}/"),
        }
    }

    fn create(&self, side: Side, name: &str) -> Result<Arc<dyn Container>> {
        let location = self.location(side, name);
        self.registry.create(&location, &FileCreate::default(), &FileAccess::write(), true)
    }

    fn open(&self, side: Side, name: &str) -> Result<Arc<dyn Container>> {
        self.registry.open(&self.location(side, name), &FileAccess::read())
    }

    fn delete(&self, side: Side, name: &str) -> Result<()> {
        self.registry.delete(&self.location(side, name), &FileAccess::write())
    }
}

/// How long something takes.
fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(Duration, T)> {
    let start = Instant::now();
    let done = work()?;
    Ok((start.elapsed(), done))
}

/// The shorter of what was best so far and a new time.
fn keep(best: &mut Duration, new: Duration) {
    *best = (*best).min(new);
}

fn rate(bytes: u64, time: Duration) -> f64 {
    bytes as f64 / 1e6 / time.as_secs_f64()
}

fn run() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (words, given) = match words.iter().position(|word| word == "--in") {
        Some(at) => (&words[..at], words.get(at + 1).map(PathBuf::from)),
        None => (&words[..], None),
    };
    let is_iod = words.iter().any(|word| word == "iod");
    let parts = words.len() - usize::from(is_iod);
    let wants = |part: &str| parts == 0 || words.iter().any(|word| word == part);
    let made = tempfile::tempdir().map_err(|error| model::Error::io("make folder", &error))?;
    let bench = Bench::new(given.as_deref().unwrap_or(made.path()), is_iod)?;
    if wants("bulk") {
        bulk::run(&bench)?;
    }
    if wants("small") {
        small::run(&bench)?;
    }
    if wants("maps") {
        maps::run(&bench)?;
    }
    #[cfg(feature = "rados")]
    if wants("ceph") {
        match std::env::var("HYPERSLAB_CEPH_CONF") {
            Ok(conf) => ceph::run(&bench, &conf)?,
            Err(_) => println!("Ceph: skipped, HYPERSLAB_CEPH_CONF names no cluster"),
        }
    }
    Ok(())
}

fn main() {
    if let Err(error) = run() {
        eprintln!("{error}");
        std::process::exit(1);
    }
}
