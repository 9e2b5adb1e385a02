//! `hyperslab view`: a look at what a container holds.

#[cfg(feature = "http")]
mod page;
mod picture;
mod text;
#[cfg(feature = "tui")]
mod tui;

use std::process::ExitCode;

use hyperslab::Result;

use crate::help::refuse;

pub(crate) const USAGE: &str = "\
usage: hyperslab view [--port N] [--no-open] LOCATION
       hyperslab view --text LOCATION [PATH]
       hyperslab view --tui LOCATION
  Shows a container in the browser: its tree, values, plots and pictures. The page is served on this machine only, to
  the browser that opens the address first; Ctrl-C ends it.
      --port N   listen there instead of on a free port
      --no-open  print the address, and open no browser
      --text     in the terminal: a dataset is a line, or a heat map of the last two dimensions; of a group, members are
                 listed with a small picture each. COLUMNS and LINES say how large a picture may be; NO_COLOR leaves
                 colours out.
      --tui      in the terminal, with keys: a tree, pages of values and a plot
";

/// The options.
#[derive(Debug, Default)]
struct ViewOptions<'a> {
    is_text: bool,
    is_tui: bool,
    port: u16,
    no_open: bool,
    names: Vec<&'a str>,
}

/// Shows what the words name.
pub(crate) fn run(words: &[String]) -> ExitCode {
    if words.iter().any(|word| word == "-h" || word == "--help") {
        print!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let Some(wanted) = wanted(words) else {
        return refuse("view", words);
    };
    let (location, shown) = match (wanted.is_text, wanted.names.as_slice()) {
        (true, [location]) => (location, text::show(location, "/")),
        (true, [location, path]) => (location, text::show(location, path)),
        (false, [location]) if wanted.is_tui => (location, show_tui(location)),
        (false, [location]) => (location, show_page(location, &wanted)),
        _ => return refuse("view", words),
    };
    match shown {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hyperslab view: {}: {error}", crate::open::shown(location));
            ExitCode::FAILURE
        }
    }
}

/// Reads the options; `None` if there is one that the command does not have.
fn wanted(words: &[String]) -> Option<ViewOptions<'_>> {
    let mut wanted = ViewOptions::default();
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        match word {
            "--text" => wanted.is_text = true,
            "--tui" => wanted.is_tui = true,
            "--no-open" => wanted.no_open = true,
            "--port" => wanted.port = words.next()?.parse().ok()?,
            _ if word.starts_with('-') => return None,
            name => wanted.names.push(name),
        }
    }
    Some(wanted)
}

#[cfg(feature = "http")]
fn show_page(location: &str, wanted: &ViewOptions<'_>) -> Result<()> {
    page::show(location, wanted.port, !wanted.no_open)
}

#[cfg(not(feature = "http"))]
fn show_page(_: &str, _: &ViewOptions<'_>) -> Result<()> {
    Err(hyperslab::Error::unsupported("show page")
        .with("problem", "it is the feature `http`; --text needs none"))
}

#[cfg(feature = "tui")]
fn show_tui(location: &str) -> Result<()> {
    tui::show(location)
}

#[cfg(not(feature = "tui"))]
fn show_tui(_: &str) -> Result<()> {
    Err(hyperslab::Error::unsupported("show container")
        .with("problem", "it is the feature `tui`; --text needs none"))
}
