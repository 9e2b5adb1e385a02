//! Zstandard frames: the C library with the feature `zstd`, else pure Rust with `zstd-pure`.

use crate::error::{Error, Origin};

#[cfg(any(feature = "zstd", feature = "zstd-pure"))]
mod frame {
    use super::{Error, Origin};
    use crate::Size;

    pub(super) const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
    /// First guess for a frame that does not tell its size and a caller that does not know.
    const GUESS_BYTES: usize = 64 << 10;

    /// Decodes all frames of `input`.
    pub(crate) fn decode(at: Origin, input: &[u8], size: Size) -> Result<Vec<u8>, Error> {
        if let Some(bytes) = content_bytes(input) {
            let mut out = at.zeroed(at.within(bytes, size.max)?)?;
            let written = super::imp::decode_into(at, input, &mut out)?;
            out.truncate(written);
            return Ok(out);
        }
        let mut room = size.expected().max(GUESS_BYTES).min(size.max);
        loop {
            let mut out = at.zeroed(room)?;
            match super::imp::decode_into(at, input, &mut out) {
                Ok(written) => {
                    out.truncate(written);
                    return Ok(out);
                }
                Err(error) if room == size.max => return Err(error),
                Err(_) => room = room.saturating_mul(4).min(size.max),
            }
        }
    }

    /// The content size that the header of the first frame tells, if it does.
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

    pub(crate) fn decode_into(at: Origin, input: &[u8], out: &mut [u8]) -> Result<usize, Error> {
        ::zstd::bulk::decompress_to_buffer(input, out).map_err(|error| at.corrupt(error.to_string()))
    }

    pub(crate) fn encode(at: Origin, input: &[u8], level: i32) -> Result<Vec<u8>, Error> {
        ::zstd::bulk::compress(input, level).map_err(|error| at.invalid(error.to_string()))
    }
}

#[cfg(all(feature = "zstd-pure", not(feature = "zstd")))]
mod imp {
    use super::frame::MAGIC;
    use super::{Error, Origin};
    use ruzstd::decoding::FrameDecoder;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    pub(crate) fn decode_into(at: Origin, input: &[u8], out: &mut [u8]) -> Result<usize, Error> {
        FrameDecoder::new().decode_all(input, out).map_err(|error| at.corrupt(error.to_string()))
    }

    /// One level only. HDF5 readers need the content size, which this encoder leaves out: it is put in.
    pub(crate) fn encode(at: Origin, input: &[u8], _level: i32) -> Result<Vec<u8>, Error> {
        let frame = compress_to_vec(input, CompressionLevel::Fastest);
        match *frame.as_slice() {
            // No content size, no dictionary, not a single segment: the header is descriptor and window.
            [0x28, 0xb5, 0x2f, 0xfd, descriptor, window, ref rest @ ..] if descriptor & 0xe3 == 0 => {
                let mut out = at.reserve(frame.len() + 8)?;
                out.extend_from_slice(&MAGIC);
                out.extend_from_slice(&[descriptor | 0xc0, window]);
                out.extend_from_slice(&(input.len() as u64).to_le_bytes());
                out.extend_from_slice(rest);
                Ok(out)
            }
            _ => Ok(frame),
        }
    }
}

#[cfg(not(any(feature = "zstd", feature = "zstd-pure")))]
mod imp {
    use super::{Error, Origin};

    pub(crate) fn decode_into(at: Origin, _input: &[u8], _out: &mut [u8]) -> Result<usize, Error> {
        Err(at.unsupported("Zstandard needs the cargo feature `zstd` or `zstd-pure`"))
    }

    pub(crate) fn encode(at: Origin, _input: &[u8], _level: i32) -> Result<Vec<u8>, Error> {
        Err(at.unsupported("Zstandard needs the cargo feature `zstd` or `zstd-pure`"))
    }
}

#[cfg(any(feature = "zstd", feature = "zstd-pure"))]
pub(crate) use frame::decode;
pub(crate) use imp::{decode_into, encode};
