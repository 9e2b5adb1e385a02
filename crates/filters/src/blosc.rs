//! Blosc (32001): one Blosc 1 chunk per HDF5 chunk.
//!
//! Values: filter revision, Blosc format version, type size, chunk bytes, level, shuffle (0 none, 1 bytes,
//! 2 bits), codec (0 BloscLZ, 1 LZ4, 2 LZ4HC, 3 Snappy, 4 zlib, 5 Zstandard).

use crate::blosc_chunk;
use crate::blosc_codec::Codec;
use crate::blosc_write::{Format, Rearrange, Settings};
use crate::error::{Error, Origin};
use crate::names::id;
use crate::writer::Writer;
use crate::{Codecs, Done, Filter, FilterId, Output, Params};

const AT: Origin = Origin(id::BLOSC);
const TYPE_BYTES_MAX: usize = 255;
const LEVEL_DEFAULT: u32 = 5;
const SHUFFLE_DEFAULT: u32 = 1;
const CODEC_DEFAULT: u32 = 0;

/// The Blosc filter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Blosc;

impl Filter for Blosc {
    fn id(&self) -> FilterId {
        AT.0
    }

    fn decode_into(
        &self,
        _params: &Params<'_>,
        input: &[u8],
        out: &mut Output<'_>,
        codecs: &mut Codecs,
    ) -> Result<Done, Error> {
        blosc_chunk::decode(AT, input, out, codecs)
    }

    fn encode_into(
        &self,
        params: &Params<'_>,
        input: &[u8],
        out: &mut Output<'_>,
        codecs: &mut Codecs,
    ) -> Result<Done, Error> {
        let settings = settings(AT, Format::Blosc1, params, 0)?;
        let mut to = Writer::new(AT, out.buffer(settings.buffer_bytes(input.len()))?);
        settings.write(input, &mut to, codecs)?;
        let len = to.len();
        if len >= input.len() {
            return Err(AT.incompressible("does not shrink"));
        }
        out.truncate(len);
        Ok(Done::Written)
    }
}

/// Returns what the client values ask of the encoder; both Bloscs have them in the same places.
pub(crate) fn settings(
    at: Origin,
    format: Format,
    params: &Params<'_>,
    block_bytes: usize,
) -> Result<Settings, Error> {
    let type_bytes = params.get(2).unwrap_or(1) as usize;
    Ok(Settings {
        at,
        format,
        // Blosc takes wider types as bytes.
        type_bytes: if (1..=TYPE_BYTES_MAX).contains(&type_bytes) { type_bytes } else { 1 },
        level: params.get(4).unwrap_or(LEVEL_DEFAULT).min(9),
        rearrange: Rearrange::from_value(at, params.get(5).unwrap_or(SHUFFLE_DEFAULT))?,
        codec: Codec::from_value(at, params.get(6).unwrap_or(CODEC_DEFAULT))?,
        block_bytes,
    })
}
