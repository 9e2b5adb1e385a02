//! Operations that only this connector has: what is stored, and what is wrong with it.

mod counts;
mod dump;
mod show;
mod walk;

use model::{Error, Result};

use crate::opening::Opening;
use walk::Walk;

/// One thing that is wrong with what is stored.
#[derive(Debug)]
pub(crate) struct Finding {
    object: String,
    part: &'static str,
    problem: String,
    is_mended: bool,
}

/// What a check found.
#[derive(Debug)]
struct Findings {
    mends: bool,
    list: Vec<Finding>,
}

/// Findings after which a check stops.
const FINDINGS_MAX: usize = 10_000;

impl Findings {
    /// Notes a problem that nobody can mend.
    fn add(&mut self, object: impl Into<String>, part: &'static str, problem: impl Into<String>) {
        self.push(object, part, problem, false);
    }

    /// Notes a problem; where it is asked for, it is mended.
    fn mend(
        &mut self,
        object: impl Into<String>,
        part: &'static str,
        problem: impl Into<String>,
        mend: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        if self.mends {
            mend()?;
        }
        self.push(object, part, problem, self.mends);
        Ok(())
    }

    fn push(
        &mut self,
        object: impl Into<String>,
        part: &'static str,
        problem: impl Into<String>,
        is_mended: bool,
    ) {
        if self.list.len() < FINDINGS_MAX {
            let (object, problem) = (object.into(), problem.into());
            self.list.push(Finding { object, part, problem, is_mended });
        }
    }

    /// A line each: object, part, problem and whether it was mended, with tabs between.
    fn lines(&self) -> Vec<u8> {
        let line = |finding: &Finding| {
            let Finding { object, part, problem, is_mended } = finding;
            let problem = problem.replace(['\t', '\n'], " ");
            format!("{object}\t{part}\t{problem}\t{}\n", if *is_mended { "mended" } else { "" })
        };
        self.list.iter().map(line).collect::<String>().into_bytes()
    }
}

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
        let findings = Findings { mends, list: Vec::new() };
        let findings = Walk::new(self, findings)?.run()?;
        if mends {
            self.shared.forget_all();
        }
        Ok(findings.lines())
    }
}
