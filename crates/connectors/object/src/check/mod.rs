//! Operations that only this connector has: what is stored, and what is wrong with it.

mod counts;
mod dump;
mod show;
mod walk;

use keyed::Findings;
use model::{Error, Result};

use crate::opening::Opening;
use walk::Walk;

impl Opening {
    /// `storage.check` (with `repair` to mend), and `storage.show`.
    pub(crate) fn optional_operation(&self, operation: &str, arguments: &[u8]) -> Result<Vec<u8>> {
        self.shared.elements().settle_all()?;
        match (operation, arguments) {
            ("storage.check", b"") => self.check_storage(false),
            ("storage.check", b"repair") => {
                self.check_writable()?;
                self.check_storage(true)
            }
            ("storage.show", _) => self.dump().map(String::into_bytes),
            _ => Err(Error::unsupported("optional operation").with("operation", operation)),
        }
    }

    fn check_storage(&self, mends: bool) -> Result<Vec<u8>> {
        let findings = Findings::new(mends);
        let findings = Walk::new(self, findings)?.run()?;
        if mends {
            self.shared.forget_all();
        }
        Ok(findings.lines())
    }
}
