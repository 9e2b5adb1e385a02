//! `hyperslab log`: what a log holds.

use std::process::ExitCode;

use hyperslab::Result;
use hyperslab::extensions::{CheckRepack, LogStatisticsText};
use hyperslab::vol::{Container, FileAccess, Location, call};

use crate::open::shown;
use crate::settings::registry;

/// The group that makes a log of a file.
const GROUP: &str = "__LOG";

const USAGE: &str = "\
usage: hyperslab log FILE...
  Says what the logs of files hold: flushes, bytes, what was overwritten later, and for each dataset its entries and the
  pieces that a reader puts together. FILE is run.h5 or log:run.h5.
";

/// Returns a location of the log connector, with or without its prefix.
pub(crate) fn location(text: &str) -> String {
    match Location::parse(text).connector {
        Some(_) => text.to_owned(),
        None => format!("log:{text}"),
    }
}

/// Returns an error where a file holds a log that would not survive if the file were repacked.
pub(crate) fn check_repack(path: &str, container: &dyn Container) -> Result<()> {
    if container.link_get(container.info()?.root, GROUP)?.is_none() {
        return Ok(());
    }
    match registry().open(&location(path), &FileAccess::read()) {
        Ok(log) => call::<CheckRepack>(&*log, &()),
        // A group that is only called so.
        Err(_) => Ok(()),
    }
}

/// Prints what each log holds.
pub(crate) fn run(args: &[String]) -> ExitCode {
    let wants_help = args.iter().any(|arg| arg == "-h" || arg == "--help");
    if args.is_empty() || args.iter().any(|arg| arg.starts_with('-')) {
        eprint!("{USAGE}");
        return if wants_help { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let mut code = ExitCode::SUCCESS;
    for path in args {
        match statistics(path) {
            Ok(text) => print!("{path}\n{text}"),
            Err(error) => {
                eprintln!("hyperslab log: {}: {error}", shown(path));
                code = ExitCode::FAILURE;
            }
        }
    }
    code
}

fn statistics(path: &str) -> Result<String> {
    let container = registry().open(&location(path), &FileAccess::read())?;
    let text = call::<LogStatisticsText>(&*container, &())?;
    container.close()?;
    Ok(text)
}
