//! Filters under the names that users of `hdf5-metno` know. [`named_filter`](crate::named_filter) reads them as text.

use filters::names::id;
use model::properties::FilterSpec;

/// Coding methods of szip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SZip {
    /// Entropy coding of the numbers.
    Entropy,
    /// Entropy coding of differences of neighbours.
    NearestNeighbor,
}

/// Modes of the scale-offset filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScaleOffset {
    /// Integers of so many bits, or of as few as needed if it is 0.
    Integer(u16),
    /// Floats, rounded to so many decimal digits.
    FloatDScale(u8),
}

/// Compressors of Blosc.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Blosc {
    /// BloscLZ, the default.
    BloscLZ,
    /// LZ4.
    LZ4,
    /// LZ4 with better compression, which takes more time.
    LZ4HC,
    /// Snappy.
    Snappy,
    /// zlib.
    ZLib,
    /// Zstandard.
    ZStd,
}

/// How Blosc shuffles elements before compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BloscShuffle {
    /// No shuffle.
    None,
    /// Shuffles bytes.
    Byte,
    /// Shuffles bits.
    Bit,
}

impl From<bool> for BloscShuffle {
    fn from(shuffle: bool) -> Self {
        if shuffle { BloscShuffle::Byte } else { BloscShuffle::None }
    }
}

/// A filter of chunks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filter {
    /// Deflate (gzip) with a level.
    Deflate(u8),
    /// Groups the bytes of elements by their position.
    Shuffle,
    /// The Fletcher-32 checksum.
    Fletcher32,
    /// Szip, with the number of pixels in a block.
    SZip(SZip, u8),
    /// N-bit, which stores only the significant bits of numbers.
    NBit,
    /// Scale-offset, which stores differences to the smallest number.
    ScaleOffset(ScaleOffset),
    /// LZF.
    LZF,
    /// Blosc with compressor, level and shuffle.
    Blosc(Blosc, u8, BloscShuffle),
    /// Any other, by its number and values.
    User(i32, Vec<u32>),
}

impl Filter {
    /// Returns the filter's number.
    pub fn id(&self) -> i32 {
        match self {
            Filter::Deflate(_) => i32::from(id::DEFLATE),
            Filter::Shuffle => i32::from(id::SHUFFLE),
            Filter::Fletcher32 => i32::from(id::FLETCHER32),
            Filter::SZip(..) => i32::from(id::SZIP),
            Filter::NBit => i32::from(id::NBIT),
            Filter::ScaleOffset(_) => i32::from(id::SCALEOFFSET),
            Filter::LZF => i32::from(id::LZF),
            Filter::Blosc(..) => i32::from(id::BLOSC),
            Filter::User(id, _) => *id,
        }
    }

    /// Returns whether this build has the filter.
    pub fn is_available(&self) -> bool {
        u16::try_from(self.id()).is_ok_and(filters::pipeline::is_available)
    }

    /// Returns deflate (gzip) with a level of 0 to 9.
    pub fn deflate(level: u8) -> Self {
        Filter::Deflate(level)
    }

    /// Returns the shuffle filter.
    pub fn shuffle() -> Self {
        Filter::Shuffle
    }

    /// Returns the Fletcher-32 checksum.
    pub fn fletcher32() -> Self {
        Filter::Fletcher32
    }

    /// Returns Blosc with one of its compressors.
    pub fn blosc(complib: Blosc, clevel: u8, shuffle: impl Into<BloscShuffle>) -> Self {
        Filter::Blosc(complib, clevel, shuffle.into())
    }

    /// Returns any other filter by its number.
    pub fn user(id: i32, values: &[u32]) -> Self {
        Filter::User(id, values.to_vec())
    }

    fn values(&self) -> Vec<u32> {
        match self {
            Filter::Deflate(level) => vec![u32::from(*level)],
            Filter::Shuffle | Filter::Fletcher32 | Filter::NBit | Filter::LZF => Vec::new(),
            Filter::SZip(SZip::Entropy, pixels) => vec![4, u32::from(*pixels)],
            Filter::SZip(SZip::NearestNeighbor, pixels) => vec![32, u32::from(*pixels)],
            Filter::ScaleOffset(ScaleOffset::Integer(bits)) => vec![2, u32::from(*bits)],
            Filter::ScaleOffset(ScaleOffset::FloatDScale(digits)) => vec![0, u32::from(*digits)],
            Filter::Blosc(codec, level, shuffle) => {
                vec![0, 0, 0, 0, u32::from(*level), *shuffle as u32, *codec as u32]
            }
            Filter::User(_, values) => values.clone(),
        }
    }

    /// Returns the specification of the filter. A number that no filter can have becomes that of a filter that is not
    /// available.
    pub(crate) fn to_spec(&self) -> FilterSpec {
        let id = u16::try_from(self.id()).unwrap_or(u16::MAX);
        let optional = *self != Filter::Fletcher32 && filters::pipeline::is_available(id);
        FilterSpec { id, name: None, optional, values: self.values() }
    }
}

/// Returns whether this build has deflate.
pub fn deflate_available() -> bool {
    filters::pipeline::is_available(id::DEFLATE)
}

/// Returns whether this build has deflate.
pub fn gzip_available() -> bool {
    deflate_available()
}

/// Returns whether this build has szip.
pub fn szip_available() -> bool {
    filters::pipeline::is_available(id::SZIP)
}

/// Returns whether this build has LZF.
pub fn lzf_available() -> bool {
    filters::pipeline::is_available(id::LZF)
}

/// Returns whether this build has Blosc.
pub fn blosc_available() -> bool {
    filters::pipeline::is_available(id::BLOSC)
}

/// Returns 1, the number of Blosc's threads, and changes nothing. It is for programs that were written for a Blosc
/// with threads of its own: chunks are filtered on all cores anyway.
pub fn blosc_set_nthreads(_threads: u8) -> u8 {
    blosc_get_nthreads()
}

/// Returns 1, the number of threads that Blosc uses for one chunk. Several chunks are filtered at the same time.
pub fn blosc_get_nthreads() -> u8 {
    1
}
