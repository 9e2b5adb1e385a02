//! A budget for all values of one container: many that are allowed one by one are too many together.

use std::cell::Cell;

use model::{Error, Limits, Result};

/// Values of a container may take this many times what one of them may.
const VALUES: u64 = 4;

/// Bytes that values may still take.
#[derive(Debug)]
pub(crate) struct ValueBudget(Cell<u64>);

impl ValueBudget {
    pub(crate) fn new(limits: &Limits) -> ValueBudget {
        ValueBudget(Cell::new(limits.metadata_bytes_max.saturating_mul(VALUES)))
    }

    pub(crate) fn left(&self) -> u64 {
        self.0.get()
    }

    pub(crate) fn take(&self, bytes: u64) -> Result<()> {
        let left = self.0.get().checked_sub(bytes);
        let error =
            || Error::limit("keep values as text").with("bytes", bytes).with("bytes left", self.0.get());
        self.0.set(left.ok_or_else(error)?);
        Ok(())
    }
}
