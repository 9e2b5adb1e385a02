//! `hyperslab objects`: what a container stores in an object store, for people who want to see the mapping.

use std::io::Write;
use std::process::ExitCode;

use hyperslab::Kind;

use crate::help::refuse;
use crate::open::{advice, open, shown};

pub(crate) const USAGE: &str = "\
usage: hyperslab objects LOCATION...
  Lists the objects of containers in object stores (object:folder/, object+rados:pool/name) with their dkeys, their
  akeys and what these hold, decoded where it has a meaning, and the key-value stores, arrays and blobs of iod:folder/
  with their scratch pads. docs/object-layout.md and docs/iod-layout.md explain them.
";

/// Lists the containers that the command line names.
pub(crate) fn run(args: &[String]) -> ExitCode {
    match args {
        [option] if option == "-h" || option == "--help" => {
            print!("{USAGE}");
            ExitCode::SUCCESS
        }
        files if files.is_empty() || files.iter().any(|file| file.starts_with('-')) => {
            refuse("objects", args)
        }
        files => match files.iter().all(|file| list(file)) {
            true => ExitCode::SUCCESS,
            false => ExitCode::FAILURE,
        },
    }
}

/// Lists one container; `false` where that failed.
fn list(file: &str) -> bool {
    let found = open(file, None).and_then(|opened| opened.container.storage_show());
    match found {
        // A reader that went away (`| head`) does not learn the rest.
        Ok(text) => crate::out::stdout().write_all(text.as_bytes()).is_ok(),
        Err(error) if error.kind() == Kind::Unsupported => {
            eprintln!("{}: it is not in an object store", shown(file));
            false
        }
        Err(error) => {
            eprintln!("{}: {}", shown(file), advice(&error));
            false
        }
    }
}
