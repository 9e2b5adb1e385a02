//! Who may do what: tokens with rights on paths.

use std::path::Path;

use model::{Error, Result};
use vol::Access;

/// One line of the file.
#[derive(Clone, PartialEq, Eq)]
struct Grant {
    who: String,
    token: String,
    access: Access,
    /// Names that begin with these folders; empty is all.
    under: String,
}

/// Without the token.
impl std::fmt::Debug for Grant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {:?} {:?}", self.who, self.access, self.under)
    }
}

/// Everybody's rights. What no line grants is refused.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rights {
    grants: Vec<Grant>,
}

/// The user at the other end of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// For logs, and for who a session belongs to.
    pub name: String,
    /// `None`: everything.
    grants: Option<Vec<(Access, String)>>,
}

impl Rights {
    /// Reads lines of `NAME TOKEN read|write PATH`; `*` is every path, `#` begins a comment.
    pub fn parse(text: &str) -> Result<Self> {
        let mut grants = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let wrong = |problem: &str| {
                Error::invalid("read rights").with("line", number + 1).with("problem", problem)
            };
            let [who, token, access, under] = match words[..] {
                [] => continue,
                [first, ..] if first.starts_with('#') => continue,
                [who, token, access, under] => [who, token, access, under],
                _ => return Err(wrong("NAME TOKEN read|write PATH is expected")),
            };
            let access = match access {
                "read" => Access::Read,
                "write" => Access::Write,
                _ => return Err(wrong("read or write is expected")),
            };
            if token.len() < TOKEN_BYTES_MIN {
                return Err(wrong("a token has at least 16 characters"));
            }
            let under = if under == "*" { String::new() } else { under.trim_matches('/').to_owned() };
            grants.push(Grant { who: who.to_owned(), token: token.to_owned(), access, under });
        }
        Ok(Rights { grants })
    }

    /// Reads a file; others than its owner must not be able to.
    pub fn read(path: &Path) -> Result<Self> {
        let failed = |e: std::io::Error| Error::io("read rights", &e).with("path", path.display());
        if system::private::is_shared(&std::fs::metadata(path).map_err(failed)?) {
            let error = Error::denied("read rights").with("path", path.display());
            return Err(error.with("problem", "others can read the tokens: chmod 600"));
        }
        Rights::parse(&std::fs::read_to_string(path).map_err(failed)?)
    }

    /// Returns the rights of a token that may do everything.
    pub fn owner(token: &str) -> Self {
        let (who, token) = ("owner".to_owned(), token.to_owned());
        Rights { grants: vec![Grant { who, token, access: Access::Write, under: String::new() }] }
    }

    /// Returns the user with this token.
    pub fn principal(&self, token: Option<&str>) -> Option<Principal> {
        let token = token?;
        let mine: Vec<&Grant> = self.grants.iter().filter(|grant| is_equal(&grant.token, token)).collect();
        let name = mine.first()?.who.clone();
        let grants = mine.into_iter().map(|grant| (grant.access, grant.under.clone())).collect();
        Some(Principal { name, grants: Some(grants) })
    }
}

/// Shorter tokens can be guessed.
const TOKEN_BYTES_MIN: usize = 16;

/// Takes as long whichever characters differ.
fn is_equal(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}

impl Principal {
    /// Returns a caller who may do everything.
    pub fn trusted(name: impl Into<String>) -> Self {
        Principal { name: name.into(), grants: None }
    }

    /// Returns whether this one may use the container in this way.
    pub fn may(&self, access: Access, name: &str) -> bool {
        let Some(grants) = &self.grants else { return true };
        let is_under = |under: &str| {
            under.is_empty()
                || name.strip_prefix(under).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let enough = |granted: Access| granted == Access::Write || access == Access::Read;
        grants.iter().any(|(granted, under)| enough(*granted) && is_under(under))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_hold_under_their_folder_only() {
        let text = "# who\nann 0123456789abcdef write runs/\nann 0123456789abcdef read *\nbob fedcba9876543210 read a/b.h5\n";
        let rights = Rights::parse(text).unwrap();
        let ann = rights.principal(Some("0123456789abcdef")).unwrap();
        assert!(ann.may(Access::Write, "runs/1.h5") && ann.may(Access::Read, "other"));
        assert!(!ann.may(Access::Write, "runs2/1.h5") && !ann.may(Access::Write, "other"));
        let bob = rights.principal(Some("fedcba9876543210")).unwrap();
        assert!(bob.may(Access::Read, "a/b.h5") && !bob.may(Access::Read, "a/b.h5x"));
        assert!(!bob.may(Access::Write, "a/b.h5"));
        for wrong in [None, Some(""), Some("0123456789abcdee"), Some("0123456789abcdef0")] {
            assert_eq!(rights.principal(wrong), None);
        }
    }

    #[test]
    fn broken_lines_are_named() {
        for text in ["ann", "ann 0123456789abcdef all *", "ann short read *", "a 0123456789abcdef read x y"] {
            assert!(Rights::parse(text).unwrap_err().to_string().contains("line: 1"), "{text}");
        }
    }
}
