//! What is wrong with what is stored.

use model::Result;

/// One thing that is wrong with what is stored.
#[derive(Debug)]
struct Finding {
    object: String,
    part: &'static str,
    problem: String,
    is_mended: bool,
}

/// What a check found, and whether it mends.
#[derive(Debug)]
pub struct Findings {
    /// Whether what can be mended is.
    pub mends: bool,
    list: Vec<Finding>,
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
        is_mended: bool,
    ) {
        if self.list.len() < FINDINGS_MAX {
            let (object, problem) = (object.into(), problem.into());
            self.list.push(Finding { object, part, problem, is_mended });
        }
    }

    /// A line each: object, part, problem and whether it was mended, with tabs between.
    pub fn lines(&self) -> Vec<u8> {
        let line = |finding: &Finding| {
            let Finding { object, part, problem, is_mended } = finding;
            let problem = problem.replace(['\t', '\n'], " ");
            format!("{object}\t{part}\t{problem}\t{}\n", if *is_mended { "mended" } else { "" })
        };
        self.list.iter().map(line).collect::<String>().into_bytes()
    }
}
