//! Datasets and committed datatypes: creation, elements, extents.

use model::bytes::Cursor;
use model::dataspace::{Format, Version};
use model::datatype::{SlotSizes, VarLen};
use model::properties::{
    AllocTime, ExternalFile, Fill, FillTime, FillValue, FilterSpec, Layout as LayoutProperty,
};
use model::selection::{PointIndex, SelectionVersion};
use model::{Dataspace, Datatype, Error, ObjectKind, Result, Selection, UNLIMITED, Within, text};
use rayon::prelude::*;
use vol::{OpDatasetCreate, OpDatatypeCommit, OpWrite};

use super::Writer;
use super::attributes::DATATYPE_VERSION;
use super::draft::Draft;
use super::objects::prefix_options;
use crate::chunk;
use crate::chunk::index::ChunkAt;
use crate::file::File;
use crate::format::Address;
use crate::format::encode::local_heap::Segment;
use crate::format::encode::{external_files, fill as encode_fill, filters as encode_filters, virtual_map};
use crate::format::external_files::Slot;
use crate::format::global_heap::HeapId;
use crate::format::header::{flag, kind};
use crate::format::layout::{Chunked, Index, Layout};
use crate::format::local_heap::LocalHeap;
use crate::format::shared::SharedAt;
use crate::object::dataset::Dataset;

/// Bytes of messages in the header of a new dataset, as libhdf5 sizes it.
const DATASET_ROOM_BYTES: u64 = 256;
/// Most bytes of compact elements: the message's size has 16 bits.
const COMPACT_BYTES_MAX: u64 = 65531;
/// Fill values written at a time.
const FILL_BYTES: u64 = 1 << 20;
/// Chunks in flight, in bytes.
const BATCH_BYTES: u64 = 32 << 20;

impl Writer {
    fn file_type(&self, file: &File, given: &Datatype) -> Result<Datatype> {
        given.validate(&file.store.limits)?;
        let datatype = given.with_slots(&SlotSizes::native(self.sizes.offset as u32));
        datatype.validate(&file.store.limits)?;
        Ok(datatype)
    }

    /// Whether a committed datatype is the type that shall be shared.
    pub(crate) fn check_committed(&mut self, file: &File, at: Address, datatype: &Datatype) -> Result<()> {
        if self.draft(file, at)?.kind != ObjectKind::Datatype {
            return Err(
                Error::invalid("share committed datatype").with("problem", "object is not a datatype")
            );
        }
        self.lay_out(file, at)?;
        let (found, _) = crate::object::dataset::datatype(file, &*file.header(at)?)?;
        match found == *datatype {
            true => Ok(()),
            false => {
                Err(Error::invalid("share committed datatype").with("problem", "its type is another one"))
            }
        }
    }

    pub(crate) fn datatype_commit(&mut self, file: &File, op: &OpDatatypeCommit) -> Result<Address> {
        let body = self.file_type(file, &op.datatype)?.encode(DATATYPE_VERSION)?;
        let room = (body.len() as u64 + 6).max(24);
        let mut draft = Draft::new(self, ObjectKind::Datatype, &prefix_options(&op.create), room);
        draft.attributes.phase = op.create.attribute_phase;
        draft.set(kind::DATATYPE, 5, body);
        Ok(self.adopt(draft))
    }

    pub(crate) fn dataset_create(&mut self, file: &File, op: &OpDatasetCreate) -> Result<Address> {
        let datatype = self.file_type(file, &op.datatype)?;
        let create = &op.create;
        let layout = self.new_layout(file, op, &datatype)?;
        let (type_flags, type_body) = match op.committed {
            None => (1, datatype.encode(DATATYPE_VERSION)?),
            Some(token) => {
                let at = Address(token.to_u64());
                self.check_committed(file, at, &datatype)?;
                self.adjust_references(file, at, 1)?;
                (1 | flag::SHARED, SharedAt::Object(at).encode(self.sizes)?)
            }
        };
        let format = Format { length_bytes: self.sizes.length as u8 };
        let mut draft =
            Draft::new(self, ObjectKind::Dataset, &prefix_options(&create.object), DATASET_ROOM_BYTES);
        draft.attributes.phase = create.object.attribute_phase;
        draft.set(kind::DATASPACE, 0, op.space.encode(Version::V2, &format)?);
        draft.set(kind::DATATYPE, type_flags, type_body);
        let (fill, alloc) = fill_of(op, &datatype)?;
        draft.set(kind::FILL, 1, encode_fill::encode(&fill, alloc, 3)?);
        if !create.filters.is_empty() {
            let filters: Vec<FilterSpec> = create.filters.iter().map(|f| with_values(f, &datatype)).collect();
            draft.set(kind::FILTERS, 1, encode_filters::encode(&filters, 2)?);
        }
        if let LayoutProperty::External(list) = &create.layout {
            let body = self.external_list(list)?;
            draft.set(kind::EXTERNAL_FILES, 1, body);
        }
        draft.set(kind::LAYOUT, 0, layout.encode_new(self.sizes)?);
        Ok(self.adopt(draft))
    }

    /// The dataset as a reader sees it, with everything laid out.
    fn dataset(&mut self, file: &File, at: Address) -> Result<std::sync::Arc<Dataset>> {
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

    /// Whether a write fits its dataset.
    pub(crate) fn check_write(&mut self, file: &File, op: &OpWrite<'_>) -> Result<()> {
        check_elements(&*self.target(file, op)?, op)
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
        let base = match address {
            Some(at) => at,
            None => self.allocate_contiguous(file, dataset, op.selection)?,
        };
        let bytes = dataset.element_bytes() as u64;
        let mut rest = op.from;
        for run in op.selection.runs(dataset.dims())? {
            let (now, later) = rest.split_at((run.len * bytes) as usize);
            self.write(Address(base.0 + run.offset * bytes), now)?;
            rest = later;
        }
        Ok(())
    }

    /// Room for all elements, with the fill value where the first write leaves some out.
    fn allocate_contiguous(
        &mut self,
        file: &File,
        dataset: &Dataset,
        selection: &Selection,
    ) -> Result<Address> {
        let count = dataset.info.space.element_count()?;
        let bytes = count.checked_mul(dataset.element_bytes() as u64);
        let bytes = bytes.ok_or_else(|| Error::limit("allocate dataset").with("elements", count))?;
        let at = self.allocate(bytes);
        if selection.element_count(dataset.dims())? < count {
            let piece = (FILL_BYTES / dataset.element_bytes() as u64).max(1) * dataset.element_bytes() as u64;
            let mut fill = vec![0; piece.min(bytes) as usize];
            chunk::fill(dataset, &mut fill);
            let mut done = 0;
            while done < bytes {
                let len = (bytes - done).min(fill.len() as u64);
                self.write(Address(at.0 + done), &fill[..len as usize])?;
                done += len;
            }
        }
        let body = Layout::Contiguous { address: Some(at), bytes: Some(bytes) }.encode_new(self.sizes)?;
        self.draft(file, dataset.address)?.set(kind::LAYOUT, 0, body);
        Ok(at)
    }

    fn write_chunks(
        &mut self,
        file: &File,
        dataset: &Dataset,
        layout: &Chunked,
        op: &OpWrite<'_>,
    ) -> Result<()> {
        self.draft(file, dataset.address)?.load_chunks(file)?;
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
            let encoded: Vec<(Vec<u8>, u32)> =
                changed.into_par_iter().map(|c| file.filter(dataset.filters(), c)).collect::<Result<_>>()?;
            for (scaled, (bytes, mask)) in scaled.iter().zip(encoded) {
                self.put_chunk(file, dataset.address, scaled, &bytes, mask)?;
            }
        }
        Ok(())
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
        let found = self.existing(dataset.address).and_then(|d| d.chunks.as_ref()?.get(scaled).copied());
        let Some(at) = found else {
            let mut chunk = vec![0; bytes];
            chunk::fill(dataset, &mut chunk);
            return Ok(chunk);
        };
        let mut raw = vec![0; at.bytes.within(file.store.limits.chunk_bytes_max, "stored chunk")?];
        file.store.read(at.address, &mut raw, "chunk")?;
        let chunk = match dataset.filters().is_empty() {
            true => raw,
            false => file.unfilter(dataset.filters(), at.filter_mask, raw, bytes)?,
        };
        if chunk.len() == bytes { Ok(chunk) } else { Err(Error::corrupt("read chunk").at(at.address.0)) }
    }

    /// Stores a chunk's bytes in fresh space; the old ones are given up.
    pub(crate) fn put_chunk(
        &mut self,
        file: &File,
        dataset: Address,
        scaled: &[u64],
        bytes: &[u8],
        mask: u32,
    ) -> Result<()> {
        let address = self.allocate(bytes.len() as u64);
        self.write(address, bytes)?;
        let draft = self.draft(file, dataset)?;
        draft.is_dirty = true;
        let chunk = ChunkAt { address, bytes: bytes.len() as u64, filter_mask: mask };
        let old = draft.chunks.get_or_insert_default().insert(scaled.to_vec(), chunk);
        if let Some(old) = old {
            self.release(old.address, old.bytes);
        }
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
        self.draft(file, at)?.load_chunks(file)?;
        let scaled: Vec<u64> = offset.iter().zip(&layout.shape).map(|(o, c)| o / c).collect();
        self.put_chunk(file, at, &scaled, data, mask)
    }

    /// Changes the extent. What is cut off is gone: growing again shows the fill value.
    pub(crate) fn dataset_resize(&mut self, file: &File, at: Address, dims: &[u64]) -> Result<()> {
        let dataset = self.dataset(file, at)?;
        let Layout::Chunked(layout) = &dataset.layout else {
            return Err(Error::invalid("resize dataset").with("problem", "it is not chunked"));
        };
        let space = dataset.info.space.resized(dims)?;
        self.draft(file, at)?.load_chunks(file)?;
        self.cut_chunks(file, &dataset, layout, dims)?;
        let format = Format { length_bytes: self.sizes.length as u8 };
        let body = space.encode(Version::V2, &format)?;
        self.draft(file, at)?.set(kind::DATASPACE, 0, body);
        self.lay_out(file, at)
    }

    fn cut_chunks(&mut self, file: &File, dataset: &Dataset, layout: &Chunked, dims: &[u64]) -> Result<()> {
        let shape = &layout.shape;
        let stored: Vec<(Vec<u64>, ChunkAt)> =
            match self.existing(dataset.address).and_then(|d| d.chunks.as_ref()) {
                Some(chunks) => chunks.iter().map(|(s, c)| (s.clone(), *c)).collect(),
                None => Vec::new(),
            };
        for (scaled, chunk) in stored {
            let start: Vec<u64> = scaled.iter().zip(shape).map(|(s, c)| s * c).collect();
            if start.iter().zip(dims).any(|(s, d)| s >= d) {
                self.draft(file, dataset.address)?.chunks.get_or_insert_default().remove(&scaled);
                self.release(chunk.address, chunk.bytes);
            } else if start
                .iter()
                .zip(shape)
                .zip(dims.iter().zip(dataset.dims()))
                .any(|((s, c), (new, old))| s + c > *new && new < old)
            {
                self.refill_chunk(file, dataset, layout, &scaled, dims)?;
            }
        }
        Ok(())
    }

    /// Puts the fill value over the elements of a chunk that lie outside of `dims`.
    fn refill_chunk(
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
        for run in Selection::All.chunk_runs(dims, &start, &layout.shape)? {
            let (at, len) = (run.chunk_offset as usize * bytes, run.len as usize * bytes);
            new[at..at + len].copy_from_slice(&old[at..at + len]);
        }
        let (encoded, mask) = file.filter(dataset.filters(), new)?;
        self.put_chunk(file, dataset.address, scaled, &encoded, mask)
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

impl Writer {
    fn new_layout(&mut self, file: &File, op: &OpDatasetCreate, datatype: &Datatype) -> Result<Layout> {
        let count = op.space.element_count()?;
        let bytes = count.checked_mul(u64::from(datatype.size()));
        let bytes = bytes.ok_or_else(|| Error::limit("create dataset").with("elements", count))?;
        let invalid = |problem: &str| Err(Error::invalid("create dataset").with("problem", problem));
        let chunked = matches!(op.create.layout, LayoutProperty::Chunked { .. });
        if !chunked && op.space.is_resizable() && !matches!(op.create.layout, LayoutProperty::Virtual(_)) {
            return invalid("only a chunked dataset can change its extent");
        }
        if !chunked && !op.create.filters.is_empty() {
            return invalid("only a chunked dataset can have filters");
        }
        match &op.create.layout {
            LayoutProperty::Compact if bytes > COMPACT_BYTES_MAX => invalid("too large for compact storage"),
            LayoutProperty::Compact => {
                Ok(Layout::Compact { data: filled(&op.create.fill.value, bytes as usize) })
            }
            LayoutProperty::Contiguous | LayoutProperty::External(_) => {
                Ok(Layout::Contiguous { address: None, bytes: Some(bytes) })
            }
            LayoutProperty::Chunked { shape, edge_chunks_unfiltered: false, .. } => {
                chunked_layout(file, op, datatype, shape)
            }
            LayoutProperty::Chunked { .. } => {
                Err(Error::unsupported("create dataset with unfiltered edge chunks"))
            }
            LayoutProperty::Virtual(mappings) => {
                let map = virtual_map::encode(mappings, 0, SelectionVersion::V110, self.sizes)?;
                let id = self.blob_put(file, &map)?;
                let map = HeapId::decode(&mut Cursor::new(&id, "heap ID"), self.sizes)?;
                Ok(Layout::Virtual { map })
            }
        }
    }

    /// The list of external files, whose names go to a local heap.
    fn external_list(&mut self, list: &[ExternalFile]) -> Result<Vec<u8>> {
        let sizes = self.sizes;
        let mut names = Segment::for_group(sizes)?;
        let mut slots = Vec::new();
        for file in list {
            let name_offset = names.insert(&text::to_bytes(&file.name))?;
            slots.push(Slot { name_offset, offset: file.offset, size: file.size });
        }
        let header = self.allocate(LocalHeap::header_bytes(sizes));
        let data = self.allocate(names.len());
        let heap = LocalHeap { data_bytes: names.len(), free: names.first_free(), data };
        self.write(data, &names.encode()?)?;
        self.write(header, &heap.encode(sizes)?)?;
        external_files::encode(header, &slots, sizes)
    }
}

/// Bytes of elements that nobody wrote yet.
fn filled(fill: &FillValue, bytes: usize) -> Vec<u8> {
    let mut data = vec![0; bytes];
    if let FillValue::Value(value) = fill {
        data.chunks_exact_mut(value.len().max(1)).for_each(|e| e.copy_from_slice(value));
    }
    data
}

fn chunked_layout(file: &File, op: &OpDatasetCreate, datatype: &Datatype, shape: &[u64]) -> Result<Layout> {
    let invalid = |problem: &str| Err(Error::invalid("create dataset").with("problem", problem));
    if shape.len() != op.space.rank() || shape.is_empty() {
        return invalid("chunks have another rank");
    }
    if shape.contains(&0) {
        return invalid("chunk dimension is zero");
    }
    let beyond = |((c, d), m): ((&u64, &u64), &u64)| *m != UNLIMITED && *d > 0 && c > m;
    if shape.iter().zip(op.space.dims()).zip(op.space.max_dims()).any(beyond) {
        return invalid("chunk is larger than the dataset can be");
    }
    let bytes = shape.iter().try_fold(u64::from(datatype.size()), |n, &d| n.checked_mul(d));
    // An index of this generation counts a chunk's bytes in 32 bits.
    let bytes_max = file.store.limits.chunk_bytes_max.min(u64::from(u32::MAX));
    bytes.unwrap_or(u64::MAX).within(bytes_max, "chunk")?;
    Ok(Layout::Chunked(Chunked {
        version: 3,
        shape: shape.to_vec(),
        element_bytes: u64::from(datatype.size()),
        edge_chunks_unfiltered: false,
        index: Index::BTree1,
        parameters: Vec::new(),
        address: None,
    }))
}

/// Fill properties as they are stored: the layout's allocation time, and heap references always initialised.
fn fill_of(op: &OpDatasetCreate, datatype: &Datatype) -> Result<(Fill, AllocTime)> {
    let mut fill = op.create.fill.clone();
    if let FillValue::Value(value) = &fill.value
        && value.len() != datatype.size() as usize
    {
        return Err(Error::invalid("set fill value")
            .with("bytes", value.len())
            .with("wanted", datatype.size()));
    }
    let has_values = datatype.any(&|t| matches!(t, Datatype::VarLen(VarLen { .. })));
    if has_values && fill.time == FillTime::IfSet {
        fill.time = FillTime::Alloc;
    }
    let alloc = match (op.create.alloc_time, &op.create.layout) {
        (AllocTime::Default, LayoutProperty::Compact) => AllocTime::Early,
        (AllocTime::Default, LayoutProperty::Contiguous | LayoutProperty::External(_)) => AllocTime::Late,
        (AllocTime::Default, _) => AllocTime::Incremental,
        (time, _) => time,
    };
    Ok((fill, alloc))
}

/// A filter with the values that depend on the dataset, as libhdf5 sets them at creation.
fn with_values(filter: &FilterSpec, datatype: &Datatype) -> FilterSpec {
    let mut filter = filter.clone();
    match filter.id {
        1 if filter.values.is_empty() => filter.values = vec![6],
        2 => filter.values = vec![datatype.size()],
        _ => {}
    }
    filter
}
