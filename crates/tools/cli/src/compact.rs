//! `hyperslab compact`: a log without what was overwritten.

use std::process::ExitCode;

use hyperslab::extensions::{CheckRepack, CompactLog};
use hyperslab::vol::{FileAccess, Location, call};
use hyperslab::{Error, Result};

use crate::help::refuse;
use crate::open::shown;
use crate::settings::registry;
use crate::{copy, log};

pub(crate) const USAGE: &str = "\
usage: hyperslab compact FILE
  Writes the log of a file anew without elements that were overwritten, cut off or deleted, and repacks the file, so that
  it becomes shorter. The file is whole at every moment. FILE is run.h5 or log:run.h5.
";

/// Compacts the log of the file that the command line names.
pub(crate) fn run(args: &[String]) -> ExitCode {
    let [path] = args else { return refuse("compact", args) };
    if path == "-h" || path == "--help" {
        print!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    if path.starts_with('-') {
        return refuse("compact", args);
    }
    match compact(path) {
        Ok(None) => copy::repack::run(&[Location::parse(path).path]),
        Ok(Some(reason)) => {
            eprintln!("hyperslab compact: {}: the file is as long as before: {reason}", shown(path));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("hyperslab compact: {}: {error}", shown(path));
            ExitCode::FAILURE
        }
    }
}

/// Compacts the log; why the file cannot be repacked after that, if it cannot.
fn compact(path: &str) -> Result<Option<Error>> {
    let container = registry().open(&log::location(path), &FileAccess::write())?;
    call::<CompactLog>(&*container, &())?;
    let refused = call::<CheckRepack>(&*container, &()).err();
    container.close()?;
    Ok(refused)
}
