//! Bare LZ4 blocks.

use crate::error::{Error, Origin};

/// Decodes a block into `out`; the number of bytes it had.
#[cfg(feature = "lz4")]
pub(crate) fn decode_into(at: Origin, input: &[u8], out: &mut [u8]) -> Result<usize, Error> {
    lz4_flex::block::decompress_into(input, out).map_err(|error| at.corrupt(error.to_string()))
}

/// Encodes a block.
#[cfg(feature = "lz4")]
pub(crate) fn encode(_at: Origin, input: &[u8]) -> Result<Vec<u8>, Error> {
    Ok(lz4_flex::block::compress(input))
}

#[cfg(not(feature = "lz4"))]
pub(crate) fn decode_into(at: Origin, _input: &[u8], _out: &mut [u8]) -> Result<usize, Error> {
    Err(at.unsupported("LZ4 needs the cargo feature `lz4`"))
}

#[cfg(not(feature = "lz4"))]
pub(crate) fn encode(at: Origin, _input: &[u8]) -> Result<Vec<u8>, Error> {
    Err(at.unsupported("LZ4 needs the cargo feature `lz4`"))
}
