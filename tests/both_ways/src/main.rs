//! Hyperslab's side of the random comparison with h5py: `run.py` drives it.
//!
//! `both-ways apply FILE` changes a file by the script on its input; `both-ways describe FILE` prints what a file
//! holds; `both-ways check FILE` verifies it.

mod apply;
mod create;
mod describe;
mod types;
mod values;
mod words;

use std::io::BufRead;
use std::process::ExitCode;

use hyperslab::check::Check;
use model::{Error, Result};
use vol::FileAccess;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let done = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["apply", file] => apply(file),
        ["describe", file] => describe(file),
        ["check", file] => check(file),
        _ => Err(Error::invalid("both-ways").with("usage", "apply | describe | check FILE")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn apply(file: &str) -> Result<()> {
    let mut script = apply::Script::new(file);
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|e| Error::io("read script", &e))?;
        script.line(&line).map_err(|error| {
            let shown: String = line.chars().take(400).collect();
            error.with("line", shown)
        })?;
    }
    script.close()
}

fn describe(file: &str) -> Result<()> {
    let container = hyperslab::registry().open(file, &FileAccess::read())?;
    for line in describe::describe(&*container)? {
        println!("{line}");
    }
    Ok(())
}

fn check(file: &str) -> Result<()> {
    let container = hyperslab::registry().open(file, &FileAccess::read())?;
    let report = Check::default().run(&*container, &mut |_| {});
    for finding in &report.findings {
        println!("{} {}: {}", finding.path, finding.part, finding.error);
    }
    match report.findings.is_empty() {
        true => Ok(()),
        false => Err(Error::corrupt("check").with("findings", report.findings.len())),
    }
}
