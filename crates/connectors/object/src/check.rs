//! Operations that only this connector has.

use model::{Error, Result};

use crate::opening::Opening;

impl Opening {
    pub(crate) fn optional_operation(&self, operation: &str, _arguments: &[u8]) -> Result<Vec<u8>> {
        Err(Error::unsupported("optional operation").with("operation", operation))
    }
}
