//! Contiguous frames of Blosc2: a msgpack header, chunks, an index of their offsets, a trailer.

use crate::blosc_chunk;
use crate::blosc_header::{Header, Special};
use crate::blosc_write::{Rearrange, Settings};
use crate::error::{Error, Origin};
use crate::input::Input;
use crate::writer::Writer;
use crate::{Codecs, Done, Output};

const MAGIC: &[u8] = b"\x9e\xa8b2frame\0";
const HEADER_BYTES: usize = 97;
const INDEX_BYTES: usize = 40;
const OFFSET_BYTES: usize = 8;
const FORMAT_VERSION: u8 = 2;
const OFFSETS_64_BIT: u8 = 1 << 4;
const FRAME_CONTIGUOUS: u8 = 0;
const METALAYERS_AT: usize = 87;
/// Rare names and counts above this are not worth the search.
const METALAYERS_MAX: u16 = 16;

/// A parsed frame.
#[derive(Debug)]
pub(crate) struct Frame<'a> {
    at: Origin,
    bytes: &'a [u8],
    header_bytes: usize,
    chunks_bytes: usize,
    content_bytes: u64,
    chunk_bytes: u64,
    /// Bytes of one element; a chunk's own header cannot tell more than 255.
    pub(crate) type_bytes: usize,
}

impl<'a> Frame<'a> {
    pub(crate) fn parse(at: Origin, bytes: &'a [u8]) -> Result<Self, Error> {
        let mut input = Input::new(at, bytes);
        if input.take(MAGIC.len())? != MAGIC {
            return Err(at.corrupt("not a Blosc2 frame"));
        }
        let header_bytes = number32(&mut input)?;
        let _frame_bytes = number64(&mut input)?;
        let [_, _, frame_type, _, _] = input.array()?;
        if frame_type & 15 != FRAME_CONTIGUOUS {
            return Err(at.unsupported("sparse frame"));
        }
        let content_bytes = number64(&mut input)?;
        let chunks_bytes = number64(&mut input)?;
        let type_bytes = number32(&mut input)?;
        let _block_bytes = number32(&mut input)?;
        let chunk_bytes = number32(&mut input)?;
        let frame = Self {
            at,
            bytes,
            header_bytes: at.within(u64::from(header_bytes), bytes.len())?,
            chunks_bytes: at.within(chunks_bytes, bytes.len())?,
            content_bytes,
            chunk_bytes: u64::from(chunk_bytes),
            type_bytes: type_bytes as usize,
        };
        Ok(frame)
    }

    /// Returns the content of the metalayer called `name`.
    pub(crate) fn metalayer(&self, name: &[u8]) -> Option<&'a [u8]> {
        let header = self.bytes.get(..self.header_bytes)?;
        let mut input = Input::new(self.at, header.get(METALAYERS_AT..)?);
        let [_, _, _, _, _, high, low] = input.array().ok()?;
        for _ in 0..u16::from_be_bytes([high, low]).min(METALAYERS_MAX) {
            let name_bytes = input.u8().ok()? & 31;
            let found = input.take(usize::from(name_bytes)).ok()?;
            let offset = number32(&mut input).ok()? as usize;
            if found == name {
                let mut content = Input::new(self.at, header.get(offset..)?);
                let len = number32(&mut content).ok()? as usize;
                return content.take(len).ok();
            }
        }
        None
    }

    /// Returns all chunks, one after another.
    pub(crate) fn decode(&self, out: &mut Output<'_>, codecs: &mut Codecs) -> Result<Done, Error> {
        let bytes_max = out.size().max;
        let total = self.at.within(self.content_bytes, bytes_max)?;
        let offsets = self.offsets(bytes_max.max(OFFSET_BYTES), codecs)?;
        let buffer = out.buffer(total)?;
        let mut len = 0;
        for offset in offsets.as_chunks::<OFFSET_BYTES>().0 {
            len += self.decode_chunk(i64::from_le_bytes(*offset), &mut buffer[len..], codecs)?;
        }
        if len != total {
            return Err(self.at.corrupt(format!("chunks hold {len} bytes, not {total}")));
        }
        Ok(Done::Written)
    }

    /// Returns the index chunk: one 64-bit offset for each chunk.
    fn offsets(&self, bytes_max: usize, codecs: &mut Codecs) -> Result<Vec<u8>, Error> {
        if self.content_bytes == 0 {
            return Ok(Vec::new());
        }
        if self.chunk_bytes == 0 {
            return Err(self.at.unsupported("frame with chunks of different sizes"));
        }
        let count = self.content_bytes.div_ceil(self.chunk_bytes);
        let index = self.bytes.get(self.header_bytes + self.chunks_bytes..);
        let index = index.ok_or_else(|| self.at.corrupt("no index of chunks"))?;
        let index_bytes = self.at.within(count.saturating_mul(OFFSET_BYTES as u64), bytes_max)?;
        let header = Header::parse(self.at, index)?;
        if header.chunk_bytes != index_bytes as u64 {
            return Err(self.at.corrupt("index of another number of chunks"));
        }
        let mut offsets = self.at.zeroed(index_bytes)?;
        blosc_chunk::decode_into(self.at, &header, index, &mut offsets, codecs)?;
        Ok(offsets)
    }

    /// A negative offset has no chunk behind it: its top byte tells what the chunk is full of.
    fn chunk_at(&self, offset: i64) -> Result<Chunk<'a>, Error> {
        if offset < 0 {
            let special = Special::from_code(self.at, offset.to_le_bytes()[7] & 0x7f)?;
            return Ok(Chunk::Special { special, value: &[] });
        }
        let chunks = self.bytes.get(self.header_bytes..self.header_bytes + self.chunks_bytes);
        let bytes = chunks.and_then(|chunks| chunks.get(usize::try_from(offset).ok()?..));
        let bytes = bytes.ok_or_else(|| self.at.corrupt("chunk outside its frame"))?;
        let header = Header::parse(self.at, bytes)?;
        if header.special != Special::None {
            let value = &bytes[header.bytes..header.stored_bytes];
            return Ok(Chunk::Special { special: header.special, value });
        }
        Ok(Chunk::Blocks { header, bytes })
    }

    /// Returns the chunk of a frame that has only one.
    pub(crate) fn only_chunk(&self, codecs: &mut Codecs) -> Result<Chunk<'a>, Error> {
        match self.offsets(OFFSET_BYTES, codecs)?.as_chunks::<OFFSET_BYTES>().0 {
            [offset] => self.chunk_at(i64::from_le_bytes(*offset)),
            _ => Err(self.at.unsupported("array of several chunks inside one HDF5 chunk")),
        }
    }

    /// Decodes one chunk to the front of `space`; its size.
    fn decode_chunk(&self, offset: i64, buffer: &mut [u8], codecs: &mut Codecs) -> Result<usize, Error> {
        match self.chunk_at(offset)? {
            Chunk::Blocks { header, bytes } => {
                let len = self.at.within(header.chunk_bytes, buffer.len())?;
                blosc_chunk::decode_into(self.at, &header, bytes, &mut buffer[..len], codecs)?;
                Ok(len)
            }
            Chunk::Special { special, value } => {
                let len = buffer.len().min(usize::try_from(self.chunk_bytes).unwrap_or(usize::MAX));
                self.special(special, value, &mut buffer[..len])?;
                Ok(len)
            }
        }
    }

    /// Fills `out` with a special value. It is as wide as the frame's type, which may be more than a chunk's
    /// header can tell.
    pub(crate) fn special(&self, special: Special, value: &[u8], out: &mut [u8]) -> Result<(), Error> {
        blosc_chunk::special(self.at, special, self.type_bytes.max(1), value, out)
    }
}

/// A chunk of a frame.
#[derive(Debug)]
pub(crate) enum Chunk<'a> {
    /// One value, over and over.
    Special { special: Special, value: &'a [u8] },
    /// Blocks, for [`blosc_chunk::decode_blocks`].
    Blocks { header: Header, bytes: &'a [u8] },
}

/// msgpack: a type byte and 32 bits.
pub(crate) fn number32(input: &mut Input<'_>) -> Result<u32, Error> {
    input.u8()?;
    input.u32_be()
}

/// msgpack: a type byte and 64 bits.
pub(crate) fn number64(input: &mut Input<'_>) -> Result<u64, Error> {
    input.u8()?;
    input.u64_be()
}

/// Returns a frame around one chunk.
pub(crate) fn wrap(
    at: Origin,
    settings: &Settings,
    input: &[u8],
    out: &mut Output<'_>,
    codecs: &mut Codecs,
) -> Result<Done, Error> {
    let trailer = trailer();
    let around = HEADER_BYTES + INDEX_BYTES + trailer.len();
    let buffer = out.buffer(settings.buffer_bytes(input.len()).saturating_add(around))?;
    let mut to = Writer::new(at, &mut *buffer);
    to.push(&[0; HEADER_BYTES])?;
    settings.write(input, &mut to, codecs)?;
    let end = to.len();
    to.push(&index())?;
    to.push(&trailer)?;
    let frame_bytes = to.len();
    let block_bytes = Header::parse(at, &buffer[HEADER_BYTES..end])?.block_bytes;
    let sizes =
        Sizes { input: input.len(), chunk: end - HEADER_BYTES, block: block_bytes, frame: frame_bytes };
    buffer[..HEADER_BYTES].copy_from_slice(&frame_header(settings, &sizes));
    out.truncate(frame_bytes);
    Ok(Done::Written)
}

struct Sizes {
    input: usize,
    chunk: usize,
    block: usize,
    frame: usize,
}

fn frame_header(settings: &Settings, sizes: &Sizes) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEADER_BYTES);
    out.extend_from_slice(MAGIC);
    push32(&mut out, 0xd2, HEADER_BYTES as u32);
    push64(&mut out, 0xcf, sizes.frame as u64);
    let codec = settings.codec.format() | (settings.level as u8) << 4;
    out.extend_from_slice(&[0xa4, FORMAT_VERSION | OFFSETS_64_BIT, FRAME_CONTIGUOUS, codec, 0]);
    push64(&mut out, 0xd3, sizes.input as u64);
    push64(&mut out, 0xd3, sizes.chunk as u64);
    push32(&mut out, 0xd2, settings.type_bytes as u32);
    push32(&mut out, 0xd2, sizes.block as u32);
    push32(&mut out, 0xd2, sizes.input as u32);
    // Threads for compression and decompression, and no variable-length metalayers.
    out.extend_from_slice(&[0xd1, 0, 1, 0xd1, 0, 1, 0xc2]);
    out.extend_from_slice(&pipeline(settings));
    out.extend_from_slice(&[0x93, 0xcd, 0, 7, 0xde, 0, 0, 0xdc, 0, 0]);
    out
}

/// Returns the filter codes and their meta bytes: the last of six slots is used.
fn pipeline(settings: &Settings) -> [u8; 18] {
    let mut out = [0; 18];
    out[0] = 0xd8;
    out[1] = 6;
    out[7] = match settings.rearrange {
        Rearrange::None => 0,
        Rearrange::Bytes => 1,
        Rearrange::Bits => 2,
    };
    out[8] = settings.codec.format();
    out
}

/// Returns a stored chunk with one offset: 0.
fn index() -> [u8; INDEX_BYTES] {
    let mut out = [0; INDEX_BYTES];
    out[..4].copy_from_slice(&[5, 1, 7, 8]);
    out[4] = 8;
    out[8] = 8;
    out[12] = INDEX_BYTES as u8;
    out[21] = 1;
    out
}

/// No variable-length metalayers, no fingerprint.
fn trailer() -> Vec<u8> {
    let mut out = vec![0x94, 1, 0x93, 0xcd, 0, 6, 0xde, 0, 0, 0xdc, 0, 0];
    push32(&mut out, 0xce, 35);
    out.extend_from_slice(&[0xd8, 0]);
    out.resize(35, 0);
    out
}

fn push32(out: &mut Vec<u8>, tag: u8, value: u32) {
    out.push(tag);
    out.extend_from_slice(&value.to_be_bytes());
}

fn push64(out: &mut Vec<u8>, tag: u8, value: u64) {
    out.push(tag);
    out.extend_from_slice(&value.to_be_bytes());
}
