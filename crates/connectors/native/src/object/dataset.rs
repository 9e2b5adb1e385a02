//! The decoded header of a dataset: type, space, layout, filters, fill value.

use std::sync::Arc;

use model::properties::{
    AllocTime, ChunkIndexKind, DatasetCreate, ExternalFile, Fill, FillTime, FillValue, FilterSpec,
    Layout as LayoutProperty, VirtualMapping,
};
use model::{Context, Dataspace, Datatype, Error, Result, Token, Within, text};
use vol::DatasetInfo;

use crate::chunk::map::ChunkMap;
use crate::format::header::kind;
use crate::format::layout::{Chunked, Index, Layout};
use crate::format::{Address, external_files, fill, filters, local_heap, virtual_map};
use crate::object::attribute::{object_create, space_format};
use crate::object::header::{self, Header};
use crate::reader::Reader;

/// A dataset, ready to be read.
#[derive(Debug)]
pub(crate) struct Dataset {
    pub(crate) address: Address,
    pub(crate) info: Arc<DatasetInfo>,
    pub(crate) layout: Layout,
    /// One element that was never written, in the file datatype; `None` is all zeros.
    pub(crate) fill: Option<Vec<u8>>,
    /// Where its chunks are.
    pub(crate) map: ChunkMap,
}

impl Dataset {
    pub(crate) fn element_bytes(&self) -> usize {
        self.info.datatype.size() as usize
    }

    pub(crate) fn filters(&self) -> &[FilterSpec] {
        &self.info.create.filters
    }

    pub(crate) fn dims(&self) -> &[u64] {
        self.info.space.dims()
    }
}

/// Returns the same dataset with another extent; nothing is copied where no other caller looks at it.
pub(crate) fn resized(dataset: Arc<Dataset>, dims: &[u64]) -> Result<Arc<Dataset>> {
    let mut dataset = alone(dataset);
    if let Some(alone) = Arc::get_mut(&mut dataset) {
        Arc::make_mut(&mut alone.info).space.resize(dims)?;
        alone.map = ChunkMap::default();
    }
    Ok(dataset)
}

/// Returns the same dataset in another space.
pub(crate) fn in_space(dataset: Arc<Dataset>, space: Dataspace) -> Arc<Dataset> {
    let mut dataset = alone(dataset);
    if let Some(alone) = Arc::get_mut(&mut dataset) {
        Arc::make_mut(&mut alone.info).space = space;
        alone.map = ChunkMap::default();
    }
    dataset
}

/// Returns a dataset that no other caller holds.
fn alone(mut dataset: Arc<Dataset>) -> Arc<Dataset> {
    if Arc::get_mut(&mut dataset).is_none() {
        dataset = Arc::new(Dataset {
            address: dataset.address,
            info: dataset.info.clone(),
            layout: dataset.layout.clone(),
            fill: dataset.fill.clone(),
            map: ChunkMap::default(),
        });
    }
    dataset
}

pub(crate) fn load(file: &Reader, header: &Header) -> Result<Dataset> {
    let (datatype, committed) = datatype(file, header)?;
    let space = space(file, header)?;
    let layout = layout(file, header, &space, &datatype)?;
    let (fill, alloc_time) = fill_of(file, header)?;
    let filters = filters_of(file, header)?;
    let property = layout_property(file, header, &layout, &space)?;
    let fill_element = fill_element(&fill, &datatype);
    let object = object_create(header);
    let create = DatasetCreate { object, layout: property, filters, fill, alloc_time };
    let info = Arc::new(DatasetInfo { datatype, committed, space, create });
    Ok(Dataset { address: header.address, info, layout, fill: fill_element, map: ChunkMap::default() })
}

/// Returns the type of a dataset or of a committed datatype.
pub(crate) fn datatype(file: &Reader, header: &Header) -> Result<(Datatype, Option<Token>)> {
    let message = header.required(kind::DATATYPE, "datatype")?;
    let (body, at) = header::body(file, message)?;
    let datatype =
        Datatype::decode(&body, &file.store.limits).during_at("read datatype", header.address.0)?;
    u64::from(datatype.size()).within(file.store.limits.element_bytes_max, "element")?;
    Ok((datatype, at.map(|at| Token::from_u64(at.0))))
}

fn space(file: &Reader, header: &Header) -> Result<Dataspace> {
    let (body, _) = header::body(file, header.required(kind::DATASPACE, "dataspace")?)?;
    Dataspace::decode(&body, &space_format(file)).during_at("read dataspace", header.address.0)
}

fn layout(file: &Reader, header: &Header, space: &Dataspace, datatype: &Datatype) -> Result<Layout> {
    let message = header.required(kind::LAYOUT, "layout")?;
    let layout =
        Layout::decode(message.body, file.store.sizes()).during_at("read layout", header.address.0)?;
    if let Layout::Chunked(chunked) = &layout {
        check_chunks(file, chunked, space, datatype).during_at("read layout", header.address.0)?;
    }
    Ok(layout)
}

fn check_chunks(file: &Reader, chunked: &Chunked, space: &Dataspace, datatype: &Datatype) -> Result<()> {
    let error = || Error::corrupt("check chunks");
    if chunked.shape.len() != space.rank() {
        return Err(error().with("chunk rank", chunked.shape.len()).with("rank", space.rank()));
    }
    if chunked.element_bytes != u64::from(datatype.size()) {
        return Err(error()
            .with("element bytes", chunked.element_bytes)
            .with("datatype bytes", datatype.size()));
    }
    let bytes = chunked.shape.iter().try_fold(chunked.element_bytes, |n, &d| n.checked_mul(d));
    bytes.unwrap_or(u64::MAX).within(file.store.limits.chunk_bytes_max, "chunk").map(|_| ())
}

fn fill_of(file: &Reader, header: &Header) -> Result<(Fill, AllocTime)> {
    if let Some(message) = header.message(kind::FILL) {
        return fill::decode(&header::body(file, message)?.0);
    }
    match header.message(kind::FILL_OLD) {
        Some(message) => fill::decode_old(&header::body(file, message)?.0),
        // Without a message no value was ever defined; it reads as zeros all the same.
        None => {
            let value = model::properties::FillValue::Undefined;
            Ok((Fill { value, ..Fill::default() }, AllocTime::Default))
        }
    }
}

fn fill_element(fill: &Fill, datatype: &Datatype) -> Option<Vec<u8>> {
    // A value that is never written is not seen either, as in libhdf5: whether a piece has storage makes no difference.
    if fill.time == FillTime::Never {
        return None;
    }
    match &fill.value {
        FillValue::Value(value)
            if value.len() == datatype.size() as usize && value.iter().any(|&b| b != 0) =>
        {
            Some(value.clone())
        }
        _ => None,
    }
}

/// Returns the filters of a dataset's chunks, or of the heap of a group's links.
pub(crate) fn filters_of(file: &Reader, header: &Header) -> Result<Vec<FilterSpec>> {
    match header.message(kind::FILTERS) {
        Some(message) => filters::decode(&header::body(file, message)?.0),
        None => Ok(Vec::new()),
    }
}

fn layout_property(
    file: &Reader,
    header: &Header,
    layout: &Layout,
    space: &Dataspace,
) -> Result<LayoutProperty> {
    if let Some(message) = header.message(kind::EXTERNAL_FILES) {
        return external(file, message.body).map(LayoutProperty::External).during("read external file list");
    }
    Ok(match layout {
        Layout::Compact { .. } => LayoutProperty::Compact,
        Layout::Contiguous { .. } => LayoutProperty::Contiguous,
        Layout::Chunked(c) => LayoutProperty::Chunked {
            shape: c.shape.clone(),
            edge_chunks_unfiltered: c.edge_chunks_unfiltered,
            index: Some(index_kind(&c.index)),
        },
        Layout::Virtual { map } => LayoutProperty::Virtual(match map {
            Some(id) => mappings(file, *id, space.rank())?,
            None => Vec::new(),
        }),
    })
}

fn mappings(
    file: &Reader,
    id: crate::format::global_heap::HeapId,
    rank: usize,
) -> Result<Vec<VirtualMapping>> {
    let collection = file.collection(id.collection)?;
    let map = collection.object(id)?;
    virtual_map::decode(map, rank, file.store.sizes(), &file.store.limits)
        .during_at("read virtual map", id.collection.0)
}

fn index_kind(index: &Index) -> ChunkIndexKind {
    match index {
        Index::BTree1 => ChunkIndexKind::BTree1,
        Index::Single { .. } => ChunkIndexKind::Single,
        Index::Implicit => ChunkIndexKind::Implicit,
        Index::FixedArray => ChunkIndexKind::FixedArray,
        Index::ExtensibleArray => ChunkIndexKind::ExtensibleArray,
        Index::BTree2 => ChunkIndexKind::BTree2,
    }
}

fn external(file: &Reader, body: &[u8]) -> Result<Vec<ExternalFile>> {
    use crate::format::local_heap::LocalHeap;
    let (store, sizes) = (&file.store, file.store.sizes());
    let (heap, slots) = external_files::decode(body, sizes)?;
    let head = store.block(heap, LocalHeap::header_bytes(sizes), "local heap")?;
    let head = LocalHeap::decode(&head, sizes).during_at("read local heap", heap.0)?;
    let names = store.block(head.data, head.data_bytes, "local heap data")?;
    let one = |slot: &external_files::Slot| {
        let name = text::from_bytes(local_heap::text(&names, slot.name_offset)?);
        Ok(ExternalFile { name, offset: slot.offset, size: slot.size })
    };
    slots.iter().map(one).collect()
}
