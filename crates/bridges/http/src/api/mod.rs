//! The interface for the page and for programs.

pub(crate) mod container;
mod dimensions;
pub(crate) mod histogram;
mod overview;
pub(crate) mod properties;
pub(crate) mod sample;
pub(crate) mod search;
