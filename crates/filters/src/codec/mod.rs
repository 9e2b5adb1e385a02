//! Compressors that several filters share. Each turns a missing cargo feature into an `Unsupported` error.

pub(crate) mod aec;
pub(crate) mod blosclz;
pub(crate) mod lz4;
pub(crate) mod snappy;
pub(crate) mod zlib;
pub(crate) mod zstd;
