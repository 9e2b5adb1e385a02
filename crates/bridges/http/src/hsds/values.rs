//! `GET` and `POST /datasets/ID/value`: selected elements.

use hyperslab::vol::Access;
use hyperslab::vol::model::datatype::Compound;
use hyperslab::vol::model::{Dataspace, Heap};
use hyperslab::{Dataset, Datatype};
use json_text::text::Value;

use super::call::{Domain, HsdsCall};
use super::form::{Encoding, Form};
use super::request::BYTES;
use super::select::{Selected, SelectedElements};
use crate::answer::{Answer, Failure};
use crate::call::{Call, Outcome};
use crate::elements::json_text::JsonText;
use crate::elements::nesting::{Nesting, write_empty};
use crate::elements::points::PointReading;
use crate::elements::strips::Reading;

/// An element of JSON takes one byte at least, and what parts it from the next one.
const ELEMENT_TEXT_BYTES: u64 = 2;

/// Returns selected elements. A `POST` says in its body which.
pub(super) fn get(call: &HsdsCall<'_>, id: &str) -> Outcome {
    let domain = call.open(Access::Read)?;
    let dataset = domain.dataset(id)?;
    let selected = selected(call, &dataset)?;
    let datatype = with_fields(&dataset.dataset_info().datatype, call.query().get("fields"))?;
    match call.request.wants_bytes {
        true => bytes(call, &domain, &dataset, &selected, &datatype),
        false => json(call, &domain, &dataset, &selected, &datatype),
    }
}

/// Returns the elements that a request selects.
fn selected(call: &HsdsCall<'_>, dataset: &Dataset) -> Result<Selected, Failure> {
    let info = dataset.dataset_info();
    if matches!(info.space, Dataspace::Null) {
        return Err(Failure::argument("The dataset has no elements"));
    }
    if call.query().get("query").is_some() {
        let status = axum::http::StatusCode::NOT_IMPLEMENTED;
        return Err(Failure::new(status, "Elements are not selected by a query: select them by their place"));
    }
    let dims = info.space.dims();
    match (call.request.method.as_str(), call.query().get("select")) {
        ("POST", _) if call.request.has_bytes => Selected::points(numbers(&call.request.body)?, dims),
        ("POST", None) => call.request.json(|body| of_body(body, dims)),
        (_, select) => of_text(select, dims),
    }
}

/// Returns the elements that the parameter `select` says.
pub(super) fn of_text(select: Option<&str>, dims: &[u64]) -> Result<Selected, Failure> {
    match select {
        Some(text) => Selected::parse(text, dims),
        None => Ok(Selected::all(dims)),
    }
}

/// Returns the elements that a JSON body says.
pub(super) fn of_body(body: &Value<'_>, dims: &[u64]) -> Result<Selected, Failure> {
    match (body.get("points"), body.get("select")) {
        (Some(points), _) => Selected::json_points(points, dims),
        (None, Some(Value::String(select))) => Selected::parse(select, dims),
        (None, Some(_)) => Err(Failure::malformed("select is a string")),
        (None, None) => Ok(Selected::all(dims)),
    }
}

fn numbers(bytes: &[u8]) -> Result<Vec<u64>, Failure> {
    let (numbers, rest) = bytes.as_chunks::<8>();
    match rest {
        [] => Ok(numbers.iter().map(|number| u64::from_le_bytes(*number)).collect()),
        _ => Err(Failure::malformed("Coordinates have eight bytes each")),
    }
}

/// Returns the type with only some members of a compound: `a:b`.
pub(super) fn with_fields(datatype: &Datatype, fields: Option<&str>) -> Result<Datatype, Failure> {
    let Some(fields) = fields else { return Ok(datatype.clone()) };
    let Datatype::Compound(t) = datatype else {
        return Err(Failure::argument("Only compounds have fields"));
    };
    let member = |name: &str| {
        let found = t.member(name).map(|member| (member.name.clone(), member.datatype.clone()));
        found.ok_or_else(|| Failure::argument(format!("There is no field {name}")))
    };
    let members = fields.split(':').map(member).collect::<Result<Vec<_>, _>>()?;
    Ok(Datatype::Compound(Compound::packed(members)))
}

fn bytes(
    call: &HsdsCall<'_>,
    domain: &Domain,
    dataset: &Dataset,
    selected: &Selected,
    datatype: &Datatype,
) -> Outcome {
    let form = Form::new(datatype, Encoding::Bytes);
    let reading = call.reading(domain);
    let mut charge = reading.charge(selected.count().saturating_mul(u64::from(form.memory.size())))?;
    if form.is_plain() {
        let elements = packed(&reading, dataset, selected, &form.memory)?;
        return Ok(Answer::new(BYTES, elements).charged(charge));
    }
    let mut out = Vec::new();
    in_order(&reading, dataset, selected, &form.memory, |elements, heap| {
        for element in elements.chunks_exact(form.size()) {
            form.write_bytes(domain, element, heap, &mut out)?;
        }
        reading.check_size(out.len() as u64)?;
        if charge.bytes() < out.len() as u64 {
            charge.resize(2 * out.len() as u64, "answer").map_err(|_| crate::call::busy())?;
        }
        Ok(())
    })?;
    Ok(Answer::new(BYTES, out).charged(charge))
}

/// Refuses a selection whose chunks are too many bytes: also to write a part of a chunk, the whole is decoded.
pub(super) fn check_work(call: &Call<'_>, dataset: &Dataset, selected: &Selected) -> Result<(), Failure> {
    let memory = &dataset.dataset_info().datatype;
    match &selected.elements {
        SelectedElements::Axes(axes) => Reading::new(call, dataset, axes.clone(), memory).check_work(),
        SelectedElements::Points(coordinates) => {
            PointReading { call, dataset, coordinates, memory }.check_work()
        }
    }
}

/// Returns elements without values of variable length.
fn packed(
    call: &Call<'_>,
    dataset: &Dataset,
    selected: &Selected,
    memory: &Datatype,
) -> Result<Vec<u8>, Failure> {
    let mut heap = Heap::new();
    match &selected.elements {
        SelectedElements::Axes(axes) => Reading::new(call, dataset, axes.clone(), memory).packed(&mut heap),
        SelectedElements::Points(coordinates) => {
            PointReading { call, dataset, coordinates, memory }.packed(&mut heap)
        }
    }
}

/// Calls `take` with elements and the heap of their values, in the order in which they are selected.
fn in_order(
    call: &Call<'_>,
    dataset: &Dataset,
    selected: &Selected,
    memory: &Datatype,
    mut take: impl FnMut(&[u8], &Heap) -> Result<(), Failure>,
) -> Result<(), Failure> {
    match &selected.elements {
        SelectedElements::Axes(axes) => Reading::new(call, dataset, axes.clone(), memory).in_order(take),
        SelectedElements::Points(coordinates) => {
            let _charge = call.charge(selected.count().saturating_mul(u64::from(memory.size())))?;
            let mut heap = Heap::new();
            heap.charge_to(&dataset.container().budget())?;
            let elements = PointReading { call, dataset, coordinates, memory }.packed(&mut heap)?;
            take(&elements, &heap)
        }
    }
}

fn json(
    call: &HsdsCall<'_>,
    domain: &Domain,
    dataset: &Dataset,
    selected: &Selected,
    datatype: &Datatype,
) -> Outcome {
    let form = Form::new(datatype, Encoding::Json);
    let reading = call.reading(domain);
    reading.check_size(selected.count().saturating_mul(ELEMENT_TEXT_BYTES))?;
    let mut out = JsonText::new(&reading);
    out.push(b"{\"status\":200,\"value\":")?;
    if selected.count() == 0 {
        write_empty(&selected.shape, &mut out)?;
    }
    let mut nesting = Nesting::new(&selected.shape);
    in_order(&reading, dataset, selected, &form.memory, |elements, heap| {
        form.write_json_all(domain, elements, heap, &mut nesting, &mut out)
    })?;
    out.push(b",\"hrefs\":[]}")?;
    Ok(out.into_answer())
}
