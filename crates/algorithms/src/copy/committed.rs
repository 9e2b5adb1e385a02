//! Committed datatypes that copies share.

use std::collections::{HashSet, VecDeque};

use model::{Datatype, LinkTarget, ObjectKind, ObjectPath, Result, Token};
use vol::{Container, OpDatatypeCommit, OpList};

use super::Copier;

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
        self.committed.iter_mut().for_each(|known| known.push((datatype.clone(), new)));
        Ok(Some(new))
    }

    /// Returns a committed datatype of the target that is the same.
    fn equal_committed(&mut self, datatype: &Datatype) -> Result<Option<Token>> {
        if self.committed.is_none() {
            self.committed = Some(committed_in(self.target)?);
        }
        let descriptors = self.target.info()?.descriptors;
        let wanted = datatype.with_descriptors(&descriptors);
        let known = self.committed.iter().flatten();
        Ok(known.into_iter().find(|(t, _)| *t == wanted).map(|(_, token)| *token))
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
