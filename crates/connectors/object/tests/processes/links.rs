//! Links that processes create, rename and delete in one group at the same time.

use std::collections::BTreeSet;

use model::properties::{CreationOrder, GroupCreate};
use model::{Index, LinkTarget, Token};
use vol::{Container, LinkLocation, OpGroupCreate, OpLinkCreate, OpLinkMove, OpList};

use crate::kit::dataset;
use crate::{WRITERS, count, with_writers, writer};

fn rounds() -> usize {
    count("HYPERSLAB_CEPH_LINKS", 60)
}

/// What becomes of a link, by its number.
fn final_name(number: usize, n: usize) -> Option<String> {
    match n % 4 {
        0 => Some(format!("{number} {n}")),
        1 => Some(format!("{number} {n} renamed")),
        _ => None,
    }
}

pub(crate) fn find(c: &dyn Container, name: &str) -> Token {
    vol::path::token(c, c.info().unwrap().root, name, 16).unwrap()
}

#[test]
#[ignore = "it is one of several"]
fn change() {
    let Some((c, number)) = writer() else { return };
    let (group, common) = (find(&*c, "shared"), find(&*c, "common"));
    for n in 0..rounds() {
        let name = format!("{number} {n}");
        let place = LinkLocation::new(group, name.clone());
        // Half of the links lead to an object that all processes link to.
        match n % 2 {
            0 => c.link_create(&OpLinkCreate { place, target: LinkTarget::Hard(common) }).unwrap(),
            _ => drop(dataset(&*c, place, &[4], &[4]).unwrap()),
        }
        match final_name(number, n) {
            None => c.link_delete(group, &name).unwrap(),
            Some(to) if to != name => {
                let to = LinkLocation::new(group, to);
                c.link_move(&OpLinkMove { from: group, name, to, copy: false }).unwrap();
            }
            Some(_) => {}
        }
    }
    c.close().unwrap();
}

#[test]
fn a_group_that_four_processes_change_has_its_links_and_counts() {
    let create = |c: &dyn Container| {
        let root = c.info().unwrap().root;
        let create = GroupCreate { link_order: CreationOrder::Tracked, ..GroupCreate::default() };
        c.group_create(&OpGroupCreate { place: Some(LinkLocation::new(root, "shared")), create }).unwrap();
        dataset(c, LinkLocation::new(root, "common"), &[4], &[4]).unwrap();
    };
    with_writers("links::change", create, |c| {
        let group = find(c, "shared");
        let all = (0..WRITERS).flat_map(|number| (0..rounds()).filter_map(move |n| final_name(number, n)));
        let expected: BTreeSet<String> = all.collect();
        assert_eq!(c.group_info(group).unwrap().links, expected.len() as u64);
        let by_creation = OpList { index: Index::CreationOrder, count_max: u64::MAX, ..OpList::default() };
        let links = c.link_list(group, &by_creation).unwrap().entries;
        assert_eq!(links.iter().map(|link| link.name.clone()).collect::<BTreeSet<_>>(), expected);
        let places: BTreeSet<_> = links.iter().map(|link| link.creation_order).collect();
        assert_eq!(places.len(), links.len(), "two links have one place in the order");
        let common = find(c, "common");
        let to_common = links.iter().filter(|link| link.target == LinkTarget::Hard(common)).count() as u32;
        assert_eq!(c.object_info(common).unwrap().references, to_common + 1);
    });
}
