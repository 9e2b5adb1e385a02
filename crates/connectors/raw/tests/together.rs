//! Threads that write, rename and commit at the same time; and copies to and from another connector.

mod place;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use algorithms::copy::{CopyContext, contents};
use algorithms::transfer;
use model::datatype::ReferenceKind;
use model::properties::ObjectCreate;
use model::{CharacterSet, Datatype, Heap, Limits, LinkTarget, Reference, Selection};
use place::*;
use testkit::snapshot::Snapshot;
use vol::*;

#[test]
fn no_write_is_lost_while_groups_move_and_commits_run() {
    let place = Folder::new();
    let c = place.create();
    let root = c.info().unwrap().root;
    let g = group(&*c, root, "g0");
    let datasets: Vec<_> = (0..4).map(|n| ints(&*c, g, &format!("d{n}"), &[50])).collect();
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        let writers: Vec<_> = datasets
            .iter()
            .map(|&d| {
                let c = &c;
                scope.spawn(move || {
                    for n in 0..50u64 {
                        let selection = &Selection::block(&[n], &[1]).unwrap();
                        let from = &(n as i32 + 1).to_ne_bytes();
                        c.dataset_write(&[OpWrite { dataset: d, selection, from }]).unwrap();
                        let mut into = vec![0; 4];
                        c.dataset_read(&mut [OpRead { dataset: d, selection, into: &mut into }]).unwrap();
                        assert_eq!(into, from);
                    }
                })
            })
            .collect();
        let mover = scope.spawn(|| {
            let mut n = 0;
            while !is_done.load(Ordering::SeqCst) || n < 5 {
                rename(&*c, root, &format!("g{n}"), &format!("g{}", n + 1));
                n += 1;
                c.commit(Durability::None).unwrap();
            }
            n
        });
        let committer = scope.spawn(|| {
            while !is_done.load(Ordering::SeqCst) {
                c.commit(Durability::None).unwrap();
                let late = group(&*c, root, "late");
                attribute(&*c, late, "a", 1);
                c.link_delete(root, "late").unwrap();
            }
        });
        let written: Vec<_> = writers.into_iter().map(thread::ScopedJoinHandle::join).collect();
        is_done.store(true, Ordering::SeqCst);
        written.into_iter().for_each(|writer| writer.unwrap());
        committer.join().unwrap();
        assert!(mover.join().unwrap() >= 5);
    });
    let wanted: Vec<i32> = (1..=50).collect();
    c.close().unwrap();
    let c = place.open(&FileAccess::read()).unwrap();
    for &d in &datasets {
        assert_eq!(get(&*c, d), wanted);
    }
    assert_eq!(names(&*c, root).len(), 1);
    assert_eq!(c.info().unwrap().warnings, Vec::<String>::new());
}

#[test]
fn extents_change_while_commits_run() {
    let place = Folder::new();
    let c = place.create();
    let root = c.info().unwrap().root;
    let space = model::Dataspace::resizable(&[3, 4], &[model::UNLIMITED; 2]).unwrap();
    let create = model::properties::DatasetCreate {
        layout: model::properties::Layout::chunked(&[2, 2]),
        ..Default::default()
    };
    let placed = Some(LinkLocation::new(root, "d"));
    let datatype = Datatype::native_int(4);
    let op = OpDatasetCreate { place: placed, datatype, committed: None, space, create };
    let d = c.dataset_create(&op).unwrap();
    put(&*c, d, &(1..=12).collect::<Vec<_>>());
    let is_done = AtomicBool::new(false);
    let first_columns = |values: &[i32], columns: usize| -> Vec<i32> {
        values.chunks(columns).flat_map(|row| row[..4].to_vec()).collect()
    };
    thread::scope(|scope| {
        let committer = scope.spawn(|| {
            while !is_done.load(Ordering::SeqCst) {
                c.commit(Durability::None).unwrap();
            }
        });
        let resized = scope.spawn(|| {
            for n in 0..60u64 {
                let columns = 4 + n % 5;
                c.dataset_resize(d, &[3, columns]).unwrap();
                assert_eq!(first_columns(&get(&*c, d), columns as usize), (1..=12).collect::<Vec<_>>());
            }
        });
        let resized = resized.join();
        is_done.store(true, Ordering::SeqCst);
        committer.join().unwrap();
        resized.unwrap();
    });
    let wanted = get(&*c, d);
    c.close().unwrap();
    let c = place.open(&FileAccess::read()).unwrap();
    assert_eq!(get(&*c, d), wanted);
}

/// A bit of everything that a copy must carry.
fn fill(c: &dyn Container) {
    let root = c.info().unwrap().root;
    let g = group(c, root, "group");
    let d = ints(c, g, "numbers", &[3]);
    put(c, d, &[1, 2, 3]);
    texts(c, g, "texts", &["one", "", "three"]);
    link(c, root, "again", LinkTarget::Hard(d));
    link(c, g, "ring", LinkTarget::Hard(root));
    link(c, g, "user", LinkTarget::User { class: 77, data: vec![1, 2] });
    attribute(c, g, "answer", 42);
    c.object_set_comment(g, Some("a comment")).unwrap();
    let key = Datatype::var_string(CharacterSet::Utf8);
    let op = OpMapCreate {
        place: Some(LinkLocation::new(root, "map")),
        key,
        value: Datatype::native_int(4),
        create: ObjectCreate::default(),
    };
    let map = c.map_create(&op).unwrap();
    c.map_put(map, &[(b"k", &7i32.to_ne_bytes()), ("ž".as_bytes(), &8i32.to_ne_bytes())]).unwrap();
    let memory = Datatype::reference(ReferenceKind::Object);
    let r = dataset(c, root, "references", memory.clone(), &[1]);
    let (mut heap, mut descriptor) = (Heap::new(), [0; 16]);
    heap.store_reference(Reference::object(d), &mut descriptor).unwrap();
    let stored = memory.with_descriptors(&c.info().unwrap().descriptors);
    let none = model::convert::Conversions::default();
    let from = &transfer::to_file_type(c, &memory, &descriptor, &stored, &none, &mut heap).unwrap();
    c.dataset_write(&[OpWrite { dataset: r, selection: &Selection::All, from }]).unwrap();
}

#[test]
fn a_copy_there_and_back_is_the_same() {
    let place = Folder::new();
    let (access, create) = (FileAccess::write(), model::properties::FileCreate::default());
    let first = place.registry.create("memory:first", &create, &access, false).unwrap();
    let last = place.registry.create("memory:last", &create, &access, false).unwrap();
    fill(&*first);
    let limits = Limits::default();
    let c = place.create();
    contents(&*first, &*c, CopyContext::new(&limits)).unwrap();
    c.close().unwrap();
    let c = place.open(&FileAccess::read()).unwrap();
    contents(&*c, &*last, CopyContext::new(&limits)).unwrap();
    let of = |c: &dyn Container| Snapshot::of(c, c.info().unwrap().root).unwrap();
    assert_eq!(of(&*first).difference(&of(&*c)), None);
    assert_eq!(of(&*first).difference(&of(&*last)), None);
    let root = c.info().unwrap().root;
    let r = path::token(&*c, root, "references", 9).unwrap();
    let descriptor = bytes(&*c, r);
    let found = c.reference_get(ReferenceKind::Object, &[&descriptor]).unwrap().remove(0);
    assert_eq!(found.token(), Some(path::token(&*c, root, "again", 9).unwrap()));
}
