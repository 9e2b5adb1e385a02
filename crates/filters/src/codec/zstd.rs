//! Zstandard frames: the C library with the feature `zstd`, else pure Rust with `zstd-pure`.

use super::States;
use crate::error::{Error, Origin};

#[cfg(any(feature = "zstd", feature = "zstd-pure"))]
mod frame {
    use super::{Error, Origin, States};
    use crate::output::{Done, Output};

    pub(super) const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

    /// Decodes all frames of `input`.
    pub(crate) fn decode(
        at: Origin,
        input: &[u8],
        out: &mut Output<'_>,
        states: &mut States,
    ) -> Result<Done, Error> {
        let max = out.size().max;
        if let Some(bytes) = content_bytes(input) {
            let written = states.zstd.decode(at, input, out.buffer(at.within(bytes, max)?)?)?;
            out.truncate(written);
            return Ok(Done::Written);
        }
        // Whether a frame is broken or too long for its buffer is not known.
        out.fill(|buffer| match states.zstd.decode(at, input, buffer) {
            Ok(written) => Ok(Some(written)),
            Err(error) if buffer.len() == max => Err(error),
            Err(_) => Ok(None),
        })
    }

    /// Returns the content size that the header of the first frame tells, if it does.
    fn content_bytes(input: &[u8]) -> Option<u64> {
        let rest = input.strip_prefix(&MAGIC)?;
        let descriptor = *rest.first()?;
        let is_single_segment = descriptor & 0x20 != 0;
        let dictionary_bytes = [0, 1, 2, 4][usize::from(descriptor & 3)];
        let size_bytes = match descriptor >> 6 {
            0 if !is_single_segment => return None,
            code => 1usize << code,
        };
        let start = 1 + usize::from(!is_single_segment) + dictionary_bytes;
        let mut bytes = [0; 8];
        bytes[..size_bytes].copy_from_slice(rest.get(start..start + size_bytes)?);
        let size = u64::from_le_bytes(bytes);
        // Two bytes count from 256 up.
        size.checked_add(if size_bytes == 2 { 256 } else { 0 })
    }
}

#[cfg(feature = "zstd")]
mod imp {
    use super::{Error, Origin};
    use ::zstd::bulk::{Compressor, Decompressor};

    /// Contexts, whose tables serve the next frame.
    #[derive(Default)]
    pub(crate) struct CodecState {
        encoder: Option<(i32, Compressor<'static>)>,
        decoder: Option<Decompressor<'static>>,
    }

    impl CodecState {
        pub(crate) fn decode(&mut self, at: Origin, input: &[u8], out: &mut [u8]) -> Result<usize, Error> {
            let decoder = match &mut self.decoder {
                Some(decoder) => decoder,
                empty => empty.insert(Decompressor::new().map_err(|error| at.invalid(error.to_string()))?),
            };
            decoder.decompress_to_buffer(input, out).map_err(|error| at.corrupt(error.to_string()))
        }

        pub(crate) fn encode(
            &mut self,
            at: Origin,
            input: &[u8],
            level: i32,
            out: &mut [u8],
        ) -> Result<usize, Error> {
            let invalid = |error: std::io::Error| at.invalid(error.to_string());
            let kept = self.encoder.take().filter(|(kept, _)| *kept == level);
            let (_, encoder) = match kept {
                Some(kept) => self.encoder.insert(kept),
                None => self.encoder.insert((level, Compressor::new(level).map_err(invalid)?)),
            };
            encoder.compress_to_buffer(input, out).map_err(invalid)
        }
    }
}

#[cfg(all(feature = "zstd-pure", not(feature = "zstd")))]
mod imp {
    use super::frame::MAGIC;
    use super::{Error, Origin};
    use ruzstd::decoding::FrameDecoder;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    /// The decoder with its window and tables.
    #[derive(Default)]
    pub(crate) struct CodecState {
        decoder: Option<FrameDecoder>,
    }

    impl CodecState {
        pub(crate) fn decode(&mut self, at: Origin, input: &[u8], out: &mut [u8]) -> Result<usize, Error> {
            let decoder = self.decoder.get_or_insert_with(FrameDecoder::new);
            decoder.decode_all(input, out).map_err(|error| at.corrupt(error.to_string()))
        }

        /// Encodes with the only level that there is. HDF5 readers need the content size, which this encoder leaves
        /// out, so it is inserted.
        pub(crate) fn encode(
            &mut self,
            at: Origin,
            input: &[u8],
            _level: i32,
            out: &mut [u8],
        ) -> Result<usize, Error> {
            let frame = compress_to_vec(input, CompressionLevel::Fastest);
            match *frame.as_slice() {
                // No content size, no dictionary, not a single segment: the header is descriptor and window.
                [0x28, 0xb5, 0x2f, 0xfd, descriptor, window, ref rest @ ..] if descriptor & 0xe3 == 0 => {
                    let size = (input.len() as u64).to_le_bytes();
                    join(at, &[&MAGIC, &[descriptor | 0xc0, window], &size, rest], out)
                }
                _ => join(at, &[&frame], out),
            }
        }
    }

    fn join(at: Origin, parts: &[&[u8]], out: &mut [u8]) -> Result<usize, Error> {
        let mut len = 0;
        for part in parts {
            let buffer = out.get_mut(len..len + part.len());
            buffer
                .ok_or_else(|| at.incompressible("frame is longer than any should be"))?
                .copy_from_slice(part);
            len += part.len();
        }
        Ok(len)
    }
}

#[cfg(not(any(feature = "zstd", feature = "zstd-pure")))]
mod imp {
    use super::{Error, Origin};

    #[derive(Default)]
    pub(crate) struct CodecState;

    impl CodecState {
        pub(crate) fn decode(&mut self, at: Origin, _input: &[u8], _out: &mut [u8]) -> Result<usize, Error> {
            Err(at.unsupported("Zstandard needs the cargo feature `zstd` or `zstd-pure`"))
        }

        pub(crate) fn encode(
            &mut self,
            at: Origin,
            _input: &[u8],
            _level: i32,
            _out: &mut [u8],
        ) -> Result<usize, Error> {
            Err(at.unsupported("Zstandard needs the cargo feature `zstd` or `zstd-pure`"))
        }
    }
}

#[cfg(any(feature = "zstd", feature = "zstd-pure"))]
pub(crate) use frame::decode;
pub(crate) use imp::CodecState;

/// Decodes all frames of `input` into `out`; the number of bytes they had.
pub(crate) fn decode_into(
    at: Origin,
    input: &[u8],
    out: &mut [u8],
    states: &mut States,
) -> Result<usize, Error> {
    states.zstd.decode(at, input, out)
}

/// Encodes one frame into `out`, which has the space of [`super::bound_bytes`]; its length.
pub(crate) fn encode_into(
    at: Origin,
    input: &[u8],
    level: i32,
    out: &mut [u8],
    states: &mut States,
) -> Result<usize, Error> {
    states.zstd.encode(at, input, level, out)
}
