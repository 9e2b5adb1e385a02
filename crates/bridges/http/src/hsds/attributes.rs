//! Attributes of objects.

use axum::http::StatusCode;
use hyperslab::vol::Access;
use hyperslab::vol::OpAttributeCreate;
use hyperslab::vol::algorithms::transfer;
use hyperslab::vol::model::convert::Conversions;
use hyperslab::vol::model::{CharacterSet, Dataspace, Heap};
use hyperslab::{Attribute, Object};
use json_text::text::Value;
use serde_json::json;

use super::call::{Domain, HsdsCall};
use super::creation::datatype;
use super::form::{Encoding, Form, JsonReader};
use super::types::{describe, standard};
use super::{properties, service};
use crate::answer::{Answer, Failure};
use crate::call::Outcome;
use crate::elements::json_text::{JsonFields, JsonText};
use crate::elements::nesting::{Nesting, write_empty};

/// `/groups/ID/attributes` and `/groups/ID/attributes/NAME`, and the same of other collections.
pub(super) fn answer(call: &HsdsCall<'_>, (collection, id): (&str, &str), name: &[&str]) -> Outcome {
    let name = name.join("/");
    match (call.request.method.as_str(), name.as_str()) {
        ("GET", "") => list(call, collection, id),
        ("PUT", "") => put_many(call, collection, id),
        ("DELETE", "") => delete_many(call, collection, id),
        ("GET", name) => get(call, (collection, id), name),
        ("PUT", name) => put(call, (collection, id), name),
        ("DELETE", name) => delete(call, (collection, id), &[name]),
        _ => Err(service::not_allowed()),
    }
}

/// Writes what an attribute is. When it was made is not recorded: 0 is before anything that a client remembers.
fn write_fields(attribute: &Attribute, fields: &mut JsonFields<'_>) -> Result<(), Failure> {
    let info = attribute.info();
    fields.put("type", &describe(&standard(&info.datatype)))?;
    fields.put("shape", &properties::shape(&info.space))?;
    fields.put("created", &0.into())
}

fn write_value(domain: &Domain, attribute: &Attribute, out: &mut JsonText) -> Result<(), Failure> {
    let info = attribute.info();
    if matches!(info.space, Dataspace::Null) {
        return out.push(b"null");
    }
    let dims = info.space.dims();
    if info.space.element_count()? == 0 {
        return write_empty(dims, out);
    }
    let (form, mut heap) = (Form::new(&info.datatype, Encoding::Json), Heap::new());
    let elements = attribute.read_bytes(&form.memory, &mut heap)?;
    form.write_json_all(domain, &elements, &heap, &mut Nesting::new(dims), out)
}

/// Writes all attributes of an object, by name.
pub(super) fn write_by_name(domain: &Domain, object: &Object, out: &mut JsonText) -> Result<(), Failure> {
    let mut all = JsonFields::begin(out)?;
    for attribute in object.attrs()? {
        let mut one = JsonFields::begin(all.name(attribute.name())?)?;
        write_fields(&attribute, &mut one)?;
        write_value(domain, &attribute, one.name("value")?)?;
        one.end()?;
    }
    all.end()
}

fn list(call: &HsdsCall<'_>, collection: &str, id: &str) -> Outcome {
    let domain = call.open(Access::Read)?;
    let object = domain.object_in(collection, id)?;
    let with_values = call.query().is_true("IncludeData");
    let reading = call.reading(&domain);
    let mut out = JsonText::new(&reading);
    out.push(b"{\"attributes\":[")?;
    for (at, attribute) in object.object().attrs()?.iter().enumerate() {
        reading.check_cancelled()?;
        out.push(if at > 0 { b"," } else { b"" })?;
        write_named(&domain, attribute, with_values, &mut out)?;
    }
    out.push(b"],\"hrefs\":[]}")?;
    Ok(out.into_answer())
}

fn write_named(
    domain: &Domain,
    attribute: &Attribute,
    with_value: bool,
    out: &mut JsonText,
) -> Result<(), Failure> {
    let mut fields = JsonFields::begin(out)?;
    fields.put("name", &attribute.name().into())?;
    write_fields(attribute, &mut fields)?;
    if with_value {
        write_value(domain, attribute, fields.name("value")?)?;
    }
    fields.end()
}

fn get(call: &HsdsCall<'_>, (collection, id): (&str, &str), name: &str) -> Outcome {
    let domain = call.open(Access::Read)?;
    let attribute = domain.object_in(collection, id)?.object().attr(name)?;
    let with_value = call.query().get("IncludeData").is_none_or(|_| call.query().is_true("IncludeData"));
    let mut out = JsonText::new(&call.reading(&domain));
    write_named(&domain, &attribute, with_value, &mut out)?;
    Ok(out.into_answer())
}

/// Writes attributes of many objects: `{obj_ids: {ID: {attributes: {NAME: …}}}}`, or of one: `{attributes: {NAME: …}}`.
fn put_many(call: &HsdsCall<'_>, collection: &str, id: &str) -> Outcome {
    let domain = call.open(Access::Write)?;
    let wrong = |error: hyperslab::Error| Failure::malformed(error.to_string());
    call.request.json(|body| {
        let write_all = |object: &Object, value: &Value<'_>| -> Result<(), Failure> {
            let attributes = value.need("attributes").and_then(Value::members).map_err(wrong)?;
            attributes.iter().try_for_each(|(name, value)| write(call, &domain, object, name, value))
        };
        match body.get("obj_ids") {
            Some(objects) => {
                let objects = objects.members().map_err(wrong)?;
                objects.iter().try_for_each(|(id, value)| write_all(domain.object(id)?.object(), value))
            }
            None => write_all(domain.object_in(collection, id)?.object(), body),
        }
    })?;
    domain.commit()?;
    Ok(Answer::json(&json!({ "hrefs": [] })).with_status(StatusCode::CREATED))
}

fn put(call: &HsdsCall<'_>, (collection, id): (&str, &str), name: &str) -> Outcome {
    let domain = call.open(Access::Write)?;
    let object = domain.object_in(collection, id)?;
    call.request.json(|body| write(call, &domain, object.object(), name, body))?;
    domain.commit()?;
    Ok(Answer::json(&json!({ "hrefs": [] })).with_status(StatusCode::CREATED))
}

/// Writes an attribute. One of the same name is replaced, after everything about the new one was understood.
fn write(
    call: &HsdsCall<'_>,
    domain: &Domain,
    object: &Object,
    name: &str,
    body: &Value<'_>,
) -> Result<(), Failure> {
    let (datatype, committed) = datatype(domain, body)?;
    let space = properties::space(body)?;
    let form = Form::new(&datatype, Encoding::Json);
    let mut reader = JsonReader::new(domain, call.shared.limits.write_bytes_max);
    let mut elements = Vec::new();
    match body.get("value") {
        None | Some(Value::Null) => {}
        Some(value) if !matches!(space, Dataspace::Null) => {
            form.read_json_all(&mut reader, value, space.dims(), &mut elements)?;
        }
        Some(_) => return Err(Failure::malformed("An attribute without elements has no value")),
    }
    let container = object.container().as_ref();
    if container.attribute_info(object.token(), name)?.is_some() {
        object.delete_attr(name)?;
    }
    let charset = if name.is_ascii() { CharacterSet::Ascii } else { CharacterSet::Utf8 };
    let stored = datatype.with_descriptors(&container.info()?.descriptors);
    let (object, name) = (object.token(), name.to_owned());
    let op = OpAttributeCreate { object, name: name.clone(), charset, datatype, committed, space };
    container.attribute_create(&op)?;
    if elements.is_empty() {
        return Ok(());
    }
    let (conversions, heap) = (Conversions::default(), &mut reader.heap);
    let raw = transfer::to_file_type(container, &form.memory, &elements, &stored, &conversions, heap)?;
    Ok(container.attribute_write(object, &name, &raw)?)
}

/// `attr_names=a|b&separator=|`; the separator is a slash where none is said.
fn delete_many(call: &HsdsCall<'_>, collection: &str, id: &str) -> Outcome {
    let names = call.query().get("attr_names").ok_or_else(|| Failure::malformed("attr_names is missing"))?;
    let separator = call.query().get("separator").filter(|text| !text.is_empty()).unwrap_or("/");
    let names: Vec<&str> = names.split(separator).filter(|name| !name.is_empty()).collect();
    delete(call, (collection, id), &names)
}

fn delete(call: &HsdsCall<'_>, (collection, id): (&str, &str), names: &[&str]) -> Outcome {
    let domain = call.open(Access::Write)?;
    let object = domain.object_in(collection, id)?;
    for name in names {
        object.object().attr(name)?;
    }
    names.iter().try_for_each(|name| object.object().delete_attr(name))?;
    domain.commit()?;
    Ok(Answer::json(&json!({ "hrefs": [] })))
}
