//! Datasets that processes create in one group, and links to them in a group whose order is tracked.

use model::properties::{CreationOrder, GroupCreate};
use vol::{LinkLocation, OpGroupCreate};

use crate::kit::{dataset, read, write};
use crate::{WRITERS, count, with_writers, writer};

fn datasets() -> i32 {
    count("HYPERSLAB_CEPH_DATASETS", 250) as i32
}

#[test]
#[ignore = "it is one of several"]
fn create() {
    let Some((c, number)) = writer() else { return };
    let (number, root) = (number as i32, c.info().unwrap().root);
    let shared = vol::path::token(&*c, root, "shared", 16).unwrap();
    for n in 0..datasets() {
        let data = dataset(&*c, LinkLocation::new(root, format!("{number} {n}")), &[4], &[4]).unwrap();
        write(&*c, data, &[number, n, 0, -1]).unwrap();
        if n % 50 == 0 {
            let target = model::LinkTarget::Hard(data);
            let place = LinkLocation::new(shared, format!("{number} {n}"));
            c.link_create(&vol::OpLinkCreate { place, target }).unwrap();
        }
    }
    c.close().unwrap();
}

#[test]
fn four_processes_make_datasets_in_one_container() {
    let group = |c: &dyn vol::Container| {
        let create = GroupCreate { link_order: CreationOrder::Tracked, ..GroupCreate::default() };
        let place = Some(LinkLocation::new(c.info().unwrap().root, "shared"));
        c.group_create(&OpGroupCreate { place, create }).unwrap();
    };
    with_writers("datasets::create", group, |c| {
        let root = c.info().unwrap().root;
        let mut seen = std::collections::HashSet::new();
        for number in 0..WRITERS as i32 {
            for n in 0..datasets() {
                let token = vol::path::token(c, root, &format!("{number} {n}"), 16).unwrap();
                assert!(seen.insert(token), "{number} {n} is another's object");
                assert_eq!(read(c, token).unwrap(), [number, n, 0, -1]);
            }
        }
        assert_eq!(c.group_info(root).unwrap().links, WRITERS as u64 * datasets() as u64 + 1);
        let shared = vol::path::token(c, root, "shared", 16).unwrap();
        let links = c.group_info(shared).unwrap().links;
        assert_eq!(links, WRITERS as u64 * (datasets() as u64).div_ceil(50));
    });
}
