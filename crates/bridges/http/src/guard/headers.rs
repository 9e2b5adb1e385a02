//! Headers of every response: what browsers may do with it.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::Guard;

/// What the page may load: nothing from other hosts, and no scripts or styles in markup.
const CONTENT_POLICY: &str = "default-src 'self'; img-src 'self' blob: data:; object-src 'none'; base-uri 'none'; \
                              form-action 'none'; frame-ancestors 'none'";

const ALWAYS: [(HeaderName, &str); 4] = [
    (header::CONTENT_SECURITY_POLICY, CONTENT_POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// Headers of answers that pages of other origins may read.
const EXPOSED: &str = "ETag, X-Shape, X-Step, X-How, X-Sampled";

/// Adds headers to a response, and answers what browsers ask before a request of another origin.
pub(crate) async fn add_headers(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let origin = guard.allowed_origin(request.headers());
    let is_preflight = request.method() == Method::OPTIONS && origin.is_some();
    let mut response =
        if is_preflight { StatusCode::NO_CONTENT.into_response() } else { next.run(request).await };
    let headers = response.headers_mut();
    for (name, value) in ALWAYS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("private, no-cache"));
    allow(headers, origin, !guard.origins.is_empty());
    response
}

impl Guard {
    /// Returns the origin of a request, if its pages may read answers.
    fn allowed_origin(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let origin = headers.get(header::ORIGIN)?;
        self.origins.iter().any(|allowed| allowed.as_bytes() == origin.as_bytes()).then(|| origin.clone())
    }
}

fn allow(headers: &mut HeaderMap, origin: Option<HeaderValue>, varies: bool) {
    let mut set =
        |name: HeaderName, value: &'static str| headers.insert(name, HeaderValue::from_static(value));
    if varies {
        set(header::VARY, "Accept-Encoding, Origin");
    }
    let Some(origin) = origin else {
        set(HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
        return;
    };
    set(header::ACCESS_CONTROL_ALLOW_METHODS, "GET");
    set(header::ACCESS_CONTROL_ALLOW_HEADERS, "Authorization, If-None-Match");
    set(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    set(header::ACCESS_CONTROL_MAX_AGE, "600");
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
}
