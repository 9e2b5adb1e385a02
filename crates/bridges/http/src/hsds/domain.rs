//! Domains: containers and folders under the root.

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use axum::http::StatusCode;
use hyperslab::vol::Access;
use hyperslab::vol::model::properties::FileCreate;
use hyperslab::{Error, Kind};
use json_text::text::Value;
use serde_json::{Value as Json, json};
use server::names;

use super::call::{Domain, HsdsCall, refused};
use super::properties::group_create;
use crate::answer::{Answer, Failure};
use crate::call::Outcome;

/// The version of HSDS whose interface this is.
const INTERFACE_VERSION: &str = "1.0.2";
/// Entries of a folder in one answer.
const ENTRIES_MAX: u64 = 10_000;

/// `GET /about` and `/info`.
pub(super) fn about(call: &HsdsCall<'_>) -> Outcome {
    Ok(Answer::json(&json!({
        "name": "Hyperslab",
        "greeting": "Welcome to Hyperslab!",
        "about": "HDF5 containers over HTTP, with HSDS's interface",
        "state": "READY",
        "hsds_version": INTERFACE_VERSION,
        "hyperslab_version": env!("CARGO_PKG_VERSION"),
        "start_time": call.shared.started,
        "node_count": 1,
        "username": call.who.name,
        "isadmin": false,
    })))
}

/// `GET /?domain=…`: a container or a folder.
pub(super) fn get(call: &HsdsCall<'_>) -> Outcome {
    match folder(call, call.domain_name()?)? {
        Some(path) => Ok(Answer::json(&folder_value(call, &path))),
        None => {
            let domain = call.open(Access::Read)?;
            Ok(Answer::json(&domain_value(call, &domain)))
        }
    }
}

fn domain_value(call: &HsdsCall<'_>, domain: &Domain) -> Json {
    let modified = domain.container.modified();
    let bytes = domain.container.bytes();
    json!({
        "root": domain.ids.root(),
        "class": "domain",
        "owner": call.who.name,
        "created": modified,
        "lastModified": modified,
        "limits": {
            "min_chunk_size": 1,
            "max_chunk_size": u32::MAX,
            "max_request_size": call.shared.limits.write_bytes_max,
        },
        "compressors": ["gzip", "deflate", "lzf", "lz4", "zstd"],
        "version": INTERFACE_VERSION,
        "total_size": bytes,
        "allocated_bytes": bytes,
        "hrefs": [],
    })
}

fn folder_value(call: &HsdsCall<'_>, path: &Path) -> Json {
    let modified = modified(path);
    json!({
        "class": "folder", "owner": call.who.name, "created": modified, "lastModified": modified, "hrefs": []
    })
}

fn modified(path: &Path) -> f64 {
    let time = std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    time.and_then(|time| time.duration_since(UNIX_EPOCH).ok()).map_or(0.0, |time| time.as_secs_f64())
}

/// Returns the folder that a domain is, if it is one that is not itself a container.
fn folder(call: &HsdsCall<'_>, name: &str) -> Result<Option<PathBuf>, Failure> {
    let Some(root) = call.shared.containers.root() else { return Ok(None) };
    let name = name.trim_end_matches('/');
    if name.is_empty() {
        return Ok(Some(root.to_owned()));
    }
    let location = call.shared.containers.location(call.who, name, Access::Read).map_err(refused)?;
    let path = names::under(root, name).map_err(refused)?.path;
    let is_folder = path.is_dir() && !call.shared.containers.is_container(&location);
    Ok(is_folder.then_some(path))
}

/// `PUT /?domain=…`: creates a container or a folder, or makes all changes durable.
pub(super) fn put(call: &HsdsCall<'_>) -> Outcome {
    let name = call.domain_name()?.trim_end_matches('/');
    if call.query().is_true("flush") {
        call.open(Access::Write)?.commit()?;
        return Ok(Answer::new("text/plain", "").with_status(StatusCode::NO_CONTENT));
    }
    let (is_folder, create) = call.request.json(|body| {
        let is_folder = match body.get("folder") {
            Some(Value::Bool(truth)) => *truth,
            Some(Value::Number(number)) => number != "0",
            _ => false,
        };
        let root = body.get("group").map(group_create).unwrap_or_default();
        if body.get("linked_domain").is_some() || body.get("root_id").is_some() {
            return Err(Failure::malformed("A domain has a root group of its own"));
        }
        Ok((is_folder, FileCreate { root, ..FileCreate::default() }))
    })?;
    let value = if is_folder { create_folder(call, name)? } else { create_container(call, name, &create)? };
    Ok(Answer::json(&value).with_status(StatusCode::CREATED))
}

fn create_container(call: &HsdsCall<'_>, name: &str, create: &FileCreate) -> Result<Json, Failure> {
    check_parent(call, name)?;
    let containers = &call.shared.containers;
    let location = containers.location(call.who, name, Access::Write).map_err(refused)?;
    let container = containers.create(call.who, name, create).map_err(refused)?;
    container.commit()?;
    call.shared.identifiers.forget(&location);
    let domain = Domain::new(container, call.shared.identifiers.domain(&location))?;
    Ok(domain_value(call, &domain))
}

/// A domain is created in a folder that is there.
fn check_parent(call: &HsdsCall<'_>, name: &str) -> Result<(), Failure> {
    let Some(root) = call.shared.containers.root() else {
        return Err(Failure::missing("This server has one container and no domains"));
    };
    let parent = match name.rsplit_once('/') {
        Some((parent, _)) => names::under(root, parent).map_err(refused)?.path,
        None => root.to_owned(),
    };
    if parent.is_dir() { Ok(()) } else { Err(Failure::missing("There is no such folder")) }
}

fn create_folder(call: &HsdsCall<'_>, name: &str) -> Result<Json, Failure> {
    check_parent(call, name)?;
    let path = folder_path(call, name)?;
    std::fs::create_dir(&path).map_err(|error| refused(io_error("create folder", &error)))?;
    Ok(folder_value(call, &path))
}

/// Returns the path of a folder that the caller may change.
fn folder_path(call: &HsdsCall<'_>, name: &str) -> Result<PathBuf, Failure> {
    let containers = &call.shared.containers;
    containers.location(call.who, name, Access::Write).map_err(refused)?;
    let root = containers.root().ok_or_else(|| Failure::missing("There is no root folder"))?;
    Ok(names::under(root, name).map_err(refused)?.path)
}

/// Returns an error without the path on this machine.
fn io_error(what: &'static str, error: &std::io::Error) -> Error {
    match error.kind() {
        std::io::ErrorKind::AlreadyExists => Error::new(Kind::Exists, what),
        std::io::ErrorKind::NotFound => Error::not_found(what),
        _ => Error::io(what, error),
    }
}

/// `DELETE /?domain=…`: removes a container, or a folder that is empty.
pub(super) fn delete(call: &HsdsCall<'_>) -> Outcome {
    let name = call.domain_name()?.trim_end_matches('/');
    let containers = &call.shared.containers;
    match folder(call, name)? {
        Some(_) if name.is_empty() => Err(Failure::new(StatusCode::FORBIDDEN, "The root stays")),
        Some(_) => {
            let path = folder_path(call, name)?;
            let not_empty = |error: std::io::Error| match error.kind() {
                std::io::ErrorKind::DirectoryNotEmpty => {
                    Failure::new(StatusCode::CONFLICT, "The folder is not empty")
                }
                _ => refused(io_error("remove folder", &error)),
            };
            std::fs::remove_dir(&path).map_err(not_empty)?;
            Ok(Answer::json(&Json::Null))
        }
        None => {
            let location = containers.location(call.who, name, Access::Write).map_err(refused)?;
            // Objects without links keep their file open.
            call.shared.identifiers.forget(&location);
            containers.delete(call.who, name).map_err(refused)?;
            Ok(Answer::json(&Json::Null))
        }
    }
}

/// `GET /domains?domain=FOLDER/`: what a folder contains, sorted by name. `Limit` and `Marker` page through it.
pub(super) fn list(call: &HsdsCall<'_>) -> Outcome {
    let name = call.request.domain.as_deref().unwrap_or_default().trim_end_matches('/');
    let path = folder(call, name)?.ok_or_else(|| Failure::missing("There is no such folder"))?;
    let entries = std::fs::read_dir(&path).map_err(|error| refused(io_error("list folder", &error)))?;
    let prefix = if name.is_empty() { String::new() } else { format!("{name}/") };
    let found = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut found: Vec<String> = found.map(|entry| format!("{prefix}{entry}")).collect();
    found.sort_unstable();
    let limit = call.query().number("Limit", ENTRIES_MAX, ENTRIES_MAX)? as usize;
    let marker = call.query().get("Marker").map(|marker| marker.trim_start_matches('/'));
    let after = found.into_iter().filter(|entry| marker.is_none_or(|marker| entry.as_str() > marker));
    let domains: Vec<Json> = after.filter_map(|entry| entry_value(call, &entry)).take(limit).collect();
    Ok(Answer::json(&json!({ "domains": domains, "hrefs": [] })))
}

/// Returns an entry of a folder, if it is a container or a folder that the caller may read.
fn entry_value(call: &HsdsCall<'_>, name: &str) -> Option<Json> {
    let containers = &call.shared.containers;
    let location = containers.location(call.who, name, Access::Read).ok()?;
    let path = names::under(containers.root()?, name).ok()?.path;
    let mut value = match containers.is_container(&location) {
        true => {
            let modified = modified(&path);
            let root = call.shared.identifiers.domain(&location).root();
            json!({ "class": "domain", "root": root, "owner": call.who.name, "created": modified, "lastModified": modified })
        }
        false if path.is_dir() => folder_value(call, &path),
        false => return None,
    };
    value["name"] = format!("/{name}").into();
    Some(value)
}
