//! Filters, conversions and link classes that a container copies from the registry that opened it.

use std::sync::Arc;

use model::convert::Conversions;

use crate::LinkClasses;

/// Filters, conversions and classes of links. A clone is cheap.
#[derive(Debug, Clone, Default)]
pub struct Registered {
    /// Filters of chunks.
    pub filters: filters::Registry,
    /// The caller's own conversions between datatypes.
    pub conversions: Arc<Conversions>,
    /// Classes of user-defined links.
    pub link_classes: LinkClasses,
}
