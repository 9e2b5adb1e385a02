//! Bare LZ4 blocks.

use crate::error::{Error, Origin};

/// Decodes a block into `out`; the number of bytes it had.
#[cfg(all(feature = "lz4", not(feature = "lz4-c")))]
pub(crate) fn decode_into(at: Origin, input: &[u8], out: &mut [u8]) -> Result<usize, Error> {
    lz4_flex::block::decompress_into(input, out).map_err(|error| at.corrupt(error.to_string()))
}

/// Decodes a block with the reference library, which is twice as fast.
#[cfg(feature = "lz4-c")]
pub(crate) fn decode_into(at: Origin, input: &[u8], out: &mut [u8]) -> Result<usize, Error> {
    // It counts in 32 bits; no chunk's block is longer.
    let capacity = i32::try_from(out.len()).map_err(|_| at.corrupt("block of 2 GiB and more"))?;
    let decoded = lz4::block::decompress_to_buffer(input, Some(capacity), out);
    decoded.map_err(|error| at.corrupt(error.to_string()))
}

/// Encodes a block into `out`, which has the space of [`super::bound_bytes`]; its length. A higher acceleration asks for
/// less effort.
#[cfg(all(feature = "lz4", not(feature = "lz4-c")))]
pub(crate) fn encode_into(
    at: Origin,
    input: &[u8],
    _acceleration: u32,
    out: &mut [u8],
) -> Result<usize, Error> {
    lz4_flex::block::compress_into(input, out).map_err(|error| at.invalid(error.to_string()))
}

/// Encodes with the reference library.
#[cfg(feature = "lz4-c")]
pub(crate) fn encode_into(
    at: Origin,
    input: &[u8],
    acceleration: u32,
    out: &mut [u8],
) -> Result<usize, Error> {
    let mode = lz4::block::CompressionMode::FAST(acceleration as i32);
    let encoded = lz4::block::compress_to_buffer(input, Some(mode), false, out);
    encoded.map_err(|error| at.invalid(error.to_string()))
}

/// Encodes as [`encode_into`] does. The pure-Rust encoder has no levels of effort.
#[cfg(not(feature = "lz4-c"))]
pub(crate) fn encode_high(at: Origin, input: &[u8], _level: u32, out: &mut [u8]) -> Result<usize, Error> {
    encode_into(at, input, 1, out)
}

/// Encodes with the reference library, with effort of a level.
#[cfg(feature = "lz4-c")]
pub(crate) fn encode_high(at: Origin, input: &[u8], level: u32, out: &mut [u8]) -> Result<usize, Error> {
    let mode = lz4::block::CompressionMode::HIGHCOMPRESSION(level as i32);
    let encoded = lz4::block::compress_to_buffer(input, Some(mode), false, out);
    encoded.map_err(|error| at.invalid(error.to_string()))
}

#[cfg(not(feature = "lz4"))]
pub(crate) fn decode_into(at: Origin, _input: &[u8], _out: &mut [u8]) -> Result<usize, Error> {
    Err(at.unsupported("LZ4 needs the cargo feature `lz4`"))
}

#[cfg(not(feature = "lz4"))]
pub(crate) fn encode_into(
    at: Origin,
    _input: &[u8],
    _acceleration: u32,
    _out: &mut [u8],
) -> Result<usize, Error> {
    Err(at.unsupported("LZ4 needs the cargo feature `lz4`"))
}
