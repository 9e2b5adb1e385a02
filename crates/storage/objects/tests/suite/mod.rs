//! What the contract promises, as tests that run on every engine.

mod containers;
mod keys;
mod random;
mod records;
mod threads;
mod values;

use std::process::ExitCode;
use std::sync::Arc;

use hyperslab_objects::{
    Change, Condition, ContainerId, Fetch, Mode, ObjectId, Phase, Pool, Result, Store, Update,
};
use libtest_mimic::{Arguments, Trial};

/// One test: a pool, and a container's name that no other caller uses.
type Test = fn(&Subject);

/// What a test works on.
pub(crate) struct Subject {
    /// Where containers are created.
    pub(crate) pool: Arc<dyn Pool>,
    /// The container of this test.
    pub(crate) id: ContainerId,
}

impl Subject {
    /// A new container.
    pub(crate) fn create(&self) -> Arc<dyn Store> {
        self.pool.create(self.id).unwrap()
    }

    /// Flushes a store, forgets it and opens it again.
    pub(crate) fn reopen(&self, store: Arc<dyn Store>) -> Arc<dyn Store> {
        store.flush().unwrap();
        drop(store);
        self.pool.open(self.id, Mode::ReadWrite).unwrap()
    }
}

/// Runs the suite on an engine. `pool` is called for each test.
pub(crate) fn run(engine: &'static str, pool: fn() -> Arc<dyn Pool>) -> ExitCode {
    let tests =
        [values::TESTS, records::TESTS, keys::TESTS, containers::TESTS, threads::TESTS, random::TESTS];
    let trials = tests.concat().into_iter().map(|(name, test)| trial(engine, name, test, pool)).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn trial(engine: &str, name: &'static str, test: Test, pool: fn() -> Arc<dyn Pool>) -> Trial {
    Trial::test(format!("{engine}::{name}"), move || {
        let id = ContainerId::from_name(&format!("{name} of {}", std::process::id()));
        let subject = Subject { pool: pool(), id };
        test(&subject);
        // Some tests destroy it themselves.
        let _ = subject.pool.destroy(id);
        Ok(())
    })
}

/// The object that most tests change.
pub(crate) const OBJECT: ObjectId = ObjectId { high: 7, low: 1 };
/// Another one.
pub(crate) const OTHER: ObjectId = ObjectId { high: 7, low: 2 };
/// The dkey that most tests change.
pub(crate) const DKEY: &[u8] = b"dkey";

/// Keys and values that break naive encodings, in byte order.
pub(crate) const ODD: [&[u8]; 15] = [
    b"",
    b"\0",
    b"\0\0",
    b"\0\x01",
    b"\0a",
    b"\x01",
    b"\x01\x01",
    b"\x02",
    b"\x02\x01",
    b"\x02\x02",
    b"\x03",
    b"/",
    b"a\0b",
    b"\xff",
    b"\xff\xff",
];

/// An update of the usual dkey.
pub(crate) fn update(store: &dyn Store, changes: &[Change<'_>]) -> Result<()> {
    update_if(store, changes, &[])
}

/// An update of the usual dkey under conditions.
pub(crate) fn update_if(
    store: &dyn Store,
    changes: &[Change<'_>],
    conditions: &[Condition<'_>],
) -> Result<()> {
    update_at(store, (OBJECT, DKEY), changes, conditions)
}

/// An update of any dkey.
pub(crate) fn update_at(
    store: &dyn Store,
    (object, dkey): (ObjectId, &[u8]),
    changes: &[Change<'_>],
    conditions: &[Condition<'_>],
) -> Result<()> {
    store.update(&Update { object, dkey, changes, conditions, phase: Phase::Content })
}

/// The single value of an akey of the usual dkey.
pub(crate) fn get(store: &dyn Store, akey: &[u8]) -> Option<Vec<u8>> {
    store.get(OBJECT, DKEY, &[akey]).unwrap().remove(0)
}

/// One-byte records of an akey of the usual dkey, with dots where there are none.
pub(crate) fn read(store: &dyn Store, akey: &[u8], start: u64, count: usize) -> String {
    let mut into = vec![b'.'; count];
    fetch(store, akey, 1, start, &mut into).unwrap();
    String::from_utf8(into).unwrap()
}

/// Reads records of an akey of the usual dkey.
pub(crate) fn fetch(
    store: &dyn Store,
    akey: &[u8],
    record_size: u32,
    start: u64,
    into: &mut [u8],
) -> Result<()> {
    store.fetch(&mut [Fetch { object: OBJECT, dkey: DKEY, akey, record_size, start, into }])
}

/// A write of one-byte records.
pub(crate) fn letters<'a>(akey: &'a [u8], start: u64, text: &'a str) -> Change<'a> {
    Change::Records { akey, record_size: 1, start, bytes: text.as_bytes() }
}

/// All dkeys of the usual object.
pub(crate) fn dkeys(store: &dyn Store) -> Vec<Vec<u8>> {
    store.dkeys(OBJECT, b"", usize::MAX).unwrap()
}

/// All akeys of the usual dkey.
pub(crate) fn akeys(store: &dyn Store) -> Vec<Vec<u8>> {
    store.akeys(OBJECT, DKEY, b"", usize::MAX).unwrap()
}

/// Numbers that repeat: a test says its seed, so that a failure can be had again.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % end
    }
}
