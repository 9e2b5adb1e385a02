//! Many small objects, most of which are alike.

use std::collections::BTreeMap;

use model::properties::{CreationOrder, DatasetCreate, GroupCreate, ObjectCreate, PhaseChange};
use model::{LinkTarget, Selection, Token};
use vol::{Container, Durability, LibVersion, LinkLocation, OpGroupCreate, OpLinkCreate};

use crate::bounds::{BOUNDS, assert_read, create, reopen};
use crate::life::{attribute, dataset, group, ints, put, simple, snapshot};
use crate::others::{Folder, has_h5py};

/// More than wait in memory.
const GROUPS: usize = 600;

/// Creation properties whose headers differ.
fn properties() -> Vec<GroupCreate> {
    let plain = GroupCreate::default();
    let untimed = ObjectCreate { track_times: false, ..ObjectCreate::default() };
    let ordered = ObjectCreate { attribute_order: CreationOrder::Indexed, ..ObjectCreate::default() };
    let phase = PhaseChange { compact_max: 3, dense_min: 2 };
    vec![
        plain.clone(),
        GroupCreate { object: untimed, ..plain.clone() },
        GroupCreate { object: ordered, ..plain.clone() },
        GroupCreate { link_order: CreationOrder::Tracked, ..plain.clone() },
        GroupCreate { link_order: CreationOrder::Indexed, link_phase: phase, ..plain.clone() },
        GroupCreate { entries_expected: 7, ..plain },
    ]
}

/// Groups of all properties, one after the other, and then several of each; some change at once, others later.
fn make(c: &dyn Container, root: Token) -> BTreeMap<String, GroupCreate> {
    let properties = properties();
    let mut made = BTreeMap::new();
    let mut tokens = Vec::new();
    for n in 0..GROUPS {
        let create = &properties[if n < GROUPS / 2 { n } else { n / 20 } % properties.len()];
        let name = format!("group {n}");
        let op = OpGroupCreate { place: Some(LinkLocation::new(root, &name)), create: create.clone() };
        let token = c.group_create(&op).unwrap();
        match n % 7 {
            1 => attribute(c, token, "number", n as i32).unwrap(),
            2 => drop(group(c, token, "inside").unwrap()),
            3 => {
                let target = LinkTarget::Hard(token);
                c.link_create(&OpLinkCreate { place: LinkLocation::new(root, format!("again {n}")), target })
                    .unwrap();
                made.insert(format!("again {n}"), create.clone());
            }
            4 => assert_eq!(c.link_get(token, "inside").unwrap(), None),
            5 => assert_eq!(c.group_info(token).unwrap().links, 0),
            _ => {}
        }
        made.insert(name, create.clone());
        tokens.push(token);
    }
    for (n, &token) in tokens.iter().enumerate().filter(|(n, _)| n % 11 == 0) {
        attribute(c, token, "later", n as i32).unwrap();
        group(c, token, "added").unwrap();
    }
    c.group_create(&OpGroupCreate {
        place: Some(LinkLocation::new(root, "group 0")),
        ..OpGroupCreate::default()
    })
    .expect_err("the name is taken");
    made
}

fn assert_properties(c: &dyn Container, low: LibVersion, made: &BTreeMap<String, GroupCreate>) {
    let root = c.info().unwrap().root;
    for (name, create) in made {
        let LinkTarget::Hard(token) = c.link_get(root, name).unwrap().unwrap().target else {
            panic!("{name}")
        };
        let found = c.group_info(token).unwrap().create;
        assert_eq!(found.link_order, create.link_order, "{name}");
        assert_eq!(found.object.attribute_order, create.object.attribute_order, "{name}");
        let is_old = low == LibVersion::Earliest && create.link_order == CreationOrder::Untracked;
        if !is_old {
            assert_eq!(
                (found.link_phase, found.entries_expected),
                (create.link_phase, create.entries_expected)
            );
        }
        if low != LibVersion::Earliest {
            assert_eq!(found.object.track_times, create.object.track_times, "{name}");
        }
    }
}

#[test]
fn groups_that_are_alike_and_groups_that_are_not() {
    let folder = Folder::new("many");
    let can_ask = has_h5py();
    for low in BOUNDS {
        let path = folder.at(&format!("{low:?}.h5"));
        let c = create(&path, low);
        let made = make(&*c, c.info().unwrap().root);
        assert_properties(&*c, low, &made);
        let before = snapshot(&*c);
        c.commit(Durability::None).unwrap();
        let copy = folder.at(&format!("{low:?} committed.h5"));
        std::fs::copy(&path, &copy).unwrap();
        c.close().unwrap();
        let again = reopen(&path, low);
        assert_eq!(snapshot(&*again), before);
        assert_properties(&*again, low, &made);
        again.close().unwrap();
        if can_ask {
            assert_read(&path, low);
            // It says that it is open for writing: a caller that asks for it clears that first.
            let access = vol::FileAccess::write();
            let op = vol::ContainerOpen::new(&copy, &access);
            vol::Connector::recover(&hyperslab_native::NativeConnector, &op).unwrap();
            assert_read(&copy, low);
        }
    }
}

#[test]
fn a_dataset_says_the_same_before_and_after_it_is_laid_out() {
    let folder = Folder::new("many-info");
    for low in BOUNDS {
        let path = folder.at(&format!("{low:?}.h5"));
        let c = create(&path, low);
        let root = c.info().unwrap().root;
        let d = dataset(&*c, (root, "d"), ints(), simple(&[3, 4]), DatasetCreate::default()).unwrap();
        let new = c.dataset_info(d).unwrap();
        attribute(&*c, d, "a", 5).unwrap();
        put(&*c, d, &Selection::All, &(0..12).collect::<Vec<_>>()).unwrap();
        assert_eq!(c.dataset_info(d).unwrap(), new);
        c.commit(Durability::None).unwrap();
        assert_eq!(c.dataset_info(d).unwrap(), new);
        c.close().unwrap();
        let again = reopen(&path, low);
        assert_eq!(again.dataset_info(d).unwrap(), new);
        // What is not a dataset says so, laid out or not.
        let g = group(&*again, root, "g").unwrap();
        again.dataset_info(g).expect_err("a group");
        again.close().unwrap();
    }
}
