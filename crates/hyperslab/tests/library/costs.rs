//! The cost models of docs/object-layout.md and docs/iod-layout.md: requests to the store, by kind.

use std::sync::Arc;

use hyperslab::extend::storage::counted::{Counted, Requests};
use hyperslab::extend::storage::strict;
use hyperslab::extend::{Registry, register_engine};
use hyperslab::plist::FileCreate;
use hyperslab::{Dataset, File, FileAccess, Result, Selection, registry};

/// Elements of a dataset, and of a chunk; links of a group that is listed.
const ELEMENTS: u64 = 10_000;
const CHUNK: u64 = 1000;
const LINKS: u64 = 500;

/// One process with a pool of its own, on an engine that has what DAOS has.
struct Rig {
    counted: Arc<Counted>,
    registry: Registry,
    location: String,
    file: File,
}

impl Rig {
    fn new(connector: &str) -> Result<Rig> {
        let (counted, mut registry) = (Arc::new(Counted::new(strict::pool())), registry());
        register_engine(&mut registry, "counted", counted.clone())?;
        let (location, access) = (format!("{connector}+counted:run"), FileAccess::write());
        let file = File::create_in(&registry, &location, &FileCreate::default(), &access, false)?;
        Ok(Rig { counted, registry, location, file })
    }

    /// Returns the requests of an operation.
    fn cold<T>(&self, run: impl FnOnce() -> Result<T>) -> Result<Requests> {
        let before = self.counted.requests();
        run()?;
        Ok(self.counted.requests() - before)
    }

    /// Returns the requests of the second of two operations: headers are cached then, and there are numbers for objects.
    fn warm<T>(&self, mut run: impl FnMut(u64) -> Result<T>) -> Result<Requests> {
        run(0)?;
        self.cold(|| run(1))
    }

    fn dataset(&self, name: &str, level: u8) -> Result<Dataset> {
        let new = self.file.new_dataset::<i32>().shape([ELEMENTS as usize]).chunk([CHUNK as usize]);
        if level > 0 { new.deflate(level).create(name) } else { new.create(name) }
    }

    /// Closes the file and opens it again; what that takes.
    fn reopen(mut self) -> Result<(Rig, Requests)> {
        self.file.clone().close()?;
        let before = self.counted.requests();
        self.file = File::open_in(&self.registry, &self.location, &FileAccess::write())?;
        let spent = self.counted.requests() - before;
        Ok((self, spent))
    }
}

/// Compares the numbers of requests, and not bytes; a flush sends what waits, which was counted before.
fn same(what: &str, found: Requests, wanted: Requests) {
    let Requests { flushes, refreshes, bytes_written, bytes_read, .. } = found;
    assert_eq!(found, Requests { flushes, refreshes, bytes_written, bytes_read, ..wanted }, "{what}");
}

fn values() -> Vec<i32> {
    (0..ELEMENTS as i32).collect()
}

/// What begins and ends in the middle of chunks, and has one whole chunk.
fn part() -> Result<(Selection, Vec<i32>)> {
    Ok((Selection::block(&[CHUNK / 2], &[2 * CHUNK])?, vec![-1; 2 * CHUNK as usize]))
}

const NONE: Requests = Requests {
    containers: 0,
    allocations: 0,
    updates: 0,
    updates_now: 0,
    fetches: 0,
    gets: 0,
    sizes: 0,
    punches: 0,
    listings: 0,
    flushes: 0,
    refreshes: 0,
    bytes_written: 0,
    bytes_read: 0,
};

#[test]
fn structure_of_an_object_store_takes_the_requests_of_the_model() -> Result<()> {
    let rig = Rig::new("object")?;
    let file = &rig.file;
    let two = Requests { updates: 2, ..NONE };
    same("group", rig.warm(|n| file.create_group(&format!("group {n}")))?, two);
    same("dataset", rig.warm(|n| rig.dataset(&format!("data {n}"), 0))?, two);
    let group = file.group("group 0")?;
    let attribute = Requests { updates: 2, gets: 1, ..NONE };
    same("attribute", rig.warm(|n| group.set_attr(&format!("a{n}"), 5i32))?, attribute);
    let link = Requests { updates: 1, sizes: 1, ..NONE };
    same("link", rig.warm(|n| file.link_soft("/data 0", &format!("soft {n}")))?, link);
    (0..LINKS).try_for_each(|n| group.link_soft("/data 0", &n.to_string()))?;
    same("commit", rig.warm(|_| file.flush())?, NONE);
    let map = file.create_map::<u64, u64>("map")?;
    same("pair", rig.warm(|n| map.put(&n, &1u64))?, Requests { updates: 1, ..NONE });
    let pairs: Vec<u64> = (10..20).collect();
    same("pairs", rig.warm(|_| map.put_all(pairs.iter().map(|n| (n, n))))?, Requests { updates: 10, ..NONE });
    same("value", rig.warm(|n| map.get::<_, u64>(&n))?, Requests { gets: 1, ..NONE });
    let (rig, opened) = rig.reopen()?;
    same("open", opened, Requests { containers: 1, gets: 3, ..NONE });
    let found = rig.cold(|| rig.file.dataset("data 0"))?;
    same("open dataset", found, Requests { gets: 3, ..NONE });
    let group = rig.file.group("group 0")?;
    let listed = rig.cold(|| group.member_names())?;
    assert!((2 * LINKS..2 * LINKS + 4).contains(&listed.gets) && listed.listings == 1, "{listed:?}");
    same("refresh", rig.warm(|_| group.refresh())?, Requests { gets: 1, ..NONE });
    Ok(())
}

#[test]
fn elements_of_an_object_store_take_a_request_for_each_chunk() -> Result<()> {
    let rig = Rig::new("object")?;
    let (plain, coded, values) = (rig.dataset("plain", 0)?, rig.dataset("coded", 1)?, values());
    let (selection, new) = part()?;
    let chunks = ELEMENTS / CHUNK;
    let written = rig.warm(|_| plain.write_raw(&values))?;
    same("write", written, Requests { updates: chunks, ..NONE });
    assert_eq!(written.bytes_written, 4 * ELEMENTS);
    let written = rig.warm(|_| plain.write_selection(&selection, &new))?;
    same("write part", written, Requests { updates: 3, ..NONE });
    assert_eq!(written.bytes_written, 4 * 2 * CHUNK, "no more than what is selected");
    let read = rig.warm(|_| plain.read_selection::<i32>(&selection))?;
    same("read part", read, Requests { fetches: 3, ..NONE });
    assert_eq!(read.bytes_read, 4 * 2 * CHUNK);
    same("write filtered", rig.warm(|_| coded.write_raw(&values))?, Requests { updates: chunks, ..NONE });
    same("read filtered", rig.warm(|_| coded.read_raw::<i32>())?, Requests { gets: 2 * chunks, ..NONE });
    rig.file.flush()?;
    coded.write_selection(&selection, &new)?;
    // Chunks that changed in part are read and replaced on a condition.
    let flushed = rig.cold(|| rig.file.flush())?;
    same("flush of parts", flushed, Requests { updates_now: 2, gets: 2 * 2, ..NONE });
    let texts = rig.file.new_dataset::<String>().shape([10]).create("texts")?;
    let words = vec!["abc".to_owned(); 10];
    // The old values go, the new ones come, and the chunk is read and written.
    let written = rig.warm(|_| texts.write_raw(&words))?;
    same("texts", written, Requests { updates: 2 * 10 + 1, fetches: 1, ..NONE });
    same("read texts", rig.warm(|_| texts.read_raw::<String>())?, Requests { fetches: 1, gets: 10, ..NONE });
    Ok(())
}

#[test]
fn structure_of_key_value_stores_takes_the_requests_of_the_model() -> Result<()> {
    let rig = Rig::new("iod")?;
    let file = &rig.file;
    let object = Requests { updates: 4, gets: 4, ..NONE };
    same("group", rig.warm(|n| file.create_group(&format!("group {n}")))?, object);
    same("dataset", rig.warm(|n| rig.dataset(&format!("data {n}"), 0))?, object);
    let group = file.group("group 0")?;
    same("attribute", rig.warm(|n| group.set_attr(&format!("a{n}"), 5i32))?, object);
    let link = Requests { updates: 1, gets: 1, ..NONE };
    same("link", rig.warm(|n| file.link_soft("/data 0", &format!("soft {n}")))?, link);
    (0..LINKS).try_for_each(|n| group.link_soft("/data 0", &n.to_string()))?;
    // The right to write is renewed.
    same("commit", rig.warm(|_| file.flush())?, Requests { updates_now: 1, ..NONE });
    let map = file.create_map::<u64, u64>("map")?;
    same("pair", rig.warm(|n| map.put(&n, &1u64))?, Requests { updates: 1, ..NONE });
    let pairs: Vec<u64> = (10..20).collect();
    same("pairs", rig.warm(|_| map.put_all(pairs.iter().map(|n| (n, n))))?, Requests { updates: 1, ..NONE });
    same("value", rig.warm(|n| map.get::<_, u64>(&n))?, Requests { gets: 1, ..NONE });
    let (rig, opened) = rig.reopen()?;
    same("open", opened, Requests { containers: 1, updates_now: 1, gets: 8, ..NONE });
    let found = rig.cold(|| rig.file.dataset("data 0"))?;
    same("open dataset", found, Requests { gets: 5, ..NONE });
    let group = rig.file.group("group 0")?;
    let listed = rig.cold(|| group.member_names())?;
    assert!(listed.gets <= 3 && listed.listings == 1, "values come with one request: {listed:?}");
    same("refresh", rig.warm(|_| group.refresh())?, Requests { gets: 1, ..NONE });
    Ok(())
}

#[test]
fn elements_of_arrays_take_a_request_for_each_chunk() -> Result<()> {
    let rig = Rig::new("iod")?;
    let (plain, coded, values) = (rig.dataset("plain", 0)?, rig.dataset("coded", 1)?, values());
    let (selection, new) = part()?;
    let chunks = ELEMENTS / CHUNK;
    let written = rig.warm(|_| plain.write_raw(&values))?;
    same("write", written, Requests { updates: chunks, ..NONE });
    assert_eq!(written.bytes_written, 4 * ELEMENTS);
    let written = rig.warm(|_| plain.write_selection(&selection, &new))?;
    same("write part", written, Requests { updates: 3, ..NONE });
    assert_eq!(written.bytes_written, 4 * 2 * CHUNK, "no more than what is selected");
    let read = rig.warm(|_| plain.read_selection::<i32>(&selection))?;
    same("read part", read, Requests { fetches: 3, ..NONE });
    // The cell of a chunk says which blob it is.
    let written = rig.cold(|| coded.write_raw(&values))?;
    // All cells are in one block; blobs take a range of numbers, once.
    let wanted = Requests { updates: chunks + 1, updates_now: 1, fetches: chunks, gets: chunks + 1, ..NONE };
    same("write filtered", written, wanted);
    let read = rig.warm(|_| coded.read_raw::<i32>())?;
    same("read filtered", read, Requests { fetches: chunks, gets: chunks, ..NONE });
    let texts = rig.file.new_dataset::<String>().shape([10]).create("texts")?;
    let words = vec!["abc".to_owned(); 10];
    let written = rig.warm(|_| texts.write_raw(&words))?;
    same("texts", written, Requests { updates: 10 + 1, fetches: 1, gets: 2 * 10, punches: 10, ..NONE });
    same("read texts", rig.warm(|_| texts.read_raw::<String>())?, Requests { fetches: 1, gets: 10, ..NONE });
    Ok(())
}
