//! Following paths through links of every kind, up to a number of links.

use std::borrow::Cow;
use std::collections::VecDeque;

use model::link::{components, is_absolute};
use model::{Error, Kind, LinkTarget, Result, Token};

use crate::{Container, Lookup, OpLookup};

/// Follows a path in the container's own way if it has one, and otherwise link by link.
///
/// # Errors
/// Returns the errors of [`Container::lookup`].
pub fn lookup(container: &dyn Container, op: &OpLookup) -> Result<Lookup> {
    match container.lookup(op) {
        Err(error) if error.kind() == Kind::Unsupported => walk(container, op),
        answer => answer,
    }
}

/// A user-defined link on a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserLink {
    /// The group that holds the link.
    pub group: Token,
    /// Its name.
    pub name: String,
    /// The number of its class.
    pub class: u8,
    /// Its value.
    pub data: Vec<u8>,
    /// The rest of the path.
    pub rest: String,
}

enum PathWalk {
    Found(Lookup),
    User(UserLink),
}

/// Returns the first user-defined link on a path.
///
/// # Errors
/// Returns `NotFound` if the path leads to no such link in this container.
pub fn user_link(container: &dyn Container, op: &OpLookup) -> Result<UserLink> {
    match follow(container, op)? {
        PathWalk::User(link) => Ok(link),
        PathWalk::Found(_) => Err(Error::not_found("find user-defined link").with("path", &op.path)),
    }
}

/// Follows a path link by link.
///
/// # Errors
/// Returns `NotFound` if a link on the path is missing, `Invalid` if the path goes on behind an object that is not a
/// group, and `Limit` if there are more soft links to follow than `op.traversals_max`.
pub fn walk(container: &dyn Container, op: &OpLookup) -> Result<Lookup> {
    Ok(match follow(container, op)? {
        PathWalk::Found(lookup) => lookup,
        PathWalk::User(UserLink { class, data, rest, .. }) => Lookup::User { class, data, rest },
    })
}

fn follow(container: &dyn Container, op: &OpLookup) -> Result<PathWalk> {
    let root = container.info()?.root;
    let mut here = if is_absolute(&op.path) { root } else { op.from };
    let mut parts: VecDeque<Cow<'_, str>> = components(&op.path).map(Cow::Borrowed).collect();
    let mut traversals = 0;
    while let Some(part) = parts.pop_front() {
        let link = container.link_get(here, &part)?.ok_or_else(|| missing(op, &part))?;
        match link.target {
            LinkTarget::Hard(token) => here = token,
            LinkTarget::Soft(path) => {
                count_traversal(&mut traversals, op)?;
                if is_absolute(&path) {
                    here = root;
                }
                for name in components(&path).collect::<Vec<_>>().into_iter().rev() {
                    parts.push_front(Cow::Owned(name.to_owned()));
                }
            }
            LinkTarget::External { file, path } => {
                return Ok(PathWalk::Found(Lookup::External { file, path: append(path, parts) }));
            }
            LinkTarget::User { class, data } => {
                let (name, rest) = (part.into_owned(), append(String::new(), parts));
                return Ok(PathWalk::User(UserLink { group: here, name, class, data, rest }));
            }
        }
    }
    Ok(PathWalk::Found(Lookup::Object(here)))
}

fn missing(op: &OpLookup, part: &str) -> Error {
    Error::not_found("look up path").with("path", &op.path).with("missing", part)
}

fn count_traversal(traversals: &mut u32, op: &OpLookup) -> Result<()> {
    *traversals += 1;
    if *traversals > op.traversals_max {
        return Err(Error::limit("follow links").with("path", &op.path).with("limit", op.traversals_max));
    }
    Ok(())
}

fn append(mut path: String, rest: VecDeque<Cow<'_, str>>) -> String {
    for part in rest {
        if !path.is_empty() && !path.ends_with('/') {
            path.push('/');
        }
        path.push_str(&part);
    }
    path
}

/// Returns the object that a path leads to in this container. User-defined links are followed with the classes of the
/// registry that opened the container.
///
/// # Errors
/// Returns `Unsupported` if the path leaves the container, or if the class of a user-defined link on it is not registered.
pub fn token(container: &dyn Container, from: Token, path: &str, traversals_max: u32) -> Result<Token> {
    let unsupported = |what: &str| Err(Error::unsupported(what).with("path", path));
    let mut op = OpLookup { from, path: path.to_owned(), traversals_max };
    loop {
        match lookup(container, &op)? {
            Lookup::Object(token) => return Ok(token),
            Lookup::External { file, .. } => {
                return unsupported("follow external link").map_err(|error: Error| error.with("file", file));
            }
            Lookup::User { class, .. } => {
                let followed = container.follow_user_link(&op).map_err(|error| error.with("class", class))?;
                if followed.other.is_some() {
                    return unsupported("follow user-defined link to another container");
                }
                // Every link that is followed leaves one less to follow.
                op = followed.lookup;
            }
        }
    }
}
