//! Groups and links: a pair of the group's key-value store each.

use std::sync::Arc;

use iod_storage::{Batch, Id};
use keyed::{View, check_link_target, is_tracked, slice, untracked};
use model::link::check_name;
use model::{CharacterSet, Error, Index, Link, LinkTarget, Order, Result, text};
use vol::{GroupInfo, LinkStorage, OpLinkCreate, OpLinkMove, OpList, Page, Place};

use crate::described::Described;
use crate::error::During;
use crate::identity;
use crate::keys::{self, LinkInfo};
use crate::lives::Changes;
use crate::opening::Opening;

fn missing_link(name: &str) -> Error {
    Error::not_found("find link").with("name", name)
}

impl Opening {
    /// The group of a new link, whose name is free there.
    pub(crate) fn check_place(&self, place: &Place) -> Result<Arc<Described>> {
        check_name(&place.name)?;
        let group = self.described(place.group)?;
        group.group()?;
        match self.value(group.id, &text::as_bytes(&place.name))? {
            Some(_) => Err(Error::exists("make link").with("name", &place.name)),
            None => Ok(group),
        }
    }

    fn value(&self, kv: Id, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.storage().get(kv, &[key]).during("find link")?.pop().flatten())
    }

    /// Adds a link at a place that was checked. The count of the object's links is the caller's business.
    pub(crate) fn put_link(
        &self,
        batch: &mut Batch<'_>,
        group: &Described,
        place: &Place,
        target: &LinkTarget,
    ) -> Result<()> {
        let name = text::to_bytes(&place.name);
        let order = match is_tracked(group.group()?.link_order) {
            true => Some(self.append_to_order(batch, group, &name)?),
            false => None,
        };
        let info = LinkInfo { place: order, is_utf8: place.charset == CharacterSet::Utf8 };
        if info != LinkInfo::default() {
            batch.put(group.metadata, keys::link_info(&name), info.to_bytes().to_vec());
        }
        batch.put(group.id, name, keys::link_value(target)?);
        Ok(())
    }

    /// Takes a link away; the count of its target's links is the caller's business.
    pub(crate) fn take_link(&self, batch: &mut Batch<'_>, group: &Described, link: &Link) -> Result<()> {
        let name = text::to_bytes(&link.name);
        if let Some(created) = link.creation_order {
            batch.remove(group.metadata, keys::link_place(crate::order::place(created)?));
        }
        batch.remove(group.metadata, keys::link_info(&name)).remove(group.id, name);
        Ok(())
    }

    /// Whatever was remembered of a group's links is looked at again.
    pub(crate) fn links_changed(&self, group: &Described) {
        self.shared.listings.changed(group.id);
    }

    pub(crate) fn group_info_of(&self, described: &Described) -> Result<GroupInfo> {
        let create = described.group()?;
        let creation_order_next = match is_tracked(create.link_order) {
            true => i64::try_from(self.next_place(described)?).unwrap_or(i64::MAX),
            false => 0,
        };
        let links = self.count_pairs(described.id)?;
        Ok(GroupInfo { links, creation_order_next, storage: LinkStorage::Other, create: create.clone() })
    }

    /// Pairs of a key-value store.
    pub(crate) fn count_pairs(&self, kv: Id) -> Result<u64> {
        self.shared.listings.count(kv, || {
            let mut count = 0;
            self.each_key(kv, b"", |_| {
                count += 1;
                Ok(true)
            })?;
            Ok(count)
        })
    }

    /// Visits keys of a key-value store from a key on, until `visit` says that it has seen enough.
    pub(crate) fn each_key(
        &self,
        kv: Id,
        from: &[u8],
        mut visit: impl FnMut(&[u8]) -> Result<bool>,
    ) -> Result<()> {
        let mut from = from.to_vec();
        loop {
            let keys = self.storage().keys(kv, &from, keyed::PAGE).during("list keys")?;
            let Some(last) = keys.last() else { return Ok(()) };
            from = keyed::after(last);
            for key in &keys {
                if !visit(key)? {
                    return Ok(());
                }
            }
        }
    }

    /// All keys of a key-value store, by their bytes.
    pub(crate) fn all_keys(&self, kv: Id) -> Result<Arc<Vec<Vec<u8>>>> {
        self.shared.listings.snapshot(kv, View::Names, || {
            let mut names = Vec::new();
            self.each_key(kv, b"", |key| {
                names.push(key.to_vec());
                Ok(true)
            })?;
            Ok(names)
        })
    }

    /// A page of keys, by their bytes.
    pub(crate) fn page_of_keys(&self, kv: Id, range: (u64, u64)) -> Result<(Vec<Vec<u8>>, bool)> {
        let keys = |from: &[u8], count| self.storage().keys(kv, from, count).during("list keys");
        self.shared.listings.page(kv, range, keys, |_| Ok(true))
    }

    pub(crate) fn make_link(&self, op: &OpLinkCreate) -> Result<()> {
        check_link_target(&op.target)?;
        let mut structure = self.shared.structure();
        let target = match &op.target {
            LinkTarget::Hard(token) => Some(self.described(*token)?.id),
            _ => None,
        };
        let group = self.check_place(&op.place)?;
        let mut changes = Changes::default();
        if let Some(target) = target {
            self.add_reference(&mut changes, target)?;
        }
        self.put_link(&mut changes.batch, &group, &op.place, &op.target)?;
        self.commit_changes(&mut structure, changes, "make link")?;
        self.links_changed(&group);
        Ok(())
    }

    /// Links of these names, in their order; names without a link are left out.
    fn links_of(&self, group: &Described, names: &[Vec<u8>]) -> Result<Vec<Link>> {
        let wanted: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
        let values = self.storage().get(group.id, &wanted).during("read links")?;
        let keys: Vec<Vec<u8>> = names.iter().map(|name| keys::link_info(name)).collect();
        let wanted: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let infos = self.storage().get(group.metadata, &wanted).during("read links")?;
        let mut links = Vec::with_capacity(names.len());
        for ((name, value), info) in names.iter().zip(values).zip(infos) {
            if let Some(value) = value {
                links.push(decode_link(name, &value, info.as_deref())?);
            }
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
            (Index::CreationOrder, _) => slice(&self.names_by_creation(group)?, op),
            (Index::Name, Order::Decreasing) => slice(&self.all_keys(group.id)?, op),
            (Index::Name, _) => self.page_of_keys(group.id, (op.skip, op.count_max))?,
        };
        Ok(Page { entries: self.links_of(group, &names)?, more })
    }

    pub(crate) fn delete_link(&self, group: &Described, name: &str) -> Result<()> {
        let mut structure = self.shared.structure();
        let link = self.link(group, name)?.ok_or_else(|| missing_link(name))?;
        let mut changes = Changes::default();
        self.take_link(&mut changes.batch, group, &link)?;
        if let LinkTarget::Hard(token) = link.target {
            self.drop_reference(&structure, &mut changes, identity::object(token)?)?;
        }
        self.commit_changes(&mut structure, changes, "delete link")?;
        self.links_changed(group);
        Ok(())
    }

    pub(crate) fn move_link(&self, op: &OpLinkMove) -> Result<()> {
        let mut structure = self.shared.structure();
        let from = self.described(op.from)?;
        let link = self.link(&from, &op.name)?.ok_or_else(|| missing_link(&op.name))?;
        let to = self.check_place(&op.to)?;
        let mut changes = Changes::default();
        match (&link.target, op.copy) {
            (LinkTarget::Hard(token), true) => {
                self.add_reference(&mut changes, identity::object(*token)?)?;
            }
            (_, true) => {}
            (_, false) => self.take_link(&mut changes.batch, &from, &link)?,
        }
        self.put_link(&mut changes.batch, &to, &op.to, &link.target)?;
        self.commit_changes(&mut structure, changes, "move link")?;
        self.links_changed(&from);
        self.links_changed(&to);
        Ok(())
    }
}

fn decode_link(name: &[u8], value: &[u8], info: Option<&[u8]>) -> Result<Link> {
    let name = text::from_bytes(name);
    let broken = |error: Error| error.with("link", &name);
    let target = keys::link_target(value).map_err(broken)?;
    let info = info.map_or(Ok(LinkInfo::default()), LinkInfo::of).map_err(broken)?;
    let creation_order = info.place.and_then(|place| i64::try_from(place).ok());
    let charset = if info.is_utf8 { CharacterSet::Utf8 } else { CharacterSet::Ascii };
    Ok(Link { name, target, charset, creation_order })
}
