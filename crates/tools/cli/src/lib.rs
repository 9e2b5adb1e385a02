//! The `hyperslab` command, as a function: the program of that name calls it, and so does the Python package.

#[macro_use]
mod out;

mod allocator;
mod check;
mod colours;
mod commands;
mod common;
mod compact;
mod completions;
mod copy;
mod elements;
mod exec;
mod h5;
mod help;
mod log;
mod man;
mod near;
mod objects;
mod open;
mod progress;
mod recover;
mod scratch;
mod serve;
mod settings;
mod total;
mod tour;
mod usage;
mod view;
mod vol;
mod watch;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use hyperslab::vol::model::text::from_path;

/// Runs the command with the words after its name, and returns the code that the process should end with.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    // Whatever follows the name of a program is the program's.
    let mut given = arguments.into_iter().peekable();
    if given.next_if(|word| word == "exec").is_some() {
        return exec::run(&given.collect::<Vec<_>>());
    }
    // Names of files keep their bytes, whatever they are.
    let words: Vec<String> = given.map(|word| from_path(Path::new(&word))).collect();
    hyperslab::set_close_error_hook(Some(Arc::new(|error| eprintln!("hyperslab: {error}"))));
    match common::read(words).and_then(|words| run(&words)) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("hyperslab: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[String]) -> hyperslab::Result<ExitCode> {
    let words = settings::read(words)?;
    let code = run_command(words);
    settings::print_measured();
    Ok(code)
}

fn run_command(words: &[String]) -> ExitCode {
    let Some((name, rest)) = words.split_first() else {
        eprint!("{}", help::overview());
        return ExitCode::FAILURE;
    };
    match (name.as_str(), commands::find(name)) {
        (_, Some(command)) => (command.run)(rest),
        ("--help" | "-h", _) => help::run(&[]),
        ("--version" | "-V", _) => {
            println!("hyperslab {}", env!("CARGO_PKG_VERSION"));
            ExitCode::SUCCESS
        }
        _ => help::unknown(name),
    }
}
