//! `hyperslab log`: what a log holds.

use std::process::ExitCode;

use hyperslab::Result;
use hyperslab::extensions::{CheckRepack, CompactLog, LogEntriesText, LogStatisticsText};
use hyperslab::vol::{Container, FileAccess, Location, call};

use crate::help::refuse;
use crate::open::shown;
use crate::settings::registry;

/// The group that makes a log of a file.
const GROUP: &str = "__LOG";

pub(crate) const USAGE: &str = "\
usage: hyperslab log [--entries | --join] FILE...
  Prints what the logs of files hold: flushes, bytes, what was overwritten later, and for each dataset its entries and the
  runs that a reader joins. FILE is run.h5 or log:run.h5.
  --entries   print each entry, as they were written: the dataset, where its bytes are, and which elements it has,
              counted in C order
  --join      bring logs that are in subfiles (FILE.subfiles/) into the file, without what was overwritten; then the
              subfiles are removed
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
    let (options, files): (Vec<&String>, Vec<&String>) = args.iter().partition(|arg| arg.starts_with('-'));
    let run: Option<fn(&str) -> Result<()>> = match options[..] {
        [] => Some(print_statistics),
        [option] if option == "--entries" => Some(print_entries),
        [option] if option == "--join" => Some(join),
        _ => None,
    };
    let Some(run) = run.filter(|_| !files.is_empty()) else {
        if wants_help {
            eprint!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        return refuse("log", args);
    };
    let mut code = ExitCode::SUCCESS;
    for path in files {
        if let Err(error) = run(path) {
            eprintln!("hyperslab log: {}: {error}", shown(path));
            code = ExitCode::FAILURE;
        }
    }
    code
}

/// Brings logs from subfiles into the file.
fn join(path: &str) -> Result<()> {
    let container = registry().open(&location(path), &FileAccess::write())?;
    call::<CompactLog>(&*container, &())?;
    container.close()
}

fn print_statistics(path: &str) -> Result<()> {
    let container = registry().open(&location(path), &FileAccess::read())?;
    print!("{path}\n{}", call::<LogStatisticsText>(&*container, &())?);
    container.close()
}

fn print_entries(path: &str) -> Result<()> {
    let container = registry().open(&location(path), &FileAccess::read())?;
    println!("{path}");
    let mut printed = 0;
    loop {
        let text = call::<LogEntriesText>(&*container, &printed)?;
        if text.is_empty() {
            return container.close();
        }
        print!("{text}");
        printed += text.lines().count() as u64;
    }
}
