//! Datasets and their elements.

use std::sync::Arc;

use model::properties::{FillValue, FilterSpec, Layout};
use model::{Dataspace, Datatype, Error, Kind, ObjectPath, Result, Selection, Token};
use vol::{
    Allocation, ChunkInfo, Container, DatasetInfo, LinkLocation, OpDatasetCreate, OpRead, OpWrite,
    StorageInfo,
};

use super::Copier;
use super::values::has_references;
use crate::{stored, workers};

/// Bytes of elements moved at a time.
const PIECE_BYTES: u64 = 16 << 20;
/// Less is not read ahead.
const AHEAD_BYTES_MIN: u64 = 1 << 20;
/// More readers would only hold more pieces.
const READERS_MAX: usize = 4;
/// Chunks listed at a time.
const CHUNKS_PER_PAGE: u64 = 4096;

/// Called with the type, the place and the bytes of a piece of a dataset.
type ElementsVisitor<'p> = dyn FnMut(&Datatype, &Selection, &[u8]) -> Result<()> + 'p;

impl Copier<'_> {
    pub(super) fn dataset(
        &mut self,
        old: Token,
        place: Option<LinkLocation>,
        path: &ObjectPath,
    ) -> Result<Token> {
        let info = self.source.dataset_info(old)?;
        let mut create = info.create.clone();
        if let FillValue::Value(value) = &create.fill.value
            && !has_references(&info.datatype)
        {
            let value = self.convert(self.target, &info.datatype, value)?;
            create.fill.value = FillValue::Value(value.into_owned());
        }
        let mut op = OpDatasetCreate {
            place,
            datatype: info.datatype.clone(),
            committed: self.shared(info.committed)?,
            space: info.space.clone(),
            create,
        };
        if let Some(alter) = self.context.alter {
            alter(path, &mut op)?;
        }
        self.make_dataset(op, path)
    }

    /// Copies the elements of a dataset at a path, after so many pieces that are copied already.
    pub(super) fn elements(&mut self, old: Token, new: Token, done: (&ObjectPath, u64)) -> Result<()> {
        if self.context.without_elements {
            return Ok(());
        }
        let info = self.source.dataset_info(old)?;
        if has_references(&info.datatype) {
            self.refers(old, new);
            return Ok(());
        }
        self.copy_elements(old, new, self.target, done)
    }

    /// Copies the elements of a dataset: as they are stored where that is possible.
    pub(super) fn copy_elements(
        &self,
        old: Token,
        new: Token,
        target: &dyn Container,
        (path, done): (&ObjectPath, u64),
    ) -> Result<()> {
        let (from, to) = (self.source.dataset_info(old)?, target.dataset_info(new)?);
        // Data next to the container, and data of other datasets, is not the copy's own.
        let external = matches!(to.create.layout, Layout::External(_) | Layout::Virtual(_));
        if external
            || self.source.dataset_storage(old)?.allocation == Allocation::None
                && !matches!(from.create.layout, Layout::Virtual(_))
        {
            return Ok(());
        }
        if self.is_stored_alike(&from, &to)? {
            match self.copy_chunks(old, new, (path, done)) {
                // A container without these filters takes the elements instead.
                Err(error) if error.kind() == Kind::Unsupported => {}
                copied => return copied,
            }
        }
        let mut pieces = done;
        self.each_piece(old, done, &mut |datatype, selection, raw| {
            let from = &self.convert(target, datatype, raw)?;
            target.dataset_write(&[OpWrite { dataset: new, selection, from }])?;
            pieces += 1;
            self.reached(path, pieces)?;
            self.advance(0, raw.len() as u64)
        })
    }

    /// Returns whether chunks can be copied without undoing their filters.
    fn is_stored_alike(&self, from: &Arc<DatasetInfo>, to: &Arc<DatasetInfo>) -> Result<bool> {
        let (
            Layout::Chunked { shape: a, edge_chunks_unfiltered: c, .. },
            Layout::Chunked { shape: b, edge_chunks_unfiltered: d, .. },
        ) = (&from.create.layout, &to.create.layout)
        else {
            return Ok(false);
        };
        let raw = self.source.info()?.capability.raw_chunks && self.target.info()?.capability.raw_chunks;
        let filters = alike(&from.create.filters, &to.create.filters);
        let alike = a == b && c == d && filters && from.space == to.space;
        Ok(raw && alike && !from.datatype.has_descriptors() && from.datatype == to.datatype)
    }

    /// Copies chunks as they are stored. Some are read ahead while others are written.
    fn copy_chunks(&self, old: Token, new: Token, (path, done): (&ObjectPath, u64)) -> Result<()> {
        let (source, mut pieces, mut more) = (self.source, done, true);
        while more {
            let page = source.chunk_list(old, pieces, CHUNKS_PER_PAGE)?;
            more = page.more && !page.entries.is_empty();
            let read = |chunk: &ChunkInfo, into: &mut (u32, Vec<u8>)| {
                *into = source.chunk_read(old, &chunk.offset)?;
                Ok(())
            };
            let bytes = page.entries.iter().map(|chunk| chunk.bytes).sum();
            let threads = workers::threads(bytes, AHEAD_BYTES_MIN).min(page.entries.len());
            workers::in_order(page.entries.into_iter().map(Ok), threads, read, |chunk, (mask, data)| {
                self.target.chunk_write(new, &chunk.offset, *mask, data)?;
                pieces += 1;
                self.reached(path, pieces)?;
                self.advance(0, data.len() as u64)
            })?;
        }
        Ok(())
    }

    /// Reads a dataset piece by piece, after the first few; pieces hold whole chunks, and some are read ahead.
    pub(super) fn each_piece(
        &self,
        dataset: Token,
        skip: u64,
        visit: &mut ElementsVisitor<'_>,
    ) -> Result<()> {
        let info = self.source.dataset_info(dataset)?;
        let (source, dims) = (self.source, info.space.dims());
        let element_bytes = u64::from(info.datatype.size());
        let read = |selection: &Selection, into: &mut Vec<u8>| {
            let bytes = selection.element_count(dims)?.saturating_mul(element_bytes);
            let bytes =
                usize::try_from(bytes).map_err(|_| Error::limit("copy elements").with("bytes", bytes))?;
            into.resize(bytes, 0);
            source.dataset_read(&mut [OpRead { dataset, selection, into }])
        };
        let storage = source.dataset_storage(dataset)?;
        let bytes = info.space.element_count()?.saturating_mul(element_bytes).min(storage.bytes);
        let threads = workers::threads(bytes, AHEAD_BYTES_MIN).min(READERS_MAX);
        let pieces: Box<dyn Iterator<Item = Result<Selection>> + Send> =
            match StoredChunks::new(source, dataset, &info, &storage)? {
                Some(chunks) => Box::new(chunks),
                None => match stored::sparse(source, dataset, &info)? {
                    Some(stored) => {
                        let blocks = stored.blocks_of((PIECE_BYTES / element_bytes.max(1)).max(1));
                        Box::new(blocks.map(|block| block.selection()))
                    }
                    None => Box::new(pieces(&info)),
                },
            };
        let left = pieces.skip(usize::try_from(skip).unwrap_or(usize::MAX));
        workers::in_order(left, threads, read, |selection, raw| visit(&info.datatype, selection, raw))
    }
}

/// Returns whether filters do the same. Old files have names for all of them, new ones only for those that others made.
fn alike(some: &[FilterSpec], others: &[FilterSpec]) -> bool {
    let what = |filter: &FilterSpec| FilterSpec { name: None, ..filter.clone() };
    some.iter().map(what).eq(others.iter().map(what))
}

/// The chunks of a dataset that are stored, where others are not: what no one wrote is a hole in the copy, too.
struct StoredChunks<'c> {
    source: &'c dyn Container,
    dataset: Token,
    dims: Vec<u64>,
    shape: Vec<u64>,
    /// Chunks that were listed.
    listed: u64,
    page: std::vec::IntoIter<ChunkInfo>,
    more: bool,
}

impl<'c> StoredChunks<'c> {
    /// Returns the chunks that are missing, or `None` if there are none or the container does not say which.
    fn new(
        source: &'c dyn Container,
        dataset: Token,
        info: &DatasetInfo,
        storage: &StorageInfo,
    ) -> Result<Option<Self>> {
        let Layout::Chunked { shape, .. } = &info.create.layout else { return Ok(None) };
        if storage.allocation != Allocation::Part || !source.info()?.capability.raw_chunks {
            return Ok(None);
        }
        let (dims, shape) = (info.space.dims().to_vec(), shape.clone());
        let page = Vec::new().into_iter();
        Ok(Some(StoredChunks { source, dataset, dims, shape, listed: 0, page, more: true }))
    }

    /// Returns what of a chunk is inside of the extent.
    fn inside(&self, chunk: &ChunkInfo) -> Result<Option<Selection>> {
        let ends = chunk.offset.iter().zip(&self.dims).map(|(at, dim)| dim.saturating_sub(*at));
        let part: Vec<u64> = ends.zip(&self.shape).map(|(left, len)| left.min(*len)).collect();
        if part.contains(&0) { Ok(None) } else { Selection::block(&chunk.offset, &part).map(Some) }
    }

    fn next_chunk(&mut self) -> Result<Option<ChunkInfo>> {
        if self.page.len() == 0 && self.more {
            let page = self.source.chunk_list(self.dataset, self.listed, CHUNKS_PER_PAGE)?;
            self.listed += page.entries.len() as u64;
            self.more = page.more && !page.entries.is_empty();
            self.page = page.entries.into_iter();
        }
        Ok(self.page.next())
    }
}

impl Iterator for StoredChunks<'_> {
    type Item = Result<Selection>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let found = self.next_chunk().and_then(|chunk| match chunk {
                Some(chunk) => self.inside(&chunk).map(Some),
                None => Ok(None),
            });
            match found {
                Ok(None) => return None,
                Ok(Some(None)) => {}
                Ok(Some(Some(selection))) => return Some(Ok(selection)),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// Returns the pieces that cover a dataset, each of whole chunks.
pub(crate) fn pieces(info: &DatasetInfo) -> impl Iterator<Item = Result<Selection>> + Send {
    let unit = match &info.create.layout {
        Layout::Chunked { shape, .. } => shape.clone(),
        _ => vec![1; info.space.rank()],
    };
    let whole = (info.space == Dataspace::Scalar).then_some(Ok(Selection::All));
    let tiles = Tiles::new(info.space.dims(), &unit, info.datatype.size().into());
    whole.into_iter().chain(tiles.map(|(start, shape)| Selection::block(&start, &shape)))
}

/// Blocks that cover an extent: multiples of `unit`, as many of them in C order as a piece holds. They are made when they are
/// asked for: an extent may be larger than any list.
struct Tiles {
    dims: Vec<u64>,
    shape: Vec<u64>,
    /// Where the next one begins.
    next: Option<Vec<u64>>,
}

impl Tiles {
    fn new(dims: &[u64], unit: &[u64], element_bytes: u64) -> Tiles {
        let mut shape: Vec<u64> = unit.iter().zip(dims).map(|(u, d)| *u.min(d)).collect();
        for d in (0..dims.len()).rev() {
            let bytes = shape.iter().fold(element_bytes.max(1), |n, &s| n.saturating_mul(s));
            let times = (PIECE_BYTES / bytes.max(1)).max(1);
            shape[d] = shape[d].saturating_mul(times).min(dims[d]);
            if shape[d] < dims[d] {
                break;
            }
        }
        let is_empty = dims.is_empty() || dims.contains(&0);
        Tiles { dims: dims.to_vec(), shape, next: (!is_empty).then(|| vec![0; dims.len()]) }
    }
}

impl Iterator for Tiles {
    /// Start and shape.
    type Item = (Vec<u64>, Vec<u64>);

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.next.take()?;
        let (dims, shape) = (&self.dims, &self.shape);
        let block = start.iter().zip(shape).zip(dims).map(|((at, s), d)| *s.min(&(d - at))).collect();
        if let Some(d) = (0..dims.len()).rev().find(|&d| start[d] + shape[d] < dims[d]) {
            let mut next = start.clone();
            next[d] += shape[d];
            next[d + 1..].fill(0);
            self.next = Some(next);
        }
        Some((start, block))
    }
}

#[cfg(test)]
mod tests {
    use super::Tiles;

    #[test]
    fn tiles_cover_everything_once_and_hold_whole_chunks() {
        for (dims, unit) in [(vec![7, 5], vec![2, 3]), (vec![3000, 2000], vec![64, 100]), (vec![1], vec![1])]
        {
            let found: Vec<_> = Tiles::new(&dims, &unit, 8).collect();
            let count: u64 = found.iter().map(|(_, shape)| shape.iter().product::<u64>()).sum();
            assert_eq!(count, dims.iter().product::<u64>());
            assert!(found.iter().all(|(start, _)| start.iter().zip(&unit).all(|(s, u)| s % u == 0)));
        }
        assert_eq!(Tiles::new(&[4, 0], &[1, 1], 8).count(), 0);
    }
}
