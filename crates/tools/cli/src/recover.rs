//! `hyperslab recover`: finishes a commit that was cut short, for programs that do not know the redo record, and clears consistency flags.

use std::process::ExitCode;

use hyperslab::{FileAccess, Result};

use crate::help::refuse;
use crate::open::shown;
use crate::settings::registry;

pub(crate) const USAGE: &str = "\
usage: hyperslab recover FILE...
  Finishes a commit that a crash cut short, so that any HDF5 library reads the file as promised.
  Clears the consistency flags of a writer that died without closing the file, too, as h5clear -s does.
  A file that needs neither is left as it is.
";

/// Recovers the files that the command line names.
pub(crate) fn run(args: &[String]) -> ExitCode {
    if args.is_empty() || args.iter().any(|arg| arg.starts_with('-')) {
        if args.iter().any(|arg| arg == "-h" || arg == "--help") {
            eprint!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        return refuse("recover", args);
    }
    let mut code = ExitCode::SUCCESS;
    for path in args {
        match recover(path) {
            Ok(text) => println!("{path}: {text}"),
            Err(error) => {
                eprintln!("hyperslab recover: {}: {error}", shown(path));
                code = ExitCode::FAILURE;
            }
        }
    }
    code
}

/// Repairs a container, and returns what was repaired.
fn recover(location: &str) -> Result<String> {
    let repaired = registry().recover(location, &FileAccess::write())?;
    Ok(if repaired.is_empty() { "nothing to recover".to_owned() } else { repaired.join("; ") })
}
