//! `POST /groups`, `/datasets` and `/datatypes`: new objects, one or many with one request.

use axum::http::StatusCode;
use hyperslab::vol::model::properties::ObjectCreate;
use hyperslab::vol::model::{Limits, Reference, Token};
use hyperslab::vol::{Access, LinkLocation, OpDatasetCreate, OpDatatypeCommit, OpGroupCreate};
use hyperslab::{Datatype, ObjectHandle};
use json_text::text::Value;
use serde_json::{Map, Value as Json, json};

use super::call::{Domain, HsdsCall};
use super::ids;
use super::objects::summary;
use super::properties::{DatasetRequest, group_create};
use super::select::Selected;
use super::writes::write_json;
use crate::answer::{Answer, Failure};
use crate::call::Outcome;

/// Objects of one request.
const OBJECTS_MAX: usize = 10_000;

/// Creates objects. A list of them is answered with `objects`.
pub(super) fn post(call: &HsdsCall<'_>, collection: &str) -> Outcome {
    let domain = call.open(Access::Write)?;
    let answer = call.request.json(|body| match body {
        Value::Array(items) if items.len() > OBJECTS_MAX => {
            let message = format!("A request creates {OBJECTS_MAX} objects at most");
            Err(Failure::new(StatusCode::PAYLOAD_TOO_LARGE, message))
        }
        Value::Array(items) => {
            let created = items.iter().map(|item| create(call, &domain, collection, item));
            let created = created.collect::<Result<Vec<Json>, Failure>>()?;
            Ok(match <[Json; 1]>::try_from(created) {
                Ok([single]) => single,
                Err(many) => json!({ "objects": many }),
            })
        }
        item => create(call, &domain, collection, item),
    })?;
    domain.commit()?;
    Ok(Answer::json(&answer).with_status(StatusCode::CREATED))
}

fn create(call: &HsdsCall<'_>, domain: &Domain, collection: &str, item: &Value<'_>) -> Result<Json, Failure> {
    let brought = brought(domain, collection, item)?;
    let place = place(domain, item)?;
    let is_linked = place.is_some();
    let container = domain.container.file.container();
    let token = match collection {
        "groups" => container.group_create(&OpGroupCreate { place, create: group_create(item) })?,
        "datatypes" => {
            let (datatype, _) = datatype(domain, item)?;
            let create = ObjectCreate::default();
            container.datatype_commit(&OpDatatypeCommit { place, datatype, create })?
        }
        _ => create_dataset(call, domain, place, item)?,
    };
    let handle = domain.container.file.dereference(&Reference::object(token))?;
    if let ObjectHandle::Dataset(dataset) = &handle
        && let Some(value) = item.get("value").filter(|value| **value != Value::Null)
    {
        let info = dataset.dataset_info();
        let all = Selected::all(info.space.dims());
        write_json(call, domain, dataset, &all, &info.datatype, value)?;
    }
    let mut fields: Map<String, Json> =
        summary(domain, &handle)?.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    match brought {
        Some((id, number)) => {
            fields.insert("id".to_owned(), id.into());
            domain.ids.bring(number, handle);
        }
        None if !is_linked => domain.ids.keep(handle),
        None => {}
    }
    Ok(fields.into())
}

/// Returns the identifier that a client brought for an object.
fn brought(domain: &Domain, collection: &str, item: &Value<'_>) -> Result<Option<(String, u128)>, Failure> {
    let Some(id) = item.get("id") else { return Ok(None) };
    let wrong = || Failure::malformed(format!("The identifier is not one for {collection}"));
    let Value::String(id) = id else { return Err(wrong()) };
    let (kind, number) = ids::parse(id).ok_or_else(wrong)?;
    if ids::collection(kind) != collection {
        return Err(wrong());
    }
    if domain.ids.is_brought(number) || domain.object(id).is_ok() {
        return Err(Failure::new(StatusCode::CONFLICT, format!("There is an object {id}")));
    }
    Ok(Some((id.to_string(), number)))
}

/// Returns where an object is linked: `link: {id, name}`.
fn place(domain: &Domain, item: &Value<'_>) -> Result<Option<LinkLocation>, Failure> {
    let Some(link) = item.get("link") else { return Ok(None) };
    let text = |name: &str| match link.get(name) {
        Some(Value::String(text)) => Ok(text.as_ref()),
        _ => Err(Failure::malformed("A link has an id and a name")),
    };
    let (group, name) = (domain.group(text("id")?)?, text("name")?);
    if group.link_exists(name) {
        return Err(Failure::new(StatusCode::CONFLICT, format!("There is a link {name}")));
    }
    Ok(Some(LinkLocation::new(group.token(), name)))
}

fn create_dataset(
    call: &HsdsCall<'_>,
    domain: &Domain,
    place: Option<LinkLocation>,
    item: &Value<'_>,
) -> Result<Token, Failure> {
    let (datatype, committed) = datatype(domain, item)?;
    let DatasetRequest { space, create } = DatasetRequest::parse(call, domain, item, &datatype)?;
    let op = OpDatasetCreate { place, datatype, committed, space, create };
    Ok(domain.container.file.container().dataset_create(&op)?)
}

/// Returns the type that JSON says, and the committed one that it is.
pub(super) fn datatype(domain: &Domain, item: &Value<'_>) -> Result<(Datatype, Option<Token>), Failure> {
    let wrong = |error: hyperslab::Error| Failure::malformed(error.to_string());
    let value = item.get("type").ok_or_else(|| Failure::malformed("The type is missing"))?;
    let id = match value {
        Value::String(text) => ids::parse(text.rsplit('/').next().unwrap_or(text)).map(|_| text.as_ref()),
        Value::Object(_) => match value.get("id") {
            Some(Value::String(id)) => Some(id.as_ref()),
            _ => None,
        },
        _ => None,
    };
    match id {
        Some(id) => match domain.object(id.rsplit('/').next().unwrap_or(id))? {
            ObjectHandle::Datatype(committed) => Ok((committed.datatype()?, Some(committed.token()))),
            _ => Err(Failure::malformed(format!("{id} is not a committed datatype"))),
        },
        None => Ok((json_text::datatype_from_json(value, &Limits::default()).map_err(wrong)?, None)),
    }
}
