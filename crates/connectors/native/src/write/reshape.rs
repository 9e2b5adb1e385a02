//! Extents that change, and the chunks at their edges.

use std::sync::Arc;

use model::dataspace::Format;
use model::properties::{AllocTime, Layout as LayoutProperty};
use model::{Error, Result, Selection};

use super::Writer;
use super::incoming::{filters_of, keep_only};
use crate::chunk;
use crate::format::Address;
use crate::format::header::kind;
use crate::format::layout::{Chunked, Index, Layout};
use crate::object::dataset::{self, Dataset};

/// So many chunks are looked for one by one.
const EDGE_CHUNKS_MAX: u64 = 256;
/// Dimensions of datasets that are appended to as a rule.
const RANK_MAX: usize = 8;

impl Writer {
    /// Changes the extent. What is cut off is gone: growing again shows the fill value.
    pub(crate) fn dataset_resize(&mut self, at: Address, dims: &[u64]) -> Result<()> {
        let dataset = self.dataset(at)?;
        if matches!(dataset.info.create.layout, LayoutProperty::External(_)) {
            return self.resize_external(&dataset, dims);
        }
        let Layout::Chunked(layout) = &dataset.layout else {
            return Err(Error::invalid("resize dataset").with("problem", "it is not chunked"));
        };
        let (is_implicit, time) = (matches!(layout.index, Index::Implicit), dataset.info.create.alloc_time);
        let is_plain = !is_implicit && time != AllocTime::Early && !self.storage.is_swmr();
        if is_plain && self.grows_in_memory(&dataset, layout, dims) {
            return self.set_extent(dataset, dims);
        }
        // An extent that cannot be is found before anything changes.
        dataset.info.space.resized(dims)?;
        self.objects.chunks_mut(at)?;
        self.reshape_chunks(&dataset, layout, dims)?;
        let old_dims = if is_implicit { dataset.dims().to_vec() } else { Vec::new() };
        self.set_extent(dataset, dims)?;
        if self.storage.is_swmr() || is_implicit {
            self.serialize(at)?;
        }
        if is_implicit {
            // Chunks without an index are those of the extent: they are listed again for the new one.
            self.objects.load(at)?.chunks = None;
            self.fill_shown(at, &old_dims)?;
        }
        if time == AllocTime::Early { self.allocate_early(at) } else { Ok(()) }
    }

    /// Changes the extent of external data: elements stay where they are.
    fn resize_external(&mut self, dataset: &Dataset, dims: &[u64]) -> Result<()> {
        let space = dataset.info.space.resized(dims)?;
        let too_large = || Error::limit("resize dataset").with("dims", format!("{dims:?}"));
        let bytes =
            space.element_count()?.checked_mul(dataset.element_bytes() as u64).ok_or_else(too_large)?;
        let format = Format { length_bytes: self.storage.sizes.length as u8 };
        let body = space.encode(self.versions.dataspace(), &format)?;
        self.chunks.take_current();
        self.objects.load(dataset.address)?.set(kind::DATASPACE, 0, body);
        self.set_layout(dataset.address, &Layout::Contiguous { address: None, bytes: Some(bytes) })
    }

    /// Gives a dataset another extent, which its header gets when it is serialized.
    fn set_extent(&mut self, dataset: Arc<Dataset>, dims: &[u64]) -> Result<()> {
        let at = dataset.address;
        // With no other caller to hold it, it is changed where it is.
        self.chunks.take_current();
        let dataset = dataset::resized(dataset, dims)?;
        let format = Format { length_bytes: self.storage.sizes.length as u8 };
        let body = dataset.info.space.encode(self.versions.dataspace(), &format)?;
        let cached = self.objects.load(at)?;
        cached.chunks_mut(&self.reader)?;
        cached.set(kind::DATASPACE, 0, body);
        self.chunks.set_current(dataset);
        Ok(())
    }

    /// Returns whether a dataset grows, and no chunk changes by that but one that waits: it has the fill value outside of the extent
    /// already. Appending by small steps is so, as a rule.
    fn grows_in_memory(&self, dataset: &Dataset, layout: &Chunked, dims: &[u64]) -> bool {
        let (old, shape) = (dataset.dims(), &layout.shape);
        let mut chunk_coords = [0; RANK_MAX];
        if dims.len() != old.len() || old.len() > RANK_MAX || dims.iter().zip(old).any(|(new, old)| new < old)
        {
            return false;
        }
        let mut edges = (0..old.len()).filter(|&d| dims[d] > old[d] && old[d] % shape[d] != 0);
        let Some(axis) = edges.next() else { return true };
        let is_only = edges.next().is_none() && (0..old.len()).all(|d| d == axis || old[d] <= shape[d]);
        chunk_coords[axis] = old[axis] / shape[axis];
        let has_one = is_only && !layout.edge_chunks_unfiltered;
        has_one && self.chunks.pending.has(dataset.address, &chunk_coords[..old.len()])
    }

    /// Drops the chunks outside of the new extent, and changes those that are cut or show more, or whose filters change.
    fn reshape_chunks(&mut self, dataset: &Dataset, layout: &Chunked, dims: &[u64]) -> Result<()> {
        let at = dataset.address;
        let fixed = matches!(layout.index, Index::Implicit);
        for chunk_coords in self.chunks_to_reshape(dataset, layout, dims)? {
            let start = chunk::start_of(&chunk_coords, &layout.shape);
            let outside = start.iter().zip(dims).any(|(s, d)| s >= d);
            if outside && !fixed {
                self.chunks.pending.remove(at, &chunk_coords);
                self.set_chunk(at, &chunk_coords, None)?;
            } else if shows_other_part(&start, &layout.shape, dataset.dims(), dims)
                || filters_of(dataset, layout, &chunk_coords, dataset.dims())
                    != filters_of(dataset, layout, &chunk_coords, dims)
            {
                self.reshape_chunk(dataset, layout, &chunk_coords, dims)?;
            }
        }
        self.trim_chunks()
    }

    /// Returns the chunks that a change of the extent may change. Appending looks at the last ones only.
    fn chunks_to_reshape(
        &mut self,
        dataset: &Dataset,
        layout: &Chunked,
        dims: &[u64],
    ) -> Result<Vec<Vec<u64>>> {
        let at = dataset.address;
        if dims.iter().zip(dataset.dims()).any(|(new, old)| new < old) {
            // What waits is written first, so that all chunks are those of the set.
            self.flush_chunks(at)?;
            return Ok(self.objects.chunks_mut(at)?.all(&self.reader)?.into_keys().collect());
        }
        let edges = grown_edges(dataset.dims(), dims, &layout.shape);
        if edges.iter().all(Option::is_none) {
            return Ok(Vec::new());
        }
        let mut chunks = match edge_chunks(dataset.dims(), &layout.shape, &edges) {
            Some(near) => near,
            None => {
                let at_edge = |chunk_coords: &Vec<u64>| {
                    chunk_coords.iter().zip(&edges).any(|(s, edge)| Some(*s) == *edge)
                };
                self.objects.chunks_mut(at)?.all(&self.reader)?.into_keys().filter(at_edge).collect()
            }
        };
        // One that waits has the fill value outside of the extent already.
        chunks.retain(|chunk_coords| {
            layout.edge_chunks_unfiltered || !self.chunks.pending.has(at, chunk_coords)
        });
        let mut stored = Vec::new();
        for chunk_coords in chunks {
            if self.objects.chunk_at(at, &chunk_coords)?.is_some() {
                stored.push(chunk_coords);
            }
        }
        Ok(stored)
    }

    /// Chunks without an index that come into the extent have the fill value: libhdf5 leaves anything in those that it cuts off.
    fn fill_shown(&mut self, at: Address, old_dims: &[u64]) -> Result<()> {
        let dataset = self.dataset(at)?;
        let Layout::Chunked(layout) = &dataset.layout else { return Ok(()) };
        if layout.address.is_none() {
            return Ok(());
        }
        self.objects.chunks_mut(at)?;
        let bytes = chunk::chunk_bytes(&self.reader, &layout.shape, layout.element_bytes)?;
        for chunk_coords in Selection::All.chunks(dataset.dims(), &layout.shape)? {
            if chunk::start_of(&chunk_coords, &layout.shape)
                .iter()
                .zip(old_dims)
                .any(|(start, dim)| start >= dim)
            {
                let mut fill = vec![0; bytes];
                chunk::fill(&dataset, &mut fill);
                self.chunks.pending.insert(at, &chunk_coords, fill, true);
                self.trim_chunks()?;
            }
        }
        Ok(())
    }

    /// A chunk at the edge of the extent has the fill value outside of it. Where it has so already, nothing is written:
    /// growing by small steps must not write the same chunk at every step.
    fn reshape_chunk(
        &mut self,
        dataset: &Dataset,
        layout: &Chunked,
        chunk_coords: &[u64],
        dims: &[u64],
    ) -> Result<()> {
        let at = dataset.address;
        let mut differs = filters_of(dataset, layout, chunk_coords, dataset.dims())
            != filters_of(dataset, layout, chunk_coords, dims);
        if !self.chunks.pending.has(at, chunk_coords) {
            differs |= self.fetch_chunk(dataset, layout, chunk_coords)?;
        }
        if dims.iter().zip(dataset.dims()).any(|(new, old)| new < old) {
            let kept: Vec<u64> = dataset.dims().iter().zip(dims).map(|(old, new)| *old.min(new)).collect();
            let mut chunk = self.chunks.pending.get(at, chunk_coords).unwrap_or(&[]).to_vec();
            if keep_only(dataset, layout, chunk_coords, &kept, &mut chunk)? {
                self.chunks.pending.insert(at, chunk_coords, chunk, true);
            }
        }
        if differs {
            self.chunks.pending.change(at, chunk_coords);
        }
        Ok(())
    }
}

/// Returns, for each dimension that grows, the chunks that its old end cuts.
fn grown_edges(old: &[u64], new: &[u64], shape: &[u64]) -> Vec<Option<u64>> {
    let edge = |((old, new), c): ((&u64, &u64), &u64)| (new > old && old % c != 0).then(|| old / c);
    old.iter().zip(new).zip(shape).map(edge).collect()
}

/// Returns the chunks at one edge, where one alone grows and they are few.
fn edge_chunks(dims: &[u64], shape: &[u64], edges: &[Option<u64>]) -> Option<Vec<Vec<u64>>> {
    let mut grown = edges.iter().enumerate().filter_map(|(d, edge)| edge.map(|edge| (d, edge)));
    let (axis, edge) = grown.next().filter(|_| grown.next().is_none())?;
    let grid = |d: usize| if d == axis { edge..edge + 1 } else { 0..dims[d].div_ceil(shape[d]) };
    let mut counts = (0..dims.len()).map(|d| grid(d).end - grid(d).start);
    let count = counts.try_fold(1, |n: u64, m| n.checked_mul(m)).filter(|&n| n <= EDGE_CHUNKS_MAX)?;
    let mut chunks = Vec::with_capacity(count as usize);
    for mut n in 0..count {
        let mut chunk = vec![0; dims.len()];
        for d in (0..dims.len()).rev() {
            let range = grid(d);
            chunk[d] = range.start + n % (range.end - range.start);
            n /= range.end - range.start;
        }
        chunks.push(chunk);
    }
    Some(chunks)
}

/// Returns whether a chunk at the edge of an extent shows fewer or more of its elements afterwards.
fn shows_other_part(start: &[u64], shape: &[u64], old: &[u64], new: &[u64]) -> bool {
    let ends = start.iter().zip(shape).map(|(s, c)| s.saturating_add(*c));
    ends.zip(old.iter().zip(new)).any(|(end, (old, new))| old != new && end > *old.min(new))
}
