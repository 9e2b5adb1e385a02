//! Elements: chunks as arrays of records, in which nobody writes what the fill value says anyway.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use model::{Dataspace, Datatype, Error, Result, Selection};
use objects::{Change, Fetch, ObjectId, Phase, Update};
use vol::{DatasetInfo, OpRead, OpWrite, crew};

use crate::described::{Dataset, Described};
use crate::error::{During, fetched};
use crate::keys::ELEMENTS;
use crate::opening::Opening;
use crate::parts::{Part, each_batch, split};
use crate::slots::BlobId;

/// Runs of this many bytes are fetched where they belong; shorter ones through a buffer.
const DIRECT_BYTES: usize = 16 << 10;
/// With more pieces of one chunk than this, the chunk is read, changed and written whole.
const SPANS_MAX: usize = 256;
/// Records of many small chunks are fetched by one call for so many.
const FETCHES_MAX: usize = 64;
/// Bytes from which on a second thread is worth it.
const PARALLEL_BYTES: usize = 1 << 20;

/// An error unless the selection fits the extent and the buffer has room for exactly its elements.
fn check_transfer(info: &DatasetInfo, selection: &Selection, buffer_bytes: usize) -> Result<()> {
    let count = match &info.space {
        Dataspace::Null => 0,
        space => {
            selection.validate(space.dims())?;
            selection.element_count(space.dims())?
        }
    };
    let bytes = count.checked_mul(info.datatype.size().into());
    match bytes == Some(buffer_bytes as u64) {
        true => Ok(()),
        false => Err(Error::invalid("transfer elements").with("bytes", buffer_bytes).with("elements", count)),
    }
}

/// The same with every item, on all cores where that is worth it.
pub(crate) fn each<T: Send>(
    items: Vec<T>,
    bytes: usize,
    work: impl Fn(T) -> Result<()> + Sync,
) -> Result<()> {
    match bytes >= PARALLEL_BYTES && items.len() > 1 {
        true => crew::each(items, work),
        false => items.into_iter().try_for_each(work),
    }
}

/// What `make` gives for every item, on all cores where that is worth it.
pub(crate) fn map<T: Send, R: Send>(
    items: Vec<T>,
    bytes: usize,
    make: impl Fn(T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    match bytes >= PARALLEL_BYTES && items.len() > 1 {
        true => crew::map(items, make),
        false => items.into_iter().map(make).collect(),
    }
}

impl Opening {
    pub(crate) fn read_elements(&self, reads: &mut [OpRead<'_>]) -> Result<()> {
        for read in reads.iter() {
            check_transfer(&self.described(read.dataset)?.dataset()?.info, read.selection, read.into.len())?;
        }
        for read in reads.iter_mut().filter(|read| !read.into.is_empty()) {
            let id = self.described(read.dataset)?.id;
            let _still = self.shared.reading(id);
            // The extent may have changed before the elements held still.
            let described = self.described(read.dataset)?;
            let dataset = described.dataset()?;
            check_transfer(&dataset.info, read.selection, read.into.len())?;
            self.read_selection(id, dataset, read.selection, read.into)?;
        }
        Ok(())
    }

    /// Reads elements that hold still; the transfer was checked.
    pub(crate) fn read_selection(
        &self,
        id: ObjectId,
        dataset: &Dataset,
        selection: &Selection,
        into: &mut [u8],
    ) -> Result<()> {
        let (dims, shape) = (dataset.info.space.dims(), &dataset.shape);
        each_batch(selection, dims, shape, dataset.chunk_bytes(), |parts| {
            match dataset.filters().is_empty() {
                true => self.fetch_parts(id, dataset, parts, into),
                false => self.decode_parts(id, dataset, parts, into),
            }
        })
    }

    fn fetch_parts(&self, id: ObjectId, dataset: &Dataset, parts: &[Part], into: &mut [u8]) -> Result<()> {
        let element_bytes = dataset.element_bytes();
        let bytes = into.len();
        let mut rooms = split(parts, element_bytes, into);
        let mut targets: Vec<Target<'_, '_>> = Vec::new();
        for (part, rooms) in parts.iter().zip(&mut rooms) {
            targets.extend(targets_of(part, rooms, element_bytes));
        }
        self.fetch_targets(id, dataset, &mut targets, bytes)?;
        let scattered: Vec<Target<'_, '_>> =
            targets.into_iter().filter(|target| target.scatter.is_some()).collect();
        each(scattered, bytes, |target| {
            target.finish(element_bytes);
            Ok(())
        })
    }

    /// Fetches records over the fill value: those that nobody wrote leave what is there.
    fn fetch_targets(
        &self,
        id: ObjectId,
        dataset: &Dataset,
        targets: &mut [Target<'_, '_>],
        bytes: usize,
    ) -> Result<()> {
        let record_size = dataset.element_bytes() as u32;
        let fetch = |targets: &mut [Target<'_, '_>]| {
            let mut fetches: Vec<Fetch<'_>> = Vec::with_capacity(targets.len());
            for target in targets.iter_mut() {
                let (dkey, start) = (target.dkey, target.first);
                let into = target.bytes.as_mut();
                dataset.fill(into);
                fetches.push(Fetch { object: id, dkey, akey: ELEMENTS, record_size, start, into });
            }
            self.store().fetch(&mut fetches).map_err(|error| fetched("read elements", &error))
        };
        if self.shared.is_concurrent {
            // Far away, what counts is how many requests are under way.
            return fetch(targets);
        }
        // Nearby, what was just filled is still in the cache when it is fetched.
        let threads = vol::workers::threads(bytes as u64, PARALLEL_BYTES as u64);
        let pieces = targets.chunks_mut(if threads == 1 { FETCHES_MAX } else { 1 });
        vol::workers::each(pieces.map(Ok), threads, |piece, _| fetch(piece))
    }

    pub(crate) fn write_elements(&self, writes: &[OpWrite<'_>]) -> Result<()> {
        for write in writes {
            check_transfer(
                &self.described(write.dataset)?.dataset()?.info,
                write.selection,
                write.from.len(),
            )?;
        }
        for write in writes.iter().filter(|write| !write.from.is_empty()) {
            let id = self.described(write.dataset)?.id;
            let _alone = self.shared.changing(id);
            let described = self.described(write.dataset)?;
            let dataset = described.dataset()?;
            check_transfer(&dataset.info, write.selection, write.from.len())?;
            let old = self.references_before(id, dataset, write)?;
            self.write_selection(&described, dataset, write.selection, write.from)?;
            self.drop_references(dataset, old, write.from)?;
        }
        Ok(())
    }

    /// The blobs of elements that are about to be overwritten and hold references: nobody else gives those up.
    fn references_before(&self, id: ObjectId, dataset: &Dataset, write: &OpWrite<'_>) -> Result<Vec<BlobId>> {
        if !dataset.info.datatype.any(&|part| matches!(part, Datatype::Reference(_))) {
            return Ok(Vec::new());
        }
        let mut old = vec![0; write.from.len()];
        self.read_selection(id, dataset, write.selection, &mut old)?;
        self.blobs_in(&dataset.info.datatype, &old)
    }

    /// Removes blobs of overwritten elements, but those that new elements use, and the fill value's.
    fn drop_references(&self, dataset: &Dataset, mut old: Vec<BlobId>, new: &[u8]) -> Result<()> {
        if old.is_empty() {
            return Ok(());
        }
        let mut kept: HashSet<BlobId> = self.blobs_in(&dataset.info.datatype, new)?.into_iter().collect();
        kept.extend(self.blobs_of_fill(dataset)?);
        old.retain(|id| !kept.contains(id));
        self.drop_blobs(&old)
    }

    /// Writes elements that nobody else looks at; the transfer was checked.
    pub(crate) fn write_selection(
        &self,
        described: &Arc<Described>,
        dataset: &Dataset,
        selection: &Selection,
        from: &[u8],
    ) -> Result<()> {
        let (id, dims, shape) = (described.id, dataset.info.space.dims(), &dataset.shape);
        let done = each_batch(selection, dims, shape, dataset.chunk_bytes(), |parts| {
            match dataset.filters().is_empty() {
                true => self.update_parts(id, dataset, parts, from),
                false => self.encode_parts(described, dataset, parts, from),
            }
        });
        self.shared.listings.changed(id);
        done
    }

    fn update_parts(&self, id: ObjectId, dataset: &Dataset, parts: &[Part], from: &[u8]) -> Result<()> {
        let element_bytes = dataset.element_bytes();
        let prepared =
            map(parts.iter().collect(), from.len(), |part| Ok(spans_of(part, element_bytes, from)))?;
        let mut prepared = prepared;
        for (part, spans) in parts.iter().zip(&mut prepared) {
            if spans.len() > SPANS_MAX {
                *spans = vec![self.rewritten(id, dataset, part, from)?];
            }
        }
        let changes: Vec<Vec<Change<'_>>> = prepared
            .iter()
            .map(|spans| spans.iter().map(|span| span.change(element_bytes, from)).collect())
            .collect();
        let updates: Vec<Update<'_>> = parts
            .iter()
            .zip(&changes)
            .map(|(part, changes)| Update {
                object: id,
                dkey: &part.dkey,
                changes,
                conditions: &[],
                phase: Phase::Content,
            })
            .collect();
        self.update_all(&updates).during("write elements")
    }

    /// One piece of a chunk around all that changes in it.
    fn rewritten(&self, id: ObjectId, dataset: &Dataset, part: &Part, from: &[u8]) -> Result<Span> {
        let element_bytes = dataset.element_bytes();
        let (first, last) = part.span();
        let mut bytes = vec![0; (last - first) as usize * element_bytes];
        dataset.fill(&mut bytes);
        let fetch = Fetch {
            object: id,
            dkey: &part.dkey,
            akey: ELEMENTS,
            record_size: element_bytes as u32,
            start: first,
            into: &mut bytes,
        };
        self.store().fetch(&mut [fetch]).map_err(|error| fetched("read elements", &error))?;
        for run in &part.runs {
            let at = (run.chunk_offset - first) as usize * element_bytes;
            let (packed, len) =
                (run.selection_offset as usize * element_bytes, run.len as usize * element_bytes);
            bytes[at..at + len].copy_from_slice(&from[packed..packed + len]);
        }
        Ok(Span { first, source: Source::Gathered(bytes) })
    }
}

/// Where records of a chunk are fetched to.
struct Target<'p, 'b> {
    dkey: &'p [u8],
    first: u64,
    bytes: Room<'b>,
    /// Where they go from a buffer.
    scatter: Option<(&'p Part, Vec<&'b mut [u8]>)>,
}

enum Room<'b> {
    Place(&'b mut [u8]),
    Buffer(Vec<u8>),
}

impl Room<'_> {
    fn as_mut(&mut self) -> &mut [u8] {
        match self {
            Room::Place(place) => place,
            Room::Buffer(buffer) => buffer,
        }
    }
}

impl Target<'_, '_> {
    fn finish(self, element_bytes: usize) {
        let (Some((part, rooms)), Room::Buffer(buffer)) = (self.scatter, self.bytes) else { return };
        for (run, room) in part.runs.iter().zip(rooms) {
            let at = (run.chunk_offset - self.first) as usize * element_bytes;
            room.copy_from_slice(&buffer[at..at + room.len()]);
        }
    }
}

/// Long runs are fetched to their places, many short ones through one buffer.
fn targets_of<'p, 'b>(
    part: &'p Part,
    rooms: &mut Vec<&'b mut [u8]>,
    element_bytes: usize,
) -> Vec<Target<'p, 'b>> {
    let rooms = std::mem::take(rooms);
    let bytes = part.elements() as usize * element_bytes;
    if rooms.len() == 1 || bytes / rooms.len().max(1) >= DIRECT_BYTES {
        let target = |(run, room): (&model::selection::ChunkRun, _)| Target {
            dkey: &part.dkey,
            first: run.chunk_offset,
            bytes: Room::Place(room),
            scatter: None,
        };
        return part.runs.iter().zip(rooms).map(target).collect();
    }
    let (first, last) = part.span();
    let buffer = vec![0; (last - first) as usize * element_bytes];
    vec![Target { dkey: &part.dkey, first, bytes: Room::Buffer(buffer), scatter: Some((part, rooms)) }]
}

/// Records of a chunk that lie together.
struct Span {
    first: u64,
    source: Source,
}

enum Source {
    /// In the caller's buffer.
    Place(Range<usize>),
    /// Put together from pieces of it.
    Gathered(Vec<u8>),
}

impl Span {
    fn change<'c>(&'c self, element_bytes: usize, from: &'c [u8]) -> Change<'c> {
        let bytes = match &self.source {
            Source::Place(range) => &from[range.clone()],
            Source::Gathered(bytes) => bytes,
        };
        Change::Records { akey: ELEMENTS, record_size: element_bytes as u32, start: self.first, bytes }
    }
}

/// Runs that touch in the chunk become one piece; one that is a single run stays where it is.
fn spans_of(part: &Part, element_bytes: usize, from: &[u8]) -> Vec<Span> {
    let packed = |run: &model::selection::ChunkRun| {
        let at = run.selection_offset as usize * element_bytes;
        at..at + run.len as usize * element_bytes
    };
    let mut spans = Vec::new();
    let mut runs = part.runs.iter().peekable();
    while let Some(run) = runs.next() {
        let (first, mut end, mut source) =
            (run.chunk_offset, run.chunk_offset + run.len, Source::Place(packed(run)));
        while let Some(next) = runs.next_if(|next| next.chunk_offset == end) {
            let mut bytes = match source {
                Source::Place(range) => from[range].to_vec(),
                Source::Gathered(bytes) => bytes,
            };
            bytes.extend_from_slice(&from[packed(next)]);
            (end, source) = (next.chunk_offset + next.len, Source::Gathered(bytes));
        }
        spans.push(Span { first, source });
    }
    spans
}
