//! Changes and refusals, written down in the audit log of another server.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::Response;
use hyperslab::Error;
use server::AuditedRequest;

use crate::connection::Connection;
use crate::hsds;

/// Writes down what was asked for, and what became of it.
pub type Audit = Arc<dyn Fn(AuditedRequest<'_>, Result<(), &Error>) + Send + Sync>;

/// The caller whose request was answered.
#[derive(Debug, Clone)]
pub(super) struct Caller(pub(super) String);

/// Writes down requests that may change something, and those that were refused.
pub(crate) async fn write_down(State(audit): State<Option<Audit>>, request: Request, next: Next) -> Response {
    let Some(audit) = audit else { return next.run(request).await };
    let is_change = !matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    let peer = request.extensions().get::<Arc<Connection>>().map(|c| c.peer.to_string()).unwrap_or_default();
    let what = format!("{} {}", request.method(), request.uri().path());
    let name = container(request.uri(), request.headers());
    let response = next.run(request).await;
    let status = response.status();
    if is_change || is_refusal(status) {
        let who = response.extensions().get::<Caller>().map_or("?", |caller| caller.0.as_str());
        let asked = AuditedRequest { who, from: &peer, what: &what, name: &name };
        let failed = Error::denied("answer request").with("status", status.as_u16());
        audit(asked, if status.is_success() { Ok(()) } else { Err(&failed) });
    }
    response
}

fn is_refusal(status: StatusCode) -> bool {
    matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::PAYLOAD_TOO_LARGE)
}

/// Returns the name of the container that a request is about, as it stands there.
fn container(uri: &Uri, headers: &HeaderMap) -> String {
    let pairs = uri.query().unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
    let mut names = pairs.filter(|(key, _)| matches!(*key, "domain" | "file")).map(|(_, name)| name);
    let in_header = || headers.get(hsds::DOMAIN).and_then(|value| value.to_str().ok());
    names.next().or_else(in_header).unwrap_or_default().to_owned()
}
