//! The links of one group, found by name.

use std::borrow::{Borrow, Cow};
use std::collections::HashSet;
use std::hash::{Hash, Hasher};

use model::{Link, text};

use crate::listing;

/// Links that are found by their names in any order: sorting all of them at once, when they are serialized, costs less than to
/// keep them sorted while they come one by one.
#[derive(Debug, Default)]
pub(crate) struct LinkSet(HashSet<LinkByName>);

/// A link that stands for its name, which is stored once.
#[derive(Debug)]
struct LinkByName(Link);

impl Borrow<str> for LinkByName {
    fn borrow(&self) -> &str {
        &self.0.name
    }
}

impl Hash for LinkByName {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.name.hash(state);
    }
}

impl PartialEq for LinkByName {
    fn eq(&self, other: &Self) -> bool {
        self.0.name == other.0.name
    }
}

impl Eq for LinkByName {}

/// Returns the name as it will be read from the file. Two texts can stand for the same bytes, and bytes make a name.
pub(super) fn stored_name(name: &str) -> Cow<'_, str> {
    match text::as_bytes(name) {
        Cow::Borrowed(_) => Cow::Borrowed(name),
        Cow::Owned(bytes) => Cow::Owned(text::from_bytes(&bytes)),
    }
}

impl LinkSet {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.0.contains(&*stored_name(name))
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Link> {
        self.0.get(&*stored_name(name)).map(|named| &named.0)
    }

    /// Adds a link; one of the same name goes.
    pub(crate) fn insert(&mut self, mut link: Link) {
        if let Cow::Owned(name) = stored_name(&link.name) {
            link.name = name;
        }
        self.0.replace(LinkByName(link));
    }

    pub(crate) fn remove(&mut self, name: &str) -> Option<Link> {
        self.0.take(&*stored_name(name)).map(|named| named.0)
    }

    /// Returns all of them, in any order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Link> {
        self.0.iter().map(|named| &named.0)
    }

    /// Returns all of them, by the bytes of their names.
    pub(crate) fn sorted(&self) -> Vec<&Link> {
        let mut links: Vec<&Link> = self.iter().collect();
        listing::sort_by_name(&mut links);
        links
    }
}

impl FromIterator<Link> for LinkSet {
    fn from_iter<I: IntoIterator<Item = Link>>(links: I) -> Self {
        let mut set = LinkSet::default();
        links.into_iter().for_each(|link| set.insert(link));
        set
    }
}

#[cfg(test)]
mod tests {
    use model::{CharacterSet, LinkTarget};

    use super::*;

    fn link(name: &str, target: &str) -> Link {
        let target = LinkTarget::Soft(target.to_owned());
        Link { name: name.to_owned(), target, charset: CharacterSet::Utf8, creation_order: None }
    }

    #[test]
    fn names_are_what_the_file_will_hold_of_them() {
        // Two escaped bytes that together are one character of UTF-8.
        let (escaped, plain) = ("\u{F7C3}\u{F7A9}", "é");
        assert_eq!(*text::as_bytes(escaped), *plain.as_bytes());
        let mut set: LinkSet = [link(escaped, "first"), link("b", "b"), link("a", "a")].into_iter().collect();
        assert!(set.contains(plain) && set.contains(escaped));
        set.insert(link(plain, "second"));
        let names: Vec<&str> = set.sorted().iter().map(|l| l.name.as_str()).collect();
        assert_eq!(names, ["a", "b", plain]);
        assert_eq!(set.get(escaped), Some(&link(plain, "second")));
        assert_eq!(set.remove(escaped), Some(link(plain, "second")));
        assert_eq!((set.remove(plain), set.len()), (None, 2));
    }
}
