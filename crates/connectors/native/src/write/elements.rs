//! Elements of datasets and their extents.

use model::dataspace::Format;
use model::properties::{AllocTime, FilterSpec, Layout as LayoutProperty};
use model::selection::PointIndex;
use model::{Dataspace, Error, Result, Selection, Token, Within};
use rayon::prelude::*;
use vol::OpWrite;

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

/// Fill values written at a time.
const FILL_BYTES: u64 = 1 << 20;
/// Contiguous elements of this size and more that are all overwritten move to another place.
const MOVED_BYTES_MIN: u64 = 64 << 10;
/// Chunks in flight, in bytes.
const BATCH_BYTES: u64 = 32 << 20;

impl Writer {
    /// The dataset as a reader sees it, with everything laid out.
    pub(super) fn dataset(&mut self, file: &File, at: Address) -> Result<std::sync::Arc<Dataset>> {
        self.lay_out(file, at)?;
        file.dataset(model::Token::from_u64(at.0))
    }

    /// The dataset that elements go to. A chunked one's header stays as it is while its chunks change.
    fn target(&mut self, file: &File, op: &OpWrite<'_>) -> Result<std::sync::Arc<Dataset>> {
        let at = Address(op.dataset.to_u64());
        self.check_there(at)?;
        match self.existing(at).is_some_and(|d| d.chunks.is_some()) {
            true => file.dataset(op.dataset),
            false => self.dataset(file, at),
        }
    }

    /// An error where a write does not fit its dataset; whether the dataset is virtual, so that the elements go elsewhere.
    pub(crate) fn check_write(&mut self, file: &File, op: &OpWrite<'_>) -> Result<bool> {
        let mut dataset = self.target(file, op)?;
        let is_virtual = matches!(dataset.layout, Layout::Virtual { .. });
        if is_virtual {
            // How far it reaches, sources in this file may say.
            self.lay_out_all(file)?;
            dataset = self.target(file, op)?;
        }
        check_elements(&dataset, op)?;
        Ok(is_virtual)
    }

    pub(crate) fn dataset_write(&mut self, file: &File, op: &OpWrite<'_>) -> Result<()> {
        let dataset = self.target(file, op)?;
        if op.from.is_empty() {
            return Ok(());
        }
        match (&dataset.info.create.layout, &dataset.layout) {
            (LayoutProperty::Virtual(_), _) => Err(Error::unsupported("write to virtual data")),
            (LayoutProperty::External(list), _) => {
                chunk::write_external(file, &dataset, list, op.selection, op.from)
            }
            (_, Layout::Compact { data }) => self.write_compact(file, &dataset, data.clone(), op),
            (_, Layout::Contiguous { address, .. }) => self.write_contiguous(file, &dataset, *address, op),
            (_, Layout::Chunked(layout)) => self.write_chunks(file, &dataset, layout, op),
            (_, Layout::Virtual { .. }) => Err(Error::unsupported("write to virtual data")),
        }
    }

    fn write_compact(
        &mut self,
        file: &File,
        dataset: &Dataset,
        mut data: Vec<u8>,
        op: &OpWrite<'_>,
    ) -> Result<()> {
        let bytes = dataset.element_bytes();
        let mut rest = op.from;
        for run in op.selection.runs(dataset.dims())? {
            let (now, later) = rest.split_at(run.len as usize * bytes);
            let start = run.offset as usize * bytes;
            let room = data.get_mut(start..start + now.len());
            room.ok_or_else(|| Error::corrupt("write compact data"))?.copy_from_slice(now);
            rest = later;
        }
        let body = Layout::Compact { data }.encode_new(self.sizes)?;
        self.draft(file, dataset.address)?.set(kind::LAYOUT, 0, body);
        Ok(())
    }

    fn write_contiguous(
        &mut self,
        file: &File,
        dataset: &Dataset,
        address: Option<Address>,
        op: &OpWrite<'_>,
    ) -> Result<()> {
        let bytes = chunk::logical_bytes(dataset)?;
        let is_whole = op.from.len() as u64 == bytes;
        match address {
            // Much that is committed is not staged, but written elsewhere: nothing of it stays.
            Some(at) if is_whole && bytes >= MOVED_BYTES_MIN && self.moves(at, bytes) => {
                self.place_contiguous(file, dataset, op)?;
                self.release_raw(at, bytes);
                Ok(())
            }
            Some(at) => self.write_runs(dataset, at, op),
            None => self.place_contiguous(file, dataset, op),
        }
    }

    /// Whether what is there is better written elsewhere: it is committed, and its room is used again.
    fn moves(&self, at: Address, bytes: u64) -> bool {
        self.space.reuses() && !self.is_fresh(at, bytes)
    }

    /// Puts all elements in new room: those that are written, and the fill value for others.
    fn place_contiguous(&mut self, file: &File, dataset: &Dataset, op: &OpWrite<'_>) -> Result<()> {
        let bytes = chunk::logical_bytes(dataset)?;
        let at = self.allocate_raw(bytes);
        let is_whole = op.from.len() as u64 == bytes;
        let filled = if is_whole { Ok(()) } else { self.write_fill(dataset, at, bytes) };
        let written = filled.and_then(|()| self.write_runs(dataset, at, op));
        if written.is_err() {
            // The dataset does not lead there yet.
            self.release_raw(at, bytes);
            return written;
        }
        let body = Layout::Contiguous { address: Some(at), bytes: Some(bytes) }.encode_new(self.sizes)?;
        self.draft(file, dataset.address)?.set(kind::LAYOUT, 0, body);
        Ok(())
    }

    fn write_runs(&mut self, dataset: &Dataset, base: Address, op: &OpWrite<'_>) -> Result<()> {
        let bytes = dataset.element_bytes() as u64;
        let mut rest = op.from;
        for run in op.selection.runs(dataset.dims())? {
            let (now, later) = rest.split_at((run.len * bytes) as usize);
            self.write(Address(base.0 + run.offset * bytes), now)?;
            rest = later;
        }
        Ok(())
    }

    /// Repeats the fill value over a range of whole elements.
    fn write_fill(&mut self, dataset: &Dataset, at: Address, bytes: u64) -> Result<()> {
        let piece = (FILL_BYTES / dataset.element_bytes() as u64).max(1) * dataset.element_bytes() as u64;
        let mut fill = vec![0; piece.min(bytes) as usize];
        chunk::fill(dataset, &mut fill);
        let mut done = 0;
        while done < bytes {
            let len = (bytes - done).min(fill.len() as u64);
            self.write(Address(at.0 + done), &fill[..len as usize])?;
            done += len;
        }
        Ok(())
    }

    /// Makes room for all elements of a dataset now, with its fill value.
    pub(crate) fn allocate_early(&mut self, file: &File, at: Address) -> Result<()> {
        let dataset = self.dataset(file, at)?;
        match &dataset.layout {
            Layout::Contiguous { address: None, .. }
                if dataset.info.create.layout == LayoutProperty::Contiguous
                    && chunk::logical_bytes(&dataset)? > 0 =>
            {
                let nothing =
                    OpWrite { dataset: Token::from_u64(at.0), selection: &Selection::None, from: &[] };
                self.place_contiguous(file, &dataset, &nothing)
            }
            Layout::Chunked(layout) if matches!(layout.index, Index::Implicit) => {
                self.allocate_implicit(file, &dataset, layout)
            }
            Layout::Chunked(layout) => self.allocate_chunks(file, &dataset, layout),
            _ => Ok(()),
        }
    }

    /// All chunks that are not there yet, filled.
    fn allocate_chunks(&mut self, file: &File, dataset: &Dataset, layout: &Chunked) -> Result<()> {
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
    fn allocate_implicit(&mut self, file: &File, dataset: &Dataset, layout: &Chunked) -> Result<()> {
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

    fn write_chunks(
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
            } else {
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

fn check_elements(dataset: &Dataset, op: &OpWrite<'_>) -> Result<()> {
    let count = match &dataset.info.space {
        Dataspace::Null => 0,
        space => {
            op.selection.validate(space.dims())?;
            op.selection.element_count(space.dims())?
        }
    };
    match count.checked_mul(dataset.element_bytes() as u64) == Some(op.from.len() as u64) {
        true => Ok(()),
        false => {
            Err(Error::invalid("write dataset").with("elements", count).with("buffer bytes", op.from.len()))
        }
    }
}
