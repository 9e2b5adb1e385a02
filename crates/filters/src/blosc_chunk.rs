//! Decodes chunks of Blosc 1 and 2: a header, block starts, and blocks of one or more streams.

use crate::blosc_codec::Codec;
use crate::blosc_header::{FLAG_ONE_STREAM, FLAG_STORED, Header, Special};
use crate::error::{Error, Origin};
use crate::input::Input;
use crate::transpose;

/// Blosc 1 splits blocks only for types and blocks of these sizes, whatever the flag says.
const SPLIT_TYPE_BYTES_MAX: usize = 16;
const SPLIT_ELEMENTS_MIN: usize = 128;
const TOKEN_REPEATED_BYTE: u8 = 1;

/// Decodes the chunk at the front of `input`.
pub(crate) fn decode(at: Origin, input: &[u8], bytes_max: usize) -> Result<Vec<u8>, Error> {
    let header = Header::parse(at, input)?;
    let bytes = at.within(header.chunk_bytes, bytes_max)?;
    if header.special != Special::None {
        let value = &input[header.bytes..header.stored_bytes];
        return special(at, header.special, header.type_bytes, bytes, value);
    }
    let mut out = at.reserve(bytes)?;
    decode_blocks(at, &header, input, bytes, &mut |block| out.extend_from_slice(block))?;
    Ok(out)
}

/// Hands the blocks of a chunk that is not special to `sink`, in order.
pub(crate) fn decode_blocks(
    at: Origin,
    header: &Header,
    input: &[u8],
    block_bytes_max: usize,
    sink: &mut dyn FnMut(&[u8]),
) -> Result<(), Error> {
    let chunk = &input[..header.stored_bytes];
    let bytes = at.within(header.chunk_bytes, usize::MAX)?;
    let block_bytes = header.block_bytes.min(bytes).max(1);
    if header.flags & FLAG_STORED != 0 {
        let stored = Input::new(at, &chunk[header.bytes..]).take(bytes)?;
        stored.chunks(block_bytes).for_each(sink);
        return Ok(());
    }
    at.within(block_bytes as u64, block_bytes_max)?;
    Blocks::new(at, header, chunk)?.decode(bytes, block_bytes, sink)
}

/// A chunk of one repeated value.
pub(crate) fn special(
    at: Origin,
    special: Special,
    type_bytes: usize,
    bytes: usize,
    value: &[u8],
) -> Result<Vec<u8>, Error> {
    let mut out = at.zeroed(bytes)?;
    let pattern = match special {
        Special::None | Special::Zeros | Special::Uninitialised => return Ok(out),
        Special::NotANumber if type_bytes == 4 => f32::NAN.to_le_bytes().to_vec(),
        Special::NotANumber if type_bytes == 8 => f64::NAN.to_le_bytes().to_vec(),
        Special::NotANumber => return Err(at.corrupt(format!("NaN of {type_bytes} bytes"))),
        Special::Value => Input::new(at, value).take(type_bytes)?.to_vec(),
    };
    for slot in out.chunks_mut(pattern.len()) {
        slot.copy_from_slice(&pattern[..slot.len()]);
    }
    Ok(out)
}

struct Blocks<'a> {
    at: Origin,
    header: &'a Header,
    chunk: &'a [u8],
    codec: Codec,
    /// Filters in the order that undoes them, with their meta byte.
    filters: Vec<(Undo, u8)>,
}

/// Buffers of one block each, used for all blocks.
struct Work {
    block: Vec<u8>,
    spare: Vec<u8>,
    scratch: Vec<u8>,
    /// The first block, which delta refers to; empty until it is decoded.
    first: Vec<u8>,
}

impl Work {
    fn new(at: Origin, bytes: usize) -> Result<Self, Error> {
        let (block, spare, scratch) = (at.zeroed(bytes)?, at.zeroed(bytes)?, at.zeroed(bytes)?);
        Ok(Self { block, spare, scratch, first: Vec::new() })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Undo {
    Shuffle,
    Bitshuffle,
    Delta,
}

impl<'a> Blocks<'a> {
    fn new(at: Origin, header: &'a Header, chunk: &'a [u8]) -> Result<Self, Error> {
        let codec = Codec::from_format(at, header.flags >> 5, header.user_codec)?;
        let mut filters = Vec::new();
        for (code, meta) in header.filters.iter().zip(header.filters_meta).rev() {
            match code {
                // Truncated precision is not undone.
                0 | 4 => {}
                1 => filters.push((Undo::Shuffle, meta)),
                2 => filters.push((Undo::Bitshuffle, meta)),
                3 => filters.push((Undo::Delta, meta)),
                other => return Err(at.unsupported(format!("Blosc filter {other}"))),
            }
        }
        Ok(Self { at, header, chunk, codec, filters })
    }

    fn decode(&self, bytes: usize, block_bytes: usize, sink: &mut dyn FnMut(&[u8])) -> Result<(), Error> {
        let mut starts = Input::new(self.at, &self.chunk[self.header.bytes..]);
        let mut starts = Input::new(self.at, starts.take(bytes.div_ceil(block_bytes).saturating_mul(4))?);
        let mut work = Work::new(self.at, block_bytes)?;
        let has_delta = self.filters.iter().any(|(undo, _)| *undo == Undo::Delta);
        for offset in (0..bytes).step_by(block_bytes) {
            let len = block_bytes.min(bytes - offset);
            let start = starts.u32_le()? as usize;
            let streams =
                self.chunk.get(start..).ok_or_else(|| self.at.corrupt("block outside its chunk"))?;
            self.streams(streams, &mut work.block[..len], len == self.header.block_bytes)?;
            self.undo_filters(&mut work, len);
            sink(&work.block[..len]);
            if has_delta && offset == 0 {
                work.first = work.block.clone();
            }
        }
        Ok(())
    }

    /// Filters of the first `len` bytes of the block.
    fn undo_filters(&self, work: &mut Work, len: usize) {
        for (undo, meta) in &self.filters {
            let (block, spare) = (&mut work.block[..len], &mut work.spare[..len]);
            match undo {
                Undo::Delta => undo_delta(block, &work.first, self.header.type_bytes),
                Undo::Shuffle => unshuffle(self.grouped(*meta), block, spare),
                Undo::Bitshuffle => self.bit_unshuffle(block, spare, &mut work.scratch),
            }
            if *undo != Undo::Delta {
                std::mem::swap(&mut work.block, &mut work.spare);
            }
        }
    }

    /// A shuffle can work on other groups of bytes than the type's.
    fn grouped(&self, meta: u8) -> usize {
        if meta == 0 { self.header.type_bytes } else { usize::from(meta) }
    }

    fn stream_count(&self, is_whole_block: bool) -> usize {
        let type_bytes = self.header.type_bytes;
        let is_blosc2 = self.header.partial_bitshuffle;
        let is_splittable = is_blosc2
            || (type_bytes <= SPLIT_TYPE_BYTES_MAX
                && self.header.block_bytes / type_bytes >= SPLIT_ELEMENTS_MIN);
        let splits = self.header.flags & FLAG_ONE_STREAM == 0 && is_whole_block && is_splittable;
        if splits { type_bytes } else { 1 }
    }

    fn streams(&self, stored: &[u8], block: &mut [u8], is_whole_block: bool) -> Result<(), Error> {
        let count = self.stream_count(is_whole_block);
        let stream_bytes = block.len() / count;
        if stream_bytes == 0 {
            return Err(self.at.corrupt("block smaller than its number of streams"));
        }
        let mut input = Input::new(self.at, stored);
        for part in block.chunks_exact_mut(stream_bytes).take(count) {
            self.stream(&mut input, part)?;
        }
        Ok(())
    }

    /// Size, then that many bytes. Zero and negative sizes stand for a repeated byte.
    fn stream(&self, input: &mut Input<'_>, part: &mut [u8]) -> Result<(), Error> {
        let size = input.u32_le()? as i32;
        if size == 0 {
            part.fill(0);
        } else if size < 0 {
            if input.u8()? & TOKEN_REPEATED_BYTE == 0 || size < -255 {
                return Err(self.at.corrupt("stream with an unknown token"));
            }
            part.fill(size.unsigned_abs() as u8);
        } else {
            let stream = input.take(size as usize)?;
            if stream.len() == part.len() {
                part.copy_from_slice(stream);
            } else {
                self.codec.decode(self.at, stream, part)?;
            }
        }
        Ok(())
    }

    fn bit_unshuffle(&self, from: &[u8], to: &mut [u8], scratch: &mut [u8]) {
        let grouped = bitshuffled_bytes(from.len(), self.header.type_bytes, self.header.partial_bitshuffle);
        transpose::bit_unshuffle(
            self.header.type_bytes,
            &from[..grouped],
            &mut to[..grouped],
            &mut scratch[..grouped],
        );
        to[grouped..].copy_from_slice(&from[grouped..]);
    }
}

/// Bytes at the front of a block that bitshuffle changes. Blosc 1 leaves a block alone whose element count
/// is no multiple of 8; Blosc 2 only the elements over.
pub(crate) fn bitshuffled_bytes(block_bytes: usize, type_bytes: usize, partial: bool) -> usize {
    let elements = block_bytes / type_bytes;
    match elements % 8 {
        0 => elements * type_bytes,
        over if partial => (elements - over) * type_bytes,
        _ => 0,
    }
}

fn unshuffle(type_bytes: usize, from: &[u8], to: &mut [u8]) {
    let whole = from.len() - from.len() % type_bytes;
    transpose::unshuffle(type_bytes, &from[..whole], &mut to[..whole]);
    to[whole..].copy_from_slice(&from[whole..]);
}

/// The first block holds each element XOR the one before; later blocks are XORed with the first.
fn undo_delta(block: &mut [u8], first: &[u8], type_bytes: usize) {
    let width = match type_bytes {
        1 | 2 | 4 | 8 => type_bytes,
        wide if wide % 8 == 0 => 8,
        _ => 1,
    };
    let whole = block.len() - block.len() % width;
    if first.is_empty() {
        for i in width..whole {
            block[i] ^= block[i - width];
        }
    } else {
        for (byte, reference) in block[..whole].iter_mut().zip(first) {
            *byte ^= reference;
        }
    }
}
