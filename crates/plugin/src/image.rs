//! A look at a file before its code is let into the process.

use std::path::Path;

use model::bytes::Cursor;
use model::{Error, Result};

/// Larger files are no plugins.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// Returns an error unless the file names the symbol and, where it is of the format that we know, is whole.
pub(crate) fn check(path: &Path, symbol: &str) -> Result<()> {
    let failed = |e: std::io::Error| Error::io("read library", &e);
    let length = std::fs::metadata(path).map_err(failed)?.len();
    if length > FILE_BYTES_MAX {
        return Err(Error::limit("read library").with("bytes", length).with("limit", FILE_BYTES_MAX));
    }
    let bytes = std::fs::read(path).map_err(failed)?;
    // The dynamic loader runs a library's own code as it opens it, so a library that has no such symbol is not opened.
    if !names(&bytes, symbol) {
        return Err(Error::not_found("find plugin in library")
            .with("problem", "no plugin of ours")
            .with("missing", symbol));
    }
    check_segments(&bytes)
}

fn names(bytes: &[u8], symbol: &str) -> bool {
    let name = [symbol.as_bytes(), b"\0"].concat();
    bytes.windows(name.len()).any(|window| window[0] == name[0] && window == name)
}

/// The loader maps segments without asking whether the file has them: what is missing kills the process when it is used.
/// The table of sections is the last thing in a file, so that a file which has it is whole.
fn check_segments(bytes: &[u8]) -> Result<()> {
    if !bytes.starts_with(b"\x7fELF\x02\x01") {
        return Ok(());
    }
    let mut header = Cursor::new(bytes, "ELF header");
    header.skip(32)?;
    let (segments_at, sections_at) = (header.u64()?, header.u64()?);
    header.skip(6)?;
    let [segment_bytes, segments, section_bytes, sections] =
        [header.u16()?, header.u16()?, header.u16()?, header.u16()?].map(u64::from);
    part(bytes, sections_at, section_bytes * sections)?;
    for n in 0..segments {
        let at = segments_at.checked_add(n * segment_bytes).ok_or_else(truncated)?;
        let mut segment = Cursor::new(part(bytes, at, segment_bytes)?, "ELF program header");
        segment.skip(8)?;
        let offset = segment.u64()?;
        segment.skip(16)?;
        part(bytes, offset, segment.u64()?)?;
    }
    Ok(())
}

fn part(bytes: &[u8], at: u64, length: u64) -> Result<&[u8]> {
    let end = at.checked_add(length).ok_or_else(truncated)?;
    let range = usize::try_from(at).ok().zip(usize::try_from(end).ok());
    range.and_then(|(at, end)| bytes.get(at..end)).ok_or_else(truncated)
}

fn truncated() -> Error {
    Error::corrupt("read library").with("problem", "truncated")
}
