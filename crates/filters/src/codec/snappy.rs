//! Raw Snappy streams.

use crate::error::{Error, Origin};

/// Decodes a stream into `out`; the number of bytes it had.
#[cfg(feature = "snappy")]
pub(crate) fn decode_into(at: Origin, input: &[u8], out: &mut [u8]) -> Result<usize, Error> {
    snap::raw::Decoder::new().decompress(input, out).map_err(|error| at.corrupt(error.to_string()))
}

/// Encodes a stream.
#[cfg(feature = "snappy")]
pub(crate) fn encode(at: Origin, input: &[u8]) -> Result<Vec<u8>, Error> {
    snap::raw::Encoder::new().compress_vec(input).map_err(|error| at.invalid(error.to_string()))
}

#[cfg(not(feature = "snappy"))]
pub(crate) fn decode_into(at: Origin, _input: &[u8], _out: &mut [u8]) -> Result<usize, Error> {
    Err(at.unsupported("Snappy needs the cargo feature `snappy`"))
}

#[cfg(not(feature = "snappy"))]
pub(crate) fn encode(at: Origin, _input: &[u8]) -> Result<Vec<u8>, Error> {
    Err(at.unsupported("Snappy needs the cargo feature `snappy`"))
}
