//! The cache of chunks that changed in part. As a rule more of such a chunk is to come: appending rows would otherwise
//! decode and encode a chunk for every row.
//!
//! Connectors store the chunks and say when; this says which ones changed, and which ones go first when memory is short.

use std::collections::HashMap;
use std::hash::Hash;

use model::spread::Spread;

/// A chunk in memory.
#[derive(Debug)]
pub struct PartialChunk {
    /// Its elements from the first one on. The elements that follow are zeros, which need not be there before they are read.
    data: Vec<u8>,
    /// Bytes of all its elements.
    bytes: usize,
    /// Storage has other elements.
    is_changed: bool,
    /// When it was used last.
    used: u64,
    /// Bytes that were put into it.
    put_bytes: usize,
}

impl PartialChunk {
    /// Returns the elements of a chunk that was completed (see [`PartialChunks::take`]).
    pub fn elements(&self) -> &[u8] {
        &self.data
    }

    /// Returns all elements.
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

/// The chunks of one dataset, by chunk coordinates.
pub type DatasetChunks = HashMap<Vec<u64>, PartialChunk, Spread>;

/// Chunks of one dataset that were not used for long.
#[derive(Debug, Default)]
pub struct OldChunks {
    /// Those that must be stored before they are removed.
    pub changed: Vec<Vec<u64>>,
    /// The others.
    pub unchanged: Vec<Vec<u64>>,
}

/// Chunks that changed in part, of all datasets of a container, by dataset and chunk coordinates.
#[derive(Debug)]
pub struct PartialChunks<Id> {
    datasets: HashMap<Id, DatasetChunks, Spread>,
    bytes: u64,
    bytes_max: u64,
    clock: u64,
    /// The buffer of a chunk that was removed, for the next one: fresh memory costs more than what is done with it.
    spare: Vec<u8>,
}

/// Bytes of a chunk besides its elements, roughly.
const EXTRA_BYTES: u64 = 160;

impl<Id: Copy + Ord + Hash> PartialChunks<Id> {
    /// Returns an empty cache with a budget of bytes.
    pub fn new(bytes_max: u64) -> Self {
        PartialChunks { datasets: HashMap::default(), bytes: 0, bytes_max, clock: 0, spare: Vec::new() }
    }

    /// Returns whether a chunk is in the cache.
    pub fn has(&self, dataset: Id, chunk_coords: &[u64]) -> bool {
        self.datasets.get(&dataset).is_some_and(|chunks| chunks.contains_key(chunk_coords))
    }

    /// Returns whether chunks of a dataset must be stored before storage can be read.
    pub fn is_changed(&self, dataset: Id) -> bool {
        self.datasets.get(&dataset).is_some_and(|chunks| chunks.values().any(|c| c.is_changed))
    }

    /// Returns the elements of a chunk, or `None` if it is not in the cache.
    pub fn get(&mut self, dataset: Id, chunk_coords: &[u64]) -> Option<&[u8]> {
        Some(self.datasets.get_mut(&dataset)?.get_mut(chunk_coords)?.whole())
    }

    /// Returns the elements of a chunk that is about to change, or `None` if it is not in the cache.
    pub fn change(&mut self, dataset: Id, chunk_coords: &[u64]) -> Option<&mut [u8]> {
        self.entry(dataset, chunk_coords).map(PartialChunk::whole)
    }

    /// Puts elements into a chunk: at `at` if they lie there in one run, or as `put` does. Returns whether as many came as the
    /// chunk has, so that no more are likely to; `None` if the chunk is not in the cache or `put` fails.
    pub fn put(
        &mut self,
        dataset: Id,
        chunk_coords: &[u64],
        (at, from): (Option<usize>, &[u8]),
        put: impl FnOnce(&mut [u8]) -> Option<()>,
    ) -> Option<bool> {
        let chunk = self.entry(dataset, chunk_coords)?;
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

    /// Returns a chunk that is about to change.
    fn entry(&mut self, dataset: Id, chunk_coords: &[u64]) -> Option<&mut PartialChunk> {
        self.clock += 1;
        let chunk = self.datasets.get_mut(&dataset)?.get_mut(chunk_coords)?;
        (chunk.is_changed, chunk.used) = (true, self.clock);
        Some(chunk)
    }

    /// Adds a chunk with all its elements.
    pub fn insert(&mut self, dataset: Id, chunk_coords: &[u64], data: Vec<u8>, is_changed: bool) {
        let bytes = data.len();
        self.add(dataset, chunk_coords, PartialChunk { data, bytes, is_changed, used: 0, put_bytes: 0 });
    }

    /// Adds a chunk of zeros that did not change yet.
    pub fn insert_zeros(&mut self, dataset: Id, chunk_coords: &[u64], bytes: usize) {
        let mut data = std::mem::take(&mut self.spare);
        data.clear();
        data.reserve_exact(bytes);
        self.add(
            dataset,
            chunk_coords,
            PartialChunk { data, bytes, is_changed: false, used: 0, put_bytes: 0 },
        );
    }

    fn add(&mut self, dataset: Id, chunk_coords: &[u64], mut chunk: PartialChunk) {
        self.remove(dataset, chunk_coords);
        self.clock += 1;
        self.bytes += chunk.cost();
        chunk.used = self.clock;
        self.datasets.entry(dataset).or_default().insert(chunk_coords.to_vec(), chunk);
    }

    /// Removes a chunk: it was replaced, or is gone.
    pub fn remove(&mut self, dataset: Id, chunk_coords: &[u64]) {
        if let Some(chunks) = self.datasets.get_mut(&dataset)
            && let Some(chunk) = chunks.remove(chunk_coords)
        {
            self.bytes -= chunk.cost();
            self.spare = chunk.data;
        }
    }

    /// Removes the chunks of a dataset.
    pub fn remove_dataset(&mut self, dataset: Id) {
        for chunk in self.datasets.remove(&dataset).into_iter().flatten() {
            self.bytes -= chunk.1.cost();
        }
    }

    /// Returns the datasets that have chunks in the cache.
    pub fn datasets(&self) -> Vec<Id> {
        self.datasets.keys().copied().collect()
    }

    /// Returns the bytes of all chunks.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns whether the chunks take more than the budget: then those of [`PartialChunks::oldest`] go.
    pub fn is_over_budget(&self) -> bool {
        self.bytes > self.bytes_max
    }

    /// Returns the changed chunks of a dataset, in the order of the grid.
    pub fn changed(&self, dataset: Id) -> Vec<Vec<u64>> {
        let chunks = self.datasets.get(&dataset).into_iter().flatten();
        let mut changed: Vec<_> = chunks.filter(|(_, c)| c.is_changed).map(|(s, _)| s.clone()).collect();
        changed.sort_unstable();
        changed
    }

    /// Returns the chunks that were used longest ago, until the others take half of the budget, by dataset and in the order of
    /// the grid.
    pub fn oldest(&self) -> Vec<(Id, OldChunks)> {
        let of_dataset = |(&id, chunks)| {
            let chunks: &DatasetChunks = chunks;
            chunks.iter().map(move |(coords, chunk)| (chunk.used, chunk.cost(), id, coords, chunk.is_changed))
        };
        let mut by_use: Vec<_> = self.datasets.iter().flat_map(of_dataset).collect();
        by_use.sort_unstable();
        let mut bytes = self.bytes;
        let too_many = by_use.into_iter().take_while(|(_, cost, ..)| {
            let goes = bytes > self.bytes_max / 2;
            bytes = bytes.saturating_sub(*cost);
            goes
        });
        let mut old: Vec<_> = too_many.map(|(_, _, id, coords, changed)| (id, coords, changed)).collect();
        old.sort_unstable();
        old.chunk_by(|a, b| a.0 == b.0).map(|of_one| (of_one[0].0, OldChunks::of(of_one))).collect()
    }

    /// Takes out the chunks of a dataset while some of them are stored, with all elements of these.
    /// [`PartialChunks::put_back`] must follow.
    pub fn take(&mut self, dataset: Id, stored: &[Vec<u64>]) -> Option<DatasetChunks> {
        let mut chunks = self.datasets.remove(&dataset)?;
        for chunk_coords in stored {
            chunks.get_mut(chunk_coords).map(PartialChunk::whole);
        }
        Some(chunks)
    }

    /// Puts the chunks of a dataset back, after those in `stored` were stored: they did not change since.
    pub fn put_back(&mut self, dataset: Id, mut chunks: DatasetChunks, stored: &[Vec<u64>]) {
        for chunk_coords in stored {
            chunks.get_mut(chunk_coords).into_iter().for_each(|chunk| chunk.is_changed = false);
        }
        self.datasets.insert(dataset, chunks);
    }
}

impl OldChunks {
    fn of<Id>(chunks: &[(Id, &Vec<u64>, bool)]) -> Self {
        let mut old = OldChunks::default();
        for (_, chunk_coords, is_changed) in chunks {
            let list = if *is_changed { &mut old.changed } else { &mut old.unchanged };
            list.push((*chunk_coords).clone());
        }
        old
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_longest_ago_goes_first() {
        let mut cache = PartialChunks::new(4 * (100 + EXTRA_BYTES));
        for n in 0..5 {
            cache.insert(n % 2, &[n], vec![1; 100], n == 1);
        }
        assert!(cache.is_over_budget());
        cache.change(0, &[0]).unwrap()[0] = 2;
        let old = cache.oldest();
        let of =
            |id| old.iter().find(|(of, _)| *of == id).map(|(_, old)| (&old.changed[..], &old.unchanged[..]));
        assert_eq!(of(0), Some((&[][..], &[vec![2]][..])));
        assert_eq!(of(1), Some((&[vec![1]][..], &[vec![3]][..])));
        for (id, old) in cache.oldest() {
            old.changed.iter().chain(&old.unchanged).for_each(|chunk| cache.remove(id, chunk));
        }
        assert_eq!(cache.bytes(), 2 * (100 + EXTRA_BYTES));
        assert_eq!(cache.changed(0), [vec![0]]);
    }

    #[test]
    fn chunks_of_zeros_are_as_long_as_what_came() {
        let mut cache = PartialChunks::new(1000);
        cache.insert_zeros(7, &[0, 0], 8);
        assert_eq!(cache.put(7, &[0, 0], (Some(0), &[1, 2]), |_| None), Some(false));
        assert!(cache.is_changed(7));
        let chunks = cache.take(7, &cache.changed(7)).unwrap();
        assert_eq!(chunks[&vec![0, 0]].elements(), [1, 2, 0, 0, 0, 0, 0, 0]);
        cache.put_back(7, chunks, &[vec![0, 0]]);
        assert!(!cache.is_changed(7) && cache.has(7, &[0, 0]));
    }
}
