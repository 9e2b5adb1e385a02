//! Extents that change, and the chunks at their edges.

use model::dataspace::Format;
use model::properties::AllocTime;
use model::{Context, Dataspace, Error, Result, Selection, Token};
use std::sync::Arc;

use super::Writer;
use super::incoming::{filters_of, keep_only};
use crate::chunk;
use crate::format::Address;
use crate::format::header::kind;
use crate::format::layout::{Chunked, Index, Layout};
use crate::object::attribute::space_format;
use crate::object::dataset::{self, Dataset};

/// So many chunks are looked for one by one.
const EDGE_CHUNKS_MAX: u64 = 256;

impl Writer {
    /// The dataset that elements go to. The header of a chunked one stays as it is while its chunks and its extent change.
    pub(super) fn current_dataset(&mut self, at: Address) -> Result<Arc<Dataset>> {
        if self.objects.existing(at).is_none_or(|draft| draft.chunks.is_none()) {
            let drafted = self.drafted_dataset(at)?;
            return drafted.map_or_else(|| self.dataset(at), Ok);
        }
        if let Some(current) = self.chunks.current.as_ref().filter(|current| current.address == at) {
            return Ok(current.clone());
        }
        let mut dataset = self.reader.dataset(Token::from_u64(at.0))?;
        let message =
            self.objects.existing(at).and_then(|d| d.messages.iter().find(|m| m.kind == kind::DATASPACE));
        if let Some(message) = message.filter(|m| !m.is_shared()) {
            let space = Dataspace::decode(&message.body, &space_format(&self.reader))?;
            if space != dataset.info.space {
                dataset = dataset::resized(dataset, space);
            }
        }
        self.chunks.current = Some(dataset.clone());
        Ok(dataset)
    }

    /// A dataset whose header waits and says all about its elements: to write them, it need not be laid out now and
    /// again when its attributes follow.
    pub(crate) fn drafted_dataset(&mut self, at: Address) -> Result<Option<Arc<Dataset>>> {
        let Some(draft) = self.objects.existing(at).filter(|draft| draft.is_dirty) else { return Ok(None) };
        if let Some(drafted) = self.chunks.drafted.as_ref().filter(|drafted| drafted.address == at) {
            return Ok(Some(drafted.clone()));
        }
        if !draft.is_plain(self.storage.sizes) {
            return Ok(None);
        }
        let dataset = dataset::load(&self.reader, &draft.header()).during_at("open dataset", at.0)?;
        self.chunks.drafted = Some(Arc::new(dataset));
        Ok(self.chunks.drafted.clone())
    }

    /// Changes the extent. What is cut off is gone: growing again shows the fill value.
    pub(crate) fn dataset_resize(&mut self, at: Address, dims: &[u64]) -> Result<()> {
        self.objects.check_there(at)?;
        let dataset = self.current_dataset(at)?;
        let Layout::Chunked(layout) = &dataset.layout else {
            return Err(Error::invalid("resize dataset").with("problem", "it is not chunked"));
        };
        let space = dataset.info.space.resized(dims)?;
        let format = Format { length_bytes: self.storage.sizes.length as u8 };
        let body = space.encode(self.dataspace_version(), &format)?;
        self.chunks_mut(at)?;
        self.reshape_chunks(&dataset, layout, dims)?;
        self.draft(at)?.set(kind::DATASPACE, 0, body);
        let (is_implicit, time) = (matches!(layout.index, Index::Implicit), dataset.info.create.alloc_time);
        // Readers ask for it when it is laid out.
        self.reader.datasets.remove(&at);
        let old_dims = if is_implicit { dataset.dims().to_vec() } else { Vec::new() };
        self.chunks.current = None;
        self.chunks.current = Some(dataset::resized(dataset, space));
        if self.is_swmr() || is_implicit {
            self.lay_out(at)?;
        }
        if is_implicit {
            // Chunks without an index are those of the extent: they are listed again for the new one.
            self.draft(at)?.chunks = None;
            self.fill_shown(at, &old_dims)?;
        }
        if time == AllocTime::Early { self.allocate_early(at) } else { Ok(()) }
    }

    /// Drops the chunks outside of the new extent, and changes those that are cut or show more, or whose filters change.
    fn reshape_chunks(&mut self, dataset: &Dataset, layout: &Chunked, dims: &[u64]) -> Result<()> {
        let (at, reader) = (dataset.address, self.reader.clone());
        let fixed = matches!(layout.index, Index::Implicit);
        let grows = dims.iter().zip(dataset.dims()).all(|(new, old)| new >= old);
        if !grows {
            // What waits is written first, so that all chunks are those of the set.
            self.flush_chunks(at)?;
        }
        let mut touched = match grows {
            true => self.at_grown_edges(dataset, layout, dims)?,
            false => self.chunks_mut(at)?.all(&reader)?.into_keys().collect(),
        };
        if grows && !layout.edge_chunks_unfiltered {
            // One that waits has the fill value outside of the extent already.
            touched.retain(|scaled| !self.chunks.pending.has(at, scaled));
        }
        for scaled in touched {
            let start = chunk::start_of(&scaled, &layout.shape);
            let outside = start.iter().zip(dims).any(|(s, d)| s >= d);
            if outside && !fixed {
                self.drop_chunk(at, &scaled)?;
            } else if shows_other_part(&start, &layout.shape, dataset.dims(), dims)
                || filters_of(dataset, layout, &scaled, dataset.dims())
                    != filters_of(dataset, layout, &scaled, dims)
            {
                self.reshape_chunk(dataset, layout, &scaled, dims)?;
            }
        }
        self.trim_chunks()
    }

    /// The chunks of a dataset that grows which its old end cuts. Appending looks at the last ones only.
    fn at_grown_edges(&mut self, dataset: &Dataset, layout: &Chunked, dims: &[u64]) -> Result<Vec<Vec<u64>>> {
        let (at, reader) = (dataset.address, self.reader.clone());
        let edges = grown_edges(dataset.dims(), dims, &layout.shape);
        if edges.iter().all(Option::is_none) {
            return Ok(Vec::new());
        }
        let Some(near) = edge_chunks(dataset.dims(), &layout.shape, &edges) else {
            let at_edge = |scaled: &Vec<u64>| scaled.iter().zip(&edges).any(|(s, edge)| Some(*s) == *edge);
            return Ok(self.chunks_mut(at)?.all(&reader)?.into_keys().filter(at_edge).collect());
        };
        let mut found = Vec::new();
        for scaled in near {
            // One that waits has the fill value outside of the extent already.
            let is_whole = !layout.edge_chunks_unfiltered && self.chunks.pending.has(at, &scaled);
            if !is_whole && self.chunk_at(at, &scaled)?.is_some() {
                found.push(scaled);
            }
        }
        Ok(found)
    }

    /// Chunks without an index that come into the extent have the fill value: libhdf5 leaves anything in those that it cuts off.
    fn fill_shown(&mut self, at: Address, old_dims: &[u64]) -> Result<()> {
        let dataset = self.dataset(at)?;
        let Layout::Chunked(layout) = &dataset.layout else { return Ok(()) };
        if layout.address.is_none() {
            return Ok(());
        }
        self.chunks_mut(at)?;
        let bytes = chunk::chunk_bytes(&self.reader, &layout.shape, layout.element_bytes)?;
        for scaled in Selection::All.chunks(dataset.dims(), &layout.shape)? {
            if chunk::start_of(&scaled, &layout.shape).iter().zip(old_dims).any(|(start, dim)| start >= dim) {
                let mut fill = vec![0; bytes];
                chunk::fill(&dataset, &mut fill);
                self.chunks.pending.insert(at, &scaled, fill, true);
                self.trim_chunks()?;
            }
        }
        Ok(())
    }

    fn drop_chunk(&mut self, dataset: Address, scaled: &[u64]) -> Result<()> {
        self.chunks.pending.remove(dataset, scaled);
        let reader = self.reader.clone();
        let old = self.chunks_mut(dataset)?.set(&reader, scaled, None)?;
        if let Some(old) = old {
            self.reader.chunks.remove(dataset, old.address);
            self.storage.release_raw(old.address, old.bytes);
        }
        Ok(())
    }

    /// A chunk at the edge of the extent has the fill value outside of it. Where it has so already, nothing is written:
    /// growing by small steps must not write the same chunk at every step.
    fn reshape_chunk(
        &mut self,
        dataset: &Dataset,
        layout: &Chunked,
        scaled: &[u64],
        dims: &[u64],
    ) -> Result<()> {
        let at = dataset.address;
        let mut differs =
            filters_of(dataset, layout, scaled, dataset.dims()) != filters_of(dataset, layout, scaled, dims);
        if !self.chunks.pending.has(at, scaled) {
            differs |= self.fetch_chunk(dataset, layout, scaled)?;
        }
        if dims.iter().zip(dataset.dims()).any(|(new, old)| new < old) {
            let kept: Vec<u64> = dataset.dims().iter().zip(dims).map(|(old, new)| *old.min(new)).collect();
            let mut chunk = self.chunks.pending.get(at, scaled).unwrap_or(&[]).to_vec();
            if keep_only(dataset, layout, scaled, &kept, &mut chunk)? {
                self.chunks.pending.insert(at, scaled, chunk, true);
            }
        }
        if differs {
            self.chunks.pending.change(at, scaled);
        }
        Ok(())
    }
}

/// Along each dimension that grows, the chunks that its old end cuts.
fn grown_edges(old: &[u64], new: &[u64], shape: &[u64]) -> Vec<Option<u64>> {
    let edge = |((old, new), c): ((&u64, &u64), &u64)| (new > old && old % c != 0).then(|| old / c);
    old.iter().zip(new).zip(shape).map(edge).collect()
}

/// Chunks at one edge, where one alone grows and they are few.
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

/// Whether a chunk at the edge of an extent shows fewer or more of its elements afterwards.
fn shows_other_part(start: &[u64], shape: &[u64], old: &[u64], new: &[u64]) -> bool {
    let ends = start.iter().zip(shape).map(|(s, c)| s.saturating_add(*c));
    ends.zip(old.iter().zip(new)).any(|(end, (old, new))| old != new && end > *old.min(new))
}
