//! Elements part by part: a read ends soon after its client left or its time passed, and not all need be in memory.

use std::ops::Range;
use std::sync::Arc;

use hyperslab::vol::algorithms::transfer::Elements;
use hyperslab::vol::model::Heap;
use hyperslab::vol::model::convert::Conversions;
use hyperslab::vol::{DatasetInfo, Transfer};
use hyperslab::{Dataset, Datatype, Selection};

use crate::answer::Failure;
use crate::call::Call;
use crate::elements::axis::{Axis, selection};
use crate::elements::cuts::{self, Cuts};
use crate::elements::work::{Blocks, TILE_BYTES};

/// Bytes of elements that are handed on at once, in the larger of their two forms.
const BAND_BYTES: u64 = 16 << 20;

/// Elements of a dataset that a request reads.
pub(crate) struct Reading<'c> {
    call: &'c Call<'c>,
    dataset: &'c Dataset,
    /// The type in memory.
    memory: &'c Datatype,
    info: Arc<DatasetInfo>,
    conversions: Conversions,
    axes: Vec<Axis>,
    blocks: Blocks,
}

impl<'c> Reading<'c> {
    /// Returns all combinations of the elements of each dimension, as a type in memory.
    pub(crate) fn new(
        call: &'c Call<'c>,
        dataset: &'c Dataset,
        axes: Vec<Axis>,
        memory: &'c Datatype,
    ) -> Self {
        let (info, conversions) = (dataset.dataset_info(), Conversions::default());
        Reading { call, dataset, memory, info, conversions, axes, blocks: Blocks::of(dataset) }
    }

    /// Returns the number of elements; `u64::MAX` where it is larger.
    fn count(&self) -> u64 {
        product(self.axes.iter().map(Axis::count))
    }

    /// Returns the bytes of the blocks that it takes, in so far as they are stored. Beyond `bytes_max` it is a bound.
    pub(crate) fn work(&self, bytes_max: u64) -> u64 {
        self.blocks.work(self.dataset, product(self.blocks.touched(&self.axes)), bytes_max)
    }

    /// Returns a failure with the status 413 if more bytes are to be decoded than a request may.
    pub(crate) fn check_work(&self) -> Result<(), Failure> {
        self.call.check_work(self.work(self.call.limits.decoded_bytes_max))
    }

    /// Returns all elements in C order. The caller has the memory.
    ///
    /// # Errors
    /// Returns the first failure: of the container, of too much work, or because the client left or the time passed.
    pub(crate) fn packed(&self, heap: &mut Heap) -> Result<Vec<u8>, Failure> {
        self.check_work()?;
        self.packed_unchecked(heap)
    }

    fn packed_unchecked(&self, heap: &mut Heap) -> Result<Vec<u8>, Failure> {
        let each = self.memory.size() as usize;
        let mut out = vec![0; self.count().saturating_mul(each as u64) as usize];
        if out.is_empty() {
            return Ok(out);
        }
        let target = Target { counts: self.axes.iter().map(Axis::count).collect(), each };
        // Elements of a list are looked at one by one: no more than are handed on at once.
        let is_regular = self.axes.iter().all(|axis| matches!(axis, Axis::Regular { .. }));
        let elements_max = if is_regular { u64::MAX } else { self.elements_max() };
        cuts::each(&self.tiles(elements_max), |tile| {
            self.call.check_cancelled()?;
            match target.run(tile) {
                Some(range) => self.read(tile, &mut out[range], heap),
                None => {
                    let mut part = vec![0; product(tile.iter().map(len)) as usize * each];
                    self.read(tile, &mut part, heap)?;
                    target.scatter(tile, &part, &mut out)
                }
            }
        })?;
        Ok(out)
    }

    /// Calls `take` with elements and the heap of their values, tile by tile. Tiles are not in C order, except of one axis.
    ///
    /// # Errors
    /// Returns what [`Reading::packed`] returns, and the first failure of `take`.
    pub(crate) fn each_tile(
        &self,
        mut take: impl FnMut(&[u8], &Heap) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.check_work()?;
        cuts::each(&self.tiles(self.elements_max()), |tile| self.strips(&self.part(tile), &mut take))
    }

    /// Calls `take` with elements and the heap of their values, in C order.
    ///
    /// # Errors
    /// Returns what [`Reading::packed`] returns, and the first failure of `take`.
    pub(crate) fn in_order(
        &self,
        mut take: impl FnMut(&[u8], &Heap) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let bands = cuts::bands(&self.axes, &self.blocks.shape, self.elements_max());
        self.check_bands(&bands)?;
        cuts::each(&bands, |band| {
            let part = self.part(band);
            if cuts::tiles(&part, &self.blocks.shape, self.tile_blocks()).iter().all(|cuts| cuts.len() == 1) {
                return self.strips(&part, &mut take);
            }
            let mut heap = Heap::new();
            heap.charge_to(&self.dataset.container().budget())?;
            let reading = Reading::new(self.call, self.dataset, part, self.memory);
            let elements = reading.packed_unchecked(&mut heap)?;
            take(&elements, &heap)
        })
    }

    /// Refuses bands that take too much work. A block in several bands is decoded for each.
    fn check_bands(&self, bands: &Cuts) -> Result<(), Failure> {
        let touched = |(at, parts): (usize, &Vec<Range<u64>>)| {
            let blocks = |part: &Range<u64>| self.axes[at].part(part.clone()).blocks(self.blocks.shape[at]);
            parts.iter().map(blocks).fold(0, u64::saturating_add)
        };
        let all = product(bands.iter().enumerate().map(touched));
        self.call.check_work(self.blocks.work(self.dataset, all, self.call.limits.decoded_bytes_max))
    }

    /// Reads a part in strips.
    fn strips(
        &self,
        part: &[Axis],
        take: &mut impl FnMut(&[u8], &Heap) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.call.check_cancelled()?;
        self.elements(&selection(part)?).read_strips(self.memory, |bytes, heap| {
            self.call.check_cancelled()?;
            take(bytes, heap)
        })
    }

    fn read(&self, tile: &[Range<u64>], into: &mut [u8], heap: &mut Heap) -> Result<(), Failure> {
        Ok(self.elements(&selection(&self.part(tile))?).read(self.memory, into, heap)?)
    }

    fn part(&self, part: &[Range<u64>]) -> Vec<Axis> {
        self.axes.iter().zip(part).map(|(axis, range)| axis.part(range.clone())).collect()
    }

    fn elements<'a>(&'a self, selection: &'a Selection) -> Elements<'a> {
        Elements {
            container: self.dataset.container().as_ref(),
            dataset: self.dataset.token(),
            file_type: &self.info.datatype,
            space: &self.info.space,
            selection,
            conversions: &self.conversions,
            transfer: Transfer::Independent,
        }
    }

    /// Returns how many elements are handed on at once.
    fn elements_max(&self) -> u64 {
        let each = self.info.datatype.size().max(self.memory.size()).max(1);
        (BAND_BYTES / u64::from(each)).max(1)
    }

    fn tile_blocks(&self) -> u64 {
        TILE_BYTES / self.blocks.bytes
    }

    /// Returns tiles that have about `elements_max` elements at most, if that is one block or more.
    fn tiles(&self, elements_max: u64) -> Cuts {
        let touched = product(self.blocks.touched(&self.axes)).max(1);
        let in_block = self.count().div_ceil(touched).max(1);
        cuts::tiles(&self.axes, &self.blocks.shape, self.tile_blocks().min(elements_max / in_block))
    }
}

fn len(range: &Range<u64>) -> u64 {
    range.end - range.start
}

/// Returns a product; `u64::MAX` where it is larger.
pub(crate) fn product(numbers: impl IntoIterator<Item = u64>) -> u64 {
    numbers.into_iter().fold(1, u64::saturating_mul)
}

/// Elements in C order, in memory.
struct Target {
    counts: Vec<u64>,
    /// Bytes of an element.
    each: usize,
}

impl Target {
    /// Returns the first axis from which on a tile has all elements that follow each other.
    fn run_axis(&self, tile: &[Range<u64>]) -> usize {
        let is_whole = |at: &usize| len(&tile[*at]) == self.counts[*at];
        (0..tile.len()).rev().find(|at| !is_whole(at)).unwrap_or(0)
    }

    /// Returns the bytes of a tile, if they follow each other.
    fn run(&self, tile: &[Range<u64>]) -> Option<Range<usize>> {
        let is_one = tile[..self.run_axis(tile)].iter().all(|range| len(range) == 1);
        let bytes = product(tile.iter().map(len)) as usize * self.each;
        let first = self.offset(tile.iter().map(|range| range.start));
        is_one.then(|| first..first + bytes)
    }

    fn offset(&self, at: impl Iterator<Item = u64>) -> usize {
        at.zip(&self.counts).fold(0, |offset, (at, count)| offset * *count as usize + at as usize) * self.each
    }

    /// Puts the elements of a tile where they belong.
    fn scatter(&self, tile: &[Range<u64>], part: &[u8], out: &mut [u8]) -> Result<(), Failure> {
        let axis = self.run_axis(tile);
        let bytes = product(tile[axis..].iter().map(len)) as usize * self.each;
        let mut runs = part.chunks_exact(bytes);
        let single = |range: &Range<u64>| range.clone().map(|at| at..at + 1).collect();
        let rows: Cuts = tile[..axis].iter().map(single).collect();
        cuts::each(&rows, |row| {
            let first = self.offset(row.iter().chain(&tile[axis..]).map(|range| range.start));
            if let (Some(run), Some(out)) = (runs.next(), out.get_mut(first..first + bytes)) {
                out.copy_from_slice(run);
            }
            Ok(())
        })
    }
}
