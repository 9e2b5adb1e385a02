//! Storage as an I/O dispatcher offers it: a container, found by its name, holds three kinds of objects with 64-bit
//! identities. A **key-value store** has ordered pairs of any bytes, an **array** has cells of one size in n dimensions,
//! of which the first may grow, and a **blob** is a row of bytes. Every object has a *scratch pad*: space for four
//! identities, with a checksum that is verified whenever it is read.
//!
//! [`Service`] is where containers are, [`Container`] is one that is open. Its methods may be called from many threads
//! at once.
//!
//! **Promises.** A [`Batch`] changes several objects, all or nothing: whatever stands in the way is found before the
//! first of them changes, and no flush takes a part of it. [`Container::flush`] makes everything that was done durable,
//! all at once: after a crash a container is exactly as its last flush left it. One process at a time writes a container;
//! a second one gets an error that names `hyperslab serve`, which is how processes share one.
//! Cells and bytes that were never written are *holes*: a read leaves the caller's bytes as they were (cells), or zero (bytes).
//!
//! **On what it stands.** The embedded engine of `storage/objects`: one index (redb) and one data file. Plain files
//! would need a journal of their own to change several objects at once, and a sync for each of them: a group of the
//! connector above is three objects and a small variable-length value is one, so that 10,000 groups and their attributes
//! are some 50,000 files, each with a sync of its own, instead of two files and two syncs. Large bytes do not suffer:
//! they go to the data file by plain writes. What is needed beyond the other engines of that crate is that a flush is
//! one commit ([`objects::Store::is_atomic`]), so engines without it are refused.
//!
//! **How objects lie there.** Kind and number of an identity are the two halves of an object's; its head (scratch pad,
//! and what an array is) is the akey 0 of the empty dkey, with the pairs of a key-value store next to it (1 and the key),
//! the bytes of a small blob within it, those of a large one next to it. The cells of an array are records, in *blocks*: the
//! chunks that its maker asked for, or else pieces of about 1 MiB; each has a dkey, 1 and the first cell's place.
#![forbid(unsafe_code)]

mod array;
mod batch;
mod blob;
mod checksum;
mod container;
mod head;
mod id;
mod kv;
mod layout;
mod lease;
mod service;
mod slab;

pub use array::{ArrayInfo, CellRead, CellWrite, automatic_block};
pub use batch::Batch;
pub use container::Container;
pub use id::{Id, Kind, ScratchPad};
pub use objects::{Error, Mode, Phase, Result};
pub use service::Service;
pub use slab::Slab;
