//! `hyperslab recover`: finishes a commit that was cut short, for programs that do not know the redo record, and clears old marks.

use crate::open::shown;
use std::process::ExitCode;

use hyperslab::{File, FileAccess, Kind, Result};

const USAGE: &str = "\
usage: hyperslab recover FILE...
  Finishes a commit that a crash cut short, so that any HDF5 library reads the file as promised.
  Takes away the mark of a writer that died without closing the file, too, as h5clear -s does.
  A file that needs neither is left as it is.
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
                eprintln!("hyperslab recover: {}: {error}", shown(path));
                code = ExitCode::FAILURE;
            }
        }
    }
    code
}

/// Opening to write finishes what is to be finished and takes old marks away; a file that needs nothing is only opened to read.
fn recover(path: &str) -> Result<&'static str> {
    let cut_short =
        |file: &File| file.container_info().map(|i| i.warnings.iter().any(|w| w.contains("cut short")));
    let marked = match File::open(path) {
        Ok(file) if !cut_short(&file)? && !is_marked(&file)? => return Ok("nothing to recover"),
        Ok(file) => is_marked(&file)?,
        Err(error) if error.kind() == Kind::Busy => true,
        Err(error) => return Err(error),
    };
    let file = File::open_with(path, &FileAccess { clear_marks: true, ..FileAccess::write() })?;
    let recovered = cut_short(&file)?;
    file.close()?;
    Ok(match (recovered, marked) {
        (true, _) => "the last commit was finished",
        (false, true) => "it is not marked as open for writing any more",
        (false, false) => "nothing to recover",
    })
}

/// Whether a writer of this library left its mark, which does not keep the library from opening the file.
fn is_marked(file: &File) -> Result<bool> {
    Ok(file.container_info()?.warnings.iter().any(|w| w.contains("marked as open")))
}
