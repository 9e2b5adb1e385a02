//! `hyperslab exec`: runs a program that was built for libhdf5 on Hyperslab.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use hyperslab::vol::model::text::to_path;
use hyperslab::{Error, Result};

pub(crate) const USAGE: &str = "\
usage: hyperslab exec [--vol STACK] [--library FILE] PROGRAM [ARGUMENTS]
  Runs a program that uses libhdf5 on this library instead: python with h5py, h5dump, a program in C or Fortran.
  Nothing is compiled again, and nothing of the program is changed.
  --vol STACK     layers over every file that the program opens, as for other commands
  --library FILE  libhyperslab_hdf5.so; without it, the one next to this command or in ../lib is used
";

/// The shared library with libhdf5's interface.
const LIBRARY: &str =
    if cfg!(target_os = "macos") { "libhyperslab_hdf5.dylib" } else { "libhyperslab_hdf5.so" };

/// Names a library for all programs of an environment.
const LIBRARY_VARIABLE: &str = "HYPERSLAB_HDF5_LIBRARY";

/// Makes the dynamic linker load a library before those that the program names.
const PRELOAD_VARIABLE: &str = if cfg!(target_os = "macos") { "DYLD_INSERT_LIBRARIES" } else { "LD_PRELOAD" };

/// Runs the program that words name. It replaces this process.
pub(crate) fn run_words(words: &[String]) -> ExitCode {
    run(&words.iter().map(|word| to_path(word).into_owned().into_os_string()).collect::<Vec<_>>())
}

/// Runs the program that the command line names. It replaces this process.
pub(crate) fn run(words: &[OsString]) -> ExitCode {
    match words.first().and_then(|word| word.to_str()) {
        None => {
            eprint!("{USAGE}");
            return ExitCode::FAILURE;
        }
        Some("-h" | "--help") => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Some(_) => {}
    }
    let error = match command(words) {
        Ok(command) => start(command),
        Err(error) => error,
    };
    eprintln!("hyperslab exec: {error}");
    ExitCode::FAILURE
}

/// Returns the program with the environment that lets it find the library.
fn command(words: &[OsString]) -> Result<Command> {
    let (mut stack, mut library, mut rest) = (None, None, words);
    while let [option, value, after @ ..] = rest {
        match option.to_str() {
            Some("--vol") => stack = Some(value.clone()),
            Some("--library") => library = Some(PathBuf::from(value)),
            _ => break,
        }
        rest = after;
    }
    let [program, arguments @ ..] = rest else {
        return Err(Error::invalid("read arguments").with("problem", "no program is named"));
    };
    if program.to_str().is_some_and(|word| word.starts_with("--")) {
        return Err(Error::invalid("read arguments").with("option", program.display()));
    }
    let library = library.map_or_else(find_library, |path| existing(&path))?;
    let mut command = Command::new(program);
    command.args(arguments).env(PRELOAD_VARIABLE, preloaded(&library));
    if let Some(stack) = stack {
        command.env("HYPERSLAB_VOL", stack);
    }
    Ok(command)
}

/// Returns the libraries to be loaded first: this one, then those that were asked for already.
fn preloaded(library: &Path) -> OsString {
    let mut all = library.as_os_str().to_owned();
    if let Some(others) = std::env::var_os(PRELOAD_VARIABLE).filter(|others| !others.is_empty()) {
        all.push(":");
        all.push(others);
    }
    all
}

fn existing(path: &Path) -> Result<PathBuf> {
    path.canonicalize().map_err(|e| Error::io("find library", &e).with("path", path.display()))
}

/// Returns the library that the environment names, or the one next to this command.
fn find_library() -> Result<PathBuf> {
    if let Some(named) = std::env::var_os(LIBRARY_VARIABLE) {
        return existing(Path::new(&named));
    }
    let command = std::env::current_exe().map_err(|e| Error::io("find library", &e))?;
    let folder = command.parent().unwrap_or(Path::new("."));
    let places = [folder.join(LIBRARY), folder.join("../lib").join(LIBRARY)];
    let found = places.iter().find(|place| place.is_file());
    let missing = || {
        let error = Error::not_found("find library").with("name", LIBRARY).with("folder", folder.display());
        error.with("help", "cargo build --release -p hyperslab-hdf5 builds it; --library FILE names another")
    };
    existing(found.ok_or_else(missing)?)
}

#[cfg(unix)]
fn start(mut command: Command) -> Error {
    use std::os::unix::process::CommandExt;
    let program = command.get_program().to_owned();
    Error::io("run program", &command.exec()).with("program", program.display())
}

#[cfg(not(unix))]
fn start(_command: Command) -> Error {
    Error::unsupported("run a program on another library").with("problem", "this system has no preloading")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn options_end_where_the_program_begins() {
        let here = std::env::current_exe().unwrap();
        let line = format!("--vol stats --library {} h5dump --vol x", here.display());
        let command = command(&words(&line)).unwrap();
        assert_eq!(command.get_program(), "h5dump");
        assert_eq!(command.get_args().collect::<Vec<_>>(), ["--vol", "x"]);
        let value = |name: &str| {
            command.get_envs().find(|(key, _)| *key == name).and_then(|(_, value)| value).map(OsString::from)
        };
        assert_eq!(value("HYPERSLAB_VOL"), Some("stats".into()));
        let preload = value(PRELOAD_VARIABLE).unwrap();
        assert!(preload.to_str().unwrap().starts_with(here.canonicalize().unwrap().to_str().unwrap()));
    }

    #[test]
    fn what_cannot_be_run_is_an_error_before_anything_runs() {
        assert!(command(&words("--vol stats")).is_err());
        assert!(command(&words("--nonsense h5dump")).is_err());
        let error = command(&words("--library /nonsense/lib.so h5dump")).unwrap_err();
        assert_eq!(error.kind(), hyperslab::Kind::NotFound);
    }
}
