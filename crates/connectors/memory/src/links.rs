//! Groups and links.

use std::collections::BTreeMap;

use model::link::check_name;
use model::properties::{CreationOrder, GroupCreate};
use model::{CharacterSet, Error, Index, Link, LinkTarget, Order, Result, Token, text};
use vol::{GroupInfo, LinkLocation, OpLinkCreate, OpLinkMove, OpList, Page};

use crate::objects::{ContainerState, hard};

/// A link and its place in the order of creation, which is kept whether it is shown or not.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) target: LinkTarget,
    pub(crate) charset: CharacterSet,
    created: i64,
}

/// A group's links, by the bytes of their names.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    pub(crate) create: GroupCreate,
    entries: BTreeMap<Vec<u8>, Entry>,
    created_next: i64,
}

/// User-defined classes; the numbers below belong to the library.
const USER_CLASS_MIN: u8 = 65;

impl Group {
    pub(crate) fn new(create: GroupCreate) -> Self {
        Group { create, entries: BTreeMap::new(), created_next: 0 }
    }

    pub(crate) fn links(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }

    fn is_tracked(&self) -> bool {
        self.create.link_order != CreationOrder::Untracked
    }

    fn shown(&self, entry: &Entry) -> Link {
        Link {
            name: entry.name.clone(),
            target: entry.target.clone(),
            charset: entry.charset,
            creation_order: self.is_tracked().then_some(entry.created),
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Entry> {
        self.entries.get(&text::to_bytes(name))
    }

    /// Adds a link whose name is free.
    pub(crate) fn add(&mut self, name: &str, charset: CharacterSet, target: LinkTarget) {
        let entry = Entry { name: name.to_owned(), target, charset, created: self.created_next };
        self.created_next += 1;
        self.entries.insert(text::to_bytes(name), entry);
    }

    /// Returns all links in the order of their creation, as copies take them over.
    pub(crate) fn in_creation_order(&self) -> Vec<&Entry> {
        let mut entries: Vec<&Entry> = self.links().collect();
        entries.sort_by_key(|entry| entry.created);
        entries
    }

    fn list(&self, op: &OpList) -> Result<Page<Link>> {
        let entries = match op.index {
            Index::Name => self.links().collect(),
            Index::CreationOrder if self.is_tracked() => self.in_creation_order(),
            Index::CreationOrder => return Err(untracked("list links")),
        };
        Ok(page(&entries, op, |entry| self.shown(entry)))
    }
}

pub(crate) fn untracked(operation: &str) -> Error {
    Error::invalid(operation).with("problem", "the order of creation is not tracked")
}

/// Returns a page of entries that are sorted in increasing order.
pub(crate) fn page<E, T>(entries: &[&E], op: &OpList, shown: impl Fn(&E) -> T) -> Page<T> {
    let skip = usize::try_from(op.skip).unwrap_or(usize::MAX);
    let count = usize::try_from(op.count_max).unwrap_or(usize::MAX);
    let more = entries.len() > skip.saturating_add(count);
    let entries = match op.order {
        Order::Decreasing => entries.iter().rev().skip(skip).take(count).map(|entry| shown(entry)).collect(),
        _ => entries.iter().skip(skip).take(count).map(|entry| shown(entry)).collect(),
    };
    Page { entries, more }
}

fn missing_link(name: &str) -> Error {
    Error::not_found("find link").with("name", name)
}

impl ContainerState {
    /// Checks that a new link may go there.
    pub(crate) fn check_place(&self, place: &LinkLocation, links_max: u64) -> Result<()> {
        check_name(&place.name)?;
        let group = self.group(place.group)?;
        if group.get(&place.name).is_some() {
            return Err(Error::exists("create link").with("name", &place.name));
        }
        if group.entries.len() as u64 >= links_max {
            return Err(Error::limit("create link").with("limit", links_max));
        }
        Ok(())
    }

    /// Creates a link at a place that was checked.
    pub(crate) fn link(&mut self, place: &LinkLocation, target: LinkTarget) -> Result<()> {
        if let Some(token) = hard(&target) {
            self.add_reference(token)?;
        }
        self.group_mut(place.group)?.add(&place.name, place.charset, target);
        self.object_mut(place.group)?.touch();
        Ok(())
    }

    pub(crate) fn group_info(&self, token: Token) -> Result<GroupInfo> {
        let group = self.group(token)?;
        Ok(GroupInfo {
            links: group.entries.len() as u64,
            creation_order_next: group.created_next,
            create: group.create.clone(),
        })
    }

    pub(crate) fn link_create(&mut self, op: &OpLinkCreate, links_max: u64) -> Result<()> {
        match &op.target {
            LinkTarget::Hard(token) => drop(self.object(*token)?),
            LinkTarget::Soft(path) if path.is_empty() => {
                return Err(Error::invalid("create soft link to nothing"));
            }
            LinkTarget::External { file, path } if file.is_empty() || path.is_empty() => {
                return Err(Error::invalid("create external link to nothing"));
            }
            LinkTarget::User { class, .. } if *class < USER_CLASS_MIN => {
                return Err(Error::invalid("create user-defined link").with("class", class));
            }
            _ => {}
        }
        self.check_place(&op.place, links_max)?;
        self.link(&op.place, op.target.clone())
    }

    pub(crate) fn link_get(&self, group: Token, name: &str) -> Result<Option<Link>> {
        let group = self.group(group)?;
        Ok(group.get(name).map(|entry| group.shown(entry)))
    }

    pub(crate) fn link_list(&self, group: Token, op: &OpList) -> Result<Page<Link>> {
        self.group(group)?.list(op)
    }

    pub(crate) fn link_delete(&mut self, token: Token, name: &str) -> Result<()> {
        let group = self.group_mut(token)?;
        let entry = group.entries.remove(&text::to_bytes(name)).ok_or_else(|| missing_link(name))?;
        if group.entries.is_empty() {
            // As in libhdf5, an empty group counts from the start.
            group.created_next = 0;
        }
        self.object_mut(token)?.touch();
        if let Some(token) = hard(&entry.target) {
            self.drop_reference(token);
        }
        Ok(())
    }

    pub(crate) fn link_move(&mut self, op: &OpLinkMove, links_max: u64) -> Result<()> {
        let entry = self.group(op.from)?.get(&op.name).ok_or_else(|| missing_link(&op.name))?;
        let target = entry.target.clone();
        self.check_place(&op.to, links_max)?;
        self.link(&op.to, target)?;
        match op.copy {
            true => Ok(()),
            false => self.link_delete(op.from, &op.name),
        }
    }
}
