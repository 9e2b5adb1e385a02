//! Hyperslabs of arrays: from places in n dimensions to cells of blocks.

use crate::array::{CellRead, CellWrite};
use crate::head::Shape;
use crate::{Container, Error, Id, Result};

/// Cells of an array at regular places: in each dimension `count` pieces of `block` cells, `stride` apart, the first
/// at `start`. A buffer has them in C order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slab {
    /// The first cell.
    pub start: Vec<u64>,
    /// From one piece to the next.
    pub stride: Vec<u64>,
    /// Pieces.
    pub count: Vec<u64>,
    /// Cells of a piece.
    pub block: Vec<u64>,
}

/// Cells that lie together in a block and in a buffer.
#[derive(Debug)]
struct CellRun {
    block: Vec<u64>,
    first: u64,
    cells: u64,
}

/// Pieces that are read or written by one call.
const PIECES_MAX: usize = 4096;

impl Slab {
    /// Returns one piece in every dimension.
    #[must_use]
    pub fn new(start: &[u64], count: &[u64]) -> Slab {
        let ones = vec![1; start.len()];
        Slab { start: start.to_vec(), stride: count.to_vec(), count: ones, block: count.to_vec() }
    }

    /// Returns how many cells there are; an error unless all are inside.
    fn cells(&self, id: Id, dims: &[u64]) -> Result<u64> {
        let outside = || Error::Condition(format!("{id} of {dims:?} cells has no {self:?}"));
        let same = [&self.start, &self.stride, &self.count, &self.block].map(|part| part.len() == dims.len());
        if same.contains(&false) {
            return Err(outside());
        }
        let mut cells = 1u64;
        for (at, dim) in dims.iter().enumerate() {
            let (count, block) = (self.count[at], self.block[at]);
            cells = count.checked_mul(block).and_then(|n| cells.checked_mul(n)).ok_or_else(outside)?;
            if count == 0 || block == 0 {
                continue;
            }
            let end = (count - 1).checked_mul(self.stride[at]).and_then(|n| n.checked_add(self.start[at]));
            let end = end.and_then(|n| n.checked_add(block)).ok_or_else(outside)?;
            if end > *dim || (count > 1 && self.stride[at] < block) {
                return Err(outside());
            }
        }
        Ok(cells)
    }

    /// Calls `row` with the place of every row of cells and its length, in C order.
    fn each_row(&self, row: &mut impl FnMut(&[u64], u64) -> Result<()>) -> Result<()> {
        let Some(last) = self.start.len().checked_sub(1) else { return row(&[], 1) };
        // The piece in each dimension, and the cell within it.
        let mut at: Vec<(u64, u64)> = vec![(0, 0); self.start.len()];
        loop {
            let place = |(dim, (piece, cell)): (usize, &(u64, u64))| {
                self.start[dim] + piece * self.stride[dim] + cell
            };
            let places: Vec<u64> = at.iter().enumerate().map(place).collect();
            row(&places, self.block[last])?;
            at[last].1 = self.block[last] - 1;
            if !self.step(&mut at) {
                return Ok(());
            }
        }
    }

    /// Goes on to the next cell; `false` behind the last one.
    fn step(&self, at: &mut [(u64, u64)]) -> bool {
        for dim in (0..at.len()).rev() {
            let (piece, cell) = &mut at[dim];
            *cell += 1;
            if *cell < self.block[dim] {
                return true;
            }
            (*cell, *piece) = (0, *piece + 1);
            if *piece < self.count[dim] {
                return true;
            }
            *piece = 0;
        }
        false
    }

    /// Visits the cells in pieces that lie together, some at a time.
    fn each_pieces(&self, shape: &Shape, mut visit: impl FnMut(&[CellRun]) -> Result<()>) -> Result<()> {
        let mut pieces: Vec<CellRun> = Vec::new();
        self.each_row(&mut |place, len| {
            add_row(shape, place, len, &mut pieces);
            if pieces.len() < PIECES_MAX {
                return Ok(());
            }
            visit(&std::mem::take(&mut pieces))
        })?;
        if pieces.is_empty() { Ok(()) } else { visit(&pieces) }
    }
}

/// Adds a row of cells, cut where blocks end; what goes on where the last piece ended becomes a part of it.
fn add_row(shape: &Shape, place: &[u64], len: u64, pieces: &mut Vec<CellRun>) {
    let (mut place, mut left) = (place.to_vec(), len);
    while left > 0 {
        let block: Vec<u64> = place.iter().zip(&shape.block).map(|(at, len)| at - at % len).collect();
        let first = place.iter().zip(&shape.block).fold(0, |n, (at, len)| n * len + at % len);
        let capacity = place.last().zip(shape.block.last()).map_or(1, |(at, len)| len - at % len);
        let cells = left.min(capacity);
        match pieces.last_mut() {
            Some(last) if last.block == block && last.first + last.cells == first => last.cells += cells,
            _ => pieces.push(CellRun { block, first, cells }),
        }
        left -= cells;
        place.iter_mut().last().into_iter().for_each(|at| *at += cells);
    }
}

impl Container {
    fn checked(&self, id: Id, slab: &Slab, bytes: usize) -> Result<Shape> {
        let shape = self.shape(id)?;
        let cells = slab.cells(id, &shape.dims)?;
        match cells.checked_mul(shape.cell_bytes.into()) == Some(bytes as u64) {
            true => Ok(shape),
            false => Err(Error::Condition(format!("{id}: {bytes} bytes are no {cells} cells"))),
        }
    }

    /// Reads the cells of a hyperslab; holes leave their bytes of `into` as they were.
    pub fn read(&self, id: Id, slab: &Slab, into: &mut [u8]) -> Result<()> {
        let shape = self.checked(id, slab, into.len())?;
        let mut rest = into;
        if rest.is_empty() {
            return Ok(());
        }
        slab.each_pieces(&shape, |pieces| {
            let mut reads = Vec::with_capacity(pieces.len());
            for piece in pieces {
                let bytes = piece.cells as usize * shape.cell_bytes as usize;
                let (into, after) = std::mem::take(&mut rest).split_at_mut(bytes);
                rest = after;
                reads.push(CellRead { block: &piece.block, first: piece.first, into });
            }
            self.read_cells(id, &mut reads)
        })
    }

    /// Writes the cells of a hyperslab.
    pub fn write(&self, id: Id, slab: &Slab, from: &[u8]) -> Result<()> {
        self.check_writable()?;
        let shape = self.checked(id, slab, from.len())?;
        let mut rest = from;
        if rest.is_empty() {
            return Ok(());
        }
        slab.each_pieces(&shape, |pieces| {
            let mut writes = Vec::with_capacity(pieces.len());
            for piece in pieces {
                let bytes = piece.cells as usize * shape.cell_bytes as usize;
                let (from, after) = rest.split_at(bytes);
                rest = after;
                writes.push(CellWrite { block: &piece.block, first: piece.first, from });
            }
            self.write_cells(id, &writes)
        })
    }
}
