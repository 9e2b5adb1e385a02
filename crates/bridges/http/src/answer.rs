//! Answers and failures, and how they become responses.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use http_body::{Frame, SizeHint};
use hyperslab::vol::model::Charge;
use hyperslab::{Error, Kind};
use serde_json::{Value, json};

use crate::encoding;

/// A request that was answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) content_type: &'static str,
    headers: Vec<(HeaderName, String)>,
    pub(crate) body: Bytes,
    /// The memory of the body, until it is sent.
    charge: Option<Charge>,
}

impl Answer {
    /// Returns an answer of these bytes.
    pub(crate) fn new(content_type: &'static str, body: impl Into<Bytes>) -> Self {
        Answer { status: StatusCode::OK, content_type, headers: Vec::new(), body: body.into(), charge: None }
    }

    /// Returns a JSON answer.
    pub(crate) fn json(value: &Value) -> Self {
        Self::new("application/json", value.to_string())
    }

    /// With another status.
    pub(crate) fn with_status(self, status: StatusCode) -> Self {
        Answer { status, ..self }
    }

    /// With another body, of no more bytes.
    pub(crate) fn with_body(self, body: Bytes) -> Self {
        Answer { body, ..self }
    }

    /// With a header.
    pub(crate) fn with(mut self, name: HeaderName, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// With the name of a file that a browser saves it as.
    pub(crate) fn attached(self, file: &str) -> Self {
        self.with(header::CONTENT_DISPOSITION, format!("attachment; filename=\"{file}\""))
    }

    /// With memory that is in use until the body is sent.
    pub(crate) fn charged(mut self, charge: Charge) -> Self {
        self.charge = Some(charge);
        self
    }
}

impl Answer {
    /// Returns the response to a request with these headers: what it accepts decides about compression and ranges.
    pub(crate) fn into_response_for(self, request: &HeaderMap, etag: Option<String>) -> Response {
        encoding::fitted(self, request, etag).into_response()
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let body = Body::new(ChargedBody { left: self.body, _charge: self.charge });
        let content_type = [(header::CONTENT_TYPE, self.content_type)];
        let mut response = (self.status, content_type, body).into_response();
        for (name, value) in self.headers {
            if let Ok(value) = HeaderValue::try_from(value) {
                response.headers_mut().insert(name, value);
            }
        }
        response
    }
}

/// Bytes of a body that are handed to the connection at a time.
const FRAME_BYTES: usize = 256 << 10;

/// A body that holds its memory until the last of it was handed over.
#[derive(Debug)]
struct ChargedBody {
    left: Bytes,
    _charge: Option<Charge>,
}

impl http_body::Body for ChargedBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if self.left.is_empty() {
            return Poll::Ready(None);
        }
        let len = self.left.len().min(FRAME_BYTES);
        Poll::Ready(Some(Ok(Frame::data(self.left.split_to(len)))))
    }

    fn is_end_stream(&self) -> bool {
        self.left.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left.len() as u64)
    }
}

/// A request that failed: a status, and a message for people.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
}

impl Failure {
    /// Returns a failure.
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Failure { status, message: message.into() }
    }

    /// Returns a failure of a request that HTTP clients do not send.
    pub(crate) fn malformed(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// Returns a failure of an argument that makes no sense.
    pub(crate) fn argument(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, message)
    }

    /// Returns a failure of an object or file that does not exist.
    pub(crate) fn missing(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, message)
    }

    /// Returns a failure of an answer that would be too large.
    pub(crate) fn too_large(bytes: u64, bytes_max: u64) -> Self {
        let message =
            format!("The answer has {bytes} bytes or more, and the limit is {bytes_max}: select less");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, message)
    }

    /// Returns a failure of a request for which too much would have to be decoded.
    pub(crate) fn too_much_work(bytes: u64, bytes_max: u64) -> Self {
        let message = format!(
            "The elements are in chunks of {bytes} bytes altogether, and the limit is {bytes_max}: \
             select elements of fewer chunks, or ask /api/sample for an overview"
        );
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, message)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let status = match error.kind() {
            Kind::NotFound => StatusCode::NOT_FOUND,
            Kind::Denied => StatusCode::FORBIDDEN,
            Kind::Limit => StatusCode::PAYLOAD_TOO_LARGE,
            Kind::Invalid | Kind::Unsupported | Kind::Conversion => StatusCode::UNPROCESSABLE_ENTITY,
            Kind::Exists => StatusCode::CONFLICT,
            Kind::Busy | Kind::Cancelled => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Failure::new(status, error.to_string())
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let body = json!({ "message": self.message }).to_string();
        (self.status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
    }
}
