//! One error type for the whole project: operation, kind, place, cause chain.
//!
//! The kind is for code; operation, place and causes are for people.

use std::borrow::Cow;
use std::fmt;

use crate::secrets::without_tokens;
use crate::text::printable;

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kind of an error, for code that has to decide what to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// The stored bytes break the rules of their format.
    Corrupt,
    /// A number is beyond what the caller's limits allow.
    Limit,
    /// The connector, filter or version cannot do this.
    Unsupported,
    /// There is no such object, link, attribute or file.
    NotFound,
    /// There is one already.
    Exists,
    /// The caller's arguments are not valid.
    Invalid,
    /// The operating system or the network said no.
    Io,
    /// The container is open read-only, or the caller may not.
    Denied,
    /// A value does not fit the type it is converted to.
    Conversion,
    /// Another holder is in the way (locks, open objects).
    Busy,
    /// The operation was cancelled before it ended.
    Cancelled,
}

impl Kind {
    /// Returns the word used in messages.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Corrupt => "corrupt",
            Kind::Limit => "over the limit",
            Kind::Unsupported => "unsupported",
            Kind::NotFound => "not found",
            Kind::Exists => "already exists",
            Kind::Invalid => "invalid argument",
            Kind::Io => "I/O error",
            Kind::Denied => "not permitted",
            Kind::Conversion => "cannot convert",
            Kind::Busy => "busy",
            Kind::Cancelled => "cancelled",
        }
    }
}

/// An error: `Error::corrupt("decode B-tree v2 node").at(addr).with("records", n)`.
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: Kind,
    operation: String,
    address: Option<u64>,
    facts: Vec<(Cow<'static, str>, String)>,
    cause: Option<Error>,
}

macro_rules! constructors {
    ($($(#[$doc:meta])* $name:ident => $kind:ident),* $(,)?) => {
        $( $(#[$doc])* pub fn $name(operation: impl Into<String>) -> Self { Self::new(Kind::$kind, operation) } )*
    };
}

impl Error {
    /// Returns an error of `kind` while doing `operation`.
    pub fn new(kind: Kind, operation: impl Into<String>) -> Self {
        Error(Box::new(Inner {
            kind,
            operation: operation.into(),
            address: None,
            facts: Vec::new(),
            cause: None,
        }))
    }

    constructors! {
        /// The stored bytes break the rules of their format.
        corrupt => Corrupt,
        /// A number is beyond the caller's limits.
        limit => Limit,
        /// The connector, filter or version cannot do this.
        unsupported => Unsupported,
        /// There is no such thing.
        not_found => NotFound,
        /// There is one already.
        exists => Exists,
        /// The arguments are not valid.
        invalid => Invalid,
        /// Not permitted (read-only container, or no right to).
        denied => Denied,
        /// A value does not fit.
        conversion => Conversion,
        /// Another process or handle holds it.
        busy => Busy,
    }

    /// Returns an operating-system error.
    pub fn io(operation: impl Into<String>, source: &std::io::Error) -> Self {
        let kind = match source.kind() {
            std::io::ErrorKind::NotFound => Kind::NotFound,
            std::io::ErrorKind::PermissionDenied => Kind::Denied,
            std::io::ErrorKind::AlreadyExists => Kind::Exists,
            _ => Kind::Io,
        };
        Self::new(kind, operation).with("cause", source)
    }

    /// Adds an address in the file.
    #[must_use]
    pub fn at(mut self, address: u64) -> Self {
        self.0.address = Some(address);
        self
    }

    /// Adds a fact for the reader of the message.
    #[must_use]
    pub fn with(mut self, key: &'static str, value: impl fmt::Display) -> Self {
        self.0.facts.push((Cow::Borrowed(key), value.to_string()));
        self
    }

    /// Adds a fact from an external source, as [`Error::with`] does.
    #[must_use]
    pub fn with_fact(mut self, key: String, value: String) -> Self {
        self.0.facts.push((Cow::Owned(key), value));
        self
    }

    /// Adds the underlying error.
    #[must_use]
    pub fn because(mut self, cause: Error) -> Self {
        self.0.cause = Some(cause);
        self
    }

    /// Returns an error of the same kind, seen from the operation around it.
    #[must_use]
    pub fn during(self, operation: impl Into<String>) -> Self {
        Self::new(self.kind(), operation).because(self)
    }

    /// Returns the kind, which code decides on.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// Returns the operation that failed.
    pub fn operation(&self) -> &str {
        &self.0.operation
    }

    /// Returns the address in the file, where there is one.
    pub fn address(&self) -> Option<u64> {
        self.0.address
    }

    /// Returns the facts, in the order they were added.
    pub fn facts(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.0.facts.iter().map(|(key, value)| (&**key, &**value))
    }

    /// Returns the next error down.
    pub fn cause(&self) -> Option<&Error> {
        self.0.cause.as_ref()
    }

    /// Returns the error at the bottom of the chain, which usually says most.
    pub fn root_cause(&self) -> &Error {
        let mut error = self;
        while let Some(cause) = error.cause() {
            error = cause;
        }
        error
    }

    /// Returns the whole chain, one numbered line each, outermost first.
    pub fn stack(&self) -> String {
        let mut text = String::new();
        let mut next = Some(self);
        let mut depth = 0;
        while let Some(error) = next {
            text.push_str(&format!("  #{depth:02} {}\n", error.line()));
            next = error.cause();
            depth += 1;
        }
        text
    }

    fn line(&self) -> String {
        let mut text = format!("{}: {}", self.0.operation, self.0.kind.name());
        if let Some(address) = self.0.address {
            text.push_str(&format!(" at {address:#x}"));
        }
        for (n, (key, value)) in self.0.facts.iter().enumerate() {
            text.push_str(if n == 0 { " (" } else { ", " });
            text.push_str(&format!("{key}: {value}"));
        }
        if !self.0.facts.is_empty() {
            text.push(')');
        }
        // Names and values may come from a file: a terminal is to show them, and not to act upon them.
        printable(&without_tokens(&text)).into_owned()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line())?;
        match self.cause() {
            Some(cause) => write!(f, ": {cause}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}", self.0.kind.name(), self.stack())
    }
}

impl std::error::Error for Error {}

/// Adds the surrounding operation to an error on its way up.
pub trait Context<T> {
    /// Names the operation of an error: `decode(bytes).during("open dataset")?`.
    fn during(self, operation: &str) -> Result<T>;
    /// Names the operation of an error, as `during` does, and its address.
    fn during_at(self, operation: &str, address: u64) -> Result<T>;
}

impl<T> Context<T> for Result<T> {
    fn during(self, operation: &str) -> Result<T> {
        self.map_err(|e| e.during(operation))
    }

    fn during_at(self, operation: &str, address: u64) -> Result<T> {
        self.map_err(|e| e.during(operation).at(address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_prints_as_one_line_and_as_a_stack() {
        let e = Error::corrupt("decode node").at(0x40).with("records", 9).during("open group");
        assert_eq!(e.to_string(), "open group: corrupt: decode node: corrupt at 0x40 (records: 9)");
        assert_eq!(e.kind(), Kind::Corrupt);
        assert_eq!(e.stack().lines().count(), 2);
        assert_eq!(e.root_cause().address(), Some(0x40));
    }

    #[test]
    fn what_a_terminal_would_act_upon_is_escaped() {
        let e = Error::not_found("open \u{1b}]0;x\u{7}").with("name", "a\u{1b}[2J\nb");
        assert_eq!(e.to_string(), "open \\033]0;x\\007: not found (name: a\\033[2J\\012b)");
        assert!(!e.stack().trim_end().contains(char::is_control));
    }
}
