//! What the storage says, in the words of the model.

use iod_storage::Error as Storage;
use model::{Error, Result};

/// An error of the storage while doing `operation`. Identities come from the container itself: what is not where one
/// leads, or is of another kind, is damage.
pub(crate) fn stored(operation: &str, error: &Storage) -> Error {
    match error {
        Storage::NotFound(_) => Error::corrupt(operation).with("problem", error),
        error => keyed::fetched(operation, error),
    }
}

/// `storage.get(…).during("read link")?`
pub(crate) trait During<T> {
    /// The same, seen from `operation`.
    fn during(self, operation: &str) -> Result<T>;
}

impl<T> During<T> for iod_storage::Result<T> {
    fn during(self, operation: &str) -> Result<T> {
        self.map_err(|error| stored(operation, &error))
    }
}
