//! Chunks with filters: each is one value, made and undone on all cores.

use model::properties::Layout;
use model::{Charge, Charged, Result};

use crate::elements::{each, map};
use crate::parts::{Part, split};
use crate::pending::Waiting;
use crate::{Chunks, Dataset, Elements, Stored};

impl<C: Chunks> Elements<'_, C> {
    pub(crate) fn decode_parts(
        &self,
        id: C::Id,
        dataset: &Dataset,
        parts: &[Part],
        into: &mut [u8],
    ) -> Result<()> {
        self.settle(id)?;
        let (element_bytes, bytes) = (dataset.element_bytes(), into.len());
        let starts: Vec<&[u64]> = parts.iter().map(|part| &part.start[..]).collect();
        let stored = self.chunks.stored(id, dataset, &starts)?;
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
                let _charge = self.charge_between(dataset)?;
                return filters::pipeline::undo(dataset.filters(), mask, &stored, room);
            }
            let chunk = self.undone(dataset, mask, &stored)?;
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
        id: C::Id,
        dataset: &Dataset,
        parts: &[Part],
        from: &[u8],
    ) -> Result<()> {
        filters::pipeline::check(dataset.filters())?;
        let is_whole = |part: &&Part| part.elements() == dataset.inside(&part.start).iter().product::<u64>();
        let (whole, partial): (Vec<&Part>, Vec<&Part>) = parts.iter().partition(is_whole);
        let starts: Vec<&[u64]> = whole.iter().map(|part| &part.start[..]).collect();
        let made = map(whole, from.len().saturating_mul(4), |part| filtered(dataset, part, from))?;
        self.chunks.store(id, dataset, &starts, &made)?;
        let mut pending = self.pending();
        starts.iter().for_each(|start| pending.remove(id, start));
        for part in partial {
            if pending.get(id, &part.start).is_none() {
                let waiting = self.waiting(id, dataset, &part.start)?;
                pending.put(id, dataset, &part.start, waiting);
            }
            if let Some(waiting) = pending.get(id, &part.start) {
                put_runs(dataset, part, from, &mut waiting.elements);
            }
            if pending.is_full() {
                for id in pending.datasets() {
                    pending.settle(self.chunks, id)?;
                }
            }
        }
        Ok(())
    }

    /// A chunk as it is stored, without its filters.
    fn waiting(&self, id: C::Id, dataset: &Dataset, start: &[u64]) -> Result<Waiting> {
        let elements = match self.chunks.stored(id, dataset, &[start])?.pop().flatten() {
            Some((mask, stored)) => self.undone(dataset, mask, &stored)?,
            None => {
                let mut chunk = self.budget.zeroed(dataset.chunk_bytes(), "chunk")?;
                dataset.fill(&mut chunk);
                chunk
            }
        };
        Ok(Waiting { is_inside: dataset.is_inside(start), elements })
    }

    /// All elements of a chunk, where it is stored.
    pub(crate) fn undone_chunk(
        &self,
        id: C::Id,
        dataset: &Dataset,
        start: &[u64],
    ) -> Result<Option<Charged<Vec<u8>>>> {
        self.settle(id)?;
        let stored = self.chunks.stored(id, dataset, &[start])?.pop().flatten();
        stored.map(|(mask, stored)| self.undone(dataset, mask, &stored)).transpose()
    }

    /// A chunk from what is stored.
    fn undone(&self, dataset: &Dataset, mask: u32, stored: &[u8]) -> Result<Charged<Vec<u8>>> {
        let mut chunk = self.budget.zeroed(dataset.chunk_bytes(), "chunk")?;
        let _charge = self.charge_between(dataset)?;
        filters::pipeline::undo(dataset.filters(), mask, stored, &mut chunk)?;
        Ok(chunk)
    }

    /// Charges what lies between two filters while they are undone.
    fn charge_between(&self, dataset: &Dataset) -> Result<Option<Charge>> {
        let bytes = (dataset.filters().len() > 1).then_some(dataset.chunk_bytes() as u64);
        bytes.map(|bytes| self.budget.charge(bytes, "chunk while it is decoded")).transpose()
    }
}

/// What is stored of a chunk, which may stick out of the extent.
pub(crate) fn applied(dataset: &Dataset, is_inside: bool, chunk: &[u8]) -> Result<Stored> {
    let keeps_edges =
        matches!(dataset.info.create.layout, Layout::Chunked { edge_chunks_unfiltered: true, .. });
    if keeps_edges && !is_inside {
        return Ok((filters::pipeline::mask_of_none(dataset.filters()), chunk.to_vec()));
    }
    let (bytes, mask) = filters::pipeline::apply(dataset.filters(), chunk)?;
    Ok((mask, bytes))
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
    let is_inside = dataset.is_inside(&part.start);
    if let [run] = &part.runs[..]
        && run.len == dataset.chunk_elements()
    {
        let at = run.selection_offset as usize * dataset.element_bytes();
        return applied(dataset, is_inside, &from[at..at + dataset.chunk_bytes()]);
    }
    let mut chunk = dataset.filled();
    put_runs(dataset, part, from, &mut chunk);
    applied(dataset, is_inside, &chunk)
}
