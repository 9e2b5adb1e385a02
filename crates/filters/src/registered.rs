//! Client values of filters from outside libhdf5, completed as each filter's own library does in its `set_local`
//! callback when a dataset is created.
//!
//! Every function takes the values that a user gave, which may be none, few or all, and returns those that are stored.
//! Values that are complete already come back unchanged.

use crate::error::{Error, Origin};
use crate::names::id;

const BITSHUFFLE: Origin = Origin(id::BITSHUFFLE);

const BLOSC_REVISION: u32 = 2;
const BLOSC_FORMAT: u32 = 2;
const BLOSC_TYPE_BYTES_MAX: u32 = 255;

const BLOSC2_REVISION: u32 = 1;
/// Level, shuffle and codec where no one chose them.
const BLOSC2_DEFAULTS: [u32; 3] = [5, 1, 0];

const BITSHUFFLE_VERSION: [u32; 2] = [0, 4];
const BITSHUFFLE_OWN: usize = 3;
const BITSHUFFLE_GROUP: u32 = 8;
const BITSHUFFLE_CODECS: [u32; 3] = [0, 2, 3];

const LZF_DEFAULTS: [u32; 2] = [4, 0x0105];

/// The properties of a chunk that the values of a filter depend on.
#[derive(Debug, Clone, Copy)]
pub struct Chunk<'a> {
    /// Bytes of one element.
    pub element_bytes: u32,
    /// Bytes of one element of the array datatype that an element is, or of the element itself.
    pub base_bytes: u32,
    /// The chunk's dimensions, in elements.
    pub shape: &'a [u64],
    /// Bytes of the whole chunk.
    pub bytes: u32,
}

/// Returns the value that was given at `index`, or `default`. Zero counts as not given where `default` replaces it.
fn given_or(given: &[u32], index: usize, default: u32) -> u32 {
    given.get(index).copied().filter(|value| *value != 0).unwrap_or(default)
}

/// Returns the values of LZF: filter revision, LZF version, chunk bytes.
pub fn lzf(given: &[u32], chunk: &Chunk<'_>) -> Vec<u32> {
    let [revision, version] = LZF_DEFAULTS;
    vec![given_or(given, 0, revision), given_or(given, 1, version), chunk.bytes]
}

/// Returns the values of Blosc: filter revision, format, type size, chunk bytes, and the given level, shuffle and
/// codec.
pub fn blosc(given: &[u32], chunk: &Chunk<'_>) -> Vec<u32> {
    // Blosc takes wider types as bytes.
    let type_bytes = if chunk.base_bytes > BLOSC_TYPE_BYTES_MAX { 1 } else { chunk.base_bytes };
    let mut values = vec![BLOSC_REVISION, BLOSC_FORMAT, type_bytes, chunk.bytes];
    values.extend(given.iter().skip(4));
    values
}

/// Returns the values of Blosc2: filter revision, block bytes, type size, chunk bytes, and the given level, shuffle
/// and codec. For chunks of several dimensions, all three follow, and then the rank and the shape.
pub fn blosc2(given: &[u32], chunk: &Chunk<'_>) -> Vec<u32> {
    let block_bytes = given.get(1).copied().unwrap_or(0);
    let mut values = vec![BLOSC2_REVISION, block_bytes, chunk.base_bytes, chunk.bytes];
    let chosen = given.iter().copied().skip(4).take(BLOSC2_DEFAULTS.len());
    values.extend(chosen);
    if chunk.shape.len() > 1 {
        let missing = BLOSC2_DEFAULTS.iter().skip(values.len() - 4);
        values.extend(missing);
        values.push(chunk.shape.len() as u32);
        values.extend(chunk.shape.iter().map(|&dim| dim as u32));
    }
    values
}

/// Returns the values of bitshuffle: version, element size, and the given block size, codec and level.
///
/// A user gives block size, codec and level; a file holds them behind three values of the filter's own. Three values
/// may be either: `is_stored` says which.
pub fn bitshuffle(given: &[u32], chunk: &Chunk<'_>, is_stored: bool) -> Result<Vec<u32>, Error> {
    let chosen = match given {
        [_, _, _, _, ..] => return checked_bitshuffle(given.to_vec()),
        [_, codec, size]
            if *size == chunk.element_bytes && (is_stored || !BITSHUFFLE_CODECS.contains(codec)) =>
        {
            return Ok(given.to_vec());
        }
        chosen => chosen,
    };
    let [major, minor] = BITSHUFFLE_VERSION;
    let mut values = vec![major, minor, chunk.element_bytes];
    values.extend(chosen);
    checked_bitshuffle(values)
}

fn checked_bitshuffle(values: Vec<u32>) -> Result<Vec<u32>, Error> {
    let block = values.get(BITSHUFFLE_OWN).copied().unwrap_or(0);
    if !block.is_multiple_of(BITSHUFFLE_GROUP) {
        return Err(BITSHUFFLE.invalid(format!("block of {block} elements, not a multiple of 8")));
    }
    match values.get(BITSHUFFLE_OWN + 1) {
        Some(codec) if !BITSHUFFLE_CODECS.contains(codec) => {
            Err(BITSHUFFLE.invalid(format!("compression {codec}: 0 is none, 2 LZ4, 3 Zstandard")))
        }
        _ => Ok(values),
    }
}

/// Returns an error where this build cannot honour the compression level that the values of a new dataset ask for.
///
/// The pure-Rust Zstandard encoder has one level, and the pure-Rust LZ4 has no high compression; the feature
/// `c-codecs` brings both.
pub fn check_level(filter: u16, values: &[u32]) -> Result<(), Error> {
    let wanted = match filter {
        id::BLOSC | id::BLOSC2 => match (values.get(6), values.get(4)) {
            (Some(5), level) => RequestedCodec::Zstd(level.copied().map(|level| level.max(1))),
            (Some(2), _) => RequestedCodec::HighLz4,
            _ => RequestedCodec::Any,
        },
        // Before and after the values of the filter's own are there.
        id::BITSHUFFLE => match values {
            [_, 3, level] | [_, _, _, _, 3, level, ..] => RequestedCodec::Zstd(Some(*level)),
            _ => RequestedCodec::Any,
        },
        id::ZSTD => RequestedCodec::Zstd(values.first().copied()),
        _ => RequestedCodec::Any,
    };
    wanted.check(Origin(filter))
}

enum RequestedCodec {
    Any,
    Zstd(Option<u32>),
    HighLz4,
}

impl RequestedCodec {
    fn check(&self, at: Origin) -> Result<(), Error> {
        match self {
            Self::Zstd(Some(level)) if *level != 1 && !cfg!(feature = "zstd") => Err(at.unsupported(format!(
                "Zstandard level {level} needs the cargo feature `c-codecs`; without it there is level 1 only"
            ))),
            Self::HighLz4 if !cfg!(feature = "lz4-c") => {
                Err(at.unsupported("LZ4HC needs the cargo feature `c-codecs`"))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHUNK: Chunk<'static> =
        Chunk { element_bytes: 12, base_bytes: 4, shape: &[100, 50], bytes: 60_000 };

    #[test]
    fn blosc_values_are_those_of_its_library() {
        assert_eq!(blosc(&[], &CHUNK), [2, 2, 4, 60_000]);
        assert_eq!(blosc(&[9], &CHUNK), [2, 2, 4, 60_000]);
        assert_eq!(blosc(&[0, 0, 0, 0, 9], &CHUNK), [2, 2, 4, 60_000, 9]);
        assert_eq!(blosc(&[2, 2, 4, 60_000, 5, 1, 5], &CHUNK), [2, 2, 4, 60_000, 5, 1, 5]);
        assert_eq!(blosc(&[], &Chunk { base_bytes: 256, ..CHUNK })[2], 1);
    }

    #[test]
    fn blosc2_values_are_those_of_its_library() {
        assert_eq!(blosc2(&[], &CHUNK), [1, 0, 4, 60_000, 5, 1, 0, 2, 100, 50]);
        assert_eq!(blosc2(&[0, 4096, 0, 0, 9], &CHUNK), [1, 4096, 4, 60_000, 9, 1, 0, 2, 100, 50]);
        let all = blosc2(&[0, 0, 0, 0, 5, 2, 1], &CHUNK);
        assert_eq!(all, [1, 0, 4, 60_000, 5, 2, 1, 2, 100, 50]);
        assert_eq!(blosc2(&all, &CHUNK), all);
        let line = Chunk { shape: &[5000], ..CHUNK };
        assert_eq!(blosc2(&[], &line), [1, 0, 4, 60_000]);
        assert_eq!(blosc2(&[0, 0, 0, 0, 9, 1, 5], &line), [1, 0, 4, 60_000, 9, 1, 5]);
    }

    #[test]
    fn bitshuffle_values_are_those_of_its_library() {
        assert_eq!(bitshuffle(&[], &CHUNK, false).unwrap(), [0, 4, 12]);
        assert_eq!(bitshuffle(&[0, 2], &CHUNK, false).unwrap(), [0, 4, 12, 0, 2]);
        assert_eq!(bitshuffle(&[0, 3, 12], &CHUNK, false).unwrap(), [0, 4, 12, 0, 3, 12]);
        assert_eq!(bitshuffle(&[0, 3, 12], &CHUNK, true).unwrap(), [0, 3, 12]);
        assert_eq!(bitshuffle(&[0, 4, 12], &CHUNK, false).unwrap(), [0, 4, 12]);
        assert_eq!(bitshuffle(&[0, 3, 12, 0, 2], &CHUNK, false).unwrap(), [0, 3, 12, 0, 2]);
        assert!(bitshuffle(&[12, 2], &CHUNK, false).is_err());
        assert!(bitshuffle(&[0, 9], &CHUNK, false).is_err());
    }

    #[test]
    fn lzf_values_are_those_of_h5py() {
        assert_eq!(lzf(&[], &CHUNK), [4, 0x0105, 60_000]);
        assert_eq!(lzf(&[1], &CHUNK), [1, 0x0105, 60_000]);
        assert_eq!(lzf(&[0, 0, 5], &CHUNK), [4, 0x0105, 60_000]);
    }

    #[test]
    fn a_level_that_this_build_lacks_is_refused() {
        assert!(check_level(32015, &[]).is_ok() && check_level(32015, &[1]).is_ok());
        assert_eq!(check_level(32015, &[19]).is_ok(), cfg!(feature = "zstd"));
        assert_eq!(check_level(32001, &[0, 0, 0, 0, 9, 1, 5]).is_ok(), cfg!(feature = "zstd"));
        assert_eq!(check_level(32026, &[0, 0, 0, 0, 9, 1, 2]).is_ok(), cfg!(feature = "lz4-c"));
        assert!(check_level(32001, &[0, 0, 0, 0, 9, 1, 1]).is_ok());
    }
}
