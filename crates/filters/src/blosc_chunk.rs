//! Decodes chunks of Blosc 1 and 2: a header, block starts, and blocks of one or more streams.

use crate::blosc_codec::Codec;
use crate::blosc_header::{FLAG_ONE_STREAM, FLAG_STORED, Header, Special};
use crate::codec::States;
use crate::error::{Error, Origin};
use crate::input::Input;
use crate::output::at_least;
use crate::{Codecs, Done, Output, transpose};

/// Blosc 1 splits blocks only for types and blocks of these sizes, whatever the flag says.
const SPLIT_TYPE_BYTES_MAX: usize = 16;
const SPLIT_ELEMENTS_MIN: usize = 128;
pub(crate) const TOKEN_REPEATED_BYTE: u8 = 1;

/// Decodes the chunk at the front of `input`.
pub(crate) fn decode(
    at: Origin,
    input: &[u8],
    out: &mut Output<'_>,
    codecs: &mut Codecs,
) -> Result<Done, Error> {
    let header = Header::parse(at, input)?;
    let bytes = at.within(header.chunk_bytes, out.size().max)?;
    decode_into(at, &header, input, out.buffer(bytes)?, codecs)?;
    Ok(Done::Written)
}

/// Decodes a chunk into `out`, which has its size.
pub(crate) fn decode_into(
    at: Origin,
    header: &Header,
    input: &[u8],
    out: &mut [u8],
    codecs: &mut Codecs,
) -> Result<(), Error> {
    let chunk = &input[..header.stored_bytes];
    if header.special != Special::None {
        return special(at, header.special, header.type_bytes, &chunk[header.bytes..], out);
    }
    if header.flags & FLAG_STORED != 0 {
        out.copy_from_slice(Input::new(at, &chunk[header.bytes..]).take(out.len())?);
        return Ok(());
    }
    let blocks = Blocks::new(at, header, chunk)?;
    let block_bytes = header.block_bytes.min(out.len()).max(1);
    let mut starts = blocks.starts(out.len(), block_bytes)?;
    let (mut work, _) = Work::new(at, codecs, block_bytes)?;
    let (first, rest) = out.split_at_mut(block_bytes.min(out.len()));
    if !first.is_empty() {
        blocks.block(&mut starts, first, &[], &mut work)?;
    }
    for block in rest.chunks_mut(block_bytes) {
        blocks.block(&mut starts, block, first, &mut work)?;
    }
    Ok(())
}

/// Hands the blocks of a chunk that is not special to `sink`, in order.
pub(crate) fn decode_blocks(
    at: Origin,
    header: &Header,
    input: &[u8],
    block_bytes_max: usize,
    codecs: &mut Codecs,
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
    let blocks = Blocks::new(at, header, chunk)?;
    let mut starts = blocks.starts(bytes, block_bytes)?;
    let (mut work, block) = Work::new(at, codecs, block_bytes)?;
    let mut first = Vec::new();
    for offset in (0..bytes).step_by(block_bytes) {
        let block = &mut block[..block_bytes.min(bytes - offset)];
        blocks.block(&mut starts, block, &first, &mut work)?;
        sink(block);
        if offset == 0 && blocks.has_delta() {
            first = block.to_vec();
        }
    }
    Ok(())
}

/// Fills a chunk of one repeated value.
pub(crate) fn special(
    at: Origin,
    special: Special,
    type_bytes: usize,
    value: &[u8],
    out: &mut [u8],
) -> Result<(), Error> {
    let (single, double) = (f32::NAN.to_le_bytes(), f64::NAN.to_le_bytes());
    let pattern = match special {
        Special::None | Special::Zeros | Special::Uninitialised => &[0],
        Special::NotANumber if type_bytes == 4 => &single[..],
        Special::NotANumber if type_bytes == 8 => &double[..],
        Special::NotANumber => return Err(at.corrupt(format!("NaN of {type_bytes} bytes"))),
        Special::Value => Input::new(at, value).take(type_bytes)?,
    };
    if let [byte] = pattern {
        out.fill(*byte);
        return Ok(());
    }
    for slot in out.chunks_mut(pattern.len()) {
        slot.copy_from_slice(&pattern[..slot.len()]);
    }
    Ok(())
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
struct Work<'a> {
    block: &'a mut [u8],
    spare: &'a mut [u8],
    scratch: &'a mut [u8],
    states: &'a mut States,
}

impl<'a> Work<'a> {
    /// Returns the buffers, and one more for a block that is done.
    fn new(at: Origin, codecs: &'a mut Codecs, bytes: usize) -> Result<(Self, &'a mut [u8]), Error> {
        let Codecs { states, work: [block, spare, scratch, done] } = codecs;
        let (block, spare) = (at_least(at, block, bytes)?, at_least(at, spare, bytes)?);
        let (scratch, done) = (at_least(at, scratch, bytes)?, at_least(at, done, bytes)?);
        Ok((Self { block, spare, scratch, states }, done))
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

    fn has_delta(&self) -> bool {
        self.filters.iter().any(|(undo, _)| *undo == Undo::Delta)
    }

    /// Returns where each block starts.
    fn starts(&self, bytes: usize, block_bytes: usize) -> Result<Input<'a>, Error> {
        let mut input = Input::new(self.at, &self.chunk[self.header.bytes..]);
        let starts = input.take(bytes.div_ceil(block_bytes).saturating_mul(4))?;
        Ok(Input::new(self.at, starts))
    }

    /// Decodes the next block. Delta refers to the `first` one, which is empty until it is decoded.
    fn block(
        &self,
        starts: &mut Input<'_>,
        out: &mut [u8],
        first: &[u8],
        work: &mut Work<'_>,
    ) -> Result<(), Error> {
        let start = starts.u32_le()? as usize;
        let stored = self.chunk.get(start..).ok_or_else(|| self.at.corrupt("block outside its chunk"))?;
        let Some((last, earlier)) = self.filters.split_last() else {
            return self.streams(stored, out, work.states);
        };
        let len = out.len();
        self.streams(stored, &mut work.block[..len], work.states)?;
        for filter in earlier {
            let (from, to) = (&work.block[..len], &mut work.spare[..len]);
            self.undo(*filter, from, to, first, work.scratch);
            std::mem::swap(&mut work.block, &mut work.spare);
        }
        self.undo(*last, &work.block[..len], out, first, work.scratch);
        Ok(())
    }

    fn undo(&self, (undo, meta): (Undo, u8), from: &[u8], to: &mut [u8], first: &[u8], scratch: &mut [u8]) {
        match undo {
            Undo::Delta => undo_delta(from, to, first, self.header.type_bytes),
            Undo::Shuffle => unshuffle(self.grouped(meta), from, to),
            Undo::Bitshuffle => self.bit_unshuffle(from, to, scratch),
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

    fn streams(&self, stored: &[u8], block: &mut [u8], states: &mut States) -> Result<(), Error> {
        let count = self.stream_count(block.len() == self.header.block_bytes);
        let stream_bytes = block.len() / count;
        if stream_bytes == 0 {
            return Err(self.at.corrupt("block smaller than its number of streams"));
        }
        let (parts, over) = block.split_at_mut(stream_bytes * count);
        let mut input = Input::new(self.at, stored);
        for part in parts.chunks_exact_mut(stream_bytes) {
            self.stream(&mut input, part, states)?;
        }
        // No stream reaches these bytes.
        over.fill(0);
        Ok(())
    }

    /// Size, then that many bytes. Zero and negative sizes stand for a repeated byte.
    fn stream(&self, input: &mut Input<'_>, part: &mut [u8], states: &mut States) -> Result<(), Error> {
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
                self.codec.decode(self.at, stream, part, states)?;
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

/// Returns the number of bytes at the front of a block that bitshuffle changes. Blosc 1 leaves a block alone whose element count
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
fn undo_delta(from: &[u8], to: &mut [u8], first: &[u8], type_bytes: usize) {
    let width = match type_bytes {
        1 | 2 | 4 | 8 => type_bytes,
        wide if wide % 8 == 0 => 8,
        _ => 1,
    };
    let whole = from.len() - from.len() % width;
    to.copy_from_slice(from);
    if first.is_empty() {
        for i in width..whole {
            to[i] ^= to[i - width];
        }
    } else {
        for (byte, reference) in to[..whole].iter_mut().zip(first) {
            *byte ^= reference;
        }
    }
}
