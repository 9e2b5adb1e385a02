//! Deflate (1): one zlib stream per chunk (RFC 1950).
//!
//! Values: level 0–9.

use crate::codec::{bound_bytes, zlib};
use crate::error::{Error, Origin};
use crate::names::id;
use crate::{Codecs, Done, Filter, FilterId, Output, Params};

const AT: Origin = Origin(id::DEFLATE);
const LEVEL_DEFAULT: u32 = 6;

/// The deflate filter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deflate;

impl Filter for Deflate {
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
        zlib::decode(AT, input, out, &mut codecs.states)
    }

    fn encode_into(
        &self,
        params: &Params<'_>,
        input: &[u8],
        out: &mut Output<'_>,
        codecs: &mut Codecs,
    ) -> Result<Done, Error> {
        let level = params.get(0).unwrap_or(LEVEL_DEFAULT);
        if level > 9 {
            return Err(AT.invalid(format!("level {level} is above 9")));
        }
        let buffer = out.buffer(bound_bytes(input.len()))?;
        let len = zlib::encode_into(AT, input, level, buffer, &mut codecs.states)?;
        out.truncate(len);
        Ok(Done::Written)
    }
}
