//! HDF5 filters, one file each.
//!
//! A filter turns the bytes of one chunk into other bytes and back. [`Registry`] finds filters by number and
//! runs whole pipelines. Every size that comes from a file is checked against [`Size::max`] before it
//! allocates, and no input makes a filter panic.
//!
//! ```
//! use hyperslab_filters::{Registry, Stage};
//!
//! let registry = Registry::default();
//! let stages = [
//!     Stage { id: 2, optional: true, values: &[4] },  // shuffle
//!     Stage { id: 3, optional: false, values: &[] },  // fletcher32
//! ];
//! let chunk: Vec<u8> = (0..100u32).flat_map(u32::to_le_bytes).collect();
//! let (stored, mask) = registry.encode(&stages, chunk.clone())?;
//! let back = registry.decode(&stages, mask, stored, chunk.len(), 1 << 20)?;
//! assert_eq!(back, chunk);
//! # Ok::<(), hyperslab_filters::Error>(())
//! ```
//!
//! A worker that handles many chunks keeps a [`Scratch`]; then [`Registry::encode_into`] and
//! [`Registry::decode_into`] neither allocate nor copy more than the filters must.
#![forbid(unsafe_code)]

mod bits;
mod bitshuffle;
mod blosc;
mod blosc2;
mod blosc2_frame;
mod blosc2_nd;
mod blosc_chunk;
mod blosc_codec;
mod blosc_header;
mod blosc_write;
#[cfg(feature = "bzip2")]
mod bzip2;
mod codec;
#[cfg(feature = "deflate")]
mod deflate;
mod error;
mod fletcher32;
mod input;
#[cfg(feature = "lz4")]
mod lz4;
mod lzf;
pub mod names;
mod nbit;
mod nbit_tree;
mod output;
pub mod pipeline;
pub mod registered;
mod registry;
mod scaleoffset;
mod scaleoffset_values;
mod scratch;
pub mod setup;
mod shuffle;
mod szip;
mod tolerance;
mod transpose;
mod writer;
#[cfg(any(feature = "zstd", feature = "zstd-pure"))]
mod zstd;

pub use error::{Error, ErrorKind};
pub use output::{Done, Output};
pub use registry::{Finder, Registry, Stage};
pub use scratch::{Codecs, Scratch};
pub use tolerance::{OnFailure, Tolerance};

/// Number of a filter, as registered with The HDF Group.
pub type FilterId = u16;

/// Client data of one filter: the values of its entry in the filter pipeline message.
#[derive(Debug, Clone, Copy, Default)]
pub struct Params<'a> {
    /// The values, in message order.
    pub values: &'a [u32],
}

impl Params<'_> {
    /// Returns the value at `index`, if the message has that many.
    pub fn get(&self, index: usize) -> Option<u32> {
        self.values.get(index).copied()
    }
}

/// How many bytes a decoded buffer may have.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Bytes the caller expects. Only a guess: a later filter may have appended a checksum or a header.
    pub hint: usize,
    /// Hard limit: nothing larger is allocated or produced.
    pub max: usize,
}

impl Size {
    /// Returns the hint, never above the limit.
    pub fn expected(self) -> usize {
        self.hint.min(self.max)
    }
}

/// One filter: a pair of functions from bytes to bytes.
///
/// A filter reads its input where it is and writes its result where it is wanted. One that keeps the bytes as
/// they are, or has its result in a vector, says so:
///
/// ```
/// use hyperslab_filters::{Codecs, Done, Error, Filter, FilterId, Output, Params};
///
/// struct Reverse;
///
/// impl Filter for Reverse {
///     fn id(&self) -> FilterId {
///         400
///     }
///     fn name(&self) -> &'static str {
///         "reverse"
///     }
///     fn decode_into(
///         &self,
///         _params: &Params<'_>,
///         input: &[u8],
///         out: &mut Output<'_>,
///         _codecs: &mut Codecs,
///     ) -> Result<Done, Error> {
///         out.put(input.iter().rev().copied().collect())
///     }
///     fn encode_into(
///         &self,
///         params: &Params<'_>,
///         input: &[u8],
///         out: &mut Output<'_>,
///         codecs: &mut Codecs,
///     ) -> Result<Done, Error> {
///         self.decode_into(params, input, out, codecs)
///     }
/// }
/// assert_eq!(Reverse.encode(&Params::default(), b"abc")?, b"cba");
/// # Ok::<(), Error>(())
/// ```
pub trait Filter: Send + Sync {
    /// Returns the registered number.
    fn id(&self) -> FilterId;

    /// Returns the short name, for people: the registered one unless the filter says another.
    fn name(&self) -> &'static str {
        names::name(self.id()).unwrap_or("unknown")
    }

    /// Returns whether chunks go through the filter on the thread that called the library, one after the other. A filter of a program
    /// may wait for a lock that the caller holds, or know one caller at a time.
    fn is_serial(&self) -> bool {
        false
    }

    /// Undoes the filter, into `out`.
    fn decode_into(
        &self,
        params: &Params<'_>,
        input: &[u8],
        out: &mut Output<'_>,
        codecs: &mut Codecs,
    ) -> Result<Done, Error>;

    /// Undoes the filter, into `out`, without a look at what it stored to find errors.
    fn decode_unverified_into(
        &self,
        params: &Params<'_>,
        input: &[u8],
        out: &mut Output<'_>,
        codecs: &mut Codecs,
    ) -> Result<Done, Error> {
        self.decode_into(params, input, out, codecs)
    }

    /// Applies the filter, into `out`.
    fn encode_into(
        &self,
        params: &Params<'_>,
        input: &[u8],
        out: &mut Output<'_>,
        codecs: &mut Codecs,
    ) -> Result<Done, Error>;

    /// Undoes the filter.
    fn decode(&self, params: &Params<'_>, input: &[u8], size: Size) -> Result<Vec<u8>, Error> {
        to_vec(self.id(), input, size, |out, codecs| self.decode_into(params, input, out, codecs))
    }

    /// Applies the filter.
    fn encode(&self, params: &Params<'_>, input: &[u8]) -> Result<Vec<u8>, Error> {
        let size = Size { hint: input.len(), max: usize::MAX };
        to_vec(self.id(), input, size, |out, codecs| self.encode_into(params, input, out, codecs))
    }
}

/// Returns a result that may come in a vector of its own.
pub(crate) fn to_vec(
    filter: FilterId,
    input: &[u8],
    size: Size,
    run: impl FnOnce(&mut Output<'_>, &mut Codecs) -> Result<Done, Error>,
) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let mut out = Output::vector(filter, size, &mut bytes);
    run(&mut out, &mut Codecs::default())?.deliver(input, &mut out)?;
    let len = out.len();
    bytes.truncate(len);
    Ok(bytes)
}
