//! Links, the order they are listed in, and paths.

use crate::{CharacterSet, Error, Result, Token};

/// The target of a link.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum LinkTarget {
    /// An object of the same container.
    Hard(Token),
    /// A path, looked up when it is followed.
    Soft(String),
    /// A path in another container.
    External {
        /// The other container.
        file: String,
        /// The object in it.
        path: String,
    },
    /// A class that a user defined (65 to 255) and its bytes.
    User {
        /// Class number.
        class: u8,
        /// The link value, whose meaning the class defines.
        data: Vec<u8>,
    },
}

/// A link as it stands in a group.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Link {
    /// Name, unique in the group.
    pub name: String,
    /// Its target.
    pub target: LinkTarget,
    /// Character set of the name.
    pub charset: CharacterSet,
    /// Position in creation order, where the group tracks it.
    pub creation_order: Option<i64>,
}

/// The index that a listing is sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Index {
    /// Bytes of the name.
    #[default]
    Name,
    /// Order of creation, where it is tracked.
    CreationOrder,
}

/// The direction of a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Order {
    /// Smallest first.
    #[default]
    Increasing,
    /// Largest first.
    Decreasing,
    /// Whatever is quickest.
    Native,
}

/// The kind of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectKind {
    /// A group.
    Group,
    /// A dataset.
    Dataset,
    /// A committed datatype.
    Datatype,
    /// A map.
    Map,
}

impl ObjectKind {
    /// Returns the word used in messages.
    pub fn name(self) -> &'static str {
        match self {
            ObjectKind::Group => "group",
            ObjectKind::Dataset => "dataset",
            ObjectKind::Datatype => "datatype",
            ObjectKind::Map => "map",
        }
    }
}

/// Returns the parts of a path: slashes may be doubled, `.` means where one is. `..` is an ordinary name in HDF5.
pub fn components(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|part| !part.is_empty() && *part != ".")
}

/// Returns whether a path starts at the root.
pub fn is_absolute(path: &str) -> bool {
    path.starts_with('/')
}

/// Returns a path's last part and what stands before it: where a new link goes.
pub fn split_last(path: &str) -> Result<(&str, &str)> {
    let trimmed = path.trim_end_matches('/');
    let (parent, name) = match trimmed.rfind('/') {
        Some(at) => (&trimmed[..=at], &trimmed[at + 1..]),
        None => ("", trimmed),
    };
    check_name(name)?;
    Ok((parent, name))
}

/// Returns an error unless `name` may name a link.
pub fn check_name(name: &str) -> Result<()> {
    if name.is_empty() || name == "." || name.contains('/') || name.contains('\0') {
        return Err(Error::invalid("check link name").with("name", format!("{name:?}")));
    }
    Ok(())
}

/// Returns a name added to the path of its group.
pub fn join(parent: &str, name: &str) -> String {
    let mut path = String::with_capacity(parent.len() + 1 + name.len());
    path.push_str(parent);
    if !parent.ends_with('/') && !parent.is_empty() {
        path.push('/');
    }
    path.push_str(name);
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubled_slashes_and_dots_do_not_count() {
        assert_eq!(components("//a/./b//").collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(split_last("/a/b/").unwrap(), ("/a/", "b"));
        assert_eq!(split_last("x").unwrap(), ("", "x"));
        assert!(split_last("/").is_err());
    }
}
