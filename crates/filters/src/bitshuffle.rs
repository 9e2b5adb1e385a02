//! Bitshuffle (32008): bit planes in blocks, bare or with LZ4 or Zstandard.
//!
//! Values: version major, minor, element size, block size in elements (0 = automatic), compression
//! (0 none, 2 LZ4, 3 Zstandard), Zstandard level. Compressed chunks, big-endian: total size u64, block
//! size in bytes u32, then for each block its stored size u32 and bytes; elements that fill no group of 8
//! are stored as they are at the end.

use crate::codec::{States, lz4, slack_bytes, zstd};
use crate::error::{Error, Origin};
use crate::input::Input;
use crate::names::id;
use crate::output::at_least;
use crate::transpose::{bit_shuffle, bit_unshuffle};
use crate::writer::Writer;
use crate::{Codecs, Done, Filter, FilterId, Output, Params};

const AT: Origin = Origin(id::BITSHUFFLE);
const TARGET_BLOCK_BYTES: usize = 8192;
const BLOCK_ELEMENTS_MIN: usize = 128;
const HEADER_BYTES: usize = 12;
const LENGTH_BYTES: usize = 4;
const GROUP: usize = 8;
const LEVEL_DEFAULT: i32 = 3;

/// The bitshuffle filter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bitshuffle;

impl Filter for Bitshuffle {
    fn id(&self) -> FilterId {
        AT.0
    }

    fn decode_into(
        &self,
        params: &Params<'_>,
        input: &[u8],
        out: &mut Output<'_>,
        codecs: &mut Codecs,
    ) -> Result<Done, Error> {
        let settings = Settings::parse(params)?;
        if settings.codec == Codec::None {
            AT.within(input.len() as u64, out.size().max)?;
            return settings.plain(input, out, codecs, bit_unshuffle);
        }
        settings.decompress(input, out, codecs)
    }

    fn encode_into(
        &self,
        params: &Params<'_>,
        input: &[u8],
        out: &mut Output<'_>,
        codecs: &mut Codecs,
    ) -> Result<Done, Error> {
        let settings = Settings::parse(params)?;
        if settings.codec == Codec::None {
            return settings.plain(input, out, codecs, bit_shuffle);
        }
        settings.compress(input, out, codecs)
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

    /// Returns the number of bytes of the elements that fill whole groups of 8.
    fn grouped_bytes(&self, bytes: usize) -> usize {
        let group_bytes = self.element_bytes.saturating_mul(GROUP);
        bytes - bytes % group_bytes
    }

    fn block_bytes(&self) -> usize {
        self.block_elements.saturating_mul(self.element_bytes)
    }

    fn plain(
        &self,
        input: &[u8],
        out: &mut Output<'_>,
        codecs: &mut Codecs,
        kernel: Kernel,
    ) -> Result<Done, Error> {
        let grouped = self.grouped_bytes(input.len());
        let buffer = out.buffer(input.len())?;
        let scratch = at_least(AT, &mut codecs.work[0], self.block_bytes().min(grouped))?;
        let blocks = input[..grouped].chunks(self.block_bytes());
        for (from, to) in blocks.zip(buffer[..grouped].chunks_mut(self.block_bytes())) {
            kernel(self.element_bytes, from, to, &mut scratch[..from.len()]);
        }
        buffer[grouped..].copy_from_slice(&input[grouped..]);
        Ok(Done::Written)
    }

    fn decompress(&self, input: &[u8], out: &mut Output<'_>, codecs: &mut Codecs) -> Result<Done, Error> {
        let mut input = Input::new(AT, input);
        let total = AT.within(input.u64_be()?, out.size().max)?;
        let block_bytes = input.u32_be()? as usize;
        if block_bytes == 0 || !block_bytes.is_multiple_of(self.element_bytes.saturating_mul(GROUP)) {
            return Err(AT.corrupt(format!("block of {block_bytes} bytes")));
        }
        let grouped = self.grouped_bytes(total);
        let (blocks, tail) = out.buffer(total)?.split_at_mut(grouped);
        let Codecs { states, work: [planes, scratch, ..] } = codecs;
        let planes = at_least(AT, planes, block_bytes.min(grouped))?;
        let scratch = at_least(AT, scratch, block_bytes.min(grouped))?;
        for block in blocks.chunks_mut(block_bytes) {
            let stored_bytes = input.u32_be()? as usize;
            let planes = &mut planes[..block.len()];
            self.codec.decode(input.take(stored_bytes)?, planes, states)?;
            bit_unshuffle(self.element_bytes, planes, block, &mut scratch[..block.len()]);
        }
        tail.copy_from_slice(input.take(tail.len())?);
        Ok(Done::Written)
    }

    fn compress(&self, input: &[u8], out: &mut Output<'_>, codecs: &mut Codecs) -> Result<Done, Error> {
        let grouped = self.grouped_bytes(input.len());
        let block_bytes = self.block_bytes();
        let header_bytes = u32::try_from(block_bytes).map_err(|_| AT.invalid("block above 4 GiB"))?;
        let Codecs { states, work: [planes, scratch, ..] } = codecs;
        let planes = at_least(AT, planes, block_bytes.min(grouped))?;
        let scratch = at_least(AT, scratch, block_bytes.min(grouped))?;
        let mut to = Writer::new(AT, out.buffer(self.compressed_bytes_max(input.len()))?);
        to.push(&(input.len() as u64).to_be_bytes())?;
        to.push(&header_bytes.to_be_bytes())?;
        for block in input[..grouped].chunks(block_bytes) {
            let planes = &mut planes[..block.len()];
            bit_shuffle(self.element_bytes, block, planes, &mut scratch[..block.len()]);
            to.part(u32::to_be_bytes, &[], |buffer| self.codec.encode(planes, buffer, states).map(Some))?;
        }
        to.push(&input[grouped..])?;
        let len = to.len();
        out.truncate(len);
        Ok(Done::Written)
    }

    /// Blocks are compressed even where that makes them longer.
    fn compressed_bytes_max(&self, input_bytes: usize) -> usize {
        let block_bytes = self.block_bytes().min(input_bytes).max(1);
        let a_block = slack_bytes(block_bytes) + LENGTH_BYTES;
        let slack = input_bytes.div_ceil(block_bytes).saturating_mul(a_block);
        slack.saturating_add(input_bytes).saturating_add(HEADER_BYTES)
    }
}

impl Codec {
    fn decode(self, stored: &[u8], block: &mut [u8], states: &mut States) -> Result<(), Error> {
        let written = match self {
            Self::Zstd { .. } => zstd::decode_into(AT, stored, block, states)?,
            _ => lz4::decode_into(AT, stored, block)?,
        };
        if written != block.len() {
            return Err(AT.corrupt(format!("block has {written} bytes, not {}", block.len())));
        }
        Ok(())
    }

    fn encode(self, block: &[u8], buffer: &mut [u8], states: &mut States) -> Result<usize, Error> {
        match self {
            Self::Zstd { level } => zstd::encode_into(AT, block, level, buffer, states),
            _ => lz4::encode_into(AT, block, 1, buffer),
        }
    }
}

fn automatic_block(element_bytes: usize) -> usize {
    let elements = TARGET_BLOCK_BYTES / element_bytes;
    (elements - elements % GROUP).max(BLOCK_ELEMENTS_MIN)
}
