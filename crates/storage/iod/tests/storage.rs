//! What a container promises, on every place.

use hyperslab_iod_storage::{Batch, CellWrite, Container, Error, Id, Kind, Mode, ScratchPad, Service, Slab};

const KV: Id = Id::new(Kind::KeyValue, 0);
const ARRAY: Id = Id::new(Kind::Array, 1);
const BLOB: Id = Id::new(Kind::Blob, 2);

/// Runs a test in memory and in a folder.
fn everywhere(test: impl Fn(&Service, &Container)) {
    let folder = tempfile::tempdir().unwrap();
    for service in [Service::memory(), Service::folder(folder.path())] {
        let container = service.create("run42").unwrap();
        test(&service, &container);
    }
}

fn make_array(c: &Container, cell_bytes: u32, dims: &[u64], chunk: Option<&[u64]>) {
    c.apply(Batch::new().create_array(ARRAY, ScratchPad::NULL, cell_bytes, dims, chunk)).unwrap();
}

#[test]
fn containers_have_names() {
    everywhere(|service, container| {
        assert!(matches!(service.create("run42"), Err(Error::Exists(_))));
        service.create("other").unwrap();
        assert_eq!(service.list().unwrap(), ["other", "run42"]);
        assert!(service.contains("other") && !service.contains("none"));
        assert!(matches!(service.open("none", Mode::Read), Err(Error::NotFound(_))));
        assert!(matches!(service.destroy("run42"), Err(Error::Refused(_))));
        service.destroy("other").unwrap();
        assert_eq!(service.list().unwrap(), ["run42"]);
        container.flush().unwrap();
    });
}

#[test]
fn names_do_not_leave_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let inner = Service::folder(&folder.path().join("inner"));
    for name in ["..", ".", "", "../x", "a/b", "a\\b", "/tmp/x", "a\0"] {
        assert!(inner.create(name).is_err() && inner.open(name, Mode::Read).is_err(), "{name:?}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn pairs_are_sorted_and_any_bytes() {
    everywhere(|_, c| {
        c.apply(Batch::new().create_kv(KV, ScratchPad::with(&[BLOB]))).unwrap();
        c.put(KV, &[(b"b", b"2"), (b"", b""), (&[0], b"0"), (&[0xff, 0], &[7; 100_000])]).unwrap();
        let keys: Vec<&[u8]> = vec![b"", &[0], b"b", &[0xff, 0]];
        assert_eq!(c.keys(KV, b"", 10).unwrap(), keys);
        assert_eq!(c.keys(KV, b"a", 1).unwrap(), [b"b"]);
        let found = c.get(KV, &[b"b", b"none", b""]).unwrap();
        assert_eq!(found, [Some(b"2".to_vec()), None, Some(Vec::new())]);
        c.apply(Batch::new().remove(KV, &b"b"[..]).remove(KV, &b"none"[..])).unwrap();
        assert_eq!(c.pairs(KV, b"", 2).unwrap(), [(vec![], vec![]), (vec![0], b"0".to_vec())]);
        assert_eq!(c.open(KV).unwrap().0, [BLOB, Id::UNDEFINED, Id::UNDEFINED, Id::UNDEFINED]);
        assert!(matches!(c.get(Id::new(Kind::KeyValue, 9), &[b""]), Err(Error::NotFound(_))));
        assert!(matches!(c.put(KV, &[(&vec![0; 40_000], b"")]), Err(Error::TooLarge(_))));
    });
}

#[test]
fn a_batch_does_all_or_nothing() {
    everywhere(|_, c| {
        c.apply(Batch::new().create_kv(KV, ScratchPad::NULL).put(KV, &b"a"[..], &b"1"[..])).unwrap();
        let wrong: [fn(&mut Batch<'_>); 5] = [
            |batch| _ = batch.create_kv(KV, ScratchPad::NULL),
            |batch| _ = batch.delete(ARRAY),
            |batch| _ = batch.put(BLOB, &b"a"[..], &b"2"[..]),
            |batch| _ = batch.resize(KV, 3),
            |batch| _ = batch.create_array(ARRAY, ScratchPad::NULL, 4, &[3], Some(&[0])),
        ];
        for wrong in wrong {
            let mut batch = Batch::new();
            batch.put(KV, &b"a"[..], &b"2"[..]).create_blob(BLOB, ScratchPad::NULL, &b"x"[..]);
            wrong(&mut batch);
            assert!(c.apply(&batch).is_err());
            assert_eq!(c.get(KV, &[b"a"]).unwrap(), [Some(b"1".to_vec())]);
            assert!(c.blob_len(BLOB).is_err());
        }
        c.apply(Batch::new().delete(KV)).unwrap();
        assert!(matches!(c.open(KV), Err(Error::NotFound(_))));
        assert_eq!(c.list().unwrap(), []);
    });
}

#[test]
fn holes_leave_the_buffer_as_it_was() {
    everywhere(|_, c| {
        for chunk in [None, Some(&[2, 3][..])] {
            make_array(c, 2, &[4, 5], chunk);
            assert_eq!(c.array(ARRAY).unwrap().chunk.as_deref(), chunk);
            c.write(ARRAY, &Slab::new(&[1, 1], &[2, 3]), &[1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]).unwrap();
            let mut into = [9; 40];
            c.read(ARRAY, &Slab::new(&[0, 0], &[4, 5]), &mut into).unwrap();
            let cells: Vec<u8> = into.chunks(2).map(|cell| cell[0]).collect();
            assert_eq!(cells, [9, 9, 9, 9, 9, 9, 1, 2, 3, 9, 9, 4, 5, 6, 9, 9, 9, 9, 9, 9]);
            c.apply(Batch::new().delete(ARRAY)).unwrap();
        }
    });
}

#[test]
fn strided_slabs_are_what_they_say() {
    everywhere(|_, c| {
        make_array(c, 1, &[6, 10], Some(&[4, 3]));
        let all: Vec<u8> = (0..60).collect();
        c.write(ARRAY, &Slab::new(&[0, 0], &[6, 10]), &all).unwrap();
        let slab = Slab { start: vec![1, 0], stride: vec![3, 4], count: vec![2, 3], block: vec![2, 2] };
        let mut into = [0; 24];
        c.read(ARRAY, &slab, &mut into).unwrap();
        let rows = [1, 2, 4, 5].map(|row| [0, 1, 4, 5, 8, 9].map(|column| row * 10 + column));
        assert_eq!(into.to_vec(), rows.concat());
        c.write(ARRAY, &slab, &[0xee; 24]).unwrap();
        let mut after = [0; 60];
        c.read(ARRAY, &Slab::new(&[0, 0], &[6, 10]), &mut after).unwrap();
        assert_eq!(after.iter().filter(|cell| **cell == 0xee).count(), 24);
        for bad in [Slab::new(&[0, 5], &[1, 6]), Slab::new(&[0], &[1]), Slab::new(&[u64::MAX, 0], &[2, 1])] {
            assert!(matches!(c.read(ARRAY, &bad, &mut [0; 6]), Err(Error::Condition(_))), "{bad:?}");
        }
    });
}

#[test]
fn the_first_dimension_grows_and_what_was_cut_is_gone() {
    everywhere(|_, c| {
        for chunk in [None, Some(&[2, 2][..])] {
            make_array(c, 1, &[3, 3], chunk);
            c.write(ARRAY, &Slab::new(&[0, 0], &[3, 3]), &[1; 9]).unwrap();
            c.apply(Batch::new().resize(ARRAY, 1)).unwrap();
            c.apply(Batch::new().resize(ARRAY, 5)).unwrap();
            let mut into = [0; 15];
            c.read(ARRAY, &Slab::new(&[0, 0], &[5, 3]), &mut into).unwrap();
            assert_eq!(into, [1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
            c.apply(Batch::new().delete(ARRAY)).unwrap();
        }
    });
}

#[test]
fn arrays_may_be_as_wide_as_numbers_go() {
    everywhere(|_, c| {
        make_array(c, 8, &[10, u64::MAX], Some(&[4, 4]));
        let block = [4, u64::MAX / 4 * 4 - 4];
        c.write_cells(ARRAY, &[CellWrite { block: &block, first: 3, from: &[5; 8] }]).unwrap();
        let mut into = [0; 8];
        c.read(ARRAY, &Slab::new(&[4, block[1] + 3], &[1, 1]), &mut into).unwrap();
        assert_eq!((into, c.blocks(ARRAY).unwrap()), ([5; 8], vec![block.to_vec()]));
        c.punch_block(ARRAY, &block).unwrap();
        assert!(!c.has_block(ARRAY, &block).unwrap());
    });
}

#[test]
fn blobs_grow_and_shrink() {
    everywhere(|_, c| {
        c.apply(Batch::new().create_blob(BLOB, ScratchPad::NULL, &b"HDF5 is"[..])).unwrap();
        c.write_blob(BLOB, 8, b"great").unwrap();
        let mut into = [9; 20];
        assert_eq!(c.read_blob(BLOB, 5, &mut into).unwrap(), 8);
        assert_eq!(into[..8], *b"is\0great");
        // Now it lies next to its head.
        c.write_blob(BLOB, 100_000, b"far").unwrap();
        assert_eq!(c.blob_len(BLOB).unwrap(), 100_003);
        let whole = c.read_blobs(&[BLOB, Id::new(Kind::Blob, 9)], 1 << 20).unwrap();
        assert_eq!(whole[0].as_ref().unwrap()[..13], *b"HDF5 is\0great");
        assert_eq!((whole[0].as_ref().unwrap().len(), &whole[1]), (100_003, &None));
        assert!(matches!(c.read_blobs(&[BLOB], 10), Err(Error::TooLarge(_))));
        c.truncate_blob(BLOB, 50_000).unwrap();
        assert_eq!(c.blob_len(BLOB).unwrap(), 50_000);
        c.truncate_blob(BLOB, 4).unwrap();
        assert_eq!(c.read_blobs(&[BLOB], 10).unwrap(), [Some(b"HDF5".to_vec())]);
        c.truncate_blob(BLOB, 0).unwrap();
        assert_eq!(c.blob_len(BLOB).unwrap(), 0);
        assert!(c.write_blob(BLOB, u64::MAX, b"x").is_err());
    });
}

#[test]
fn many_threads_work_at_once() {
    everywhere(|_, c| {
        c.apply(Batch::new().create_kv(KV, ScratchPad::NULL)).unwrap();
        make_array(c, 8, &[64, 100], Some(&[1, 100]));
        std::thread::scope(|scope| {
            for row in 0..8u64 {
                scope.spawn(move || {
                    for step in 0..8 {
                        let at = row * 8 + step;
                        let cells = at.to_le_bytes().repeat(100);
                        c.write(ARRAY, &Slab::new(&[at, 0], &[1, 100]), &cells).unwrap();
                        c.put(KV, &[(&at.to_be_bytes(), b"done")]).unwrap();
                        c.flush().unwrap();
                    }
                });
            }
        });
        assert_eq!(c.keys(KV, b"", 100).unwrap().len(), 64);
        let mut into = vec![0; 64 * 800];
        c.read(ARRAY, &Slab::new(&[0, 0], &[64, 100]), &mut into).unwrap();
        let wanted: Vec<u8> = (0..64u64).flat_map(|at| at.to_le_bytes().repeat(100)).collect();
        assert_eq!(into, wanted);
    });
}

#[test]
fn what_was_flushed_is_there_again_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::folder(folder.path());
    let container = service.create("a").unwrap();
    container.apply(Batch::new().create_kv(KV, ScratchPad::with(&[ARRAY, BLOB]))).unwrap();
    make_array(&container, 4, &[2, 2], None);
    container.write(ARRAY, &Slab::new(&[0, 0], &[2, 2]), &[3; 16]).unwrap();
    container.flush().unwrap();
    container.apply(Batch::new().create_blob(BLOB, ScratchPad::NULL, &b"lost"[..]).delete(KV)).unwrap();
    drop(container);
    let container = service.open("a", Mode::Read).unwrap();
    assert_eq!(container.list().unwrap(), [KV, ARRAY]);
    assert_eq!(container.open(KV).unwrap(), ScratchPad::with(&[ARRAY, BLOB]));
    let mut into = [0; 16];
    container.read(ARRAY, &Slab::new(&[0, 0], &[2, 2]), &mut into).unwrap();
    assert_eq!(into, [3; 16]);
    assert!(matches!(container.apply(Batch::new().delete(KV)), Err(Error::Refused(_))));
}

#[test]
fn broken_scratch_pads_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::folder(folder.path());
    let container = service.create("a").unwrap();
    container.apply(Batch::new().create_kv(KV, ScratchPad::with(&[ARRAY]))).unwrap();
    container.flush().unwrap();
    drop(container);
    {
        let pool = objects::embedded::pool(&folder.path().join("a"));
        let store = pool.open(pool.list().unwrap()[0], Mode::ReadWrite).unwrap();
        let kv = objects::ObjectId { high: 0, low: 0 };
        let mut head = store.get(kv, &[0], &[&[0]]).unwrap().pop().unwrap().unwrap();
        head[3] ^= 1;
        let changes = [objects::Change::Single(&[0], &head)];
        let phase = objects::Phase::Content;
        store
            .update(&objects::Update { object: kv, dkey: &[0], changes: &changes, conditions: &[], phase })
            .unwrap();
        store.flush().unwrap();
    }
    let container = service.open("a", Mode::Read).unwrap();
    let error = container.open(KV).unwrap_err();
    assert!(matches!(&error, Error::Corrupt(problem) if problem.contains("checksum")), "{error}");
}

/// Where a flush is no commit and several processes reach a container, one at a time writes to it.
#[test]
fn a_lease_lets_one_process_write_on_an_engine_of_many() {
    let service = Service::pool(objects::strict::pool());
    let first = service.create("a").unwrap();
    first.apply(Batch::new().create_kv(KV, ScratchPad::NULL)).unwrap();
    first.put(KV, &[(b"key", b"1")]).unwrap();
    first.flush().unwrap();
    let refused = service.open("a", Mode::ReadWrite).unwrap_err();
    assert!(matches!(&refused, Error::Refused(why) if why.contains("lease")), "{refused}");
    let reader = service.open("a", Mode::Read).unwrap();
    assert_eq!(reader.get(KV, &[b"key"]).unwrap(), [Some(b"1".to_vec())]);
    drop(first);
    let second = service.open("a", Mode::ReadWrite).unwrap();
    second.put(KV, &[(b"key", b"")]).unwrap();
    second.flush().unwrap();
    reader.refresh().unwrap();
    assert_eq!(reader.get(KV, &[b"key"]).unwrap(), [Some(Vec::new())]);
}

/// A writer that does nothing keeps the right to write; one that died loses it when its lease is over.
#[test]
fn a_lease_is_renewed_while_its_container_is_open() {
    let pool = objects::strict::pool();
    let service = Service::leased_pool(pool.clone(), std::time::Duration::from_secs(2));
    let idle = service.create("a").unwrap();
    std::thread::sleep(std::time::Duration::from_secs(3));
    assert!(matches!(service.open("a", Mode::ReadWrite), Err(Error::Refused(_))));
    assert!(matches!(service.destroy("a"), Err(Error::Refused(_))));
    idle.flush().unwrap();
    drop(idle);
    drop(service.open("a", Mode::ReadWrite).unwrap());
    service.destroy("a").unwrap();
}

#[test]
fn a_writer_that_was_silent_for_too_long_stores_nothing_over_the_next() {
    let pool = objects::strict::pool();
    let service = Service::pool(pool.clone());
    let silent = service.create("a").unwrap();
    silent.apply(Batch::new().create_kv(KV, ScratchPad::NULL)).unwrap();
    silent.flush().unwrap();
    // Its lease is over: that of a minute ago.
    let store = pool.open(pool.list().unwrap()[0], Mode::ReadWrite).unwrap();
    let lease = [7u64.to_le_bytes(), 1u64.to_le_bytes()].concat();
    let changes = [objects::Change::Single(b"writer", &lease)];
    let (object, phase) = (objects::ObjectId { high: 3, low: 0 }, objects::Phase::Content);
    store
        .update_now(&objects::Update { object, dkey: &[0], changes: &changes, conditions: &[], phase })
        .unwrap();
    let next = service.open("a", Mode::ReadWrite).unwrap();
    let refused = silent.flush().unwrap_err();
    assert!(matches!(&refused, Error::Refused(why) if why.contains("another process")), "{refused}");
    assert!(matches!(silent.put(KV, &[(b"key", b"1")]), Err(Error::Refused(_))));
    next.put(KV, &[(b"key", b"2")]).unwrap();
    next.flush().unwrap();
}

/// The first layout has empty keys: what older programs made is read and written as they did it.
#[test]
fn containers_of_the_first_layout_stay_as_they_are() {
    let pool = objects::memory::pool();
    let service = Service::pool(pool.clone());
    drop(service.create("a").unwrap());
    let store = pool.open(pool.list().unwrap()[0], Mode::ReadWrite).unwrap();
    let mark = objects::ObjectId { high: 3, low: 0 };
    store.punch_object(mark, objects::Phase::Removal).unwrap();
    let version = 1u32.to_le_bytes();
    let changes = [objects::Change::Single(b"iod", &version)];
    let phase = objects::Phase::Content;
    store
        .update(&objects::Update { object: mark, dkey: b"", changes: &changes, conditions: &[], phase })
        .unwrap();
    let container = service.open("a", Mode::ReadWrite).unwrap();
    container
        .apply(Batch::new().create_kv(KV, ScratchPad::NULL).create_array(
            ARRAY,
            ScratchPad::NULL,
            1,
            &[4],
            None,
        ))
        .unwrap();
    container.put(KV, &[(b"", b""), (b"zero", &[0])]).unwrap();
    container.write(ARRAY, &Slab::new(&[1], &[2]), b"ab").unwrap();
    assert_eq!(container.get(KV, &[b"", b"zero"]).unwrap(), [Some(vec![]), Some(vec![0])]);
    let kv = objects::ObjectId { high: 0, low: 0 };
    assert_eq!(store.get(kv, b"", &[b"\x01", b"\x01zero"]).unwrap(), [Some(vec![]), Some(vec![0])]);
    let (mut cells, array) = ([b'.'; 4], objects::ObjectId { high: 1, low: ARRAY.number() });
    assert!(store.size(array, &[1, 0], b"").unwrap().is_some());
    container.read(ARRAY, &Slab::new(&[0], &[4]), &mut cells).unwrap();
    assert_eq!(&cells, b".ab.");
}
