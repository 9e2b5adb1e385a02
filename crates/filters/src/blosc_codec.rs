//! The compressors of both Bloscs.

use crate::codec::{States, blosclz, lz4, snappy, zlib, zstd};
use crate::error::{Error, Origin};

/// A compressor. LZ4HC writes LZ4 streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Codec {
    BloscLz,
    Lz4,
    Lz4Hc,
    Snappy,
    Zlib,
    Zstd,
}

impl Codec {
    /// Returns the codec with a number of the client values.
    pub(crate) fn from_value(at: Origin, value: u32) -> Result<Self, Error> {
        match value {
            0 => Ok(Self::BloscLz),
            1 => Ok(Self::Lz4),
            2 => Ok(Self::Lz4Hc),
            3 => Ok(Self::Snappy),
            4 => Ok(Self::Zlib),
            5 => Ok(Self::Zstd),
            other => Err(at.unsupported(format!("codec {other}"))),
        }
    }

    /// Returns the codec in the upper three bits of a chunk's flags.
    pub(crate) fn from_format(at: Origin, format: u8, user_codec: u8) -> Result<Self, Error> {
        match format {
            0 => Ok(Self::BloscLz),
            1 => Ok(Self::Lz4),
            2 => Ok(Self::Snappy),
            3 => Ok(Self::Zlib),
            4 => Ok(Self::Zstd),
            other => Err(at.unsupported(format!("stream format {other}, codec {user_codec}"))),
        }
    }

    /// Returns the upper three bits of a chunk's flags.
    pub(crate) fn format(self) -> u8 {
        match self {
            Self::BloscLz => 0,
            Self::Lz4 | Self::Lz4Hc => 1,
            Self::Snappy => 2,
            Self::Zlib => 3,
            Self::Zstd => 4,
        }
    }

    /// Returns whether it spends time for size.
    pub(crate) fn is_thorough(self) -> bool {
        matches!(self, Self::Lz4Hc | Self::Zlib | Self::Zstd)
    }

    /// Decodes a stream that must fill `out`.
    pub(crate) fn decode(
        self,
        at: Origin,
        stream: &[u8],
        out: &mut [u8],
        states: &mut States,
    ) -> Result<(), Error> {
        let written = match self {
            Self::BloscLz => blosclz::decode_into(at, stream, out)?,
            Self::Lz4 | Self::Lz4Hc => lz4::decode_into(at, stream, out)?,
            Self::Snappy => snappy::decode_into(at, stream, out)?,
            Self::Zlib => zlib::decode_into(at, stream, out, states)?,
            Self::Zstd => zstd::decode_into(at, stream, out, states)?,
        };
        if written != out.len() {
            return Err(at.corrupt(format!("stream has {written} bytes, not {}", out.len())));
        }
        Ok(())
    }

    /// Encodes a stream into `out`, which has the space of [`crate::codec::bound_bytes`]; its length, or `None`
    /// when it is no smaller than the input.
    pub(crate) fn encode(
        self,
        at: Origin,
        input: &[u8],
        level: u32,
        out: &mut [u8],
        states: &mut States,
    ) -> Result<Option<usize>, Error> {
        let len = match self {
            Self::BloscLz => return Ok(blosclz(input, level, out)),
            Self::Lz4 => lz4::encode_into(at, input, lz4_acceleration(level), out)?,
            Self::Lz4Hc => lz4::encode_high(at, input, level, out)?,
            Self::Snappy => snappy::encode_into(at, input, out, states)?,
            Self::Zlib => zlib::encode_into(at, input, level, out, states)?,
            Self::Zstd => zstd::encode_into(at, input, zstd_level(level), out, states)?,
        };
        Ok(Some(len).filter(|len| *len < input.len()))
    }
}

fn blosclz(input: &[u8], level: u32, out: &mut [u8]) -> Option<usize> {
    let stream = blosclz::encode(input, level).filter(|stream| stream.len() < input.len())?;
    out.get_mut(..stream.len())?.copy_from_slice(&stream);
    Some(stream.len())
}

/// Returns the acceleration of LZ4: the lower the level of Blosc, the faster.
fn lz4_acceleration(level: u32) -> u32 {
    10u32.saturating_sub(level).max(1)
}

/// Returns the level of Zstandard, over whose levels Blosc spreads its nine.
fn zstd_level(level: u32) -> i32 {
    if level < 9 { (level as i32 * 2 - 1).max(1) } else { 22 }
}
