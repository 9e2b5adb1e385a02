//! Groups and links.

use std::sync::Arc;

use model::link::check_name;
use model::{Error, Index, Link, LinkTarget, Order, Result, Token, text};
use vol::{GroupInfo, LinkLocation, OpLinkCreate, OpLinkMove, OpList, Page};

use crate::checks::{check_link_target, is_tracked, slice, untracked};
use crate::listing::View;
use crate::mapping::Mapping;
use crate::reference_counts::Changes;
use crate::{Handle, ObjectHeader};

fn missing_link(name: &str) -> Error {
    Error::not_found("find link").with("name", name)
}

/// Returns the error for a link whose name is in use.
pub fn link_exists(name: &str) -> Error {
    Error::exists("create link").with("name", name)
}

/// Returns the object that a hard link leads to.
pub(crate) fn hard_target(target: &LinkTarget) -> Option<Token> {
    match target {
        LinkTarget::Hard(token) => Some(*token),
        _ => None,
    }
}

impl<M: Mapping> Handle<M> {
    /// Returns the group of a new link.
    ///
    /// # Errors
    /// Returns `Exists` if the name is in use, and `Invalid` if it is no name.
    fn group_of_link(&self, place: &LinkLocation) -> Result<Arc<ObjectHeader<M>>> {
        check_name(&place.name)?;
        let group = self.header(place.group)?;
        group.group()?;
        match self.mapping().has_entry(group.id, &text::as_bytes(&place.name))? {
            true => Err(link_exists(&place.name)),
            false => Ok(group),
        }
    }

    /// Returns the group of a link to a new object. Where the mapping itself refuses a name that is in use, it is not
    /// looked up twice.
    pub(crate) fn group_of_new(&self, place: &LinkLocation) -> Result<Arc<ObjectHeader<M>>> {
        check_name(&place.name)?;
        let group = self.header(place.group)?;
        match self.mapping().put_link_checks_name(group.group()?) {
            true => Ok(group),
            false => self.group_of_link(place),
        }
    }

    pub(crate) fn group_info(&self, group: &ObjectHeader<M>) -> Result<GroupInfo> {
        let create = group.group()?;
        let (next, links) = match is_tracked(create.link_order) {
            true => self.mapping().link_order(group)?,
            false => (0, None),
        };
        let links = links.map_or_else(|| self.count_entries(group.id), Ok)?;
        // An empty group shows 0, as in libhdf5. The order itself goes on: writers that do not see each other take no place twice.
        let creation_order_next = if links == 0 { 0 } else { i64::try_from(next).unwrap_or(i64::MAX) };
        Ok(GroupInfo { links, creation_order_next, create: create.clone() })
    }

    pub(crate) fn create_link(&self, op: &OpLinkCreate) -> Result<()> {
        check_link_target(&op.target)?;
        let mut counts = self.shared.reference_counts();
        let target = hard_target(&op.target).map(|token| self.header(token)).transpose()?;
        let group = self.group_of_link(&op.place)?;
        let mut changes = Changes::default();
        if let Some(target) = target {
            self.add_reference(&mut changes, target.id)?;
        }
        let done = self.mapping().put_link(&mut changes.stored, &group, &op.place, &op.target);
        let done = done.and_then(|()| self.commit_changes(&mut counts, changes, "create link"));
        self.shared.listings.changed(group.id);
        done
    }

    pub(crate) fn link(&self, group: &ObjectHeader<M>, name: &str) -> Result<Option<Link>> {
        group.group()?;
        match check_name(name) {
            Ok(()) => Ok(self.mapping().links(group, &[text::to_bytes(name)])?.pop()),
            Err(_) => Ok(None),
        }
    }

    pub(crate) fn list_links(&self, group: &ObjectHeader<M>, op: &OpList) -> Result<Page<Link>> {
        let is_ordered = is_tracked(group.group()?.link_order);
        let (names, more) = match (op.index, op.order) {
            (Index::CreationOrder, _) if !is_ordered => return Err(untracked("list links")),
            (Index::CreationOrder, _) => {
                let names = || self.mapping().names_by_creation(group);
                slice(&self.shared.listings.snapshot(group.id, View::Creation, names)?, op)
            }
            (Index::Name, Order::Decreasing) => slice(&self.all_keys(group.id)?, op),
            (Index::Name, _) if !self.mapping().has_ordered_keys() => slice(&self.all_keys(group.id)?, op),
            (Index::Name, _) => {
                let keys = |from: &[u8], count| self.mapping().keys(group.id, from, count);
                let is_link = |key: &[u8]| self.mapping().is_entry(group.id, key);
                self.shared.listings.page(group.id, (op.skip, op.count_max), keys, is_link)?
            }
        };
        Ok(Page { entries: self.mapping().links(group, &names)?, more })
    }

    pub(crate) fn delete_link(&self, group: &ObjectHeader<M>, name: &str) -> Result<()> {
        let mut counts = self.shared.reference_counts();
        let link = self.link(group, name)?.ok_or_else(|| missing_link(name))?;
        let mut changes = Changes::default();
        self.mapping().remove_link(&mut changes.stored, group, &link)?;
        self.shared.listings.changed(group.id);
        if let Some(token) = hard_target(&link.target) {
            self.drop_reference(&counts, &mut changes, M::id(token)?)?;
        }
        let done = self.commit_changes(&mut counts, changes, "delete link");
        self.shared.listings.changed(group.id);
        done
    }

    pub(crate) fn move_link(&self, op: &OpLinkMove) -> Result<()> {
        let mut counts = self.shared.reference_counts();
        let from = self.header(op.from)?;
        let link = self.link(&from, &op.name)?.ok_or_else(|| missing_link(&op.name))?;
        let to = self.group_of_link(&op.to)?;
        let target = hard_target(&link.target).map(M::id).transpose()?;
        let mut changes = Changes::default();
        // The new link comes first and is counted: a count that is too high is the harmless error.
        if let Some(target) = target {
            self.add_reference(&mut changes, target)?;
        }
        let done = self.mapping().put_link(&mut changes.stored, &to, &op.to, &link.target);
        self.shared.listings.changed(to.id);
        done?;
        if !op.copy {
            self.mapping().remove_link(&mut changes.stored, &from, &link)?;
            self.shared.listings.changed(from.id);
            if let Some(target) = target {
                self.drop_reference(&counts, &mut changes, target)?;
            }
        }
        let done = self.commit_changes(&mut counts, changes, "move link");
        self.shared.listings.changed(from.id);
        self.shared.listings.changed(to.id);
        done
    }

    /// Visits all links of a group: their names and targets.
    pub(crate) fn each_link(
        &self,
        group: M::Id,
        mut visit: impl FnMut(&[u8], Result<LinkTarget>) -> Result<()>,
    ) -> Result<()> {
        self.each_value(group, |name, value| visit(name, M::decode_target(value)))
    }
}

/// Keys of groups and maps.
impl<M: Mapping> Handle<M> {
    /// Visits the keys of a group's links or a map's pairs, page by page.
    fn each_page(&self, id: M::Id, mut visit: impl FnMut(Vec<Vec<u8>>) -> Result<()>) -> Result<()> {
        self.mapping().each_keys(id, &mut |mut keys| {
            let mut failed = None;
            keys.retain(|key| {
                self.mapping().is_entry(id, key).unwrap_or_else(|error| {
                    failed = Some(error);
                    false
                })
            });
            failed.map_or(Ok(()), Err)?;
            visit(keys)
        })
    }

    /// Returns the number of a group's links or a map's pairs.
    pub(crate) fn count_entries(&self, id: M::Id) -> Result<u64> {
        self.shared.listings.count(id, || {
            let mut count = 0;
            self.each_page(id, |keys| {
                count += keys.len() as u64;
                Ok(())
            })?;
            Ok(count)
        })
    }

    /// Returns the keys of a group's links or a map's pairs, in byte order.
    pub(crate) fn all_keys(&self, id: M::Id) -> Result<Arc<Vec<Vec<u8>>>> {
        self.shared.listings.snapshot(id, View::Names, || {
            let mut all = Vec::new();
            self.each_page(id, |keys| {
                all.extend(keys);
                Ok(())
            })?;
            // A store enumerates in its own order.
            all.sort_unstable();
            Ok(all)
        })
    }

    /// Visits the stored links of a group or pairs of a map.
    pub(crate) fn each_value(
        &self,
        id: M::Id,
        mut visit: impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        self.each_page(id, |keys| {
            let wanted: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
            let values = self.mapping().values(id, &wanted, "read values")?;
            for (key, value) in wanted.into_iter().zip(values) {
                if let Some(value) = value {
                    visit(key, &value)?;
                }
            }
            Ok(())
        })
    }
}
