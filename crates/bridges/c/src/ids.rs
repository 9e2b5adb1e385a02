//! The table of identifiers.
//!
//! An identifier has its type in the upper bits, as in libhdf5. Below are the entry of the table that it stands in, and how often
//! that entry was used before: no number is used twice, and a stale or foreign identifier is an error and nothing else. Small
//! numbers are those of predefined objects, whose identifiers are constants.

use std::cell::Cell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use system::sync::RwLock;

use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{hid_t, id_type};
use crate::handles::Object;

/// Bits under the type.
const SERIAL_BITS: u32 = 56;

/// Bits of the shard, of the entry in it, and of the number of uses.
const SHARD_BITS: u32 = 6;
const ENTRY_BITS: u32 = 22;
const USE_BITS: u32 = SERIAL_BITS - SHARD_BITS - ENTRY_BITS;

/// Tables, so that threads seldom meet in one.
const SHARDS: usize = 1 << SHARD_BITS;
/// Entries of a shard.
const ENTRIES_MAX: usize = 1 << ENTRY_BITS;
/// Uses of an entry; the first is number 1.
const USES_MAX: u32 = (1 << USE_BITS) - 1;

/// Serial numbers of predefined objects are below this.
const FIRST_SERIAL: u64 = 1 << 16;

// The first use of an entry is above all predefined numbers.
const _: () = assert!(1 << (SHARD_BITS + ENTRY_BITS) >= FIRST_SERIAL);

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

/// An object with its identifier.
struct Registered {
    id: hid_t,
    object: Object,
    count: c_int,
    /// Counts all objects, as they were registered.
    order: u64,
}

/// A place for an object.
#[derive(Default)]
struct Entry {
    /// How often it was used.
    uses: u32,
    registered: Option<Registered>,
}

/// A part of the table. Each has a cache line of its own.
#[repr(align(128))]
struct Shard(RwLock<Entries>);

#[derive(Default)]
struct Entries {
    entries: Vec<Entry>,
    /// Entries that can be used again.
    free: Vec<u32>,
}

static TABLE: [Shard; SHARDS] =
    [const { Shard(RwLock::new(Entries { entries: Vec::new(), free: Vec::new() })) }; SHARDS];
static NEXT_ORDER: AtomicU64 = AtomicU64::new(0);
static NEXT_SHARD: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The shard that this thread registers objects in, as a rule.
    static OWN_SHARD: Cell<Option<usize>> = const { Cell::new(None) };
}

fn own_shard() -> usize {
    OWN_SHARD.get().unwrap_or_else(|| {
        let own = NEXT_SHARD.fetch_add(1, Ordering::Relaxed) % SHARDS;
        OWN_SHARD.set(Some(own));
        own
    })
}

fn shard(id: hid_t) -> &'static RwLock<Entries> {
    &TABLE[id as usize % SHARDS].0
}

fn position(id: hid_t) -> usize {
    (id as usize >> SHARD_BITS) % ENTRIES_MAX
}

impl Entries {
    fn get(&self, id: hid_t) -> Option<&Registered> {
        self.entries.get(position(id))?.registered.as_ref().filter(|registered| registered.id == id)
    }

    fn get_mut(&mut self, id: hid_t) -> Option<&mut Registered> {
        self.entries.get_mut(position(id))?.registered.as_mut().filter(|registered| registered.id == id)
    }

    /// Puts an object into the table and returns its identifier; the object itself if the shard is full.
    fn insert(&mut self, shard: usize, object: Object) -> Result<hid_t, Object> {
        let at = match self.free.pop() {
            Some(at) => at as usize,
            None if self.entries.len() == ENTRIES_MAX => return Err(object),
            None => {
                self.entries.push(Entry::default());
                self.entries.len() - 1
            }
        };
        let entry = &mut self.entries[at];
        entry.uses += 1;
        let serial = u64::from(entry.uses) << (SHARD_BITS + ENTRY_BITS) | (at << SHARD_BITS | shard) as u64;
        let id = make(object.id_type(), serial);
        entry.registered = Some(registered(id, object));
        Ok(id)
    }

    fn remove(&mut self, id: hid_t) -> Option<Object> {
        let object = self.take(id)?;
        self.release(id);
        Some(object)
    }

    /// Takes the object out of its entry, which no other gets before it is released.
    fn take(&mut self, id: hid_t) -> Option<Object> {
        let entry = self.entries.get_mut(position(id))?;
        let registered = entry.registered.take_if(|registered| registered.id == id)?;
        Some(registered.object)
    }

    /// Lets an entry be used again, unless its object is back.
    fn release(&mut self, id: hid_t) {
        let at = position(id);
        // An entry whose numbers are used up is not used again.
        let is_free = |entry: &Entry| entry.registered.is_none() && entry.uses < USES_MAX;
        if self.entries.get(at).is_some_and(is_free) {
            self.free.push(at as u32);
        }
    }
}

fn registered(id: hid_t, object: Object) -> Registered {
    Registered { id, object, count: 1, order: NEXT_ORDER.fetch_add(1, Ordering::Relaxed) }
}

fn unknown(id: hid_t) -> Failure {
    Failure::new(Major::ID, Minor::BADID, format!("can't locate ID {id:#x}"))
}

/// Gives an object an identifier, with one reference.
pub fn register(mut object: Object) -> hid_t {
    let own = own_shard();
    for shard in (own..SHARDS).chain(0..own) {
        match TABLE[shard].0.write().insert(shard, object) {
            Ok(id) => return id,
            Err(back) => object = back,
        }
    }
    panic!("all identifiers are in use");
}

/// Returns what `look` takes of the object of an identifier. `look` must not use identifiers: the table is locked meanwhile.
pub fn with<T>(id: hid_t, look: impl FnOnce(&Object) -> T) -> Fallible<T> {
    if predefined_serial(id).is_some() {
        return crate::handles::predefined(id).map(|object| look(&object)).ok_or_else(|| unknown(id));
    }
    shard(id).read().get(id).map(|registered| look(&registered.object)).ok_or_else(|| unknown(id))
}

/// Returns the object of an identifier.
pub fn object(id: hid_t) -> Fallible<Object> {
    with(id, Object::clone)
}

/// Returns what `choose` takes of the object of an identifier, as in [`with`]; `what` says in an error what was expected.
pub fn get<T>(id: hid_t, what: &str, choose: impl FnOnce(&Object) -> Option<T>) -> Fallible<T> {
    // An identifier that is no longer there and one of another type are told apart by their minor numbers.
    let chosen = with(id, choose).map_err(|failure| {
        Failure::new(Major::ARGS, Minor::BADTYPE, format!("not {what}: {}", failure.text))
    })?;
    chosen.ok_or_else(|| Failure::wrong_type(format!("not {what}")))
}

/// Returns whether an identifier is valid.
pub fn is_valid(id: hid_t) -> bool {
    if predefined_serial(id).is_some() {
        return crate::handles::predefined(id).is_some();
    }
    shard(id).read().get(id).is_some()
}

/// Puts another object behind an identifier of the same type: a transient datatype becomes a committed one.
pub fn replace(id: hid_t, object: Object) -> Fallible<()> {
    let mut shard = shard(id).write();
    let registered = shard.get_mut(id).ok_or_else(|| unknown(id))?;
    let old = std::mem::replace(&mut registered.object, object);
    drop(shard);
    drop(old);
    Ok(())
}

/// Returns the number of references to an identifier.
pub fn count(id: hid_t) -> Fallible<c_int> {
    if predefined_serial(id).is_some() && is_valid(id) {
        return Ok(1);
    }
    shard(id).read().get(id).map(|registered| registered.count).ok_or_else(|| unknown(id))
}

/// Adds a reference and returns their number.
pub fn add_reference(id: hid_t) -> Fallible<c_int> {
    if predefined_serial(id).is_some() && is_valid(id) {
        return Ok(1);
    }
    let mut shard = shard(id).write();
    let registered = shard.get_mut(id).ok_or_else(|| unknown(id))?;
    registered.count = registered.count.saturating_add(1);
    Ok(registered.count)
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
    let registered = shard.get_mut(id).filter(|registered| is_right(&registered.object))?;
    registered.count -= 1;
    if registered.count > 0 {
        return Some(Ok(registered.count));
    }
    if !matches!(registered.object, Object::File(_)) {
        let object = shard.remove(id)?;
        // What is closed with it may use identifiers.
        drop(shard);
        return Some(object.close(id).map(|()| 0));
    }
    // A file that cannot be closed comes back under its identifier.
    let file = shard.take(id)?;
    drop(shard);
    let done = file.close(id);
    self::shard(id).write().release(id);
    Some(done.map(|()| 0))
}

/// Closes an identifier that a `…close` function was called with: `is_right` says whether it is of that function's type.
pub fn close(id: hid_t, what: &str, is_right: impl Fn(&Object) -> bool) -> Fallible<()> {
    match remove_reference_if(id, &is_right) {
        Some(done) => done.map(drop),
        None => get(id, what, |object| is_right(object).then_some(())),
    }
}

/// Takes an identifier away without closing its object.
pub fn remove(id: hid_t) -> Fallible<Object> {
    let removed = shard(id).write().remove(id);
    removed.ok_or_else(|| unknown(id))
}

/// Returns the identifiers whose objects `test` accepts, in the order they were made.
pub fn find(test: impl Fn(&Object) -> bool) -> Vec<hid_t> {
    let mut found: Vec<(u64, hid_t)> = Vec::new();
    for shard in &TABLE {
        let shard = shard.0.read();
        let all = shard.entries.iter().filter_map(|entry| entry.registered.as_ref());
        found.extend(all.filter(|one| test(&one.object)).map(|one| (one.order, one.id)));
    }
    found.sort_unstable();
    found.into_iter().map(|(_, id)| id).collect()
}

/// Puts a file back under its identifier, because it could not be closed.
pub fn restore(id: hid_t, object: Object) {
    if let Some(entry) = shard(id).write().entries.get_mut(position(id)) {
        entry.registered = Some(registered(id, object));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Opaque;

    /// A type of identifiers that no other tests use.
    const KIND: c_int = 100;

    fn new() -> hid_t {
        register(Object::User(KIND, Opaque(std::ptr::null_mut())))
    }

    #[test]
    fn no_number_is_used_twice_though_its_entry_is() {
        let first = new();
        assert!(remove(first).is_ok() && remove(first).is_err());
        let second = new();
        assert_eq!(position(first), position(second));
        assert!(first != second && !is_valid(first) && is_valid(second));
        assert!(!is_valid(first ^ 1 << SERIAL_BITS) && type_of(second) == KIND);
        assert!(remove(second).is_ok());
    }

    #[test]
    fn identifiers_are_found_in_the_order_they_were_made_and_go_with_their_last_reference() {
        let kind = KIND + 1;
        let new = || register(Object::User(kind, Opaque(std::ptr::null_mut())));
        let (first, second) = (new(), new());
        assert!(remove(first).is_ok());
        let third = new();
        let all = || find(|object| object.id_type() == kind);
        assert_eq!(all(), [second, third]);
        assert!(matches!(add_reference(second), Ok(2)) && matches!(remove_reference(second), Ok(1)));
        assert!(matches!(remove_reference(second), Ok(0)) && remove_reference(second).is_err());
        assert_eq!(all(), [third]);
    }
}
