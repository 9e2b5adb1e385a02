//! Bare LZ4 blocks.

use crate::error::{Error, Origin};

/// Decodes a block into `out`; the number of bytes it had.
#[cfg(feature = "lz4")]
pub(crate) fn decode_into(at: Origin, input: &[u8], out: &mut [u8]) -> Result<usize, Error> {
    lz4_flex::block::decompress_into(input, out).map_err(|error| at.corrupt(error.to_string()))
}

/// Encodes a block into `out`, which has the room of [`super::bound_bytes`]; its length.
#[cfg(feature = "lz4")]
pub(crate) fn encode_into(at: Origin, input: &[u8], out: &mut [u8]) -> Result<usize, Error> {
    lz4_flex::block::compress_into(input, out).map_err(|error| at.invalid(error.to_string()))
}

#[cfg(not(feature = "lz4"))]
pub(crate) fn decode_into(at: Origin, _input: &[u8], _out: &mut [u8]) -> Result<usize, Error> {
    Err(at.unsupported("LZ4 needs the cargo feature `lz4`"))
}

#[cfg(not(feature = "lz4"))]
pub(crate) fn encode_into(at: Origin, _input: &[u8], _out: &mut [u8]) -> Result<usize, Error> {
    Err(at.unsupported("LZ4 needs the cargo feature `lz4`"))
}
