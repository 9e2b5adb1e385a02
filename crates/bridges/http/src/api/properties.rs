//! `/api/properties`: how an object is stored.

use hyperslab::vol::model::UNLIMITED;
use hyperslab::vol::model::properties::{FillValue, Layout};
use hyperslab::vol::{ObjectInfo, Times};
use hyperslab::{Dataset, ObjectHandle};
use serde_json::{Value, json};

use super::dimensions;
use crate::answer::{Answer, Failure};
use crate::call::{Call, Outcome};
use crate::grove::{fill_json, filters};

/// Answers a request.
pub(crate) fn answer(call: &Call<'_>) -> Outcome {
    let handle = call.object()?;
    let mut value = of_object(&handle.object().info()?);
    if let ObjectHandle::Dataset(dataset) = &handle {
        add_dataset(&mut value, dataset)?;
        value["dimensions"] = json!(dimensions::names(call, dataset));
    }
    Ok(Answer::json(&value))
}

/// Returns what every object has. Times are seconds since 1970; `null` where they are not kept.
fn of_object(info: &ObjectInfo) -> Value {
    let time = |get: fn(&Times) -> u32| info.times.as_ref().map(get).filter(|seconds| *seconds > 0);
    json!({
        "token": info.token.to_string(),
        "links": info.references,
        "created": time(|times| times.birth),
        "modified": time(|times| times.modification),
        "comment": info.comment,
    })
}

fn add_dataset(value: &mut Value, dataset: &Dataset) -> Result<(), Failure> {
    let info = dataset.dataset_info();
    let elements = info.space.element_count()?;
    let (fill, fill_defined) = fill(dataset)?;
    value["layout"] = layout(&info.create.layout).into();
    value["chunks"] = json!(dataset.chunk());
    value["filters"] = filters(dataset);
    value["fill_value"] = fill;
    value["fill_defined"] = fill_defined.into();
    value["elements"] = elements.into();
    value["bytes"] = elements.saturating_mul(u64::from(info.datatype.size())).into();
    value["storage_bytes"] = json!(dataset.storage().ok().map(|storage| storage.bytes));
    value["max_shape"] = info.space.max_dims().iter().map(|&dim| max_dim(dim)).collect();
    Ok(())
}

/// Returns a bound of the extent; `null` is none.
fn max_dim(dim: u64) -> Value {
    if dim == UNLIMITED { Value::Null } else { dim.into() }
}

fn layout(layout: &Layout) -> &'static str {
    match layout {
        Layout::Compact => "compact",
        Layout::Contiguous => "contiguous",
        Layout::External(_) => "external",
        Layout::Chunked { .. } => "chunked",
        Layout::Virtual(_) => "virtual",
    }
}

/// Returns the fill value, and who chose it.
fn fill(dataset: &Dataset) -> Result<(Value, &'static str), Failure> {
    match &dataset.dataset_info().create.fill.value {
        FillValue::Undefined => Ok((Value::Null, "undefined")),
        FillValue::Default => Ok((Value::Null, "default")),
        FillValue::Value(raw) => Ok((fill_json(dataset, raw)?, "user")),
    }
}
