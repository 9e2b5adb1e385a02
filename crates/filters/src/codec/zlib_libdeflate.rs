//! zlib streams by libdeflate, which works on whole buffers and is the faster for it.

use libdeflater::{CompressionLvl, Compressor, DecompressionError, Decompressor};

use crate::error::{Error, Origin};

/// Tables of a level are made once.
#[derive(Default)]
pub(crate) struct CodecState {
    encoder: Option<(u32, Compressor)>,
    decoder: Option<Decompressor>,
}

impl CodecState {
    /// Returns the bytes of the stream, or `None` when `out` is too short for it.
    pub(crate) fn decode(
        &mut self,
        at: Origin,
        input: &[u8],
        out: &mut [u8],
    ) -> Result<Option<usize>, Error> {
        match self.decoder.get_or_insert_with(Decompressor::new).zlib_decompress(input, out) {
            Ok(len) => Ok(Some(len)),
            Err(DecompressionError::InsufficientSpace) => Ok(None),
            Err(DecompressionError::BadData) => Err(at.corrupt("not a whole zlib stream")),
        }
    }

    pub(crate) fn encode(
        &mut self,
        at: Origin,
        input: &[u8],
        level: u32,
        out: &mut [u8],
    ) -> Result<usize, Error> {
        let encoder = self.encoder(at, level)?;
        encoder
            .zlib_compress(input, out)
            .map_err(|_| at.incompressible("stream is longer than any should be"))
    }

    /// Levels up to 5 mean about what they mean to zlib. Above, the next one is needed for a stream as short as zlib's.
    fn encoder(&mut self, at: Origin, level: u32) -> Result<&mut Compressor, Error> {
        let kept = self.encoder.take().filter(|(kept, _)| *kept == level);
        let (_, encoder) = match kept {
            Some(kept) => self.encoder.insert(kept),
            None => {
                let own = if level > 5 { level + 1 } else { level };
                let known = CompressionLvl::new(own as i32);
                let known = known.map_err(|_| at.invalid(format!("level {level}")))?;
                self.encoder.insert((level, Compressor::new(known)))
            }
        };
        Ok(encoder)
    }
}
