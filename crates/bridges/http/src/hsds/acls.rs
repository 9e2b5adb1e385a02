//! `/acls`: what the caller may do. Rights are in the server's file of tokens; no request changes them.

use axum::http::StatusCode;
use hyperslab::vol::Access;
use serde_json::{Value, json};

use super::call::HsdsCall;
use super::service;
use crate::answer::{Answer, Failure};
use crate::call::Outcome;

/// `/acls` and `/acls/USER`.
pub(super) fn answer(call: &HsdsCall<'_>, path: &[&str]) -> Outcome {
    let name = &call.who.name;
    match (call.request.method.as_str(), path) {
        ("GET", []) => Ok(Answer::json(&json!({ "acls": { name: rights(call)? }, "hrefs": [] }))),
        ("GET", [user]) if user == name => {
            let mut acl = rights(call)?;
            acl["userName"] = name.as_str().into();
            Ok(Answer::json(&json!({ "acl": acl, "hrefs": [] })))
        }
        ("GET", [_]) => Err(Failure::missing("Clients see their own rights only")),
        ("PUT", [_]) => {
            let message = "Rights are in the server's file of tokens, which no request changes";
            Err(Failure::new(StatusCode::FORBIDDEN, message))
        }
        _ => Err(service::not_allowed()),
    }
}

fn rights(call: &HsdsCall<'_>) -> Result<Value, Failure> {
    let domain = call.domain_name()?.trim_end_matches('/');
    let (reads, writes) = (call.who.may(Access::Read, domain), call.who.may(Access::Write, domain));
    if !reads {
        return Err(Failure::new(StatusCode::FORBIDDEN, "Permission denied"));
    }
    Ok(json!({
        "create": writes, "read": reads, "update": writes, "delete": writes, "readACL": reads, "updateACL": false
    }))
}
