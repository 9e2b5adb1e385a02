//! Groups and links.

use model::link::check_name;
use model::properties::{CreationOrder, GroupCreate};
use model::{Error, Link, LinkTarget, ObjectKind, Result, Token};
use vol::{OpLinkMove, Place};

use super::create::{GROUP_ROOM_BYTES, OLD_GROUP_ROOM_BYTES, group_info_message};
use super::draft::Draft;
use super::parts::{Links, Part};
use super::{DRAFT_BYTES, Writer};
use crate::file::File;
use crate::format::Address;

/// Link classes below are the library's own.
const USER_CLASS_MIN: u8 = 65;

impl Writer {
    pub(crate) fn group_create(&mut self, create: &GroupCreate) -> Result<Address> {
        let is_old = self.makes_old_groups() && create.link_order == CreationOrder::Untracked;
        let room = if is_old { OLD_GROUP_ROOM_BYTES } else { GROUP_ROOM_BYTES };
        let mut draft = Draft::new(self, ObjectKind::Group, &create.object, room);
        if !is_old {
            draft.messages.push(group_info_message(create)?);
        }
        let (order, phase) = (create.link_order, create.link_phase);
        draft.links = Some(Part::new(Links { order, phase, is_old, lacks_info: is_old, ..Links::default() }));
        // A symbol table is each group's own, and older headers say how many links lead to them.
        draft.blank = (!is_old && draft.prefix.version == 2).then(|| create.clone());
        Ok(self.adopt(draft))
    }

    /// A new object, not linked yet.
    pub(crate) fn adopt(&mut self, mut draft: Draft) -> Address {
        let at = draft.address;
        self.clock += 1;
        self.drafts_bytes += DRAFT_BYTES;
        draft.used = self.clock;
        self.newborn.push_back(at);
        self.drafts.insert(at, Box::new(draft));
        self.drafted = None;
        at
    }

    fn links(&mut self, file: &File, group: Address) -> Result<&mut Links> {
        self.draft(file, group)?.links_mut(file)
    }

    /// Whether a link can go there; asked before the object it shall lead to is made.
    pub(crate) fn check_place(&mut self, file: &File, place: &Place) -> Result<()> {
        check_name(&place.name)?;
        let links = self.links(file, Address(place.group.to_u64()))?;
        match links.by_name.contains(&place.name) {
            true => Err(Error::exists("create link").with("name", &place.name)),
            false => Ok(()),
        }
    }

    pub(crate) fn link_create(&mut self, file: &File, place: &Place, target: LinkTarget) -> Result<()> {
        self.check_place(file, place)?;
        if let LinkTarget::User { class, .. } = target
            && class < USER_CLASS_MIN
        {
            return Err(Error::invalid("create link").with("class", class));
        }
        if let LinkTarget::Hard(token) = target {
            self.adjust_references(file, Address(token.to_u64()), 1)?;
        }
        self.link_insert(file, place, target)
    }

    /// The first link to an object that was just made, at a place that was found good.
    pub(crate) fn link_new(&mut self, file: &File, place: &Place, at: Address) -> Result<()> {
        let unknown = || Error::not_found("open object").at(at.0);
        let draft = self.drafts.get_mut(&at).ok_or_else(unknown)?;
        draft.references += 1;
        // One whose room is made at once was laid out before the link.
        draft.is_dirty = true;
        self.link_insert(file, place, LinkTarget::Hard(Token::from_u64(at.0)))
    }

    fn link_insert(&mut self, file: &File, place: &Place, target: LinkTarget) -> Result<()> {
        let links = self.links(file, Address(place.group.to_u64()))?;
        let tracked = links.order != CreationOrder::Untracked;
        let creation_order = tracked.then_some(links.next);
        links.next += i64::from(tracked);
        let link = Link { name: place.name.clone(), target, charset: place.charset, creation_order };
        links.by_name.insert(link);
        Ok(())
    }

    pub(crate) fn link_delete(&mut self, file: &File, group: Address, name: &str) -> Result<()> {
        let links = self.links(file, group)?;
        let removed = links.by_name.remove(name);
        let removed = removed.ok_or_else(|| Error::not_found("delete link").with("name", name))?;
        if links.by_name.is_empty() {
            links.next = 0;
        }
        match removed.target {
            LinkTarget::Hard(token) => self.adjust_references(file, Address(token.to_u64()), -1).map(|_| ()),
            _ => Ok(()),
        }
    }

    pub(crate) fn link_move(&mut self, file: &File, op: &OpLinkMove) -> Result<()> {
        let from = Address(op.from.to_u64());
        let found = self.links(file, from)?.by_name.get(&op.name).cloned();
        let found = found.ok_or_else(|| Error::not_found("move link").with("name", &op.name))?;
        self.link_create(file, &op.to, found.target)?;
        if op.copy { Ok(()) } else { self.link_delete(file, from, &op.name) }
    }
}
