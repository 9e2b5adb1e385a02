//! Six programs to start from, in `src/bin`.
//!
//! The examples of the README are compiled with this crate's documentation tests.

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
