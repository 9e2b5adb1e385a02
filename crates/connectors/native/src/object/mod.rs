//! Groups, datasets, attributes, committed types and references: what the format's structures add up to.

pub(crate) mod attribute;
pub(crate) mod btree1;
pub(crate) mod btree2;
pub(crate) mod dataset;
pub(crate) mod decoded;
pub(crate) mod footprint;
pub(crate) mod fractal_heap;
pub(crate) mod global_heap;
pub(crate) mod group;
pub(crate) mod header;
pub(crate) mod reference;
pub(crate) mod shared_table;
