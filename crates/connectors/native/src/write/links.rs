//! Groups and links.

use model::link::check_name;
use model::properties::{CreationOrder, FilterSpec, GroupCreate};
use model::{Error, Link, LinkTarget, ObjectKind, Result, Token};
use vol::{LinkLocation, OpLinkMove};

use super::cached_object::CachedObject;
use super::create::{
    GROUP_CAPACITY_BYTES, OLD_GROUP_CAPACITY_BYTES, filters_message, group_info_message, is_old_style,
};
use super::object_cache::ObjectCache;
use super::parts::Links;
use super::{Writer, pipeline};
use crate::format::Address;

/// Link classes below are the library's own.
const USER_CLASS_MIN: u8 = 65;

impl Writer {
    pub(crate) fn group_create(&mut self, create: &GroupCreate) -> Result<Address> {
        let is_old = self.versions.makes_old_groups() && is_old_style(create);
        let filters = self.group_filters(create)?;
        let capacity = if is_old { OLD_GROUP_CAPACITY_BYTES } else { GROUP_CAPACITY_BYTES };
        let mut cached = CachedObject::new(
            &mut self.storage,
            self.versions.low,
            ObjectKind::Group,
            &create.object,
            capacity,
        );
        if !is_old {
            cached.messages.push(group_info_message(create)?);
            cached.messages.extend(filters_message(&filters, self.versions.filters())?);
        }
        cached.links = Some(Links::new(create, is_old));
        // A symbol table is each group's own, and older headers say how many links lead to them.
        cached.empty_group = (!is_old && cached.prefix.version == 2).then(|| create.clone());
        Ok(self.objects.adopt(cached))
    }

    /// Returns the filters of a new group's links, with their names. Those that must be applied have to be there.
    fn group_filters(&self, create: &GroupCreate) -> Result<Vec<FilterSpec>> {
        let failed = |e| Error::unsupported("create group").with("problem", e);
        let named = |filter: &FilterSpec| {
            if !filter.optional {
                self.reader.registry.get(filter.id).map_err(failed)?;
            }
            Ok(pipeline::with_name(&self.reader, filter))
        };
        create.filters.iter().map(named).collect()
    }

    pub(crate) fn link_create(&mut self, place: &LinkLocation, target: LinkTarget) -> Result<()> {
        self.objects.check_place(place)?;
        if let LinkTarget::User { class, .. } = target
            && class < USER_CLASS_MIN
        {
            return Err(Error::invalid("create link").with("class", class));
        }
        if let LinkTarget::Hard(token) = target {
            self.adjust_references(Address(token.to_u64()), 1)?;
        }
        self.objects.insert_link(place, target)
    }

    pub(crate) fn link_delete(&mut self, group: Address, name: &str) -> Result<()> {
        let links = self.objects.links_mut(group)?;
        let removed = links.remove(&self.reader, name)?;
        let removed = removed.ok_or_else(|| Error::not_found("delete link").with("name", name))?;
        if links.is_empty() {
            links.next = 0;
        }
        match removed.target {
            LinkTarget::Hard(token) => self.adjust_references(Address(token.to_u64()), -1).map(|_| ()),
            _ => Ok(()),
        }
    }

    pub(crate) fn link_move(&mut self, op: &OpLinkMove) -> Result<()> {
        let from = Address(op.from.to_u64());
        let found = self.objects.links_mut(from)?.find(&self.reader, &op.name)?;
        let found = found.ok_or_else(|| Error::not_found("move link").with("name", &op.name))?;
        self.link_create(&op.to, found.target)?;
        if op.copy { Ok(()) } else { self.link_delete(from, &op.name) }
    }
}

impl ObjectCache {
    /// Checks that a link can go there, before the object that it shall lead to is created.
    pub(crate) fn check_place(&mut self, place: &LinkLocation) -> Result<()> {
        check_name(&place.name)?;
        let reader = self.reader.clone();
        let links = self.links_mut(Address(place.group.to_u64()))?;
        match links.contains(&reader, &place.name)? {
            true => Err(Error::exists("create link").with("name", &place.name)),
            false => Ok(()),
        }
    }

    /// Adds the first link to an object that was just created, at a location that was checked.
    pub(crate) fn link_new(&mut self, place: &LinkLocation, at: Address) -> Result<()> {
        let unknown = || Error::not_found("open object").at(at.0);
        let cached = self.existing_mut(at).ok_or_else(unknown)?;
        cached.references += 1;
        // One whose space is made at once was serialized before the link.
        cached.is_dirty = true;
        self.insert_link(place, LinkTarget::Hard(Token::from_u64(at.0)))
    }

    /// Adds a link at a location that was checked. The object it leads to counts it already, or is in another file.
    pub(crate) fn insert_link(&mut self, place: &LinkLocation, target: LinkTarget) -> Result<()> {
        let links = self.links_mut(Address(place.group.to_u64()))?;
        let tracked = links.order != CreationOrder::Untracked;
        let creation_order = tracked.then_some(links.next);
        links.next += i64::from(tracked);
        let link = Link { name: place.name.clone(), target, charset: place.charset, creation_order };
        links.insert(link);
        Ok(())
    }
}
