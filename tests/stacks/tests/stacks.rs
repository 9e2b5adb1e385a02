//! The conformance suite on every subject: one test a subject, which runs all behaviours in its process and lists those
//! that fail. A process for each behaviour would take minutes.

use libtest_mimic::{Arguments, Failed, Trial};
use stacks::{Entry, SUBJECTS};
use testkit::conformance;

fn conforms(entry: &Entry) -> Result<(), Failed> {
    let subject = entry.subject().map_err(|error| error.stack())?;
    let report = conformance::run(&subject).map_err(|error| error.stack())?;
    println!("{}: {} passed, {} unsupported", subject.name(), report.passed.len(), report.unsupported.len());
    let told = report.failed.iter().map(|(b, why)| format!("{}::{}: {why}", b.concern, b.name));
    match report.failed.is_empty() {
        true => Ok(()),
        false => Err(told.collect::<Vec<_>>().join("\n").into()),
    }
}

fn main() {
    let trial = |entry: &'static Entry| Trial::test(entry.test, || conforms(entry));
    libtest_mimic::run(&Arguments::from_args(), SUBJECTS.iter().map(trial).collect()).exit();
}
