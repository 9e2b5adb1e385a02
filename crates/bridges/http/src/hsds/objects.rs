//! Groups, datasets and committed datatypes.

use std::ops::ControlFlow;

use axum::http::StatusCode;
use hyperslab::vol::Access;
use hyperslab::vol::model::Token;
use hyperslab::{LinkTarget, ObjectHandle};
use serde_json::{Value, json};

use super::call::{Domain, HsdsCall};
use super::types::{describe, standard};
use super::{attributes, links, properties};
use crate::answer::{Answer, Failure};
use crate::call::Outcome;
use crate::elements::json_text::{JsonFields, JsonText};

/// `GET /groups/ID`, and the same of other collections.
pub(super) fn get(call: &HsdsCall<'_>, collection: &str, id: &str) -> Outcome {
    let domain = call.open(Access::Read)?;
    let handle = domain.object_in(collection, id)?;
    let mut out = JsonText::new(&call.reading(&domain));
    write(call, &domain, &handle, &mut out)?;
    Ok(out.into_answer())
}

fn write(
    call: &HsdsCall<'_>,
    domain: &Domain,
    handle: &ObjectHandle,
    out: &mut JsonText,
) -> Result<(), Failure> {
    let mut fields = JsonFields::begin(out)?;
    for (name, value) in summary(domain, handle)? {
        fields.put(name, &value)?;
    }
    if call.query().is_true("include_links")
        && let ObjectHandle::Group(group) = handle
    {
        fields.put("links", &links::by_title(domain, group)?)?;
    }
    if call.query().is_true("include_attrs") {
        attributes::write_by_name(domain, handle.object(), fields.name("attributes")?)?;
    }
    fields.put("domain", &format!("/{}", domain.container.name).into())?;
    fields.put("hrefs", &json!([]))?;
    fields.end()
}

/// Returns the fields that describe an object.
pub(super) fn summary(domain: &Domain, handle: &ObjectHandle) -> Result<Vec<(&'static str, Value)>, Failure> {
    let info = handle.object().info()?;
    let times = info.times.unwrap_or_default();
    let mut fields = vec![
        ("id", domain.id(info.kind, info.token).into()),
        ("root", domain.ids.root().into()),
        ("created", times.birth.into()),
        ("lastModified", times.modification.max(times.change).into()),
        ("attributeCount", info.attributes.into()),
    ];
    match handle {
        ObjectHandle::Group(group) => fields.push(("linkCount", group.group_info()?.links.into())),
        ObjectHandle::Dataset(dataset) => {
            let info = dataset.dataset_info();
            fields.push(("shape", properties::shape(&info.space)));
            fields.push(("type", describe(&standard(&info.datatype))));
            fields.push(("creationProperties", properties::of_dataset(domain, dataset)?));
        }
        ObjectHandle::Datatype(datatype) => {
            fields.push(("type", describe(&standard(&datatype.datatype()?))));
        }
        ObjectHandle::Map(_) => {}
    }
    Ok(fields)
}

/// `GET /groups`, and the same of other collections: identifiers of all objects that links lead to.
pub(super) fn list(call: &HsdsCall<'_>, collection: &str) -> Outcome {
    let domain = call.open(Access::Read)?;
    let (reading, mut ids, mut seen) = (call.reading(&domain), Vec::new(), 0);
    domain.container.file.visit(|visit| {
        reading.check_cancelled()?;
        seen += 1;
        if let (Some(object), Some(kind), false) = (visit.object, visit.kind, visit.again)
            && super::ids::collection(kind) == collection
        {
            ids.push(domain.id(kind, object.token()));
        }
        Ok(match seen < call.shared.limits.search_objects_max {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        })
    })?;
    Ok(Answer::json(&json!({ collection: ids, "hrefs": [] })))
}

/// `DELETE /groups/ID`, and the same of other collections: an object and all links to it.
pub(super) fn delete(call: &HsdsCall<'_>, collection: &str, id: &str) -> Outcome {
    let domain = call.open(Access::Write)?;
    let handle = match domain.object_in(collection, id) {
        // An object goes with its last link: those who remove both are told that it is gone.
        Err(failure) if failure.status == StatusCode::NOT_FOUND => {
            return Err(Failure { status: StatusCode::GONE, ..failure });
        }
        found => found?,
    };
    let token = handle.object().token();
    if token == domain.container.file.token() {
        return Err(Failure::new(StatusCode::FORBIDDEN, "The root group stays: delete the domain"));
    }
    for (group, title) in links_to(call, &domain, token)? {
        domain.container.file.container().link_delete(group, &title)?;
    }
    domain.ids.release(token);
    drop(handle);
    domain.commit()?;
    Ok(Answer::json(&json!({ "hrefs": [] })))
}

/// Returns all hard links to an object.
fn links_to(call: &HsdsCall<'_>, domain: &Domain, token: Token) -> Result<Vec<(Token, String)>, Failure> {
    let (reading, mut found, mut groups) = (call.reading(domain), Vec::new(), 0);
    let mut pending = vec![domain.container.file.token()];
    let mut seen = std::collections::HashSet::from([domain.container.file.token()]);
    while let Some(group) = pending.pop() {
        reading.check_cancelled()?;
        groups += 1;
        if groups > call.shared.limits.search_objects_max {
            return Err(Failure::new(StatusCode::PAYLOAD_TOO_LARGE, "There are too many groups to look at"));
        }
        for (title, target, is_group) in hard_links(domain, group)? {
            if target == token {
                found.push((group, title));
            }
            if is_group && seen.insert(target) {
                pending.push(target);
            }
        }
    }
    Ok(found)
}

/// Returns the hard links of a group: title, target, and whether that is a group.
fn hard_links(domain: &Domain, group: Token) -> Result<Vec<(String, Token, bool)>, Failure> {
    use hyperslab::vol::model::{ObjectKind, Reference};
    let ObjectHandle::Group(group) = domain.container.file.dereference(&Reference::object(group))? else {
        return Ok(Vec::new());
    };
    let links = group.links()?.into_iter().filter_map(|link| match link.target {
        LinkTarget::Hard(token) => Some((link.name, token)),
        _ => None,
    });
    let links: Vec<(String, Token)> = links.collect();
    let tokens: Vec<Token> = links.iter().map(|(_, token)| *token).collect();
    let kinds = group.container().object_kinds(&tokens)?;
    let is_group = kinds.into_iter().map(|kind| kind == ObjectKind::Group);
    Ok(links.into_iter().zip(is_group).map(|((title, token), is_group)| (title, token, is_group)).collect())
}
