//! From the name that a client says to a path that does not leave the root.

use std::path::{Path, PathBuf};

use model::{Error, Result};

/// Bytes of a name.
const NAME_BYTES_MAX: usize = 1024;

/// The name without what could lead elsewhere. Nothing in it is decoded: `%2e` is three characters.
pub(crate) fn checked(name: &str) -> Result<&str> {
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
            part if part.starts_with(remote::MARK_PREFIX) => return refused("a mark of the server's own"),
            _ => {}
        }
    }
    Ok(name)
}

/// The path of a container under `root`, whose own path has no links.
pub(crate) fn under(root: &Path, name: &str) -> Result<PathBuf> {
    let path = root.join(checked(name)?);
    // What is there may be a link; the deepest folder that is there decides for what is not.
    let there = path.ancestors().find(|ancestor| ancestor.symlink_metadata().is_ok());
    let real = there.and_then(|there| there.canonicalize().ok());
    match real {
        Some(real) if real.starts_with(root) => Ok(path),
        _ => {
            Err(Error::denied("use container").with("name", name).with("problem", "it leads out of the root"))
        }
    }
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
