//! zlib streams.

use crate::error::{Error, Origin};

#[cfg(feature = "deflate")]
mod imp {
    use super::{Error, Origin};
    use crate::Size;
    use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

    /// Room past the expected size, so that the decoder sees the end of the stream without growing.
    const SLACK_BYTES: usize = 32;

    /// Decodes one stream; bytes after it are ignored, as libhdf5 does.
    pub(crate) fn decode(at: Origin, input: &[u8], size: Size) -> Result<Vec<u8>, Error> {
        let mut stream = Decompress::new(true);
        let mut out = at.reserve(size.expected().saturating_add(SLACK_BYTES).min(size.max))?;
        loop {
            let before = (stream.total_in(), stream.total_out());
            let rest = usize::try_from(before.0).ok().and_then(|read| input.get(read..)).unwrap_or(&[]);
            let status = stream
                .decompress_vec(rest, &mut out, FlushDecompress::None)
                .map_err(|error| at.corrupt(error.to_string()))?;
            if status == Status::StreamEnd {
                return Ok(out);
            }
            if out.len() == out.capacity() {
                grow(at, &mut out, size.max)?;
            } else if before == (stream.total_in(), stream.total_out()) {
                return Err(at.corrupt("stream ends too early"));
            }
        }
    }

    /// Doubles the capacity, up to one byte past the limit: that byte shows whether the stream is too long.
    fn grow(at: Origin, out: &mut Vec<u8>, max: usize) -> Result<(), Error> {
        if out.len() > max {
            return Err(at.limit(out.len() as u64, max));
        }
        let target = out.len().saturating_mul(2).clamp(64, max.saturating_add(1).max(64));
        out.try_reserve_exact(target.saturating_sub(out.len())).map_err(|_| at.limit(target as u64, max))
    }

    /// Decodes one stream into `out`; the number of bytes it had.
    pub(crate) fn decode_into(at: Origin, input: &[u8], out: &mut [u8]) -> Result<usize, Error> {
        let mut stream = Decompress::new(true);
        let status = stream
            .decompress(input, out, FlushDecompress::Finish)
            .map_err(|error| at.corrupt(error.to_string()))?;
        match status {
            Status::StreamEnd => Ok(usize::try_from(stream.total_out()).unwrap_or(0)),
            _ => Err(at.corrupt("zlib stream does not fit its block")),
        }
    }

    /// Encodes one stream.
    pub(crate) fn encode(at: Origin, input: &[u8], level: u32) -> Result<Vec<u8>, Error> {
        let mut stream = Compress::new(Compression::new(level.min(9)), true);
        // Stored blocks cost 5 bytes per 16 KiB; the rest covers header and checksum.
        let mut out = at.reserve(input.len() + input.len() / 1024 + 64)?;
        loop {
            let read = usize::try_from(stream.total_in()).unwrap_or(input.len()).min(input.len());
            let status = stream
                .compress_vec(&input[read..], &mut out, FlushCompress::Finish)
                .map_err(|error| at.invalid(error.to_string()))?;
            if status == Status::StreamEnd {
                return Ok(out);
            }
            out.reserve(input.len() / 8 + 64);
        }
    }
}

#[cfg(not(feature = "deflate"))]
mod imp {
    use super::{Error, Origin};

    pub(crate) fn decode_into(at: Origin, _input: &[u8], _out: &mut [u8]) -> Result<usize, Error> {
        Err(at.unsupported("zlib needs the cargo feature `deflate`"))
    }

    pub(crate) fn encode(at: Origin, _input: &[u8], _level: u32) -> Result<Vec<u8>, Error> {
        Err(at.unsupported("zlib needs the cargo feature `deflate`"))
    }
}

#[cfg(feature = "deflate")]
pub(crate) use imp::decode;
pub(crate) use imp::{decode_into, encode};
