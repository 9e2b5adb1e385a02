//! The mark: an attribute of the primary's root group that says which targets miss something.
//!
//! It is there while a program changes the container and when a target is stale. A program that dies leaves it behind, so
//! that no one trusts targets which may lack the last commit, or hold more than it.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};

use model::datatype::{FixedString, StringPad};
use model::{CharacterSet, Dataspace, Datatype, Error, Kind, Result, Token};
use system::sync::{Mutex, MutexGuard};
use vol::{Container, OpAttributeCreate};

/// The name of the attribute.
pub const MARK: &str = "hyperslab.mirror";

/// The content of the mark.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct MirrorMark {
    /// The program that changes the container.
    pub(crate) session: Option<u64>,
    /// Targets that miss something, by location.
    pub(crate) stale: BTreeSet<String>,
}

/// Sessions of this process: theirs is no mark that a dead program left.
static LIVE: Mutex<BTreeSet<u64>> = Mutex::new(BTreeSet::new());

fn live() -> MutexGuard<'static, BTreeSet<u64>> {
    LIVE.lock()
}

/// A program's use of a container, until it is dropped.
#[derive(Debug)]
pub(crate) struct Session(pub(crate) u64);

impl Session {
    pub(crate) fn new() -> Self {
        let number = RandomState::new().hash_one(std::process::id());
        live().insert(number);
        Session(number)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        live().remove(&self.0);
    }
}

impl MirrorMark {
    /// Returns whether a program died while it changed the container.
    pub(crate) fn is_left_behind(&self) -> bool {
        self.session.is_some_and(|session| !live().contains(&session))
    }

    fn text(&self) -> String {
        let session = self.session.iter().map(|number| format!("session {number}\n"));
        session.chain(self.stale.iter().map(|location| format!("stale {location}\n"))).collect()
    }

    fn parse(text: &str) -> Result<MirrorMark> {
        let mut mark = MirrorMark::default();
        for line in text.trim_end_matches('\0').lines() {
            match line.split_once(' ') {
                Some(("session", number)) => mark.session = Some(number.parse().unwrap_or(0)),
                Some(("stale", location)) => drop(mark.stale.insert(location.to_owned())),
                _ => return Err(Error::corrupt("read mark of mirror").with("line", line)),
            }
        }
        Ok(mark)
    }

    /// Returns the mark of a container; an empty one where there is none.
    pub(crate) fn read(container: &dyn Container) -> Result<MirrorMark> {
        let root = container.info()?.root;
        match is_there(container, root)? {
            true => {
                let value = container.attribute_read(root, &[MARK])?.pop().unwrap_or_default();
                MirrorMark::parse(&String::from_utf8_lossy(&value))
            }
            false => Ok(MirrorMark::default()),
        }
    }

    /// Makes this the mark of a container; an empty one goes.
    pub(crate) fn write(&self, container: &dyn Container) -> Result<()> {
        let root = container.info()?.root;
        if is_there(container, root)? {
            container.attribute_delete(root, MARK)?;
        }
        let text = self.text();
        if text.is_empty() {
            return Ok(());
        }
        let size = u32::try_from(text.len()).map_err(|_| Error::limit("write mark of mirror"))?;
        let charset = CharacterSet::Utf8;
        let datatype = Datatype::String(FixedString { size, padding: StringPad::NullPadded, charset });
        let (name, space) = (MARK.to_owned(), Dataspace::Scalar);
        let op = OpAttributeCreate { object: root, name, charset, datatype, committed: None, space };
        container.attribute_create(&op)?;
        container.attribute_write(root, MARK, text.as_bytes())
    }
}

/// Returns whether a container has a mark.
pub(crate) fn is_there(container: &dyn Container, root: Token) -> Result<bool> {
    match container.attribute_info(root, MARK) {
        Err(error) if error.kind() == Kind::Unsupported => Ok(false),
        found => found.map(|info| info.is_some()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_as_it_was_written() {
        let session = Session::new();
        let stale = BTreeSet::from(["raw:a b/".to_owned(), "c.h5".to_owned()]);
        let mark = MirrorMark { session: Some(session.0), stale };
        assert_eq!(MirrorMark::parse(&format!("{}\0", mark.text())).unwrap(), mark);
        assert!(!mark.is_left_behind());
        drop(session);
        assert!(mark.is_left_behind());
        assert_eq!(MirrorMark::parse("nonsense").unwrap_err().kind(), Kind::Corrupt);
    }
}
