//! Errors of the storage as errors of the model.

use iod_storage::Error as Storage;
use model::{Error, Result};

/// Returns an error of the storage during `operation` as an error of the model. IDs come from the container itself: an
/// object that does not exist, or is of another kind, is damage.
pub(crate) fn stored(operation: &str, error: &Storage) -> Error {
    match error {
        Storage::NotFound(_) => Error::corrupt(operation).with("problem", error),
        error => keyed::fetched(operation, error),
    }
}

/// Results of the storage as results of the model: `storage.get(…).during("read link")?`.
pub(crate) trait During<T> {
    /// Returns the result with an error of the model, which names `operation`.
    fn during(self, operation: &str) -> Result<T>;
}

impl<T> During<T> for iod_storage::Result<T> {
    fn during(self, operation: &str) -> Result<T> {
        self.map_err(|error| stored(operation, &error))
    }
}
