//! The "b2nd" metalayer of Blosc2: the shape of an array and of its blocks.

use crate::blosc_chunk;
use crate::blosc2_frame::{Chunk, Frame, number32, number64};
use crate::error::{Error, Origin};
use crate::input::Input;
use crate::{Codecs, Done, Output};

const RANK_MAX: usize = 32;

/// Where the elements of an array lie in its one chunk: block after block, each row-major and of full size.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    shape: Vec<u64>,
    block: Vec<u64>,
    type_bytes: u64,
}

impl Layout {
    pub(crate) fn parse(at: Origin, layer: &[u8], type_bytes: usize) -> Result<Self, Error> {
        let mut input = Input::new(at, layer);
        let [_array, _version, rank] = input.array()?;
        let rank = usize::from(rank);
        if rank == 0 || rank > RANK_MAX || type_bytes == 0 {
            return Err(at.corrupt(format!("array of rank {rank}, {type_bytes} bytes each")));
        }
        let shape = dimensions(&mut input, rank, number64)?;
        let narrow = |input: &mut Input<'_>| number32(input).map(u64::from);
        let chunk = dimensions(&mut input, rank, narrow)?;
        let block = dimensions(&mut input, rank, narrow)?;
        // A block within the array is never larger than it, which bounds all buffers.
        if shape.iter().zip(&block).any(|(dim, block)| *block == 0 || block > dim) {
            return Err(at.corrupt("block is empty or larger than its array"));
        }
        if chunk != shape {
            return Err(at.unsupported("array of several chunks inside one HDF5 chunk"));
        }
        Ok(Self { shape, block, type_bytes: type_bytes as u64 })
    }

    /// Returns the number of bytes of the array.
    fn array_bytes(&self) -> u64 {
        self.shape.iter().fold(self.type_bytes, |bytes, dim| bytes.saturating_mul(*dim))
    }

    fn block_bytes(&self) -> u64 {
        self.block.iter().fold(self.type_bytes, |bytes, dim| bytes.saturating_mul(*dim))
    }

    /// Returns the number of blocks along each dimension. The last may reach past the array.
    fn grid(&self) -> Vec<u64> {
        self.shape.iter().zip(&self.block).map(|(dim, block)| dim.div_ceil(*block)).collect()
    }

    /// Returns the array in row-major order.
    pub(crate) fn decode(
        &self,
        at: Origin,
        frame: &Frame<'_>,
        out: &mut Output<'_>,
        codecs: &mut Codecs,
    ) -> Result<Done, Error> {
        let bytes_max = out.size().max;
        let bytes = at.within(self.array_bytes(), bytes_max)?;
        let (header, chunk) = match frame.only_chunk(codecs)? {
            Chunk::Special { special, value } => {
                frame.special(special, value, out.buffer(bytes)?)?;
                return Ok(Done::Written);
            }
            Chunk::Blocks { header, bytes } => (header, bytes),
        };
        let grid = self.grid();
        let padded_bytes = grid.iter().fold(self.block_bytes(), |bytes, count| bytes.saturating_mul(*count));
        if header.chunk_bytes != padded_bytes || header.block_bytes as u64 != self.block_bytes() {
            return Err(at.corrupt("blocks of another size than the array's"));
        }
        // The blocks cover the whole array: nothing of the space is left as it was.
        let buffer = out.buffer(bytes)?;
        let mut origin = vec![0; grid.len()];
        let mut place = |block: &[u8]| {
            self.place(block, &origin, buffer);
            advance(&mut origin, &grid);
        };
        blosc_chunk::decode_blocks(at, &header, chunk, bytes_max, codecs, &mut place)?;
        Ok(Done::Written)
    }

    /// Copies one block, a row of its last dimension at a time. `origin` counts blocks.
    fn place(&self, block: &[u8], origin: &[u64], out: &mut [u8]) {
        let last = self.shape.len() - 1;
        let starts: Vec<u64> = origin.iter().zip(&self.block).map(|(index, dim)| index * dim).collect();
        // The part of the block that lies inside the array.
        let inside: Vec<u64> = (0..=last).map(|d| self.block[d].min(self.shape[d] - starts[d])).collect();
        let row_bytes = (inside[last] * self.type_bytes) as usize;
        let rows: u64 = inside[..last].iter().product();
        let mut row = vec![0; last];
        for _ in 0..rows {
            let (mut from, mut to) = (0, 0);
            for d in 0..last {
                from = from * self.block[d] + row[d];
                to = to * self.shape[d] + starts[d] + row[d];
            }
            let from = (from * self.block[last] * self.type_bytes) as usize;
            let to = ((to * self.shape[last] + starts[last]) * self.type_bytes) as usize;
            out[to..to + row_bytes].copy_from_slice(&block[from..from + row_bytes]);
            advance(&mut row, &inside[..last]);
        }
    }
}

/// msgpack: an array header and `rank` numbers.
fn dimensions(
    input: &mut Input<'_>,
    rank: usize,
    number: impl Fn(&mut Input<'_>) -> Result<u64, Error>,
) -> Result<Vec<u64>, Error> {
    // Up to 15 the count is in the type byte; above, an array16 has two bytes of it.
    if rank > 15 {
        input.take(3)?;
    } else {
        input.u8()?;
    }
    (0..rank).map(|_| number(input)).collect()
}

/// Advances to the next index, last dimension fastest. After the last one it is zero.
fn advance(index: &mut [u64], extent: &[u64]) {
    for (value, end) in index.iter_mut().zip(extent).rev() {
        *value += 1;
        if *value < *end {
            return;
        }
        *value = 0;
    }
}
