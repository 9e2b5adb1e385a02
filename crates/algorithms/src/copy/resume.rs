//! Copies that go on where an earlier one was stopped.

use model::{LinkTarget, ObjectKind, ObjectPath, Result, Token};
use vol::{LinkLocation, OpList};

use super::{Copier, PendingGroup};

/// All pieces of an object: it is done.
pub const ALL: u64 = u64::MAX;

/// Knows how far an earlier copy of the same source to the same target came. What it tells was committed in the target.
///
/// Objects are named by their paths, which do not change from one run to the next.
pub trait Resume {
    /// Returns how many pieces of an object are there; [`ALL`] where it is done, `None` where it was not begun.
    fn pieces(&self, path: &ObjectPath) -> Option<u64>;
    /// Notes that so many pieces of an object are copied. They count as done once they are committed.
    fn reached(&self, path: &ObjectPath, pieces: u64) -> Result<()>;
}

impl Copier<'_> {
    /// Says how far an object is.
    pub(super) fn reached(&self, path: &ObjectPath, pieces: u64) -> Result<()> {
        match self.context.resume {
            Some(resume) if !path.is_empty() => resume.reached(path, pieces),
            _ => Ok(()),
        }
    }

    /// Returns the copy that an earlier run created, with what is left to do for it. What was made but not noted is removed:
    /// no one knows how much of it is there.
    pub(super) fn earlier(
        &mut self,
        old: Token,
        place: Option<&LinkLocation>,
        path: &ObjectPath,
    ) -> Result<Option<Token>> {
        let (Some(resume), Some(place)) = (self.context.resume, place) else { return Ok(None) };
        let Some(link) = self.target.link_get(place.group, &place.name)? else { return Ok(None) };
        let (Some(pieces), LinkTarget::Hard(new)) = (resume.pieces(path), link.target) else {
            self.target.link_delete(place.group, &place.name)?;
            return Ok(None);
        };
        self.note(old, new, path)?;
        let info = self.source.object_info(old)?;
        self.refers_again(&info, new)?;
        match info.kind {
            ObjectKind::Group => {
                self.groups.push_back(PendingGroup { old, new, path: path.clone() });
            }
            ObjectKind::Dataset if pieces != ALL => self.elements(old, new, (path, pieces))?,
            _ => {}
        }
        self.reached(path, ALL)?;
        Ok(Some(new))
    }

    /// Removes what a root group got before it was noted.
    pub(super) fn clear_attributes(&self, object: Token) -> Result<()> {
        let op = OpList { count_max: u64::MAX, ..OpList::default() };
        for attribute in self.target.attribute_list(object, &op)?.entries {
            self.target.attribute_delete(object, &attribute.name)?;
        }
        Ok(())
    }
}
