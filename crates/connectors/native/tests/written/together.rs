//! Threads that read, change and flush one file at the same time. The storage stops where a test says, so that what goes on
//! meanwhile is decided there and not by chance.

use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use files::fault::{Call, Plan, Rule};
use files::{Fault, Memory, Meter, Pause};
use hyperslab_native::{create_handle, open_image};
use model::properties::{DatasetCreate, FileCreate};
use model::{Selection, Token};
use vol::{Container, Durability, FileAccess, OpRead};

use crate::life::{attribute, dataset, deflated, group, ints, put, simple};

const THREADS: usize = 16;
/// More than waits in a buffer: a write of all elements goes to the storage at once.
const LARGE: usize = 100_000;

/// A file on a storage that stops, fails and counts.
struct Rig {
    memory: Arc<Memory>,
    pause: Arc<Pause>,
    meter: Arc<Meter>,
    fault: Arc<Fault>,
    container: Arc<dyn Container>,
}

impl Rig {
    fn new() -> Rig {
        Rig::with(&FileAccess::default())
    }

    fn with(access: &FileAccess) -> Rig {
        let memory = Arc::new(Memory::new());
        let pause = Arc::new(Pause::new(memory.clone()));
        let fault = Arc::new(Fault::new(pause.clone()));
        let meter = Arc::new(Meter::new(fault.clone()));
        let container = create_handle(meter.clone(), "together", &FileCreate::default(), access).unwrap();
        Rig { memory, pause, meter, fault, container }
    }

    /// A committed dataset.
    fn numbers(&self, name: &str, create: DatasetCreate, count: usize) -> Token {
        let c = &*self.container;
        let root = c.info().unwrap().root;
        let token = dataset(c, (root, name), ints(), simple(&[count as u64]), create).unwrap();
        put(c, token, &Selection::All, &vec![1; count]).unwrap();
        c.commit(Durability::Full).unwrap();
        token
    }

    fn put(&self, token: Token, count: usize, value: i32) {
        put(&*self.container, token, &Selection::All, &vec![value; count]).unwrap();
    }

    /// What the file holds, whatever waits in memory.
    fn stored(&self) -> Arc<dyn Container> {
        open_image(self.memory.image().unwrap(), &FileAccess::default()).unwrap()
    }
}

fn first(c: &dyn Container, dataset: Token) -> i32 {
    let mut value = [0; 4];
    let selection = Selection::block(&[0], &[1]).unwrap();
    c.dataset_read(&mut [OpRead { dataset, selection: &selection, into: &mut value }]).unwrap();
    i32::from_le_bytes(value)
}

#[test]
fn a_file_is_read_and_changed_while_a_commit_is_synced() {
    for create in [DatasetCreate::default(), deflated(&[16])] {
        let rig = Rig::new();
        let (a, b) = (rig.numbers("a", create.clone(), 64), rig.numbers("b", create, 64));
        let (c, root) = (&*rig.container, rig.container.info().unwrap().root);
        rig.put(a, 64, 2);
        rig.pause.stop(Call::Sync);
        std::thread::scope(|scope| {
            let commit = scope.spawn(|| c.commit(Durability::Full));
            rig.pause.wait_for(1);
            assert_eq!((first(c, a), first(c, b)), (2, 1));
            rig.put(b, 64, 3);
            rig.put(a, 64, 4);
            let g = group(c, root, "made meanwhile").unwrap();
            attribute(c, g, "number", 5).unwrap();
            assert_eq!((first(c, a), first(c, b)), (4, 3));
            rig.pause.go();
            commit.join().unwrap().unwrap();
        });
        let stored = rig.stored();
        assert_eq!((first(&*stored, a), first(&*stored, b)), (2, 1), "what came later is of the next commit");
        assert!(stored.link_get(root, "made meanwhile").unwrap().is_none());
        c.commit(Durability::Full).unwrap();
        let stored = rig.stored();
        assert_eq!((first(&*stored, a), first(&*stored, b)), (4, 3));
        assert!(stored.link_get(root, "made meanwhile").unwrap().is_some());
    }
}

#[test]
fn objects_are_made_and_linked_while_others_are_read() {
    let rig = Rig::new();
    let (c, root) = (&*rig.container, rig.container.info().unwrap().root);
    let read = rig.numbers("read", deflated(&[16]), LARGE);
    let g = group(c, root, "g").unwrap();
    let other = rig.numbers("other", DatasetCreate::default(), 64);
    rig.pause.stop(Call::Read);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut all = vec![0; 4 * LARGE];
            c.dataset_read(&mut [OpRead { dataset: read, selection: &Selection::All, into: &mut all }])?;
            Ok::<_, model::Error>(all)
        });
        rig.pause.wait_for(1);
        // In groups and objects that are in memory: the storage does not read.
        let made = scope.spawn(|| {
            let new = group(c, g, "new")?;
            attribute(c, new, "number", 5)?;
            let place = vol::LinkLocation::new(new, "link");
            c.link_create(&vol::OpLinkCreate { place, target: model::LinkTarget::Soft("/read".into()) })?;
            c.object_set_comment(new, Some("made beside a reader"))
        });
        // It waits for no one, or the test does not end.
        made.join().unwrap().unwrap();
        rig.pause.go();
        assert!(reader.join().unwrap().unwrap().chunks(4).all(|n| n == 1i32.to_le_bytes()));
    });
    c.commit(Durability::Full).unwrap();
    assert_eq!(first(&*rig.stored(), other), 1);
    assert!(rig.stored().link_get(g, "new").unwrap().is_some());
}

#[test]
fn other_objects_are_read_while_elements_go_to_the_journal() {
    let rig = Rig::with(&FileAccess { chunk_cache_bytes: Some(8 << 10), ..FileAccess::default() });
    let create = DatasetCreate::default;
    let (a, b) = (rig.numbers("a", create(), LARGE), rig.numbers("b", create(), 64));
    let c = &*rig.container;
    // Not all of it: such elements go over those of the last commit.
    let most = Selection::block(&[1], &[LARGE as u64 - 1]).unwrap();
    rig.pause.stop(Call::Write);
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| put(c, a, &most, &vec![2; LARGE - 1]));
        rig.pause.wait_for(1);
        assert_eq!(first(c, b), 1);
        rig.pause.go();
        writing.join().unwrap().unwrap();
    });
    c.commit(Durability::Full).unwrap();
    let stored = rig.stored();
    let mut last = [0; 4];
    let selection = Selection::block(&[LARGE as u64 - 1], &[1]).unwrap();
    stored.dataset_read(&mut [OpRead { dataset: a, selection: &selection, into: &mut last }]).unwrap();
    assert_eq!((first(&*stored, a), i32::from_le_bytes(last), first(&*stored, b)), (1, 2, 1));
}

#[test]
fn much_that_is_written_while_a_commit_is_synced_waits_for_it_and_is_whole() {
    let rig = Rig::new();
    let (a, b) = (rig.numbers("a", deflated(&[16]), 64), rig.numbers("b", DatasetCreate::default(), 64));
    let c = &*rig.container;
    rig.put(a, 64, 2);
    rig.pause.stop(Call::Sync);
    std::thread::scope(|scope| {
        let commit = scope.spawn(|| c.commit(Durability::Full));
        rig.pause.wait_for(1);
        // Its elements go past the end of the file, where the record of the commit will stand.
        let large = scope.spawn(|| rig.numbers("large", DatasetCreate::default(), 4 << 20));
        assert_eq!(first(c, b), 1);
        rig.pause.go();
        commit.join().unwrap().unwrap();
        let large = large.join().unwrap();
        assert_eq!(first(&*rig.stored(), large), 1);
    });
    assert_eq!(first(&*rig.stored(), a), 2);
}

#[test]
fn readers_of_other_datasets_do_not_wait_for_a_write() {
    let rig = Rig::new();
    let a = rig.numbers("a", DatasetCreate::default(), LARGE);
    let b = rig.numbers("b", deflated(&[16]), 64);
    let (c, root) = (&*rig.container, rig.container.info().unwrap().root);
    rig.pause.stop(Call::Write);
    std::thread::scope(|scope| {
        let write = scope.spawn(|| rig.put(a, LARGE, 2));
        rig.pause.wait_for(1);
        assert_eq!(first(c, b), 1);
        assert!(c.link_get(root, "b").unwrap().is_some());
        assert_eq!(c.dataset_info(b).unwrap().space, simple(&[64]));
        assert_eq!(c.object_info(b).unwrap().references, 1);
        rig.pause.go();
        write.join().unwrap();
    });
    assert_eq!(first(c, a), 2);
}

#[test]
fn those_who_flush_at_once_share_a_commit() {
    let rig = Rig::new();
    let all: Vec<Token> =
        (0..THREADS).map(|n| rig.numbers(&format!("{n}"), DatasetCreate::default(), 64)).collect();
    rig.meter.reset();
    rig.pause.stop(Call::Sync);
    let about_to_flush = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for token in &all {
            scope.spawn(|| {
                rig.put(*token, 64, 2);
                about_to_flush.fetch_add(1, Ordering::SeqCst);
                rig.container.commit(Durability::Full).unwrap();
                assert_eq!(first(&*rig.stored(), *token), 2, "it is in the file when the flush returns");
            });
        }
        while about_to_flush.load(Ordering::SeqCst) < THREADS {
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_millis(50));
        rig.pause.go();
    });
    let syncs = rig.meter.counts().syncs;
    assert!(syncs < 4 * THREADS as u64 / 2, "{syncs} syncs for {THREADS} flushes");
}

#[test]
fn a_commit_that_fails_while_changes_go_on_is_part_of_the_next_one() {
    let rig = Rig::new();
    let (a, b) = (rig.numbers("a", DatasetCreate::default(), 64), rig.numbers("b", deflated(&[16]), 64));
    let c = &*rig.container;
    rig.put(a, 64, 2);
    rig.put(b, 64, 2);
    rig.pause.stop(Call::Sync);
    std::thread::scope(|scope| {
        let commit = scope.spawn(|| c.commit(Durability::Full));
        rig.pause.wait_for(1);
        put(c, a, &Selection::block(&[8], &[4]).unwrap(), &[3; 4]).unwrap();
        rig.fault.set_plan(Plan::of([Rule::once(Call::Write, 0, ErrorKind::StorageFull)]));
        rig.pause.go();
        commit.join().unwrap().unwrap_err();
    });
    let stored = rig.stored();
    assert_eq!((first(&*stored, a), first(&*stored, b)), (1, 1), "the last commit stands");
    assert_eq!((first(c, a), first(c, b)), (2, 2));
    c.commit(Durability::Full).unwrap();
    let stored = rig.stored();
    assert_eq!((first(&*stored, a), first(&*stored, b)), (2, 2));
    let mut values = [0; 64 * 4];
    stored.dataset_read(&mut [OpRead { dataset: a, selection: &Selection::All, into: &mut values }]).unwrap();
    assert_eq!(values[8 * 4..12 * 4], [3, 0, 0, 0].repeat(4));
}
