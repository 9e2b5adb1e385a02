//! Chunks with filters: each is one value, made and undone on all cores.

use model::properties::Layout;
use model::{Error, Result, Within};
use objects::{Change, ObjectId, Phase, Update};

use crate::described::Dataset;
use crate::elements::{each, map};
use crate::error::During;
use crate::keys::{ELEMENTS, FILTER_MASK};
use crate::opening::Opening;
use crate::parts::{Part, split};
use crate::pipeline;

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

    pub(crate) fn encode_parts(
        &self,
        id: ObjectId,
        dataset: &Dataset,
        parts: &[Part],
        from: &[u8],
    ) -> Result<()> {
        let dims = dataset.info.space.dims();
        let is_whole =
            |part: &Part| part.elements() == part.inside(dims, &dataset.shape).iter().product::<u64>();
        // What stays of chunks that change in part.
        let partial: Vec<&[u8]> =
            parts.iter().filter(|part| !is_whole(part)).map(|part| &part.dkey[..]).collect();
        let mut old = self.stored_chunks(id, &partial)?.into_iter();
        let jobs: Vec<_> = parts
            .iter()
            .map(|part| (part, if is_whole(part) { None } else { old.next().flatten() }))
            .collect();
        let made = map(jobs, from.len().saturating_mul(4), |(part, old)| filtered(dataset, part, old, from))?;
        let dkeys: Vec<&[u8]> = parts.iter().map(|part| &part.dkey[..]).collect();
        self.put_chunks(id, &dkeys, &made)
    }

    /// Stores chunks as they are.
    pub(crate) fn put_chunks(&self, id: ObjectId, dkeys: &[&[u8]], chunks: &[Stored]) -> Result<()> {
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
            .map(|(dkey, changes)| Update {
                object: id,
                dkey,
                changes,
                conditions: &[],
                phase: Phase::Content,
            })
            .collect();
        self.update_all(&updates).during("write chunks")
    }
}

/// A chunk from what is stored.
pub(crate) fn undone(dataset: &Dataset, mask: u32, stored: &[u8]) -> Result<Vec<u8>> {
    let mut chunk = vec![0; (dataset.chunk_bytes() as u64).within(u64::MAX, "chunk")?];
    pipeline::undo(dataset.filters(), mask, stored, &mut chunk)?;
    Ok(chunk)
}

/// What is stored of a whole chunk that begins at `start`.
pub(crate) fn applied(dataset: &Dataset, is_inside: bool, chunk: &[u8]) -> Result<Stored> {
    let keeps_edges =
        matches!(dataset.info.create.layout, Layout::Chunked { edge_chunks_unfiltered: true, .. });
    if keeps_edges && !is_inside {
        return Ok((pipeline::mask_of_none(dataset.filters()), chunk.to_vec()));
    }
    let (bytes, mask) = pipeline::apply(dataset.filters(), chunk)?;
    Ok((mask, bytes))
}

/// A chunk with what changes in it, through its filters.
fn filtered(dataset: &Dataset, part: &Part, old: Option<Stored>, from: &[u8]) -> Result<Stored> {
    let element_bytes = dataset.element_bytes();
    let is_inside = part.inside(dataset.info.space.dims(), &dataset.shape) == dataset.shape;
    let packed = |run: &model::selection::ChunkRun| {
        let at = run.selection_offset as usize * element_bytes;
        &from[at..at + run.len as usize * element_bytes]
    };
    if let [run] = &part.runs[..]
        && run.len == dataset.chunk_elements()
    {
        return applied(dataset, is_inside, packed(run));
    }
    let mut chunk = match old {
        Some((mask, stored)) => undone(dataset, mask, &stored)?,
        None => {
            let mut chunk = vec![0; dataset.chunk_bytes()];
            dataset.fill(&mut chunk);
            chunk
        }
    };
    for run in &part.runs {
        let (at, values) = (run.chunk_offset as usize * element_bytes, packed(run));
        chunk[at..at + values.len()].copy_from_slice(values);
    }
    applied(dataset, is_inside, &chunk)
}
