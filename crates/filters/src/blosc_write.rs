//! Encodes chunks of Blosc 1 and 2: one stream per block.

use crate::blosc_chunk::{TOKEN_REPEATED_BYTE, bitshuffled_bytes};
use crate::blosc_codec::Codec;
use crate::blosc_header::{
    FLAG_BITSHUFFLE, FLAG_ONE_STREAM, FLAG_SHUFFLE, FLAG_STORED, FLAGS_EXTENDED, HEADER2_BYTES,
};
use crate::codec::slack_bytes;
use crate::error::{Error, Origin};
use crate::output::at_least;
use crate::writer::Writer;
use crate::{Codecs, transpose};

/// The unit of the automatic choice of blocks: a first-level cache.
const BLOCK_UNIT: usize = 32 << 10;
/// Bytes of a plane of a block that is split.
const SPLIT_BYTES_MAX: usize = 256 << 10;
/// A block whose elements are wider, or whose planes are shorter, stays one stream.
const SPLIT_TYPE_BYTES_MAX: usize = 16;
const SPLIT_PLANE_BYTES_MIN: usize = 128;
const STORED_BYTES_AT: usize = 12;
const NUMBER_BYTES: usize = 4;
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
    /// Writes one chunk, uncompressed when that is smaller. `to` has [`Settings::buffer_bytes`] left.
    pub(crate) fn write(&self, input: &[u8], to: &mut Writer<'_>, codecs: &mut Codecs) -> Result<(), Error> {
        if u32::try_from(input.len()).map_or(true, |len| len > i32::MAX as u32 - 64) {
            return Err(self.at.invalid("chunk above 2 GiB"));
        }
        let start = to.len();
        let block_bytes = self.block_bytes(input.len());
        let shrinks = self.level > 0 && !input.is_empty() && self.blocks(input, block_bytes, to, codecs)?;
        if !shrinks {
            to.truncate(start);
            self.header(to, FLAG_STORED, input.len(), block_bytes)?;
            to.push(input)?;
        }
        let stored_bytes = (to.len() - start) as u32;
        to.patch(start + STORED_BYTES_AT, &stored_bytes.to_le_bytes());
        Ok(())
    }

    /// Returns the space that a chunk needs while it is written.
    pub(crate) fn buffer_bytes(&self, input_bytes: usize) -> usize {
        let block_bytes = self.block_bytes(input_bytes);
        // Each block has its start, and each of its streams a length.
        let numbers = input_bytes.div_ceil(block_bytes.max(1)).saturating_mul(NUMBER_BYTES);
        let numbers = numbers.saturating_mul(1 + self.type_bytes.min(SPLIT_TYPE_BYTES_MAX));
        let bytes = numbers.saturating_add(input_bytes).saturating_add(slack_bytes(block_bytes));
        bytes.saturating_add(HEADER2_BYTES)
    }

    /// Whole groups of 8 elements, so that both shuffles reach every byte.
    fn block_bytes(&self, input_bytes: usize) -> usize {
        let wanted = if self.block_bytes == 0 { self.automatic_block() } else { self.block_bytes };
        let group = self.type_bytes * 8;
        (wanted - wanted % group).max(group).min(input_bytes)
    }

    /// Blosc's own choice: grows with the level and with compressors that spend time for size. Blocks that are split are
    /// as many times longer as they have planes.
    fn automatic_block(&self) -> usize {
        let (level, thorough) = (self.level.min(9) as usize, usize::from(self.codec.is_thorough()));
        let doubled = [0, 0, 1, 1, 2, 2, 3, 3, 3, 3 + thorough][level];
        let bytes = BLOCK_UNIT << (doubled + thorough);
        match self.format {
            Format::Blosc2 if level == 9 => 16 * SPLIT_BYTES_MAX,
            _ if !self.may_split() => bytes,
            Format::Blosc1 => {
                (bytes.min(SPLIT_BYTES_MAX) * self.type_bytes).clamp(2 * BLOCK_UNIT, 4 * SPLIT_BYTES_MAX)
            }
            Format::Blosc2 => {
                let doubled = [0, 0, 0, 0, 1, 1, 1, 2, 3, 4][level];
                ((BLOCK_UNIT << doubled) * self.type_bytes).min(16 * SPLIT_BYTES_MAX)
            }
        }
    }

    /// Returns whether planes of full blocks may be streams of their own. Blosc 2 leaves the best compressors all of a block.
    fn may_split(&self) -> bool {
        let suits = match (self.format, self.codec) {
            (Format::Blosc1, codec) => codec != Codec::Zstd && self.rearrange != Rearrange::None,
            (_, Codec::BloscLz | Codec::Lz4) => self.rearrange == Rearrange::Bytes,
            (_, Codec::Zstd) => self.rearrange == Rearrange::Bytes && self.level <= 5,
            _ => false,
        };
        suits && (2..=SPLIT_TYPE_BYTES_MAX).contains(&self.type_bytes)
    }

    fn is_split(&self, block_bytes: usize) -> bool {
        let plane_bytes = block_bytes / self.type_bytes;
        self.may_split()
            && block_bytes.is_multiple_of(self.type_bytes)
            && plane_bytes >= SPLIT_PLANE_BYTES_MIN
    }

    /// Returns a chunk of compressed blocks; false when it is no smaller than a stored one.
    fn blocks(
        &self,
        input: &[u8],
        block_bytes: usize,
        to: &mut Writer<'_>,
        codecs: &mut Codecs,
    ) -> Result<bool, Error> {
        let start = to.len();
        let is_split = self.is_split(block_bytes);
        self.header(to, if is_split { 0 } else { FLAG_ONE_STREAM }, input.len(), block_bytes)?;
        let starts_at = to.len();
        let stored_limit = starts_at + input.len();
        for _ in 0..input.len().div_ceil(block_bytes) {
            to.push(&[0; NUMBER_BYTES])?;
        }
        let Codecs { states, work: [planes, scratch, ..] } = codecs;
        let planes = at_least(self.at, planes, block_bytes)?;
        let scratch = at_least(self.at, scratch, block_bytes)?;
        for (index, block) in input.chunks(block_bytes).enumerate() {
            let place = (to.len() - start) as u32;
            to.patch(starts_at + index * NUMBER_BYTES, &place.to_le_bytes());
            let planes = self.rearranged(block, &mut planes[..block.len()], scratch);
            // A last block that is shorter is one stream always.
            let is_whole = !is_split || block.len() < block_bytes;
            let stream_bytes = if is_whole { planes.len() } else { planes.len() / self.type_bytes };
            for stream in planes.chunks(stream_bytes.max(1)) {
                if self.format == Format::Blosc2 && push_run(stream, to)? {
                    continue;
                }
                to.part(u32::to_le_bytes, stream, |buffer| {
                    self.codec.encode(self.at, stream, self.level, buffer, states)
                })?;
            }
            if to.len() >= stored_limit {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the block as it is compressed: itself, or its planes.
    fn rearranged<'a>(&self, block: &'a [u8], planes: &'a mut [u8], scratch: &mut [u8]) -> &'a [u8] {
        let size = self.type_bytes;
        let done = match self.rearrange {
            Rearrange::Bytes if size > 1 => block.len() - block.len() % size,
            Rearrange::Bits => bitshuffled_bytes(block.len(), size, self.format == Format::Blosc2),
            _ => return block,
        };
        let (from, to) = (&block[..done], &mut planes[..done]);
        if self.rearrange == Rearrange::Bits {
            transpose::bit_shuffle(size, from, to, &mut scratch[..done]);
        } else {
            transpose::shuffle(size, from, to);
        }
        planes[done..].copy_from_slice(&block[done..]);
        planes
    }

    /// Writes the header with a stored size of zero, which is filled in at the end.
    fn header(
        &self,
        to: &mut Writer<'_>,
        flags: u8,
        input_bytes: usize,
        block_bytes: usize,
    ) -> Result<(), Error> {
        let (version, rearrange) = match (self.format, self.rearrange) {
            (Format::Blosc2, _) => (VERSION2, FLAGS_EXTENDED),
            (_, Rearrange::None) => (VERSION1, 0),
            (_, Rearrange::Bytes) => (VERSION1, FLAG_SHUFFLE),
            (_, Rearrange::Bits) => (VERSION1, FLAG_BITSHUFFLE),
        };
        let flags = flags | rearrange | self.codec.format() << 5;
        to.push(&[version, CODEC_VERSION, flags, self.type_bytes as u8])?;
        to.push(&(input_bytes as u32).to_le_bytes())?;
        to.push(&(block_bytes as u32).to_le_bytes())?;
        to.push(&[0; NUMBER_BYTES])?;
        if self.format == Format::Blosc2 {
            let mut more = [0; 16];
            more[5] = self.rearrange as u8;
            more[6] = self.codec.format();
            to.push(&more)?;
        }
        Ok(())
    }
}

/// Returns a stream of one byte repeated, which Blosc 2 has a short form for: zeros are a length of 0, another byte is its
/// negative number and a token.
fn push_run(stream: &[u8], to: &mut Writer<'_>) -> Result<bool, Error> {
    let Some((&first, rest)) = stream.split_first() else { return Ok(false) };
    if rest.iter().any(|byte| *byte != first) {
        return Ok(false);
    }
    to.push(&(-i32::from(first)).to_le_bytes())?;
    if first != 0 {
        to.push(&[TOKEN_REPEATED_BYTE])?;
    }
    Ok(true)
}
