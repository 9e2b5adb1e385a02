//! Objects and links as h5grove describes them.

use hyperslab::vol::model::Dataspace;
use hyperslab::{Attribute, Dataset, Group, Link, LinkTarget, Object, ObjectHandle, Result, filter_names};
use serde_json::{Value, json};

use super::types::describe;
use crate::answer::Failure;
use crate::call::Call;

/// Which links are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkResolution {
    /// Those that lead to an object.
    OnlyValid,
    /// All: one that leads nowhere is a failure.
    All,
    /// None.
    None,
}

impl LinkResolution {
    pub(crate) fn parse(text: Option<&str>) -> std::result::Result<Self, Failure> {
        match text.unwrap_or("only_valid") {
            "only_valid" => Ok(Self::OnlyValid),
            "all" => Ok(Self::All),
            "none" => Ok(Self::None),
            other => Err(Failure::argument(format!(
                "{other} is not a valid value for link resolution. Accepted values are: all, none or only_valid"
            ))),
        }
    }
}

/// Returns the description of an object. Groups come with their children.
pub(crate) fn of_object(name: &str, handle: &ObjectHandle) -> Result<Value> {
    match handle {
        ObjectHandle::Group(group) => group_value(name, group),
        ObjectHandle::Dataset(dataset) => dataset_value(name, dataset),
        ObjectHandle::Datatype(datatype) => {
            let attributes = attributes(datatype)?;
            Ok(json!({
                "kind": "datatype", "name": name, "attributes": attributes, "type": describe(&datatype.datatype()?)
            }))
        }
        ObjectHandle::Map(map) => {
            Ok(json!({ "kind": "other", "name": name, "attributes": attributes(map)? }))
        }
    }
}

/// Returns the description of a group with its children, one level of them.
pub(crate) fn of_group(
    call: &Call<'_>,
    name: &str,
    group: &Group,
    resolution: LinkResolution,
) -> std::result::Result<Value, Failure> {
    let mut value = group_value(name, group)?;
    let mut children = Vec::new();
    for link in group.links()? {
        call.check_cancelled()?;
        children.push(of_child(group, &link, resolution)?);
    }
    value["children"] = children.into();
    Ok(value)
}

fn of_child(group: &Group, link: &Link, resolution: LinkResolution) -> Result<Value> {
    match &link.target {
        LinkTarget::Hard(_) => of_object(&link.name, &group.object(&link.name)?),
        _ if resolution == LinkResolution::None => Ok(of_link(link)),
        _ => match group.object(&link.name) {
            Ok(handle) => of_object(&link.name, &handle),
            Err(_) => Ok(of_link(link)),
        },
    }
}

/// Returns the description of a link that is not followed.
pub(crate) fn of_link(link: &Link) -> Value {
    match &link.target {
        LinkTarget::Soft(path) => json!({ "kind": "soft_link", "name": link.name, "target_path": path }),
        LinkTarget::External { file, path } => {
            json!({ "kind": "external_link", "name": link.name, "target_file": file, "target_path": path })
        }
        LinkTarget::Hard(_) | LinkTarget::User { .. } => json!({ "kind": "other", "name": link.name }),
    }
}

fn group_value(name: &str, group: &Group) -> Result<Value> {
    Ok(json!({ "kind": "group", "name": name, "attributes": attributes(group)? }))
}

fn dataset_value(name: &str, dataset: &Dataset) -> Result<Value> {
    let info = dataset.dataset_info();
    Ok(json!({
        "kind": "dataset",
        "name": name,
        "attributes": attributes(dataset)?,
        "shape": shape(&info.space),
        "type": describe(&info.datatype),
        "chunks": dataset.chunk(),
        "filters": filters(dataset),
    }))
}

/// Returns the filters of a dataset; `null` without any.
pub(crate) fn filters(dataset: &Dataset) -> Value {
    let named = |id: u16, name: Option<String>| {
        let name = filter_names::name(id).map(str::to_owned).or(name).unwrap_or_default();
        json!({ "id": id, "name": name })
    };
    let filters: Vec<Value> =
        dataset.filters().into_iter().map(|filter| named(filter.id, filter.name)).collect();
    if filters.is_empty() { Value::Null } else { filters.into() }
}

fn attributes(object: &Object) -> Result<Vec<Value>> {
    Ok(object.attrs()?.iter().map(attribute).collect())
}

fn attribute(attribute: &Attribute) -> Value {
    let info = attribute.info();
    json!({ "name": info.name, "shape": shape(&info.space), "type": describe(&info.datatype) })
}

/// Returns the extent; `null` of a null dataspace.
fn shape(space: &Dataspace) -> Value {
    match space {
        Dataspace::Null => Value::Null,
        _ => space.dims().into(),
    }
}
