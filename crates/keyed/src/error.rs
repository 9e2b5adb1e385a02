//! Errors of the store as errors of the model.

use model::{Error, Kind, Result};

/// Returns an error of the store during `operation` as an error of the model.
pub fn stored(operation: &str, error: &objects::Error) -> Error {
    let kind = match error {
        objects::Error::NotFound(_) => Kind::NotFound,
        objects::Error::Exists(_) => Kind::Exists,
        objects::Error::Condition(_) | objects::Error::Refused(_) => Kind::Busy,
        objects::Error::Corrupt(_) => Kind::Corrupt,
        objects::Error::TooLarge(_) => Kind::Limit,
        objects::Error::Io { source, .. } => return Error::io(operation, source).with("problem", error),
        _ => Kind::Io,
    };
    Error::new(kind, operation).with("problem", error)
}

/// Returns an error of a read, which has no conditions: `Condition` says that what is stored has another form.
pub fn fetched(operation: &str, error: &objects::Error) -> Error {
    match error {
        objects::Error::Condition(_) => Error::corrupt(operation).with("problem", error),
        error => stored(operation, error),
    }
}

/// Results of the store as results of the model: `store.get(…).during("read link")?`.
pub trait During<T> {
    /// Returns the result with an error of the model, which names `operation`.
    fn during(self, operation: &str) -> Result<T>;
}

impl<T> During<T> for objects::Result<T> {
    fn during(self, operation: &str) -> Result<T> {
        self.map_err(|error| stored(operation, &error))
    }
}
