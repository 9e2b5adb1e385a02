//! Storage of values and arrays in engines that have an index for small values, and other storage for large ones.

pub(crate) mod array;
pub(crate) mod blocks;
pub(crate) mod reader;
mod records;
pub(crate) mod sums;
pub(crate) mod value;
pub(crate) mod writer;
