//! Extents and types of datasets.

use axum::http::StatusCode;
use hyperslab::vol::Access;
use json_text::text::Value;
use serde_json::json;

use super::call::HsdsCall;
use super::properties;
use super::types::{describe, standard};
use crate::answer::{Answer, Failure};
use crate::call::Outcome;

/// `GET /datasets/ID/shape`.
pub(super) fn get_shape(call: &HsdsCall<'_>, id: &str) -> Outcome {
    let domain = call.open(Access::Read)?;
    let space = properties::shape(&domain.dataset(id)?.dataset_info().space);
    Ok(Answer::json(&json!({ "shape": space, "created": 0, "lastModified": 0, "hrefs": [] })))
}

/// `GET /datasets/ID/type`.
pub(super) fn get_type(call: &HsdsCall<'_>, id: &str) -> Outcome {
    let domain = call.open(Access::Read)?;
    let datatype = describe(&standard(&domain.dataset(id)?.dataset_info().datatype));
    Ok(Answer::json(&json!({ "type": datatype, "hrefs": [] })))
}

/// `PUT /datasets/ID/shape`: changes the extent, or extends one dimension, and says which elements are new.
pub(super) fn put_shape(call: &HsdsCall<'_>, id: &str) -> Outcome {
    let domain = call.open(Access::Write)?;
    let dataset = domain.dataset(id)?;
    let info = dataset.dataset_info();
    let old = info.space.dims().to_vec();
    let dims = call.request.json(|body| wanted(body, &old))?;
    info.space.resized(&dims)?;
    dataset.container().dataset_resize(dataset.token(), &dims)?;
    domain.commit()?;
    let answer = json!({ "selection": grown(&old, &dims), "hrefs": [] });
    Ok(Answer::json(&answer).with_status(StatusCode::CREATED))
}

/// Reads `{shape: [6, 4]}`, or `{extend: 2, extend_dim: 0}`.
fn wanted(body: &Value<'_>, old: &[u64]) -> Result<Vec<u64>, Failure> {
    let wrong = |error: hyperslab::Error| Failure::malformed(error.to_string());
    if let Some(extend) = body.get("extend") {
        let axis = body.or("extend_dim", 0usize, Value::uint).map_err(wrong)?;
        let by: u64 = extend.uint().map_err(wrong)?;
        let mut dims = old.to_vec();
        let dim = dims.get_mut(axis).ok_or_else(|| Failure::malformed("extend_dim is no dimension"))?;
        *dim = dim.checked_add(by).ok_or_else(|| Failure::malformed("The extent is too large"))?;
        return Ok(dims);
    }
    match body.need("shape").map_err(wrong)? {
        Value::Array(dims) => dims.iter().map(Value::uint).collect::<Result<_, _>>().map_err(wrong),
        dim => Ok(vec![dim.uint().map_err(wrong)?]),
    }
}

/// Returns the elements that are new: along the one dimension that grew, or all where several did.
fn grown(old: &[u64], new: &[u64]) -> String {
    let grew = old.iter().zip(new).filter(|(old, new)| old < new).count();
    let range = |(old, new): (&u64, &u64)| match (grew, old < new) {
        (1, true) => format!("{old}:{new}"),
        _ => format!("0:{new}"),
    };
    let ranges: Vec<String> = old.iter().zip(new).map(range).collect();
    if grew == 0 { "[]".to_owned() } else { format!("[{}]", ranges.join(",")) }
}
