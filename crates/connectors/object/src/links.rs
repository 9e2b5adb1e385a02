//! Groups and links: each link under the dkey of its name.

use std::sync::Arc;

pub(crate) use keyed::{is_tracked, slice, untracked};
use model::link::check_name;
use model::{CharacterSet, Error, Index, Link, LinkTarget, Order, Result, text};
use objects::{Change, Condition, ObjectId, Phase, Update};
use vol::{GroupInfo, LinkStorage, OpLinkCreate, OpLinkMove, OpList, Page, Place};

use crate::described::Described;
use crate::error::{During, stored};
use crate::keys::{self, LINK, LINK_CHARSET, LINK_ORDER};
use crate::listing::{View, each_dkey};
use crate::opening::Opening;
use crate::{identity, order};

fn missing_link(name: &str) -> Error {
    Error::not_found("find link").with("name", name)
}

fn exists(name: &str) -> Error {
    Error::exists("make link").with("name", name)
}

/// Whether a dkey of a group is a link: names have no slash, our own keys begin with one.
pub(crate) fn is_link(dkey: &[u8]) -> bool {
    !dkey.starts_with(b"/")
}

impl Opening {
    /// The group of a new link, whose name is free there.
    pub(crate) fn check_place(&self, place: &Place) -> Result<Arc<Described>> {
        check_name(&place.name)?;
        let group = self.described(place.group)?;
        group.group()?;
        let name = text::as_bytes(&place.name);
        match self.store().size(group.id, &name, LINK).during("find link")? {
            Some(_) => Err(exists(&place.name)),
            None => Ok(group),
        }
    }

    /// The group of a new object's link. The link's own condition finds a name that is used, but in a group that keeps
    /// an order the name would have its place already.
    pub(crate) fn place_of_new(&self, place: &Place) -> Result<Arc<Described>> {
        check_name(&place.name)?;
        let group = self.described(place.group)?;
        match is_tracked(group.group()?.link_order) {
            true => self.check_place(place),
            false => Ok(group),
        }
    }

    /// Makes a link at a place that was checked. The object's references are the caller's business.
    pub(crate) fn put_link(&self, group: &Described, place: &Place, target: &LinkTarget) -> Result<()> {
        let (name, value) = (text::as_bytes(&place.name), keys::link_value(target)?);
        let created = match is_tracked(group.group()?.link_order) {
            true => Some(keys::number(self.append_to_order(group.id, &name, &value)?)),
            false => None,
        };
        let mut changes = vec![Change::Single(LINK, &value)];
        changes.extend(created.as_ref().map(|created| Change::Single(LINK_ORDER, created)));
        if place.charset == CharacterSet::Utf8 {
            changes.push(Change::Single(LINK_CHARSET, &[1]));
        }
        let conditions = &[Condition::Absent(LINK)];
        let update =
            Update { object: group.id, dkey: &name, changes: &changes, conditions, phase: Phase::Link };
        let done = self.store().update(&update);
        self.shared.listings.changed(group.id);
        done.map_err(|error| match error {
            objects::Error::Condition(_) => exists(&place.name),
            error => stored("make link", &error),
        })
    }

    pub(crate) fn group_info_of(&self, described: &Described) -> Result<GroupInfo> {
        let create = described.group()?;
        let (creation_order_next, links) = match is_tracked(create.link_order) {
            true => self.order_counts(described.id)?,
            false => (0, self.count_links(described.id)?),
        };
        let creation_order_next = i64::try_from(creation_order_next).unwrap_or(i64::MAX);
        Ok(GroupInfo { links, creation_order_next, storage: LinkStorage::Other, create: create.clone() })
    }

    /// Links of a group that keeps no count.
    fn count_links(&self, group: ObjectId) -> Result<u64> {
        self.shared.listings.count(group, || {
            let mut count = 0;
            each_dkey(self.store(), group, b"", |dkey| {
                count += u64::from(is_link(dkey));
                Ok(true)
            })?;
            Ok(count)
        })
    }

    pub(crate) fn make_link(&self, op: &OpLinkCreate) -> Result<()> {
        keyed::check_link_target(&op.target)?;
        let mut structure = self.shared.structure();
        let target = match &op.target {
            LinkTarget::Hard(token) => Some(self.described(*token)?.id),
            _ => None,
        };
        let group = self.check_place(&op.place)?;
        if let Some(target) = target {
            self.add_reference(&mut structure, target)?;
        }
        self.put_link(&group, &op.place, &op.target)
    }

    /// Links of these names, in their order; names without a link are left out.
    pub(crate) fn links_of(&self, group: &Described, names: &[Vec<u8>]) -> Result<Vec<Link>> {
        let akeys: &[&[u8]] = match is_tracked(group.group()?.link_order) {
            true => &[LINK, LINK_CHARSET, LINK_ORDER],
            false => &[LINK, LINK_CHARSET],
        };
        let each = |name| akeys.iter().map(move |akey| (group.id, name, *akey));
        let wanted: Vec<_> = names.iter().flat_map(|name| each(&name[..])).collect();
        let found = self.store().get_many(&wanted).during("read links")?;
        let mut links = Vec::with_capacity(names.len());
        for (name, values) in names.iter().zip(found.chunks(akeys.len())) {
            links.extend(decode_link(name, values)?);
        }
        Ok(links)
    }

    pub(crate) fn link(&self, group: &Described, name: &str) -> Result<Option<Link>> {
        group.group()?;
        match check_name(name) {
            Ok(()) => Ok(self.links_of(group, &[text::to_bytes(name)])?.pop()),
            Err(_) => Ok(None),
        }
    }

    pub(crate) fn list_links(&self, group: &Described, op: &OpList) -> Result<Page<Link>> {
        let is_ordered = is_tracked(group.group()?.link_order);
        let (names, more) = match (op.index, op.order) {
            (Index::CreationOrder, _) if !is_ordered => return Err(untracked("list links")),
            (Index::CreationOrder, _) => slice(&self.names_by_creation(group.id)?, op),
            (Index::Name, Order::Decreasing) => slice(&self.all_names(group.id)?, op),
            (Index::Name, _) => {
                let listings = &self.shared.listings;
                listings.page(self.store(), group.id, (op.skip, op.count_max), |dkey| Ok(is_link(dkey)))?
            }
        };
        Ok(Page { entries: self.links_of(group, &names)?, more })
    }

    fn all_names(&self, group: ObjectId) -> Result<Arc<Vec<Vec<u8>>>> {
        self.shared.listings.snapshot(group, View::Names, || {
            let mut names = Vec::new();
            each_dkey(self.store(), group, b"", |dkey| {
                if is_link(dkey) {
                    names.push(dkey.to_vec());
                }
                Ok(true)
            })?;
            Ok(names)
        })
    }

    /// Takes a link away; its target keeps its references.
    fn take_link(&self, group: &Described, name: &str) -> Result<LinkTarget> {
        let link = self.link(group, name)?.ok_or_else(|| missing_link(name))?;
        let dkey = text::as_bytes(name);
        self.store().punch_dkey(group.id, &dkey, Phase::Link).during("delete link")?;
        if let Some(created) = link.creation_order {
            self.take_from_order(group.id, order::place(created)?)?;
        }
        self.shared.listings.changed(group.id);
        Ok(link.target)
    }

    pub(crate) fn delete_link(&self, group: &Described, name: &str) -> Result<()> {
        let mut structure = self.shared.structure();
        match self.take_link(group, name)? {
            LinkTarget::Hard(token) => {
                if self.shared.is_concurrent {
                    // The count of an object goes down at once: not before its link is gone for all.
                    self.store().flush().during("delete link")?;
                }
                self.drop_reference(&mut structure, identity::object(token)?)
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn move_link(&self, op: &OpLinkMove) -> Result<()> {
        let mut structure = self.shared.structure();
        let from = self.described(op.from)?;
        let link = self.link(&from, &op.name)?.ok_or_else(|| missing_link(&op.name))?;
        let to = self.check_place(&op.to)?;
        // For a moment there are two links: a count that is too high is the harmless mistake.
        let target = match link.target {
            LinkTarget::Hard(token) => Some(identity::object(token)?),
            _ => None,
        };
        if let Some(target) = target {
            self.add_reference(&mut structure, target)?;
        }
        self.put_link(&to, &op.to, &link.target)?;
        drop(structure);
        match op.copy {
            true => Ok(()),
            false => self.delete_link(&from, &op.name),
        }
    }
}

/// A link from its values: link, character set and, where it is tracked, creation order.
fn decode_link(name: &[u8], values: &[Option<Vec<u8>>]) -> Result<Option<Link>> {
    let Some(Some(value)) = values.first() else { return Ok(None) };
    let name = text::from_bytes(name);
    let target = keys::link_target(value).map_err(|error| error.with("link", &name))?;
    let is_utf8 = matches!(values.get(1), Some(Some(charset)) if charset == &[1]);
    let creation_order = match values.get(2) {
        Some(Some(place)) => i64::try_from(keys::number_of(place, "creation order")?).ok(),
        _ => None,
    };
    let charset = if is_utf8 { CharacterSet::Utf8 } else { CharacterSet::Ascii };
    Ok(Some(Link { name, target, charset, creation_order }))
}
