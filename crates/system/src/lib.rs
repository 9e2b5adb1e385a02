//! The system as the rest of the library sees it: [locks](sync), [threads](thread), [time] and [randomness](random).
//!
//! Everything that depends on scheduling, on a clock or on chance goes through this crate, so that tests can run the same
//! code on virtual ones: built with `RUSTFLAGS="--cfg hyperslab_shuttle"`, locks and threads are those of the `shuttle`
//! crate, which explores interleavings. Files have a layer of their own (`storage/files`, `storage/dir`), whose drivers
//! are replaced in the same way.
#![forbid(unsafe_code)]

pub mod random;
pub mod sync;
pub mod thread;
pub mod time;
