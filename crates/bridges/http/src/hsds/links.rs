//! Links of groups.

use axum::http::StatusCode;
use hyperslab::vol::{Access, LinkLocation, OpLinkCreate};
use hyperslab::{Group, Link, LinkTarget};
use json_text::text::Value;
use serde_json::{Map, Value as Json, json};

use super::call::{Domain, HsdsCall};
use super::{ids, service};
use crate::answer::{Answer, Failure};
use crate::call::Outcome;

/// Links of one request or answer.
const LINKS_MAX: u64 = 1_000_000;

/// `/groups/ID/links` and `/groups/ID/links/TITLE`.
pub(super) fn answer(call: &HsdsCall<'_>, id: &str, title: &[&str]) -> Outcome {
    match (call.request.method.as_str(), title) {
        ("GET", []) => list(call, id),
        ("PUT", []) => put_many(call, id),
        ("DELETE", []) => delete_many(call, id),
        ("GET", [title]) => get(call, id, title),
        ("PUT", [title]) => put(call, id, title),
        ("DELETE", [title]) => delete(call, id, &[title]),
        _ => Err(service::not_allowed()),
    }
}

/// Returns what a link is. When it was made is not recorded: 0 is before anything that a client remembers.
fn describe(domain: &Domain, link: &Link) -> Result<Map<String, Json>, Failure> {
    let fields = match &link.target {
        LinkTarget::Hard(token) => {
            let kind = domain.container.file.container().object_info(*token)?.kind;
            let id = domain.id(kind, *token);
            json!({ "class": "H5L_TYPE_HARD", "id": id, "collection": ids::collection(kind) })
        }
        LinkTarget::Soft(path) => json!({ "class": "H5L_TYPE_SOFT", "h5path": path }),
        LinkTarget::External { file, path } => {
            json!({ "class": "H5L_TYPE_EXTERNAL", "h5path": path, "h5domain": file, "file": file })
        }
        LinkTarget::User { .. } => json!({ "class": "H5L_TYPE_USER_DEFINED" }),
    };
    let Json::Object(mut fields) = fields else { return Ok(Map::new()) };
    fields.insert("created".to_owned(), 0.into());
    Ok(fields)
}

fn links_of(group: &Group) -> Result<Vec<Link>, Failure> {
    let count = group.group_info()?.links;
    if count > LINKS_MAX {
        return Err(Failure::new(StatusCode::PAYLOAD_TOO_LARGE, format!("The group has {count} links")));
    }
    Ok(group.links()?)
}

/// Returns the links of a group by their titles.
pub(super) fn by_title(domain: &Domain, group: &Group) -> Result<Json, Failure> {
    let one = |link: Link| Ok((link.name.clone(), describe(domain, &link)?.into()));
    let links = links_of(group)?.into_iter().map(one).collect::<Result<Map<String, Json>, Failure>>()?;
    Ok(links.into())
}

fn titled(domain: &Domain, link: &Link) -> Result<Json, Failure> {
    let mut fields = describe(domain, link)?;
    fields.insert("title".to_owned(), link.name.clone().into());
    Ok(fields.into())
}

/// The parameters `Limit` and `Marker` page through long listings.
fn list(call: &HsdsCall<'_>, id: &str) -> Outcome {
    let domain = call.open(Access::Read)?;
    let links = links_of(&domain.group(id)?)?;
    let limit = call.query().number("Limit", LINKS_MAX, LINKS_MAX)? as usize;
    let after = match call.query().get("Marker") {
        Some(marker) => links.iter().position(|link| link.name == marker).map_or(0, |at| at + 1),
        None => 0,
    };
    let page = links.iter().skip(after).take(limit).map(|link| titled(&domain, link));
    let page = page.collect::<Result<Vec<Json>, Failure>>()?;
    Ok(Answer::json(&json!({ "links": page, "hrefs": [] })))
}

fn get(call: &HsdsCall<'_>, id: &str, title: &str) -> Outcome {
    let domain = call.open(Access::Read)?;
    let link = domain.group(id)?.link(title)?;
    Ok(Answer::json(
        &json!({ "link": titled(&domain, &link)?, "lastModified": 0, "created": 0, "hrefs": [] }),
    ))
}

/// Creates links of many groups: `{grp_ids: {ID: {links: {TITLE: …}}}}`, or of one: `{links: {TITLE: …}}`.
fn put_many(call: &HsdsCall<'_>, id: &str) -> Outcome {
    let domain = call.open(Access::Write)?;
    let wrong = |error: hyperslab::Error| Failure::malformed(error.to_string());
    call.request.json(|body| {
        let links_in = |id: &str, group: &Value<'_>| -> Result<(), Failure> {
            let group_handle = domain.group(id)?;
            let links = group.need("links").and_then(Value::members).map_err(wrong)?;
            links.iter().try_for_each(|(title, link)| create(&domain, &group_handle, title, link))
        };
        match body.get("grp_ids") {
            Some(groups) => {
                let groups = groups.members().map_err(wrong)?;
                groups.iter().try_for_each(|(id, group)| links_in(id, group))
            }
            None => links_in(id, body),
        }
    })?;
    domain.commit()?;
    Ok(Answer::json(&json!({ "hrefs": [] })).with_status(StatusCode::CREATED))
}

fn put(call: &HsdsCall<'_>, id: &str, title: &str) -> Outcome {
    let domain = call.open(Access::Write)?;
    let group = domain.group(id)?;
    call.request.json(|body| create(&domain, &group, title, body))?;
    domain.commit()?;
    Ok(Answer::json(&json!({ "hrefs": [] })).with_status(StatusCode::CREATED))
}

/// Creates a link. One that is there already and leads to the same stays.
fn create(domain: &Domain, group: &Group, title: &str, link: &Value<'_>) -> Result<(), Failure> {
    if title.is_empty() || title == "." || title.contains('/') {
        return Err(Failure::malformed(format!("{title:?} is not a title of a link")));
    }
    let target = target(domain, link)?;
    match group.container().link_get(group.token(), title)? {
        Some(known) if known.target == target => return Ok(()),
        Some(_) => return Err(Failure::new(StatusCode::CONFLICT, format!("There is a link {title}"))),
        None => {}
    }
    let place = LinkLocation::new(group.token(), title);
    group.container().link_create(&OpLinkCreate { place, target: target.clone() })?;
    if let LinkTarget::Hard(token) = target {
        domain.ids.release(token);
    }
    Ok(())
}

fn target(domain: &Domain, link: &Value<'_>) -> Result<LinkTarget, Failure> {
    let text = |name: &str| match link.get(name) {
        Some(Value::String(text)) => Some(text.as_ref()),
        _ => None,
    };
    match (text("id"), text("h5path"), text("h5domain").or(text("file"))) {
        (Some(id), None, None) => Ok(LinkTarget::Hard(domain.object(id)?.object().token())),
        (None, Some(path), None) => Ok(LinkTarget::Soft(path.to_owned())),
        (None, Some(path), Some(file)) => {
            Ok(LinkTarget::External { file: file.to_owned(), path: path.to_owned() })
        }
        _ => Err(Failure::malformed("A link has an id, or a h5path, or a h5path and a h5domain")),
    }
}

/// `titles=a/b`: titles have no slashes.
fn delete_many(call: &HsdsCall<'_>, id: &str) -> Outcome {
    let titles = call.query().get("titles").ok_or_else(|| Failure::malformed("titles is missing"))?;
    let separator = call.query().get("separator").filter(|text| !text.is_empty()).unwrap_or("/");
    let titles: Vec<&str> = titles.split(separator).filter(|title| !title.is_empty()).collect();
    delete(call, id, &titles)
}

fn delete(call: &HsdsCall<'_>, id: &str, titles: &[&str]) -> Outcome {
    let domain = call.open(Access::Write)?;
    let group = domain.group(id)?;
    if let Some(missing) = titles.iter().find(|title| !group.link_exists(title)) {
        return Err(Failure::missing(format!("There is no link {missing}")));
    }
    titles.iter().try_for_each(|title| group.container().link_delete(group.token(), title))?;
    domain.commit()?;
    Ok(Answer::json(&json!({ "hrefs": [] })))
}
