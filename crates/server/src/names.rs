//! From the name that a client says to a path that does not leave the root.

use std::path::{Path, PathBuf};

use model::{Error, Result};

/// Bytes of a name.
const NAME_BYTES_MAX: usize = 1024;

/// Returns the name without what could lead out of the root. Nothing in it is decoded: `%2e` is three characters.
pub fn checked(name: &str) -> Result<&str> {
    let refused = |problem: &str| {
        let shown: String = name.chars().take(128).collect();
        Err(Error::denied("use container").with("name", shown).with("problem", problem))
    };
    if name.is_empty() || name.len() > NAME_BYTES_MAX {
        return refused("too short or too long");
    }
    if name.chars().any(|c| c.is_control() || c == '\\') {
        return refused("characters that names do not have");
    }
    // A trailing slash is how folders are named.
    let parts = name.strip_suffix('/').unwrap_or(name).split('/');
    for part in parts {
        match part {
            "" | "." | ".." => return refused("a path that leaves its folder, or none at all"),
            part if part.starts_with(protocol::MARK_PREFIX) => return refused("a mark of the server's own"),
            _ => {}
        }
    }
    Ok(name)
}

/// Where a name leads: links in it are followed, and must not leave the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Real {
    /// The path, without links as far as it is there.
    pub path: PathBuf,
    /// Its name relative to the root, for which rights are checked.
    pub name: String,
}

/// Returns the container that `name` leads to under `root`, whose own path has no links.
pub fn under(root: &Path, name: &str) -> Result<Real> {
    let path = root.join(checked(name)?);
    // What is there may be a link; the deepest folder that is there decides for what is not.
    let there = path.ancestors().find(|ancestor| ancestor.symlink_metadata().is_ok());
    let real = there.and_then(|there| Some((there.canonicalize().ok()?, path.strip_prefix(there).ok()?)));
    let real = real.filter(|(real, _)| real.starts_with(root));
    let Some((real, rest)) = real else {
        let error = Error::denied("use container").with("name", name);
        return Err(error.with("problem", "it leads out of the root"));
    };
    let path = if rest.as_os_str().is_empty() { real } else { real.join(rest) };
    let from_root = path.strip_prefix(root).map(|name| name.to_string_lossy().into_owned());
    let real_name = from_root.unwrap_or_default();
    // A link may also lead to what no name may say.
    checked(&real_name).map_err(|_| Error::denied("use container").with("name", name))?;
    let folder = if name.ends_with('/') { "/" } else { "" };
    Ok(Real { path: PathBuf::from(format!("{}{folder}", path.to_string_lossy())), name: real_name })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for name in [
            "",
            "..",
            ".",
            "/etc/passwd",
            "../x",
            "a/../../x",
            "a//b",
            "a/./b",
            "a/..",
            "a\\..\\b",
            "a\0b",
            "a\n",
            "//x",
            "a/../b",
            ".hyperslab-direct-0123",
        ] {
            assert_eq!(checked(name).unwrap_err().kind(), model::Kind::Denied, "{name:?}");
        }
        assert!(checked(&"x".repeat(2000)).is_err());
        for name in ["a", "a/b.h5", "folder/", "%2e%2e", "..x", "a b"] {
            assert!(checked(name).is_ok(), "{name:?}");
        }
    }
}
