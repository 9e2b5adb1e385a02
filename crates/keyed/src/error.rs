//! What a store says, in the words of the model.

use model::{Error, Kind, Result};

/// An error of the store while doing `operation`.
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

/// The same for a fetch, which has no conditions: an akey is not what its dataset says.
pub fn fetched(operation: &str, error: &objects::Error) -> Error {
    match error {
        objects::Error::Condition(_) => Error::corrupt(operation).with("problem", error),
        error => stored(operation, error),
    }
}

/// `store.get(…).during("read link")?`
pub trait During<T> {
    /// The same, seen from `operation`.
    fn during(self, operation: &str) -> Result<T>;
}

impl<T> During<T> for objects::Result<T> {
    fn during(self, operation: &str) -> Result<T> {
        self.map_err(|error| stored(operation, &error))
    }
}
