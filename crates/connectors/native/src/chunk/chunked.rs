//! Reading chunked datasets: which chunks, decoded on all cores, scattered into the caller's buffer.

use std::sync::Arc;

use model::selection::{ChunkRuns, PointIndex};
use model::{Context, Error, Result, Selection, Within};
use rayon::prelude::*;
use vol::{Allocation, ChunkInfo, Page, StorageInfo};

use super::index::{ChunkAt, Chunks};
use crate::file::File;
use crate::format::Address;
use crate::format::layout::Chunked;
use crate::object::dataset::Dataset;

/// Bytes of decoded chunks in flight: enough for both cores, little enough to stay near the cache.
const BATCH_BYTES: u64 = 32 << 20;
/// Chunks up to this size may come from any number of stored bytes …
const EXPANSION_FREE_BYTES: u64 = 128 << 20;
/// … larger ones from at least one in this many. Deflate reaches 1,032.
const EXPANSION_MAX: u64 = 2048;
/// A chunk without filters is read run by run up to this many runs; beyond, whole.
const DIRECT_RUNS_MAX: usize = 16;

/// What is needed to read one dataset's chunks.
struct Reader<'a> {
    file: &'a File,
    dataset: &'a Dataset,
    chunks: Chunks<'a>,
    selection: &'a Selection,
    points: Option<PointIndex>,
}

pub(crate) fn read(
    file: &File,
    dataset: &Dataset,
    layout: &Chunked,
    selection: &Selection,
    into: &mut [u8],
) -> Result<()> {
    if into.is_empty() {
        return Ok(());
    }
    let chunks = Chunks::open(file, dataset, layout)?;
    let points = match selection {
        Selection::Points(points) => Some(PointIndex::new(points, &layout.shape)?),
        _ => None,
    };
    Reader { file, dataset, chunks, selection, points }.read(into)
}

impl Reader<'_> {
    fn read(&self, into: &mut [u8]) -> Result<()> {
        match &self.points {
            Some(points) => self.read_batches(points.chunks(), into),
            None => self
                .read_batches(self.selection.chunks(self.dataset.dims(), &self.chunks.layout.shape)?, into),
        }
    }

    fn read_batches(&self, wanted: impl Iterator<Item = Vec<u64>>, into: &mut [u8]) -> Result<()> {
        let batch_max = (BATCH_BYTES / self.chunks.chunk_bytes.max(1)).clamp(1, 4096) as usize;
        let mut wanted = wanted.peekable();
        while wanted.peek().is_some() {
            let batch: Vec<Vec<u64>> = wanted.by_ref().take(batch_max).collect();
            match self.chunks.filtered {
                true => self.read_filtered(&batch, into)?,
                false => batch.iter().try_for_each(|scaled| self.read_plain(scaled, into))?,
            }
        }
        Ok(())
    }

    fn runs(&self, scaled: &[u64]) -> Result<ChunkRuns> {
        if let Some(points) = &self.points {
            return points.chunk_runs(scaled);
        }
        let shape = &self.chunks.layout.shape;
        let start: Vec<u64> = scaled.iter().zip(shape).map(|(s, c)| s * c).collect();
        self.selection.chunk_runs(self.dataset.dims(), &start, shape)
    }

    fn read_filtered(&self, batch: &[Vec<u64>], into: &mut [u8]) -> Result<()> {
        let decoded: Vec<Option<Arc<Vec<u8>>>> = match batch {
            [one] => vec![self.load(one)?],
            many => many.par_iter().map(|scaled| self.load(scaled)).collect::<Result<_>>()?,
        };
        batch
            .iter()
            .zip(decoded)
            .try_for_each(|(scaled, chunk)| self.scatter(scaled, chunk.as_deref().map(Vec::as_slice), into))
    }

    /// A chunk without filters: runs go straight from the file into the buffer where they are few.
    fn read_plain(&self, scaled: &[u64], into: &mut [u8]) -> Result<()> {
        let Some(at) = self.find(scaled)? else { return self.scatter(scaled, None, into) };
        if self.file.chunks.get(self.dataset.address, at.address).is_none() {
            let runs: Vec<_> = self.runs(scaled)?.take(DIRECT_RUNS_MAX + 1).collect();
            if runs.len() <= DIRECT_RUNS_MAX {
                return runs.into_iter().try_for_each(|run| {
                    let bytes = self.dataset.element_bytes();
                    let (from, len) = (run.selection_offset as usize * bytes, run.len as usize * bytes);
                    let place = Address(at.address.0.saturating_add(run.chunk_offset * bytes as u64));
                    self.file.store.read(place, &mut into[from..from + len], "chunk")
                });
            }
        }
        let chunk = self.load_at(scaled, at)?;
        self.scatter(scaled, Some(&chunk), into)
    }

    fn find(&self, scaled: &[u64]) -> Result<Option<ChunkAt>> {
        self.chunks.find(scaled).during_at("find chunk", self.dataset.address.0)
    }

    /// The decoded bytes of a chunk, or nothing if it is not stored.
    fn load(&self, scaled: &[u64]) -> Result<Option<Arc<Vec<u8>>>> {
        self.find(scaled)?.map(|at| self.load_at(scaled, at)).transpose()
    }

    fn load_at(&self, scaled: &[u64], at: ChunkAt) -> Result<Arc<Vec<u8>>> {
        if let Some(chunk) = self.file.chunks.get(self.dataset.address, at.address) {
            return Ok(chunk);
        }
        let chunk: Arc<Vec<u8>> = Arc::new(self.decode(scaled, at).during_at("read chunk", at.address.0)?);
        self.file.chunks.put(self.dataset.address, at.address, &chunk);
        Ok(chunk)
    }

    fn decode(&self, scaled: &[u64], at: ChunkAt) -> Result<Vec<u8>> {
        let (file, chunks) = (self.file, &self.chunks);
        let bytes = chunks.chunk_bytes as usize;
        check_expansion(chunks, at)?;
        let raw = raw_bytes(file, chunks, at)?;
        let unfiltered_edge = chunks.layout.edge_chunks_unfiltered && chunks.is_edge(scaled);
        let chunk = match chunks.filtered && !unfiltered_edge {
            true => file.unfilter(self.dataset.filters(), at.filter_mask, raw, bytes)?,
            false => raw,
        };
        if chunk.len() == bytes {
            return Ok(chunk);
        }
        Err(Error::corrupt("decode chunk").with("bytes", chunk.len()).with("expected", bytes))
    }

    fn scatter(&self, scaled: &[u64], chunk: Option<&[u8]>, into: &mut [u8]) -> Result<()> {
        let bytes = self.dataset.element_bytes();
        for run in self.runs(scaled)? {
            let (to, len) = (run.selection_offset as usize * bytes, run.len as usize * bytes);
            let target = &mut into[to..to + len];
            match chunk {
                Some(chunk) => {
                    let from = run.chunk_offset as usize * bytes;
                    target.copy_from_slice(&chunk[from..from + len]);
                }
                None => super::fill(self.dataset, target),
            }
        }
        Ok(())
    }
}

/// A large chunk must have something to show for it: few stored bytes that claim to be many are a bomb.
fn check_expansion(chunks: &Chunks<'_>, at: ChunkAt) -> Result<()> {
    if chunks.chunk_bytes <= EXPANSION_FREE_BYTES
        || at.bytes.saturating_mul(EXPANSION_MAX) >= chunks.chunk_bytes
    {
        return Ok(());
    }
    Err(Error::limit("decode chunk").with("bytes", chunks.chunk_bytes).with("stored bytes", at.bytes))
}

/// A chunk as it is stored.
fn raw_bytes(file: &File, chunks: &Chunks<'_>, at: ChunkAt) -> Result<Vec<u8>> {
    let bytes = if chunks.filtered { at.bytes } else { chunks.chunk_bytes };
    // What is larger than the file is not worth an allocation.
    let len = bytes.within(file.store.limits.chunk_bytes_max.min(file.store.end()), "stored chunk")?;
    let mut raw = vec![0; len];
    file.store.read(at.address, &mut raw, "chunk")?;
    Ok(raw)
}

/// One chunk as it is stored: its filter mask and bytes.
pub(crate) fn read_raw(
    file: &File,
    dataset: &Dataset,
    layout: &Chunked,
    offset: &[u64],
) -> Result<(u32, Vec<u8>)> {
    let chunks = Chunks::open(file, dataset, layout)?;
    let aligned = offset.len() == chunks.rank() && offset.iter().zip(&layout.shape).all(|(o, c)| o % c == 0);
    if !aligned || offset.iter().zip(dataset.dims()).any(|(o, d)| o >= d) {
        return Err(Error::invalid("read chunk").with("offset", format!("{offset:?}")));
    }
    let scaled: Vec<u64> = offset.iter().zip(&layout.shape).map(|(o, c)| o / c).collect();
    let missing = || Error::not_found("read chunk").with("offset", format!("{offset:?}"));
    let at = chunks.find(&scaled)?.ok_or_else(missing)?;
    Ok((at.filter_mask, raw_bytes(file, &chunks, at)?))
}

/// Some of the chunks that are stored.
pub(crate) fn list(
    file: &File,
    dataset: &Dataset,
    layout: &Chunked,
    skip: u64,
    count_max: u64,
) -> Result<Page<ChunkInfo>> {
    let chunks = Chunks::open(file, dataset, layout)?;
    let mut page = Page { entries: Vec::new(), more: false };
    let mut at = 0;
    chunks.walk(&mut |scaled, chunk| {
        if !chunks.is_inside(scaled) {
            return Ok(());
        }
        if at >= skip && (page.entries.len() as u64) < count_max {
            page.entries.push(ChunkInfo {
                offset: scaled.iter().zip(&layout.shape).map(|(s, c)| s.saturating_mul(*c)).collect(),
                filter_mask: chunk.filter_mask,
                bytes: chunk.bytes,
                address: Some(file.store.absolute(chunk.address)),
            });
        } else if at >= skip {
            page.more = true;
        }
        at += 1;
        Ok(())
    })?;
    Ok(page)
}

/// Bytes of all stored chunks.
pub(crate) fn storage(file: &File, dataset: &Dataset, layout: &Chunked) -> Result<StorageInfo> {
    let chunks = Chunks::open(file, dataset, layout)?;
    let (mut bytes, mut count) = (0u64, 0u64);
    chunks.walk(&mut |scaled, chunk| {
        bytes = bytes.saturating_add(chunk.bytes);
        count += u64::from(chunks.is_inside(scaled));
        Ok(())
    })?;
    let grid = dataset.dims().iter().zip(&layout.shape).map(|(d, c)| d.div_ceil(*c));
    let allocation = match count {
        0 => Allocation::None,
        n if n >= grid.fold(1, u64::saturating_mul) => Allocation::Full,
        _ => Allocation::Part,
    };
    Ok(StorageInfo { bytes, allocation, offset: None })
}
