//! Listings: every index, every order, in pages.

use model::{Dataspace, Index, Kind, Order, Result};
use vol::OpList;

use crate::kit::*;
use crate::{Case, Subject};

super::suite! { "listing":
    |_| true => links_by_name_increasing, links_by_name_decreasing, names_are_sorted_by_their_bytes,
        native_order_lists_every_link_once, pages_of_links_join_to_the_whole, decreasing_pages_join_to_the_whole,
        page_past_the_end_is_empty, page_of_no_entries_tells_that_more_follow, last_page_tells_that_nothing_follows;
    |c| c.creation_order => links_by_creation_increasing, links_by_creation_decreasing,
        links_by_creation_after_deleting, creation_order_of_links_not_tracked_is_refused,
        pages_by_creation_join_to_the_whole;
    |c| c.attributes => attributes_by_name_both_ways, pages_of_attributes_join_to_the_whole;
    |c| c.attributes && c.creation_order => attributes_by_creation_both_ways,
        creation_order_of_attributes_not_tracked_is_refused;
}

const NAMES: [&str; 5] = ["m", "z", "a", "k", "b"];

fn with_links(s: &Subject) -> Result<Case<'_>> {
    let is_ordered = s.capability()?.creation_order;
    let c = if is_ordered { s.fresh_with(&ordered_file())? } else { s.fresh()? };
    for name in NAMES {
        c.group(c.root()?, name)?;
    }
    Ok(c)
}

fn listed(c: &Case<'_>, index: Index, order: Order) -> Result<Vec<String>> {
    c.link_names(c.root()?, &OpList { index, order, ..OpList::default() })
}

/// Returns all names, fetched two at a time.
fn paged(c: &Case<'_>, index: Index, order: Order) -> Result<Vec<String>> {
    let (mut names, mut skip) = (Vec::new(), 0);
    loop {
        let page = c.link_list(c.root()?, &OpList { index, order, skip, count_max: 2 })?;
        skip += page.entries.len() as u64;
        names.extend(page.entries.into_iter().map(|link| link.name));
        if !page.more {
            return Ok(names);
        }
        holds(skip <= NAMES.len() as u64, "pages end")?;
    }
}

fn links_by_name_increasing(s: &Subject) -> Result<()> {
    same(listed(&with_links(s)?, Index::Name, Order::Increasing)?, ["a", "b", "k", "m", "z"])
}

fn links_by_name_decreasing(s: &Subject) -> Result<()> {
    same(listed(&with_links(s)?, Index::Name, Order::Decreasing)?, ["z", "m", "k", "b", "a"])
}

fn names_are_sorted_by_their_bytes(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    for name in ["é", "a", "Z", "aa", "a b", "10", "9"] {
        c.group(c.root()?, name)?;
    }
    same(listed(&c, Index::Name, Order::Increasing)?, ["10", "9", "Z", "a", "a b", "aa", "é"])
}

fn native_order_lists_every_link_once(s: &Subject) -> Result<()> {
    let mut names = listed(&with_links(s)?, Index::Name, Order::Native)?;
    names.sort();
    same(names, ["a", "b", "k", "m", "z"])
}

fn pages_of_links_join_to_the_whole(s: &Subject) -> Result<()> {
    same(paged(&with_links(s)?, Index::Name, Order::Increasing)?, ["a", "b", "k", "m", "z"])
}

fn decreasing_pages_join_to_the_whole(s: &Subject) -> Result<()> {
    same(paged(&with_links(s)?, Index::Name, Order::Decreasing)?, ["z", "m", "k", "b", "a"])
}

fn page_past_the_end_is_empty(s: &Subject) -> Result<()> {
    let c = with_links(s)?;
    for skip in [5, 6, u64::MAX] {
        let page = c.link_list(c.root()?, &OpList { skip, ..OpList::default() })?;
        same((page.entries.len(), page.more), (0, false))?;
    }
    Ok(())
}

fn page_of_no_entries_tells_that_more_follow(s: &Subject) -> Result<()> {
    let c = with_links(s)?;
    let page = c.link_list(c.root()?, &OpList { count_max: 0, ..OpList::default() })?;
    same((page.entries.len(), page.more), (0, true))
}

fn last_page_tells_that_nothing_follows(s: &Subject) -> Result<()> {
    let c = with_links(s)?;
    let page = c.link_list(c.root()?, &OpList { skip: 3, count_max: 2, ..OpList::default() })?;
    same((page.entries.len(), page.more), (2, false))?;
    let page = c.link_list(c.root()?, &OpList { count_max: u64::MAX, ..OpList::default() })?;
    same((page.entries.len(), page.more), (5, false))
}

fn links_by_creation_increasing(s: &Subject) -> Result<()> {
    same(listed(&with_links(s)?, Index::CreationOrder, Order::Increasing)?, NAMES)
}

fn links_by_creation_decreasing(s: &Subject) -> Result<()> {
    same(listed(&with_links(s)?, Index::CreationOrder, Order::Decreasing)?, ["b", "k", "a", "z", "m"])
}

fn links_by_creation_after_deleting(s: &Subject) -> Result<()> {
    let c = with_links(s)?;
    c.link_delete(c.root()?, "z")?;
    c.group(c.root()?, "z")?;
    same(listed(&c, Index::CreationOrder, Order::Increasing)?, ["m", "a", "k", "b", "z"])
}

fn creation_order_of_links_not_tracked_is_refused(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let group = c.group(c.root()?, "g")?;
    c.group(group, "x")?;
    same(some(c.link_get(group, "x")?)?.creation_order, None)?;
    fails(c.link_list(group, &OpList { index: Index::CreationOrder, ..OpList::default() }), Kind::Invalid)
}

fn pages_by_creation_join_to_the_whole(s: &Subject) -> Result<()> {
    let c = with_links(s)?;
    same(paged(&c, Index::CreationOrder, Order::Increasing)?, NAMES)?;
    same(paged(&c, Index::CreationOrder, Order::Decreasing)?, ["b", "k", "a", "z", "m"])
}

fn with_attributes(s: &Subject) -> Result<Case<'_>> {
    let is_ordered = s.capability()?.creation_order;
    let c = if is_ordered { s.fresh_with(&ordered_file())? } else { s.fresh()? };
    for name in NAMES {
        c.attribute(c.root()?, name, 1)?;
    }
    Ok(c)
}

fn attributes_by(c: &Case<'_>, index: Index, order: Order) -> Result<Vec<String>> {
    c.attribute_names(c.root()?, &OpList { index, order, ..OpList::default() })
}

fn attributes_by_name_both_ways(s: &Subject) -> Result<()> {
    let c = with_attributes(s)?;
    same(attributes_by(&c, Index::Name, Order::Increasing)?, ["a", "b", "k", "m", "z"])?;
    same(attributes_by(&c, Index::Name, Order::Decreasing)?, ["z", "m", "k", "b", "a"])
}

fn pages_of_attributes_join_to_the_whole(s: &Subject) -> Result<()> {
    let c = with_attributes(s)?;
    let mut names = Vec::new();
    for skip in [0, 2, 4] {
        let page = c.attribute_list(c.root()?, &OpList { skip, count_max: 2, ..OpList::default() })?;
        same(page.more, skip < 4)?;
        names.extend(page.entries.into_iter().map(|info| info.name));
    }
    same(names, ["a", "b", "k", "m", "z"])
}

fn attributes_by_creation_both_ways(s: &Subject) -> Result<()> {
    let c = with_attributes(s)?;
    same(attributes_by(&c, Index::CreationOrder, Order::Increasing)?, NAMES)?;
    same(attributes_by(&c, Index::CreationOrder, Order::Decreasing)?, ["b", "k", "a", "z", "m"])
}

fn creation_order_of_attributes_not_tracked_is_refused(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let group = c.group(c.root()?, "g")?;
    c.attribute_create(&attribute_op(group, "x", int(), Dataspace::Scalar))?;
    same(some(c.attribute_info(group, "x")?)?.creation_order, None)?;
    fails(
        c.attribute_list(group, &OpList { index: Index::CreationOrder, ..OpList::default() }),
        Kind::Invalid,
    )
}
