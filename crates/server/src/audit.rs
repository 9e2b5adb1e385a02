//! The audit log: who asked for what, from where, and whether it was allowed. One line of JSON each.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::UNIX_EPOCH;

use model::{Error, Result};
use system::sync::Mutex;

use crate::log::escaped;

/// Bytes of a name or a reason that are written.
const TEXT_BYTES_MAX: usize = 1024;

/// Something that was asked for.
#[derive(Debug, Clone, Copy)]
pub struct AuditedRequest<'a> {
    /// The name of the token's owner.
    pub who: &'a str,
    /// The address of the client.
    pub from: &'a str,
    /// `hello`, `open`, `create`, `delete`, …, or the operation that was refused.
    pub what: &'a str,
    /// The container, where there is one.
    pub name: &'a str,
}

/// Where the lines go; nowhere without a file.
#[derive(Debug, Default)]
pub(crate) struct Audit {
    file: Option<Mutex<File>>,
}

impl Audit {
    /// Appends to the file, which only its owner can read.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self> {
        let Some(path) = path else { return Ok(Audit::default()) };
        let file = system::private::append(path)
            .map_err(|e| Error::io("open audit log", &e).with("path", path.display()))?;
        Ok(Audit { file: Some(Mutex::new(file)) })
    }

    /// Writes down what was asked for, and what became of it.
    pub(crate) fn note(&self, asked: AuditedRequest<'_>, outcome: Result<(), &Error>) {
        let Some(file) = &self.file else { return };
        let line = line(asked, outcome);
        // One write, so that lines of several servers in one file stay whole.
        if let Err(error) = file.lock().write_all(line.as_bytes()) {
            tracing::error!(why = %error, "could not write to the audit log");
        }
    }
}

fn line(asked: AuditedRequest<'_>, outcome: Result<(), &Error>) -> String {
    let time = system::clock::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64());
    let AuditedRequest { who, from, what, name } = asked;
    let mut line = format!("{{\"time\":{time:.6}");
    for (key, value) in [("who", who), ("from", from), ("what", what), ("name", name)] {
        if !value.is_empty() {
            let _ = write!(line, ",\"{key}\":\"{}\"", shown(value));
        }
    }
    let _ = write!(line, ",\"allowed\":{}", outcome.is_ok());
    if let Err(error) = outcome {
        let _ = write!(line, ",\"why\":\"{}\"", shown(&error.to_string()));
    }
    line.push_str("}\n");
    line
}

/// Text that neither ends its line nor leads a terminal astray, without tokens.
fn shown(text: &str) -> String {
    let end = text.char_indices().map(|(at, _)| at).find(|at| *at >= TEXT_BYTES_MAX).unwrap_or(text.len());
    escaped(&model::secrets::without_tokens(&text[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_object_whatever_the_name() {
        let asked = AuditedRequest {
            who: "ann",
            from: "10.0.0.1:5",
            what: "open",
            name: "a\n\u{1b}[2J\"?token=s3cret&x",
        };
        let error = Error::denied("use container").with("name", "b?token=s3cret");
        let line = line(asked, Err(&error));
        assert!(line.ends_with("}\n") && line.matches('\n').count() == 1, "{line}");
        assert!(!line.contains('\u{1b}') && !line.contains("s3cret"), "{line}");
        assert!(line.contains("\"allowed\":false") && line.contains("\"who\":\"ann\""), "{line}");
        let long = "x".repeat(100_000);
        assert!(super::line(AuditedRequest { name: &long, ..asked }, Ok(())).len() < 2000);
    }
}
