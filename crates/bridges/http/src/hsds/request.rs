//! A request: method, path, parameters, body.

use axum::body::Bytes;
use axum::http::{HeaderMap, Method, header};
use json_text::text::{self, Value};

use super::nan;
use crate::answer::Failure;
use crate::query::{self, Query};

/// Bytes of a body that is JSON: values take about twenty times as much memory.
pub(super) const JSON_BYTES_MAX: usize = 8 << 20;

/// The media type of elements.
pub(crate) const BYTES: &str = "application/octet-stream";

/// Returns whether a request may have a large body.
pub(crate) fn takes_body(method: &Method, path: &str) -> bool {
    let collection = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    let is_change = matches!(*method, Method::PUT | Method::POST);
    is_change && matches!(collection, "" | "groups" | "datasets" | "datatypes" | "acls")
}

/// Returns whether a request names a domain.
pub(crate) fn has_domain(uri: &axum::http::Uri, headers: &HeaderMap) -> bool {
    let in_query = uri.query().unwrap_or_default().split('&').any(|pair| pair.starts_with("domain="));
    in_query || headers.contains_key(DOMAIN)
}

/// A request, whose body has arrived.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) method: Method,
    /// Parts of the path, decoded.
    pub(super) path: Vec<String>,
    pub(super) query: Query,
    /// The name of the domain, without the first slash; `None` where the request names none.
    pub(super) domain: Option<String>,
    /// Whether the client wants elements as bytes.
    pub(super) wants_bytes: bool,
    /// Whether the body has elements as bytes.
    pub(super) has_bytes: bool,
    pub(super) body: Bytes,
}

impl Request {
    pub(super) fn new(
        method: Method,
        uri: &axum::http::Uri,
        headers: &HeaderMap,
        body: Bytes,
    ) -> Result<Self, Failure> {
        let query = Query::parse(uri.query().unwrap_or_default())?;
        let parts = uri.path().split('/').filter(|part| !part.is_empty());
        let path = parts.map(query::decode_path).collect::<Result<_, _>>()?;
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let domain = query.get("domain").map(str::to_owned);
        let domain = domain.or_else(|| headers.contains_key(DOMAIN).then(|| text(DOMAIN).to_owned()));
        Ok(Request {
            wants_bytes: text(header::ACCEPT.as_str()).contains(BYTES),
            has_bytes: text(header::CONTENT_TYPE.as_str()).starts_with(BYTES),
            domain: domain.map(|name| name.strip_prefix('/').unwrap_or(&name).to_owned()),
            method,
            path,
            query,
            body,
        })
    }

    /// Calls `take` with the body, which is JSON. A body that is empty is an empty object.
    pub(super) fn json<T>(&self, take: impl FnOnce(&Value<'_>) -> Result<T, Failure>) -> Result<T, Failure> {
        if self.body.len() > JSON_BYTES_MAX {
            let message = format!("A JSON body has {JSON_BYTES_MAX} bytes at most: send elements as bytes");
            return Err(Failure::new(axum::http::StatusCode::PAYLOAD_TOO_LARGE, message));
        }
        let wrong = |problem: String| Failure::malformed(format!("The body is not JSON: {problem}"));
        let body = std::str::from_utf8(&self.body).map_err(|e| wrong(e.to_string()))?;
        let body = if body.trim().is_empty() { "{}".into() } else { nan::quoted(body) };
        take(&text::read(&body).map_err(|e| wrong(e.to_string()))?)
    }
}

/// The header that clients may name the domain in.
pub(crate) const DOMAIN: &str = "x-hdf-domain";
