//! Creation properties, in both directions.

use hyperslab::filter_names::id::{DEFLATE, FLETCHER32};
use hyperslab::vol::algorithms::transfer;
use hyperslab::vol::model::convert::Conversions;
use hyperslab::vol::model::properties::{
    AllocTime, CreationOrder, DatasetCreate, FillValue, FilterSpec, GroupCreate, Layout, ObjectCreate,
};
use hyperslab::vol::model::{Dataspace, Heap, UNLIMITED};
use hyperslab::{Dataset, Datatype, filter_names};
use json_text::text::Value;
use serde_json::{Map, Value as Json, json};

use super::call::{Domain, HsdsCall};
use super::form::{Encoding, Form, JsonReader};
use crate::answer::Failure;
use crate::elements::json_text::JsonText;
use crate::elements::nesting::Nesting;

/// Blocks of a selection in properties: datasets that are made of others are refused anyway.
const BLOCKS_MAX: u64 = 1000;

/// Returns the extent.
pub(super) fn shape(space: &Dataspace) -> Json {
    match space {
        Dataspace::Null => json!({ "class": "H5S_NULL" }),
        Dataspace::Scalar => json!({ "class": "H5S_SCALAR" }),
        _ => {
            let mut shape = json!({ "class": "H5S_SIMPLE", "dims": space.dims() });
            if space.is_resizable() {
                let bound = |&dim: &u64| if dim == UNLIMITED { json!("H5S_UNLIMITED") } else { json!(dim) };
                shape["maxdims"] = space.max_dims().iter().map(bound).collect();
            }
            shape
        }
    }
}

/// Returns the creation properties of a dataset.
pub(super) fn of_dataset(domain: &Domain, dataset: &Dataset) -> Result<Json, Failure> {
    let info = dataset.dataset_info();
    let mut properties = Map::new();
    properties.insert("layout".to_owned(), layout(&info.create.layout));
    if !info.create.filters.is_empty() {
        properties.insert("filters".to_owned(), info.create.filters.iter().map(filter).collect());
    }
    if let FillValue::Value(raw) = &info.create.fill.value {
        let fill = fill(domain, dataset, raw)?;
        properties.insert("fillValue".to_owned(), fill);
    }
    Ok(properties.into())
}

fn layout(layout: &Layout) -> Json {
    match layout {
        Layout::Chunked { shape, .. } => json!({ "class": "H5D_CHUNKED", "dims": shape }),
        Layout::Compact => json!({ "class": "H5D_COMPACT" }),
        _ => json!({ "class": "H5D_CONTIGUOUS" }),
    }
}

fn filter(filter: &FilterSpec) -> Json {
    let known = filter_names::names(filter.id);
    let class = known.and_then(|names| names.class).unwrap_or("H5Z_FILTER_USER");
    let name = match filter.id {
        // h5pyd knows compressions by h5py's names.
        DEFLATE => "gzip",
        _ => known.map_or("user", |names| names.name),
    };
    let mut shown = json!({ "class": class, "id": filter.id, "name": name });
    match (filter.id, filter.values.first()) {
        (DEFLATE, Some(level)) => shown["level"] = json!(level),
        _ => shown["parameters"] = json!(filter.values),
    }
    shown
}

/// Returns the fill value; `null` where JSON has none for it.
fn fill(domain: &Domain, dataset: &Dataset, raw: &[u8]) -> Result<Json, Failure> {
    let (form, mut heap) = (Form::new(&dataset.dataset_info().datatype, Encoding::Json), Heap::new());
    let file_type = &dataset.dataset_info().datatype;
    let container = dataset.container().as_ref();
    let bytes = transfer::from_file_type(
        container,
        file_type,
        raw,
        &form.memory,
        &Conversions::default(),
        &mut heap,
    )?;
    let mut out = JsonText::unbounded();
    form.write_json_all(domain, &bytes, &heap, &mut Nesting::new(&[]), &mut out)?;
    Ok(serde_json::from_slice(&out.into_bytes()).unwrap_or(Json::Null))
}

/// A dataset as a client asks for it.
#[derive(Debug)]
pub(super) struct DatasetRequest {
    pub(super) space: Dataspace,
    pub(super) create: DatasetCreate,
}

impl DatasetRequest {
    /// Reads extent and properties.
    ///
    /// # Errors
    /// Returns a failure if they make no sense, or name files.
    pub(super) fn parse(
        call: &HsdsCall<'_>,
        domain: &Domain,
        body: &Value<'_>,
        datatype: &Datatype,
    ) -> Result<Self, Failure> {
        let space = space(body)?;
        let empty = Value::Object(Vec::new());
        let properties = body.get("creationProperties").unwrap_or(&empty);
        let parsed = json_text::dataset_from_json(properties, BLOCKS_MAX);
        let (mut create, fill) = parsed.map_err(|error| Failure::malformed(error.to_string()))?;
        if matches!(create.layout, Layout::External(_) | Layout::Virtual(_)) {
            return Err(Failure::malformed("Elements in other files are not created over HTTP"));
        }
        create.filters.iter_mut().for_each(|filter| {
            filter.name = None;
            // h5py marks them so: a chunk that a filter does not make smaller is stored without it.
            filter.optional = filter.id != FLETCHER32;
        });
        if let Some(value) = fill.filter(|value| **value != Value::Null) {
            create.fill.value = FillValue::Value(fill_bytes(call, domain, datatype, value)?);
        }
        suit_layout(&mut create, &space, datatype);
        Ok(DatasetRequest { space, create })
    }
}

/// Bytes of a dataset that is stored in one piece: its space is allocated and filled with the first element that is written.
const CONTIGUOUS_BYTES_MAX: u64 = 64 << 20;

/// HSDS keeps all elements in chunks of its own, so that clients ask for layouts that a file cannot have, or that would let
/// a small request write much.
fn suit_layout(create: &mut DatasetCreate, space: &Dataspace, datatype: &Datatype) {
    create.alloc_time = AllocTime::default();
    let bytes = space.element_count().unwrap_or(u64::MAX).saturating_mul(u64::from(datatype.size()));
    let is_large = bytes > CONTIGUOUS_BYTES_MAX;
    let needs_chunks = is_large || space.is_resizable() || !create.filters.is_empty();
    match &mut create.layout {
        Layout::Contiguous | Layout::Compact if needs_chunks && space.rank() > 0 => {
            create.layout = Layout::chunked(&hyperslab::guess_chunk(space, u64::from(datatype.size())));
        }
        // Chunks of a fixed extent are not larger than it.
        Layout::Chunked { shape, .. } if space.rank() == shape.len() => {
            for ((chunk, &dim), &max) in shape.iter_mut().zip(space.dims()).zip(space.max_dims()) {
                if max != UNLIMITED {
                    *chunk = (*chunk).min(max.max(dim).max(1));
                }
            }
        }
        _ => {}
    }
    if space.rank() == 0 {
        create.layout = Layout::Contiguous;
        create.filters.clear();
    }
}

fn fill_bytes(
    call: &HsdsCall<'_>,
    domain: &Domain,
    datatype: &Datatype,
    value: &Value<'_>,
) -> Result<Vec<u8>, Failure> {
    let form = Form::new(datatype, Encoding::Json);
    let mut reader = JsonReader::new(domain, call.shared.limits.write_bytes_max);
    let mut element = Vec::new();
    form.read_json_all(&mut reader, value, &[], &mut element)?;
    let container = domain.container.file.container().as_ref();
    let stored = datatype.with_descriptors(&domain.container.file.container_info()?.descriptors);
    let (conversions, heap) = (Conversions::default(), &mut reader.heap);
    Ok(transfer::to_file_type(container, &form.memory, &element, &stored, &conversions, heap)?)
}

/// Reads an extent: numbers, or `H5S_NULL`, or an object with a class; nothing is a scalar.
pub(super) fn space(body: &Value<'_>) -> Result<Dataspace, Failure> {
    let wrong = |error: hyperslab::Error| Failure::malformed(error.to_string());
    let shape = match body.get("shape") {
        None | Some(Value::Null) => return Ok(Dataspace::Scalar),
        Some(Value::String(class)) if class == "H5S_NULL" => return Ok(Dataspace::Null),
        Some(Value::String(class)) if class == "H5S_SCALAR" => return Ok(Dataspace::Scalar),
        Some(shape @ Value::Object(_)) => return json_text::dataspace_from_json(shape).map_err(wrong),
        Some(Value::Array(dims)) if dims.is_empty() => return Ok(Dataspace::Scalar),
        Some(dim @ Value::Number(_)) => Value::Array(vec![dim.clone()]),
        Some(shape) => shape.clone(),
    };
    let mut members = vec![("class".into(), "H5S_SIMPLE".into()), ("dims".into(), shape)];
    match body.get("maxdims") {
        None | Some(Value::Null) => {}
        Some(bound @ (Value::Number(_) | Value::String(_))) => {
            members.push(("maxdims".into(), Value::Array(vec![bound.clone()])));
        }
        Some(bounds) => members.push(("maxdims".into(), bounds.clone())),
    }
    json_text::dataspace_from_json(&Value::Object(members)).map_err(wrong)
}

/// Returns the creation properties of a group: HSDS knows one.
pub(super) fn group_create(body: &Value<'_>) -> GroupCreate {
    let order = body.get("creationProperties").and_then(|properties| properties.get("CreateOrder"));
    let is_tracked = match order {
        Some(Value::Bool(truth)) => *truth,
        Some(Value::Number(number)) => number != "0",
        _ => false,
    };
    match is_tracked {
        true => GroupCreate {
            link_order: CreationOrder::Indexed,
            object: ObjectCreate { attribute_order: CreationOrder::Indexed, ..ObjectCreate::default() },
            ..GroupCreate::default()
        },
        false => GroupCreate::default(),
    }
}
