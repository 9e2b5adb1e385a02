//! Elements in blocks of one shape, of which only those that were written exist: an extent may be huge.

use std::collections::BTreeMap;

use model::selection::{ChunkRun, ChunkRuns, PointIndex};
use model::{Budget, Charge, Result, Selection, budget};

/// Blocks by their chunk coordinates. What lies outside the extent holds the fill value.
#[derive(Debug, Clone)]
pub(crate) struct Blocks {
    pub(crate) shape: Vec<u64>,
    element_bytes: usize,
    /// One element; `None` is zeros.
    fill: Option<Vec<u8>>,
    blocks: BTreeMap<Vec<u64>, Vec<u8>>,
    /// For all blocks: a few elements in a chunk of gigabytes take all of it.
    charge: Charge,
}

/// Bytes of a block where the layout does not say: small enough to be sparse, large enough to be few.
const BLOCK_BYTES: u64 = 64 << 10;

/// Returns the blocks for an extent whose layout has none: whole rows of the fastest dimensions.
pub(crate) fn default_shape(dims: &[u64], element_bytes: u64) -> Vec<u64> {
    let mut elements = (BLOCK_BYTES / element_bytes.max(1)).max(1);
    let mut shape = vec![1; dims.len()];
    for (len, &dim) in shape.iter_mut().zip(dims).rev() {
        *len = dim.clamp(1, elements);
        elements = (elements / *len).max(1);
    }
    shape
}

/// Calls `visit` with the blocks that a selection touches, each with its runs.
fn for_each_block(
    selection: &Selection,
    dims: &[u64],
    shape: &[u64],
    mut visit: impl FnMut(Vec<u64>, ChunkRuns) -> Result<()>,
) -> Result<()> {
    selection.validate(dims)?;
    if let Selection::Points(points) = selection {
        let index = PointIndex::new(points, shape)?;
        return index.chunks().try_for_each(|chunk_coords| {
            let runs = index.chunk_runs(&chunk_coords)?;
            visit(chunk_coords, runs)
        });
    }
    for chunk_coords in selection.chunks(dims, shape)? {
        let start = start_of(&chunk_coords, shape);
        visit(chunk_coords, selection.chunk_runs(dims, &start, shape)?)?;
    }
    Ok(())
}

/// Returns the first element of a block. Blocks touch their extent, so the product is within it.
pub(crate) fn start_of(chunk_coords: &[u64], shape: &[u64]) -> Vec<u64> {
    chunk_coords.iter().zip(shape).map(|(n, len)| n.saturating_mul(*len)).collect()
}

fn fill_with(out: &mut [u8], element: Option<&[u8]>) {
    match element {
        None => out.fill(0),
        Some(element) => {
            out.chunks_exact_mut(element.len()).for_each(|descriptor| descriptor.copy_from_slice(element));
        }
    }
}

impl Blocks {
    pub(crate) fn new(shape: Vec<u64>, element_bytes: usize, fill: Option<Vec<u8>>, budget: &Budget) -> Self {
        Blocks { shape, element_bytes, fill, blocks: BTreeMap::new(), charge: budget.empty_charge() }
    }

    pub(crate) fn block_bytes(&self) -> usize {
        self.shape.iter().product::<u64>() as usize * self.element_bytes
    }

    /// Returns the chunk coordinates and bytes, in C order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Vec<u64>, &Vec<u8>)> {
        self.blocks.iter()
    }

    pub(crate) fn len(&self) -> usize {
        self.blocks.len()
    }

    pub(crate) fn get(&self, chunk_coords: &[u64]) -> Option<&Vec<u8>> {
        self.blocks.get(chunk_coords)
    }

    pub(crate) fn set(&mut self, chunk_coords: Vec<u64>, bytes: Vec<u8>) -> Result<()> {
        if !self.blocks.contains_key(&chunk_coords) {
            self.charge_blocks(self.blocks.len() + 1)?;
        }
        self.blocks.insert(chunk_coords, bytes);
        Ok(())
    }

    /// Charges so many blocks.
    fn charge_blocks(&mut self, count: usize) -> Result<()> {
        let bytes = (count as u64).saturating_mul(self.block_bytes() as u64);
        self.charge.resize(bytes, "elements in memory")
    }

    fn empty_block(&self) -> Result<Vec<u8>> {
        let mut block = budget::zeroed(self.block_bytes(), "elements in memory")?;
        if self.fill.is_some() {
            fill_with(&mut block, self.fill.as_deref());
        }
        Ok(block)
    }

    /// Returns the byte ranges of a run in its block and in packed elements.
    fn ranges(&self, run: ChunkRun) -> (std::ops::Range<usize>, std::ops::Range<usize>) {
        let len = run.len as usize * self.element_bytes;
        let (block, packed) = (
            run.chunk_offset as usize * self.element_bytes,
            run.selection_offset as usize * self.element_bytes,
        );
        (block..block + len, packed..packed + len)
    }

    /// Fills `into`, which has space for exactly the selected elements.
    pub(crate) fn read(&self, selection: &Selection, dims: &[u64], into: &mut [u8]) -> Result<()> {
        for_each_block(selection, dims, &self.shape, |chunk_coords, runs| {
            let block = self.blocks.get(&chunk_coords);
            for run in runs {
                let (at, packed) = self.ranges(run);
                match block {
                    Some(block) => into[packed].copy_from_slice(&block[at]),
                    None => fill_with(&mut into[packed], self.fill.as_deref()),
                }
            }
            Ok(())
        })
    }

    /// Takes over `from`, which has exactly the selected elements.
    pub(crate) fn write(&mut self, selection: &Selection, dims: &[u64], from: &[u8]) -> Result<()> {
        let shape = self.shape.clone();
        for_each_block(selection, dims, &shape, |chunk_coords, runs| {
            let mut block = match self.blocks.remove(&chunk_coords) {
                Some(block) => block,
                None => {
                    self.charge_blocks(self.blocks.len() + 1)?;
                    self.empty_block()?
                }
            };
            for run in runs {
                let (at, packed) = self.ranges(run);
                block[at].copy_from_slice(&from[packed]);
            }
            self.blocks.insert(chunk_coords, block);
            Ok(())
        })
    }

    /// Forgets what lies outside `dims`, so that growing again shows the fill value there.
    pub(crate) fn cut(&mut self, dims: &[u64]) -> Result<()> {
        let starts = |chunk_coords: &[u64]| start_of(chunk_coords, &self.shape);
        let is_outside = |start: &[u64]| start.iter().zip(dims).any(|(at, dim)| at >= dim);
        let all: Vec<Vec<u64>> = self.blocks.keys().cloned().collect();
        let (gone, kept): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|chunk_coords| is_outside(&starts(chunk_coords)));
        for chunk_coords in gone {
            self.blocks.remove(&chunk_coords);
        }
        self.charge_blocks(self.blocks.len())?;
        kept.into_iter().try_for_each(|chunk_coords| self.cut_block(chunk_coords, dims))
    }

    fn cut_block(&mut self, chunk_coords: Vec<u64>, dims: &[u64]) -> Result<()> {
        let start = start_of(&chunk_coords, &self.shape);
        let inside: Vec<u64> =
            start.iter().zip(dims).zip(&self.shape).map(|((at, dim), len)| (*len).min(dim - at)).collect();
        if inside == self.shape {
            return Ok(());
        }
        let mut cut = self.empty_block()?;
        if let Some(old) = self.blocks.get(&chunk_coords) {
            for run in Selection::block(&vec![0; inside.len()], &inside)?.runs(&self.shape)? {
                let from = run.offset as usize * self.element_bytes;
                let range = from..from + run.len as usize * self.element_bytes;
                cut[range.clone()].copy_from_slice(&old[range]);
            }
        }
        self.blocks.insert(chunk_coords, cut);
        Ok(())
    }
}
