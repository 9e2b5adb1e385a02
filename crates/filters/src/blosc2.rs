//! Blosc2 (32026): a contiguous frame with one chunk per HDF5 chunk.
//!
//! Values: filter revision, block bytes, type size, chunk bytes, level, shuffle, codec, rank, chunk shape.
//! With a "b2nd" metalayer the chunk holds the blocks of an n-dimensional array, which are put back in
//! row-major order. We write frames without that layer, which every reader takes.

use crate::blosc::settings;
use crate::blosc_write::Format;
use crate::blosc2_frame::{self, Frame};
use crate::blosc2_nd::Layout;
use crate::error::{Error, Origin};
use crate::names::id;
use crate::{Codecs, Done, Filter, FilterId, Output, Params};

const AT: Origin = Origin(id::BLOSC2);

/// The Blosc2 filter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Blosc2;

impl Filter for Blosc2 {
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
        let frame = Frame::parse(AT, input)?;
        match frame.metalayer(b"b2nd").or_else(|| frame.metalayer(b"caterva")) {
            Some(layer) => Layout::parse(AT, layer, frame.type_bytes)?.decode(AT, &frame, out, codecs),
            None => frame.decode(out, codecs),
        }
    }

    fn encode_into(
        &self,
        params: &Params<'_>,
        input: &[u8],
        out: &mut Output<'_>,
        codecs: &mut Codecs,
    ) -> Result<Done, Error> {
        if input.is_empty() {
            return Err(AT.incompressible("nothing to store"));
        }
        let block_bytes = params.get(1).unwrap_or(0) as usize;
        let settings = settings(AT, Format::Blosc2, params, block_bytes)?;
        blosc2_frame::wrap(AT, &settings, input, out, codecs)
    }
}
