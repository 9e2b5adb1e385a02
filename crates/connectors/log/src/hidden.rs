//! The connector's own group at the root and its own attributes of anchors. Users neither see nor create them.

use std::cmp::Ordering;

use model::{Error, Index, Link, Order, Result, Token};
use vol::{AttributeInfo, Container, GroupInfo, LinkLocation, OpList, Page};

use crate::container::LogContainer;
use crate::state::KnownDataset;

/// The group of logs and tables, at the root.
pub(crate) const GROUP: &str = "__LOG";
/// How the names of attributes of anchors begin.
const PREFIX: &str = "__LOG_";
/// The number of a dataset.
pub(crate) const ID: &str = "__LOG_ID";
/// Its extent.
pub(crate) const DIMS: &str = "__LOG_DIMS";
/// How large it may become.
pub(crate) const MAX_DIMS: &str = "__LOG_MAXDIMS";
/// Layout, filters and allocation time that the user asked for.
pub(crate) const PROPERTIES: &str = "__LOG_PROPERTIES";

/// Returns an error where a link would have the name of the connector's own group.
pub(crate) fn check_link(root: Token, group: Token, name: &str) -> Result<()> {
    if group == root && name == GROUP {
        return Err(Error::invalid("create link")
            .with("name", name)
            .with("problem", "the log has this name"));
    }
    Ok(())
}

/// Returns an error where an attribute would have a name of the connector's own.
pub(crate) fn check_attribute(name: &str) -> Result<()> {
    if is_hidden(name) {
        let error = Error::invalid("create attribute").with("name", name);
        return Err(error.with("problem", "such names belong to the log"));
    }
    Ok(())
}

pub(crate) fn is_hidden(name: &str) -> bool {
    name.starts_with(PREFIX)
}

/// Returns a link of the root as a user sees it: without the log's group in the order of creation.
pub(crate) fn shown_link(mut link: Link, own: Option<&Link>) -> Link {
    if let (Some(order), Some(own)) = (&mut link.creation_order, own.and_then(|own| own.creation_order))
        && *order > own
    {
        *order -= 1;
    }
    link
}

/// Returns the root as a user sees it.
pub(crate) fn shown_group(mut info: GroupInfo, own: Option<&Link>) -> GroupInfo {
    if let Some(own) = own {
        info.links = info.links.saturating_sub(1);
        if own.creation_order.is_some() {
            // The log's own link keeps the group's count going where a user sees it emptied.
            info.creation_order_next = if info.links == 0 { 0 } else { info.creation_order_next - 1 };
        }
    }
    info
}

/// Returns a page of the root's links without the log's own.
pub(crate) fn root_links(
    inner: &dyn Container,
    root: Token,
    op: &OpList,
    own: Option<&Link>,
) -> Result<Page<Link>> {
    let Some(own) = own else { return inner.link_list(root, op) };
    let wanted = usize::try_from(op.count_max).unwrap_or(usize::MAX);
    let mut page = inner.link_list(root, &OpList { count_max: op.count_max.saturating_add(1), ..*op })?;
    match page.entries.first() {
        // It stands before this page: everything is one place further.
        Some(first) if op.skip > 0 && position(first, own, op) != Ordering::Less => {
            drop(page.entries.remove(0));
        }
        _ => page.entries.retain(|link| link.name != own.name),
    }
    page.more |= page.entries.len() > wanted;
    page.entries.truncate(wanted);
    let entries = page.entries.into_iter().map(|link| shown_link(link, Some(own))).collect();
    Ok(Page { entries, more: page.more })
}

/// Returns how a link stands to another one in a listing.
fn position(link: &Link, other: &Link, op: &OpList) -> Ordering {
    let ascending = match op.index {
        Index::Name => link.name.as_bytes().cmp(other.name.as_bytes()),
        Index::CreationOrder => link.creation_order.cmp(&other.creation_order),
    };
    if op.order == Order::Decreasing { ascending.reverse() } else { ascending }
}

/// Returns a page of an anchor's attributes without the log's own.
pub(crate) fn attributes(inner: &dyn Container, object: Token, op: &OpList) -> Result<Page<AttributeInfo>> {
    let all = inner.attribute_list(object, &OpList { skip: 0, count_max: u64::MAX, ..*op })?.entries;
    let own = all.iter().filter(|info| is_hidden(&info.name)).count() as u32;
    let shown = all.into_iter().filter(|info| !is_hidden(&info.name));
    let skip = usize::try_from(op.skip).unwrap_or(usize::MAX);
    let mut rest = shown.skip(skip).map(|info| shown_attribute(info, own));
    let wanted = usize::try_from(op.count_max).unwrap_or(usize::MAX);
    let entries: Vec<AttributeInfo> = rest.by_ref().take(wanted).collect();
    Ok(Page { entries, more: rest.next().is_some() })
}

/// Returns an attribute as a user sees it; the log's own were made before.
pub(crate) fn shown_attribute(mut info: AttributeInfo, own: u32) -> AttributeInfo {
    info.creation_order = info.creation_order.map(|order| order.saturating_sub(own));
    info
}

impl LogContainer {
    /// Returns the link to the log's group.
    pub(crate) fn own_link(&self) -> Result<Option<Link>> {
        self.inner().link_get(self.shared().root, GROUP)
    }

    /// Returns a link of the root as a user sees it.
    pub(crate) fn root_link(&self, name: &str) -> Result<Option<Link>> {
        match self.inner().link_get(self.shared().root, name)? {
            // Nothing but the order of creation tells of the log's own link.
            Some(link) if link.creation_order.is_some() => {
                Ok(Some(shown_link(link, self.own_link()?.as_ref())))
            }
            link => Ok(link),
        }
    }

    pub(crate) fn is_root(&self, group: Token) -> bool {
        group == self.shared().root
    }

    /// Returns the attributes of the log's own that an object has.
    pub(crate) fn hidden_attributes(&self, object: Token) -> Result<u32> {
        let names = [ID, DIMS, MAX_DIMS, PROPERTIES];
        if matches!(self.shared().read().known.get(&object), Some(KnownDataset::Logged(_))) {
            return Ok(names.len() as u32);
        }
        if self.inner().attribute_info(object, ID)?.is_none() {
            return Ok(0);
        }
        names
            .iter()
            .try_fold(0, |n, name| Ok(n + u32::from(self.inner().attribute_info(object, name)?.is_some())))
    }

    /// Returns the token of a new object, which is no dataset though one may have had its address before.
    pub(crate) fn made(&self, token: Token) -> Token {
        if self.shared().read().known.contains_key(&token) {
            self.shared().write().known.remove(&token);
        }
        token
    }

    pub(crate) fn check_place(&self, place: Option<&LinkLocation>) -> Result<()> {
        self.check_open()?;
        place.map_or(Ok(()), |place| check_link(self.shared().root, place.group, &place.name))
    }

    pub(crate) fn missing(name: &str, operation: &str) -> Error {
        Error::not_found(operation).with("name", name)
    }
}
