//! Engines that a caller brings along: where the containers of a location are.

use std::fmt::Debug;
use std::sync::Arc;

use crate::{Pool, Result};

/// Where a container is.
#[derive(Clone, Debug)]
pub struct ContainerLocation {
    /// The pool.
    pub pool: Arc<dyn Pool>,
    /// The name of the container in the pool. Its UUID is a hash of that.
    pub name: String,
    /// A key that is the same for the same container, whatever path it was found by, and differs for others of this engine.
    pub key: String,
}

/// Finds pools of containers by the paths of locations. A location `object+NAME:PATH` or `iod+NAME:PATH` leads to the
/// engine that was registered as `NAME`, which is handed `PATH`.
pub trait Engine: Send + Sync + Debug {
    /// Returns where the container of a path is, or would be. It need not exist.
    ///
    /// # Errors
    /// Returns `NotFound` if the path names no pool of this engine.
    fn location(&self, path: &str) -> Result<ContainerLocation>;

    /// Returns whether several processes may write to a container at the same time: updates with
    /// [conditions](crate::Condition) are decided where the data is, and [`Store::refresh`](crate::Store::refresh) shows what
    /// others did.
    fn is_concurrent(&self) -> bool {
        false
    }
}
