//! The failure of a call, with libhdf5's numbers.

use std::borrow::Cow;

use hyperslab::{Error, Kind};

use crate::codes::{Major, Minor};

/// The result of the body of an exported function.
pub type Fallible<T> = Result<T, Failure>;

/// Why a call failed. It becomes the records of the error stack.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The part of the library; `None` is that of the function.
    pub major: Option<Major>,
    /// What went wrong.
    pub minor: Minor,
    /// A description for people.
    pub text: Cow<'static, str>,
    /// The error of the library under this one, if it came from there.
    pub cause: Option<Box<Error>>,
}

impl Failure {
    /// Returns a failure of a part of the library.
    pub fn new(major: Major, minor: Minor, text: impl Into<Cow<'static, str>>) -> Self {
        Failure { major: Some(major), minor, text: text.into(), cause: None }
    }

    /// Returns the failure of an argument.
    pub fn argument(text: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Major::ARGS, Minor::BADVALUE, text)
    }

    /// Returns the failure of an identifier of the wrong type.
    pub fn wrong_type(text: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Major::ARGS, Minor::BADTYPE, text)
    }

    /// Returns the failure of a call that this library does not do.
    pub fn unsupported(text: impl Into<Cow<'static, str>>) -> Self {
        Failure { major: None, minor: Minor::UNSUPPORTED, text: text.into(), cause: None }
    }

    /// Returns the failure of a callback.
    pub fn callback(text: impl Into<Cow<'static, str>>) -> Self {
        Failure { major: None, minor: Minor::CALLBACK, text: text.into(), cause: None }
    }

    /// Replaces the minor error number.
    #[must_use]
    pub fn as_minor(mut self, minor: Minor) -> Self {
        self.minor = minor;
        self
    }

    /// Sets the major error number.
    #[must_use]
    pub fn as_major(mut self, major: Major) -> Self {
        self.major = Some(major);
        self
    }
}

/// Returns the minor number of an error of the library.
fn minor_of(kind: Kind) -> Minor {
    match kind {
        Kind::NotFound => Minor::NOTFOUND,
        Kind::Exists => Minor::EXISTS,
        Kind::Invalid => Minor::BADVALUE,
        Kind::Unsupported => Minor::UNSUPPORTED,
        Kind::Conversion => Minor::CANTCONVERT,
        Kind::Denied => Minor::WRITEERROR,
        Kind::Io => Minor::READERROR,
        Kind::Limit => Minor::CANTALLOC,
        Kind::Busy => Minor::CANTLOCKFILE,
        Kind::Cancelled => Minor::CANTCANCEL,
        _ => Minor::CANTDECODE,
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure {
            major: None,
            minor: minor_of(error.kind()),
            text: Cow::Owned(error.to_string()),
            cause: Some(Box::new(error)),
        }
    }
}
