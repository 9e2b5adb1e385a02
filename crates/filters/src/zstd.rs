//! Zstandard (32015): one frame per chunk.
//!
//! Values: level (signed). The pure-Rust encoder has one level and ignores it.

use crate::codec::{bound_bytes, zstd};
use crate::error::{Error, Origin};
use crate::names::id;
use crate::{Codecs, Done, Filter, FilterId, Output, Params};

const AT: Origin = Origin(id::ZSTD);
const LEVEL_DEFAULT: i32 = 3;
const LEVEL_MAX: i32 = 22;

/// The Zstandard filter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Zstd;

impl Filter for Zstd {
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
        zstd::decode(AT, input, out, &mut codecs.states)
    }

    fn encode_into(
        &self,
        params: &Params<'_>,
        input: &[u8],
        out: &mut Output<'_>,
        codecs: &mut Codecs,
    ) -> Result<Done, Error> {
        let level = params.get(0).map_or(LEVEL_DEFAULT, |level| level as i32).min(LEVEL_MAX);
        let buffer = out.buffer(bound_bytes(input.len()))?;
        let len = zstd::encode_into(AT, input, level, buffer, &mut codecs.states)?;
        out.truncate(len);
        Ok(Done::Written)
    }
}
