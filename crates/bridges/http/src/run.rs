//! Requests on threads: the library blocks, and clients must not wait for each other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use hyperslab::Kind;
use hyperslab::vol::Access;
use hyperslab::vol::model::Budget;
use server::Principal;
use tokio::sync::Semaphore;

use crate::answer::Failure;
use crate::call::{Call, Deadline, Handler, busy};
use crate::config::Accounts;
use crate::containers::{Containers, OpenContainer};
use crate::encoding;
use crate::hsds::IdentifierTable;
use crate::limits::HttpLimits;
use crate::query::Query;

/// What all requests share.
pub(crate) struct Shared {
    pub(crate) containers: Containers,
    pub(crate) limits: HttpLimits,
    /// Identifiers of objects, for HSDS's interface.
    pub(crate) identifiers: IdentifierTable,
    /// When the server started, in seconds since 1970.
    pub(crate) started: u64,
    /// The accounts of the bodies of requests and answers.
    pub(crate) memory: Accounts,
    /// Turns of requests.
    pub(crate) running: Arc<Semaphore>,
}

impl Shared {
    /// Returns the account of the bodies of a caller's requests and answers.
    pub(crate) fn account(&self, who: &Principal) -> Budget {
        (self.memory)(&who.name)
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("containers", &self.containers).finish_non_exhaustive()
    }
}

/// Tells the thread of a request that its client is gone.
struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Answers a request about a container.
pub(crate) async fn answer(
    shared: Arc<Shared>,
    who: Principal,
    uri: Uri,
    headers: HeaderMap,
    handler: Handler,
) -> Response {
    let work = shared.clone();
    on_thread(shared, move |deadline| answer_blocking(&work, &who, &uri, &headers, deadline, handler)).await
}

/// Runs the work of a request on a thread of its own, when it is its turn.
pub(crate) async fn on_thread(
    shared: Arc<Shared>,
    work: impl FnOnce(&Deadline) -> Response + Send + 'static,
) -> Response {
    let turn = shared.running.clone().acquire_owned();
    let Ok(Ok(turn)) = tokio::time::timeout(shared.limits.turn_time_max, turn).await else {
        return busy().into_response();
    };
    let is_cancelled = Arc::new(AtomicBool::new(false));
    let cancel = CancelOnDrop(is_cancelled.clone());
    let deadline = Deadline::new(is_cancelled, shared.limits.request_time_max);
    let work = tokio::task::spawn_blocking(move || {
        // The turn ends with the work, also where no one waits for it any more.
        let _turn = turn;
        work(&deadline)
    });
    let response = work.await.unwrap_or_else(|_| {
        Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "The request could not be answered").into_response()
    });
    drop(cancel);
    response
}

fn answer_blocking(
    shared: &Shared,
    who: &Principal,
    uri: &Uri,
    headers: &HeaderMap,
    deadline: &Deadline,
    handler: Handler,
) -> Response {
    let answered = Query::parse(uri.query().unwrap_or_default()).and_then(|query| {
        let container = open(shared, who, &query)?;
        let etag = container.etag();
        if is_known(headers, etag.as_deref()) {
            return Ok(with_etag(StatusCode::NOT_MODIFIED.into_response(), etag));
        }
        let (limits, memory) = (&shared.limits, shared.account(who));
        let call = Call { container: &container, query: &query, limits, memory: &memory, deadline };
        handler(&call).map(|answer| answer.into_response_for(headers, etag))
    });
    answered.unwrap_or_else(IntoResponse::into_response)
}

/// Opens the container of a request. Texts of failures are h5grove's, where H5Web recognises them.
fn open(shared: &Shared, who: &Principal, query: &Query) -> Result<OpenContainer, Failure> {
    let opened = shared.containers.open(who, query.get("file"), Access::Read);
    opened.map_err(|error| match error.kind() {
        Kind::NotFound => Failure::missing("File not found!"),
        Kind::Denied => Failure::new(StatusCode::FORBIDDEN, "Permission denied"),
        _ => error.into(),
    })
}

/// Returns whether the client has this version of the answer.
pub(crate) fn is_known(headers: &HeaderMap, etag: Option<&str>) -> bool {
    let known = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    match (known, etag) {
        (Some(known), Some(etag)) => known.split(',').any(|tag| encoding::is_same(tag.trim(), etag)),
        _ => false,
    }
}

/// Adds the entity tag of an answer.
pub(crate) fn with_etag(mut response: Response, etag: Option<String>) -> Response {
    if let Some(value) = etag.and_then(|etag| HeaderValue::try_from(etag).ok()) {
        response.headers_mut().insert(header::ETAG, value);
    }
    response
}
