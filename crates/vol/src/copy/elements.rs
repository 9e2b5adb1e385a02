//! Datasets and their elements.

use std::sync::Arc;

use model::properties::{FillValue, Layout};
use model::{Dataspace, Datatype, Error, Result, Selection, Token};

use super::Copier;
use super::values::has_references;
use crate::{Allocation, Container, DatasetInfo, OpDatasetCreate, OpRead, OpWrite, Place};

/// Bytes of elements moved at a time.
const PIECE_BYTES: u64 = 16 << 20;
/// Chunks listed at a time.
const CHUNKS_PER_PAGE: u64 = 4096;

/// Called with the type, the place and the bytes of a piece of a dataset.
type Piece<'p> = dyn FnMut(&Datatype, &Selection, Vec<u8>) -> Result<()> + 'p;

impl Copier<'_> {
    pub(super) fn dataset(&mut self, old: Token, place: Option<Place>, path: &str) -> Result<Token> {
        let info = self.source.dataset_info(old)?;
        let mut create = info.create.clone();
        if let FillValue::Value(value) = &create.fill.value
            && !has_references(&info.datatype)
        {
            create.fill.value = FillValue::Value(self.convert(self.target, &info.datatype, value.clone())?);
        }
        let mut op = OpDatasetCreate {
            place,
            datatype: info.datatype.clone(),
            committed: self.shared(info.committed)?,
            space: info.space.clone(),
            create,
        };
        if let Some(alter) = self.options.alter {
            alter(path, &mut op)?;
        }
        self.target.dataset_create(&op)
    }

    pub(super) fn elements(&mut self, old: Token, new: Token) -> Result<()> {
        let info = self.source.dataset_info(old)?;
        if has_references(&info.datatype) {
            self.refers(old, new);
            return Ok(());
        }
        self.copy_elements(old, new, self.target)
    }

    /// Copies the elements of a dataset: as they are stored where that is possible.
    pub(super) fn copy_elements(&self, old: Token, new: Token, target: &dyn Container) -> Result<()> {
        let (from, to) = (self.source.dataset_info(old)?, target.dataset_info(new)?);
        // Data beside the container, and data of other datasets, is not the copy's own.
        let elsewhere = matches!(to.create.layout, Layout::External(_) | Layout::Virtual(_));
        if elsewhere
            || self.source.dataset_storage(old)?.allocation == Allocation::None
                && !matches!(from.create.layout, Layout::Virtual(_))
        {
            return Ok(());
        }
        if self.is_stored_alike(&from, &to)? {
            return self.copy_chunks(old, new);
        }
        self.each_piece(old, &mut |datatype, selection, raw| {
            let bytes = raw.len() as u64;
            let from = &self.convert(target, datatype, raw)?;
            target.dataset_write(&[OpWrite { dataset: new, selection, from }])?;
            self.advance(0, bytes)
        })
    }

    /// Whether chunks can be copied without undoing their filters.
    fn is_stored_alike(&self, from: &Arc<DatasetInfo>, to: &Arc<DatasetInfo>) -> Result<bool> {
        let (
            Layout::Chunked { shape: a, edge_chunks_unfiltered: c, .. },
            Layout::Chunked { shape: b, edge_chunks_unfiltered: d, .. },
        ) = (&from.create.layout, &to.create.layout)
        else {
            return Ok(false);
        };
        let raw = self.source.info()?.capability.raw_chunks && self.target.info()?.capability.raw_chunks;
        let alike = a == b && c == d && from.create.filters == to.create.filters && from.space == to.space;
        Ok(raw && alike && !from.datatype.has_slots() && from.datatype == to.datatype)
    }

    fn copy_chunks(&self, old: Token, new: Token) -> Result<()> {
        let (mut skip, mut more) = (0, true);
        while more {
            let page = self.source.chunk_list(old, skip, CHUNKS_PER_PAGE)?;
            (skip, more) = (skip + page.entries.len() as u64, page.more && !page.entries.is_empty());
            for chunk in page.entries {
                let (mask, data) = self.source.chunk_read(old, &chunk.offset)?;
                self.target.chunk_write(new, &chunk.offset, mask, &data)?;
                self.advance(0, data.len() as u64)?;
            }
        }
        Ok(())
    }

    /// Reads a dataset piece by piece; pieces hold whole chunks.
    pub(super) fn each_piece(&self, dataset: Token, visit: &mut Piece<'_>) -> Result<()> {
        let info = self.source.dataset_info(dataset)?;
        let element_bytes = u64::from(info.datatype.size());
        let read = |selection: &Selection, count: u64| {
            let bytes = usize::try_from(count.saturating_mul(element_bytes))
                .map_err(|_| Error::limit("copy elements").with("count", count))?;
            let mut raw = vec![0; bytes];
            self.source.dataset_read(&mut [OpRead { dataset, selection, into: &mut raw }])?;
            Ok::<_, Error>(raw)
        };
        if info.space == Dataspace::Null {
            return Ok(());
        }
        if info.space.rank() == 0 {
            let raw = read(&Selection::All, 1)?;
            return visit(&info.datatype, &Selection::All, raw);
        }
        let unit = match &info.create.layout {
            Layout::Chunked { shape, .. } => shape.clone(),
            _ => vec![1; info.space.rank()],
        };
        let dims = info.space.dims();
        for (start, shape) in tiles(dims, &unit, element_bytes) {
            let selection = Selection::block(&start, &shape)?;
            let raw = read(&selection, shape.iter().product())?;
            visit(&info.datatype, &selection, raw)?;
        }
        Ok(())
    }
}

/// Blocks that cover an extent: multiples of `unit`, as many of them in C order as a piece holds.
fn tiles(dims: &[u64], unit: &[u64], element_bytes: u64) -> Vec<(Vec<u64>, Vec<u64>)> {
    if dims.contains(&0) {
        return Vec::new();
    }
    let mut shape: Vec<u64> = unit.iter().zip(dims).map(|(u, d)| *u.min(d)).collect();
    for d in (0..dims.len()).rev() {
        let bytes = shape.iter().fold(element_bytes.max(1), |n, &s| n.saturating_mul(s));
        let times = (PIECE_BYTES / bytes.max(1)).max(1);
        shape[d] = shape[d].saturating_mul(times).min(dims[d]);
        if shape[d] < dims[d] {
            break;
        }
    }
    let mut found = Vec::new();
    let mut start = vec![0; dims.len()];
    loop {
        let block = start.iter().zip(&shape).zip(dims).map(|((at, s), d)| *s.min(&(d - at))).collect();
        found.push((start.clone(), block));
        let Some(d) = (0..dims.len()).rev().find(|&d| start[d] + shape[d] < dims[d]) else { return found };
        start[d] += shape[d];
        start[d + 1..].fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::tiles;

    #[test]
    fn tiles_cover_everything_once_and_hold_whole_chunks() {
        for (dims, unit) in [(vec![7, 5], vec![2, 3]), (vec![3000, 2000], vec![64, 100]), (vec![1], vec![1])]
        {
            let found = tiles(&dims, &unit, 8);
            let count: u64 = found.iter().map(|(_, shape)| shape.iter().product::<u64>()).sum();
            assert_eq!(count, dims.iter().product::<u64>());
            assert!(found.iter().all(|(start, _)| start.iter().zip(&unit).all(|(s, u)| s % u == 0)));
        }
        assert_eq!(tiles(&[4, 0], &[1, 1], 8), []);
    }
}
