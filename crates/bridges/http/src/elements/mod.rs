//! Elements of datasets and attributes as bytes and text.

pub(crate) mod axis;
pub(crate) mod cuts;
pub(crate) mod form;
pub(crate) mod json_text;
pub(crate) mod moments;
pub(crate) mod nesting;
pub(crate) mod numbers;
pub(crate) mod numpy;
pub(crate) mod points;
pub(crate) mod selection;
pub(crate) mod strips;
pub(crate) mod work;
