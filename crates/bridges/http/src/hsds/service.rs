//! From a request to the function that answers it.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use server::Principal;

use super::call::HsdsCall;
use super::request::Request;
use super::{acls, attributes, body, creation, datasets, domain, links, objects, values, writes};
use crate::answer::Failure;
use crate::call::{Deadline, Outcome};
use crate::run::{self, Shared};

/// Answers a request.
pub(crate) async fn answer(
    shared: Arc<Shared>,
    who: Principal,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let (body, charge) = match body::read(&shared, &shared.account(&who), body).await {
        Ok(read) => read,
        Err(failure) => return failure.into_response(),
    };
    let work = shared.clone();
    run::on_thread(shared, move |deadline| {
        let _charge = charge;
        answer_blocking(&work, &who, (method, &uri, &headers), body, deadline)
    })
    .await
}

fn answer_blocking(
    shared: &Shared,
    who: &Principal,
    (method, uri, headers): (Method, &Uri, &HeaderMap),
    body: Bytes,
    deadline: &Deadline,
) -> Response {
    match Request::new(method, uri, headers, body) {
        Ok(request) => {
            let call = HsdsCall::new(shared, who, &request, headers, deadline);
            call.finish(dispatch(&call))
        }
        Err(failure) => failure.into_response(),
    }
}

fn dispatch(call: &HsdsCall<'_>) -> Outcome {
    if call.shared.containers.root().is_none() {
        return Err(Failure::missing("This server has one container and no domains"));
    }
    let path: Vec<&str> = call.request.path.iter().map(String::as_str).collect();
    match (call.request.method.as_str(), path.as_slice()) {
        ("GET", []) => domain::get(call),
        ("PUT", []) => domain::put(call),
        ("DELETE", []) => domain::delete(call),
        ("GET", ["about" | "info"]) => domain::about(call),
        ("GET", ["domains"]) => domain::list(call),
        (_, ["acls", rest @ ..]) => acls::answer(call, rest),
        (_, [collection @ ("groups" | "datasets" | "datatypes"), rest @ ..]) => {
            of_object(call, collection, rest)
        }
        _ => Err(not_allowed()),
    }
}

fn of_object(call: &HsdsCall<'_>, collection: &str, path: &[&str]) -> Outcome {
    match (call.request.method.as_str(), path) {
        ("GET", []) => objects::list(call, collection),
        ("POST", []) => creation::post(call, collection),
        ("GET", [id]) => objects::get(call, collection, id),
        ("DELETE", [id]) => objects::delete(call, collection, id),
        (_, [id, "attributes", name @ ..]) => attributes::answer(call, (collection, id), name),
        (_, [id, "links", title @ ..]) if collection == "groups" => links::answer(call, id, title),
        (method, [id, part]) if collection == "datasets" => match (method, *part) {
            ("GET", "shape") => datasets::get_shape(call, id),
            ("PUT", "shape") => datasets::put_shape(call, id),
            ("GET", "type") => datasets::get_type(call, id),
            ("GET" | "POST", "value") => values::get(call, id),
            ("PUT", "value") => writes::put(call, id),
            _ => Err(not_allowed()),
        },
        _ => Err(not_allowed()),
    }
}

/// Returns the failure of a method that a route does not have.
pub(super) fn not_allowed() -> Failure {
    Failure::new(StatusCode::METHOD_NOT_ALLOWED, "There is no such request: see /openapi.json")
}
