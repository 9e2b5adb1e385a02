//! Compressors that several filters share. Each turns a missing cargo feature into an `Unsupported` error.

pub(crate) mod aec;
pub(crate) mod blosclz;
pub(crate) mod lz4;
pub(crate) mod matching;
pub(crate) mod snappy;
pub(crate) mod zlib;
pub(crate) mod zstd;

/// The states of compressors between streams; each is created when it is first needed.
#[derive(Default)]
pub(crate) struct States {
    #[cfg(feature = "snappy")]
    pub(crate) snappy: snappy::CodecState,
    pub(crate) zlib: zlib::CodecState,
    pub(crate) zstd: zstd::CodecState,
}

/// Space that is enough for a stream of `input_bytes`, whatever the compressor. Snappy asks for most.
#[cfg(any(feature = "deflate", feature = "zstd", feature = "zstd-pure"))]
pub(crate) fn bound_bytes(input_bytes: usize) -> usize {
    input_bytes.saturating_add(slack_bytes(input_bytes))
}

/// Returns how much longer than its input a stream can get.
pub(crate) fn slack_bytes(input_bytes: usize) -> usize {
    input_bytes / 6 + 1024
}
