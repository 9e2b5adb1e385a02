//! Chunks with filters, written collectively: each has one owner, which gets the elements of all ranks, and filters
//! and stores the chunk. Rank 0 only gives space.

use std::collections::BTreeMap;

use algorithms::{placement, workers};
use model::selection::PointIndex;
use model::{Error, Result, Selection, Token};
use protocol::wire;
use vol::{ChunkGrid, Container, NewChunk, OpWrite};

use crate::group::Group;
use crate::placed::RunWriter;

/// Bytes of elements that are worth a thread of their own.
const THREAD_BYTES_MIN: u64 = 1 << 20;

/// Where a chunk is in the grid of chunks.
type ChunkCoords = Vec<u64>;

/// A run of elements of one rank in one chunk, in bytes.
struct ByteRun {
    /// In the chunk.
    at: usize,
    /// In the elements of the rank.
    from: usize,
    len: usize,
}

/// The selection of one rank.
struct Share {
    selection: Selection,
    points: Option<PointIndex>,
}

impl Share {
    fn new(selection: Selection, grid: &ChunkGrid) -> Result<Share> {
        let points = match &selection {
            Selection::Points(points) => Some(PointIndex::new(points, &grid.shape)?),
            _ => None,
        };
        Ok(Share { selection, points })
    }

    /// Returns the elements of this rank in a chunk.
    fn runs(&self, chunk_coords: &[u64], grid: &ChunkGrid) -> Result<Vec<ByteRun>> {
        let start: Vec<u64> = chunk_coords.iter().zip(&grid.shape).map(|(at, side)| at * side).collect();
        let runs = match &self.points {
            Some(points) => points.chunk_runs(chunk_coords)?,
            None => self.selection.chunk_runs(&grid.dims, &start, &grid.shape)?,
        };
        let bytes = |elements: u64| (elements * u64::from(grid.element_bytes)) as usize;
        let run = |run: model::selection::ChunkRun| ByteRun {
            at: bytes(run.chunk_offset),
            from: bytes(run.selection_offset),
            len: bytes(run.len),
        };
        Ok(runs.map(run).collect())
    }
}

/// Which ranks write which chunks, and which of them owns each.
struct Owners<'g> {
    grid: &'g ChunkGrid,
    shares: Vec<Share>,
    /// The ranks that have elements of a chunk.
    chunks: BTreeMap<ChunkCoords, Vec<usize>>,
}

impl<'g> Owners<'g> {
    fn new(grid: &'g ChunkGrid, selections: Vec<Selection>) -> Result<Self> {
        let mut chunks: BTreeMap<ChunkCoords, Vec<usize>> = BTreeMap::new();
        for (rank, selection) in selections.iter().enumerate() {
            for chunk_coords in placement::chunks(selection, &grid.dims, &grid.shape)? {
                chunks.entry(chunk_coords).or_default().push(rank);
            }
        }
        let shares = selections.into_iter().map(|selection| Share::new(selection, grid));
        Ok(Owners { grid, shares: shares.collect::<Result<_>>()?, chunks })
    }

    /// Returns every chunk with its ranks and its owner: one of them, in turn.
    fn all(&self) -> impl Iterator<Item = (&ChunkCoords, &[usize], usize)> {
        let chunks = self.chunks.iter().enumerate();
        chunks.map(|(n, (chunk_coords, ranks))| (chunk_coords, ranks.as_slice(), ranks[n % ranks.len()]))
    }

    /// Returns the elements of this rank that go to others, by rank: chunk after chunk.
    fn outgoing(&self, own: usize, from: &[u8]) -> Result<Vec<Vec<u8>>> {
        let mut to = vec![Vec::new(); self.shares.len()];
        for (chunk_coords, ranks, owner) in self.all().filter(|(_, _, owner)| *owner != own) {
            if ranks.contains(&own) {
                for run in self.shares[own].runs(chunk_coords, self.grid)? {
                    to[owner].extend_from_slice(part(from, run.from, run.len)?);
                }
            }
        }
        Ok(to)
    }

    /// Returns the chunks that a rank owns, each with its runs: where they go, and the bytes, those of higher ranks
    /// last.
    fn incoming<'d>(
        &self,
        own: usize,
        from: &'d [u8],
        received: &'d [Vec<u8>],
    ) -> Result<Vec<OwnedChunk<'d>>> {
        let mut taken = vec![0; received.len()];
        let mut chunks = Vec::new();
        for (chunk_coords, ranks, _) in self.all().filter(|(_, _, owner)| *owner == own) {
            let mut runs = Vec::new();
            for &rank in ranks {
                for run in self.shares[rank].runs(chunk_coords, self.grid)? {
                    if rank == own {
                        runs.push((run.at, part(from, run.from, run.len)?));
                        continue;
                    }
                    runs.push((run.at, part(&received[rank], taken[rank], run.len)?));
                    taken[rank] += run.len;
                }
            }
            chunks.push(OwnedChunk { chunk_coords: chunk_coords.clone(), runs });
        }
        Ok(chunks)
    }
}

fn part(bytes: &[u8], at: usize, len: usize) -> Result<&[u8]> {
    let missing = || Error::invalid("write chunks").with("problem", "elements of a rank are missing");
    bytes.get(at..at.saturating_add(len)).ok_or_else(missing)
}

/// A chunk that this rank stores.
struct OwnedChunk<'d> {
    chunk_coords: ChunkCoords,
    runs: Vec<(usize, &'d [u8])>,
}

/// A chunk after its filters.
#[derive(Default)]
struct EncodedChunk {
    bytes: Vec<u8>,
    filter_mask: u32,
}

impl OwnedChunk<'_> {
    /// Returns whether every byte of the chunk is written.
    fn is_whole(&self, bytes: usize) -> bool {
        let mut ranges: Vec<_> = self.runs.iter().map(|(at, data)| (*at, at + data.len())).collect();
        ranges.sort_unstable();
        let end = ranges.iter().try_fold(0, |end, (start, stop)| (*start <= end).then(|| end.max(*stop)));
        end == Some(bytes)
    }

    fn encode(&self, group: &Group, dataset: Token, grid: &ChunkGrid) -> Result<EncodedChunk> {
        let bytes = grid.chunk_bytes()?;
        let mut chunk = match self.is_whole(bytes) {
            true => vec![0; bytes],
            false => group.replica.load_chunk(dataset, &self.chunk_coords)?,
        };
        for (at, data) in &self.runs {
            let place = chunk.get_mut(*at..at + data.len());
            place.ok_or_else(|| Error::invalid("write chunks"))?.copy_from_slice(data);
        }
        let (bytes, filter_mask) = group.replica.encode_chunk(dataset, &self.chunk_coords, chunk)?;
        Ok(EncodedChunk { bytes, filter_mask })
    }
}

/// Chunks as they travel: offset, filter mask and bytes of each.
type NewChunks = Vec<(Vec<u64>, (u32, u64))>;

impl Group {
    /// Writes elements of chunks with filters. All ranks do so together.
    pub(crate) fn write_filtered(&self, write: &OpWrite<'_>, grid: &ChunkGrid) -> Result<()> {
        let own = self.ranks.0.rank();
        let all = self.ranks.0.allgather(&wire::to_bytes(write.selection)?)?;
        let selections = all.iter().map(|bytes| wire::from_bytes(bytes)).collect::<Result<Vec<Selection>>>();
        let owners = selections.and_then(|selections| Owners::new(grid, selections));
        let outgoing =
            owners.as_ref().map_err(Clone::clone).and_then(|owners| owners.outgoing(own, write.from));
        // A rank that cannot takes part all the same: the others wait for its elements.
        let (to, ready) = match outgoing {
            Ok(to) => (to, Ok(())),
            Err(error) => (vec![Vec::new(); all.len()], Err(error)),
        };
        let received = self.ranks.0.alltoall(to)?;
        let encoded = ready.and(owners).and_then(|owners| {
            let chunks = owners.incoming(own, write.from, &received)?;
            Ok((self.encode_all(write.dataset, grid, &chunks)?, chunks))
        });
        self.ranks.end(0, encoded.as_ref().map(drop).map_err(Clone::clone))?;
        let (encoded, chunks) = encoded?;
        let places = self.place_chunks(write.dataset, grid, &chunks, &encoded)?;
        // From here on chunks are where nothing was written yet: a commit must not have them.
        self.note_broken(self.store_chunks(&places, &encoded))
    }

    fn encode_all(
        &self,
        dataset: Token,
        grid: &ChunkGrid,
        chunks: &[OwnedChunk<'_>],
    ) -> Result<Vec<EncodedChunk>> {
        let mut encoded: Vec<EncodedChunk> = Vec::new();
        encoded.resize_with(chunks.len(), EncodedChunk::default);
        let bytes = chunks.len() as u64 * grid.chunk_bytes()? as u64;
        let items = chunks.iter().zip(&mut encoded).map(Ok);
        workers::each(items, workers::threads(bytes, THREAD_BYTES_MIN), |(chunk, place), _| {
            *place = chunk.encode(self, dataset, grid)?;
            Ok(())
        })?;
        Ok(encoded)
    }

    /// Rank 0 gives space to the chunks of all ranks. Returns where those of this one go.
    fn place_chunks(
        &self,
        dataset: Token,
        grid: &ChunkGrid,
        chunks: &[OwnedChunk<'_>],
        encoded: &[EncodedChunk],
    ) -> Result<Vec<u64>> {
        let offset =
            |chunk: &OwnedChunk<'_>| chunk.chunk_coords.iter().zip(&grid.shape).map(|(c, s)| c * s).collect();
        let new = chunks.iter().zip(encoded);
        let new: NewChunks =
            new.map(|(chunk, made)| (offset(chunk), (made.filter_mask, made.bytes.len() as u64))).collect();
        let all = self.ranks.0.gather(0, &wire::to_bytes(&new)?)?;
        let place = |_: &dyn Container| {
            let mut places: Vec<Vec<u64>> = Vec::new();
            for bytes in &all {
                let new = wire::from_bytes::<NewChunks>(bytes)?.into_iter();
                let new = new.map(|(offset, (filter_mask, bytes))| NewChunk { offset, filter_mask, bytes });
                places.push(self.replica.allocate_chunks(dataset, &new.collect::<Vec<_>>())?);
            }
            wire::to_bytes(&places)
        };
        let places: Vec<Vec<u64>> = wire::from_bytes(&self.lead(place)?)?;
        let own = places.into_iter().nth(self.ranks.0.rank());
        own.ok_or_else(|| Error::invalid("write chunks").with("problem", "rank 0 gave no space"))
    }

    /// Writes the chunks of this rank where rank 0 gave them space.
    fn store_chunks(&self, places: &[u64], encoded: &[EncodedChunk]) -> Result<()> {
        let mut writer = RunWriter::new(&*self.replica);
        let written = places.iter().zip(encoded).try_for_each(|(at, chunk)| writer.add(*at, &chunk.bytes));
        let written = written.and_then(|()| writer.finish());
        let written = written.and_then(|for_leader| self.replica.end_write().map(|()| for_leader));
        let count = written.as_ref().map_or(0, |for_leader| for_leader.len() as u64);
        let all = self.ranks.end(count, written.as_ref().map(drop).map_err(Clone::clone))?;
        match all.iter().any(|count| *count > 0) {
            true => self.write_by_first(written?, &Vec::new()),
            false => Ok(()),
        }
    }
}
