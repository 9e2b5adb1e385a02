//! Values of variable length that were fetched together.

use model::budget::{self, Budget, Charge};
use model::{Error, Result};

/// Blobs that were fetched together: one buffer, and the end of each blob in it. Their memory is charged to an
/// account.
#[derive(Debug)]
pub struct Blobs {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    charge: Charge,
}

/// Most bytes that are reserved before there are any.
const BLOBS_CAPACITY_BYTES: u64 = 1 << 20;

impl Blobs {
    /// Returns an empty list, whose values are charged to `budget` as they come.
    pub fn new(budget: &Budget) -> Self {
        Blobs { bytes: Vec::new(), ends: Vec::new(), charge: budget.empty_charge() }
    }

    /// Returns an empty list with capacity for `count` blobs of `bytes` bytes together. The bytes are a guess, which a
    /// broken file may have made.
    ///
    /// # Errors
    /// Returns `Limit` if the account has not that much left.
    pub fn with_capacity(budget: &Budget, count: usize, bytes: u64) -> Result<Self> {
        let mut blobs = Blobs::new(budget);
        blobs.ends.try_reserve_exact(count).map_err(|_| Error::limit("fetch blobs").with("count", count))?;
        blobs.grow(bytes.min(BLOBS_CAPACITY_BYTES) as usize)?;
        Ok(blobs)
    }

    /// Appends a blob.
    ///
    /// # Errors
    /// Returns `Limit` if the blobs together are larger than what the account has left.
    #[inline]
    pub fn push(&mut self, blob: &[u8]) -> Result<()> {
        if blob.len() > self.bytes.capacity() - self.bytes.len() {
            self.grow(blob.len())?;
        }
        self.bytes.extend_from_slice(blob);
        self.ends.push(self.bytes.len());
        Ok(())
    }

    #[cold]
    fn grow(&mut self, more: usize) -> Result<()> {
        budget::grow(&mut self.bytes, more, Some(&mut self.charge), "values of variable length")
    }

    /// Returns the number of blobs.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there are no blobs.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the bytes of all blobs, one after another.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the bytes of all blobs as [`Blobs::bytes`] does, without a copy, and their charge.
    pub fn into_charged(self) -> (Vec<u8>, Charge) {
        (self.bytes, self.charge)
    }

    /// Returns the number of bytes of each blob.
    pub fn lengths(&self) -> impl Iterator<Item = usize> {
        let mut start = 0;
        self.ends.iter().map(move |&end| end - std::mem::replace(&mut start, end))
    }

    /// Returns the blobs, in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| &self.bytes[std::mem::replace(&mut start, end)..end])
    }
}

impl Default for Blobs {
    /// Returns an empty list with an account of its own.
    fn default() -> Self {
        Blobs::new(&Budget::default())
    }
}
