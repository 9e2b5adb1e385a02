//! Headers of Blosc chunks: 16 bytes in Blosc 1, 32 in Blosc 2, little-endian.

use crate::error::{Error, Origin};
use crate::input::Input;

pub(crate) const HEADER1_BYTES: usize = 16;
pub(crate) const HEADER2_BYTES: usize = 32;
pub(crate) const FILTERS: usize = 6;

pub(crate) const FLAG_SHUFFLE: u8 = 1;
pub(crate) const FLAG_STORED: u8 = 2;
pub(crate) const FLAG_BITSHUFFLE: u8 = 4;
pub(crate) const FLAG_ONE_STREAM: u8 = 16;
/// Both shuffles at once mean that the header has the second 16 bytes.
pub(crate) const FLAGS_EXTENDED: u8 = FLAG_SHUFFLE | FLAG_BITSHUFFLE;

/// From this format version on, bitshuffle leaves out the last n mod 8 elements instead of giving up.
const VERSION_BITSHUFFLE_PARTIAL: u8 = 3;
const FLAG2_DICTIONARY: u8 = 1;

/// A chunk that is one value over and over, without blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Special {
    None,
    Zeros,
    NotANumber,
    Value,
    Uninitialised,
}

impl Special {
    pub(crate) fn from_code(at: Origin, code: u8) -> Result<Self, Error> {
        match code {
            0 => Ok(Self::None),
            1 => Ok(Self::Zeros),
            2 => Ok(Self::NotANumber),
            3 => Ok(Self::Value),
            4 => Ok(Self::Uninitialised),
            other => Err(at.corrupt(format!("special chunk of kind {other}"))),
        }
    }
}

/// The decoded header of a chunk.
#[derive(Debug, Clone)]
pub(crate) struct Header {
    pub(crate) bytes: usize,
    pub(crate) flags: u8,
    pub(crate) type_bytes: usize,
    pub(crate) chunk_bytes: u64,
    pub(crate) block_bytes: usize,
    pub(crate) stored_bytes: usize,
    pub(crate) filters: [u8; FILTERS],
    pub(crate) filters_meta: [u8; FILTERS],
    pub(crate) user_codec: u8,
    pub(crate) special: Special,
    pub(crate) partial_bitshuffle: bool,
}

impl Header {
    pub(crate) fn parse(at: Origin, chunk: &[u8]) -> Result<Self, Error> {
        let mut input = Input::new(at, chunk);
        let [version, _codec_version, flags, type_bytes] = input.array()?;
        let (chunk_bytes, block_bytes, stored_bytes) = (input.u32_le()?, input.u32_le()?, input.u32_le()?);
        let mut header = Self {
            bytes: HEADER1_BYTES,
            flags,
            type_bytes: usize::from(type_bytes.max(1)),
            chunk_bytes: u64::from(chunk_bytes),
            block_bytes: block_bytes as usize,
            stored_bytes: stored_bytes as usize,
            filters: filters_of_flags(flags),
            filters_meta: [0; FILTERS],
            user_codec: 0,
            special: Special::None,
            partial_bitshuffle: version >= VERSION_BITSHUFFLE_PARTIAL,
        };
        if flags & FLAGS_EXTENDED == FLAGS_EXTENDED {
            header.extend(at, input.array()?)?;
        }
        header.check(at, chunk.len())?;
        Ok(header)
    }

    fn extend(&mut self, at: Origin, more: [u8; 16]) -> Result<(), Error> {
        let [f0, f1, f2, f3, f4, f5, user_codec, _, m0, m1, m2, m3, m4, m5, _, flags2] = more;
        self.bytes = HEADER2_BYTES;
        self.filters = [f0, f1, f2, f3, f4, f5];
        self.filters_meta = [m0, m1, m2, m3, m4, m5];
        self.user_codec = user_codec;
        self.special = Special::from_code(at, flags2 >> 4 & 7)?;
        if flags2 & FLAG2_DICTIONARY != 0 {
            return Err(at.unsupported("chunk with a compression dictionary"));
        }
        Ok(())
    }

    fn check(&self, at: Origin, input_bytes: usize) -> Result<(), Error> {
        if self.stored_bytes < self.bytes || self.stored_bytes > input_bytes {
            return Err(at.corrupt(format!("{} stored bytes of {input_bytes}", self.stored_bytes)));
        }
        if self.block_bytes == 0 && self.chunk_bytes > 0 && self.special == Special::None {
            return Err(at.corrupt("block size is zero"));
        }
        Ok(())
    }
}

fn filters_of_flags(flags: u8) -> [u8; FILTERS] {
    let last = match flags & FLAGS_EXTENDED {
        FLAG_SHUFFLE => 1,
        FLAG_BITSHUFFLE => 2,
        _ => 0,
    };
    [0, 0, 0, 0, 0, last]
}
