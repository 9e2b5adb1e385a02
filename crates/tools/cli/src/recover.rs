//! `hyperslab recover`: finishes a commit that was cut short, for programs that do not know the redo record.

use std::process::ExitCode;

use hyperslab::{File, FileAccess, Result};

const USAGE: &str = "\
usage: hyperslab recover FILE...
  Finishes a commit that a crash cut short, so that any HDF5 library reads the file as promised.
  A file without such a commit is left as it is.
";

/// Recovers the files that the command line names.
pub(crate) fn run(args: &[String]) -> ExitCode {
    if args.is_empty() || args.iter().any(|arg| arg.starts_with('-')) {
        eprint!("{USAGE}");
        return if args.iter().any(|arg| arg == "-h" || arg == "--help") {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        };
    }
    let mut code = ExitCode::SUCCESS;
    for path in args {
        match recover(path) {
            Ok(text) => println!("{path}: {text}"),
            Err(error) => {
                eprintln!("hyperslab recover: {path}: {error}");
                code = ExitCode::FAILURE;
            }
        }
    }
    code
}

/// Opening to write finishes what is to be finished; a file that needs nothing is only opened to read.
fn recover(path: &str) -> Result<&'static str> {
    let cut_short =
        |file: &File| file.container_info().map(|i| i.warnings.iter().any(|w| w.contains("cut short")));
    if !cut_short(&File::open(path)?)? {
        return Ok("nothing to recover");
    }
    let file = File::open_with(path, &FileAccess::write())?;
    let recovered = cut_short(&file)?;
    file.close()?;
    Ok(if recovered { "the last commit was finished" } else { "nothing to recover" })
}
