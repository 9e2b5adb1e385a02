//! Bzip2 (307): one .bz2 stream per chunk.
//!
//! Values: block size in units of 100 kB, 1–9.

use ::bzip2::{Action, Compress, Compression, Decompress, Status};

use crate::error::{Error, Origin};
use crate::names::id;
use crate::{Codecs, Done, Filter, FilterId, Output, Params};

const AT: Origin = Origin(id::BZIP2);
const BLOCK_DEFAULT: u32 = 9;

/// The bzip2 filter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bzip2;

impl Filter for Bzip2 {
    fn id(&self) -> FilterId {
        AT.0
    }

    fn decode_into(
        &self,
        _params: &Params<'_>,
        input: &[u8],
        out: &mut Output<'_>,
        _codecs: &mut Codecs,
    ) -> Result<Done, Error> {
        out.fill(|buffer| decode(input, buffer))
    }

    fn encode_into(
        &self,
        params: &Params<'_>,
        input: &[u8],
        out: &mut Output<'_>,
        _codecs: &mut Codecs,
    ) -> Result<Done, Error> {
        let block = params.get(0).unwrap_or(BLOCK_DEFAULT);
        if !(1..=9).contains(&block) {
            return Err(AT.invalid(format!("block size {block} is not 1 to 9")));
        }
        // The bound that the format's authors give: 1 % and 600 bytes.
        let buffer = out.buffer(input.len() + input.len() / 100 + 600)?;
        let len = encode(input, block, buffer)?;
        out.truncate(len);
        Ok(Done::Written)
    }
}

/// Returns the bytes of the stream, or `None` when `out` is too short for it.
fn decode(input: &[u8], out: &mut [u8]) -> Result<Option<usize>, Error> {
    let mut stream = Decompress::new(false);
    loop {
        let before = (stream.total_in(), stream.total_out());
        let (read, written) = (place(before.0, input.len()), place(before.1, out.len()));
        let status = stream
            .decompress(&input[read..], &mut out[written..])
            .map_err(|error| AT.corrupt(error.to_string()))?;
        if status == Status::StreamEnd {
            return Ok(Some(place(stream.total_out(), out.len())));
        }
        if before == (stream.total_in(), stream.total_out()) {
            let is_full = written == out.len();
            return if is_full { Ok(None) } else { Err(AT.corrupt("stream ends too early")) };
        }
    }
}

fn encode(input: &[u8], block: u32, out: &mut [u8]) -> Result<usize, Error> {
    let mut stream = Compress::new(Compression::new(block), 0);
    loop {
        let before = (stream.total_in(), stream.total_out());
        let (read, written) = (place(before.0, input.len()), place(before.1, out.len()));
        let status = stream
            .compress(&input[read..], &mut out[written..], Action::Finish)
            .map_err(|error| AT.invalid(error.to_string()))?;
        if status == Status::StreamEnd {
            return Ok(place(stream.total_out(), out.len()));
        }
        if before == (stream.total_in(), stream.total_out()) {
            return Err(AT.incompressible("stream is longer than any should be"));
        }
    }
}

/// Returns a count of the stream as a place in a buffer of `len` bytes.
fn place(count: u64, len: usize) -> usize {
    usize::try_from(count).unwrap_or(len).min(len)
}
