//! libhdf5's C interface on Hyperslab.
//!
//! `libhyperslab_hdf5.so` exports the functions and global values of HDF5's public headers, so that a program that was built
//! for libhdf5 runs on Hyperslab without being compiled again (docs/c-library.md).
//!
//! One module for each family of the interface (`h5a`, `h5d`, …). A function takes identifiers and pointers apart, calls the
//! library, and puts the answer together:
//!
//! - [`entry`] gives every exported function the same prologue: the error stack is cleared, a panic becomes an error, and
//!   a failure is recorded on the stack of the thread.
//! - [`arguments`] has one type for each way that C passes values by pointer. It holds the `unsafe` code, so that bodies of
//!   functions are safe.
//! - [`ids`] is the table of identifiers; [`handles`] are the objects that they stand for.
//! - [`failure`] and [`codes`] are errors as libhdf5 numbers them; `h5e` has the stacks.
//! - `memory` moves elements between C's forms (`hvl_t`, `char *`, references) and the library's.
#![allow(non_camel_case_types, non_snake_case, non_upper_case_globals)]

pub mod arguments;
pub mod codes;
pub mod entry;
pub mod failure;
pub mod ffi;
mod globals;
pub mod handles;
mod headers;
pub mod ids;
pub mod stack;

pub mod h5;
pub mod h5a;
pub mod h5d;
pub mod h5e;
pub mod h5es;
pub mod h5f;
pub mod h5fd;
pub mod h5g;
pub mod h5i;
pub mod h5l;
pub mod h5m;
pub mod h5o;
pub mod h5p;
pub mod h5pl;
pub mod h5r;
pub mod h5s;
pub mod h5t;
pub mod h5vl;
pub mod h5z;
mod listing;
pub mod memory;
pub mod mpi;
pub mod paths;
