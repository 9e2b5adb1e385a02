//! How values and arrays are kept by engines that have an index for what is small and another place for what is large.

pub(crate) mod array;
pub(crate) mod blocks;
pub(crate) mod reader;
mod records;
pub(crate) mod sums;
pub(crate) mod value;
pub(crate) mod writer;
