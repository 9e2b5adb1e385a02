//! Buffers, borrowed and owned requests, what becomes of many small ones, and what users do not see.

mod common;

use common::*;
use model::properties::{DatasetCreate, FilterSpec, Layout};
use model::{Dataspace, Kind, LinkTarget, Selection};
use vol::{Container, Durability, FileAccess, LinkLocation, OpGroupCreate, OpLinkCreate, OpList, OpWrite};

fn block(start: u64, len: u64) -> Selection {
    Selection::block(&[start], &[len]).unwrap()
}

#[test]
fn a_thousand_adjacent_requests_are_one_run() {
    let folder = Folder::new("log");
    let c = create(&folder.at("adjacent.h5"), &FileAccess::write());
    let (a, b) = (ints(&*c, "a", &[10_000]), ints(&*c, "b", &[10_000]));
    // In turn, and in an order that looks random.
    for n in 0..1000u64 {
        let at = n * 371 % 1000 * 10;
        put(&*c, a, &block(at, 10), &[n as i32; 10]).unwrap();
        put(&*c, b, &block(n * 10, 10), &[n as i32; 10]).unwrap();
    }
    c.commit(Durability::None).unwrap();
    let statistics = c.statistics().unwrap();
    for dataset in &statistics.datasets {
        assert_eq!((dataset.entries, dataset.runs, dataset.pieces), (1, 1, 1), "{}", dataset.path);
    }
    assert_eq!(statistics.log_bytes, 80_000);
}

#[test]
fn what_is_overwritten_before_a_flush_never_reaches_the_file() {
    let folder = Folder::new("log");
    let c = create(&folder.at("twice.h5"), &FileAccess::write());
    let data = ints(&*c, "d", &[100]);
    for n in 0..50 {
        put(&*c, data, &Selection::All, &[n; 100]).unwrap();
    }
    c.commit(Durability::None).unwrap();
    assert_eq!(c.statistics().unwrap().log_bytes, 400);
    assert_eq!(get(&*c, data, &block(3, 1)).unwrap(), [49]);
}

#[test]
fn what_waits_is_read_over_what_is_in_the_file() {
    let folder = Folder::new("log");
    let c = create(&folder.at("waits.h5"), &FileAccess::write());
    let data = ints(&*c, "d", &[10]);
    put(&*c, data, &Selection::All, &[1; 10]).unwrap();
    c.commit(Durability::None).unwrap();
    put(&*c, data, &block(2, 3), &[2; 3]).unwrap();
    assert_eq!(get(&*c, data, &Selection::All).unwrap(), [1, 1, 2, 2, 2, 1, 1, 1, 1, 1]);
    // What was read already grows no more unseen.
    put(&*c, data, &block(5, 1), &[3]).unwrap();
    put(&*c, data, &block(3, 1), &[4]).unwrap();
    assert_eq!(get(&*c, data, &Selection::All).unwrap(), [1, 1, 2, 4, 2, 3, 1, 1, 1, 1]);
}

#[test]
fn borrowed_and_owned_requests_are_written_without_a_copy_of_ours() {
    let folder = Folder::new("log");
    let path = folder.at("lent.h5");
    let c = create(&path, &FileAccess::write());
    let (a, b) = (ints(&*c, "a", &[20]), ints(&*c, "b", &[20]));
    put(&*c, a, &block(0, 10), &[1; 10]).unwrap();
    c.write_owned(b, &block(0, 10), to_bytes(&[2; 10])).unwrap();
    assert_eq!(get(&*c, b, &block(9, 2)).unwrap(), [2, 0]);
    let (one, two) = (to_bytes(&[3; 10]), to_bytes(&[4; 4]));
    let mut posting = c.posting();
    posting.write(a, &block(5, 10), &one).unwrap();
    posting.write(b, &Selection::hyperslab(&[1], &[3], &[4], &[1]).unwrap(), &two).unwrap();
    posting.flush(Durability::None).unwrap();
    // One that is dropped leaves nothing.
    c.posting().write(a, &block(0, 10), &one).unwrap();
    let (wanted_a, wanted_b) = (
        [1, 1, 1, 1, 1, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 0, 0, 0, 0, 0],
        [2, 4, 2, 2, 4, 2, 2, 4, 2, 2, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    );
    assert_eq!(get(&*c, a, &Selection::All).unwrap(), wanted_a);
    c.close().unwrap();
    let c = open(&path, &FileAccess::read()).unwrap();
    assert_eq!(get(&*c, find(&*c, "a"), &Selection::All).unwrap(), wanted_a);
    assert_eq!(get(&*c, find(&*c, "b"), &Selection::All).unwrap(), wanted_b);
}

#[test]
fn a_file_that_was_read_is_written_though_the_reader_is_still_at_hand() {
    let folder = Folder::new("log");
    let path = folder.at("again.h5");
    let shared = connector();
    let op = |access| vol::ContainerOpen::new(&path, access);
    let (read, write) = (FileAccess::read(), FileAccess::write());
    let c = create(&path, &write);
    ints(&*c, "d", &[4]);
    c.close().unwrap();
    let reader = shared.open_log(&op(&read)).unwrap();
    reader.close().unwrap();
    let writer = shared.open_log(&op(&write)).unwrap();
    // A second handle of a file that is written sees what waits in the first.
    let looker = shared.open_log(&op(&read)).unwrap();
    put(&*writer, find(&*writer, "d"), &Selection::All, &[1, 2, 3, 4]).unwrap();
    assert_eq!(get(&*looker, find(&*looker, "d"), &Selection::All).unwrap(), [1, 2, 3, 4]);
    looker.close().unwrap();
    writer.close().unwrap();
    drop(reader);
}

#[test]
fn several_datasets_are_written_in_one_call() {
    let folder = Folder::new("log");
    let c = create(&folder.at("many.h5"), &FileAccess::write());
    let made: Vec<_> = (0..10).map(|n| ints(&*c, &n.to_string(), &[4])).collect();
    let bytes: Vec<Vec<u8>> = (0..10).map(|n| to_bytes(&[n; 4])).collect();
    let pairs = made.iter().zip(&bytes);
    let writes: Vec<OpWrite<'_>> = pairs
        .map(|(dataset, from)| OpWrite { dataset: *dataset, selection: &Selection::All, from })
        .collect();
    c.dataset_write(&writes).unwrap();
    for (n, dataset) in made.iter().enumerate() {
        assert_eq!(get(&*c, *dataset, &Selection::All).unwrap(), [n as i32; 4]);
    }
}

#[test]
fn deflated_entries_are_smaller_and_read_back_in_parts() {
    let folder = Folder::new("log");
    for (engine, name) in [("v1", "one.h5"), ("v2", "two.h5")] {
        let (path, properties, access) = (folder.at(name), Default::default(), FileAccess::write());
        let op = vol::ContainerCreate {
            engine: Some(engine),
            ..vol::ContainerCreate::new(&path, &properties, &access)
        };
        let c = connector().create_log(&op).unwrap();
        let filter = |id| FilterSpec { id, name: None, optional: false, values: Vec::new() };
        let layout = Layout::chunked(&[1000]);
        let create =
            DatasetCreate { layout, filters: vec![filter(2), filter(1)], ..DatasetCreate::default() };
        let space = Dataspace::simple(&[1_000_000]).unwrap();
        let data = c.dataset_create(&common::op(&*c, "d", space, create)).unwrap();
        let values: Vec<i32> = (0..1_000_000).map(|n| n / 10).collect();
        put(&*c, data, &Selection::All, &values).unwrap();
        c.close().unwrap();
        let c = open(&path, &FileAccess::read()).unwrap();
        let data = find(&*c, "d");
        assert!(c.statistics().unwrap().log_bytes < 2_000_000);
        assert_eq!(get(&*c, data, &block(500_000, 25)).unwrap(), values[500_000..500_025]);
        assert_eq!(get(&*c, data, &Selection::All).unwrap(), values);
    }
}

#[test]
fn the_log_group_is_hidden_and_its_name_is_refused() {
    let folder = Folder::new("log");
    let c = create(&folder.at("hidden.h5"), &FileAccess::write());
    let root = c.info().unwrap().root;
    for name in ["A", "Z", "__A", "__Z", "a"] {
        ints(&*c, name, &[1]);
    }
    let mut names = Vec::new();
    loop {
        let page = c
            .link_list(root, &OpList { skip: names.len() as u64, count_max: 2, ..OpList::default() })
            .unwrap();
        names.extend(page.entries.into_iter().map(|link| link.name));
        if !page.more {
            break;
        }
    }
    assert_eq!(names, ["A", "Z", "__A", "__Z", "a"]);
    assert!(c.link_get(root, "__LOG").unwrap().is_none());
    let place = Some(LinkLocation::new(root, "__LOG"));
    let made = c.group_create(&OpGroupCreate { place, ..OpGroupCreate::default() });
    assert_eq!(made.unwrap_err().kind(), Kind::Invalid);
    let op = OpLinkCreate { place: LinkLocation::new(root, "__LOG"), target: LinkTarget::Soft("a".into()) };
    assert_eq!(c.link_create(&op).unwrap_err().kind(), Kind::Invalid);
    assert_eq!(c.link_delete(root, "__LOG").unwrap_err().kind(), Kind::NotFound);
}

#[test]
fn a_compact_log_has_no_overwritten_bytes_and_their_space_is_used_again() {
    let folder = Folder::new("log");
    let path = folder.at("compact.h5");
    let c = create(&path, &FileAccess::write());
    let (a, b) = (ints(&*c, "a", &[100_000]), growing(&*c, "b", &[1000]));
    for round in 0..10 {
        put(&*c, a, &Selection::All, &[round; 100_000]).unwrap();
        put(&*c, b, &block(round as u64 * 50, 100), &[round; 100]).unwrap();
        c.commit(Durability::None).unwrap();
    }
    c.dataset_resize(b, &[300]).unwrap();
    let (a_before, b_before) = (get(&*c, a, &Selection::All).unwrap(), get(&*c, b, &Selection::All).unwrap());
    c.compact().unwrap();
    let check = |c: &dyn Container, a, b| {
        assert_eq!(get(c, a, &Selection::All).unwrap(), a_before);
        assert_eq!(get(c, b, &Selection::All).unwrap(), b_before);
    };
    check(&*c, a, b);
    let statistics = c.statistics().unwrap();
    assert_eq!(statistics.log_bytes, 400_000 + 1200);
    assert!(statistics.datasets.iter().all(|dataset| dataset.overlap_bytes() == 0));
    let before = std::fs::metadata(&path).unwrap().len();
    for _ in 0..5 {
        put(&*c, a, &Selection::All, &a_before).unwrap();
        c.commit(Durability::None).unwrap();
    }
    c.close().unwrap();
    // Free space at the end of the file is given back as well.
    let after = std::fs::metadata(&path).unwrap().len();
    assert!(after <= before && after > 400_000, "{before} -> {after}");
    let c = open(&path, &FileAccess::read()).unwrap();
    check(&*c, find(&*c, "a"), find(&*c, "b"));
}

#[test]
fn each_entry_is_a_line_with_its_place_and_its_elements() {
    let folder = Folder::new("log");
    let c = create(&folder.at("entries.h5"), &FileAccess::write());
    let (a, b) = (ints(&*c, "a\n", &[100]), ints(&*c, "b", &[100]));
    put(&*c, a, &block(0, 10), &[1; 10]).unwrap();
    put(&*c, a, &block(50, 1), &[1; 1]).unwrap();
    c.commit(Durability::None).unwrap();
    put(&*c, b, &block(7, 3), &[2; 3]).unwrap();
    c.commit(Durability::None).unwrap();
    let text = vol::call::<hyperslab_log::LogEntriesText>(&*c, &0).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(lines[0].contains(r"/a\n  at byte 0 of log 0") && lines[0].ends_with("11 elements: 0-9 50"));
    assert!(lines[1].contains("/b  at byte 0 of log 1") && lines[1].ends_with("3 elements: 7-9"));
    assert_eq!(vol::call::<hyperslab_log::LogEntriesText>(&*c, &1).unwrap().lines().count(), 1);
    assert_eq!(vol::call::<hyperslab_log::LogEntriesText>(&*c, &2).unwrap(), "");
}

#[test]
fn a_plain_file_is_read_and_changed_as_it_is() {
    let folder = Folder::new("log");
    let path = folder.at("plain.h5");
    let (create, access) = (model::properties::FileCreate::default(), FileAccess::write());
    let plain = vol::ContainerCreate::new(&path, &create, &access);
    let native = vol::Connector::create(&native::NativeConnector, &plain).unwrap();
    let data = ints(&*native, "d", &[10]);
    put(&*native, data, &block(0, 10), &[3; 10]).unwrap();
    native.close().unwrap();
    drop(native);
    let op = vol::ContainerOpen::new(&path, &access);
    assert!(!vol::Connector::is_accessible(&connector(), &op).unwrap(), "it is no log");
    let c = vol::Connector::open(&connector(), &op).unwrap();
    put(&*c, find(&*c, "d"), &block(0, 1), &[4]).unwrap();
    c.close().unwrap();
    drop(c);
    let native = vol::Connector::open(&native::NativeConnector, &op).unwrap();
    assert_eq!(get(&*native, find(&*native, "d"), &block(0, 2)).unwrap(), [4, 3]);
    assert!(open(&path, &access).is_err());
}
