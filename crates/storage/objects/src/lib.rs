//! Object storage with two levels of keys, as DAOS has it: a container holds objects, an object holds *dkeys*, a
//! dkey holds *akeys*, and an akey holds one value or an array of records with holes.
//!
//! [`Pool`] is where containers are, [`Store`] is one open container. What a store promises is the same on every
//! engine, and no more: **one call on one (object, dkey) is atomic; nothing spans two of them.** What was done is
//! seen by this store at once, by others and after a crash once [`Store::flush`] returned. Until then it may arrive
//! in parts, but [phase](Phase) by phase, so that a caller who puts data before descriptions, and descriptions
//! before links, never leaves a link that leads nowhere.
//!
//! Objects are not made: their first update makes them. An absent key has length 0 and is no error. An akey is
//! single or an array, with records of one size, from its first update on until it is punched; an array without a
//! record is absent. Keys and values are any bytes, but never none: an engine may refuse an empty one to update, and an
//! empty key is absent where it is read. (The engines of this crate take them: containers of older programs have some.)
//!
//! An engine enumerates in its own order and goes on where an [`Anchor`] of its own says. Those whose order is that of
//! the bytes [say so](Store::is_ordered). `docs/object-layout.md` lists the calls that each method is on DAOS. A caller
//! brings along engines of his own as [`Engine`]s.
//!
//! Engines: [`embedded::pool`] (a folder, one process at a time), `rados::pool` (a pool of a Ceph cluster, any number
//! of processes; with the feature `rados`), [`memory::pool`] and [`strict::pool`] (for tests). [`counted`] counts requests.

mod bytes;
mod check;
mod class;
pub mod counted;
pub mod embedded;
mod engine;
mod error;
mod id;
mod layout;
pub mod memory;
mod page;
#[cfg(feature = "rados")]
pub mod rados;
mod runs;
pub mod strict;

use std::ops::Range;
use std::sync::Arc;

pub use class::ObjectClass;
pub use engine::{ContainerLocation, Engine};
pub use error::{Error, Result};
pub use id::{ContainerId, ObjectId};
pub use page::{Anchor, Page, akeys_with_prefix, dkeys_with_prefix};
pub use runs::{Run, Runs};

/// How a container is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Updates are refused.
    Read,
    /// For reading and writing.
    ReadWrite,
}

/// Where containers are: a folder, a pool of a cluster, memory.
pub trait Pool: Send + Sync + std::fmt::Debug {
    /// Creates an empty container; one of the same identity is `Exists`.
    fn create(&self, id: ContainerId) -> Result<Arc<dyn Store>>;
    /// Opens a container; without one it is `NotFound`.
    fn open(&self, id: ContainerId, mode: Mode) -> Result<Arc<dyn Store>>;
    /// Removes a container and all that is in it; without one it is `NotFound`.
    fn destroy(&self, id: ContainerId) -> Result<()>;
    /// Returns all containers, sorted.
    fn list(&self) -> Result<Vec<ContainerId>>;
}

/// When an update reaches the others, compared with other updates of the same flush: all of one phase have arrived
/// before the first of the next is sent. Only content may come later, in one piece with its own object's description.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Elements and blobs: no one finds them yet.
    Content,
    /// The description of an object.
    Description,
    /// A link to an object.
    Link,
    /// The removal of what nothing leads to any more.
    Removal,
}

/// Must hold for an update or a punch, or nothing changes and the call answers `Condition`. Conditions are on akeys that the
/// same update changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition<'a> {
    /// The dkey has this akey.
    Present(&'a [u8]),
    /// The dkey does not have this akey.
    Absent(&'a [u8]),
    /// The akey holds exactly this single value. An engine may refuse it but in [`Store::update_now`]: on DAOS a comparison
    /// is a transaction.
    Equals(&'a [u8], &'a [u8]),
}

/// One akey's part of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<'a> {
    /// Replaces a single value.
    Single(&'a [u8], &'a [u8]),
    /// Writes records from an index on. Their size is that of the akey's first update.
    Records {
        /// The akey.
        akey: &'a [u8],
        /// Bytes of one record.
        record_size: u32,
        /// The first record.
        start: u64,
        /// Whole records.
        bytes: &'a [u8],
    },
    /// Makes records absent again.
    PunchRecords {
        /// The akey.
        akey: &'a [u8],
        /// Which.
        range: Range64,
    },
    /// Removes an akey; with its last one the dkey goes.
    Punch(&'a [u8]),
}

impl<'a> Change<'a> {
    /// Returns the akey that changes.
    #[must_use]
    pub fn akey(&self) -> &'a [u8] {
        match *self {
            Change::Single(akey, _) | Change::Punch(akey) => akey,
            Change::Records { akey, .. } | Change::PunchRecords { akey, .. } => akey,
        }
    }
}

impl<'a> Condition<'a> {
    /// Returns the akey that is looked at.
    #[must_use]
    pub fn akey(&self) -> &'a [u8] {
        match *self {
            Condition::Present(akey) | Condition::Absent(akey) | Condition::Equals(akey, _) => akey,
        }
    }
}

/// A range of records that is `Copy`; made from a `Range<u64>` by `into()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range64 {
    /// The first.
    pub start: u64,
    /// One past the last.
    pub end: u64,
}

impl From<Range<u64>> for Range64 {
    fn from(range: Range<u64>) -> Range64 {
        Range64 { start: range.start, end: range.end }
    }
}

/// Changes of one dkey, atomic together.
#[derive(Clone, Copy, Debug)]
pub struct Update<'a> {
    /// The object.
    pub object: ObjectId,
    /// The dkey.
    pub dkey: &'a [u8],
    /// The changes, in order.
    pub changes: &'a [Change<'a>],
    /// The conditions that must hold.
    pub conditions: &'a [Condition<'a>],
    /// When others see it.
    pub phase: Phase,
}

/// Records to read: those that are absent leave their bytes of `into` as they were.
#[derive(Debug)]
pub struct Fetch<'a> {
    /// The object.
    pub object: ObjectId,
    /// The dkey.
    pub dkey: &'a [u8],
    /// The akey.
    pub akey: &'a [u8],
    /// Bytes of one record.
    pub record_size: u32,
    /// The first record.
    pub start: u64,
    /// Space for whole records.
    pub into: &'a mut [u8],
}

/// The type of an akey, and its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// One value of so many bytes.
    Single(u64),
    /// An array: the size of a record, and one past the last record that was ever written and not punched.
    Records {
        /// Bytes of one record.
        record_size: u32,
        /// One past the last.
        end: u64,
    },
}

/// One open container. Every method may be called from many threads at once.
pub trait Store: Send + Sync + std::fmt::Debug {
    /// Takes `count` numbers that no other caller of this container gets, for the lower 64 bits of object identities.
    /// The first are never 0 or 1. Numbers that were taken before a flush which never came may be given again after
    /// a crash: nothing that lasts has them.
    fn allocate(&self, count: u64) -> Result<Range<u64>>;

    /// Returns the upper 32 bits of the IDs of new objects, which belong to the store: of a class, or of none in particular.
    fn class_bits(&self, class: Option<ObjectClass>) -> Result<u32> {
        Ok(class.map_or(0, ObjectClass::to_bits))
    }

    /// Changes one dkey. A condition is tested against what this store sees now; where another process was faster,
    /// or an akey is of another kind and this store did not look at it before, the flush answers `Condition` instead
    /// and gives up that dkey's changes.
    fn update(&self, update: &Update<'_>) -> Result<()>;

    /// Changes many dkeys, each on its own: after an error some may have changed. Engines overlap them.
    fn update_many(&self, updates: &[Update<'_>]) -> Result<()>;

    /// Changes many dkeys, each at most once: all of them or, after an error, none. Only engines that are
    /// [atomic](Store::is_atomic) can do that.
    fn update_together(&self, updates: &[Update<'_>]) -> Result<()> {
        match updates {
            [] => Ok(()),
            [one] => self.update(one),
            _ => Err(Error::Refused("the engine cannot change several objects at once".into())),
        }
    }

    /// Like [`Store::update`], but acknowledged, durable and seen by all when it returns, whatever waits for a flush.
    /// With [`Condition::Equals`] it is how processes share a counter.
    fn update_now(&self, update: &Update<'_>) -> Result<()>;

    /// Reads records of many akeys; engines overlap them. Each is from one moment. `Condition` where an akey holds
    /// a single value, or records of another size.
    fn fetch(&self, fetches: &mut [Fetch<'_>]) -> Result<()>;

    /// Reads single values of one dkey, all from one moment; `None` where there is none. An array is `Condition`.
    fn get(&self, object: ObjectId, dkey: &[u8], akeys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>>;

    /// Reads single values anywhere; engines overlap them.
    fn get_many(&self, keys: &[(ObjectId, &[u8], &[u8])]) -> Result<Vec<Option<Vec<u8>>>>;

    /// Returns what an akey holds, or `None`.
    fn size(&self, object: ObjectId, dkey: &[u8], akey: &[u8]) -> Result<Option<Size>>;

    /// Removes a dkey with all its akeys; an absent one is no error.
    fn punch_dkey(&self, object: ObjectId, dkey: &[u8], phase: Phase) -> Result<()>;

    /// Removes an object with all its dkeys; an absent one is no error.
    fn punch_object(&self, object: ObjectId, phase: Phase) -> Result<()>;

    /// Returns up to `count_max` dkeys of an object in the order of the engine, from where `after` says. A page may be short,
    /// and is the last if it has no anchor. Of keys that come or go meanwhile some are seen; all others are seen once.
    fn list_dkeys(&self, object: ObjectId, after: Option<&Anchor>, count_max: usize)
    -> Result<Page<Vec<u8>>>;

    /// Returns up to `count_max` akeys of a dkey, as [`Store::list_dkeys`] does.
    fn list_akeys(
        &self,
        object: ObjectId,
        dkey: &[u8],
        after: Option<&Anchor>,
        count_max: usize,
    ) -> Result<Page<Vec<u8>>>;

    /// Returns up to `count_max` objects that hold a dkey, as [`Store::list_dkeys`] does.
    fn list_objects(&self, after: Option<&Anchor>, count_max: usize) -> Result<Page<ObjectId>>;

    /// Returns all objects that hold a dkey.
    fn all_objects(&self) -> Result<Vec<ObjectId>> {
        let mut all = Vec::new();
        page::each(|after| self.list_objects(after, page::PAGE), |ids| all.extend(ids))?;
        Ok(all)
    }

    /// Returns whether the engine finds keys in byte order, so that [`Store::dkeys`] and [`Store::akeys`] cost what they
    /// return. Otherwise each call enumerates all keys.
    fn is_ordered(&self) -> bool {
        false
    }

    /// Returns up to `count_max` dkeys in byte order, from `from` on.
    fn dkeys(&self, object: ObjectId, from: &[u8], count_max: usize) -> Result<Vec<Vec<u8>>> {
        page::keys_from(|after| self.list_dkeys(object, after, page::PAGE), from, count_max)
    }

    /// Returns up to `count_max` akeys of a dkey in byte order, from `from` on.
    fn akeys(&self, object: ObjectId, dkey: &[u8], from: &[u8], count_max: usize) -> Result<Vec<Vec<u8>>> {
        page::keys_from(|after| self.list_akeys(object, dkey, after, page::PAGE), from, count_max)
    }

    /// Makes all that was done durable and seen by everybody, phase by phase.
    fn flush(&self) -> Result<()>;

    /// Returns whether a flush is one commit, so that after a crash all that was done before it is there, or nothing since
    /// the flush before. Only while no one uses [`Store::update_now`], which is durable at once.
    fn is_atomic(&self) -> bool {
        false
    }

    /// From now on reads see what others had flushed before this call; what waits here for a flush stays.
    fn refresh(&self) -> Result<()>;

    /// Returns how many pieces the engine keeps that no key points to, left by writers that were killed; they are removed if
    /// asked to. Only while no other process writes: what it has not flushed looks the same.
    fn orphans(&self, remove: bool) -> Result<u64> {
        // Engines that find their free space by their keys have none.
        let _ = remove;
        Ok(0)
    }

    /// Returns an error unless the engine's own index is whole: every key is found, and holds what was stored under it. A caller that
    /// reads a value has it verified anyway; this finds keys that are not found any more. What waits for a flush is not
    /// looked at.
    fn verify_index(&self) -> Result<()> {
        // Engines without an index of their own leave it to their storage.
        Ok(())
    }
}
