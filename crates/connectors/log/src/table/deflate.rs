//! Bytes of tables that are deflated where that makes them shorter.

use filters::{Registry, Stage, names};
use model::{Error, Limits, Result, Within};

/// Fewer bytes are not worth it.
const DEFLATED_BYTES_MIN: usize = 256;
/// Deflate makes no more than this of a byte.
const EXPANSION_MAX: usize = 1100;
const DEFLATE: Stage<'static> = Stage { id: names::id::DEFLATE, optional: false, values: &[1] };

/// Returns the bytes as a zlib stream, or `None` where that is not shorter.
pub(super) fn deflate(bytes: &[u8]) -> Result<Option<Vec<u8>>> {
    if bytes.len() < DEFLATED_BYTES_MIN {
        return Ok(None);
    }
    let failed = |e: filters::Error| Error::invalid("deflate log metadata table").with("problem", e);
    let (small, _) = Registry::default().encode(&[DEFLATE], bytes.to_vec()).map_err(failed)?;
    Ok(Some(small).filter(|small| small.len() < bytes.len()))
}

/// Returns the `raw` bytes of a zlib stream.
pub(super) fn inflate(stored: &[u8], raw: u64, limits: &Limits) -> Result<Vec<u8>> {
    let corrupt = || Error::corrupt("inflate log metadata table");
    let raw = raw.within(limits.metadata_bytes_max, "log metadata table")?;
    if raw / EXPANSION_MAX > stored.len() {
        return Err(corrupt().with("problem", "larger than its bytes can inflate to"));
    }
    let failed = |e: filters::Error| corrupt().with("problem", e);
    Registry::default().decode(&[DEFLATE], 0, stored.to_vec(), raw, raw).map_err(failed)
}
