//! Chunks: each has a dkey, with its elements as records or, with filters, as one value.

use std::ops::Range;

use keyed::{ChunkRead, ChunkWrite, Chunks, Dataset, During, Objects, StoredChunk, fetched};
use model::{Error, Result};
use objects::{Change, Condition, Fetch, ObjectId, Phase, Size, Update};

use crate::ObjectMapping;
use crate::keys::{self, ELEMENTS, FILTER_MASK};
use crate::listing;
use crate::mapping::unless_changed;

fn dkeys_of(starts: &[&[u64]]) -> Vec<Vec<u8>> {
    starts.iter().map(|start| keys::chunk(start)).collect()
}

/// Returns the changes that store a chunk. `mask` is its filter mask as it is stored.
fn chunk_changes<'a>((mask, bytes): &'a StoredChunk, stored: &'a [u8; 4]) -> [Change<'a>; 2] {
    let mask = match mask {
        0 => Change::Punch(FILTER_MASK),
        _ => Change::Single(FILTER_MASK, stored),
    };
    [Change::Single(ELEMENTS, bytes), mask]
}

fn mask_of(stored: Option<Vec<u8>>) -> Result<u32> {
    stored.map_or(Ok(0), |mask| {
        let mask = mask.try_into().map(u32::from_le_bytes);
        mask.map_err(|_| Error::corrupt("read filter mask"))
    })
}

impl ObjectMapping {
    fn update_chunks(&self, id: ObjectId, dkeys: &[Vec<u8>], changes: &[Vec<Change<'_>>]) -> Result<()> {
        let update =
            |(dkey, changes)| Update { object: id, dkey, changes, conditions: &[], phase: Phase::Content };
        let dkeys = dkeys.iter().map(Vec::as_slice);
        let updates: Vec<Update<'_>> = dkeys.zip(changes.iter().map(Vec::as_slice)).map(update).collect();
        self.update_all(&updates).during("write elements")
    }
}

impl Chunks for ObjectMapping {
    fn is_remote(&self) -> bool {
        self.is_concurrent()
    }

    fn fetch(&self, id: ObjectId, dataset: &Dataset, reads: &mut [ChunkRead<'_>]) -> Result<()> {
        let record_size = dataset.element_bytes() as u32;
        let dkeys: Vec<Vec<u8>> = reads.iter().map(|read| keys::chunk(read.start)).collect();
        let mut fetches: Vec<Fetch<'_>> = reads
            .iter_mut()
            .zip(&dkeys)
            .map(|(read, dkey)| Fetch {
                object: id,
                dkey,
                akey: ELEMENTS,
                record_size,
                start: read.first,
                into: read.into,
            })
            .collect();
        self.store.fetch(&mut fetches).map_err(|error| fetched("read elements", &error))
    }

    fn update(&self, id: ObjectId, dataset: &Dataset, writes: &[ChunkWrite<'_>]) -> Result<()> {
        let record_size = dataset.element_bytes() as u32;
        let dkeys: Vec<Vec<u8>> = writes.iter().map(|write| keys::chunk(write.start)).collect();
        let records = |&(start, bytes)| Change::Records { akey: ELEMENTS, record_size, start, bytes };
        let changes: Vec<Vec<Change<'_>>> =
            writes.iter().map(|write| write.runs.iter().map(records).collect()).collect();
        self.update_chunks(id, &dkeys, &changes)
    }

    fn punch(&self, id: ObjectId, start: &[u64], ranges: &[Range<u64>]) -> Result<()> {
        let punch = |range: &Range<u64>| Change::PunchRecords { akey: ELEMENTS, range: range.clone().into() };
        self.update_chunks(id, &[keys::chunk(start)], &[ranges.iter().map(punch).collect()])
    }

    fn stored(
        &self,
        id: ObjectId,
        _dataset: &Dataset,
        starts: &[&[u64]],
    ) -> Result<Vec<Option<StoredChunk>>> {
        let dkeys = dkeys_of(starts);
        let both = |dkey| [(id, dkey, ELEMENTS), (id, dkey, FILTER_MASK)];
        let wanted: Vec<_> = dkeys.iter().flat_map(|dkey| both(&dkey[..])).collect();
        let found = self.store.get_many(&wanted).during("read chunks")?;
        let mut chunks = Vec::with_capacity(starts.len());
        let mut values = found.into_iter();
        while let (Some(bytes), Some(mask)) = (values.next(), values.next()) {
            let mask = mask_of(mask)?;
            chunks.push(bytes.map(|bytes| (mask, bytes)));
        }
        Ok(chunks)
    }

    fn replace(
        &self,
        id: ObjectId,
        _dataset: &Dataset,
        start: &[u64],
        old: Option<&StoredChunk>,
        new: StoredChunk,
    ) -> Result<bool> {
        let (dkey, mask) = (keys::chunk(start), new.0.to_le_bytes());
        let conditions = [match old {
            Some((_, bytes)) => Condition::Equals(ELEMENTS, bytes),
            None => Condition::Absent(ELEMENTS),
        }];
        let (changes, phase) = (chunk_changes(&new, &mask), Phase::Content);
        let update = Update { object: id, dkey: &dkey, changes: &changes, conditions: &conditions, phase };
        unless_changed(self.store.update_now(&update), "write elements")
    }

    fn store(
        &self,
        id: ObjectId,
        _dataset: &Dataset,
        starts: &[&[u64]],
        chunks: &[StoredChunk],
    ) -> Result<()> {
        let masks: Vec<[u8; 4]> = chunks.iter().map(|(mask, _)| mask.to_le_bytes()).collect();
        let changes = chunks.iter().zip(&masks).map(|(chunk, mask)| chunk_changes(chunk, mask).to_vec());
        self.update_chunks(id, &dkeys_of(starts), &changes.collect::<Vec<_>>())
    }

    fn stored_sizes(&self, id: ObjectId, _dataset: &Dataset, starts: &[&[u64]]) -> Result<Vec<(u32, u64)>> {
        let dkeys = dkeys_of(starts);
        let wanted: Vec<_> = dkeys.iter().map(|dkey| (id, &dkey[..], FILTER_MASK)).collect();
        let masks = self.store.get_many(&wanted).during("list chunks")?;
        let mut sizes = Vec::with_capacity(starts.len());
        for (dkey, mask) in dkeys.iter().zip(masks) {
            let bytes = match self.store.size(id, dkey, ELEMENTS).during("list chunks")? {
                Some(Size::Single(bytes)) => bytes,
                _ => 0,
            };
            sizes.push((mask_of(mask)?, bytes));
        }
        Ok(sizes)
    }

    fn has(&self, id: ObjectId, _dataset: &Dataset, start: &[u64]) -> Result<bool> {
        Ok(self.store.size(id, &keys::chunk(start), ELEMENTS).during("read chunk")?.is_some())
    }

    fn remove(&self, id: ObjectId, _dataset: &Dataset, start: &[u64]) -> Result<()> {
        self.store.punch_dkey(id, &keys::chunk(start), Phase::Content).during("cut dataset")
    }

    fn starts(&self, id: ObjectId, dataset: &Dataset) -> Result<Vec<Vec<u64>>> {
        let rank = dataset.shape.len();
        let dkeys = listing::dkeys(&*self.store, id, &[0])?;
        let mut found: Vec<_> = dkeys.iter().filter_map(|dkey| keys::chunk_start(dkey, rank)).collect();
        found.sort_unstable();
        Ok(found)
    }
}
