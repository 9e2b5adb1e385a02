//! Everything that is printed goes through here: text of files never acts upon a terminal, unless the user wants it raw.

use std::fmt::Arguments;
use std::io::{self, Write};

use hyperslab::vol::model::text::{push_printable, to_bytes};

use crate::common::raw_output;

/// A writer of text: what a terminal would act upon is escaped.
pub(crate) struct Printable<W: Write> {
    inner: W,
    /// The start of a character whose end has not come yet.
    begun: Vec<u8>,
    escaped: Vec<u8>,
    is_raw: bool,
}

impl<W: Write> Printable<W> {
    pub(crate) fn new(inner: W) -> Self {
        Printable { inner, begun: Vec::new(), escaped: Vec::new(), is_raw: raw_output() }
    }

    fn put(&mut self, text: &[u8]) -> io::Result<usize> {
        self.escaped.clear();
        let taken = push_printable(text, |c| matches!(c, '\n' | '\t'), &mut self.escaped);
        self.inner.write_all(&self.escaped)?;
        Ok(taken)
    }

    /// Writes what was begun: no more comes.
    fn end(&mut self) -> io::Result<()> {
        let begun = std::mem::take(&mut self.begun);
        begun.iter().try_for_each(|byte| write!(self.inner, "\\{byte:03o}"))
    }
}

impl<W: Write> Write for Printable<W> {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        if self.is_raw {
            return self.inner.write(text);
        }
        // Most text needs no closer look.
        if self.begun.is_empty() && text.iter().all(|&b| (b' '..=b'~').contains(&b) || b == b'\n') {
            self.inner.write_all(text)?;
        } else if self.begun.is_empty() {
            let taken = self.put(text)?;
            self.begun.extend_from_slice(&text[taken..]);
        } else {
            let mut joined = std::mem::take(&mut self.begun);
            joined.extend_from_slice(text);
            let taken = self.put(&joined)?;
            self.begun.extend_from_slice(&joined[taken..]);
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.end()?;
        self.inner.flush()
    }
}

impl<W: Write> Drop for Printable<W> {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// Returns standard output.
pub(crate) fn stdout() -> Printable<io::StdoutLock<'static>> {
    Printable::new(io::stdout().lock())
}

/// Prints to standard output, as `print!` does.
pub(crate) fn print(text: Arguments<'_>) {
    // A reader that went away (`| head`) is no error of ours.
    let _ = Printable::new(io::stdout()).write_all(&to_bytes(&text.to_string()));
}

/// Prints to standard error, as `eprint!` does.
pub(crate) fn print_error(text: Arguments<'_>) {
    let _ = Printable::new(io::stderr()).write_all(&to_bytes(&text.to_string()));
}

macro_rules! print {
    ($($text:tt)*) => { $crate::out::print(format_args!($($text)*)) };
}

macro_rules! println {
    ($($text:tt)*) => { $crate::out::print(format_args!("{}\n", format_args!($($text)*))) };
}

macro_rules! eprint {
    ($($text:tt)*) => { $crate::out::print_error(format_args!($($text)*)) };
}

macro_rules! eprintln {
    ($($text:tt)*) => { $crate::out::print_error(format_args!("{}\n", format_args!($($text)*))) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_across_writes() {
        let mut out = Vec::new();
        let mut printable = Printable::new(&mut out);
        for part in [&b"a\x1b[0m\n"[..], b"\xc3", b"\xa9\xe2\x80", b"\xaex", b"\xc2"] {
            printable.write_all(part).unwrap();
        }
        drop(printable);
        assert_eq!(out, "a\\033[0m\né\\342\\200\\256x\\302".as_bytes());
    }
}
