//! HDF5 in Rust, with any storage beneath it.
