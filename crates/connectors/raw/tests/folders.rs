//! Folders as people meet them: what is where, what other programs read, and what hands change.

mod place;

use std::path::Path;
use std::process::Command;

use algorithms::transfer;
use model::convert::Conversions;
use model::datatype::{Compound, ReferenceKind};
use model::properties::{
    CreationOrder, DatasetCreate, Fill, FillTime, FillValue, FilterSpec, GroupCreate, Layout,
};
use model::{
    ByteOrder, CharacterSet, Dataspace, Datatype, Heap, Kind, LinkTarget, Reference, Selection, Token,
    UNLIMITED,
};
use place::*;
use testkit::generate::Generator;
use testkit::snapshot::Snapshot;
use vol::*;

#[test]
fn groups_are_folders_and_datasets_are_files() {
    let place = Folder::new();
    let c = place.create();
    let root = c.info().unwrap().root;
    let weather = group(&*c, root, "weather");
    let t = ints(&*c, weather, "temperature", &[2, 3]);
    put(&*c, t, &[1, 2, 3, 4, 5, 6]);
    link(&*c, root, "again", LinkTarget::Hard(t));
    link(&*c, root, "soft", LinkTarget::Soft("/weather".into()));
    c.close().unwrap();
    let names = place.names("");
    assert_eq!(names, [".group.json", ".hyperslab", "again.link", "soft.link", "weather"]);
    assert_eq!(place.names("weather"), [".group.json", "temperature.bin", "temperature.json"]);
    let wanted: Vec<u8> = (1..=6i32).flat_map(i32::to_ne_bytes).collect();
    assert_eq!(std::fs::read(place.path.join("weather/temperature.bin")).unwrap(), wanted);
    let text = place.text("weather/temperature.json");
    assert!(text.contains("\"shape\": {\"class\": \"H5S_SIMPLE\", \"dims\": [2, 3]}"), "{text}");
}

#[test]
fn random_trees_survive_a_folder() {
    for seed in 0..20 {
        let place = Folder::new();
        let c = place.create();
        let root = c.info().unwrap().root;
        Generator::new(seed).fill(&*c, root, 30).unwrap();
        let wanted = Snapshot::of(&*c, root).unwrap();
        c.commit(Durability::None).unwrap();
        assert_eq!(wanted.difference(&Snapshot::of(&*c, root).unwrap()), None, "seed {seed}");
        c.close().unwrap();
        let c = place.open(&FileAccess::read()).unwrap();
        let found = Snapshot::of(&*c, c.info().unwrap().root).unwrap();
        assert_eq!(wanted.difference(&found), None, "seed {seed}");
        assert_eq!(c.info().unwrap().warnings, Vec::<String>::new());
    }
}

#[test]
fn odd_names_stay_inside_and_come_back() {
    let place = Folder::new();
    let c = place.create();
    let root = c.info().unwrap().root;
    let long = "long".repeat(200);
    let names = [
        "..",
        "...",
        ".hidden",
        "..\\..",
        "a.json",
        "a.bin",
        "a",
        "A",
        "x.link",
        ".group.json",
        ".hyperslab",
        "%2F..",
        "tab\t",
        "CON",
        "caf\u{F7E9}",
        "end.",
        " ",
        &long,
    ];
    for (n, name) in names.iter().enumerate() {
        match n % 3 {
            0 => drop(group(&*c, root, name)),
            1 => put(&*c, ints(&*c, root, name, &[1]), &[n as i32]),
            _ => link(&*c, root, name, LinkTarget::Soft(format!("to {n}"))),
        }
    }
    let wanted = Snapshot::of(&*c, root).unwrap();
    c.close().unwrap();
    let c = place.open(&FileAccess::write()).unwrap();
    let root = c.info().unwrap().root;
    assert_eq!(wanted.difference(&Snapshot::of(&*c, root).unwrap()), None);
    for name in names {
        c.link_delete(root, name).unwrap();
    }
    c.close().unwrap();
    assert_eq!(place.names(""), [".group.json", ".hyperslab"]);
}

#[test]
fn objects_move_with_their_links() {
    let place = Folder::new();
    let c = place.create();
    let root = c.info().unwrap().root;
    let (a, b) = (group(&*c, root, "a"), group(&*c, root, "b"));
    let d = ints(&*c, a, "d", &[2]);
    put(&*c, d, &[7, 8]);
    link(&*c, b, "same", LinkTarget::Hard(d));
    c.commit(Durability::None).unwrap();
    assert_eq!(place.names("b"), [".group.json", "same.link"]);
    // The home goes: the object moves to its other name.
    c.link_delete(a, "d").unwrap();
    c.commit(Durability::None).unwrap();
    assert_eq!(place.names("a"), [".group.json"]);
    assert_eq!(place.names("b"), [".group.json", "same.bin", "same.json"]);
    // Names are swapped, and a group moves into another.
    rename(&*c, root, "a", "t");
    rename(&*c, root, "b", "a");
    rename(&*c, root, "t", "b");
    c.commit(Durability::None).unwrap();
    assert_eq!(place.names("a"), [".group.json", "same.bin", "same.json"]);
    let to = LinkLocation::new(a, "inner");
    c.link_move(&OpLinkMove { from: root, name: "a".into(), to, copy: false }).unwrap();
    put(&*c, d, &[9, 10]);
    c.commit(Durability::Full).unwrap();
    assert_eq!(place.names("b/inner"), [".group.json", "same.bin", "same.json"]);
    assert_eq!(get(&*c, d), [9, 10]);
    c.close().unwrap();
    let c = place.open(&FileAccess::read()).unwrap();
    let found = path::token(&*c, c.info().unwrap().root, "/b/inner/same", 9).unwrap();
    assert_eq!((found, get(&*c, found)), (d, vec![9, 10]));
}

#[test]
fn a_ring_of_groups_is_a_link_file() {
    let place = Folder::new();
    let c = place.create();
    let root = c.info().unwrap().root;
    let a = group(&*c, root, "a");
    link(&*c, a, "up", LinkTarget::Hard(root));
    link(&*c, a, "self", LinkTarget::Hard(a));
    c.close().unwrap();
    assert_eq!(place.names("a"), [".group.json", "self.link", "up.link"]);
    let c = place.open(&FileAccess::read()).unwrap();
    assert_eq!(path::token(&*c, root, "/a/up/a/self/up", 99).unwrap(), root);
}

#[test]
fn an_unlinked_dataset_lives_until_it_is_released() {
    let place = Folder::new();
    let c = place.create();
    let root = c.info().unwrap().root;
    let d = ints(&*c, root, "d", &[2]);
    put(&*c, d, &[1, 2]);
    c.commit(Durability::None).unwrap();
    c.retain(d).unwrap();
    c.link_delete(root, "d").unwrap();
    c.commit(Durability::None).unwrap();
    assert_eq!(place.names(""), [".group.json", ".hyperslab"]);
    let other = ints(&*c, root, "d", &[2]);
    put(&*c, other, &[3, 4]);
    c.commit(Durability::None).unwrap();
    assert_eq!((get(&*c, d), get(&*c, other)), (vec![1, 2], vec![3, 4]));
    put(&*c, d, &[5, 6]);
    assert_eq!(get(&*c, d), [5, 6]);
    c.release(d).unwrap();
    c.close().unwrap();
    assert_eq!(place.names(".hyperslab"), ["lock"]);
}

#[test]
fn deleting_gives_everything_back() {
    let place = Folder::new();
    let c = place.create();
    let root = c.info().unwrap().root;
    let g = group(&*c, root, "g");
    texts(&*c, g, "t", &["some text", "more"]);
    put(&*c, ints(&*c, g, "d", &[1]), &[1]);
    c.commit(Durability::None).unwrap();
    assert!(place.path.join(".hyperslab/heap").exists());
    c.link_delete(root, "g").unwrap();
    c.close().unwrap();
    assert_eq!(place.names(""), [".group.json", ".hyperslab"]);
    assert_eq!(place.names(".hyperslab"), ["lock"]);
}

#[test]
fn properties_survive_though_elements_are_plain() {
    let place = Folder::new();
    let c = place.create();
    let root = c.info().unwrap().root;
    let filter = FilterSpec { id: 1, name: Some("deflate".into()), optional: false, values: vec![6] };
    let fill = Fill { value: FillValue::Value(7i32.to_ne_bytes().to_vec()), time: FillTime::Alloc };
    let create = DatasetCreate {
        layout: Layout::chunked(&[2, 2]),
        filters: vec![filter],
        fill,
        ..DatasetCreate::default()
    };
    let space = Dataspace::resizable(&[3, 3], &[UNLIMITED, 9]).unwrap();
    let place_ = Some(LinkLocation::new(root, "d"));
    let op =
        OpDatasetCreate { place: place_, datatype: Datatype::native_int(4), committed: None, space, create };
    let d = c.dataset_create(&op).unwrap();
    let selection = &Selection::block(&[1, 1], &[1, 1]).unwrap();
    c.dataset_write(&[OpWrite { dataset: d, selection, from: &1i32.to_ne_bytes() }]).unwrap();
    c.dataset_resize(d, &[2, 4]).unwrap();
    c.close().unwrap();
    // The file holds fill values up to the last element that was written; what it lacks reads as the fill value.
    let bytes = std::fs::read(place.path.join("d.bin")).unwrap();
    let stored: Vec<i32> = bytes.chunks(4).map(|b| i32::from_ne_bytes(b.try_into().unwrap())).collect();
    assert_eq!(stored[..6], [7, 7, 7, 7, 7, 1]);
    let c = place.open(&FileAccess::read()).unwrap();
    let info = c.dataset_info(d).unwrap();
    assert_eq!((&info.create, info.space.max_dims()), (&op.create, &[UNLIMITED, 9][..]));
    assert_eq!(get(&*c, d), [7, 7, 7, 7, 7, 1, 7, 7]);
}

#[test]
fn numpy_reads_elements_strings_and_references() {
    if !Command::new("python3").args(["-c", "import numpy"]).status().is_ok_and(|status| status.success()) {
        testkit::oracles::missing("python3 with numpy");
        return;
    }
    let place = Folder::new();
    let c = place.create();
    let root = c.info().unwrap().root;
    let g = group(&*c, root, "weather");
    let d = dataset(&*c, g, "temperature", Datatype::ieee_f32(ByteOrder::Big), &[4, 5]);
    let values: Vec<u8> = (0..20u8).flat_map(|n| (f32::from(n) / 4.0).to_be_bytes()).collect();
    c.dataset_write(&[OpWrite { dataset: d, selection: &Selection::All, from: &values }]).unwrap();
    let record = Datatype::Compound(Compound::packed([
        ("a".to_owned(), Datatype::integer(2, true, ByteOrder::Little)),
        ("b".to_owned(), Datatype::ieee_f64(ByteOrder::Little)),
    ]));
    let table = dataset(&*c, g, "table", record, &[2]);
    let rows: Vec<u8> = [(1i16, 0.5f64), (-2, 1e9)]
        .iter()
        .flat_map(|(a, b)| [&a.to_le_bytes()[..], &b.to_le_bytes()].concat())
        .collect();
    c.dataset_write(&[OpWrite { dataset: table, selection: &Selection::All, from: &rows }]).unwrap();
    texts(&*c, g, "names", &["Praha", "", "Kladruby nad Labem"]);
    c.close().unwrap();
    let script = r#"
import json, sys, numpy as np
base = sys.argv[1]
meta = json.load(open(base + "/weather/temperature.json"))
assert meta["type"]["base"] == "H5T_IEEE_F32BE"
t = np.fromfile(base + "/weather/temperature.bin", dtype=">f4").reshape(meta["shape"]["dims"])
assert t.shape == (4, 5) and (t == np.arange(20).reshape(4, 5) / 4).all()
r = np.fromfile(base + "/weather/table.bin", dtype=[("a", "<i2"), ("b", "<f8")])
assert r.tolist() == [(1, 0.5), (-2, 1e9)]
heap = open(base + "/.hyperslab/heap", "rb").read()
descriptors = np.fromfile(base + "/weather/names.bin", dtype=[("count", "<u4"), ("offset", "<u8")])
names = [heap[o:o + n].decode() for n, o in descriptors.tolist()]
assert names == ["Praha", "", "Kladruby nad Labem"], names
np.arange(20, dtype=">f4").tofile(base + "/weather/temperature.bin")
"#;
    let status = Command::new("python3").arg("-c").arg(script).arg(&place.path).status().unwrap();
    assert!(status.success());
    // And what numpy writes, we read.
    let c = place.open(&FileAccess::read()).unwrap();
    let mut into = vec![0; 80];
    c.dataset_read(&mut [OpRead { dataset: d, selection: &Selection::All, into: &mut into }]).unwrap();
    assert_eq!(into, (0..20u8).flat_map(|n| f32::from(n).to_be_bytes()).collect::<Vec<_>>());
}

#[test]
fn references_and_types_without_links_survive() {
    let place = Folder::new();
    let c = place.create();
    let root = c.info().unwrap().root;
    let target = ints(&*c, root, "target", &[4]);
    let committed = OpDatatypeCommit {
        place: Some(LinkLocation::new(root, "type")),
        datatype: Datatype::native_int(4),
        create: Default::default(),
    };
    let committed = c.datatype_commit(&committed).unwrap();
    let op = OpDatasetCreate {
        place: Some(LinkLocation::new(root, "typed")),
        datatype: Datatype::native_int(4),
        committed: Some(committed),
        space: Dataspace::Scalar,
        create: Default::default(),
    };
    let typed = c.dataset_create(&op).unwrap();
    c.link_delete(root, "type").unwrap();
    let region = Reference::region(target, Selection::points(1, vec![3, 1]).unwrap());
    let memory = Datatype::reference(ReferenceKind::DatasetRegion1);
    let d = dataset(&*c, root, "regions", memory.clone(), &[1]);
    let (mut heap, mut descriptor) = (Heap::new(), [0; 16]);
    heap.store_reference(region.clone(), &mut descriptor).unwrap();
    let stored = memory.with_descriptors(&c.info().unwrap().descriptors);
    let from =
        &transfer::to_file_type(&*c, &memory, &descriptor, &stored, &Conversions::default(), &mut heap)
            .unwrap();
    c.dataset_write(&[OpWrite { dataset: d, selection: &Selection::All, from }]).unwrap();
    c.close().unwrap();
    let c = place.open(&FileAccess::write()).unwrap();
    assert_eq!(c.dataset_info(typed).unwrap().committed, Some(committed));
    let mut descriptor = vec![0; 8];
    c.dataset_read(&mut [OpRead { dataset: d, selection: &Selection::All, into: &mut descriptor }]).unwrap();
    assert_eq!(c.reference_get(ReferenceKind::DatasetRegion1, &[&descriptor]).unwrap(), [region]);
    c.link_delete(root, "typed").unwrap();
    c.close().unwrap();
    assert_eq!(place.names(".hyperslab/types"), Vec::<String>::new());
}

#[test]
fn the_order_of_links_survives() {
    let place = Folder::new();
    let create = GroupCreate { link_order: CreationOrder::Indexed, ..GroupCreate::default() };
    let file = model::properties::FileCreate { root: create, ..Default::default() };
    let c = place.registry.create(&place.location(), &file, &FileAccess::write(), false).unwrap();
    let root = c.info().unwrap().root;
    group(&*c, root, "z");
    link(&*c, root, "m", LinkTarget::Soft("x".into()));
    ints(&*c, root, "a", &[1]);
    let name = "b".to_owned();
    let placed = LinkLocation { group: root, name, charset: CharacterSet::Utf8 };
    c.link_create(&OpLinkCreate { place: placed, target: LinkTarget::Soft("y".into()) }).unwrap();
    c.close().unwrap();
    let c = place.open(&FileAccess::read()).unwrap();
    let op = OpList { index: model::Index::CreationOrder, ..OpList::default() };
    let links = c.link_list(root, &op).unwrap().entries;
    assert_eq!(links.iter().map(|l| l.name.as_str()).collect::<Vec<_>>(), ["z", "m", "a", "b"]);
    assert_eq!(links[3].charset, CharacterSet::Utf8);
}

#[test]
fn folders_of_others_are_not_touched() {
    let place = Folder::new();
    std::fs::create_dir(&place.path).unwrap();
    std::fs::write(place.path.join("mine.txt"), "mine").unwrap();
    let connector = place.registry.by_name("raw").unwrap();
    let path = place.path.display().to_string();
    assert!(!connector.is_accessible(&ContainerOpen::new(&path, &FileAccess::read())).unwrap());
    assert_eq!(
        connector.delete(&ContainerOpen::new(&path, &FileAccess::read())).unwrap_err().kind(),
        Kind::Invalid
    );
    let replaced = place.registry.create(&place.location(), &Default::default(), &FileAccess::write(), true);
    assert_eq!(replaced.unwrap_err().kind(), Kind::Invalid);
    assert!(Path::new(&path).join("mine.txt").exists());
    assert!(place.open(&FileAccess::read()).is_err());
}

#[test]
fn an_open_container_is_shared_and_neither_replaced_nor_deleted() {
    let place = Folder::new();
    let c = place.create();
    let other = place.open(&FileAccess::read()).unwrap();
    let root: Token = c.info().unwrap().root;
    group(&*c, root, "g");
    assert!(other.link_get(root, "g").unwrap().is_some());
    assert_eq!(other.object_set_comment(root, Some("x")).unwrap_err().kind(), Kind::Denied);
    let deleted = place.registry.delete(&place.location(), &FileAccess::write());
    assert_eq!(deleted.unwrap_err().kind(), Kind::Busy);
    // Another process, as it were: another connector that knows nothing of the first.
    let stranger = Folder::at(&place.path);
    assert_eq!(stranger.open(&FileAccess::write()).unwrap_err().kind(), Kind::Busy);
    stranger.open(&FileAccess::read()).unwrap();
    stranger.open(&FileAccess { locking: Locking::Off, ..FileAccess::write() }).unwrap();
    std::mem::forget(stranger);
}

#[test]
fn many_small_pieces_are_few_system_calls() {
    // Correctness of merged runs: every element of a comb, written and read through gaps.
    let place = Folder::new();
    let c = place.create();
    let d = ints(&*c, c.info().unwrap().root, "d", &[100, 100]);
    put(&*c, d, &(0..10_000).collect::<Vec<_>>());
    let comb = Selection::hyperslab(&[1, 1], &[3, 7], &[30, 14], &[2, 3]).unwrap();
    let count = comb.element_count(&[100, 100]).unwrap() as usize;
    let from: Vec<u8> = (0..count as i32).flat_map(|n| (-n).to_ne_bytes()).collect();
    c.dataset_write(&[OpWrite { dataset: d, selection: &comb, from: &from }]).unwrap();
    let mut into = vec![0; from.len()];
    c.dataset_read(&mut [OpRead { dataset: d, selection: &comb, into: &mut into }]).unwrap();
    assert_eq!(into, from);
    let all = get(&*c, d);
    let untouched = all.iter().enumerate().filter(|(n, v)| *n as i32 == **v).count();
    assert_eq!(untouched, 10_000 - count + usize::from(all[101] == 101));
}

#[test]
fn moves_that_a_program_did_not_finish_are_finished() {
    let place = Folder::new();
    let c = place.create();
    let root = c.info().unwrap().root;
    let (g, d) = (group(&*c, root, "g"), ints(&*c, root, "d", &[2]));
    put(&*c, d, &[1, 2]);
    put(&*c, ints(&*c, g, "inner", &[1]), &[3]);
    c.close().unwrap();
    // As if it ended after both were moved away: `g` was to become `d`, and `d` was to go into it.
    let own = place.path.join(".hyperslab");
    std::fs::create_dir_all(own.join("moving")).unwrap();
    std::fs::rename(place.path.join("g"), own.join("moving/aa")).unwrap();
    for ending in ["bin", "json"] {
        let from = place.path.join(format!("d.{ending}"));
        std::fs::rename(from, own.join(format!("moving/bb.{ending}"))).unwrap();
    }
    let note = r#"{"moves": [{"name": "aa", "to": "d"}, {"name": "bb", "to": "d/x"}]}"#;
    std::fs::write(own.join("moves.json"), note).unwrap();
    let c = place.open(&FileAccess::read()).unwrap();
    assert_eq!(c.info().unwrap().warnings.len(), 1);
    assert_eq!(place.open(&FileAccess::write()).unwrap_err().kind(), Kind::Busy);
    c.close().unwrap();
    let c = place.open(&FileAccess::write()).unwrap();
    assert_eq!(path::token(&*c, root, "/d", 9).unwrap(), g);
    assert_eq!(path::token(&*c, root, "/d/x", 9).unwrap(), d);
    assert_eq!(get(&*c, d), [1, 2]);
    c.close().unwrap();
    assert!(!own.join("moves.json").exists());
}

#[test]
fn a_container_that_was_moved_is_whole() {
    let place = Folder::new();
    let c = place.create();
    let root = c.info().unwrap().root;
    let target = ints(&*c, root, "target", &[2]);
    for (name, kind) in [("old", ReferenceKind::Object1), ("new", ReferenceKind::Object)] {
        let memory = Datatype::reference(kind);
        let d = dataset(&*c, root, name, memory.clone(), &[1]);
        let (mut heap, mut descriptor) = (Heap::new(), [0; 16]);
        heap.store_reference(Reference::object(target), &mut descriptor).unwrap();
        let stored = memory.with_descriptors(&c.info().unwrap().descriptors);
        let none = Conversions::default();
        let from = &transfer::to_file_type(&*c, &memory, &descriptor, &stored, &none, &mut heap).unwrap();
        c.dataset_write(&[OpWrite { dataset: d, selection: &Selection::All, from }]).unwrap();
    }
    texts(&*c, root, "texts", &["moved"]);
    let wanted = Snapshot::of(&*c, root).unwrap();
    c.close().unwrap();
    let moved = Folder::new();
    std::fs::rename(&place.path, &moved.path).unwrap();
    let c = moved.open(&FileAccess::read()).unwrap();
    let root = c.info().unwrap().root;
    assert_eq!(wanted.difference(&Snapshot::of(&*c, root).unwrap()), None);
    let target = path::token(&*c, root, "target", 9).unwrap();
    for (name, kind) in [("old", ReferenceKind::Object1), ("new", ReferenceKind::Object)] {
        let descriptor = bytes(&*c, path::token(&*c, root, name, 9).unwrap());
        assert_eq!(c.reference_get(kind, &[&descriptor]).unwrap(), [Reference::object(target)]);
    }
}

#[test]
fn what_only_others_can_do_is_unsupported() {
    let place = Folder::new();
    place.create().close().unwrap();
    for access in
        [FileAccess::read().with_swmr(), FileAccess { driver: Some("family".into()), ..FileAccess::read() }]
    {
        assert_eq!(place.open(&access).unwrap_err().kind(), Kind::Unsupported);
    }
    let engine = format!("raw+rados:{}", place.path.display());
    assert_eq!(place.registry.open(&engine, &FileAccess::read()).unwrap_err().kind(), Kind::Unsupported);
}
