//! One request, as the functions that answer it see it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyperslab::vol::model::{Budget, Charge};
use hyperslab::{Dataset, Error, Kind, ObjectHandle, Result};
use system::clock::Instant;

use crate::answer::{Answer, Failure};
use crate::containers::OpenContainer;
use crate::limits::HttpLimits;
use crate::query::Query;

/// The result of a request.
pub(crate) type Outcome = std::result::Result<Answer, Failure>;

/// A function that answers requests of one route.
pub(crate) type Handler = fn(&Call<'_>) -> Outcome;

/// One request.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub(crate) container: &'a OpenContainer,
    pub(crate) query: &'a Query,
    pub(crate) limits: &'a HttpLimits,
    /// The account of the bodies of answers.
    pub(crate) memory: &'a Budget,
    /// Whether the request goes on.
    pub(crate) deadline: &'a Deadline,
}

/// The end of a request: when its client leaves, or when its time has passed.
#[derive(Debug)]
pub(crate) struct Deadline {
    is_cancelled: Arc<AtomicBool>,
    begun: Instant,
    time_max: Duration,
}

impl Deadline {
    /// Returns the end of a request that begins now. `is_cancelled` is set when its client leaves.
    pub(crate) fn new(is_cancelled: Arc<AtomicBool>, time_max: Duration) -> Self {
        Deadline { is_cancelled, begun: Instant::now(), time_max }
    }

    /// Returns an error if the client left or the time passed.
    fn check(&self) -> Result<()> {
        if self.is_cancelled.load(Ordering::Relaxed) {
            return Err(Error::new(Kind::Cancelled, "answer request"));
        }
        match self.begun.elapsed() < self.time_max {
            true => Ok(()),
            false => {
                let problem = "it took too long: select less, or whole chunks; /api/sample gives an overview";
                Err(Error::busy("answer request")
                    .with("seconds", self.time_max.as_secs())
                    .with("problem", problem))
            }
        }
    }
}

impl Call<'_> {
    /// Returns the path that the request names; the root without one.
    pub(crate) fn path(&self) -> &str {
        self.query.get("path").filter(|path| !path.is_empty()).unwrap_or("/")
    }

    /// Returns the object at the path.
    pub(crate) fn object(&self) -> std::result::Result<ObjectHandle, Failure> {
        self.container.file.object(self.path()).map_err(|error| self.not_there(error))
    }

    /// Returns the dataset at the path.
    ///
    /// # Errors
    /// Returns a failure with the status 422 if another kind of object is there.
    pub(crate) fn dataset(&self) -> std::result::Result<Dataset, Failure> {
        match self.object()? {
            ObjectHandle::Dataset(dataset) => Ok(dataset),
            _ => Err(Failure::argument(format!("{} is not a dataset", self.path()))),
        }
    }

    /// Returns the failure of a path that leads nowhere, as h5grove words it: H5Web recognises the text.
    pub(crate) fn not_there(&self, error: Error) -> Failure {
        match error.kind() {
            Kind::NotFound | Kind::Denied => {
                Failure::missing(format!("{} is not a valid path in {}", self.path(), self.container.name))
            }
            _ => error.into(),
        }
    }

    /// Takes memory for an answer before anything is read.
    ///
    /// # Errors
    /// Returns a failure with the status 413 if the answer is too large, and 503 if other answers use the memory.
    pub(crate) fn charge(&self, bytes: u64) -> std::result::Result<Charge, Failure> {
        self.check_size(bytes)?;
        if bytes > self.memory.limit() {
            return Err(Failure::too_large(bytes, self.memory.limit()));
        }
        self.memory.charge(bytes, "answer").map_err(|_| busy())
    }

    /// Refuses an answer that has so many bytes at least, if that is over the limit.
    pub(crate) fn check_size(&self, bytes: u64) -> std::result::Result<(), Failure> {
        match bytes > self.limits.response_bytes_max {
            true => Err(Failure::too_large(bytes, self.limits.response_bytes_max)),
            false => Ok(()),
        }
    }

    /// Refuses to decode so many bytes, if that is over the limit.
    pub(crate) fn check_work(&self, bytes: u64) -> std::result::Result<(), Failure> {
        match bytes > self.limits.decoded_bytes_max {
            true => Err(Failure::too_much_work(bytes, self.limits.decoded_bytes_max)),
            false => Ok(()),
        }
    }

    /// Returns an error if the client is gone or the request took too long, for loops that may.
    pub(crate) fn check_cancelled(&self) -> Result<()> {
        self.deadline.check()
    }
}

/// Returns the failure of a server that has no memory or no turn for a request now.
pub(crate) fn busy() -> Failure {
    let status = axum::http::StatusCode::SERVICE_UNAVAILABLE;
    Failure::new(status, "The server is busy with other requests: try again")
}
