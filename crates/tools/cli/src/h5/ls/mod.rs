//! `hyperslab ls`: the options and the output of h5ls.

mod attribute;
mod dataset;
mod element;
mod escape;
mod json;
mod lines;
mod object;
mod options;
mod reference;
pub(crate) mod seen;
pub(crate) mod source;
mod time;
pub(crate) mod types;
mod values;
pub(crate) mod walk;

pub(crate) use options::USAGE;

use crate::colours::{Coloured, Lines};
use crate::open::{advice, shown};
use crate::out::Printable;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::rc::Rc;

use hyperslab::{Error, Kind};
use options::{Command, Options};
use source::Source;
use walk::{Lister, Outcome};

/// Lists what the command line names.
pub(crate) fn run(args: &[String]) -> ExitCode {
    let stdout = Coloured::new(io::stdout().lock(), Lines::Ls);
    let mut out = io::BufWriter::new(Printable::new(stdout));
    let code = match options::parse(args) {
        Command::Help => print(&mut out, USAGE, 0),
        Command::Version => {
            print(&mut out, &format!("hyperslab ls: Version {}\n", env!("CARGO_PKG_VERSION")), 0)
        }
        Command::Wrong(why) => {
            if !why.is_empty() {
                eprintln!("Error: {why}\n");
            }
            print(&mut out, USAGE, 1)
        }
        Command::List(options) => list(&options, &mut out),
    };
    // A reader that went away (`| head`) is no error of ours.
    ExitCode::from(code.and_then(|code| out.flush().map(|()| code)).unwrap_or(1))
}

fn print(out: &mut dyn Write, text: &str, code: u8) -> io::Result<u8> {
    out.write_all(text.as_bytes())?;
    Ok(code)
}

fn list(options: &Options, out: &mut dyn Write) -> io::Result<u8> {
    let (mut code, mut number) = (0, 1);
    let mut lister = Lister::new(options, out);
    for argument in &options.files {
        let outcome = match open(argument, options, number) {
            Ok(ListedFile { source: Some(source), file, object }) => {
                number += 1;
                match options.json {
                    true => json::list(lister.out, &source, (&file, object.as_deref()), options)?,
                    false => lister.file(&source, &file, object.as_deref())?,
                }
            }
            Ok(ListedFile { file, .. }) => lister.rootless(&file)?,
            Err(error) => {
                eprintln!("{}: unable to open file: {}", shown(argument), advice(&error));
                Outcome::Dangling
            }
        };
        match outcome {
            Outcome::Fine => {}
            Outcome::Dangling => code = 1,
            Outcome::NotFound => return Ok(1),
        }
    }
    Ok(code)
}

/// A file, and the object in it that the user named.
struct ListedFile {
    /// `None` for an HDF5 file without a readable root group.
    source: Option<Rc<Source>>,
    file: String,
    object: Option<String>,
}

/// Tries the whole name as a file, then without its last part, and so on: what was cut off names the object.
fn open(argument: &str, options: &Options, number: u64) -> Result<ListedFile, Error> {
    let mut end = argument.len();
    // The reason to tell is that of the whole name, unless a part of it is a file.
    let (mut reasons, mut known) = (Vec::new(), 0);
    while end > 0 {
        let file = argument[..end].to_owned();
        let object = (end < argument.len()).then(|| argument[end..].to_owned());
        end = file.rfind('/').unwrap_or(0);
        match Source::open(&file, options.driver.as_deref(), number) {
            Ok(source) => return Ok(ListedFile { source: Some(source), file, object }),
            Err(error) if is_rootless(&file, &error) => {
                attribute::complain(&error, options);
                return Ok(ListedFile { source: None, file, object });
            }
            Err(error) => {
                if Path::new(&file).is_file() {
                    known = reasons.len();
                }
                reasons.push(error);
            }
        }
    }
    reasons.iter().for_each(|error| attribute::complain(error, options));
    Err(reasons.into_iter().nth(known).unwrap_or_else(|| Error::not_found("open file")))
}

/// Returns whether only the root group is broken. One outside of the file makes it no HDF5 file at all.
fn is_rootless(file: &str, error: &Error) -> bool {
    let mut chain = std::iter::successors(Some(error), |error| error.cause());
    let Some(root) = chain.find(|error| error.operation() == "open root group") else { return false };
    let file_bytes = std::fs::metadata(file).map_or(0, |metadata| metadata.len());
    root.kind() == Kind::Corrupt && chain.all(|error| error.address().is_none_or(|at| at < file_bytes))
}
