//! Colours of what is printed, where a terminal shows it. Programs that read the output get it without.

use std::io::{self, IsTerminal, Write};

/// Longer lines are printed as they are.
const LINE_BYTES_MAX: usize = 16 << 10;

const BOLD: &str = "1";
const GROUP: &str = "1;34";
const DATASET: &str = "32";
const DATATYPE: &str = "33";
const LINK: &str = "36";
const MAP: &str = "35";

/// What `ls` calls kinds of objects and links, and their colours.
const KINDS: [(&str, &str); 7] = [
    ("Group", GROUP),
    ("Dataset", DATASET),
    ("Type", DATATYPE),
    ("Soft Link", LINK),
    ("External Link", LINK),
    ("UD Link", LINK),
    ("Map", MAP),
];

/// The words before names in the output of `dump`, and the colours of the names.
const WORDS: [(&str, &str); 9] = [
    ("HDF5", BOLD),
    ("GROUP", GROUP),
    ("DATASET", DATASET),
    ("ATTRIBUTE", BOLD),
    ("DATATYPE", DATATYPE),
    ("SOFTLINK", LINK),
    ("EXTERNAL_LINK", LINK),
    ("USERDEFINED_LINK", LINK),
    ("MAP", MAP),
];

/// Returns whether standard output is a terminal whose user wants colours (`NO_COLOR`, `TERM=dumb`).
pub(crate) fn are_wanted() -> bool {
    let is_dumb = || std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
    let is_refused = || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    io::stdout().is_terminal() && !is_refused() && !is_dumb()
}

/// Whose lines are coloured.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Lines {
    Ls,
    Dump,
}

/// A writer that colours whole lines. What a file contains must have been made printable before.
pub(crate) struct Coloured<W: Write> {
    inner: W,
    lines: Option<Lines>,
    begun: Vec<u8>,
}

impl<W: Write> Coloured<W> {
    /// Colours lines, if colours are wanted.
    pub(crate) fn new(inner: W, lines: Lines) -> Self {
        Coloured { inner, lines: are_wanted().then_some(lines), begun: Vec::new() }
    }

    fn put_line(&mut self, lines: Lines, line: &[u8]) -> io::Result<()> {
        match std::str::from_utf8(line).ok().and_then(|line| coloured(lines, line)) {
            Some(text) => self.inner.write_all(text.as_bytes()),
            None => self.inner.write_all(line),
        }
    }
}

impl<W: Write> Write for Coloured<W> {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let Some(lines) = self.lines else { return self.inner.write(text) };
        for part in text.split_inclusive(|&byte| byte == b'\n') {
            self.begun.extend_from_slice(part);
            if part.ends_with(b"\n") || self.begun.len() > LINE_BYTES_MAX {
                let line = std::mem::take(&mut self.begun);
                self.put_line(lines, &line)?;
            }
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let begun = std::mem::take(&mut self.begun);
        self.inner.write_all(&begun)?;
        self.inner.flush()
    }
}

impl<W: Write> Drop for Coloured<W> {
    fn drop(&mut self) {
        let _ = self.flush();
    }
}

/// Returns a line with its colours, or `None` if it has none.
fn coloured(lines: Lines, line: &str) -> Option<String> {
    match lines {
        Lines::Ls => listed(line),
        Lines::Dump => dumped(line),
    }
}

fn painted(colour: &str, text: &str) -> String {
    format!("\x1b[{colour}m{text}\x1b[0m")
}

/// Returns a line of `ls`: a name, whose spaces are escaped, and a kind.
fn listed(line: &str) -> Option<String> {
    let is_end = |(at, _): &(usize, &str)| !line[..*at].ends_with('\\');
    let (end, _) = line.match_indices(' ').find(is_end)?;
    let (name, rest) = line.split_at(end);
    let kind = rest.trim_start();
    let (_, colour) = KINDS.iter().find(|(word, _)| kind.starts_with(word))?;
    (!name.is_empty()).then(|| painted(colour, name) + rest)
}

/// Returns a line of `dump`: a word, and the name of an object in quotes.
fn dumped(line: &str) -> Option<String> {
    let start = line.len() - line.trim_start_matches(' ').len();
    let (indent, rest) = line.split_at(start);
    let (word, rest) = rest.split_once(' ')?;
    let (_, colour) = WORDS.iter().find(|(known, _)| *known == word)?;
    let Some(end) = rest.strip_prefix('"').and_then(|name| name.rfind('"')) else {
        return Some(format!("{indent}{} {rest}", painted(BOLD, word)));
    };
    let (name, rest) = rest.split_at(end + 2);
    Some(format!("{indent}{} {}{rest}", painted(BOLD, word), painted(colour, name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(lines: Lines, parts: &[&str]) -> String {
        let mut out = Vec::new();
        let mut coloured = Coloured { inner: &mut out, lines: Some(lines), begun: Vec::new() };
        parts.iter().for_each(|part| coloured.write_all(part.as_bytes()).unwrap());
        drop(coloured);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn names_of_ls_have_the_colour_of_their_kind() {
        let text =
            written(Lines::Ls, &["run\\ 1           ", "         Group\n", "x  Dataset {3}\n    Type: x\n"]);
        assert_eq!(
            text,
            "\x1b[1;34mrun\\ 1\x1b[0m                    Group\n\x1b[32mx\x1b[0m  Dataset {3}\n    Type: x\n"
        );
    }

    #[test]
    fn words_and_names_of_dump_are_coloured_and_data_is_not() {
        let text = written(
            Lines::Dump,
            &["GROUP \"a \\\"b\\\"\" {\n   (0): \"GROUP x\"\n   DATATYPE  H5T_STD_I32LE\n"],
        );
        let group = "\x1b[1mGROUP\x1b[0m \x1b[1;34m\"a \\\"b\\\"\"\x1b[0m {\n";
        let datatype = "   \x1b[1mDATATYPE\x1b[0m  H5T_STD_I32LE\n";
        assert_eq!(text, format!("{group}   (0): \"GROUP x\"\n{datatype}"));
    }

    #[test]
    fn what_has_no_end_of_line_is_printed_too() {
        assert_eq!(written(Lines::Ls, &["x  Data", "set"]), "x  Dataset");
        let long = "y".repeat(2 * LINE_BYTES_MAX);
        assert_eq!(written(Lines::Dump, &[&long, " end\n"]), format!("{long} end\n"));
    }
}
