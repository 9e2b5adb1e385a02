//! `PUT /datasets/ID/value`: writes elements.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hyperslab::vol::Access;
use hyperslab::vol::model::{Dataspace, Heap};
use hyperslab::{Dataset, Datatype};
use json_text::text::Value;
use serde_json::json;

use super::call::{Domain, HsdsCall};
use super::form::{Encoding, Form, JsonReader};
use super::select::Selected;
use super::values::{check_work, of_body, of_text, with_fields};
use crate::answer::{Answer, Failure};
use crate::call::Outcome;

/// Writes the elements that the body has.
pub(super) fn put(call: &HsdsCall<'_>, id: &str) -> Outcome {
    let domain = call.open(Access::Write)?;
    let dataset = domain.dataset(id)?;
    let info = dataset.dataset_info();
    if matches!(info.space, Dataspace::Null) {
        return Err(Failure::argument("The dataset has no elements"));
    }
    let datatype = with_fields(&info.datatype, call.query().get("fields"))?;
    match call.request.has_bytes {
        true => {
            let selected = of_text(call.query().get("select"), info.space.dims())?;
            check_work(&call.reading(&domain), &dataset, &selected)?;
            write_bytes(call, &domain, &dataset, &selected, &datatype, &call.request.body)?;
        }
        false => call.request.json(|body| {
            let selected = match call.query().get("select") {
                None => of_body(body, info.space.dims())?,
                select => of_text(select, info.space.dims())?,
            };
            check_work(&call.reading(&domain), &dataset, &selected)?;
            write_body(call, &domain, &dataset, &selected, &datatype, body)
        })?,
    }
    domain.commit()?;
    Ok(Answer::json(&json!({ "hrefs": [] })))
}

fn write_body(
    call: &HsdsCall<'_>,
    domain: &Domain,
    dataset: &Dataset,
    selected: &Selected,
    datatype: &Datatype,
    body: &Value<'_>,
) -> Result<(), Failure> {
    match (body.get("value_base64"), body.get("value")) {
        (Some(Value::String(text)), _) => {
            let bytes = BASE64_STANDARD.decode(text.as_bytes());
            let bytes = bytes.map_err(|_| Failure::malformed("value_base64 is not Base64"))?;
            write_bytes(call, domain, dataset, selected, datatype, &bytes)
        }
        (None, Some(value)) => write_json(call, domain, dataset, selected, datatype, value),
        _ => Err(Failure::malformed("The body has no value")),
    }
}

/// Writes elements that came as bytes: exactly those that are selected.
fn write_bytes(
    call: &HsdsCall<'_>,
    domain: &Domain,
    dataset: &Dataset,
    selected: &Selected,
    datatype: &Datatype,
    body: &[u8],
) -> Result<(), Failure> {
    let form = Form::new(datatype, Encoding::Bytes);
    let wrong = |bytes: usize| {
        let count = selected.count();
        Failure::malformed(format!("The body has {bytes} bytes, which are not {count} elements"))
    };
    if form.is_plain() {
        if body.len() as u64 != selected.count().saturating_mul(form.size() as u64) {
            return Err(wrong(body.len()));
        }
        return Ok(dataset.write_bytes(&selected.to_selection()?, &form.memory, body, &mut Heap::new())?);
    }
    // Each element takes four bytes of the body at least.
    if selected.count() > body.len() as u64 / 4 {
        return Err(wrong(body.len()));
    }
    let _charge = call.reading(domain).charge(selected.count().saturating_mul(form.size() as u64))?;
    let (mut left, mut heap, mut elements) = (body, Heap::new(), Vec::new());
    for _ in 0..selected.count() {
        form.read_bytes(domain, &mut left, &mut heap, &mut elements)?;
    }
    if !left.is_empty() {
        return Err(wrong(body.len()));
    }
    Ok(dataset.write_bytes(&selected.to_selection()?, &form.memory, &elements, &mut heap)?)
}

/// Writes elements that came as JSON.
pub(super) fn write_json(
    call: &HsdsCall<'_>,
    domain: &Domain,
    dataset: &Dataset,
    selected: &Selected,
    datatype: &Datatype,
    value: &Value<'_>,
) -> Result<(), Failure> {
    let form = Form::new(datatype, Encoding::Json);
    let mut reader = JsonReader::new(domain, call.shared.limits.write_bytes_max);
    let mut elements = Vec::new();
    form.read_json_all(&mut reader, value, &selected.shape, &mut elements)?;
    if elements.is_empty() {
        return Ok(());
    }
    Ok(dataset.write_bytes(&selected.to_selection()?, &form.memory, &elements, &mut reader.heap)?)
}
