//! Bitshuffle (32008): bit planes in blocks, bare or with LZ4 or Zstandard.
//!
//! Values: version major, minor, element size, block size in elements (0 = automatic), compression
//! (0 none, 2 LZ4, 3 Zstandard), Zstandard level. Compressed chunks, big-endian: total size u64, block
//! size in bytes u32, then for each block its stored size u32 and bytes; elements that fill no group of 8
//! are stored as they are at the end.

use crate::codec::{lz4, zstd};
use crate::error::{Error, Origin};
use crate::input::Input;
use crate::transpose::{bit_shuffle, bit_unshuffle};
use crate::{Filter, FilterId, Params, Size};

const AT: Origin = Origin(32008);
const TARGET_BLOCK_BYTES: usize = 8192;
const BLOCK_ELEMENTS_MIN: usize = 128;
const GROUP: usize = 8;
const LEVEL_DEFAULT: i32 = 3;

/// The bitshuffle filter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bitshuffle;

impl Filter for Bitshuffle {
    fn id(&self) -> FilterId {
        AT.0
    }

    fn name(&self) -> &'static str {
        "bitshuffle"
    }

    fn decode(&self, params: &Params<'_>, input: &[u8], size: Size) -> Result<Vec<u8>, Error> {
        let settings = Settings::parse(params)?;
        if settings.codec == Codec::None {
            AT.within(input.len() as u64, size.max)?;
            return settings.plain(input, bit_unshuffle);
        }
        settings.decompress(input, size)
    }

    fn encode(&self, params: &Params<'_>, input: &[u8]) -> Result<Vec<u8>, Error> {
        let settings = Settings::parse(params)?;
        if settings.codec == Codec::None {
            return settings.plain(input, bit_shuffle);
        }
        settings.compress(input)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Codec {
    None,
    Lz4,
    Zstd { level: i32 },
}

struct Settings {
    element_bytes: usize,
    block_elements: usize,
    codec: Codec,
}

type Kernel = fn(usize, &[u8], &mut [u8], &mut [u8]);

impl Settings {
    fn parse(params: &Params<'_>) -> Result<Self, Error> {
        let element_bytes = params.get(2).unwrap_or(0) as usize;
        if element_bytes == 0 {
            return Err(AT.invalid("element size is missing or zero"));
        }
        let block_elements = match params.get(3).unwrap_or(0) as usize {
            0 => automatic_block(element_bytes),
            elements => elements,
        };
        if block_elements % GROUP != 0 {
            return Err(AT.invalid(format!("block of {block_elements} elements, not a multiple of 8")));
        }
        let codec = match params.get(4).unwrap_or(0) {
            0 => Codec::None,
            2 => Codec::Lz4,
            3 => Codec::Zstd { level: params.get(5).map_or(LEVEL_DEFAULT, |level| level as i32) },
            other => return Err(AT.unsupported(format!("compression {other}"))),
        };
        Ok(Self { element_bytes, block_elements, codec })
    }

    /// Bytes of the elements that fill whole groups of 8.
    fn grouped_bytes(&self, bytes: usize) -> usize {
        let group_bytes = self.element_bytes.saturating_mul(GROUP);
        bytes - bytes % group_bytes
    }

    fn block_bytes(&self) -> usize {
        self.block_elements.saturating_mul(self.element_bytes)
    }

    fn plain(&self, input: &[u8], kernel: Kernel) -> Result<Vec<u8>, Error> {
        let grouped = self.grouped_bytes(input.len());
        let mut out = AT.zeroed(input.len())?;
        let mut scratch = AT.zeroed(self.block_bytes().min(grouped))?;
        let blocks = input[..grouped].chunks(self.block_bytes());
        for (from, to) in blocks.zip(out[..grouped].chunks_mut(self.block_bytes())) {
            kernel(self.element_bytes, from, to, &mut scratch[..from.len()]);
        }
        out[grouped..].copy_from_slice(&input[grouped..]);
        Ok(out)
    }

    fn decompress(&self, input: &[u8], size: Size) -> Result<Vec<u8>, Error> {
        let mut input = Input::new(AT, input);
        let total = AT.within(input.u64_be()?, size.max)?;
        let block_bytes = input.u32_be()? as usize;
        if block_bytes == 0 || !block_bytes.is_multiple_of(self.element_bytes.saturating_mul(GROUP)) {
            return Err(AT.corrupt(format!("block of {block_bytes} bytes")));
        }
        let grouped = self.grouped_bytes(total);
        let mut out = AT.zeroed(total)?;
        let mut planes = AT.zeroed(block_bytes.min(grouped))?;
        let mut scratch = AT.zeroed(block_bytes.min(grouped))?;
        for block in out[..grouped].chunks_mut(block_bytes) {
            let stored_bytes = input.u32_be()? as usize;
            let planes = &mut planes[..block.len()];
            self.codec.decode(input.take(stored_bytes)?, planes)?;
            bit_unshuffle(self.element_bytes, planes, block, &mut scratch[..block.len()]);
        }
        let tail = &mut out[grouped..];
        tail.copy_from_slice(input.take(tail.len())?);
        Ok(out)
    }

    fn compress(&self, input: &[u8]) -> Result<Vec<u8>, Error> {
        let grouped = self.grouped_bytes(input.len());
        let block_bytes = self.block_bytes();
        let header_bytes = u32::try_from(block_bytes).map_err(|_| AT.invalid("block above 4 GiB"))?;
        let mut out = AT.reserve(input.len() + 64)?;
        out.extend_from_slice(&(input.len() as u64).to_be_bytes());
        out.extend_from_slice(&header_bytes.to_be_bytes());
        let mut planes = AT.zeroed(block_bytes.min(grouped))?;
        let mut scratch = AT.zeroed(block_bytes.min(grouped))?;
        for block in input[..grouped].chunks(block_bytes) {
            let planes = &mut planes[..block.len()];
            bit_shuffle(self.element_bytes, block, planes, &mut scratch[..block.len()]);
            let packed = self.codec.encode(planes)?;
            out.extend_from_slice(&(packed.len() as u32).to_be_bytes());
            out.extend_from_slice(&packed);
        }
        out.extend_from_slice(&input[grouped..]);
        Ok(out)
    }
}

impl Codec {
    fn decode(self, stored: &[u8], block: &mut [u8]) -> Result<(), Error> {
        let written = match self {
            Self::Zstd { .. } => zstd::decode_into(AT, stored, block)?,
            _ => lz4::decode_into(AT, stored, block)?,
        };
        if written != block.len() {
            return Err(AT.corrupt(format!("block has {written} bytes, not {}", block.len())));
        }
        Ok(())
    }

    fn encode(self, block: &[u8]) -> Result<Vec<u8>, Error> {
        match self {
            Self::Zstd { level } => zstd::encode(AT, block, level),
            _ => lz4::encode(AT, block),
        }
    }
}

fn automatic_block(element_bytes: usize) -> usize {
    let elements = TARGET_BLOCK_BYTES / element_bytes;
    (elements - elements % GROUP).max(BLOCK_ELEMENTS_MIN)
}
