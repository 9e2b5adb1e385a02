//! Listings of links and attributes: sorted, in pages.

use std::borrow::Cow;

use model::{Error, Index, Link, Order, Result, text};
use vol::{AttributeInfo, OpList, Page};

/// What can be listed.
pub(crate) trait Listed: Clone {
    fn name(&self) -> &str;
    /// Position in creation order, where it is tracked.
    fn creation_order(&self) -> Option<i64>;
}

impl Listed for Link {
    fn name(&self) -> &str {
        &self.name
    }
    fn creation_order(&self) -> Option<i64> {
        self.creation_order
    }
}

impl Listed for AttributeInfo {
    fn name(&self) -> &str {
        &self.name
    }
    fn creation_order(&self) -> Option<i64> {
        self.creation_order.map(i64::from)
    }
}

/// Sorts as a listing asks. By creation order only where that is tracked, as in libhdf5.
pub(crate) fn sort<T: Listed>(entries: &mut [T], op: &OpList) -> Result<()> {
    match op.index {
        Index::CreationOrder if entries.iter().any(|e| e.creation_order().is_none()) => {
            return Err(Error::invalid("list by creation order").with("problem", "it is not tracked here"));
        }
        Index::CreationOrder => entries.sort_by_key(Listed::creation_order),
        Index::Name if op.order == Order::Native => {}
        Index::Name => sort_by_name(entries),
    }
    if op.order == Order::Decreasing {
        entries.reverse();
    }
    Ok(())
}

/// By the bytes of names in the file.
fn sort_by_name<T: Listed>(entries: &mut [T]) {
    match entries.iter().all(|e| matches!(text::as_bytes(e.name()), Cow::Borrowed(_))) {
        true => entries.sort_unstable_by(|a, b| a.name().cmp(b.name())),
        false => entries.sort_by_cached_key(|e| text::to_bytes(e.name())),
    }
}

/// The part of a listing that was asked for.
pub(crate) fn page<T: Listed>(all: &[T], op: &OpList) -> Page<T> {
    let skip = usize::try_from(op.skip).unwrap_or(usize::MAX).min(all.len());
    let count = usize::try_from(op.count_max).unwrap_or(usize::MAX);
    let entries: Vec<T> = all[skip..].iter().take(count).cloned().collect();
    Page { more: skip + entries.len() < all.len(), entries }
}
