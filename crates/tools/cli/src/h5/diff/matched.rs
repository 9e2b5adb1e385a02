//! Paths that two lists share.

use std::cmp::Ordering;

use super::options::Exclusions;
use super::walk::{Entry, shown};

/// A path that is in one list or in both: the places of its entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Match {
    pub(crate) first: Option<usize>,
    pub(crate) second: Option<usize>,
}

/// A list, and what its own group is called below itself.
pub(crate) type Side<'a> = (&'a [Entry], &'static str);

/// Walks over both lists at once, as over sorted ones.
pub(crate) fn matches(first: Side<'_>, second: Side<'_>, excluded: &mut Exclusions) -> Vec<Match> {
    let (mut a, mut b, mut found) = (0, 0, Vec::new());
    loop {
        let (left, right) = (first.0.get(a), second.0.get(b));
        let order = match (left, right) {
            (None, None) => return found,
            (Some(left), Some(right)) => order((left, first.1), (right, second.1)),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
        };
        let (take_left, take_right) = (order.is_le(), order.is_ge());
        let taken =
            if take_left { left.map(|entry| (entry, first.1)) } else { right.map(|entry| (entry, second.1)) };
        // Only where the user named some is their text of interest: it may be long.
        let is_excluded = |(entry, own): (&Entry, &str)| {
            !excluded.is_empty() && excluded.contains(&name(entry, own), entry.what.is_group())
        };
        if !taken.is_some_and(is_excluded) {
            found.push(Match { first: take_left.then_some(a), second: take_right.then_some(b) });
        }
        a += usize::from(take_left);
        b += usize::from(take_right);
    }
}

fn order((left, own_left): (&Entry, &str), (right, own_right): (&Entry, &str)) -> Ordering {
    match (left.below.depth(), right.below.depth()) {
        (0, 0) => own_left.cmp(own_right),
        (0, _) => Ordering::Less,
        (_, 0) => Ordering::Greater,
        _ => left.below.cmp(&right.below),
    }
}

/// Returns the path below the group that is compared, as text.
pub(crate) fn name(entry: &Entry, own: &str) -> String {
    if entry.below.depth() == 0 { own.to_owned() } else { shown(&entry.below) }
}

/// Returns what a group that is compared is called below itself.
pub(crate) fn own_name(group: &str) -> &'static str {
    if group == "/" { "/" } else { "" }
}

#[cfg(test)]
mod tests {
    use hyperslab::LinkTarget;

    use super::super::walk::{List, What};
    use super::*;

    fn list(paths: &[&str]) -> Vec<Entry> {
        let what = What::Link(LinkTarget::Soft(String::new()));
        let mut list = List::single("", what.clone());
        paths.iter().for_each(|path| list.push(path, what.clone()));
        list.entries
    }

    #[test]
    fn paths_of_one_list_only_keep_their_order() {
        let (a, b) = (list(&["a", "c"]), list(&["a", "b"]));
        let found = matches((&a, own_name("/g")), (&b, own_name("/")), &mut Exclusions::default());
        let shown: Vec<_> = found.iter().map(|m| (m.first, m.second)).collect();
        let expected =
            [(Some(0), None), (None, Some(0)), (Some(1), Some(1)), (None, Some(2)), (Some(2), None)];
        assert_eq!(shown, expected);
    }
}
