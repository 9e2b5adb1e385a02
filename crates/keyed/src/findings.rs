//! What is wrong with what is stored.

use model::Result;
use vol::StorageFinding;

/// What a check found, and whether it mends.
#[derive(Debug)]
pub struct Findings {
    /// Whether what can be mended is.
    pub mends: bool,
    list: Vec<StorageFinding>,
}

/// Findings after which a check stops.
const FINDINGS_MAX: usize = 10_000;

impl Findings {
    /// Nothing yet.
    pub fn new(mends: bool) -> Self {
        Findings { mends, list: Vec::new() }
    }

    /// Notes a problem that nobody can mend.
    pub fn add(&mut self, object: impl Into<String>, part: &'static str, problem: impl Into<String>) {
        self.push(object, part, problem, false);
    }

    /// Notes a problem; where it is asked for, it is mended.
    pub fn mend(
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
        is_repaired: bool,
    ) {
        if self.list.len() < FINDINGS_MAX {
            let (path, part, problem) = (object.into(), part.to_owned(), problem.into());
            self.list.push(StorageFinding { path, part, problem, is_repaired });
        }
    }

    /// Returns what was found.
    pub fn into_list(self) -> Vec<StorageFinding> {
        self.list
    }
}
