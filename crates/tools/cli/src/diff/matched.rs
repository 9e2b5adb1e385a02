//! Which paths two lists share.

use super::options::Exclusions;
use super::walk::Entry;

/// A path that is in one list or in both: the places of its entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Match {
    pub(crate) first: Option<usize>,
    pub(crate) second: Option<usize>,
    /// The path below the groups that are compared.
    pub(crate) name: String,
}

/// Walks over both lists at once, as over sorted ones. Each list comes with the length of its group's own path.
pub(crate) fn matches(
    first: (&[Entry], usize),
    second: (&[Entry], usize),
    excluded: &mut Exclusions,
) -> Vec<Match> {
    let name = |(entries, start): (&[Entry], usize), at: usize| -> Option<String> {
        entries.get(at).map(|entry| entry.path.get(start..).unwrap_or("").to_owned())
    };
    let (mut a, mut b, mut found) = (0, 0, Vec::new());
    loop {
        let (left, right) = (name(first, a), name(second, b));
        let (take_left, take_right) = match (&left, &right) {
            (None, None) => return found,
            (Some(left), Some(right)) => (left <= right, right <= left),
            _ => (left.is_some(), right.is_some()),
        };
        let entry = if take_left { &first.0[a] } else { &second.0[b] };
        let name = if take_left { left } else { right }.unwrap_or_default();
        if !excluded.contains(&name, entry.what.is_group()) {
            found.push(Match { first: take_left.then_some(a), second: take_right.then_some(b), name });
        }
        a += usize::from(take_left);
        b += usize::from(take_right);
    }
}

/// How many characters of a group's path stand before the names in it.
pub(crate) fn prefix(group: &str) -> usize {
    if group == "/" { 0 } else { group.len() }
}

#[cfg(test)]
mod tests {
    use hyperslab::LinkTarget;

    use super::super::walk::What;
    use super::*;

    fn list(paths: &[&str]) -> Vec<Entry> {
        let what = What::Link(LinkTarget::Soft(String::new()));
        paths.iter().map(|p| Entry { path: (*p).to_owned(), what: what.clone() }).collect()
    }

    #[test]
    fn paths_of_one_list_only_keep_their_order() {
        let (a, b) = (list(&["/g", "/g/a", "/g/c"]), list(&["/", "/a", "/b"]));
        let found = matches((&a, prefix("/g")), (&b, prefix("/")), &mut Exclusions::default());
        let shown: Vec<_> = found.iter().map(|m| (m.first, m.second, &*m.name)).collect();
        let expected =
            [(Some(0), None, ""), (None, Some(0), "/"), (Some(1), Some(1), "/a"), (None, Some(2), "/b")];
        assert_eq!(shown[..4], expected);
        assert_eq!(shown[4], (Some(2), None, "/c"));
    }
}
