//! The doubling table: where direct blocks are in heap space, whether they exist or not.

use model::{Error, Result};

use crate::format::fractal_heap::FractalHeap;

/// A direct block in heap space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) start: u64,
    pub(super) bytes: u64,
}

/// Returns the direct block that covers an offset.
pub(super) fn block_at(heap: &FractalHeap, offset: u64) -> Result<Extent> {
    let mut start = 0;
    loop {
        let spot = heap.spot(offset - start)?;
        start += spot.block_offset;
        // Tables of tables have fewer rows than the one they are in, so that this ends.
        if spot.row < heap.direct_rows() {
            return Ok(Extent { start, bytes: spot.block_bytes });
        }
    }
}

/// Returns the first direct block from `offset` on, where one starts, that has `need` bytes.
pub(super) fn next_fit(heap: &FractalHeap, mut offset: u64, need: u64) -> Result<Extent> {
    let full = || Error::limit("insert in fractal heap").with("problem", "heap is full");
    loop {
        if heap.heap_bits < 64 && offset >> heap.heap_bits > 0 {
            return Err(full());
        }
        match fit_or_skip(heap, offset, need)? {
            Fit::At(extent) => return Ok(extent),
            Fit::Skip(to) if to > offset => offset = to,
            Fit::Skip(_) => return Err(full()),
        }
    }
}

enum Fit {
    At(Extent),
    /// Nothing before this offset is large enough.
    Skip(u64),
}

fn fit_or_skip(heap: &FractalHeap, offset: u64, need: u64) -> Result<Fit> {
    let wrong = || Error::corrupt("insert in fractal heap").with("offset of next block", offset);
    let mut start = 0u64;
    loop {
        let spot = heap.spot(offset - start)?;
        let largest = match spot.row < heap.direct_rows() {
            true => Some(spot.block_bytes),
            false => heap.row_bytes(heap.rows_of(spot.block_bytes).min(heap.direct_rows()).saturating_sub(1)),
        };
        if largest.is_none_or(|bytes| bytes < need) {
            return Ok(Fit::Skip(start.checked_add(row_start(heap, spot.row + 1)?).ok_or_else(wrong)?));
        }
        start += spot.block_offset;
        if spot.row < heap.direct_rows() {
            let extent = Extent { start, bytes: spot.block_bytes };
            return if start == offset { Ok(Fit::At(extent)) } else { Err(wrong()) };
        }
    }
}

/// Returns where a row starts in its table: the end of a table of so many rows.
pub(super) fn row_start(heap: &FractalHeap, row: u64) -> Result<u64> {
    let over = || Error::limit("insert in fractal heap").with("row", row);
    let block = if row == 0 { Some(0) } else { heap.row_bytes(row) };
    block.and_then(|bytes| bytes.checked_mul(heap.width)).ok_or_else(over)
}

/// Returns the number of bytes for objects in all direct blocks, there or not, under a root of `rows` rows; 0 rows are one block.
pub(super) fn object_bytes(heap: &FractalHeap, rows: u64) -> u64 {
    let prefix = heap.direct_prefix_bytes() as u64;
    if rows == 0 {
        return heap.start_bytes.saturating_sub(prefix);
    }
    // A row of tables counts what a table of fewer rows does.
    let mut below = vec![0u64];
    for row in 0..rows {
        let bytes = heap.row_bytes(row).unwrap_or(u64::MAX);
        let one = match row < heap.direct_rows() {
            true => bytes.saturating_sub(prefix),
            false => below.get(heap.rows_of(bytes) as usize).copied().unwrap_or(u64::MAX),
        };
        let before = below.last().copied().unwrap_or(0);
        below.push(before.saturating_add(heap.width.saturating_mul(one)));
    }
    below.last().copied().unwrap_or(0)
}
