//! Tests of what a user of the crate calls, one module for each subject. One program: linking takes longer than running.

mod awaited;
mod costs;
mod distant;
mod driver_stacks;
mod drivers;
mod dropped;
mod engines;
mod extensions;
mod extents;
mod files;
mod many;
mod maps;
mod member_files;
mod metno;
mod pinned;
mod posted;
mod reference_kinds;
mod refused;
mod remote_requests;
mod scales;
mod strings;
mod transfers;
mod virtual_writes;
