//! What programs do to files: each workload is a few steps, each step a commit.

mod attributes;
mod elements;
mod groups;
mod indexes;
mod journal;
mod mixed;
mod old;
mod space;

use hyperslab::{File, Result};
use model::properties::FileCreate;
use vol::{Durability, LibVersion};

/// Changes that become one commit.
pub(crate) type Step = fn(&File) -> Result<()>;

/// What a workload begins with.
#[derive(Clone)]
pub(crate) enum Start {
    /// A new file.
    New(FileCreate),
    /// A file that libhdf5 wrote.
    Old(Vec<u8>),
}

/// A file's life.
#[derive(Clone)]
pub(crate) struct Workload {
    pub(crate) name: String,
    pub(crate) start: Start,
    /// Oldest generation whose structures are written.
    pub(crate) low: LibVersion,
    /// What the commits promise, over and over.
    pub(crate) durability: Vec<Durability>,
    pub(crate) steps: Vec<Step>,
    /// Memory for elements, where it is less than by default.
    pub(crate) cache_bytes: Option<u64>,
    /// The file is closed at the end.
    pub(crate) closes: bool,
}

impl Workload {
    pub(crate) fn new(name: &str, steps: &[Step]) -> Workload {
        let (start, durability) = (Start::New(FileCreate::default()), vec![Durability::Full]);
        Workload {
            name: name.to_owned(),
            start,
            low: LibVersion::default(),
            durability,
            steps: steps.to_vec(),
            cache_bytes: None,
            closes: false,
        }
    }

    /// In a file of other properties.
    fn in_file(mut self, create: FileCreate) -> Workload {
        self.start = Start::New(create);
        self
    }

    /// With so little memory for elements.
    pub(crate) fn in_memory_of(mut self, bytes: u64) -> Workload {
        self.cache_bytes = Some(bytes);
        self
    }

    /// For libraries from a generation on.
    pub(crate) fn since(mut self, low: LibVersion) -> Workload {
        self.low = low;
        self
    }

    /// The file is closed at the end.
    fn closing(mut self) -> Workload {
        self.closes = true;
        self
    }

    pub(crate) fn with(mut self, durability: &[Durability]) -> Workload {
        self.durability = durability.to_vec();
        self
    }

    /// What the commit of a step promises.
    pub(crate) fn durability(&self, step: usize) -> Durability {
        self.durability[step % self.durability.len()]
    }
}

/// All workloads. Those on files of libhdf5 are left out where there is none.
pub(crate) fn all() -> Vec<Workload> {
    [read_by_h5py(), mixed::random(), mixed::swmr()].concat()
}

/// Workloads of types that h5py knows.
pub(crate) fn read_by_h5py() -> Vec<Workload> {
    [new_files(), old::all(), indexes()].concat()
}

/// Workloads of indexes and heaps that change by block.
pub(crate) fn indexes() -> Vec<Workload> {
    [indexes::new_files(), indexes::old_files()].concat()
}

/// Workloads that begin with a new file.
pub(crate) fn new_files() -> Vec<Workload> {
    [
        groups::all(),
        attributes::all(),
        elements::all(),
        journal::all(),
        mixed::all(),
        mixed::bounds(),
        space::all(),
    ]
    .concat()
}

/// A workload by its name.
pub(crate) fn named(name: &str) -> Workload {
    new_files().into_iter().chain(indexes()).find(|w| w.name == name).expect(name)
}

/// Numbers from `first` on.
fn numbers(first: i32, count: usize) -> Vec<i32> {
    (first..).take(count).collect()
}
