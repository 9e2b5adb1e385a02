//! Chunks that changed in part wait in memory: as a rule more of them is to come.
//!
//! A chunk that waits has the fill value wherever it sticks out of the extent. Once written it stays, within the budget,
//! so that the next change need not decode it again.

use std::collections::HashMap;

use model::Result;
use model::spread::Spread;

use super::Writer;
use super::incoming::filters_of;
use crate::chunk;
use crate::format::Address;
use crate::format::layout::{Chunked, Layout};
use crate::object::dataset::Dataset;

/// A chunk in memory.
#[derive(Debug)]
struct Waiting {
    /// Its elements from the first one on. Behind them are zeros, which need not be there before somebody looks.
    data: Vec<u8>,
    /// Bytes of all its elements.
    bytes: usize,
    /// The file has other elements.
    is_changed: bool,
    /// When it was used last.
    used: u64,
    /// Bytes that were put into it.
    put_bytes: usize,
}

impl Waiting {
    /// All elements.
    fn whole(&mut self) -> &mut [u8] {
        if self.data.len() < self.bytes {
            self.data.resize(self.bytes, 0);
        }
        &mut self.data
    }

    fn cost(&self) -> u64 {
        self.bytes as u64 + EXTRA_BYTES
    }
}

/// By scaled coordinates.
type Chunks = HashMap<Vec<u64>, Waiting, Spread>;

/// Chunks in memory, by dataset and scaled coordinates.
#[derive(Debug)]
pub(crate) struct Pending {
    datasets: HashMap<Address, Chunks, Spread>,
    bytes: u64,
    bytes_max: u64,
    clock: u64,
    /// The buffer of a chunk that is gone, for the next one: fresh memory costs more than what is done with it.
    spare: Vec<u8>,
}

/// What a chunk takes besides its elements, roughly.
const EXTRA_BYTES: u64 = 160;

impl Pending {
    pub(crate) fn new(bytes_max: u64) -> Self {
        Pending { datasets: HashMap::default(), bytes: 0, bytes_max, clock: 0, spare: Vec::new() }
    }

    pub(crate) fn has(&self, dataset: Address, scaled: &[u64]) -> bool {
        self.datasets.get(&dataset).is_some_and(|chunks| chunks.contains_key(scaled))
    }

    /// Whether chunks of a dataset must be written before the file can be asked.
    pub(crate) fn is_changed(&self, dataset: Address) -> bool {
        self.datasets.get(&dataset).is_some_and(|chunks| chunks.values().any(|c| c.is_changed))
    }

    /// A chunk's elements, to be looked at.
    pub(crate) fn get(&mut self, dataset: Address, scaled: &[u64]) -> Option<&[u8]> {
        Some(self.datasets.get_mut(&dataset)?.get_mut(scaled)?.whole())
    }

    /// A chunk's elements, to be changed.
    pub(crate) fn change(&mut self, dataset: Address, scaled: &[u64]) -> Option<&mut [u8]> {
        self.entry(dataset, scaled).map(Waiting::whole)
    }

    /// Puts elements into a chunk: `at` where they begin if they lie there in one piece, or as `put` says. Whether as many came
    /// as the chunk has, so that no more are likely to; `None` if the chunk is not here.
    pub(crate) fn put(
        &mut self,
        dataset: Address,
        scaled: &[u64],
        (at, from): (Option<usize>, &[u8]),
        put: impl FnOnce(&mut [u8]) -> Option<()>,
    ) -> Option<bool> {
        let chunk = self.entry(dataset, scaled)?;
        chunk.put_bytes += from.len();
        match at {
            // What follows what is there needs no zeros first.
            Some(at) if at == chunk.data.len() && from.len() <= chunk.bytes - at => {
                chunk.data.extend_from_slice(from);
            }
            _ => put(chunk.whole())?,
        }
        Some(chunk.put_bytes >= chunk.bytes)
    }

    /// A chunk that is about to change.
    fn entry(&mut self, dataset: Address, scaled: &[u64]) -> Option<&mut Waiting> {
        self.clock += 1;
        let chunk = self.datasets.get_mut(&dataset)?.get_mut(scaled)?;
        (chunk.is_changed, chunk.used) = (true, self.clock);
        Some(chunk)
    }

    pub(crate) fn insert(&mut self, dataset: Address, scaled: &[u64], data: Vec<u8>, is_changed: bool) {
        let bytes = data.len();
        self.add(dataset, scaled, Waiting { data, bytes, is_changed, used: 0, put_bytes: 0 });
    }

    /// A chunk of zeros that nobody changed yet.
    pub(crate) fn insert_zeros(&mut self, dataset: Address, scaled: &[u64], bytes: usize) {
        let mut data = std::mem::take(&mut self.spare);
        data.clear();
        data.reserve_exact(bytes);
        self.add(dataset, scaled, Waiting { data, bytes, is_changed: false, used: 0, put_bytes: 0 });
    }

    fn add(&mut self, dataset: Address, scaled: &[u64], mut chunk: Waiting) {
        self.remove(dataset, scaled);
        self.clock += 1;
        self.bytes += chunk.cost();
        chunk.used = self.clock;
        self.datasets.entry(dataset).or_default().insert(scaled.to_vec(), chunk);
    }

    /// A chunk was replaced, or is gone.
    pub(crate) fn remove(&mut self, dataset: Address, scaled: &[u64]) {
        if let Some(chunks) = self.datasets.get_mut(&dataset)
            && let Some(chunk) = chunks.remove(scaled)
        {
            self.bytes -= chunk.cost();
            self.spare = chunk.data;
        }
    }

    /// A dataset is gone.
    pub(crate) fn remove_dataset(&mut self, dataset: Address) {
        for chunk in self.datasets.remove(&dataset).into_iter().flatten() {
            self.bytes -= chunk.1.cost();
        }
    }

    fn is_over_budget(&self) -> bool {
        self.bytes > self.bytes_max
    }

    /// The changed chunks of a dataset, in the order of the grid.
    fn changed(&self, dataset: Address) -> Vec<Vec<u64>> {
        let chunks = self.datasets.get(&dataset).into_iter().flatten();
        let mut changed: Vec<_> = chunks.filter(|(_, c)| c.is_changed).map(|(s, _)| s.clone()).collect();
        changed.sort_unstable();
        changed
    }

    /// The chunks used longest ago, until the others take half of the budget.
    fn oldest(&self) -> Vec<(Address, Vec<u64>)> {
        let of_dataset = |(&at, chunks)| {
            let chunks: &Chunks = chunks;
            chunks.iter().map(move |(scaled, chunk)| (chunk.used, chunk.cost(), at, scaled))
        };
        let mut by_use: Vec<_> = self.datasets.iter().flat_map(of_dataset).collect();
        by_use.sort_unstable();
        let mut bytes = self.bytes;
        let too_many = by_use.into_iter().take_while(|(_, len, _, _)| {
            let goes = bytes > self.bytes_max / 2;
            bytes = bytes.saturating_sub(*len);
            goes
        });
        too_many.map(|(_, _, at, scaled)| (at, scaled.clone())).collect()
    }
}

impl Writer {
    /// Writes the changed chunks of a dataset. Those that cannot be written wait on.
    pub(super) fn flush_chunks(&mut self, dataset: Address) -> Result<()> {
        if !self.chunks.pending.is_changed(dataset) {
            return Ok(());
        }
        let changed = self.chunks.pending.changed(dataset);
        self.flush_some(dataset, &changed)
    }

    /// Writes one chunk, which then no longer waits.
    pub(super) fn settle_chunk(&mut self, dataset: Address, scaled: &[u64]) -> Result<()> {
        self.flush_some(dataset, &[scaled.to_vec()])?;
        self.chunks.pending.remove(dataset, scaled);
        Ok(())
    }

    /// Keeps the memory of chunks below its bound.
    pub(super) fn trim_chunks(&mut self) -> Result<()> {
        if !self.chunks.pending.is_over_budget() {
            return Ok(());
        }
        let mut oldest = self.chunks.pending.oldest();
        oldest.sort_unstable();
        for group in oldest.chunk_by(|a, b| a.0 == b.0) {
            let dataset = group[0].0;
            let chunks = self.chunks.pending.datasets.get(&dataset);
            let is_changed = |s: &&Vec<u64>| chunks.is_some_and(|c| c.get(*s).is_some_and(|c| c.is_changed));
            let changed: Vec<Vec<u64>> = group.iter().map(|(_, s)| s).filter(is_changed).cloned().collect();
            self.flush_some(dataset, &changed)?;
            group.iter().for_each(|(_, scaled)| self.chunks.pending.remove(dataset, scaled));
        }
        Ok(())
    }

    fn flush_some(&mut self, at: Address, changed: &[Vec<u64>]) -> Result<()> {
        let dataset = self.dataset(at)?;
        let Layout::Chunked(layout) = &dataset.layout else { return Ok(()) };
        // Taken out while they are written, since both are the writer's.
        let Some(mut chunks) = self.chunks.pending.datasets.remove(&at) else { return Ok(()) };
        for scaled in changed {
            chunks.get_mut(scaled).map(Waiting::whole);
        }
        let done = self.put_waiting(&dataset, layout, changed, &chunks);
        if done.is_ok() {
            let written =
                |scaled| chunks.get_mut(scaled).into_iter().for_each(|c: &mut Waiting| c.is_changed = false);
            changed.iter().for_each(written);
        }
        self.chunks.pending.datasets.insert(at, chunks);
        done
    }

    fn put_waiting(
        &mut self,
        dataset: &Dataset,
        layout: &Chunked,
        changed: &[Vec<u64>],
        chunks: &Chunks,
    ) -> Result<()> {
        let plain = |scaled: &[u64]| chunks.get(scaled).map_or(&[][..], |chunk| &chunk.data);
        if dataset.filters().is_empty() {
            let mut changed = changed.iter();
            return changed.try_for_each(|s| self.put_chunk(dataset.address, s, plain(s), 0));
        }
        let reader = self.reader.clone();
        let chunk_bytes = chunk::chunk_bytes(&reader, &layout.shape, layout.element_bytes)?;
        self.put_encoded(dataset, changed, chunk_bytes, |scaled, encoded| {
            let filters = filters_of(dataset, layout, scaled, dataset.dims());
            reader.works.with(|work| encoded.set(&reader, filters, plain(scaled), work))
        })
    }
}
