//! The Virtual Object Layer: the contract between the data model and anything that stores it.
