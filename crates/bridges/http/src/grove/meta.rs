//! `/h5grove/meta`: what an object is, and what is in it.

use hyperslab::{Error, Kind, Link, LinkTarget, ObjectHandle};
use serde_json::Value;

use super::entity::{self, LinkResolution};
use crate::answer::{Answer, Failure};
use crate::call::{Call, Outcome};

/// Answers a request.
pub(crate) fn answer(call: &Call<'_>) -> Outcome {
    let resolution = LinkResolution::parse(call.query.get("resolve_links"))?;
    let (parent, name) = split(call.path());
    let link = if name.is_empty() { None } else { Some(find_link(call, parent, name)?) };
    let value = match link.filter(|link| !matches!(link.target, LinkTarget::Hard(_))) {
        None => of_object(call, name, &call.object()?, resolution)?,
        Some(link) if resolution == LinkResolution::None => entity::of_link(&link),
        Some(link) => match call.container.file.object(call.path()) {
            Ok(handle) => of_object(call, name, &handle, resolution)?,
            Err(error) if resolution == LinkResolution::All => return Err(broken(call, &link, error)),
            Err(_) => entity::of_link(&link),
        },
    };
    Ok(Answer::json(&value))
}

/// Returns the path of the group, and the name in it; the root has no name.
fn split(path: &str) -> (&str, &str) {
    let path = path.trim_end_matches('/');
    match path.rsplit_once('/') {
        Some(("", name)) => ("/", name),
        Some(parts) => parts,
        None => ("/", path),
    }
}

fn find_link(call: &Call<'_>, parent: &str, name: &str) -> Result<Link, Failure> {
    let found = call.container.file.group(parent).and_then(|group| group.link(name));
    found.map_err(|error| match error.kind() {
        // A path through something that is not a group leads nowhere.
        Kind::Invalid => call.not_there(Error::not_found("find link")),
        _ => call.not_there(error),
    })
}

fn of_object(
    call: &Call<'_>,
    name: &str,
    handle: &ObjectHandle,
    resolution: LinkResolution,
) -> Result<Value, Failure> {
    match handle {
        ObjectHandle::Group(group) => entity::of_group(call, name, group, resolution),
        other => Ok(entity::of_object(name, other)?),
    }
}

/// Returns the failure of a link that leads nowhere, as h5grove words it.
fn broken(call: &Call<'_>, link: &Link, error: Error) -> Failure {
    let shown = match &link.target {
        LinkTarget::Soft(path) => format!("<SoftLink to \"{path}\">"),
        LinkTarget::External { file, path } => format!("<ExternalLink to \"{path}\" in file \"{file}\">"),
        LinkTarget::Hard(_) | LinkTarget::User { .. } => return error.into(),
    };
    Failure::missing(format!("Cannot resolve {shown} at {} of {}", call.path(), call.container.name))
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn paths_have_a_group_and_a_name() {
        assert_eq!(split("/"), ("/", ""));
        assert_eq!(split("/a"), ("/", "a"));
        assert_eq!(split("a"), ("/", "a"));
        assert_eq!(split("/a/b/"), ("/a", "b"));
    }
}
