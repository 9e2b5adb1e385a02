//! h5grove's endpoints, as H5Web's `H5GroveProvider` calls them.

pub(crate) mod attr;
mod csv;
pub(crate) mod data;
mod entity;
pub(crate) mod meta;
mod npy;
pub(crate) mod paths;
pub(crate) mod stats;
mod tiff;
mod types;
mod value;

pub(crate) use entity::filters;
pub(crate) use value::{attribute_json, fill_json};
