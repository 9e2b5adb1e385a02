//! `hyperslab man`: manual pages, made of the help texts.

use std::process::ExitCode;

use crate::commands::{COMMANDS, Command, find};
use crate::help;
use crate::usage::{Part, parts};

pub(crate) const USAGE: &str = "\
usage: hyperslab man [COMMAND]
  Prints a manual page in the form that man reads: hyperslab man dump | man -l -
      --all DIR  write the pages of all commands into a folder: hyperslab.1, hyperslab-dump.1, ...
";

/// Prints the page that the words name, or writes all of them.
pub(crate) fn run(words: &[String]) -> ExitCode {
    match words {
        [option, ..] if option == "-h" || option == "--help" => print!("{USAGE}"),
        [] => print!("{}", overview()),
        [option, folder] if option == "--all" => return write_all(std::path::Path::new(folder)),
        [name] => match find(name) {
            Some(command) => print!("{}", page(&command)),
            None => return help::unknown(name),
        },
        _ => return help::refuse("man", words),
    }
    ExitCode::SUCCESS
}

fn write_all(folder: &std::path::Path) -> ExitCode {
    let pages = COMMANDS.iter().map(|command| (format!("hyperslab-{}.1", command.name), page(command)));
    for (name, text) in pages.chain([("hyperslab.1".to_owned(), overview())]) {
        if let Err(error) = std::fs::write(folder.join(&name), text) {
            eprintln!("hyperslab man: {name}: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// Returns a page of the whole command.
fn overview() -> String {
    let text = help::overview();
    let mut page = head("hyperslab", "HDF5 containers in files and in any other storage");
    page += &body(&text);
    page += ".SH SEE ALSO\n";
    let names: Vec<String> =
        COMMANDS.iter().map(|command| format!("hyperslab-{}(1)", command.name)).collect();
    page + &escaped(&names.join(", ")) + "\n"
}

fn page(command: &Command) -> String {
    head(&format!("hyperslab-{}", command.name), command.about) + &body(command.usage)
}

fn head(name: &str, about: &str) -> String {
    let (title, version) = (name.to_uppercase(), env!("CARGO_PKG_VERSION"));
    let (name, about) = (escaped(name), escaped(about));
    format!(".TH {title} 1 \"\" \"hyperslab {version}\"\n.SH NAME\n{name} \\- {about}\n")
}

/// Returns the sections that a help text has.
fn body(usage: &str) -> String {
    let (synopsis, rest): (Vec<_>, Vec<_>) =
        parts(usage).into_iter().partition(|part| matches!(part, Part::Synopsis(_)));
    let mut page = ".SH SYNOPSIS\n".to_owned();
    for part in synopsis {
        if let Part::Synopsis(text) = part {
            page += &format!("{}\n.br\n", escaped(text));
        }
    }
    page += ".SH DESCRIPTION\n";
    rest.iter().for_each(|part| page += &paragraph(part));
    page
}

fn paragraph(part: &Part<'_>) -> String {
    match part {
        Part::Option { flags, about } => format!(".TP\n.B {}\n{}\n", escaped(flags), escaped(about)),
        Part::Text("") => ".PP\n".to_owned(),
        Part::Text(text) | Part::Synopsis(text) => format!("{}\n.br\n", escaped(text)),
    }
}

/// Returns text in which nothing is a request or an escape of the formatter.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}
