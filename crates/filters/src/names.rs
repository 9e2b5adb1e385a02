//! Numbers and names of filters. This is the only table of them: files, documents and commands ask it.

use crate::FilterId;

/// Numbers of filters, as registered with The HDF Group.
pub mod id {
    use crate::FilterId;

    /// Deflate (gzip).
    pub const DEFLATE: FilterId = 1;
    /// Bytes of elements, sorted by significance.
    pub const SHUFFLE: FilterId = 2;
    /// A checksum.
    pub const FLETCHER32: FilterId = 3;
    /// Szip.
    pub const SZIP: FilterId = 4;
    /// The significant bits of numbers.
    pub const NBIT: FilterId = 5;
    /// Differences to the smallest number, in few bits.
    pub const SCALEOFFSET: FilterId = 6;
    /// Bzip2.
    pub const BZIP2: FilterId = 307;
    /// LZF, of h5py.
    pub const LZF: FilterId = 32000;
    /// Blosc 1.
    pub const BLOSC: FilterId = 32001;
    /// LZ4.
    pub const LZ4: FilterId = 32004;
    /// Bits of elements, sorted by significance, and optionally compressed.
    pub const BITSHUFFLE: FilterId = 32008;
    /// Zstandard.
    pub const ZSTD: FilterId = 32015;
    /// Blosc 2.
    pub const BLOSC2: FilterId = 32026;
}

/// The names of one filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilterNames {
    /// The registered number.
    pub id: FilterId,
    /// The name in files and for people.
    pub name: &'static str,
    /// Names that commands take, h5repack's first. Filters that this library does not implement have none.
    pub words: &'static [&'static str],
    /// The class in HDF5/JSON, if that has one.
    pub class: Option<&'static str>,
}

/// Returns a filter of libhdf5 itself, or one that HDF5/JSON has a class for.
const fn published(
    id: FilterId,
    name: &'static str,
    words: &'static [&'static str],
    class: &'static str,
) -> FilterNames {
    FilterNames { id, name, words, class: Some(class) }
}

/// Returns a registered filter that this library implements.
const fn implemented(id: FilterId, name: &'static str, words: &'static [&'static str]) -> FilterNames {
    FilterNames { id, name, words, class: None }
}

/// Returns a registered filter that this library does not implement.
const fn registered(id: FilterId, name: &'static str) -> FilterNames {
    FilterNames { id, name, words: &[], class: None }
}

/// Names of all filters that are known, by number.
const NAMES: [FilterNames; 39] = [
    published(id::DEFLATE, "deflate", &["GZIP", "DEFLATE"], "H5Z_FILTER_DEFLATE"),
    published(id::SHUFFLE, "shuffle", &["SHUF", "SHUFFLE"], "H5Z_FILTER_SHUFFLE"),
    published(id::FLETCHER32, "fletcher32", &["FLET", "FLETCHER32"], "H5Z_FILTER_FLETCHER32"),
    published(id::SZIP, "szip", &["SZIP"], "H5Z_FILTER_SZIP"),
    published(id::NBIT, "nbit", &["NBIT"], "H5Z_FILTER_NBIT"),
    published(id::SCALEOFFSET, "scaleoffset", &["SOFF", "SCALEOFFSET"], "H5Z_FILTER_SCALEOFFSET"),
    registered(305, "lzo"),
    implemented(id::BZIP2, "bzip2", &["BZIP2"]),
    published(id::LZF, "lzf", &["LZF"], "H5Z_FILTER_LZF"),
    implemented(id::BLOSC, "blosc", &["BLOSC"]),
    registered(32002, "mafisc"),
    registered(32003, "snappy"),
    implemented(id::LZ4, "lz4", &["LZ4"]),
    registered(32005, "apax"),
    registered(32006, "cbf"),
    registered(32007, "jpeg-xr"),
    implemented(id::BITSHUFFLE, "bitshuffle", &["BITSHUFFLE"]),
    registered(32009, "spdp"),
    registered(32010, "lpc-rice"),
    registered(32011, "ccsds-123"),
    registered(32012, "jpeg-ls"),
    registered(32013, "zfp"),
    registered(32014, "fpzip"),
    implemented(id::ZSTD, "zstd", &["ZSTD"]),
    registered(32016, "b3d"),
    registered(32017, "sz"),
    registered(32018, "fcidecomp"),
    registered(32019, "jpeg"),
    registered(32020, "vbz"),
    registered(32021, "fapec"),
    registered(32022, "bitgroom"),
    registered(32023, "granular bitround"),
    registered(32024, "sz3"),
    registered(32025, "delta-rice"),
    implemented(id::BLOSC2, "blosc2", &["BLOSC2"]),
    registered(32027, "flac"),
    registered(32028, "sperr"),
    registered(32029, "trpx"),
    registered(32030, "ffmpeg"),
];

/// Returns the names of filter `id`, or `None` if it is not known.
pub fn names(id: FilterId) -> Option<&'static FilterNames> {
    NAMES.binary_search_by_key(&id, |names| names.id).ok().map(|index| &NAMES[index])
}

/// Returns the name of filter `id`, or `None` if it is not known.
pub fn name(id: FilterId) -> Option<&'static str> {
    names(id).map(|names| names.name)
}

/// Returns the name of filter `id` if it is one of libhdf5's own.
pub fn standard_name(id: FilterId) -> Option<&'static str> {
    name(id).filter(|_| id <= id::SCALEOFFSET)
}

/// Returns the filter called `name` in files.
pub fn by_name(name: &str) -> Option<&'static FilterNames> {
    NAMES.iter().find(|names| names.name == name)
}

/// Returns the filter that commands call `word`, in any case.
pub fn by_word(word: &str) -> Option<&'static FilterNames> {
    NAMES.iter().find(|names| names.words.iter().any(|known| known.eq_ignore_ascii_case(word)))
}

/// Returns the filter of a class of HDF5/JSON.
pub fn by_class(class: &str) -> Option<&'static FilterNames> {
    NAMES.iter().find(|names| names.class == Some(class))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_filter_is_found_by_its_number_name_word_and_class() {
        for filter in &NAMES {
            assert_eq!(names(filter.id), Some(filter));
            assert_eq!(by_name(filter.name), Some(filter));
            assert!(filter.words.iter().all(|word| by_word(&word.to_lowercase()) == Some(filter)));
            assert!(filter.class.is_none_or(|class| by_class(class) == Some(filter)));
        }
        assert_eq!(
            (standard_name(6), standard_name(7), standard_name(307)),
            (Some("scaleoffset"), None, None)
        );
    }

    #[test]
    fn every_filter_of_this_build_has_a_word() {
        let mine = (0..=u16::MAX).filter(|id| crate::pipeline::is_available(*id));
        assert!(mine.map(names).all(|names| names.is_some_and(|names| !names.words.is_empty())));
    }
}
