//! The table of identifiers.
//!
//! An identifier has its type in the upper bits and a serial number below, as in libhdf5, and a number is never used twice: a
//! stale or foreign identifier is an error and nothing else. Low serial numbers are those of predefined objects, whose
//! identifiers are constants.

use std::collections::HashMap;
use std::ffi::c_int;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use system::sync::RwLock;

use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{hid_t, id_type};
use crate::handles::Object;

/// Bits of the serial number.
const SERIAL_BITS: u32 = 56;

/// Serial numbers of objects that programs make begin here.
const FIRST_SERIAL: u64 = 1 << 16;

/// Tables, so that threads seldom meet in one.
const SHARDS: usize = 64;

/// Returns the identifier of a predefined object. Serial numbers begin at 1.
pub const fn predefined(kind: c_int, serial: u64) -> hid_t {
    make(kind, serial)
}

const fn make(kind: c_int, serial: u64) -> hid_t {
    ((kind as u64) << SERIAL_BITS | serial) as hid_t
}

/// Returns the type of an identifier, which need not be valid.
pub fn type_of(id: hid_t) -> c_int {
    if id <= 0 { id_type::BADID } else { (id as u64 >> SERIAL_BITS) as c_int }
}

/// Returns the serial number of a predefined object, if the identifier is that of one.
pub fn predefined_serial(id: hid_t) -> Option<u64> {
    let serial = id as u64 & ((1 << SERIAL_BITS) - 1);
    (id > 0 && serial > 0 && serial < FIRST_SERIAL).then_some(serial)
}

struct Entry {
    object: Object,
    count: c_int,
}

/// Serial numbers differ in their low bits: nothing is gained by mixing them.
#[derive(Default)]
struct Plain(u64);

impl Hasher for Plain {
    fn finish(&self) -> u64 {
        // The table takes its control bytes from the upper bits.
        self.0.wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }

    fn write(&mut self, _bytes: &[u8]) {}

    fn write_i64(&mut self, id: i64) {
        self.0 = id as u64;
    }
}

type Shard = RwLock<HashMap<hid_t, Entry, BuildHasherDefault<Plain>>>;

static TABLE: LazyLock<Vec<Shard>> = LazyLock::new(|| (0..SHARDS).map(|_| Shard::default()).collect());
static NEXT: AtomicU64 = AtomicU64::new(FIRST_SERIAL);

fn shard(id: hid_t) -> &'static Shard {
    &TABLE[id as usize % SHARDS]
}

fn unknown(id: hid_t) -> Failure {
    Failure::new(Major::ID, Minor::BADID, format!("can't locate ID {id:#x}"))
}

/// Gives an object an identifier, with one reference.
pub fn register(object: Object) -> hid_t {
    let id = make(object.id_type(), NEXT.fetch_add(1, Ordering::Relaxed));
    shard(id).write().insert(id, Entry { object, count: 1 });
    id
}

/// Returns the object of an identifier.
pub fn object(id: hid_t) -> Fallible<Object> {
    if predefined_serial(id).is_some() {
        return crate::handles::predefined(id).ok_or_else(|| unknown(id));
    }
    shard(id).read().get(&id).map(|entry| entry.object.clone()).ok_or_else(|| unknown(id))
}

/// Returns what `choose` takes of the object of an identifier; `what` says in an error what was expected.
pub fn get<T>(id: hid_t, what: &str, choose: impl FnOnce(Object) -> Option<T>) -> Fallible<T> {
    // An identifier that is no longer there and one of another type are told apart by their minor numbers.
    let object = object(id).map_err(|failure| {
        Failure::new(Major::ARGS, Minor::BADTYPE, format!("not {what}: {}", failure.text))
    })?;
    choose(object).ok_or_else(|| Failure::wrong_type(format!("not {what}")))
}

/// Returns whether an identifier is valid.
pub fn is_valid(id: hid_t) -> bool {
    if predefined_serial(id).is_some() {
        return crate::handles::predefined(id).is_some();
    }
    shard(id).read().contains_key(&id)
}

/// Puts another object behind an identifier of the same type: a transient datatype becomes a committed one.
pub fn replace(id: hid_t, object: Object) -> Fallible<()> {
    let mut shard = shard(id).write();
    let entry = shard.get_mut(&id).ok_or_else(|| unknown(id))?;
    let old = std::mem::replace(&mut entry.object, object);
    drop(shard);
    drop(old);
    Ok(())
}

/// Returns the number of references to an identifier.
pub fn count(id: hid_t) -> Fallible<c_int> {
    if predefined_serial(id).is_some() && is_valid(id) {
        return Ok(1);
    }
    shard(id).read().get(&id).map(|entry| entry.count).ok_or_else(|| unknown(id))
}

/// Adds a reference and returns their number.
pub fn add_reference(id: hid_t) -> Fallible<c_int> {
    if predefined_serial(id).is_some() && is_valid(id) {
        return Ok(1);
    }
    let mut shard = shard(id).write();
    let entry = shard.get_mut(&id).ok_or_else(|| unknown(id))?;
    entry.count = entry.count.saturating_add(1);
    Ok(entry.count)
}

/// Removes a reference and returns how many are left. With the last one the object is closed.
pub fn remove_reference(id: hid_t) -> Fallible<c_int> {
    remove_reference_if(id, |_| true).unwrap_or_else(|| Err(unknown(id)))
}

/// Removes a reference if `is_right` accepts the object; `None` if it does not, or if there is no such identifier.
fn remove_reference_if(id: hid_t, is_right: impl FnOnce(&Object) -> bool) -> Option<Fallible<c_int>> {
    if predefined_serial(id).is_some() {
        return crate::handles::predefined(id).filter(is_right).map(|_| Ok(1));
    }
    let mut shard = shard(id).write();
    let entry = shard.get_mut(&id).filter(|entry| is_right(&entry.object))?;
    entry.count -= 1;
    if entry.count > 0 {
        return Some(Ok(entry.count));
    }
    let entry = shard.remove(&id)?;
    drop(shard);
    Some(entry.object.close(id).map(|()| 0))
}

/// Closes an identifier that a `…close` function was called with: `is_right` says whether it is of that function's type.
pub fn close(id: hid_t, what: &str, is_right: impl Fn(&Object) -> bool) -> Fallible<()> {
    match remove_reference_if(id, &is_right) {
        Some(done) => done.map(drop),
        None => get(id, what, |object| is_right(&object).then_some(())),
    }
}

/// Takes an identifier away without closing its object.
pub fn remove(id: hid_t) -> Fallible<Object> {
    let entry = shard(id).write().remove(&id);
    entry.map(|entry| entry.object).ok_or_else(|| unknown(id))
}

/// Returns the identifiers whose objects `test` accepts, in the order they were made.
pub fn find(test: impl Fn(&Object) -> bool) -> Vec<hid_t> {
    let of = |shard: &Shard| -> Vec<hid_t> {
        shard.read().iter().filter(|(_, entry)| test(&entry.object)).map(|(id, _)| *id).collect()
    };
    let mut found: Vec<hid_t> = TABLE.iter().flat_map(of).collect();
    found.sort_unstable_by_key(|id| *id as u64 & ((1 << SERIAL_BITS) - 1));
    found
}

/// Puts an object back under an identifier that was just removed, because it could not be closed.
pub fn restore(id: hid_t, object: Object) {
    shard(id).write().insert(id, Entry { object, count: 1 });
}
