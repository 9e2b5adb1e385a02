//! Paths of objects that share what they have in common: a name, and the path of the group it is in.

use std::cmp::Ordering;
use std::fmt;
use std::hash::BuildHasher;
use std::sync::{Arc, OnceLock};

/// A path longer than this is [shown](ObjectPath::shown) without its middle.
pub const SHOWN_BYTES_MAX: usize = 4096;
/// Bytes that are shown of each end of a longer one.
const SHOWN_END_BYTES: usize = 120;

/// The path of an object: `/` or the name of a link below the path of a group.
///
/// A walk over groups nested `n` deep needs memory for `n` names, where whole strings would need `n²` characters. Clones and
/// paths in one group share the group's path. Two paths are compared in a logarithm of their depth.
///
/// ```
/// use hyperslab_model::ObjectPath;
///
/// let group = ObjectPath::root().join("run");
/// let dataset = group.join("temperature");
/// assert_eq!(dataset.to_string(), "/run/temperature");
/// assert_eq!((dataset.name(), dataset.depth()), ("temperature", 2));
/// ```
#[derive(Clone)]
pub struct ObjectPath(Arc<Step>);

struct Step {
    /// The path of the group; none at the start.
    parent: Option<ObjectPath>,
    /// An ancestor further up: at the same depth for all paths of one depth, so that ancestors are found in few steps.
    jump: Option<ObjectPath>,
    name: Box<str>,
    depth: usize,
    /// Bytes of the whole path.
    bytes: usize,
    /// Of the whole path, with a key that no file can know.
    hash: u64,
}

fn hash_of(parent: u64, name: &str) -> u64 {
    static KEY: OnceLock<std::hash::RandomState> = OnceLock::new();
    KEY.get_or_init(std::hash::RandomState::new).hash_one((parent, name))
}

impl ObjectPath {
    /// Returns the path of the root group, `/`.
    pub fn root() -> Self {
        Self::start("/")
    }

    /// Returns a path that others begin with, as a whole. What is joined to it follows after one slash.
    pub fn start(path: &str) -> Self {
        let (name, bytes) = (path.into(), path.len());
        ObjectPath(Arc::new(Step { parent: None, jump: None, name, depth: 0, bytes, hash: hash_of(0, path) }))
    }

    /// Returns the separator between this path and a name in it.
    fn slash(&self) -> &'static str {
        if self.depth() == 0 && self.name().ends_with('/') { "" } else { "/" }
    }

    /// Returns the path of a link in this group.
    #[must_use]
    pub fn join(&self, name: &str) -> Self {
        let jump = match (self.0.jump.as_ref(), self.0.jump.as_ref().and_then(|jump| jump.0.jump.as_ref())) {
            (Some(near), Some(far)) if self.depth() - near.depth() == near.depth() - far.depth() => far,
            _ => self,
        };
        ObjectPath(Arc::new(Step {
            parent: Some(self.clone()),
            jump: Some(jump.clone()),
            name: name.into(),
            depth: self.depth() + 1,
            bytes: self.0.bytes + self.slash().len() + name.len(),
            hash: hash_of(self.0.hash, name),
        }))
    }

    /// Returns the last name; of a start, all of it.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns the number of names after the start.
    pub fn depth(&self) -> usize {
        self.0.depth
    }

    /// Returns the number of bytes of the whole path.
    pub fn len(&self) -> usize {
        self.0.bytes
    }

    /// Returns whether nothing stands in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the path of the group; `None` at the start.
    pub fn parent(&self) -> Option<&ObjectPath> {
        self.0.parent.as_ref()
    }

    /// Returns the path for people: whole, or without its middle where it is very long, with the number of names that are left out.
    pub fn shown(&self) -> String {
        if self.len() <= SHOWN_BYTES_MAX {
            return self.to_string();
        }
        let head = self.ancestor(|path| path.len() <= SHOWN_END_BYTES);
        let mut tail = self;
        while let Some(parent) = tail.parent()
            && self.len() - parent.len() <= SHOWN_END_BYTES
            && parent.depth() > head.depth()
        {
            tail = parent;
        }
        let omitted = tail.depth().saturating_sub(head.depth());
        let head =
            if head.len() <= SHOWN_BYTES_MAX { head.to_string() } else { cut(&head.0.name).to_owned() };
        format!("{}/[{omitted} names left out]{}", head.trim_end_matches('/'), self.below(tail))
    }

    /// Returns what follows the path of `start`, an ancestor, with long names cut.
    fn below(&self, start: &ObjectPath) -> String {
        let mut names = Vec::new();
        let mut path = self;
        while path.depth() > start.depth() {
            names.push(cut(path.name()));
            match path.parent() {
                Some(parent) => path = parent,
                None => break,
            }
        }
        names.iter().rev().fold(String::new(), |text, name| text + "/" + name)
    }

    /// Returns the nearest of this path and its ancestors that `is_wanted`, where all above one that is wanted are wanted too; else the start.
    fn ancestor(&self, is_wanted: impl Fn(&ObjectPath) -> bool) -> &ObjectPath {
        let mut path = self;
        while !is_wanted(path) {
            match (&path.0.jump, &path.0.parent) {
                (Some(jump), _) if !is_wanted(jump) => path = jump,
                (_, Some(parent)) => path = parent,
                _ => break,
            }
        }
        path
    }

    /// Returns the first names in which two paths of one depth differ, or `None` where they are equal.
    fn first_difference<'a>(mut a: &'a Self, mut b: &'a Self) -> Option<(&'a Self, &'a Self)> {
        if a.is_same(b) {
            return None;
        }
        loop {
            match (&a.0.jump, &b.0.jump, &a.0.parent, &b.0.parent) {
                (Some(x), Some(y), _, _) if !x.is_same(y) => (a, b) = (x, y),
                (_, _, Some(x), Some(y)) if !x.is_same(y) => (a, b) = (x, y),
                _ => return Some((a, b)),
            }
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || (self.0.hash == other.0.hash && self.0.bytes == other.0.bytes)
    }
}

/// Returns a name, or its first bytes.
fn cut(name: &str) -> &str {
    let end = (0..=name.len().min(SHOWN_END_BYTES)).rev().find(|&end| name.is_char_boundary(end));
    &name[..end.unwrap_or(0)]
}

/// Paths sort as their text does, byte by byte.
impl Ord for ObjectPath {
    fn cmp(&self, other: &Self) -> Ordering {
        let depth = self.depth().min(other.depth());
        let (a, b) = (self.ancestor(|p| p.depth() <= depth), other.ancestor(|p| p.depth() <= depth));
        let Some((x, y)) = Self::first_difference(a, b) else { return self.depth().cmp(&other.depth()) };
        let text = |name: &ObjectPath, whole: &ObjectPath| {
            let follows = if whole.depth() > name.depth() { name.slash() } else { "" };
            [name.name(), follows].concat()
        };
        text(x, self).cmp(&text(y, other))
    }
}

impl PartialOrd for ObjectPath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for ObjectPath {
    fn eq(&self, other: &Self) -> bool {
        self.depth() == other.depth() && self.is_same(other)
    }
}

impl Eq for ObjectPath {}

impl fmt::Display for ObjectPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names = Vec::with_capacity(self.depth());
        let mut path = self;
        while let Some(parent) = path.parent() {
            names.push(path.name());
            path = parent;
        }
        f.write_str(path.name())?;
        names.iter().rev().enumerate().try_for_each(|(n, name)| {
            f.write_str(if n == 0 { path.slash() } else { "/" })?;
            f.write_str(name)
        })
    }
}

impl fmt::Debug for ObjectPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.shown())
    }
}

/// Level by level: a deep path must not need a deep stack.
impl Drop for Step {
    fn drop(&mut self) {
        let mut next = self.parent.take();
        while let Some(path) = next {
            // An ancestor that is jumped to is held by those between, too, so that this is not its last reference.
            next = Arc::into_inner(path.0).and_then(|mut step| step.parent.take());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> ObjectPath {
        text.split('/').filter(|name| !name.is_empty()).fold(ObjectPath::root(), |path, name| path.join(name))
    }

    #[test]
    fn paths_print_and_sort_as_their_text() {
        let texts =
            ["/", "/a", "/a!", "/a/b", "/a/b/c", "/a/bc", "/ab", "/b", "/a/b/c/d/e/f/g", "/a/b/x/d/e/f/g"];
        for a in texts {
            assert_eq!(path(a).to_string(), a);
            assert_eq!(path(a).len(), a.len());
            for b in texts {
                assert_eq!(path(a).cmp(&path(b)), a.cmp(b), "{a} {b}");
                assert_eq!(path(a) == path(b), a == b);
            }
        }
        assert_eq!(ObjectPath::start("/g/").join("x").to_string(), "/g/x");
        assert_eq!(ObjectPath::start("").join("x").to_string(), "/x");
    }

    #[test]
    fn a_million_levels_are_made_compared_shown_and_dropped() {
        let deep = |last: &str| (0..1_000_000).fold(ObjectPath::root(), |path, _| path.join("g")).join(last);
        let (a, b) = (deep("x"), deep("y"));
        assert!(a < b && a.parent() == b.parent() && a.parent().is_some_and(|group| *group < a));
        let shown = a.shown();
        assert!(shown.starts_with("/g/g/") && shown.ends_with("/g/x") && shown.len() < 400, "{shown}");
        assert!(shown.contains("names left out"), "{shown}");
    }

    #[test]
    fn very_long_names_are_cut_where_a_path_is_shown() {
        let shown = ObjectPath::root().join(&"é".repeat(5000)).join("x").shown();
        assert!(shown.len() < 400 && shown.ends_with("/x"), "{shown}");
        assert_eq!(path("/a/b").shown(), "/a/b");
    }
}
