//! Encodes chunks of Blosc 1 and 2: one stream per block.

use crate::blosc_chunk::bitshuffled_bytes;
use crate::blosc_codec::Codec;
use crate::blosc_header::{FLAG_BITSHUFFLE, FLAG_ONE_STREAM, FLAG_SHUFFLE, FLAG_STORED, FLAGS_EXTENDED};
use crate::error::{Error, Origin};
use crate::transpose;

/// Block of the automatic choice: small enough for second-level caches, large enough for good matches.
const BLOCK_BYTES: usize = 128 << 10;
const VERSION1: u8 = 2;
const VERSION2: u8 = 5;
const CODEC_VERSION: u8 = 1;

/// How bytes are rearranged before compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rearrange {
    None,
    Bytes,
    Bits,
}

impl Rearrange {
    /// From the client values. Delta and truncated precision (3, 4) only help compression, and a chunk says
    /// itself what was done, so none is a right answer for them.
    pub(crate) fn from_value(at: Origin, value: u32) -> Result<Self, Error> {
        match value {
            0 | 3 | 4 => Ok(Self::None),
            1 => Ok(Self::Bytes),
            2 => Ok(Self::Bits),
            other => Err(at.unsupported(format!("shuffle {other}"))),
        }
    }
}

/// Which of the two chunk formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Blosc1,
    Blosc2,
}

/// How to encode a chunk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    pub(crate) at: Origin,
    pub(crate) format: Format,
    pub(crate) type_bytes: usize,
    pub(crate) level: u32,
    pub(crate) rearrange: Rearrange,
    pub(crate) codec: Codec,
    /// 0 = automatic.
    pub(crate) block_bytes: usize,
}

impl Settings {
    /// One chunk; stored uncompressed when that is smaller.
    pub(crate) fn encode(&self, input: &[u8]) -> Result<Vec<u8>, Error> {
        if u32::try_from(input.len()).map_or(true, |len| len > i32::MAX as u32 - 64) {
            return Err(self.at.invalid("chunk above 2 GiB"));
        }
        let block_bytes = self.block_bytes(input.len());
        if self.level > 0
            && !input.is_empty()
            && let Some(chunk) = self.compressed(input, block_bytes)?
        {
            return Ok(chunk);
        }
        let mut out = self.at.reserve(input.len() + 32)?;
        self.header(&mut out, FLAG_STORED, input.len(), block_bytes);
        out.extend_from_slice(input);
        set_stored_bytes(&mut out);
        Ok(out)
    }

    /// Whole groups of 8 elements, so that both shuffles reach every byte.
    fn block_bytes(&self, input_bytes: usize) -> usize {
        let wanted = if self.block_bytes == 0 { BLOCK_BYTES } else { self.block_bytes };
        let group = self.type_bytes * 8;
        (wanted - wanted % group).max(group).min(input_bytes)
    }

    fn compressed(&self, input: &[u8], block_bytes: usize) -> Result<Option<Vec<u8>>, Error> {
        let mut out = self.at.reserve(input.len() + 64)?;
        self.header(&mut out, FLAG_ONE_STREAM, input.len(), block_bytes);
        let stored_limit = out.len() + input.len();
        let starts_at = out.len();
        out.resize(starts_at + input.len().div_ceil(block_bytes) * 4, 0);
        let mut buffers = [self.at.zeroed(block_bytes)?, self.at.zeroed(block_bytes)?];
        for (index, block) in input.chunks(block_bytes).enumerate() {
            let start = (out.len() as u32).to_le_bytes();
            out[starts_at + index * 4..starts_at + index * 4 + 4].copy_from_slice(&start);
            self.block(block, &mut buffers, &mut out)?;
            if out.len() >= stored_limit {
                return Ok(None);
            }
        }
        set_stored_bytes(&mut out);
        Ok(Some(out))
    }

    fn block(&self, block: &[u8], buffers: &mut [Vec<u8>; 2], out: &mut Vec<u8>) -> Result<(), Error> {
        let [planes, scratch] = buffers;
        let planes = &mut planes[..block.len()];
        let done = match self.rearrange {
            Rearrange::None => 0,
            Rearrange::Bytes => block.len() - block.len() % self.type_bytes,
            Rearrange::Bits => bitshuffled_bytes(block.len(), self.type_bytes, self.format == Format::Blosc2),
        };
        match self.rearrange {
            Rearrange::Bits => {
                transpose::bit_shuffle(
                    self.type_bytes,
                    &block[..done],
                    &mut planes[..done],
                    &mut scratch[..done],
                );
            }
            _ => transpose::shuffle(self.type_bytes, &block[..done], &mut planes[..done]),
        }
        planes[done..].copy_from_slice(&block[done..]);
        let packed = self.codec.encode(self.at, planes, self.level)?;
        let stream = packed.as_deref().unwrap_or(planes);
        out.extend_from_slice(&(stream.len() as u32).to_le_bytes());
        out.extend_from_slice(stream);
        Ok(())
    }

    /// The header with a stored size of zero, which [`set_stored_bytes`] fills in.
    fn header(&self, out: &mut Vec<u8>, flags: u8, input_bytes: usize, block_bytes: usize) {
        let (version, rearrange) = match (self.format, self.rearrange) {
            (Format::Blosc2, _) => (VERSION2, FLAGS_EXTENDED),
            (_, Rearrange::None) => (VERSION1, 0),
            (_, Rearrange::Bytes) => (VERSION1, FLAG_SHUFFLE),
            (_, Rearrange::Bits) => (VERSION1, FLAG_BITSHUFFLE),
        };
        let flags = flags | rearrange | self.codec.format() << 5;
        out.extend_from_slice(&[version, CODEC_VERSION, flags, self.type_bytes as u8]);
        out.extend_from_slice(&(input_bytes as u32).to_le_bytes());
        out.extend_from_slice(&(block_bytes as u32).to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        if self.format == Format::Blosc2 {
            let mut more = [0; 16];
            more[5] = self.rearrange as u8;
            more[6] = self.codec.format();
            out.extend_from_slice(&more);
        }
    }
}

fn set_stored_bytes(chunk: &mut [u8]) {
    let stored_bytes = (chunk.len() as u32).to_le_bytes();
    chunk[12..16].copy_from_slice(&stored_bytes);
}
