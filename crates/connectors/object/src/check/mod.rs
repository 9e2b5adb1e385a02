//! Operations that only this connector has: what is stored, and what is wrong with it.

mod counts;
mod dump;
mod show;
mod walk;

use keyed::Findings;
use model::Result;
use vol::StorageFinding;

use crate::opening::Opening;
use walk::Walk;

impl Opening {
    /// Verifies what is stored, and repairs it if `mends`.
    pub(crate) fn check_storage(&self, mends: bool) -> Result<Vec<StorageFinding>> {
        let findings = Findings::new(mends);
        let findings = Walk::new(self, findings)?.run()?;
        if mends {
            self.shared.forget_all();
        }
        Ok(findings.into_list())
    }
}
