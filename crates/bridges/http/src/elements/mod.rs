//! Elements of datasets and attributes as bytes and text.

pub(crate) mod form;
pub(crate) mod json_text;
pub(crate) mod moments;
pub(crate) mod nesting;
pub(crate) mod numbers;
pub(crate) mod numpy;
pub(crate) mod selection;
pub(crate) mod strips;
