//! Errors of filters.

use std::borrow::Cow;
use std::fmt;

use crate::FilterId;
use crate::names;

/// Why a filter failed; for code. The text of [`Error`] is for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The filter, or a variant of it, is not in this build.
    Unsupported,
    /// The bytes are not what this filter writes.
    Corrupt,
    /// The result would be larger than the caller allows.
    Limit,
    /// Encoding did not shrink the data or cannot apply to it; an optional filter is then skipped.
    Incompressible,
    /// The client values make no sense for this filter.
    Invalid,
}

impl ErrorKind {
    fn text(self) -> &'static str {
        match self {
            Self::Unsupported => "unsupported",
            Self::Corrupt => "corrupt data",
            Self::Limit => "over the limit",
            Self::Incompressible => "not applicable",
            Self::Invalid => "invalid parameters",
        }
    }
}

/// A failure of one filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    filter: FilterId,
    name: &'static str,
    problem: Cow<'static, str>,
}

impl Error {
    /// Returns an error of the filter `filter`; its name is looked up.
    pub fn new(kind: ErrorKind, filter: FilterId, problem: impl Into<Cow<'static, str>>) -> Self {
        let name = names::name(filter).unwrap_or("unknown");
        Self { kind, filter, name, problem: problem.into() }
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns the number of the filter that failed.
    pub fn filter(&self) -> FilterId {
        self.filter
    }

    /// Returns the name of the filter that failed, or "unknown" if its number is not registered.
    pub fn filter_name(&self) -> &'static str {
        self.name
    }

    /// Returns what was wrong.
    pub fn problem(&self) -> &str {
        &self.problem
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "filter {} ({}): {}: {}", self.filter, self.name, self.kind.text(), self.problem)
    }
}

impl std::error::Error for Error {}

const ZEROED_BYTES_SAFE: usize = 16 << 20;

/// The filter on whose behalf a shared helper works, so that its errors name the right one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Origin(pub(crate) FilterId);

impl Origin {
    pub(crate) fn unsupported(self, problem: impl Into<Cow<'static, str>>) -> Error {
        Error::new(ErrorKind::Unsupported, self.0, problem)
    }

    pub(crate) fn corrupt(self, problem: impl Into<Cow<'static, str>>) -> Error {
        Error::new(ErrorKind::Corrupt, self.0, problem)
    }

    pub(crate) fn limit(self, needed_bytes: u64, max: usize) -> Error {
        let problem = format!("{needed_bytes} bytes needed, {max} allowed");
        Error::new(ErrorKind::Limit, self.0, problem)
    }

    pub(crate) fn incompressible(self, problem: impl Into<Cow<'static, str>>) -> Error {
        Error::new(ErrorKind::Incompressible, self.0, problem)
    }

    pub(crate) fn invalid(self, problem: impl Into<Cow<'static, str>>) -> Error {
        Error::new(ErrorKind::Invalid, self.0, problem)
    }

    /// Returns `bytes` as a length, or `Limit` when above `max`.
    pub(crate) fn within(self, bytes: u64, max: usize) -> Result<usize, Error> {
        match usize::try_from(bytes) {
            Ok(len) if len <= max => Ok(len),
            _ => Err(self.limit(bytes, max)),
        }
    }

    /// Returns an empty vector with space for `len` bytes; refuses instead of aborting when memory is short.
    pub(crate) fn reserve(self, len: usize) -> Result<Vec<u8>, Error> {
        let mut out = Vec::new();
        out.try_reserve_exact(len).map_err(|_| self.limit(len as u64, 0))?;
        Ok(out)
    }

    /// Returns a zeroed buffer of `len` bytes.
    pub(crate) fn zeroed(self, len: usize) -> Result<Vec<u8>, Error> {
        // Below this a failed allocation is beyond rescue; zeroed pages from the system save a pass.
        if len <= ZEROED_BYTES_SAFE {
            return Ok(vec![0; len]);
        }
        let mut out = self.reserve(len)?;
        out.resize(len, 0);
        Ok(out)
    }
}
