//! zlib streams in pure Rust.

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use crate::error::{Error, Origin};

/// A compressor has some 300 KiB of tables, so it is used again for the next stream.
#[derive(Default)]
pub(crate) struct CodecState {
    encoder: Option<(u32, Compress)>,
    decoder: Option<Decompress>,
}

impl CodecState {
    /// Returns the bytes of the stream, or `None` when `out` is too short for it.
    pub(crate) fn decode(
        &mut self,
        at: Origin,
        input: &[u8],
        out: &mut [u8],
    ) -> Result<Option<usize>, Error> {
        let stream = self.decoder.get_or_insert_with(|| Decompress::new(true));
        stream.reset(true);
        let status = stream
            .decompress(input, out, FlushDecompress::Finish)
            .map_err(|error| at.corrupt(error.to_string()))?;
        match usize::try_from(stream.total_out()) {
            Ok(len) if status == Status::StreamEnd => Ok(Some(len)),
            Ok(len) if len < out.len() => Err(at.corrupt("stream ends too early")),
            _ => Ok(None),
        }
    }

    pub(crate) fn encode(
        &mut self,
        at: Origin,
        input: &[u8],
        level: u32,
        out: &mut [u8],
    ) -> Result<usize, Error> {
        let stream = self.encoder(level);
        let status = stream
            .compress(input, out, FlushCompress::Finish)
            .map_err(|error| at.invalid(error.to_string()))?;
        match usize::try_from(stream.total_out()) {
            Ok(len) if status == Status::StreamEnd => Ok(len),
            _ => Err(at.incompressible("stream is longer than any should be")),
        }
    }

    fn encoder(&mut self, level: u32) -> &mut Compress {
        let fresh = || (level, Compress::new(Compression::new(level), true));
        let kept = self.encoder.take().filter(|(kept, _)| *kept == level);
        let (_, stream) = self.encoder.insert(kept.unwrap_or_else(fresh));
        stream.reset();
        stream
    }
}
