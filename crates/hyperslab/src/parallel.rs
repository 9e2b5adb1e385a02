//! Files that many processes have open together (`docs/parallel.md`).
//!
//! All processes make the same calls that create, open, change or flush something; each reads and writes elements of
//! its own.
//!
//! ```
//! use std::sync::Arc;
//! use hyperslab::parallel::{Comm, threads};
//! use hyperslab::{File, Result, Transfer};
//!
//! # fn main() -> Result<()> {
//! let path = std::env::temp_dir().join(format!("parallel-{}.h5", std::process::id()));
//! let write = |comm: Arc<dyn Comm>| -> Result<()> {
//!     let rank = comm.rank();
//!     let file = File::create_parallel(comm, &path)?;
//!     let data = file.new_dataset::<i32>().shape((2, 10)).create("data")?.with_transfer(Transfer::collective());
//!     data.write_slice(&ndarray::Array1::from_elem(10, rank as i32), (rank, ..))?;
//!     file.close()
//! };
//! // Threads stand for processes here; with the feature `mpi`, `Mpi::start()` is the member of a process.
//! std::thread::scope(|scope| {
//!     let ranks = threads(2).into_iter().map(|comm| scope.spawn(|| write(Arc::new(comm))));
//!     ranks.collect::<Vec<_>>().into_iter().for_each(|rank| rank.join().unwrap().unwrap());
//! });
//! assert_eq!(File::open(&path)?.dataset("data")?.read_raw::<i32>()?[8..12], [0, 0, 1, 1]);
//! # std::fs::remove_file(&path).ok();
//! # Ok(())
//! # }
//! ```

use std::path::Path;
use std::sync::Arc;

use model::Result;
use model::properties::FileCreate;
use model::text::from_path;
use vol::{Connector, FileAccess, Registry};

use crate::File;
use crate::registry::built_in;

#[cfg(feature = "mpi")]
pub use comm::Mpi;
pub use comm::{Comm, Meter, Reduce, Single, Thread, Traffic, threads};
pub use vol::ParallelAccess;

/// Returns a registry whose containers all members of `comm` create and open together.
pub fn registry_of(registry: &Registry, comm: Arc<dyn Comm>) -> Registry {
    registry.with_connectors(move |connector| together(connector, &comm))
}

fn together(connector: &Arc<dyn Connector>, comm: &Arc<dyn Comm>) -> Arc<dyn Connector> {
    #[cfg(feature = "log")]
    if connector.info().name == log::NAME {
        let native: Arc<dyn Connector> = Arc::new(native::NativeConnector);
        let plain = parallel::connector(&native, comm.clone());
        return Arc::new(log::SharedLogConnector::new(native, comm.clone()).with_plain(plain));
    }
    #[cfg(feature = "remote")]
    if connector.info().name == remote::NAME {
        return parallel::shared_connector(connector, comm.clone());
    }
    parallel::connector(connector, comm.clone())
}

/// Returns access properties for a file that all members open: `mpio` is libhdf5's name for a plain file of several processes.
fn shared_access(access: &FileAccess) -> FileAccess {
    let driver = access.driver.clone().filter(|driver| driver != "mpio");
    FileAccess { driver, ..access.clone() }
}

impl File {
    /// Creates a file that all members of `comm` write to, and replaces an existing one. All of them call it.
    ///
    /// # Errors
    /// Returns the errors of [`File::create_parallel_with`].
    pub fn create_parallel(comm: Arc<dyn Comm>, path: impl AsRef<Path>) -> Result<File> {
        let (create, access) = (FileCreate::default(), FileAccess::write());
        Self::create_parallel_with(comm, &from_path(path.as_ref()), &create, &access, true)
    }

    /// Creates a container at a location that all members of `comm` write to. An existing one is replaced if
    /// `truncate` is set.
    ///
    /// # Errors
    /// Returns `Unsupported` if several processes cannot write to a container of this connector, and `Invalid` to all
    /// members if one of them makes another call.
    pub fn create_parallel_with(
        comm: Arc<dyn Comm>,
        location: &str,
        create: &FileCreate,
        access: &FileAccess,
        truncate: bool,
    ) -> Result<File> {
        Self::create_in(&registry_of(built_in(), comm), location, create, &shared_access(access), truncate)
    }

    /// Opens a file that all members of `comm` read and write. All of them call it.
    ///
    /// # Errors
    /// Returns the errors of [`File::open_parallel_with`].
    pub fn open_parallel(comm: Arc<dyn Comm>, path: impl AsRef<Path>) -> Result<File> {
        Self::open_parallel_with(comm, &from_path(path.as_ref()), &FileAccess::write())
    }

    /// Opens a container at a location for all members of `comm`, with access properties.
    ///
    /// # Errors
    /// As [`File::create_parallel_with`].
    pub fn open_parallel_with(comm: Arc<dyn Comm>, location: &str, access: &FileAccess) -> Result<File> {
        Self::open_in(&registry_of(built_in(), comm), location, &shared_access(access))
    }
}
