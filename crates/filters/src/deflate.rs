//! Deflate (1): one zlib stream per chunk (RFC 1950).
//!
//! Values: level 0–9.

use crate::codec::zlib;
use crate::error::{Error, Origin};
use crate::{Filter, FilterId, Params, Size};

const AT: Origin = Origin(1);
const LEVEL_DEFAULT: u32 = 6;

/// The deflate filter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deflate;

impl Filter for Deflate {
    fn id(&self) -> FilterId {
        AT.0
    }

    fn name(&self) -> &'static str {
        "deflate"
    }

    fn decode(&self, _params: &Params<'_>, input: &[u8], size: Size) -> Result<Vec<u8>, Error> {
        zlib::decode(AT, input, size)
    }

    fn encode(&self, params: &Params<'_>, input: &[u8]) -> Result<Vec<u8>, Error> {
        let level = params.get(0).unwrap_or(LEVEL_DEFAULT);
        if level > 9 {
            return Err(AT.invalid(format!("level {level} is above 9")));
        }
        zlib::encode(AT, input, level)
    }
}
