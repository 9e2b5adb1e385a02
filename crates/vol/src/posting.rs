//! Writes that borrow their buffers until they are flushed.

use model::{Result, Selection, Token};

use crate::Durability;

/// Writes of one process that wait in the buffers of their caller; [`Container::posting`](crate::Container::posting)
/// begins them. If it is dropped without a flush, they are lost, unless they were too many to wait.
pub trait Posting<'b>: Send {
    /// Adds elements in the file datatype. Readers see them after the flush; until then the buffer is borrowed.
    ///
    /// # Errors
    /// Returns `Limit` where more would wait than may, and only the caller can flush.
    fn write(&mut self, dataset: Token, selection: &Selection, from: &'b [u8]) -> Result<()>;

    /// Adds elements as [`Posting::write`] does, and copies them.
    ///
    /// # Errors
    /// As [`Posting::write`].
    fn write_copied(&mut self, dataset: Token, selection: &Selection, from: &[u8]) -> Result<()>;

    /// Writes all elements that wait, in the container and here, and commits. If several processes have the container
    /// open, all of them call it together.
    ///
    /// # Errors
    /// Returns the error of the storage.
    fn flush(self: Box<Self>, durability: Durability) -> Result<()>;
}
