//! The conformance suite on every stack: one test a stack, which runs all behaviours in its process and lists those
//! that fail. A process for each behaviour would take minutes.

use libtest_mimic::{Arguments, Failed, Trial};
use stacks::{Entry, SUBJECTS, table};
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

/// The page has the capabilities that connectors claim, and says how many behaviours there are.
fn page_is_current() -> Result<(), Failed> {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/connectors.md"))?;
    match page.contains(&table::capabilities(&hyperslab::registry())) && page.contains(&table::count()) {
        true => Ok(()),
        false => Err("docs/connectors.md is out of date: run `cargo xtask conformance --write`".into()),
    }
}

fn main() {
    // Connectors alone are tested in their own crates, one test a behaviour.
    let stacks = SUBJECTS.iter().filter(|entry| !entry.layers.is_empty());
    let trial = |entry: &'static Entry| Trial::test(entry.test, || conforms(entry));
    let page = Trial::test("page_is_current", page_is_current);
    libtest_mimic::run(&Arguments::from_args(), stacks.map(trial).chain([page]).collect()).exit();
}
