//! Chunks of datasets: written, made early, and changed with the extent.

use super::Writer;
use super::draft::Draft;
use super::parts::ChunkSet;
use crate::chunk;
use crate::chunk::index::ChunkAt;
use crate::file::File;
use crate::format::Address;
use crate::format::header::kind;
use crate::format::layout::{Chunked, Index, Layout};
use crate::object::dataset::Dataset;
use model::dataspace::Format;
use model::properties::{AllocTime, FilterSpec};
use model::selection::PointIndex;
use model::{Error, Result, Selection, Within};
use rayon::prelude::*;
use vol::OpWrite;

/// Chunks in flight, in bytes.
const BATCH_BYTES: u64 = 32 << 20;

impl Writer {
    /// All chunks that are not there yet, filled.
    pub(super) fn allocate_chunks(&mut self, file: &File, dataset: &Dataset, layout: &Chunked) -> Result<()> {
        self.draft(file, dataset.address)?.chunks_mut(file)?;
        let bytes = chunk::chunk_bytes(file, &layout.shape, layout.element_bytes)?;
        let mut plain = vec![0; bytes];
        chunk::fill(dataset, &mut plain);
        let (encoded, mask) = file.filter(dataset.filters(), plain.clone())?;
        for scaled in Selection::All.chunks(dataset.dims(), &layout.shape)? {
            if self.chunks(dataset.address).is_some_and(|set| set.chunks.contains_key(&scaled)) {
                continue;
            }
            match filters_of(dataset, layout, &scaled, dataset.dims()).is_empty() {
                true => self.put_chunk(file, dataset.address, &scaled, &plain, 0)?,
                false => self.put_chunk(file, dataset.address, &scaled, &encoded, mask)?,
            }
        }
        Ok(())
    }

    /// One range for all chunks of the largest extent, in order: they need no index.
    pub(super) fn allocate_implicit(
        &mut self,
        file: &File,
        dataset: &Dataset,
        layout: &Chunked,
    ) -> Result<()> {
        if layout.address.is_some() {
            return Ok(());
        }
        let bytes = chunk::chunk_bytes(file, &layout.shape, layout.element_bytes)? as u64;
        let grid = dataset.info.space.max_dims().iter().zip(&layout.shape).map(|(d, c)| d.div_ceil(*c));
        let all = grid.into_iter().try_fold(bytes, u64::checked_mul);
        let all = all.ok_or_else(|| Error::limit("allocate chunks").with("chunk bytes", bytes))?;
        let at = self.allocate_raw(all);
        self.write_fill(dataset, at, all)?;
        let layout = Layout::Chunked(Chunked { address: Some(at), ..layout.clone() });
        let body = layout.encode_new(self.sizes)?;
        self.draft(file, dataset.address)?.set(kind::LAYOUT, 0, body);
        Ok(())
    }

    pub(super) fn write_chunks(
        &mut self,
        file: &File,
        dataset: &Dataset,
        layout: &Chunked,
        op: &OpWrite<'_>,
    ) -> Result<()> {
        let is_first = self.draft(file, dataset.address)?.chunks_mut(file)?.chunks.is_empty();
        let points = match op.selection {
            Selection::Points(points) => Some(PointIndex::new(points, &layout.shape)?),
            _ => None,
        };
        let wanted: Vec<Vec<u64>> = match &points {
            Some(points) => points.chunks().collect(),
            None => op.selection.chunks(dataset.dims(), &layout.shape)?.collect(),
        };
        let chunk_bytes = chunk::chunk_bytes(file, &layout.shape, layout.element_bytes)?;
        let batch = (BATCH_BYTES / chunk_bytes.max(1) as u64).clamp(1, 1024) as usize;
        for scaled in wanted.chunks(batch) {
            let changed =
                scaled.iter().map(|s| self.changed_chunk(file, dataset, layout, op, points.as_ref(), s));
            let changed = changed.collect::<Result<Vec<_>>>()?;
            let encode = |(scaled, chunk): (&Vec<u64>, Vec<u8>)| {
                file.filter(filters_of(dataset, layout, scaled, dataset.dims()), chunk)
            };
            let encoded: Vec<(Vec<u8>, u32)> =
                scaled.par_iter().zip(changed).map(encode).collect::<Result<_>>()?;
            for (scaled, (bytes, mask)) in scaled.iter().zip(encoded) {
                self.put_chunk(file, dataset.address, scaled, &bytes, mask)?;
            }
        }
        if is_first { self.allocate_late(file, dataset, layout) } else { Ok(()) }
    }

    /// With the first of its chunks, a dataset that is allocated late gets all of them, as in libhdf5.
    fn allocate_late(&mut self, file: &File, dataset: &Dataset, layout: &Chunked) -> Result<()> {
        match dataset.info.create.alloc_time {
            AllocTime::Late => self.allocate_chunks(file, dataset, layout),
            _ => Ok(()),
        }
    }

    /// A chunk's elements after the write.
    fn changed_chunk(
        &mut self,
        file: &File,
        dataset: &Dataset,
        layout: &Chunked,
        op: &OpWrite<'_>,
        points: Option<&PointIndex>,
        scaled: &[u64],
    ) -> Result<Vec<u8>> {
        let start: Vec<u64> = scaled.iter().zip(&layout.shape).map(|(s, c)| s * c).collect();
        let runs = match points {
            Some(points) => points.chunk_runs(scaled)?,
            None => op.selection.chunk_runs(dataset.dims(), &start, &layout.shape)?,
        };
        let mut chunk = self.current_chunk(file, dataset, layout, scaled)?;
        let bytes = dataset.element_bytes();
        for run in runs {
            let (to, from, len) = (
                run.chunk_offset as usize * bytes,
                run.selection_offset as usize * bytes,
                run.len as usize * bytes,
            );
            chunk[to..to + len].copy_from_slice(&op.from[from..from + len]);
        }
        Ok(chunk)
    }

    /// A chunk's elements as they are, or fill values where it is not stored.
    fn current_chunk(
        &mut self,
        file: &File,
        dataset: &Dataset,
        layout: &Chunked,
        scaled: &[u64],
    ) -> Result<Vec<u8>> {
        let bytes = chunk::chunk_bytes(file, &layout.shape, layout.element_bytes)?;
        let found = self.chunks(dataset.address).and_then(|set| set.chunks.get(scaled).copied());
        let Some(at) = found else {
            let mut chunk = vec![0; bytes];
            chunk::fill(dataset, &mut chunk);
            return Ok(chunk);
        };
        let mut raw = vec![0; at.bytes.within(file.store.limits.chunk_bytes_max, "stored chunk")?];
        file.store.read(at.address, &mut raw, "chunk")?;
        let filters = filters_of(dataset, layout, scaled, dataset.dims());
        let chunk = match filters.is_empty() {
            true => raw,
            false => file.unfilter(filters, at.filter_mask, raw, bytes)?,
        };
        if chunk.len() == bytes { Ok(chunk) } else { Err(Error::corrupt("read chunk").at(at.address.0)) }
    }

    /// The chunks of a dataset, once one of them changed.
    fn chunks(&self, dataset: Address) -> Option<&ChunkSet> {
        Some(self.existing(dataset)?.chunks.as_ref()?.value())
    }

    /// Stores a chunk's bytes in fresh space; the old ones are given up. Without an index, chunks have no
    /// place but their own.
    pub(crate) fn put_chunk(
        &mut self,
        file: &File,
        dataset: Address,
        scaled: &[u64],
        bytes: &[u8],
        mask: u32,
    ) -> Result<()> {
        let sizes = self.sizes;
        let draft = self.draft(file, dataset)?;
        let fixed = draft.is_implicit(sizes);
        let set = draft.chunks_mut(file)?;
        let (old, has_no_filters) = (set.chunks.get(scaled).copied(), !set.filtered);
        // Where room is not used again, what has the same size stays in its place.
        let same = |old: ChunkAt| old.bytes == bytes.len() as u64 && old.filter_mask == mask;
        let stays = !self.space.reuses() && !self.is_swmr();
        if let Some(old) = old.filter(|&old| fixed || (stays && same(old))) {
            return self.write(old.address, bytes);
        }
        // Readers that look on bear elements that change, and the file need not grow.
        if let Some(chunk) =
            old.filter(|chunk| self.is_swmr() && has_no_filters && chunk.bytes == bytes.len() as u64)
        {
            return self.overwrite_chunk(chunk.address, bytes);
        }
        if let Some(old) = old {
            self.release_raw(old.address, old.bytes);
        }
        let address = self.allocate_raw(bytes.len() as u64);
        self.write(address, bytes)?;
        let chunk = ChunkAt { address, bytes: bytes.len() as u64, filter_mask: mask };
        self.draft(file, dataset)?.chunks_mut(file)?.chunks.insert(scaled.to_vec(), chunk);
        self.note_chunk(dataset, scaled);
        Ok(())
    }

    /// Stores a chunk exactly as given.
    pub(crate) fn chunk_write(
        &mut self,
        file: &File,
        at: Address,
        offset: &[u64],
        mask: u32,
        data: &[u8],
    ) -> Result<()> {
        let dataset = self.dataset(file, at)?;
        let Layout::Chunked(layout) = &dataset.layout else {
            return Err(Error::invalid("write chunk").with("problem", "dataset is not chunked"));
        };
        let aligned =
            offset.len() == layout.shape.len() && offset.iter().zip(&layout.shape).all(|(o, c)| o % c == 0);
        if !aligned || offset.iter().zip(dataset.dims()).any(|(o, d)| o >= d) {
            return Err(Error::invalid("write chunk").with("offset", format!("{offset:?}")));
        }
        let whole = chunk::chunk_bytes(file, &layout.shape, layout.element_bytes)?;
        if dataset.filters().is_empty() && data.len() != whole {
            return Err(Error::invalid("write chunk").with("bytes", data.len()).with("wanted", whole));
        }
        let scaled: Vec<u64> = offset.iter().zip(&layout.shape).map(|(o, c)| o / c).collect();
        let is_first = self.draft(file, at)?.chunks_mut(file)?.chunks.is_empty();
        self.put_chunk(file, at, &scaled, data, mask)?;
        if is_first { self.allocate_late(file, &dataset, layout) } else { Ok(()) }
    }

    /// Changes the extent. What is cut off is gone: growing again shows the fill value.
    pub(crate) fn dataset_resize(&mut self, file: &File, at: Address, dims: &[u64]) -> Result<()> {
        let dataset = self.dataset(file, at)?;
        let Layout::Chunked(layout) = &dataset.layout else {
            return Err(Error::invalid("resize dataset").with("problem", "it is not chunked"));
        };
        let space = dataset.info.space.resized(dims)?;
        self.draft(file, at)?.chunks_mut(file)?;
        self.reshape_chunks(file, &dataset, layout, dims)?;
        let format = Format { length_bytes: self.sizes.length as u8 };
        let body = space.encode(self.dataspace_version(), &format)?;
        self.draft(file, at)?.set(kind::DATASPACE, 0, body);
        self.lay_out(file, at)?;
        if matches!(layout.index, Index::Implicit) {
            // Chunks without an index are those of the extent: they are listed again for the new one.
            self.draft(file, at)?.chunks = None;
        }
        if dataset.info.create.alloc_time == AllocTime::Early {
            self.allocate_early(file, at)
        } else {
            Ok(())
        }
    }

    /// Drops the chunks outside of the new extent, and rewrites those that are cut or show more, or whose filters change.
    fn reshape_chunks(
        &mut self,
        file: &File,
        dataset: &Dataset,
        layout: &Chunked,
        dims: &[u64],
    ) -> Result<()> {
        let fixed = self.existing(dataset.address).is_some_and(|d: &Draft| d.is_implicit(self.sizes));
        let only_grows = dims.iter().zip(dataset.dims()).all(|(new, old)| new >= old);
        let edges = grown_edges(dataset.dims(), dims, &layout.shape);
        let at_edge = |scaled: &[u64]| scaled.iter().zip(&edges).any(|(s, edge)| Some(*s) == *edge);
        let owned = |(s, c): (&Vec<u64>, &ChunkAt)| (s.clone(), *c);
        let stored: Vec<(Vec<u64>, ChunkAt)> = match (self.chunks(dataset.address), &edges[..]) {
            (None, _) => Vec::new(),
            // Of a dataset that only grows, chunks at the old edge change, and no others. Appending looks at one.
            (Some(_), edges) if only_grows && edges.iter().all(Option::is_none) => Vec::new(),
            (Some(set), [Some(edge)]) if only_grows => {
                set.chunks.get_key_value(&[*edge][..]).map(owned).into_iter().collect()
            }
            (Some(set), _) if only_grows => {
                set.chunks.iter().filter(|(s, _)| at_edge(s)).map(owned).collect()
            }
            (Some(set), _) => set.chunks.iter().map(owned).collect(),
        };
        for (scaled, chunk) in stored {
            let start: Vec<u64> = scaled.iter().zip(&layout.shape).map(|(s, c)| s * c).collect();
            let outside = start.iter().zip(dims).any(|(s, d)| s >= d);
            if outside && !fixed {
                self.draft(file, dataset.address)?.chunks_mut(file)?.chunks.remove(&scaled);
                self.note_removal(dataset.address);
                self.release_raw(chunk.address, chunk.bytes);
            } else if shows_other_part(&start, &layout.shape, dataset.dims(), dims)
                || filters_of(dataset, layout, &scaled, dataset.dims())
                    != filters_of(dataset, layout, &scaled, dims)
            {
                self.rewrite_chunk(file, dataset, layout, &scaled, dims)?;
            }
        }
        Ok(())
    }

    /// Puts the fill value over the elements of a chunk that lie outside of `dims`, or did so before: libhdf5 leaves
    /// anything there.
    fn rewrite_chunk(
        &mut self,
        file: &File,
        dataset: &Dataset,
        layout: &Chunked,
        scaled: &[u64],
        dims: &[u64],
    ) -> Result<()> {
        let old = self.current_chunk(file, dataset, layout, scaled)?;
        let mut new = vec![0; old.len()];
        chunk::fill(dataset, &mut new);
        let start: Vec<u64> = scaled.iter().zip(&layout.shape).map(|(s, c)| s * c).collect();
        let bytes = dataset.element_bytes();
        let kept: Vec<u64> = dataset.dims().iter().zip(dims).map(|(old, new)| *old.min(new)).collect();
        for run in Selection::All.chunk_runs(&kept, &start, &layout.shape)? {
            let (at, len) = (run.chunk_offset as usize * bytes, run.len as usize * bytes);
            new[at..at + len].copy_from_slice(&old[at..at + len]);
        }
        let filters = filters_of(dataset, layout, scaled, dims);
        // Growing by small steps must not write the same chunk at every step.
        if new == old && filters == filters_of(dataset, layout, scaled, dataset.dims()) {
            return Ok(());
        }
        let (encoded, mask) = file.filter(filters, new)?;
        self.put_chunk(file, dataset.address, scaled, &encoded, mask)
    }
}

/// Along each dimension that grows, the chunks that its old end cuts.
fn grown_edges(old: &[u64], new: &[u64], shape: &[u64]) -> Vec<Option<u64>> {
    let edge = |((old, new), c): ((&u64, &u64), &u64)| (new > old && old % c != 0).then(|| old / c);
    old.iter().zip(new).zip(shape).map(edge).collect()
}

/// Whether a chunk at the edge of an extent shows fewer or more of its elements afterwards.
fn shows_other_part(start: &[u64], shape: &[u64], old: &[u64], new: &[u64]) -> bool {
    let ends = start.iter().zip(shape).map(|(s, c)| s.saturating_add(*c));
    ends.zip(old.iter().zip(new)).any(|(end, (old, new))| old != new && end > *old.min(new))
}

/// The filters that a chunk goes through: none at the edge of an extent, where the dataset wants it so.
fn filters_of<'d>(dataset: &'d Dataset, layout: &Chunked, scaled: &[u64], dims: &[u64]) -> &'d [FilterSpec] {
    let mut ends = scaled.iter().zip(&layout.shape).map(|(s, c)| (s + 1).saturating_mul(*c)).zip(dims);
    match layout.edge_chunks_unfiltered && ends.any(|(end, dim)| end > *dim) {
        true => &[],
        false => dataset.filters(),
    }
}
