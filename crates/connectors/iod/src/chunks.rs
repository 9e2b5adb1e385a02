//! Chunks: blocks of an array's cells or, with filters, one cell each, which names a blob.

use std::ops::Range;

use iod_storage::{Batch, CellRead, CellWrite, Id, Kind, ScratchPad};
use keyed::{ChunkRead, ChunkWrite, Chunks, Dataset, StoredChunk};
use model::{Error, Result};

use crate::IodMapping;
use crate::error::During;

/// Bytes of the cell of a filtered chunk: the ID of its blob, the blob's length, the filter mask.
pub(crate) const CELL_BYTES: u32 = 16;

/// The cell of a filtered chunk.
#[derive(Debug, Clone, Copy)]
struct Cell {
    blob: Id,
    bytes: u32,
    mask: u32,
}

impl Cell {
    fn to_bytes(self) -> [u8; CELL_BYTES as usize] {
        let mut bytes = [0; CELL_BYTES as usize];
        bytes[..8].copy_from_slice(&self.blob.to_bytes());
        bytes[8..12].copy_from_slice(&self.bytes.to_le_bytes());
        bytes[12..].copy_from_slice(&self.mask.to_le_bytes());
        bytes
    }

    /// Decodes a cell, or returns `None` for a hole.
    fn of(bytes: &[u8; CELL_BYTES as usize]) -> Result<Option<Cell>> {
        if *bytes == [0; CELL_BYTES as usize] {
            return Ok(None);
        }
        let [id, rest] = bytes.as_chunks::<8>().0 else { return Ok(None) };
        let [bytes, mask] = rest.as_chunks::<4>().0 else { return Ok(None) };
        let blob = Id::from_bytes(*id);
        match blob.kind() {
            Some(Kind::Blob) => {
                let (bytes, mask) = (u32::from_le_bytes(*bytes), u32::from_le_bytes(*mask));
                Ok(Some(Cell { blob, bytes, mask }))
            }
            _ => Err(Error::corrupt("read chunk").with("problem", "its cell names no blob").with("id", blob)),
        }
    }
}

/// Returns where the cell of a chunk is: the block of the array, and the cell within it.
fn cell_of(block: &[u64], dataset: &Dataset, start: &[u64]) -> (Vec<u64>, u64) {
    let grid: Vec<u64> = start.iter().zip(&dataset.shape).map(|(at, len)| at / len).collect();
    let first = grid.iter().zip(block).fold(0, |n, (at, len)| n * len + at % len);
    (grid.iter().zip(block).map(|(at, len)| at - at % len).collect(), first)
}

impl IodMapping {
    /// Returns the cells of filtered chunks.
    fn cells(&self, id: Id, dataset: &Dataset, starts: &[&[u64]]) -> Result<Vec<Option<Cell>>> {
        let block = self.storage.array(id).during("read chunks")?.block;
        let cells_at: Vec<_> = starts.iter().map(|start| cell_of(&block, dataset, start)).collect();
        let mut cells = vec![[0; CELL_BYTES as usize]; starts.len()];
        let mut reads: Vec<CellRead<'_>> = cells
            .iter_mut()
            .zip(&cells_at)
            .map(|(cell, (block, first))| CellRead { block, first: *first, into: cell })
            .collect();
        self.storage.read_cells(id, &mut reads).during("read chunks")?;
        cells.iter().map(Cell::of).collect()
    }

    /// Returns the first elements and cells of all filtered chunks that are stored.
    fn all_cells(&self, id: Id, dataset: &Dataset) -> Result<Vec<(Vec<u64>, Cell)>> {
        let array = self.storage.array(id).during("list chunks")?;
        let count: u64 = array.block.iter().product();
        let mut found = Vec::new();
        for start in self.storage.blocks(id).during("list chunks")? {
            let mut cells = vec![0; count as usize * CELL_BYTES as usize];
            let read = CellRead { block: &start, first: 0, into: &mut cells };
            self.storage.read_cells(id, &mut [read]).during("list chunks")?;
            for (at, bytes) in (0..).zip(cells.as_chunks().0) {
                if let Some(cell) = Cell::of(bytes)? {
                    found.push((first_element(&start, &array.block, at, dataset), cell));
                }
            }
        }
        found.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        Ok(found)
    }
}

/// Returns the first element of the chunk whose cell is the `at`-th of a block.
fn first_element(start: &[u64], block: &[u64], mut at: u64, dataset: &Dataset) -> Vec<u64> {
    let mut place = start.to_vec();
    for ((place, len), shape) in place.iter_mut().zip(block).zip(&dataset.shape).rev() {
        *place = (*place + at % len).saturating_mul(*shape);
        at /= len;
    }
    place
}

impl Chunks for IodMapping {
    const HAS_CHUNK_BLOBS: bool = true;

    fn fetch(&self, id: Id, _dataset: &Dataset, reads: &mut [ChunkRead<'_>]) -> Result<()> {
        let mut reads: Vec<CellRead<'_>> = reads
            .iter_mut()
            .map(|read| CellRead { block: read.start, first: read.first, into: read.into })
            .collect();
        self.storage.read_cells(id, &mut reads).during("read elements")
    }

    fn update(&self, id: Id, _dataset: &Dataset, writes: &[ChunkWrite<'_>]) -> Result<()> {
        let mut cells = Vec::with_capacity(writes.len());
        for write in writes {
            let cell = |&(first, from)| CellWrite { block: write.start, first, from };
            cells.extend(write.runs.iter().map(cell));
        }
        self.storage.write_cells(id, &cells).during("write elements")
    }

    fn punch(&self, id: Id, start: &[u64], ranges: &[Range<u64>]) -> Result<()> {
        self.storage.punch_cells(id, start, ranges).during("cut dataset")
    }

    fn stored(&self, id: Id, dataset: &Dataset, starts: &[&[u64]]) -> Result<Vec<Option<StoredChunk>>> {
        let cells = self.cells(id, dataset, starts)?;
        let blobs: Vec<Id> = cells.iter().flatten().map(|cell| cell.blob).collect();
        let mut found = self.storage.read_blobs(&blobs, u32::MAX.into()).during("read chunks")?.into_iter();
        let mut chunks = Vec::with_capacity(cells.len());
        for cell in cells {
            chunks.push(match cell {
                None => None,
                Some(cell) => {
                    let missing = || Error::corrupt("read chunk").with("missing", cell.blob);
                    Some((cell.mask, found.next().flatten().ok_or_else(missing)?))
                }
            });
        }
        Ok(chunks)
    }

    /// New blobs come first, then the cells that name them; then the old blobs are removed: after a crash no cell names a
    /// blob that is not stored.
    fn store(&self, id: Id, dataset: &Dataset, starts: &[&[u64]], chunks: &[StoredChunk]) -> Result<()> {
        let old = self.cells(id, dataset, starts)?;
        let blobs = self.numbers.take(&self.storage, Kind::Blob, chunks.len())?;
        let (mut made, mut cells) = (Batch::new(), Vec::with_capacity(chunks.len()));
        for (blob, (mask, bytes)) in blobs.into_iter().zip(chunks) {
            made.create_blob(blob, ScratchPad::NULL, &bytes[..]);
            let limit = |_| Error::limit("write chunk").with("bytes", bytes.len());
            let cell = Cell { blob, bytes: u32::try_from(bytes.len()).map_err(limit)?, mask: *mask };
            cells.push(cell.to_bytes());
        }
        self.apply_batch(&made, "write chunks")?;
        let block = self.storage.array(id).during("write chunks")?.block;
        let cells_at: Vec<_> = starts.iter().map(|start| cell_of(&block, dataset, start)).collect();
        let writes: Vec<CellWrite<'_>> = cells
            .iter()
            .zip(&cells_at)
            .map(|(cell, (block, first))| CellWrite { block, first: *first, from: cell })
            .collect();
        self.storage.write_cells(id, &writes).during("write chunks")?;
        let mut gone = Batch::new();
        for cell in old.into_iter().flatten() {
            gone.discard(cell.blob);
        }
        self.apply_batch(&gone, "write chunks")
    }

    fn stored_sizes(&self, id: Id, dataset: &Dataset, starts: &[&[u64]]) -> Result<Vec<(u32, u64)>> {
        let cells = self.cells(id, dataset, starts)?;
        Ok(cells.iter().map(|cell| cell.map_or((0, 0), |cell| (cell.mask, cell.bytes.into()))).collect())
    }

    fn has(&self, id: Id, dataset: &Dataset, start: &[u64]) -> Result<bool> {
        match dataset.filters().is_empty() {
            true => self.storage.has_block(id, start).during("read chunk"),
            false => Ok(self.cells(id, dataset, &[start])?.iter().any(Option::is_some)),
        }
    }

    fn remove(&self, id: Id, dataset: &Dataset, start: &[u64]) -> Result<()> {
        if dataset.filters().is_empty() {
            return self.storage.punch_block(id, start).during("cut dataset");
        }
        let old = self.cells(id, dataset, &[start])?;
        let block = self.storage.array(id).during("cut dataset")?.block;
        let (block, first) = cell_of(&block, dataset, start);
        let cell = first..first + 1;
        self.storage.punch_cells(id, &block, std::slice::from_ref(&cell)).during("cut dataset")?;
        let mut gone = Batch::new();
        for cell in old.into_iter().flatten() {
            gone.discard(cell.blob);
        }
        self.apply_batch(&gone, "cut dataset")
    }

    fn starts(&self, id: Id, dataset: &Dataset) -> Result<Vec<Vec<u64>>> {
        match dataset.filters().is_empty() {
            true => self.storage.blocks(id).during("list chunks"),
            false => Ok(self.all_cells(id, dataset)?.into_iter().map(|(start, _)| start).collect()),
        }
    }

    fn chunk_blobs(&self, id: Id, dataset: &Dataset) -> Result<Vec<[u8; 8]>> {
        Ok(self.all_cells(id, dataset)?.iter().map(|(_, cell)| cell.blob.to_bytes()).collect())
    }
}
