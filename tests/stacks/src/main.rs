//! Prints the conformance matrix, or with `capabilities` the tables of connectors; `cargo xtask conformance` runs both.

use std::process::ExitCode;
use std::time::Instant;

use stacks::table::{self, Row};
use stacks::{Entry, SUBJECTS};
use testkit::conformance::{self, Report};
use vol::Result;

fn run(entry: &Entry) -> Result<Row> {
    let (began, subject) = (Instant::now(), entry.subject()?);
    let report = conformance::run(&subject)?;
    eprintln!("{:6.1} s  {}", began.elapsed().as_secs_f32(), entry.name());
    tell_failures(&report);
    Ok((entry.name(), report))
}

fn tell_failures(report: &Report) {
    for (behaviour, why) in &report.failed {
        eprintln!("          failed: {}::{}: {why}", behaviour.concern, behaviour.name);
    }
}

fn matrix() -> Result<ExitCode> {
    let rows = SUBJECTS.iter().map(run).collect::<Result<Vec<Row>>>()?;
    print!("{}", table::matrix(&rows));
    let is_whole = rows.iter().all(|(_, report)| report.failed.is_empty());
    Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("capabilities") {
        print!("{}", table::capabilities(&hyperslab::registry()));
        return ExitCode::SUCCESS;
    }
    matrix().unwrap_or_else(|error| {
        eprintln!("{}", error.stack());
        ExitCode::FAILURE
    })
}
