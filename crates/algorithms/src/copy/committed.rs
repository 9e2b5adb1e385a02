//! Committed datatypes that copies share.

use std::collections::{HashSet, VecDeque};

use model::{Datatype, LinkTarget, ObjectKind, ObjectPath, Result, Token};
use vol::{Container, OpDatatypeCommit, OpList};

use super::Copier;

/// Where a copy that shares equal committed datatypes looks for them.
#[derive(Clone, Copy, Default)]
pub struct CommittedSearch<'a> {
    /// Objects of the target that are looked at first: committed datatypes, and datasets that share one. Others are
    /// left out.
    pub first: &'a [Token],
    /// Returns whether to look at all objects of the target when a datatype is not among the first. Its error ends the
    /// copy. If `None`, they are looked at.
    pub is_wanted: Option<&'a dyn Fn() -> Result<bool>>,
}

/// What is known of the committed datatypes of a target.
#[derive(Default)]
pub(super) struct KnownCommitted {
    types: Vec<(Datatype, Token)>,
    has_first: bool,
    is_complete: bool,
}

impl std::fmt::Debug for CommittedSearch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CommittedSearch").field("first", &self.first).finish_non_exhaustive()
    }
}

impl KnownCommitted {
    fn find(&self, wanted: &Datatype) -> Option<Token> {
        self.types.iter().find(|(known, _)| known == wanted).map(|(_, token)| *token)
    }
}

impl Copier<'_> {
    /// Returns the committed datatype that a copy shares.
    pub(super) fn shared(&mut self, old: Option<Token>) -> Result<Option<Token>> {
        let Some(old) = old else { return Ok(None) };
        if let Some(&new) = self.copies.get(&old) {
            return Ok(Some(new));
        }
        if self.context.options.merge_committed_types {
            if self.is_one {
                return Ok(Some(old));
            }
            let datatype = self.source.datatype_get(old)?;
            if let Some(new) = self.equal_committed(&datatype)? {
                return Ok(Some(new));
            }
        }
        let info = self.source.object_info(old)?;
        let datatype = self.source.datatype_get(old)?;
        let op = OpDatatypeCommit { place: None, datatype: datatype.clone(), create: info.create.clone() };
        let new = self.target.datatype_commit(&op)?;
        let path = ObjectPath::start("");
        self.note(old, new, &path)?;
        self.common(&info, new, &path)?;
        self.committed.types.push((datatype, new));
        Ok(Some(new))
    }

    /// Returns a committed datatype of the target that is the same.
    fn equal_committed(&mut self, datatype: &Datatype) -> Result<Option<Token>> {
        let descriptors = self.target.info()?.descriptors;
        let wanted = datatype.with_descriptors(&descriptors);
        if !self.committed.has_first {
            self.committed.has_first = true;
            let first =
                self.context.committed.first.iter().filter_map(|object| shared_by(self.target, *object));
            self.committed.types.extend(first);
        }
        let found = self.committed.find(&wanted);
        if found.is_some() || self.committed.is_complete {
            return Ok(found);
        }
        if let Some(is_wanted) = self.context.committed.is_wanted
            && !is_wanted()?
        {
            return Ok(None);
        }
        self.committed.types.extend(committed_in(self.target)?);
        self.committed.is_complete = true;
        Ok(self.committed.find(&wanted))
    }
}

/// Returns the committed datatype that an object is, or that it shares.
fn shared_by(container: &dyn Container, object: Token) -> Option<(Datatype, Token)> {
    match container.object_info(object).ok()?.kind {
        ObjectKind::Datatype => Some((container.datatype_get(object).ok()?, object)),
        ObjectKind::Dataset => {
            let token = container.dataset_info(object).ok()?.committed?;
            Some((container.datatype_get(token).ok()?, token))
        }
        _ => None,
    }
}

/// Returns all committed datatypes that links of a container lead to.
fn committed_in(container: &dyn Container) -> Result<Vec<(Datatype, Token)>> {
    let root = container.info()?.root;
    let (mut queue, mut met) = (VecDeque::from([root]), HashSet::from([root]));
    let mut found = Vec::new();
    while let Some(group) = queue.pop_front() {
        let op = OpList { count_max: u64::MAX, ..OpList::default() };
        for link in container.link_list(group, &op)?.entries {
            let LinkTarget::Hard(token) = link.target else { continue };
            if !met.insert(token) {
                continue;
            }
            match container.object_info(token)?.kind {
                ObjectKind::Group => queue.push_back(token),
                ObjectKind::Datatype => found.push((container.datatype_get(token)?, token)),
                _ => {}
            }
        }
    }
    Ok(found)
}
