//! Bzip2 (307): one .bz2 stream per chunk.
//!
//! Values: block size in units of 100 kB, 1–9.

use ::bzip2::{Action, Compress, Compression, Decompress, Status};

use crate::error::{Error, Origin};
use crate::{Filter, FilterId, Params, Size};

const AT: Origin = Origin(307);
const BLOCK_DEFAULT: u32 = 9;

/// The bzip2 filter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bzip2;

impl Filter for Bzip2 {
    fn id(&self) -> FilterId {
        AT.0
    }

    fn name(&self) -> &'static str {
        "bzip2"
    }

    fn decode(&self, _params: &Params<'_>, input: &[u8], size: Size) -> Result<Vec<u8>, Error> {
        let mut stream = Decompress::new(false);
        let mut out = AT.reserve(size.expected().saturating_add(1))?;
        loop {
            let before = (stream.total_in(), stream.total_out());
            let rest = usize::try_from(before.0).ok().and_then(|read| input.get(read..)).unwrap_or(&[]);
            let status =
                stream.decompress_vec(rest, &mut out).map_err(|error| AT.corrupt(error.to_string()))?;
            if out.len() > size.max {
                return Err(AT.limit(out.len() as u64, size.max));
            }
            if status == Status::StreamEnd {
                return Ok(out);
            }
            if out.len() == out.capacity() {
                let more = out.len().clamp(64, (size.max - out.len()).saturating_add(64));
                out.try_reserve_exact(more).map_err(|_| AT.limit(more as u64, size.max))?;
            } else if before == (stream.total_in(), stream.total_out()) {
                return Err(AT.corrupt("stream ends too early"));
            }
        }
    }

    fn encode(&self, params: &Params<'_>, input: &[u8]) -> Result<Vec<u8>, Error> {
        let block = params.get(0).unwrap_or(BLOCK_DEFAULT);
        if !(1..=9).contains(&block) {
            return Err(AT.invalid(format!("block size {block} is not 1 to 9")));
        }
        let mut stream = Compress::new(Compression::new(block), 0);
        // The bound that the format's authors give: 1 % and 600 bytes.
        let mut out = AT.reserve(input.len() + input.len() / 100 + 600)?;
        loop {
            let read = usize::try_from(stream.total_in()).unwrap_or(input.len()).min(input.len());
            let status = stream
                .compress_vec(&input[read..], &mut out, Action::Finish)
                .map_err(|error| AT.invalid(error.to_string()))?;
            if status == Status::StreamEnd {
                return Ok(out);
            }
            out.reserve(input.len() / 8 + 64);
        }
    }
}
