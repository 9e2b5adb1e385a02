//! The stored elements of a dataset whose extent is far larger: work depends on what is stored, and not on the extent
//! that a few bytes of metadata claim.

use model::properties::{Layout, VirtualMapping};
use model::selection::Runs;
use model::{Charge, Dataspace, Error, Kind, Result, Selection, Token};
use vol::{Allocation, ChunkInfo, Container, DatasetInfo, StoredBlock};

/// Elements that may be missing before anybody asks which.
const MISSING_MIN: u64 = 1 << 24;
/// So many times as many elements are missing as are there.
const MISSING_TIMES: u64 = 1000;
/// Runs that are listed.
const RUNS_MAX: usize = 1 << 25;
/// Chunks listed at a time.
const CHUNKS_PER_PAGE: u64 = 4096;

/// The elements of a dataset that are stored, as runs in C order: ascending, apart from each other.
#[derive(Debug)]
pub struct StoredRuns {
    dims: Vec<u64>,
    runs: Vec<(u64, u64)>,
    charge: Charge,
}

/// Part of an extent: where it starts, in elements and in each dimension, and its shape. Its elements are one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Elements before it.
    pub first: u64,
    /// Its first element.
    pub start: Vec<u64>,
    /// Elements in each dimension.
    pub shape: Vec<u64>,
}

/// Returns the runs of a dataset that are stored, or `None` where these are not far fewer than its elements or the container
/// does not say.
///
/// # Errors
///
/// Returns what the container returns, and an error of kind `Limit` if the list is too long for its budget.
pub fn sparse(container: &dyn Container, dataset: Token, info: &DatasetInfo) -> Result<Option<StoredRuns>> {
    if matches!(info.space, Dataspace::Null) || info.space.element_count()? <= MISSING_MIN {
        return Ok(None);
    }
    let total = info.space.element_count()?;
    let is_few = |stored: u64| total - stored.min(total) > MISSING_MIN && total / MISSING_TIMES > stored;
    let mut found = StoredRuns {
        dims: info.space.dims().to_vec(),
        runs: Vec::new(),
        charge: container.budget().empty_charge(),
    };
    if let Layout::Virtual(mappings) = &info.create.layout {
        if !found.mapped(mappings, &is_few)? {
            return Ok(None);
        }
    } else if !found.fill(container, dataset, info, &is_few)? {
        return Ok(None);
    }
    found.join_touching();
    Ok(is_few(found.len()).then_some(found))
}

impl StoredRuns {
    /// Returns what the mappings of a virtual dataset lead to; `false` where that is too much.
    fn mapped(&mut self, mappings: &[VirtualMapping], is_few: &dyn Fn(u64) -> bool) -> Result<bool> {
        let mut elements = 0u64;
        for mapping in mappings {
            let target = mapping.target.clip(&self.dims)?;
            elements = elements.saturating_add(target.element_count(&self.dims)?);
            if !is_few(elements) {
                return Ok(false);
            }
            self.add(&target.runs(&self.dims)?)?;
        }
        Ok(true)
    }

    /// Lists what a container says; `false` where it says nothing, or where that is too much to be worth it.
    fn fill(
        &mut self,
        container: &dyn Container,
        dataset: Token,
        info: &DatasetInfo,
        is_few: &dyn Fn(u64) -> bool,
    ) -> Result<bool> {
        let storage = container.dataset_storage(dataset)?;
        let size = u64::from(info.datatype.size()).max(1);
        if storage.allocation == Allocation::None && !matches!(info.create.layout, Layout::External(_)) {
            return Ok(true);
        }
        match &info.create.layout {
            Layout::Chunked { shape, .. } => match self.chunks(container, dataset, shape, is_few) {
                Err(error) if error.kind() == Kind::Unsupported => {}
                done => return done,
            },
            Layout::External(_) => return Ok(false),
            _ => {}
        }
        match container.stored_blocks(dataset) {
            Ok(blocks) => self.blocks(&blocks).map(|()| true),
            Err(error) if error.kind() == Kind::Unsupported => {
                // One piece that is shorter than the extent is its start.
                self.push(0, storage.bytes / size)?;
                Ok(storage.offset == Some(0) && storage.allocation == Allocation::Part)
            }
            Err(error) => Err(error),
        }
    }

    fn chunks(
        &mut self,
        container: &dyn Container,
        dataset: Token,
        shape: &[u64],
        is_few: &dyn Fn(u64) -> bool,
    ) -> Result<bool> {
        let each = shape.iter().fold(1u64, |n, dim| n.saturating_mul(*dim));
        let (mut listed, mut more) = (0, true);
        while more {
            let page = container.chunk_list(dataset, listed, CHUNKS_PER_PAGE)?;
            listed += page.entries.len() as u64;
            more = page.more && !page.entries.is_empty();
            if !is_few(listed.saturating_mul(each)) {
                return Ok(false);
            }
            page.entries.iter().try_for_each(|ChunkInfo { offset, .. }| self.block(offset, shape))?;
        }
        Ok(true)
    }

    fn blocks(&mut self, blocks: &[StoredBlock]) -> Result<()> {
        let rank = self.dims.len();
        let is_fitting = |block: &StoredBlock| block.start.len() == rank && block.shape.len() == rank;
        if rank == 0 || !blocks.iter().all(is_fitting) {
            return Err(Error::corrupt("list stored blocks").with("blocks", blocks.len()));
        }
        blocks.iter().try_for_each(|block| self.block(&block.start, &block.shape))
    }

    /// Adds the part of a block that is inside of the extent.
    fn block(&mut self, start: &[u64], shape: &[u64]) -> Result<()> {
        let left = start.iter().zip(&self.dims).map(|(at, dim)| dim.saturating_sub(*at));
        let inside: Vec<u64> = left.zip(shape).map(|(left, len)| left.min(*len)).collect();
        if inside.contains(&0) || inside.len() != self.dims.len() {
            return Ok(());
        }
        let runs = Selection::block(start, &inside)?.runs(&self.dims)?;
        self.add(&runs)
    }

    fn add(&mut self, runs: &Runs) -> Result<()> {
        runs.clone().try_for_each(|run| self.push(run.offset, run.len))
    }

    fn push(&mut self, start: u64, len: u64) -> Result<()> {
        if self.runs.len() >= RUNS_MAX {
            return Err(Error::limit("list what is stored").with("runs", RUNS_MAX));
        }
        if self.runs.len() == self.runs.capacity() {
            let more = (self.runs.len() * 2).max(64);
            self.charge.resize(more as u64 * size_of::<(u64, u64)>() as u64, "list of what is stored")?;
            self.runs.reserve_exact(more - self.runs.len());
        }
        self.runs.push((start, len));
        Ok(())
    }

    /// Sorts the runs, and puts together those that touch.
    fn join_touching(&mut self) {
        self.runs.retain(|(_, len)| *len > 0);
        self.runs.sort_unstable();
        self.runs.dedup_by(|next, last| {
            let joins = next.0 <= last.0 + last.1;
            if joins {
                last.1 = last.1.max(next.0 + next.1 - last.0);
            }
            joins
        });
    }

    /// Returns the number of elements that are stored.
    pub fn len(&self) -> u64 {
        self.runs.iter().map(|(_, len)| len).sum()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Returns the first element and the length of each stored run.
    pub fn runs(&self) -> &[(u64, u64)] {
        &self.runs
    }

    /// Returns the first element and the length of each run that is not stored.
    pub fn holes(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let total = self.dims.iter().product::<u64>();
        let starts = std::iter::once(0).chain(self.runs.iter().map(|(start, len)| start + len));
        let ends = self.runs.iter().map(|(start, _)| *start).chain([total]);
        starts.zip(ends).filter(|(start, end)| start < end).map(|(start, end)| (start, end - start))
    }

    /// Returns what this or the other has.
    ///
    /// # Errors
    ///
    /// Returns an error of kind `Limit` if the list is too long for its budget.
    pub fn united(mut self, other: &StoredRuns) -> Result<StoredRuns> {
        other.runs.iter().try_for_each(|(start, len)| self.push(*start, *len))?;
        self.join_touching();
        Ok(self)
    }

    /// Returns all runs as blocks of at most so many elements.
    pub fn blocks_of(&self, elements_max: u64) -> impl Iterator<Item = Block> + Send + use<> {
        let (dims, runs) = (self.dims.clone(), self.runs.clone());
        runs.into_iter().flat_map(move |run| run_blocks(run, &dims, elements_max))
    }
}

impl Block {
    /// Returns the block as a selection.
    ///
    /// # Errors
    ///
    /// Returns an error if the block cannot be counted.
    pub fn selection(&self) -> Result<Selection> {
        Selection::block(&self.start, &self.shape)
    }
}

/// Returns a run of elements in C order as blocks of at most so many elements.
pub fn run_blocks(run: (u64, u64), dims: &[u64], elements_max: u64) -> RunBlocks {
    let mut steps = vec![1u64; dims.len()];
    for d in (1..dims.len()).rev() {
        steps[d - 1] = steps[d].saturating_mul(dims[d]);
    }
    RunBlocks { at: run.0, left: run.1, dims: dims.to_vec(), steps, elements_max: elements_max.max(1) }
}

/// See [`run_blocks`].
#[derive(Debug)]
pub struct RunBlocks {
    at: u64,
    left: u64,
    dims: Vec<u64>,
    /// Elements by which each index steps.
    steps: Vec<u64>,
    elements_max: u64,
}

impl Iterator for RunBlocks {
    type Item = Block;

    fn next(&mut self) -> Option<Block> {
        if self.left == 0 || self.dims.is_empty() || self.dims.contains(&0) {
            return None;
        }
        let mut rest = self.at;
        let index = |step: &u64| {
            let index = rest / step;
            rest %= step;
            index
        };
        let start: Vec<u64> = self.steps.iter().map(index).collect();
        let count = self.left.min(self.elements_max);
        // The outermost dimension of which whole rows fit.
        let fits = |d: &usize| self.steps[*d] <= count && start[d + 1..].iter().all(|at| *at == 0);
        let d = (0..self.dims.len()).find(fits)?;
        let rows = (count / self.steps[d]).min(self.dims[d] - start[d].min(self.dims[d] - 1));
        let mut shape = vec![1; d];
        shape.push(rows);
        shape.extend(&self.dims[d + 1..]);
        let block = Block { first: self.at, start, shape };
        self.at += rows * self.steps[d];
        self.left -= rows * self.steps[d];
        Some(block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_covered_by_few_blocks() {
        for (run, dims) in
            [((0, 24), [2, 3, 4]), ((1, 22), [2, 3, 4]), ((5, 1), [2, 3, 4]), ((11, 13), [2, 3, 4])]
        {
            for elements_max in [1, 3, 5, 100] {
                let blocks: Vec<Block> = run_blocks(run, &dims, elements_max).collect();
                let mut at = run.0;
                for block in &blocks {
                    let runs: Vec<_> = block.selection().unwrap().runs(&dims).unwrap().collect();
                    assert_eq!((runs.len(), runs[0].offset, block.first), (1, at, at), "{block:?}");
                    assert!(runs[0].len <= elements_max);
                    at += runs[0].len;
                }
                assert_eq!(at, run.0 + run.1);
                assert!(elements_max < 100 || blocks.len() <= 5);
            }
        }
    }
}
