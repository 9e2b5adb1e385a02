//! Listings of links and attributes: sorted, in pages, and charged to the account of their file.

use std::borrow::Cow;

use model::{Budget, Charge, Error, Index, Link, LinkTarget, Order, Result, text};
use system::sync::Mutex;
use vol::{AttributeInfo, OpList, Page};

/// An entry of a listing.
pub(crate) trait Listed: Clone {
    fn name(&self) -> &str;
    /// Returns the position in creation order, where it is tracked.
    fn creation_order(&self) -> Option<i64>;
}

impl Listed for &Link {
    fn name(&self) -> &str {
        &self.name
    }
    fn creation_order(&self) -> Option<i64> {
        self.creation_order
    }
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

/// The memory of a listing that is being created, on several threads where that pays.
#[derive(Debug)]
pub(crate) struct Tally(Mutex<Charge>);

impl Tally {
    /// Returns an empty listing, for which nothing is charged yet.
    pub(crate) fn new(budget: &Budget) -> Self {
        Tally(Mutex::new(budget.empty_charge()))
    }

    /// Charges `bytes` more.
    ///
    /// # Errors
    /// Returns an error of kind `Limit` if the account has no more.
    pub(crate) fn add(&self, bytes: u64) -> Result<()> {
        let mut charge = self.0.lock();
        let sum = charge.bytes().saturating_add(bytes);
        charge.resize(sum, "listing")
    }

    /// Collects entries, which are charged before many of them are there.
    pub(crate) fn collect<T>(
        &self,
        entries: impl Iterator<Item = Result<T>>,
        bytes: impl Fn(&T) -> u64,
    ) -> Result<Vec<T>> {
        let (mut list, mut waiting) = (Vec::new(), 0);
        for entry in entries {
            let entry = entry?;
            waiting += bytes(&entry);
            list.push(entry);
            if waiting > UNCHARGED_BYTES_MAX {
                self.add(std::mem::take(&mut waiting))?;
            }
        }
        self.add(waiting)?;
        Ok(list)
    }

    /// Returns the entries with all that was charged for them.
    pub(crate) fn finish<T>(self, entries: Vec<T>) -> Entries<T> {
        let charge = self.0.into_inner();
        Entries { list: entries, _charge: charge }
    }
}

/// So much may be there before it is charged.
const UNCHARGED_BYTES_MAX: u64 = 64 << 10;

/// The entries of a listing, charged as long as they are held.
#[derive(Debug)]
pub(crate) struct Entries<T> {
    list: Vec<T>,
    _charge: Charge,
}

impl<T> Entries<T> {
    /// Returns the entries; from now on their memory is the caller's affair.
    pub(crate) fn into_inner(self) -> Vec<T> {
        self.list
    }

    pub(crate) fn list_mut(&mut self) -> &mut Vec<T> {
        &mut self.list
    }
}

impl<T> std::ops::Deref for Entries<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.list
    }
}

/// Returns the number of bytes of memory that a link takes.
pub(crate) fn link_bytes(link: &Link) -> u64 {
    let target = match &link.target {
        LinkTarget::Hard(_) => 0,
        LinkTarget::Soft(path) => path.len(),
        LinkTarget::External { file, path } => file.len() + path.len(),
        LinkTarget::User { data, .. } => data.len(),
    };
    (size_of::<Link>() + link.name.len() + target) as u64
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

/// Sorts entries by the bytes of their names in the file.
pub(crate) fn sort_by_name<T: Listed>(entries: &mut [T]) {
    match entries.iter().all(|e| matches!(text::as_bytes(e.name()), Cow::Borrowed(_))) {
        true => sort_plain(entries),
        false => entries.sort_by_cached_key(|e| text::to_bytes(e.name())),
    }
}

/// Names of a large group have much in common: what differs is compared as a number, and seldom needs a second look.
fn sort_plain<T: Listed>(entries: &mut [T]) {
    let Some(first) = entries.first().map(|e| e.name().as_bytes()) else { return };
    let same = |name: &[u8]| first.iter().zip(name).take_while(|(a, b)| a == b).count();
    let common = entries.iter().map(|e| same(e.name().as_bytes())).min().unwrap_or(0);
    let mut order: Vec<(u64, usize)> = entries.iter().map(|e| number_at(e.name(), common)).zip(0..).collect();
    let names = |a: usize, b: usize| entries[a].name().cmp(entries[b].name());
    order.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| names(a.1, b.1)));
    arrange(entries, &mut order);
}

/// Eight bytes of a name, as a number that compares as they do; a name that ends comes first.
fn number_at(name: &str, start: usize) -> u64 {
    let rest = &name.as_bytes()[start.min(name.len())..];
    let mut bytes = [0; 8];
    let len = rest.len().min(8);
    bytes[..len].copy_from_slice(&rest[..len]);
    u64::from_be_bytes(bytes)
}

/// Puts every entry where `order` has its place, one circle after another.
fn arrange<T>(entries: &mut [T], order: &mut [(u64, usize)]) {
    for start in 0..order.len() {
        let mut at = start;
        while order[at].1 != start {
            let from = order[at].1;
            entries.swap(at, from);
            order[at].1 = at;
            at = from;
        }
        order[at].1 = at;
    }
}

/// Returns the part of a listing that was asked for.
pub(crate) fn page<T: Listed>(all: &[T], op: &OpList) -> Page<T> {
    let skip = usize::try_from(op.skip).unwrap_or(usize::MAX).min(all.len());
    let count = usize::try_from(op.count_max).unwrap_or(usize::MAX);
    let entries: Vec<T> = all[skip..].iter().take(count).cloned().collect();
    Page { more: skip + entries.len() < all.len(), entries }
}

#[cfg(test)]
mod tests {
    use model::{CharacterSet, LinkTarget};
    use proptest::prelude::*;

    use super::*;

    fn link(name: &str) -> Link {
        let target = LinkTarget::Soft(name.to_owned());
        Link { name: name.to_owned(), target, charset: CharacterSet::Ascii, creation_order: None }
    }

    proptest! {
        #[test]
        fn names_are_sorted_by_their_bytes(prefix in "[a-c]{0,9}", names in prop::collection::hash_set("[a-cé]{0,12}", 0..40)) {
            let mut names: Vec<String> = names.into_iter().map(|name| format!("{prefix}{name}")).collect();
            let mut links: Vec<Link> = names.iter().map(|name| link(name)).collect();
            sort_by_name(&mut links);
            names.sort();
            prop_assert_eq!(links.iter().map(|l| l.name.clone()).collect::<Vec<_>>(), names);
            prop_assert!(links.iter().all(|l| l.target == LinkTarget::Soft(l.name.clone())));
        }
    }
}
