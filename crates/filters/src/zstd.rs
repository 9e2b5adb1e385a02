//! Zstandard (32015): one frame per chunk.
//!
//! Values: level (signed). The pure-Rust encoder has one level and ignores it.

use crate::codec::zstd;
use crate::error::{Error, Origin};
use crate::{Filter, FilterId, Params, Size};

const AT: Origin = Origin(32015);
const LEVEL_DEFAULT: i32 = 3;
const LEVEL_MAX: i32 = 22;

/// The Zstandard filter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Zstd;

impl Filter for Zstd {
    fn id(&self) -> FilterId {
        AT.0
    }

    fn name(&self) -> &'static str {
        "zstd"
    }

    fn decode(&self, _params: &Params<'_>, input: &[u8], size: Size) -> Result<Vec<u8>, Error> {
        zstd::decode(AT, input, size)
    }

    fn encode(&self, params: &Params<'_>, input: &[u8]) -> Result<Vec<u8>, Error> {
        let level = params.get(0).map_or(LEVEL_DEFAULT, |level| level as i32);
        zstd::encode(AT, input, level.min(LEVEL_MAX))
    }
}
