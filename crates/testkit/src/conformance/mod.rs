//! The behaviours that every connector shows, as far as its capability reaches.

mod attributes;
mod chunks;
mod committed;
mod containers;
mod conversion;
mod copies;
mod datasets;
mod external;
mod limits;
mod links;
mod listing;
mod maps;
mod objects;
mod paths;
mod races;
mod random;
mod references;
mod resizing;
mod selections;
mod strings;
mod threads;
mod unsupported;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use algorithms::workers;
use libtest_mimic::{Failed, Trial};
use model::{Error, Result};
use vol::Capability;

use crate::Subject;

/// Something that a container does.
#[derive(Debug, Clone, Copy)]
pub struct Behaviour {
    /// What it does, as a sentence.
    pub name: &'static str,
    /// The file of the suite it stands in.
    pub concern: &'static str,
    /// Whether a connector with this capability must show it.
    pub needs: fn(&Capability) -> bool,
    /// Shows it, or says what went wrong.
    pub run: fn(&Subject) -> Result<()>,
}

/// `needs => behaviour, behaviour;` as the list of a file.
macro_rules! suite {
    ($concern:literal: $($needs:expr => $($name:ident),+ $(,)?;)+) => {
        /// The behaviours of this file.
        pub(super) const LIST: &[super::Behaviour] = &[$($(super::Behaviour {
            name: stringify!($name),
            concern: $concern,
            needs: $needs,
            run: $name,
        },)+)+];
    };
}
use suite;

/// Returns all behaviours, by concern.
pub fn behaviours() -> impl Iterator<Item = &'static Behaviour> {
    [
        containers::LIST,
        objects::LIST,
        links::LIST,
        listing::LIST,
        paths::LIST,
        attributes::LIST,
        datasets::LIST,
        selections::LIST,
        resizing::LIST,
        strings::LIST,
        references::LIST,
        committed::LIST,
        maps::LIST,
        copies::LIST,
        chunks::LIST,
        external::LIST,
        threads::LIST,
        races::LIST,
        limits::LIST,
        unsupported::LIST,
        random::LIST,
        conversion::LIST,
    ]
    .into_iter()
    .flatten()
}

/// How a subject did; behaviours are in the order of the suite.
#[derive(Debug, Default)]
pub struct Report {
    /// Behaviours it showed.
    pub passed: Vec<&'static Behaviour>,
    /// Behaviours its capability does not promise.
    pub unsupported: Vec<&'static Behaviour>,
    /// Behaviours it did not show, and why.
    pub failed: Vec<(&'static Behaviour, String)>,
}

/// Runs every behaviour on a subject, in this process, on all cores.
pub fn run(subject: &Subject) -> Result<Report> {
    let capability = subject.capability()?;
    let (needed, unsupported): (Vec<_>, Vec<_>) = behaviours().partition(|b| (b.needs)(&capability));
    let mut report = Report { unsupported, ..Report::default() };
    // An outcome is a value: no failure of one behaviour keeps others from being run.
    let show = |behaviour: &&Behaviour, outcome: &mut Option<String>| {
        *outcome = shown(behaviour, subject).err().map(|error| error.stack());
        Ok(())
    };
    workers::in_order(needed.into_iter().map(Ok), workers::threads(1, 0), show, |behaviour, outcome| {
        match outcome.take() {
            None => report.passed.push(*behaviour),
            Some(why) => report.failed.push((*behaviour, why)),
        }
        Ok(())
    })?;
    Ok(report)
}

/// A panic is a failure of one behaviour, not of the run.
fn shown(behaviour: &Behaviour, subject: &Subject) -> Result<()> {
    let outcome = catch_unwind(AssertUnwindSafe(|| (behaviour.run)(subject)));
    outcome.unwrap_or_else(|panic| {
        let said =
            panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        Err(Error::invalid("panicked").with("message", said.unwrap_or("?")))
    })
}

/// Returns one test for each behaviour, each on a subject of its own; what the capability does not promise is ignored.
pub fn trials(
    subject_name: &str,
    factory: impl Fn() -> Result<Subject> + Send + Sync + 'static,
) -> Vec<Trial> {
    let factory = Arc::new(factory);
    let capability = factory().and_then(|subject| subject.capability()).map_err(|error| error.stack());
    let trial = |behaviour: &'static Behaviour| {
        let (factory, problem) = (factory.clone(), capability.clone().err());
        let is_needed = capability.as_ref().map_or(true, |capability| (behaviour.needs)(capability));
        let name = format!("{subject_name}::{}::{}", behaviour.concern, behaviour.name);
        let test = move || match &problem {
            Some(problem) => Err(Failed::from(problem)),
            None => {
                factory().and_then(|subject| shown(behaviour, &subject)).map_err(|e| Failed::from(e.stack()))
            }
        };
        Trial::test(name, test).with_ignored_flag(!is_needed)
    };
    behaviours().map(trial).collect()
}
