//! The system as the rest of the library sees it: so far its [locks](sync).
//!
//! Files have crates of their own (`storage/files`, `storage/dir`), whose drivers tests replace.
#![forbid(unsafe_code)]

pub mod sync;
