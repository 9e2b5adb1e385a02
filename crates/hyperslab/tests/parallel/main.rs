//! Files that several processes have open together; threads stand for them.

#[allow(dead_code, reason = "the program under MPI uses all of it")]
mod common;
mod disagree;
mod elements;
mod features;
mod in_place;
#[cfg(feature = "log")]
mod logs;
mod new_datasets;
#[cfg(feature = "object")]
mod objects;
mod random;
mod scattered;
mod structure;
mod traffic;
