//! Adaptive entropy coding, the lossless compressor of CCSDS 121.0-B, on samples of 1 to 32 bits.
//!
//! Samples come in blocks; a fixed number of blocks is a reference sample interval (RSI). With the
//! predictor on, the first sample of an RSI is stored as it is and the others as mapped differences.
//! Each block is written with the cheapest of several options, named by an id of 3 to 5 bits.

mod decode;
mod encode;

pub(crate) use decode::decode;
pub(crate) use encode::Encoder;

/// Zero blocks are counted within segments of this many blocks.
const SEGMENT_BLOCKS: usize = 64;
/// Fundamental sequence that means "zero blocks up to the end of the segment".
const REST_OF_SEGMENT: u64 = 4;

/// The settings that coder and decoder share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    /// 1 to 32.
    pub(crate) sample_bits: u32,
    /// Samples per block, at least 1.
    pub(crate) block_samples: usize,
    /// Blocks per RSI, at least 1.
    pub(crate) rsi_blocks: usize,
    /// Nearest-neighbour prediction.
    pub(crate) predict: bool,
}

impl Settings {
    fn id_bits(&self) -> u32 {
        match self.sample_bits {
            0..=8 => 3,
            9..=16 => 4,
            _ => 5,
        }
    }

    /// Returns the id of a block stored without coding: all ones.
    fn id_raw(&self) -> u64 {
        (1 << self.id_bits()) - 1
    }

    fn sample_max(&self) -> u64 {
        crate::bits::low_bits(self.sample_bits)
    }
}
