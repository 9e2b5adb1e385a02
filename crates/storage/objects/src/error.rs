//! Errors of stores.

use std::io;

/// Result of a storage operation.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a storage operation failed. Nothing has changed then, unless the operation says otherwise.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such container, pool or cluster.
    #[error("{0}")]
    NotFound(String),
    /// There is one already.
    #[error("{0}")]
    Exists(String),
    /// A condition did not hold: another caller was faster, or the akey is of the other kind.
    #[error("{0}")]
    Condition(String),
    /// Another process has it, or a right is missing.
    #[error("{0}")]
    Refused(String),
    /// The stored bytes are invalid, or of a newer version.
    #[error("{0}")]
    Corrupt(String),
    /// A value, key or number is larger than the engine takes.
    #[error("{0}")]
    TooLarge(String),
    /// The system says no.
    #[error("{what}: {source}")]
    Io {
        /// The operation that failed.
        what: String,
        /// The error of the system.
        source: io::Error,
    },
}
