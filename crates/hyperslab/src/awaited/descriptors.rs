//! Pins that are awaited.

use layers::asynchronous::start;
use model::{Datatype, Kind, Result};
use vol::Container;

/// A pin that is awaited, as [`vol::Pin`] for calls that wait.
pub(super) struct Pinned<'c> {
    container: &'c dyn Container,
    number: u64,
}

impl<'c> Pinned<'c> {
    /// Pins the blobs of a container for a caller that reads values of this type, where they name any.
    pub(super) async fn of(container: &'c dyn Container, datatype: &Datatype) -> Result<Option<Self>> {
        if !datatype.has_descriptors() {
            return Ok(None);
        }
        let number = vol::Pin::number();
        match start(container, move |c| c.blob_pin(number)).await {
            Ok(()) => Ok(Some(Pinned { container, number })),
            // A connector without pins never removes a blob that was in use.
            Err(error) if error.kind() == Kind::Unsupported => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Drop for Pinned<'_> {
    fn drop(&mut self) {
        let number = self.number;
        // A container that was closed has no pins.
        let unpin = move |c: &dyn Container| {
            let _ = c.blob_unpin(number);
            Ok(())
        };
        drop(start(self.container, unpin));
    }
}
