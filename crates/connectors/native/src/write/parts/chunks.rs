//! The chunks of a dataset: changes, over the index in the file.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{Error, Result, Token};

use super::{HeaderPart, is_few};
use crate::chunk::index::{ChunkAt, Chunks};
use crate::format::Address;
use crate::format::layout::{Chunked, Layout};
use crate::object::dataset::Dataset;
use crate::object::footprint::Ranges;
use crate::reader::Reader;

/// Once one of so many chunks of the index was asked for, all of them are read.
const ASKED_SHARE: u64 = 64;

/// Chunks by their chunk coordinates.
pub(crate) type ChunkMap = BTreeMap<Vec<u64>, ChunkAt>;

/// Chunks that are new, moved or removed, by their chunk coordinates.
pub(crate) type ChunkChanges = BTreeMap<Vec<u64>, Option<ChunkAt>>;

/// Where the chunks of a dataset are.
#[derive(Debug)]
pub(crate) struct ChunkSet {
    /// The dataset as the file has it.
    stored: Arc<Dataset>,
    /// All chunks of the index of the file, once many of them were asked for.
    loaded: Option<ChunkMap>,
    /// Chunks that were asked for.
    asked: u64,
    changes: ChunkChanges,
    pub(crate) filtered: bool,
    /// Bytes of a chunk without filters.
    pub(crate) chunk_bytes: u64,
}

impl ChunkSet {
    /// Returns the chunks of a dataset, whose header is in the file.
    pub(crate) fn load(reader: &Reader, address: Address) -> Result<HeaderPart<ChunkSet>> {
        let stored = reader.dataset(Token::from_u64(address.0))?;
        let index = Chunks::open(reader, &stored, layout(&stored)?)?;
        let (filtered, chunk_bytes) = (index.filtered, index.chunk_bytes);
        let set = ChunkSet {
            stored: stored.clone(),
            loaded: None,
            asked: 0,
            changes: BTreeMap::new(),
            filtered,
            chunk_bytes,
        };
        Ok(HeaderPart::stored(set, Vec::new()))
    }

    pub(crate) fn max_dims(&self) -> &[u64] {
        self.stored.info.space.max_dims()
    }

    /// Returns the number of bytes of memory, roughly.
    pub(crate) fn weight(&self) -> usize {
        120 * (self.changes.len() + self.loaded.as_ref().map_or(0, BTreeMap::len))
    }

    /// Returns the index of the file; nothing where there is none.
    fn index<'r>(&'r self, reader: &'r Reader) -> Result<Option<Chunks<'r>>> {
        let layout = layout(&self.stored)?;
        layout.address.map(|_| Chunks::open(reader, &self.stored, layout)).transpose()
    }

    pub(crate) fn get(&mut self, reader: &Reader, chunk_coords: &[u64]) -> Result<Option<ChunkAt>> {
        match self.changes.get(chunk_coords) {
            Some(chunk) => Ok(*chunk),
            None => self.get_stored(reader, chunk_coords),
        }
    }

    fn get_stored(&mut self, reader: &Reader, chunk_coords: &[u64]) -> Result<Option<ChunkAt>> {
        if let Some(loaded) = &self.loaded {
            return Ok(loaded.get(chunk_coords).copied());
        }
        let Some(index) = self.index(reader)? else { return Ok(None) };
        let (found, count) = (index.find(chunk_coords)?, index.count_hint()?);
        self.asked += 1;
        if self.asked.saturating_mul(ASKED_SHARE) > count {
            self.load_all(reader)?;
        }
        Ok(found)
    }

    /// Reads the whole index.
    fn load_all(&mut self, reader: &Reader) -> Result<&ChunkMap> {
        if self.loaded.is_none() {
            let mut chunks = ChunkMap::new();
            if let Some(index) = self.index(reader)? {
                index.walk(&mut |chunk_coords, chunk| {
                    chunks.insert(chunk_coords.to_vec(), chunk);
                    Ok(())
                })?;
            }
            self.loaded = Some(chunks);
        }
        Ok(self.loaded.get_or_insert_default())
    }

    /// Sets where a chunk is, or that it is gone; where it was.
    pub(crate) fn set(
        &mut self,
        reader: &Reader,
        chunk_coords: &[u64],
        chunk: Option<ChunkAt>,
    ) -> Result<Option<ChunkAt>> {
        let old = self.get(reader, chunk_coords)?;
        self.changes.insert(chunk_coords.to_vec(), chunk);
        Ok(old)
    }

    /// Returns whether no chunk is stored.
    pub(crate) fn is_empty(&mut self, reader: &Reader) -> Result<bool> {
        if self.changes.values().any(Option::is_some) {
            return Ok(false);
        }
        let has_index = layout(&self.stored)?.address.is_some();
        Ok(!has_index || self.all(reader)?.is_empty())
    }

    /// Returns all chunks.
    pub(crate) fn all(&mut self, reader: &Reader) -> Result<ChunkMap> {
        let mut all = self.load_all(reader)?.clone();
        for (chunk_coords, chunk) in &self.changes {
            match chunk {
                Some(chunk) => all.insert(chunk_coords.clone(), *chunk),
                None => all.remove(chunk_coords),
            };
        }
        Ok(all)
    }

    /// Returns the changes since the index was written, if they are put in their places: since they are few, or since
    /// it must stay.
    pub(crate) fn changes_to_put(&self, reader: &Reader, stays: bool) -> Result<Option<&ChunkChanges>> {
        let Some(index) = self.index(reader)? else { return Ok(None) };
        let puts = stays || is_few(self.changes.len(), index.count_hint()?);
        Ok(puts.then_some(&self.changes))
    }

    /// Returns the blocks of the index of the file.
    pub(crate) fn blocks(&self, reader: &Reader) -> Result<Ranges> {
        self.index(reader)?.map_or(Ok(Vec::new()), |index| index.blocks())
    }
}

fn layout(dataset: &Dataset) -> Result<&Chunked> {
    match &dataset.layout {
        Layout::Chunked(layout) => Ok(layout),
        _ => Err(Error::invalid("write chunk").with("problem", "dataset is not chunked")),
    }
}
