//! Logs as lines of JSON, or of text, on standard error.

use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::UNIX_EPOCH;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// How lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// For programs: one object a line.
    Json,
}

/// Writes every event up to a level.
#[derive(Debug)]
pub struct Log {
    format: LogFormat,
    level: Level,
    spans: AtomicU64,
}

impl Log {
    /// Sets what this process logs from now on, unless that was set before.
    pub fn install(format: LogFormat, level: Level) {
        let log = Log { format, level, spans: AtomicU64::new(1) };
        // Where the program has a subscriber of its own, that one stays.
        let _ = tracing::subscriber::set_global_default(log);
    }
}

/// The fields of an event.
struct Fields {
    format: LogFormat,
    line: String,
}

impl Fields {
    fn put(&mut self, name: &str, value: &str, quoted: bool) {
        let _ = match (self.format, quoted) {
            (LogFormat::Json, true) => write!(self.line, ",\"{name}\":\"{}\"", escaped(value)),
            (LogFormat::Json, false) => write!(self.line, ",\"{name}\":{value}"),
            (LogFormat::Text, _) if name == "message" => write!(self.line, " {}", escaped(value)),
            (LogFormat::Text, true) => write!(self.line, " {name}=\"{}\"", escaped(value)),
            (LogFormat::Text, false) => write!(self.line, " {name}={value}"),
        };
    }
}

/// Returns what clients say must not begin lines of its own.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => drop(write!(out, "\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.put(field.name(), &format!("{value:?}"), true);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field.name(), value, true);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field.name(), &value.to_string(), false);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field.name(), &value.to_string(), false);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field.name(), &value.to_string(), false);
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.level
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        // Spans are not logged; each needs a number that is not zero.
        Id::from_u64(self.spans.fetch_add(1, Ordering::Relaxed).max(1))
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let time = system::clock::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64());
        let level = event.metadata().level();
        let line = match self.format {
            LogFormat::Json => format!("{{\"time\":{time:.6},\"level\":\"{level}\""),
            LogFormat::Text => format!("{time:.3} {level:5}"),
        };
        let mut fields = Fields { format: self.format, line };
        event.record(&mut fields);
        let end = if self.format == LogFormat::Json { "}\n" } else { "\n" };
        fields.line.push_str(end);
        // A log that cannot be written is no reason to stop serving.
        let _ = std::io::stderr().lock().write_all(fields.line.as_bytes());
    }
}
