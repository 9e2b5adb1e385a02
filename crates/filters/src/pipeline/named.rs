//! Filters by name, as people write them: `GZIP=6`, `ZSTD=3`, `BLOSC=lz4:5:shuffle`, `BITSHUFFLE=zstd:10`.
//!
//! Names are those of h5repack where it has one. Parameters are separated by `,` or `:`.

use model::properties::FilterSpec;
use model::{Error, Result};

use crate::names::{self, id};

/// Every form that [`named`] reads, for help texts.
pub const NAMED: &str = "\
GZIP=LEVEL, SHUF, FLET, SZIP=PIXELS,NN|EC, NBIT, SOFF=FACTOR,IN|DS, LZF, LZ4[=BLOCK BYTES], BZIP2[=1..9],
ZSTD[=LEVEL], BLOSC[=CODEC:LEVEL:SHUFFLE], BLOSC2[=CODEC:LEVEL:SHUFFLE], BITSHUFFLE[=none|lz4|zstd:LEVEL],
UD=ID,FLAG,COUNT,VALUES...";

/// No filter has this number.
const USER_DEFINED: u16 = 0;
const BLOSC_CODECS: [&str; 6] = ["blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"];
const BLOSC_SHUFFLES: [&str; 3] = ["noshuffle", "shuffle", "bitshuffle"];
const BLOSC_LEVEL: u32 = 5;
const BLOSC_SHUFFLE: u32 = 1;
const SZIP_ENTROPY: u32 = 4;
const SZIP_NEAREST_NEIGHBOUR: u32 = 32;

/// Returns whether a text starts with the name of a filter.
pub fn is_named(text: &str) -> bool {
    let (name, _) = text.split_once('=').unwrap_or((text, ""));
    number_of(name).is_some()
}

/// Returns the number of the filter called `name`; `USER_DEFINED` for one whose number is a parameter.
fn number_of(name: &str) -> Option<u16> {
    let name = name.trim();
    let user_defined = name.eq_ignore_ascii_case("UD").then_some(USER_DEFINED);
    names::by_word(name).map(|names| names.id).or(user_defined)
}

/// Returns the filter that a text names: `ZSTD=3`.
///
/// # Errors
/// Returns `Invalid` for a name or parameter that is not known, and `Unsupported` for a level that this build lacks.
pub fn named(text: &str) -> Result<FilterSpec> {
    let (name, rest) = text.split_once('=').unwrap_or((text, ""));
    let words: Vec<&str> = rest.split([',', ':']).map(str::trim).filter(|word| !word.is_empty()).collect();
    let id = number_of(name).ok_or_else(|| bad(text).with("known", NAMED))?;
    let filter = match id {
        USER_DEFINED => user_defined(text, &words)?,
        _ => FilterSpec {
            id,
            name: None,
            optional: id != id::FLETCHER32,
            values: values_of(id, text, &words)?,
        },
    };
    check_level(&filter)?;
    Ok(filter)
}

/// Returns an error where this build cannot honour the level that a filter of a new dataset asks for.
pub fn check_level(filter: &FilterSpec) -> Result<()> {
    let checked = crate::registered::check_level(filter.id, &filter.values);
    checked.map_err(|error| Error::unsupported("set up filter").with("problem", error))
}

fn bad(text: &str) -> Error {
    Error::invalid("read filter").with("value", text)
}

fn values_of(id: u16, text: &str, words: &[&str]) -> Result<Vec<u32>> {
    let one = |range| number(text, words, range).map(|value| value.into_iter().map(|v| v as u32).collect());
    match id {
        id::DEFLATE => one(0..=9),
        id::BZIP2 => one(1..=9),
        id::LZ4 => one(0..=i64::from(i32::MAX)),
        id::ZSTD => one(-(1 << 17)..=22),
        id::SZIP => szip(text, words),
        id::SCALEOFFSET => scale_offset(text, words),
        id::BLOSC | id::BLOSC2 => blosc(text, words),
        id::BITSHUFFLE => bitshuffle(text, words),
        _ if words.is_empty() => Ok(Vec::new()),
        _ => Err(bad(text)),
    }
}

/// Returns the only number, or none.
fn number(text: &str, words: &[&str], range: std::ops::RangeInclusive<i64>) -> Result<Option<i64>> {
    match words {
        [] => Ok(None),
        [word] => {
            let value = word.parse().ok().filter(|value| range.contains(value));
            value.map(Some).ok_or_else(|| bad(text).with("range", format!("{range:?}")))
        }
        _ => Err(bad(text)),
    }
}

fn szip(text: &str, words: &[&str]) -> Result<Vec<u32>> {
    let (pixels, mask) = match words {
        [pixels] | [pixels, "EC"] => (pixels, SZIP_ENTROPY),
        [pixels, "NN"] => (pixels, SZIP_NEAREST_NEIGHBOUR),
        _ => return Err(bad(text)),
    };
    Ok(vec![mask, pixels.parse().map_err(|_| bad(text))?])
}

fn scale_offset(text: &str, words: &[&str]) -> Result<Vec<u32>> {
    let (factor, kind) = match words {
        [factor] | [factor, "IN"] => (factor, 2),
        [factor, "DS"] => (factor, 0),
        _ => return Err(bad(text)),
    };
    Ok(vec![kind, factor.parse().map_err(|_| bad(text))?])
}

/// Codec, level and shuffle in any order.
fn blosc(text: &str, words: &[&str]) -> Result<Vec<u32>> {
    let (mut level, mut shuffle, mut codec) = (BLOSC_LEVEL, BLOSC_SHUFFLE, 0);
    for word in words {
        let place =
            |known: &[&str]| known.iter().position(|k| k.eq_ignore_ascii_case(word)).map(|n| n as u32);
        match (place(&BLOSC_CODECS), place(&BLOSC_SHUFFLES), word.parse::<u32>()) {
            (Some(number), _, _) => codec = number,
            (_, Some(number), _) => shuffle = number,
            (_, _, Ok(number @ 0..=9)) => level = number,
            _ => return Err(bad(text).with("parameter", word)),
        }
    }
    Ok(if words.is_empty() { Vec::new() } else { vec![0, 0, 0, 0, level, shuffle, codec] })
}

/// Without parameters LZ4, as hdf5plugin has it.
fn bitshuffle(text: &str, words: &[&str]) -> Result<Vec<u32>> {
    let lower: Vec<String> = words.iter().map(|word| word.to_ascii_lowercase()).collect();
    match lower.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] | ["lz4"] => Ok(vec![0, 2]),
        ["none"] => Ok(Vec::new()),
        ["zstd"] => Ok(vec![0, 3]),
        ["zstd", level] => match level.parse() {
            Ok(level @ 1..=22) => Ok(vec![0, 3, level]),
            _ => Err(bad(text)),
        },
        _ => Err(bad(text)),
    }
}

/// `UD=ID,FLAG,COUNT,VALUES…`, as h5repack takes it.
fn user_defined(text: &str, words: &[&str]) -> Result<FilterSpec> {
    let all = words.iter().map(|word| word.parse::<u32>()).collect::<std::result::Result<Vec<_>, _>>();
    let all = all.map_err(|_| bad(text))?;
    let [id, flag, count, values @ ..] = &all[..] else { return Err(bad(text)) };
    if *count as usize != values.len() {
        return Err(bad(text).with("count", count).with("values", values.len()));
    }
    let id = u16::try_from(*id).map_err(|_| bad(text))?;
    Ok(FilterSpec { id, name: None, optional: flag & 1 == 1, values: values.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> (u16, bool, Vec<u32>) {
        let filter = named(text).unwrap();
        (filter.id, filter.optional, filter.values)
    }

    #[test]
    fn every_name_gives_its_filter_and_values() {
        assert_eq!(parts("GZIP=6"), (1, true, vec![6]));
        assert_eq!(parts("shuf"), (2, true, vec![]));
        assert_eq!(parts("FLET"), (3, false, vec![]));
        assert_eq!(parts("SZIP=8,NN"), (4, true, vec![32, 8]));
        assert_eq!(parts("SOFF=2,DS"), (6, true, vec![0, 2]));
        assert_eq!(parts("BZIP2=3"), (307, true, vec![3]));
        assert_eq!(parts("ZSTD=1"), (32015, true, vec![1]));
        assert_eq!(parts("LZ4"), (32004, true, vec![]));
        assert_eq!(parts("BLOSC"), (32001, true, vec![]));
        assert_eq!(parts("BLOSC=lz4:5:shuffle"), (32001, true, vec![0, 0, 0, 0, 5, 1, 1]));
        assert_eq!(parts("BLOSC2=9,bitshuffle,zlib"), (32026, true, vec![0, 0, 0, 0, 9, 2, 4]));
        assert_eq!(parts("BITSHUFFLE"), (32008, true, vec![0, 2]));
        assert_eq!(parts("BITSHUFFLE=none"), (32008, true, vec![]));
        assert_eq!(parts("UD=307,0,1,9"), (307, false, vec![9]));
    }

    #[test]
    fn what_no_filter_takes_is_refused() {
        for text in
            ["GZIP=10", "ZIP", "BLOSC=lzma", "BLOSC=lz4:12", "LZF=1", "UD=307,0,2,9", "ZSTD=99", "SHUF=4"]
        {
            assert_eq!(named(text).unwrap_err().kind(), model::Kind::Invalid, "{text}");
        }
    }

    #[test]
    fn a_level_that_this_build_lacks_is_refused() {
        // Only builds of the whole workspace with `c-codecs` have the others.
        if named("ZSTD=19").is_err() {
            assert_eq!(named("ZSTD=19").unwrap_err().kind(), model::Kind::Unsupported);
            assert_eq!(named("BLOSC=zstd:9").unwrap_err().kind(), model::Kind::Unsupported);
            assert_eq!(named("BITSHUFFLE=zstd:9").unwrap_err().kind(), model::Kind::Unsupported);
        }
        assert!(named("ZSTD").is_ok() && named("BLOSC=lz4:9").is_ok());
    }
}
