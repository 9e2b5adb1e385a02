//! Chunks of datasets: written whole, changed in part, made early.

use algorithms::{thread_pool, workers};
use files::DataKind;
use filters::pipeline::stages;
use model::properties::AllocTime;
use model::selection::PointIndex;
use model::{Error, Result, Selection, Within};
use vol::OpWrite;

use super::incoming::{Encoded, Incoming, filters_of, keep_only};
use super::{Writer, block};
use crate::chunk;
use crate::chunk::index::ChunkAt;
use crate::chunk::load::check_stored;
use crate::format::Address;
use crate::format::layout::{Chunked, Layout};
use crate::object::dataset::Dataset;

/// Fewer bytes are encoded by one thread.
const PARALLEL_BYTES_MIN: u64 = 256 << 10;

/// Smaller chunks go to the file together.
const PLACED_BYTES_MIN: usize = 64 << 10;

impl Writer {
    /// Allocates all chunks that are missing, with the fill value.
    pub(super) fn allocate_chunks(&mut self, dataset: &Dataset, layout: &Chunked) -> Result<()> {
        self.objects.chunks_mut(dataset.address)?;
        let bytes = chunk::chunk_bytes(&self.reader, &layout.shape, layout.element_bytes)?;
        let mut plain = vec![0; bytes];
        chunk::fill(dataset, &mut plain);
        let (encoded, mask) = self.reader.filter(dataset.filters(), plain)?;
        for chunk_coords in Selection::All.chunks(dataset.dims(), &layout.shape)? {
            if self.has_chunk(dataset.address, &chunk_coords)? {
                continue;
            }
            match filters_of(dataset, layout, &chunk_coords, dataset.dims()).is_empty() {
                // Zeros at the end of the file need not be written.
                true => drop(self.chunk_space(dataset, &chunk_coords, bytes as u64)?),
                false => self.put_chunk(dataset.address, &chunk_coords, &encoded, mask)?,
            }
        }
        Ok(())
    }

    /// Returns whether a chunk is stored, or waits to be.
    fn has_chunk(&mut self, dataset: Address, chunk_coords: &[u64]) -> Result<bool> {
        Ok(self.chunks.pending.has(dataset, chunk_coords)
            || self.objects.chunk_at(dataset, chunk_coords)?.is_some())
    }

    /// One range for all chunks of the largest extent, in order: they need no index.
    pub(super) fn allocate_implicit(&mut self, dataset: &Dataset, layout: &Chunked) -> Result<()> {
        if layout.address.is_some() {
            return Ok(());
        }
        let bytes = chunk::chunk_bytes(&self.reader, &layout.shape, layout.element_bytes)? as u64;
        let grid = dataset.info.space.max_dims().iter().zip(&layout.shape).map(|(d, c)| d.div_ceil(*c));
        let all = grid.into_iter().try_fold(bytes, u64::checked_mul);
        let all = all.ok_or_else(|| Error::limit("allocate chunks").with("chunk bytes", bytes))?;
        let at = self.storage.allocate(all, DataKind::Raw);
        self.storage.write_fill(dataset, at, all)?;
        self.set_layout(dataset.address, &Layout::Chunked(Chunked { address: Some(at), ..layout.clone() }))
    }

    pub(super) fn write_chunks(
        &mut self,
        dataset: &Dataset,
        layout: &Chunked,
        op: &OpWrite<'_>,
    ) -> Result<()> {
        self.objects.chunks_mut(dataset.address)?;
        let is_first = dataset.info.create.alloc_time == AllocTime::Late
            && !self.chunks.pending.is_changed(dataset.address)
            && self.objects.has_no_chunks(dataset.address)?;
        if !is_first && let Some(chunk_coords) = block::chunk_of(op.selection, &layout.shape) {
            return self.write_inside(dataset, layout, op, &chunk_coords);
        }
        let points = match op.selection {
            Selection::Points(points) => Some(PointIndex::new(points, &layout.shape)?),
            _ => None,
        };
        let wanted: Vec<Vec<u64>> = match &points {
            Some(points) => points.chunks().collect(),
            None => op.selection.chunks(dataset.dims(), &layout.shape)?.collect(),
        };
        let chunk_bytes = chunk::chunk_bytes(&self.reader, &layout.shape, layout.element_bytes)?;
        let reader = self.reader.clone();
        let incoming = Incoming { file: &reader, dataset, layout, op, points, chunk_bytes };
        self.write_wanted(&incoming, &wanted)?;
        if is_first { self.allocate_late(dataset, layout) } else { Ok(()) }
    }

    /// Writes a block inside of one chunk.
    fn write_inside(
        &mut self,
        dataset: &Dataset,
        layout: &Chunked,
        op: &OpWrite<'_>,
        chunk_coords: &[u64],
    ) -> Result<()> {
        let (at, bytes) = (dataset.address, dataset.element_bytes());
        let put = |chunk: &mut [u8]| block::put(op.selection, &layout.shape, bytes, op.from, chunk);
        let from = (block::run_start(op.selection, &layout.shape, bytes), op.from);
        let mut is_full = self.chunks.pending.put(at, chunk_coords, from, put);
        let is_new = is_full.is_none();
        if is_new {
            self.fetch_chunk(dataset, layout, chunk_coords)?;
            is_full = self.chunks.pending.put(at, chunk_coords, from, put);
        }
        let is_full = is_full.ok_or_else(|| Error::corrupt("change chunk").at(at.0))?;
        // Filters are left for later, when many chunks go through them on all cores.
        match is_full && dataset.filters().is_empty() {
            true => self.flush_chunk(at, chunk_coords),
            false if is_new => self.trim_chunks(),
            false => Ok(()),
        }
    }

    /// Chunks that are replaced are written at once, on all cores; others wait for more.
    fn write_wanted(&mut self, incoming: &Incoming<'_>, wanted: &[Vec<u64>]) -> Result<()> {
        let mut whole = Vec::new();
        for chunk_coords in wanted {
            match incoming.replaces(chunk_coords)? {
                true => whole.push(chunk_coords.clone()),
                false => self.change_chunk(incoming, chunk_coords)?,
            }
        }
        if whole.is_empty() {
            return Ok(());
        }
        let at = incoming.dataset.address;
        let is_plain = incoming.dataset.filters().is_empty() && incoming.chunk_bytes >= PLACED_BYTES_MIN;
        match is_plain && !self.chunks.is_in_place(at) && self.can_move_chunks(at)? {
            true => self.place_plain(incoming, &whole)?,
            false => self.place_encoded(incoming, &whole)?,
        }
        whole.iter().for_each(|chunk_coords| self.chunks.pending.remove(at, chunk_coords));
        Ok(())
    }

    /// Returns whether chunks that are replaced go to new space, and the old one is used again.
    fn can_move_chunks(&mut self, dataset: Address) -> Result<bool> {
        let sizes = self.storage.sizes;
        let is_implicit = self.objects.load(dataset)?.is_implicit(sizes);
        Ok(!is_implicit && !self.storage.is_swmr() && self.storage.reuses())
    }

    /// Writes chunks as they are, straight from the caller's buffer if they lie there in one piece.
    fn place_plain(&mut self, incoming: &Incoming<'_>, whole: &[Vec<u64>]) -> Result<()> {
        let bytes = incoming.chunk_bytes as u64;
        let places: Vec<Address> =
            whole.iter().map(|_| self.storage.allocate(bytes, DataKind::Raw)).collect();
        let store = self.storage.store().clone();
        self.storage.transaction.is_changed = true;
        // What must be gathered first is worth other cores; writing alone is not.
        let in_place = incoming.in_place(&whole[0])?.is_some() || store.is_serial();
        let done = store.write_fresh(&places, bytes, |write| {
            let put = |(chunk_coords, at): (&Vec<u64>, &Address)| {
                incoming.with_whole(chunk_coords, |chunk, _| write.put(*at, chunk))
            };
            let mut chunks = whole.iter().zip(&places);
            if in_place { chunks.try_for_each(put) } else { thread_pool::each(chunks.collect(), put) }
        });
        if let Err(error) = done {
            // Nothing leads there yet.
            places.iter().for_each(|at| self.storage.release_raw(*at, bytes));
            return Err(error);
        }
        for (chunk_coords, address) in whole.iter().zip(places) {
            let chunk = ChunkAt { address, bytes, filter_mask: 0 };
            self.set_chunk(incoming.dataset.address, chunk_coords, Some(chunk))?;
        }
        Ok(())
    }

    fn place_encoded(&mut self, incoming: &Incoming<'_>, whole: &[Vec<u64>]) -> Result<()> {
        let Incoming { file, dataset, layout, .. } = *incoming;
        self.put_encoded(dataset, whole, incoming.chunk_bytes, |chunk_coords, encoded| {
            let filters = filters_of(dataset, layout, chunk_coords, dataset.dims());
            incoming.with_whole(chunk_coords, |chunk, work| encoded.set(file, filters, chunk, work))
        })
    }

    /// Chunks are encoded ahead, on all cores, while those that are ready are written in their order.
    pub(super) fn put_encoded(
        &mut self,
        dataset: &Dataset,
        chunks: &[Vec<u64>],
        chunk_bytes: usize,
        encode: impl Fn(&[u64], &mut Encoded) -> Result<()> + Sync,
    ) -> Result<()> {
        let filters = dataset.filters();
        let bytes = if filters.is_empty() || self.reader.registry.is_serial(&stages(filters)) {
            0
        } else {
            (chunks.len() as u64).saturating_mul(chunk_bytes as u64)
        };
        let threads = workers::threads(bytes, PARALLEL_BYTES_MIN).min(chunks.len());
        let put = |chunk_coords: &&Vec<u64>, encoded: &mut Encoded| {
            self.put_chunk(dataset.address, chunk_coords, encoded.bytes(), encoded.mask)
        };
        workers::in_order(
            chunks.iter().map(Ok),
            threads,
            |chunk_coords, encoded| encode(chunk_coords, encoded),
            put,
        )
    }

    /// Changes a part of a chunk, in memory.
    fn change_chunk(&mut self, incoming: &Incoming<'_>, chunk_coords: &[u64]) -> Result<()> {
        let at = incoming.dataset.address;
        if !self.chunks.pending.has(at, chunk_coords) {
            self.fetch_chunk(incoming.dataset, incoming.layout, chunk_coords)?;
        }
        match self.chunks.pending.change(at, chunk_coords) {
            Some(chunk) => incoming.put(chunk_coords, chunk)?,
            None => return Err(Error::corrupt("change chunk").at(at.0)),
        }
        self.trim_chunks()
    }

    /// With the first of its chunks, a dataset that is allocated late gets all of them, as in libhdf5.
    pub(super) fn allocate_late(&mut self, dataset: &Dataset, layout: &Chunked) -> Result<()> {
        match dataset.info.create.alloc_time {
            AllocTime::Late => self.allocate_chunks(dataset, layout),
            _ => Ok(()),
        }
    }

    /// Takes a chunk into memory, with the fill value wherever it sticks out of the extent: libhdf5 leaves anything there.
    /// Whether it was not so in the file.
    pub(super) fn fetch_chunk(
        &mut self,
        dataset: &Dataset,
        layout: &Chunked,
        chunk_coords: &[u64],
    ) -> Result<bool> {
        let bytes = chunk::chunk_bytes(&self.reader, &layout.shape, layout.element_bytes)?;
        let Some(stored) = self.objects.chunk_at(dataset.address, chunk_coords)? else {
            self.insert_filled(dataset, chunk_coords, bytes);
            return Ok(false);
        };
        let mut chunk = self.stored_chunk(dataset, layout, chunk_coords, stored)?;
        let differs = keep_only(dataset, layout, chunk_coords, dataset.dims(), &mut chunk)?;
        self.chunks.pending.insert(dataset.address, chunk_coords, chunk, false);
        Ok(differs)
    }

    /// Takes a chunk into memory that is not stored.
    fn insert_filled(&mut self, dataset: &Dataset, chunk_coords: &[u64], bytes: usize) {
        if dataset.fill.is_none() {
            return self.chunks.pending.insert_zeros(dataset.address, chunk_coords, bytes);
        }
        let mut chunk = vec![0; bytes];
        chunk::fill(dataset, &mut chunk);
        self.chunks.pending.insert(dataset.address, chunk_coords, chunk, false);
    }

    /// Returns a chunk's elements as the file has them.
    fn stored_chunk(
        &self,
        dataset: &Dataset,
        layout: &Chunked,
        chunk_coords: &[u64],
        at: ChunkAt,
    ) -> Result<Vec<u8>> {
        let bytes = chunk::chunk_bytes(&self.reader, &layout.shape, layout.element_bytes)?;
        let mut raw = vec![0; at.bytes.within(self.reader.store.limits.chunk_bytes_max, "stored chunk")?];
        self.reader.store.read(at.address, &mut raw, "chunk")?;
        let filters = filters_of(dataset, layout, chunk_coords, dataset.dims());
        let chunk = match filters.is_empty() {
            true => raw,
            false => self.reader.unfilter(filters, at.filter_mask, raw, bytes)?,
        };
        if chunk.len() == bytes { Ok(chunk) } else { Err(Error::corrupt("read chunk").at(at.address.0)) }
    }

    /// Stores a chunk's bytes in fresh space; the old ones are given up. Without an index, chunks have no
    /// place but their own.
    pub(crate) fn put_chunk(
        &mut self,
        dataset: Address,
        chunk_coords: &[u64],
        bytes: &[u8],
        mask: u32,
    ) -> Result<()> {
        let sizes = self.storage.sizes;
        let fixed = self.objects.load(dataset)?.is_implicit(sizes);
        let has_no_filters = !self.objects.chunks_mut(dataset)?.filtered;
        let old = self.objects.chunk_at(dataset, chunk_coords)?;
        if let Some(old) = old.filter(|old| {
            self.chunks.is_in_place(dataset) && has_no_filters && old.bytes == bytes.len() as u64
        }) {
            self.reader.chunks.remove(dataset, old.address);
            return self.storage.overwrite(old.address, bytes);
        }
        // Where space is not used again, what has the same size stays in its place.
        let same = |old: ChunkAt| old.bytes == bytes.len() as u64 && old.filter_mask == mask;
        let stays = !self.storage.reuses() && !self.storage.is_swmr();
        if let Some(old) = old.filter(|&old| fixed || (stays && same(old))) {
            self.reader.chunks.remove(dataset, old.address);
            return self.storage.write(old.address, bytes);
        }
        // Readers that look on bear elements that change, and the file need not grow.
        if let Some(chunk) =
            old.filter(|chunk| self.storage.is_swmr() && has_no_filters && chunk.bytes == bytes.len() as u64)
        {
            self.reader.chunks.remove(dataset, chunk.address);
            return self.storage.overwrite_chunk(chunk.address, bytes);
        }
        let address = self.storage.allocate(bytes.len() as u64, DataKind::Raw);
        self.storage.write(address, bytes)?;
        let chunk = ChunkAt { address, bytes: bytes.len() as u64, filter_mask: mask };
        self.set_chunk(dataset, chunk_coords, Some(chunk))
    }

    /// Says where a chunk is from now on, or that it is gone; its old space is given up.
    pub(super) fn set_chunk(
        &mut self,
        dataset: Address,
        chunk_coords: &[u64],
        chunk: Option<ChunkAt>,
    ) -> Result<()> {
        let old = self.objects.chunks_mut(dataset)?.set(&self.reader, chunk_coords, chunk)?;
        if let Some(old) = old {
            self.reader.chunks.remove(dataset, old.address);
            self.storage.release_raw(old.address, old.bytes);
        }
        Ok(())
    }

    /// Stores a chunk exactly as given.
    pub(crate) fn chunk_write(&mut self, at: Address, offset: &[u64], mask: u32, data: &[u8]) -> Result<()> {
        let dataset = self.dataset(at)?;
        let Layout::Chunked(layout) = &dataset.layout else {
            return Err(Error::invalid("write chunk").with("problem", "dataset is not chunked"));
        };
        let aligned =
            offset.len() == layout.shape.len() && offset.iter().zip(&layout.shape).all(|(o, c)| o % c == 0);
        if !aligned || offset.iter().zip(dataset.dims()).any(|(o, d)| o >= d) {
            return Err(Error::invalid("write chunk").with("offset", format!("{offset:?}")));
        }
        let whole = chunk::chunk_bytes(&self.reader, &layout.shape, layout.element_bytes)?;
        if dataset.filters().is_empty() && data.len() != whole {
            return Err(Error::invalid("write chunk").with("bytes", data.len()).with("wanted", whole));
        }
        if !dataset.filters().is_empty() {
            check_stored(&self.reader.store.limits, whole as u64, data.len() as u64)?;
        }
        let chunk_coords: Vec<u64> = offset.iter().zip(&layout.shape).map(|(o, c)| o / c).collect();
        let is_first = self.objects.has_no_chunks(at)?;
        self.put_chunk(at, &chunk_coords, data, mask)?;
        self.chunks.pending.remove(at, &chunk_coords);
        if is_first { self.allocate_late(&dataset, layout) } else { Ok(()) }
    }
}
