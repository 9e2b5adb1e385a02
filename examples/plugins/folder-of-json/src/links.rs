//! Groups and links.

use std::collections::BTreeMap;

use model::link::check_name;
use model::properties::GroupCreate;
use model::{CharacterSet, Error, Index, Link, LinkTarget, Order, Result, Token};
use vol::{LinkLocation, OpLinkCreate, OpLinkMove, OpList, Page};

use crate::objects::{State, check_order};

/// A group: links by name.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) create: GroupCreate,
    pub(crate) links: BTreeMap<String, Entry>,
}

/// What stands behind a name.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) target: LinkTarget,
    pub(crate) charset: CharacterSet,
}

impl Group {
    pub(crate) fn new(create: GroupCreate) -> Result<Self> {
        check_order(&[create.link_order, create.object.attribute_order])?;
        Ok(Group { create, links: BTreeMap::new() })
    }

    pub(crate) fn hard_links(&self) -> impl Iterator<Item = Token> {
        self.links.values().filter_map(|entry| hard(&entry.target))
    }
}

fn hard(target: &LinkTarget) -> Option<Token> {
    match target {
        LinkTarget::Hard(token) => Some(*token),
        _ => None,
    }
}

fn shown((name, entry): (&String, &Entry)) -> Link {
    Link { name: name.clone(), target: entry.target.clone(), charset: entry.charset, creation_order: None }
}

fn missing(name: &str) -> Error {
    Error::not_found("find link").with("name", name)
}

/// Returns a page of entries that come in increasing order of their names.
pub(crate) fn page<T>(entries: impl DoubleEndedIterator<Item = T>, op: &OpList) -> Result<Page<T>> {
    if op.index == Index::CreationOrder {
        return Err(Error::unsupported("list by creation order"));
    }
    let skip = usize::try_from(op.skip).unwrap_or(usize::MAX);
    let count = usize::try_from(op.count_max).unwrap_or(usize::MAX);
    let cut = |entries: &mut dyn Iterator<Item = T>| {
        let mut rest = entries.skip(skip);
        let entries = rest.by_ref().take(count).collect();
        Page { entries, more: rest.next().is_some() }
    };
    Ok(match op.order {
        Order::Decreasing => cut(&mut entries.rev()),
        Order::Increasing | Order::Native => cut(&mut { entries }),
    })
}

impl State {
    /// Whether a new link may go there.
    pub(crate) fn check_place(&self, place: &LinkLocation, links_max: u64) -> Result<()> {
        check_name(&place.name)?;
        let group = self.group(place.group)?;
        if group.links.contains_key(&place.name) {
            return Err(Error::exists("create link").with("name", &place.name));
        }
        match (group.links.len() as u64) < links_max {
            true => Ok(()),
            false => Err(Error::limit("create link").with("limit", links_max)),
        }
    }

    /// Creates a link at a place that was checked.
    pub(crate) fn link(&mut self, place: &LinkLocation, target: LinkTarget) -> Result<()> {
        if let Some(token) = hard(&target) {
            let object = self.object_mut(token)?;
            let more = object.references.checked_add(1);
            object.references = more.ok_or_else(|| Error::limit("count references").with("token", token))?;
        }
        let entry = Entry { target, charset: place.charset };
        self.group_mut(place.group)?.links.insert(place.name.clone(), entry);
        Ok(())
    }

    pub(crate) fn link_create(&mut self, op: &OpLinkCreate, links_max: u64) -> Result<()> {
        match &op.target {
            LinkTarget::Hard(token) => drop(self.object(*token)?),
            LinkTarget::Soft(path) if path.is_empty() => {
                return Err(Error::invalid("create soft link to nothing"));
            }
            LinkTarget::Soft(_) => {}
            LinkTarget::External { .. } => return Err(Error::unsupported("create external link")),
            LinkTarget::User { .. } => return Err(Error::unsupported("create user-defined link")),
        }
        self.check_place(&op.place, links_max)?;
        self.link(&op.place, op.target.clone())
    }

    pub(crate) fn link_get(&self, group: Token, name: &str) -> Result<Option<Link>> {
        Ok(self.group(group)?.links.get_key_value(name).map(shown))
    }

    pub(crate) fn link_list(&self, group: Token, op: &OpList) -> Result<Page<Link>> {
        page(self.group(group)?.links.iter().map(shown), op)
    }

    pub(crate) fn link_delete(&mut self, group: Token, name: &str) -> Result<()> {
        let entry = self.group_mut(group)?.links.remove(name).ok_or_else(|| missing(name))?;
        if let Some(token) = hard(&entry.target) {
            self.drop_reference(token);
        }
        Ok(())
    }

    pub(crate) fn link_move(&mut self, op: &OpLinkMove, links_max: u64) -> Result<()> {
        let entry = self.group(op.from)?.links.get(&op.name).ok_or_else(|| missing(&op.name))?;
        let target = entry.target.clone();
        self.check_place(&op.to, links_max)?;
        self.link(&op.to, target)?;
        match op.copy {
            true => Ok(()),
            false => self.link_delete(op.from, &op.name),
        }
    }
}
