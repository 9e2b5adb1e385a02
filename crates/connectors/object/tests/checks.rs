//! What a check finds in storage, and what it repairs.

mod kit;

use std::path::Path;

use algorithms::transfer::Elements;
use kit::{create, dataset, open, problems, repair, write};
use model::properties::{CreationOrder, FileCreate, GroupCreate};
use model::{CharacterSet, Dataspace, Datatype, Heap, Kind, Result, Selection};
use objects::{Change, Mode, ObjectId, Phase, Store, Update};
use vol::{Container, FileAccess, LinkLocation, OpDatasetCreate, OpGroupCreate};

const ROOT: ObjectId = ObjectId { high: 0, low: 1 };
const GLOBAL: ObjectId = ObjectId { high: 0, low: 0 };

fn put(store: &dyn Store, object: ObjectId, dkey: &[u8], changes: &[Change<'_>]) {
    store.update(&Update { object, dkey, changes, conditions: &[], phase: Phase::Content }).unwrap();
    store.flush().unwrap();
}

/// A container with a group, a dataset and some texts; all is well.
fn sound(folder: &Path) {
    let root = GroupCreate { link_order: CreationOrder::Tracked, ..GroupCreate::default() };
    let c = create(folder, &FileCreate { root, ..FileCreate::default() }).unwrap();
    let root = c.info().unwrap().root;
    let place = Some(LinkLocation::new(root, "g"));
    let group = c.group_create(&OpGroupCreate { place, create: GroupCreate::default() }).unwrap();
    let data = dataset(&*c, LinkLocation::new(group, "d"), &[10], &[5]).unwrap();
    write(&*c, data, &[1; 10]).unwrap();
    texts(&*c, group).unwrap();
    assert_eq!(problems(&*c).unwrap(), Vec::<String>::new());
    c.close().unwrap();
}

fn texts(c: &dyn Container, group: model::Token) -> Result<()> {
    let memory = Datatype::var_string(CharacterSet::Utf8).memory_type();
    let place = Some(LinkLocation::new(group, "texts"));
    let (space, create) = (Dataspace::simple(&[2])?, Default::default());
    let op = OpDatasetCreate { place, datatype: memory.clone(), committed: None, space, create };
    let dataset = c.dataset_create(&op)?;
    let mut heap = Heap::new();
    let mut descriptors = vec![0; 32];
    heap.push(b"one", 3).store(&mut descriptors[..16])?;
    heap.push(b"three", 5).store(&mut descriptors[16..])?;
    let info = c.dataset_info(dataset)?;
    let conversions = Default::default();
    let elements = Elements {
        container: c,
        dataset,
        file_type: &info.datatype,
        space: &info.space,
        selection: &Selection::All,
        conversions: &conversions,
        transfer: vol::Transfer::Independent,
    };
    elements.write(&memory, &descriptors, &mut heap)
}

/// Breaks something; a check must find it, repair it, and be content afterwards.
fn broken(wanted: &str, harm: impl FnOnce(&dyn Store)) {
    let folder = tempfile::tempdir().unwrap();
    sound(folder.path());
    harm(&*kit::store(folder.path(), Mode::ReadWrite));
    let c = open(folder.path(), &FileAccess::read()).unwrap();
    let found = problems(&*c).unwrap();
    assert!(found.iter().any(|line| line.contains(wanted)), "{wanted}: {found:?}");
    assert_eq!(c.storage_repair().unwrap_err().kind(), Kind::Denied);
    c.close().unwrap();
    let c = open(folder.path(), &FileAccess::write()).unwrap();
    assert!(repair(&*c).unwrap().iter().all(|line| line.ends_with("\trepaired")));
    assert_eq!(problems(&*c).unwrap(), Vec::<String>::new());
    c.close().unwrap();
}

#[test]
fn an_orphaned_blob_is_found() {
    broken("1 that nothing uses", |store| put(store, GLOBAL, &[7; 16], &[Change::Single(b"Blob", b"lost")]));
}

#[test]
fn an_orphaned_object_is_found() {
    let orphan = ObjectId { high: 1 << 30, low: 99_999 };
    broken("nothing leads to it", |store| put(store, orphan, &[0; 9], &[Change::Single(&[0], b"lost")]));
}

#[test]
fn a_link_to_nothing_is_found() {
    let target = [&[0][..], &99_999u64.to_le_bytes(), &[0; 8]].concat();
    broken("is not there", |store| put(store, ROOT, b"gone", &[Change::Single(b"Link", &target)]));
}

#[test]
fn a_wrong_reference_count_is_found() {
    let count = 5u64.to_le_bytes();
    let change = [Change::Single(b"Reference Count", &count)];
    broken("it says 5 references and has 1", |store| put(store, ROOT, b"/Internal Metadata", &change));
}

#[test]
fn a_wrong_link_count_is_found() {
    let count = 5u64.to_le_bytes();
    let change = [Change::Single(b"Num Links", &count)];
    broken("it says 5 links and has 1", |store| put(store, ROOT, b"/Link Creation Order", &change));
}

#[test]
fn a_place_without_a_link_is_found() {
    let change = [Change::Single(&[9, 0, 0, 0, 0, 0, 0, 0], b"ghost")];
    broken("place 9 has \"ghost\"", |store| put(store, ROOT, b"/Link Creation Order", &change));
}

#[test]
fn a_missing_blob_is_told_and_not_mended() {
    let folder = tempfile::tempdir().unwrap();
    sound(folder.path());
    let store = kit::store(folder.path(), Mode::ReadWrite);
    let blob = store.dkeys(GLOBAL, b"", 100).unwrap().into_iter().find(|dkey| dkey.len() == 16).unwrap();
    store.punch_dkey(GLOBAL, &blob, Phase::Removal).unwrap();
    store.flush().unwrap();
    drop(store);
    let c = open(folder.path(), &FileAccess::write()).unwrap();
    let found = repair(&*c).unwrap();
    assert!(
        found[0].contains("1 that are used are not there") && !found[0].ends_with("repaired"),
        "{found:?}"
    );
}

#[test]
fn what_is_deleted_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    sound(folder.path());
    let c = open(folder.path(), &FileAccess::write()).unwrap();
    c.link_delete(c.info().unwrap().root, "g").unwrap();
    assert_eq!(problems(&*c).unwrap(), Vec::<String>::new());
    c.close().unwrap();
    let store = kit::store(folder.path(), Mode::Read);
    assert_eq!(store.dkeys(GLOBAL, b"", 100).unwrap(), [b"/Internal Metadata"]);
    assert_eq!(store.all_objects().unwrap(), [GLOBAL, ROOT]);
}

#[test]
fn storage_is_shown_in_words() {
    let folder = tempfile::tempdir().unwrap();
    sound(folder.path());
    let c = open(folder.path(), &FileAccess::read()).unwrap();
    let shown = c.storage_show().unwrap();
    for line in [
        "object 0000000000000000.0000000000000000 global metadata",
        "    akey \"Layout Version\" = 1",
        "  dkey \"g\"",
        "  dkey chunk [5]",
        "    akey [0] = records of 4 bytes, the last before 5",
        "    akey \"Blob\" = \"three\"",
        "    akey \"Num Links\" = 1",
        "    akey \"Datatype\" = integer of 4 bytes",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{line}\n{shown}");
    }
}

#[test]
fn a_committed_type_without_a_link_lives_by_its_users() {
    let folder = tempfile::tempdir().unwrap();
    let c = create(folder.path(), &FileCreate::default()).unwrap();
    let root = c.info().unwrap().root;
    let op = vol::OpDatatypeCommit { place: None, datatype: kit::int(), create: Default::default() };
    let token = c.datatype_commit(&op).unwrap();
    let (space, create) = (Dataspace::Scalar, Default::default());
    let place = Some(LinkLocation::new(root, "d"));
    let op = OpDatasetCreate { place, datatype: kit::int(), committed: Some(token), space, create };
    c.dataset_create(&op).unwrap();
    c.close().unwrap();
    let c = open(folder.path(), &FileAccess::write()).unwrap();
    assert_eq!(problems(&*c).unwrap(), Vec::<String>::new());
    c.datatype_get(token).unwrap();
    c.link_delete(root, "d").unwrap();
    assert_eq!(c.datatype_get(token).unwrap_err().kind(), Kind::NotFound);
}

#[test]
fn overwritten_references_leave_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let c = create(folder.path(), &FileCreate::default()).unwrap();
    let root = c.info().unwrap().root;
    let kind = model::datatype::ReferenceKind::Object;
    let place = Some(LinkLocation::new(root, "refs"));
    let (space, create) = (Dataspace::simple(&[2]).unwrap(), Default::default());
    let datatype = Datatype::reference(kind);
    let op = OpDatasetCreate { place, datatype, committed: None, space, create };
    let dataset = c.dataset_create(&op).unwrap();
    for _ in 0..3 {
        let references = [model::Reference::object(root), model::Reference::object(dataset)];
        let from = c.reference_put(kind, &references).unwrap().concat();
        let write = vol::OpWrite { dataset, selection: &Selection::All, from: &from };
        c.dataset_write(std::slice::from_ref(&write)).unwrap();
        // The same once more: what is used stays.
        c.dataset_write(&[write]).unwrap();
    }
    assert_eq!(problems(&*c).unwrap(), Vec::<String>::new());
}
