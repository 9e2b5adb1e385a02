//! Attributes that processes create, rename and delete on one object at the same time.

use std::collections::BTreeSet;

use model::datatype::ByteOrder;
use model::properties::{CreationOrder, GroupCreate, ObjectCreate};
use model::{CharacterSet, Dataspace, Datatype, Index};
use vol::{Container, LinkLocation, OpAttributeCreate, OpGroupCreate, OpList};

use crate::links::find;
use crate::{WRITERS, count, with_writers, writer};

fn rounds() -> usize {
    count("HYPERSLAB_CEPH_LINKS", 60)
}

/// Returns what becomes of an attribute, by its number.
fn final_name(number: usize, n: usize) -> Option<String> {
    match n % 3 {
        0 => Some(format!("{number} {n}")),
        1 => Some(format!("{number} {n} renamed")),
        _ => None,
    }
}

#[test]
#[ignore = "it is one of several"]
fn change() {
    let Some((c, number)) = writer() else { return };
    let object = find(&*c, "shared");
    for n in 0..rounds() {
        let name = format!("{number} {n}");
        let create = OpAttributeCreate {
            object,
            name: name.clone(),
            charset: CharacterSet::Ascii,
            datatype: Datatype::integer(4, false, ByteOrder::Little),
            committed: None,
            space: Dataspace::Scalar,
        };
        c.attribute_create(&create).unwrap();
        c.attribute_write(object, &name, &(n as u32).to_le_bytes()).unwrap();
        match final_name(number, n) {
            None => c.attribute_delete(object, &name).unwrap(),
            Some(to) if to != name => c.attribute_rename(object, &name, &to).unwrap(),
            Some(_) => {}
        }
    }
    c.close().unwrap();
}

#[test]
fn an_object_that_four_processes_change_has_its_attributes_and_their_order() {
    let create = |c: &dyn Container| {
        let root = c.info().unwrap().root;
        let object = ObjectCreate { attribute_order: CreationOrder::Indexed, ..ObjectCreate::default() };
        let create = GroupCreate { object, ..GroupCreate::default() };
        c.group_create(&OpGroupCreate { place: Some(LinkLocation::new(root, "shared")), create }).unwrap();
    };
    with_writers("attributes::change", create, |c| {
        let object = find(c, "shared");
        let all = |number| (0..rounds()).filter_map(move |n| Some((final_name(number, n)?, n as u32)));
        let expected: Vec<(String, u32)> = (0..WRITERS).flat_map(all).collect();
        assert_eq!(c.object_info(object).unwrap().attributes, expected.len() as u64);
        let by_creation = OpList { index: Index::CreationOrder, count_max: u64::MAX, ..OpList::default() };
        let found = c.attribute_list(object, &by_creation).unwrap().entries;
        let names: BTreeSet<&str> = found.iter().map(|attribute| attribute.name.as_str()).collect();
        assert_eq!(names, expected.iter().map(|(name, _)| name.as_str()).collect());
        let places: BTreeSet<_> = found.iter().map(|attribute| attribute.creation_order).collect();
        assert_eq!(places.len(), found.len(), "two attributes have one place in the order");
        for (name, n) in expected {
            assert_eq!(c.attribute_read(object, &[&name]).unwrap(), [n.to_le_bytes()], "{name}");
        }
    });
}
