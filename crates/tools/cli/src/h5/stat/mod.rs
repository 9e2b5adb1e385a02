//! `hyperslab stat`: the options and the output of h5stat.

mod collect;
mod json;
mod options;
mod print;

pub(crate) use options::USAGE;

use std::io::{self, Write};
use std::process::ExitCode;

use options::{Command, Options};

use crate::h5::ls::source::{ObjectAt, Source};
use crate::open::shown;
use crate::progress::Progress;

/// Tells what is in the file that the command line names.
pub(crate) fn run(args: &[String]) -> ExitCode {
    let mut out = io::BufWriter::new(crate::out::stdout());
    let code = match options::parse(args) {
        Command::Help => out.write_all(USAGE.as_bytes()).map(|()| 0),
        Command::Version => {
            writeln!(out, "hyperslab stat: Version {}", env!("CARGO_PKG_VERSION")).map(|()| 0)
        }
        Command::Wrong(why, help) => {
            eprintln!("hyperslab stat: {why}");
            out.write_all(if help { USAGE } else { "" }.as_bytes()).map(|()| 1)
        }
        Command::Tell(options) => tell(&mut out, &options),
    };
    // A reader that went away (`| head`) is no error of ours.
    ExitCode::from(code.and_then(|code| out.flush().map(|()| code)).unwrap_or(1))
}

fn tell(out: &mut dyn Write, options: &Options) -> io::Result<u8> {
    if !options.json {
        writeln!(out, "Filename: {}", shown(&options.file))?;
    }
    let progress = Progress::start_beside_output("stat");
    let found =
        Source::open(&options.file, None, 1).and_then(|source| collect::collect(&ObjectAt::root(&source)));
    drop(progress);
    match found {
        Ok(found) if options.json => json::print(out, &shown(&options.file), &found).map(|()| 0),
        Ok(found) => print::print(out, &found, options).map(|()| 0),
        Err(error) if options.errors => {
            eprint!("{}", error.stack());
            Ok(1)
        }
        Err(error) => {
            eprintln!("hyperslab stat: {}: {error}", shown(&options.file));
            Ok(1)
        }
    }
}
