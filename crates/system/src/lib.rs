//! The system as the rest of the library sees it: [locks](sync), [threads](thread), [clocks](clock), and what differs between
//! operating systems: positioned access to [files](mod@file), [private files](private), [sockets](socket),
//! [random bytes](random), the [`process`].
//!
//! Directories and virtual file drivers have crates of their own (`storage/dir`, `storage/files`).
#![forbid(unsafe_code)]

pub mod clock;
pub mod file;
pub mod private;
pub mod process;
pub mod random;
pub mod socket;
pub mod sync;
pub mod thread;
