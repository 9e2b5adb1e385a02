//! The Virtual Object Layer: the contract of connectors and layers, for code that implements one or works on containers directly.
//!
//! Programs that read and write files need none of this. `docs/write-a-connector.md` is a tutorial.

/// Copy, compare and transfer elements, for any container.
pub use algorithms;
/// The values of the contract: datatypes, dataspaces, selections, property lists.
pub use model;

pub use ::vol::*;
