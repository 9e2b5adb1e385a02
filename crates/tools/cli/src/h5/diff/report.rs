//! Output of h5diff, and the counts behind it.

use std::io::Write;

use hyperslab::Error;
use hyperslab::vol::model::text::to_bytes;

use super::json::Findings;
use super::options::Options;
use crate::h5::dump::streams::failed;
use crate::progress::Progress;

/// Prints, and remembers what decides about the exit code.
pub(crate) struct Report<'a> {
    pub(crate) options: &'a Options,
    out: &'a mut dyn Write,
    /// What was compared, for programs.
    pub(crate) findings: Findings,
    /// How far the comparison is.
    pub(crate) progress: Progress,
    /// One has objects or attributes that the other has not.
    pub(crate) contents_differ: bool,
    /// Something could not be compared.
    pub(crate) incomparable: bool,
    /// Something could not be read.
    pub(crate) failed: bool,
}

impl<'a> Report<'a> {
    pub(crate) fn new(options: &'a Options, out: &'a mut dyn Write, progress: Progress) -> Self {
        Report {
            options,
            out,
            findings: Findings::default(),
            progress,
            contents_differ: false,
            incomparable: false,
            failed: false,
        }
    }

    /// Prints bytes as they are.
    pub(crate) fn put(&mut self, text: &[u8]) {
        if !self.options.json {
            self.write(text);
        }
    }

    /// Prints the document for programs.
    pub(crate) fn write(&mut self, text: &[u8]) {
        if self.out.write_all(text).map_err(failed).is_err() {
            self.failed = true;
        }
    }

    /// Prints text; names in it may stand for bytes that are no UTF-8.
    pub(crate) fn say(&mut self, text: &str) {
        self.put(&to_bytes(text));
    }

    /// Hands everything to the operating system.
    pub(crate) fn flush(&mut self) {
        if self.out.flush().map_err(failed).is_err() {
            self.failed = true;
        }
    }

    /// Notes that something could not be read.
    pub(crate) fn fail(&mut self, error: &Error) {
        self.failed = true;
        if self.options.errors {
            eprint!("{}", error.stack());
        } else {
            eprintln!("hyperslab diff: {error}");
        }
    }

    /// Prints that two objects or parts of them cannot be compared, and why.
    pub(crate) fn cannot_compare(&mut self, why: &str) {
        self.incomparable = true;
        if self.options.shows_incomparable() {
            self.say(why);
        }
    }

    /// Prints a message for those who want to know everything.
    pub(crate) fn remark(&mut self, text: &str) {
        if self.options.verbose {
            self.say(text);
        }
    }

    /// Prints the names of two objects.
    pub(crate) fn objects(&mut self, kind: &str, first: &str, second: &str) {
        let gap = if self.options.level >= 1 { "\n" } else { "" };
        self.say(&format!("{gap}{kind:<7}: <{first}> and <{second}>\n"));
    }

    /// Prints how many differences there are.
    pub(crate) fn found(&mut self, count: u64) {
        self.say(&format!("{count} differences found\n"));
    }

    /// Prints the names and the count of two objects, as far as the user asked for them.
    pub(crate) fn objects_found(&mut self, kind: &str, first: &str, second: &str, count: u64) {
        if (self.options.verbose || count > 0) && !self.options.quiet {
            self.objects(kind, first, second);
        }
        if self.options.verbose {
            self.found(count);
        }
    }
}

/// Returns text in a column that is at least `width` bytes wide.
pub(crate) fn column(text: &str, width: usize) -> Vec<u8> {
    let mut bytes = to_bytes(text).to_vec();
    bytes.resize(bytes.len().max(width), b' ');
    bytes
}
