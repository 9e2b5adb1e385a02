//! Raw Snappy streams.

use super::States;
use crate::error::{Error, Origin};

/// The encoder's table.
#[cfg(feature = "snappy")]
#[derive(Default)]
pub(crate) struct CodecState {
    encoder: Option<snap::raw::Encoder>,
}

/// Decodes a stream into `out`; the number of bytes it had.
#[cfg(feature = "snappy")]
pub(crate) fn decode_into(at: Origin, input: &[u8], out: &mut [u8]) -> Result<usize, Error> {
    snap::raw::Decoder::new().decompress(input, out).map_err(|error| at.corrupt(error.to_string()))
}

/// Encodes a stream into `out`, which has the space of [`super::bound_bytes`]; its length.
#[cfg(feature = "snappy")]
pub(crate) fn encode_into(
    at: Origin,
    input: &[u8],
    out: &mut [u8],
    states: &mut States,
) -> Result<usize, Error> {
    let encoder = states.snappy.encoder.get_or_insert_with(snap::raw::Encoder::new);
    encoder.compress(input, out).map_err(|error| at.invalid(error.to_string()))
}

#[cfg(not(feature = "snappy"))]
pub(crate) fn decode_into(at: Origin, _input: &[u8], _out: &mut [u8]) -> Result<usize, Error> {
    Err(at.unsupported("Snappy needs the cargo feature `snappy`"))
}

#[cfg(not(feature = "snappy"))]
pub(crate) fn encode_into(
    at: Origin,
    _input: &[u8],
    _out: &mut [u8],
    _states: &mut States,
) -> Result<usize, Error> {
    Err(at.unsupported("Snappy needs the cargo feature `snappy`"))
}
