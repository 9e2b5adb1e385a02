//! The `hyperslab` command.

#[macro_use]
mod out;

mod allocator;
mod check;
mod common;
mod compact;
mod copy;
mod exec;
mod h5;
mod log;
mod objects;
mod open;
mod progress;
mod recover;
mod scratch;
mod serve;
mod settings;
mod tour;
mod vol;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use hyperslab::vol::model::text::from_path;

const USAGE: &str = "\
usage: hyperslab [--vol STACK] COMMAND [ARGUMENTS]

commands:
  tour     see the same data in every kind of storage: a first look, in a temporary folder
  dump     print a file's contents; takes the options of h5dump
  ls       list a file's objects; takes the options of h5ls
  copy     copy a container, an object or a subtree to any other container
  repack   copy a file with other filters, layouts or versions
  diff     compare two files; takes the options of h5diff
  stat     say what a file holds and where its bytes go; takes the options of h5stat
  check    read everything in a file and say what is wrong
  objects  list what a container keeps in an object store: objects, dkeys, akeys
  recover  finish a commit that a crash cut short
  log      say what a log holds: flushes, entries, what was overwritten
  compact  write a log anew without what was overwritten
  vol      say which connectors and layers there are, and what a stack means
  serve    let clients on other machines use the containers of a folder
  exec     run a program that was built for libhdf5 on this library

Files are locations: run.h5 is an HDF5 file, log:run.h5 one with a log, raw:folder/ a folder, json:run.json a text, object:folder/ an object store, h5s://host:port/name a server's, memory:name nothing but memory.
--vol puts layers over what a command opens, or over what copy writes: --vol \"stats | check\". The variables HYPERSLAB_VOL,
HDF5_VOL_CONNECTOR and HDF5_PLUGIN_PATH are read.

Every command takes these too:
  --memory BYTES     memory that the contents of files may take (768M; 512M, 2G, ...): more is an error
  --timeout SECONDS  end with an error after so long
  --expand           print very long paths, holes of datasets and deep indentation whole, and read what a few bytes claim to be
  --raw-output       print text of files as it is; without this, what could act upon a terminal is escaped
";

fn main() -> ExitCode {
    // Whatever follows the name of a program is the program's.
    let mut given = std::env::args_os().skip(1).peekable();
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
    match words.split_first() {
        Some((command, rest)) if command == "dump" => h5::dump::run(rest),
        Some((command, rest)) if command == "ls" => h5::ls::run(rest),
        Some((command, rest)) if command == "diff" => h5::diff::run(rest),
        Some((command, rest)) if command == "stat" => h5::stat::run(rest),
        Some((command, rest)) if command == "check" => check::run(rest),
        Some((command, rest)) if command == "copy" => copy::run(rest),
        Some((command, rest)) if command == "repack" => copy::repack::run(rest),
        Some((command, rest)) if command == "objects" => objects::run(rest),
        Some((command, rest)) if command == "recover" => recover::run(rest),
        Some((command, rest)) if command == "log" => log::run(rest),
        Some((command, rest)) if command == "compact" => compact::run(rest),
        Some((command, rest)) if command == "vol" => vol::run(rest),
        Some((command, rest)) if command == "serve" => serve::run(rest),
        Some((command, rest)) if command == "tour" => tour::run(rest),
        Some((command, _)) if command == "help" || command == "--help" || command == "-h" => {
            print!("{USAGE}");
            ExitCode::SUCCESS
        }
        Some((command, _)) if command == "--version" || command == "-V" => {
            println!("hyperslab {}", env!("CARGO_PKG_VERSION"));
            ExitCode::SUCCESS
        }
        Some((command, _)) => {
            eprintln!("hyperslab: no command {command:?}; try `hyperslab help`");
            ExitCode::FAILURE
        }
        None => {
            eprint!("{USAGE}");
            ExitCode::FAILURE
        }
    }
}
