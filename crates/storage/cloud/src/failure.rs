//! Failures of requests to a server.

use std::io;

/// A request that failed.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    kind: io::ErrorKind,
    problem: String,
    /// Whether the same request may succeed later.
    is_transient: bool,
}

impl Failure {
    /// Returns a failure that stays.
    pub(crate) fn lasting(kind: io::ErrorKind, problem: impl Into<String>) -> Self {
        Failure { kind, problem: problem.into(), is_transient: false }
    }

    /// Returns a failure after which it is worth trying again.
    pub(crate) fn transient(kind: io::ErrorKind, problem: impl Into<String>) -> Self {
        Failure { kind, problem: problem.into(), is_transient: true }
    }

    /// Returns the failure that an HTTP status means.
    pub(crate) fn of_status(status: u16) -> Self {
        match status {
            401 | 403 => Failure::lasting(
                io::ErrorKind::PermissionDenied,
                format!("the server refuses access (status {status})"),
            ),
            404 | 410 => Failure::lasting(io::ErrorKind::NotFound, format!("no such file (status {status})")),
            412 => Failure::changed(),
            408 | 425 | 429 | 500..=599 => {
                Failure::transient(io::ErrorKind::Other, format!("the server answers with status {status}"))
            }
            _ => Failure::lasting(io::ErrorKind::Other, format!("the server answers with status {status}")),
        }
    }

    /// Returns the failure of reading a file that was replaced since it was opened.
    pub(crate) fn changed() -> Self {
        Failure::lasting(io::ErrorKind::InvalidData, "the file was replaced while it was read; open it again")
    }

    /// Returns the failure of uploading a file whose object another writer replaced.
    pub(crate) fn overtaken() -> Self {
        let problem = "another writer replaced the object since it was opened";
        Failure::lasting(io::ErrorKind::ResourceBusy, problem)
    }

    /// Returns the failure of settings from which no client can be made.
    pub(crate) fn of_settings(error: &object_store::Error) -> Self {
        Failure::lasting(io::ErrorKind::InvalidInput, innermost(error))
    }

    /// Returns the failure of an answer that broke off.
    pub(crate) fn of_body(error: object_store::Error) -> Self {
        Failure { is_transient: true, ..Failure::from(error) }
    }

    pub(crate) fn is_transient(&self) -> bool {
        self.is_transient
    }

    /// Returns the same failure after so many attempts.
    pub(crate) fn after(mut self, attempts: u32) -> Self {
        if attempts > 1 {
            self.problem = format!("{} ({attempts} attempts)", self.problem);
        }
        self
    }
}

impl From<Failure> for io::Error {
    fn from(failure: Failure) -> Self {
        io::Error::new(failure.kind, failure.problem)
    }
}

impl From<object_store::Error> for Failure {
    fn from(error: object_store::Error) -> Self {
        use object_store::Error as E;
        // What the crate says may hold the address with what signs it.
        match error {
            E::NotFound { .. } => Failure::lasting(io::ErrorKind::NotFound, "no such object"),
            E::AlreadyExists { .. } => {
                Failure::lasting(io::ErrorKind::AlreadyExists, "the object exists already")
            }
            E::Precondition { .. } | E::NotModified { .. } => Failure::changed(),
            E::PermissionDenied { .. } => {
                Failure::lasting(io::ErrorKind::PermissionDenied, "the store refuses access")
            }
            E::Unauthenticated { .. } => {
                Failure::lasting(io::ErrorKind::PermissionDenied, "the store does not accept the credentials")
            }
            E::NotSupported { .. } | E::NotImplemented { .. } => {
                Failure::lasting(io::ErrorKind::Unsupported, "the store cannot do this")
            }
            E::InvalidPath { .. } => Failure::lasting(io::ErrorKind::InvalidInput, "no name of an object"),
            // The client tried again already.
            other => Failure::lasting(io::ErrorKind::Other, innermost(&other)),
        }
    }
}

impl From<reqwest::Error> for Failure {
    fn from(error: reqwest::Error) -> Self {
        let error = error.without_url();
        let kind = if error.is_timeout() { io::ErrorKind::TimedOut } else { io::ErrorKind::Other };
        match error.is_builder() || error.is_redirect() {
            true => Failure::lasting(io::ErrorKind::InvalidInput, innermost(&error)),
            false => Failure::transient(kind, innermost(&error)),
        }
    }
}

/// Returns what the cause of an error says that has no cause itself: what encloses it repeats addresses.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}
