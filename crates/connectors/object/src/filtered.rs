//! Chunks with filters: each is one value, made and undone on all cores.

use std::sync::Arc;

use model::properties::Layout;
use model::{Error, Result, Within};
use objects::{Change, ObjectId, Phase, Store, Update};

use crate::described::{Dataset, Described};
use crate::elements::{each, map};
use crate::error::During;
use crate::keys::{ELEMENTS, FILTER_MASK};
use crate::opening::{Opening, update_all};
use crate::parts::{Part, split};
use crate::pending::Waiting;

/// A chunk as it is stored: its filter mask and its bytes.
pub(crate) type Stored = (u32, Vec<u8>);

impl Opening {
    /// Chunks as they are stored; `None` where nothing is.
    pub(crate) fn stored_chunks(&self, id: ObjectId, dkeys: &[&[u8]]) -> Result<Vec<Option<Stored>>> {
        let wanted: Vec<_> =
            dkeys.iter().flat_map(|dkey| [(id, *dkey, ELEMENTS), (id, *dkey, FILTER_MASK)]).collect();
        let found = self.store().get_many(&wanted).during("read chunks")?;
        let mut chunks = Vec::with_capacity(dkeys.len());
        let mut values = found.into_iter();
        while let (Some(bytes), Some(mask)) = (values.next(), values.next()) {
            let mask = mask.map_or(Ok(0), |mask| {
                let mask = mask.try_into().map(u32::from_le_bytes);
                mask.map_err(|_| Error::corrupt("read filter mask"))
            })?;
            chunks.push(bytes.map(|bytes| (mask, bytes)));
        }
        Ok(chunks)
    }

    pub(crate) fn decode_parts(
        &self,
        id: ObjectId,
        dataset: &Dataset,
        parts: &[Part],
        into: &mut [u8],
    ) -> Result<()> {
        self.shared.settle(id)?;
        let (element_bytes, bytes) = (dataset.element_bytes(), into.len());
        let dkeys: Vec<&[u8]> = parts.iter().map(|part| &part.dkey[..]).collect();
        let stored = self.stored_chunks(id, &dkeys)?;
        let rooms = split(parts, element_bytes, into);
        let jobs: Vec<_> = parts.iter().zip(stored).zip(rooms).collect();
        each(jobs, bytes.saturating_mul(4), |((part, stored), mut rooms)| {
            let Some((mask, stored)) = stored else {
                rooms.iter_mut().for_each(|room| dataset.fill(room));
                return Ok(());
            };
            if let [room] = &mut rooms[..]
                && room.len() == dataset.chunk_bytes()
            {
                return pipeline::undo(dataset.filters(), mask, &stored, room);
            }
            let chunk = undone(dataset, mask, &stored)?;
            for (run, room) in part.runs.iter().zip(rooms) {
                let at = run.chunk_offset as usize * element_bytes;
                room.copy_from_slice(&chunk[at..at + room.len()]);
            }
            Ok(())
        })
    }

    /// Writes chunks: whole ones go through their filters now, others wait.
    pub(crate) fn encode_parts(
        &self,
        described: &Arc<Described>,
        dataset: &Dataset,
        parts: &[Part],
        from: &[u8],
    ) -> Result<()> {
        let (id, dims) = (described.id, dataset.info.space.dims());
        pipeline::check(dataset.filters())?;
        let is_whole =
            |part: &&Part| part.elements() == part.inside(dims, &dataset.shape).iter().product::<u64>();
        let (whole, partial): (Vec<&Part>, Vec<&Part>) = parts.iter().partition(is_whole);
        let dkeys: Vec<&[u8]> = whole.iter().map(|part| &part.dkey[..]).collect();
        let made = map(whole, from.len().saturating_mul(4), |part| filtered(dataset, part, from))?;
        put_chunks(self.store(), id, &dkeys, &made)?;
        let mut pending = self.shared.pending();
        dkeys.iter().for_each(|dkey| pending.remove(id, dkey));
        for part in partial {
            if pending.get(id, &part.dkey).is_none() {
                let waiting = self.waiting(id, dataset, part)?;
                pending.put(described, &part.dkey, waiting);
            }
            if let Some(waiting) = pending.get(id, &part.dkey) {
                put_runs(dataset, part, from, &mut waiting.elements);
            }
            if pending.is_full() {
                for id in pending.datasets() {
                    pending.settle(self.store(), id)?;
                    self.shared.listings.changed(id);
                }
            }
        }
        Ok(())
    }

    /// A chunk as it is stored, without its filters.
    fn waiting(&self, id: ObjectId, dataset: &Dataset, part: &Part) -> Result<Waiting> {
        let is_inside = part.inside(dataset.info.space.dims(), &dataset.shape) == dataset.shape;
        let elements = match self.stored_chunks(id, &[&part.dkey])?.pop().flatten() {
            Some((mask, stored)) => undone(dataset, mask, &stored)?,
            None => filled(dataset),
        };
        Ok(Waiting { is_inside, elements })
    }
}

/// Stores chunks as they are.
pub(crate) fn put_chunks(store: &dyn Store, id: ObjectId, dkeys: &[&[u8]], chunks: &[Stored]) -> Result<()> {
    let masks: Vec<[u8; 4]> = chunks.iter().map(|(mask, _)| mask.to_le_bytes()).collect();
    let changes: Vec<[Change<'_>; 2]> = chunks
        .iter()
        .zip(&masks)
        .map(|((mask, bytes), stored)| {
            let mask = match mask {
                0 => Change::Punch(FILTER_MASK),
                _ => Change::Single(FILTER_MASK, stored),
            };
            [Change::Single(ELEMENTS, bytes), mask]
        })
        .collect();
    let updates: Vec<Update<'_>> = dkeys
        .iter()
        .zip(&changes)
        .map(|(dkey, changes)| Update { object: id, dkey, changes, conditions: &[], phase: Phase::Content })
        .collect();
    update_all(store, &updates).during("write chunks")
}

/// A chunk from what is stored.
pub(crate) fn undone(dataset: &Dataset, mask: u32, stored: &[u8]) -> Result<Vec<u8>> {
    let mut chunk = vec![0; (dataset.chunk_bytes() as u64).within(u64::MAX, "chunk")?];
    pipeline::undo(dataset.filters(), mask, stored, &mut chunk)?;
    Ok(chunk)
}

/// What is stored of a chunk, which may stick out of the extent.
pub(crate) fn applied(dataset: &Dataset, is_inside: bool, chunk: &[u8]) -> Result<Stored> {
    let keeps_edges =
        matches!(dataset.info.create.layout, Layout::Chunked { edge_chunks_unfiltered: true, .. });
    if keeps_edges && !is_inside {
        return Ok((pipeline::mask_of_none(dataset.filters()), chunk.to_vec()));
    }
    let (bytes, mask) = pipeline::apply(dataset.filters(), chunk)?;
    Ok((mask, bytes))
}

/// A chunk that nobody wrote.
fn filled(dataset: &Dataset) -> Vec<u8> {
    let mut chunk = vec![0; dataset.chunk_bytes()];
    dataset.fill(&mut chunk);
    chunk
}

fn put_runs(dataset: &Dataset, part: &Part, from: &[u8], chunk: &mut [u8]) {
    let element_bytes = dataset.element_bytes();
    for run in &part.runs {
        let (at, len) = (run.chunk_offset as usize * element_bytes, run.len as usize * element_bytes);
        let packed = run.selection_offset as usize * element_bytes;
        chunk[at..at + len].copy_from_slice(&from[packed..packed + len]);
    }
}

/// A chunk whose elements all change, through its filters.
fn filtered(dataset: &Dataset, part: &Part, from: &[u8]) -> Result<Stored> {
    let is_inside = part.inside(dataset.info.space.dims(), &dataset.shape) == dataset.shape;
    if let [run] = &part.runs[..]
        && run.len == dataset.chunk_elements()
    {
        let at = run.selection_offset as usize * dataset.element_bytes();
        return applied(dataset, is_inside, &from[at..at + dataset.chunk_bytes()]);
    }
    let mut chunk = filled(dataset);
    put_runs(dataset, part, from, &mut chunk);
    applied(dataset, is_inside, &chunk)
}
