//! Links of groups: found by name, and listed.

use std::sync::Arc;

use model::{Context, Index, Link, Order, Result, Token};
use system::sync::MutexGuard;
use vol::{OpList, Page};

use super::{NativeContainer, View, address};
use crate::listing::{self, Entries};
use crate::object::group;

/// The links of the group that was listed last, sorted: pages of one listing come one after another.
#[derive(Debug)]
pub(super) struct Listing {
    group: Token,
    op: (Index, Order),
    links: Arc<Entries<Link>>,
}

pub(super) fn find(c: &NativeContainer, group: Token, name: &str) -> Result<Option<Link>> {
    let stored = |view: &View<'_>| {
        let header = view.header(group)?;
        view.file.steady(|| group::find(view.file, &header, name))
    };
    c.look(group, |writer| writer.objects.link(address(group), name), stored)
}

pub(super) fn list(c: &NativeContainer, group: Token, op: &OpList) -> Result<Page<Link>> {
    let links = links(c, group, op)?;
    let is_one_page = op.skip == 0 && links.len() as u64 <= op.count_max;
    match Arc::try_unwrap(links) {
        // It was not kept, and need not be copied.
        Ok(links) if is_one_page => Ok(Page { entries: links.into_inner(), more: false }),
        Ok(links) => Ok(listing::page(&links, op)),
        Err(links) => Ok(listing::page(&links, op)),
    }
}

fn links(c: &NativeContainer, group: Token, op: &OpList) -> Result<Arc<Entries<Link>>> {
    let key = (op.index, op.order);
    let cacheable = !c.file.store.may_change();
    if let Some(last) = &*last_listing(c)
        && last.group == group
        && last.op == key
    {
        return Ok(last.links.clone());
    }
    let mut links = all_links(c, group)?;
    listing::sort(links.list_mut(), op)?;
    let links = Arc::new(links);
    let is_one_page = op.skip == 0 && links.len() as u64 <= op.count_max;
    if cacheable && !is_one_page {
        *last_listing(c) = Some(Listing { group, op: key, links: links.clone() });
    }
    Ok(links)
}

fn all_links(c: &NativeContainer, group: Token) -> Result<Entries<Link>> {
    let stored = |view: &View<'_>| {
        let header = view.header(group)?;
        view.file.steady(|| group::links(view.file, &header)).during_at("list links", group.to_u64())
    };
    c.look(group, |writer| writer.objects.all_links(address(group)), stored)
}

fn last_listing(c: &NativeContainer) -> MutexGuard<'_, Option<Listing>> {
    c.listing.lock()
}
