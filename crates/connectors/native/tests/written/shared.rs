//! Files that store like messages once: changed by us, they stay whole for libhdf5.

use model::datatype::Compound;
use model::properties::{DatasetCreate, FileCreate, SharedIndex};
use model::{Datatype, Selection};
use vol::{Access, Container, FileAccess, LibVersion, OpList};

use crate::life::{attribute, dataset, group, ints, member, put, simple};
use crate::others::{Folder, assert_same, has_h5py, open, ours, python, theirs};

fn members(c: &dyn Container) -> Vec<(String, model::Token)> {
    let (root, all) = (c.info().unwrap().root, OpList { count_max: u64::MAX, ..OpList::default() });
    let names = c.link_list(root, &all).unwrap().entries.into_iter().map(|link| link.name);
    names.map(|name| (name.clone(), member(c, root, &name))).collect()
}

/// Objects go, attributes change and go, and new objects with the same types come.
fn change(path: &str, name: &str) {
    let c = open(path, Access::Write).unwrap();
    let root = c.info().unwrap().root;
    for (n, (name_of, token)) in members(&*c).into_iter().enumerate() {
        match n % 4 {
            0 => c.link_delete(root, &name_of).unwrap(),
            // It may be gone already.
            1 => drop(c.attribute_delete(token, "numbers")),
            2 => attribute(&*c, token, &format!("{name} {n}"), n as i32).unwrap(),
            _ => {}
        }
    }
    for n in 0..6 {
        let at = (root, &*format!("{name} {n}"));
        let d = dataset(&*c, at, ints(), simple(&[10]), DatasetCreate::default()).unwrap();
        put(&*c, d, &Selection::All, &[n; 10]).unwrap();
        let g = group(&*c, root, &format!("{name} group {n}")).unwrap();
        for thing in [d, g] {
            attribute(&*c, thing, "numbers", n).unwrap();
            attribute(&*c, thing, "text", n).unwrap();
        }
    }
    c.close().unwrap();
}

#[test]
fn both_change_files_that_store_like_messages_once() {
    if !has_h5py() {
        return;
    }
    let folder = Folder::new("shared");
    for libver in ["earliest", "latest"] {
        let path = folder.at(&format!("{libver}.h5"));
        python("shared.py", &["make", &path, libver]);
        for turn in 0..3 {
            change(&path, &format!("ours {turn}"));
            assert_same(&path, &theirs(&path), &ours(&path));
            python("shared.py", &["change", &path, &format!("theirs {turn}")]);
            assert_same(&path, &theirs(&path), &ours(&path));
        }
    }
}

#[test]
fn libhdf5_shares_messages_in_a_file_of_ours() {
    if !has_h5py() {
        return;
    }
    let folder = Folder::new("shared_ours");
    for low in [LibVersion::Earliest, LibVersion::V18, LibVersion::LATEST] {
        let path = folder.at(&format!("{low:?}.h5"));
        // Dataspaces, datatypes, fill values, filters and attributes.
        let shared_indexes = vec![SharedIndex { message_types: 0x182a, bytes_min: 1 }];
        let create = FileCreate { shared_indexes: shared_indexes.clone(), ..FileCreate::default() };
        let access = FileAccess { version_low: low, ..FileAccess::write() };
        let file = hyperslab::File::create_with(&path, &create, &access, true).unwrap();
        assert_eq!(file.container().info().unwrap().create.shared_indexes, shared_indexes);
        file.close().unwrap();
        for turn in 0..2 {
            change(&path, &format!("ours {turn}"));
            assert_same(&path, &theirs(&path), &ours(&path));
            python("shared.py", &["change", &path, &format!("theirs {turn}")]);
            assert_same(&path, &theirs(&path), &ours(&path));
        }
    }
}

/// Creates a file that shares messages of any length, if it shares them at all.
fn create_file(path: &str, is_sharing: bool) -> hyperslab::File {
    let index = SharedIndex { message_types: 0x182a, bytes_min: 1 };
    let shared_indexes = if is_sharing { vec![index] } else { Vec::new() };
    let create = FileCreate { shared_indexes, ..FileCreate::default() };
    hyperslab::File::create_with(path, &create, &FileAccess::write(), true).unwrap()
}

#[test]
fn messages_of_many_datasets_are_stored_once() {
    let folder = Folder::new("shared_once");
    let bytes = |is_sharing: bool| {
        let path = folder.at(&format!("{is_sharing}.h5"));
        let file = create_file(&path, is_sharing);
        let names = (0..60).map(|n| format!("a member whose name is not short at all {n}"));
        let fields = names.map(|name| (name, ints())).collect::<Vec<_>>();
        let datatype = Datatype::Compound(Compound::packed(fields));
        let root = file.container().info().unwrap().root;
        for n in 0..100 {
            let at = (root, &*format!("data {n}"));
            dataset(&**file.container(), at, datatype.clone(), simple(&[3]), DatasetCreate::default())
                .unwrap();
        }
        file.close().unwrap();
        assert_eq!(ours(&path).len(), ours(&folder.at("false.h5")).len());
        std::fs::metadata(path).unwrap().len()
    };
    let (apart, together) = (bytes(false), bytes(true));
    assert!(together * 5 < apart, "{together} bytes where {apart} are without an index");
}

#[test]
fn an_index_of_shared_messages_becomes_a_tree_and_loses_all() {
    if !has_h5py() {
        return;
    }
    let folder = Folder::new("shared_tree");
    let path = folder.at("tree.h5");
    let file = create_file(&path, true);
    let root = file.container().info().unwrap().root;
    let c = &**file.container();
    for n in 0..300 {
        let d = dataset(c, (root, &*format!("data {n}")), ints(), simple(&[n + 1]), DatasetCreate::default());
        put(c, d.unwrap(), &Selection::All, &vec![n as i32; n as usize + 1]).unwrap();
        if n % 100 == 99 {
            file.flush().unwrap();
        }
    }
    file.close().unwrap();
    assert_same(&path, &theirs(&path), &ours(&path));
    python("shared.py", &["add", &path, "theirs 0"]);
    assert_same(&path, &theirs(&path), &ours(&path));
    let c = open(&path, Access::Write).unwrap();
    for (name, _) in members(&*c) {
        c.link_delete(root, &name).unwrap();
    }
    c.close().unwrap();
    // libhdf5 2.0 cannot remove objects from such a file after all others were removed, also where it removed them.
    python("shared.py", &["add", &path, "theirs 1"]);
    assert_same(&path, &theirs(&path), &ours(&path));
}
