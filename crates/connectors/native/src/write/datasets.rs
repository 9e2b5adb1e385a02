//! Datasets and committed datatypes: their creation.

use algorithms::checks;
use model::bytes::Cursor;
use model::dataspace::Format;
use model::datatype::{DescriptorSizes, VarLen};
use model::properties::{
    AllocTime, ExternalFile, Fill, FillTime, FillValue, FilterSpec, Layout as LayoutProperty,
};
use model::selection::SelectionVersion;
use model::{Datatype, Error, ObjectKind, Result, text};
use vol::{LibVersion, OpDatasetCreate, OpDatatypeCommit};

use super::cached_object::CachedObject;
use super::storage::Storage;
use super::{Writer, chunk_index, pipeline};
use crate::format::Address;
use crate::format::encode::local_heap::Segment;
use crate::format::encode::{external_files, fill as encode_fill, filters as encode_filters, virtual_map};
use crate::format::external_files::Slot;
use crate::format::global_heap::HeapId;
use crate::format::header::{flag, kind};
use crate::format::layout::{Chunked, Layout};
use crate::format::shared::SharedAt;

/// Bytes of messages in the header of a new dataset, as libhdf5 sizes it.
const DATASET_CAPACITY_BYTES: u64 = 256;
/// Most bytes of compact elements: the message's size has 16 bits.
const COMPACT_BYTES_MAX: u64 = 65531;

impl Writer {
    fn file_type(&self, given: &Datatype) -> Result<Datatype> {
        given.validate(&self.reader.store.limits)?;
        let datatype = given.with_descriptors(&DescriptorSizes::native(self.storage.sizes.offset as u32));
        datatype.validate(&self.reader.store.limits)?;
        Ok(datatype)
    }

    /// Checks that a committed datatype is the type that shall be shared.
    pub(crate) fn check_committed(&mut self, at: Address, datatype: &Datatype) -> Result<()> {
        if self.objects.load(at)?.kind != ObjectKind::Datatype {
            return Err(
                Error::invalid("share committed datatype").with("problem", "object is not a datatype")
            );
        }
        self.serialize(at)?;
        let (found, _) = crate::object::dataset::datatype(&self.reader, &*self.reader.header(at)?)?;
        match found == *datatype {
            true => Ok(()),
            false => {
                Err(Error::invalid("share committed datatype").with("problem", "its type is another one"))
            }
        }
    }

    pub(crate) fn datatype_commit(&mut self, op: &OpDatatypeCommit) -> Result<Address> {
        let body = self.versions.encode_datatype(&self.file_type(&op.datatype)?)?;
        let capacity = (body.len() as u64 + 6).max(24);
        let mut cached = CachedObject::new(
            &mut self.storage,
            self.versions.low,
            ObjectKind::Datatype,
            &op.create,
            capacity,
        );
        cached.set(kind::DATATYPE, 5, body);
        Ok(self.objects.adopt(cached))
    }

    pub(crate) fn dataset_create(&mut self, op: &OpDatasetCreate) -> Result<Address> {
        let datatype = self.file_type(&op.datatype)?;
        let create = &op.create;
        self.versions.check_layout(&create.layout)?;
        let layout = self.new_layout(op, &datatype)?;
        let (type_flags, type_body) = match op.committed {
            None => (1, self.versions.encode_datatype(&datatype)?),
            Some(token) => {
                let at = Address(token.to_u64());
                self.check_committed(at, &datatype)?;
                self.adjust_references(at, 1)?;
                (1 | flag::SHARED, SharedAt::Object(at).encode(self.storage.sizes)?)
            }
        };
        let format = Format { length_bytes: self.storage.sizes.length as u8 };
        let mut cached = CachedObject::new(
            &mut self.storage,
            self.versions.low,
            ObjectKind::Dataset,
            &create.object,
            DATASET_CAPACITY_BYTES,
        );
        cached.set(kind::DATASPACE, 0, op.space.encode(self.versions.dataspace(), &format)?);
        cached.set(kind::DATATYPE, type_flags, type_body);
        let (fill, alloc) = fill_of(op, &datatype)?;
        cached.set(kind::FILL, 1, encode_fill::encode(&fill, alloc, self.versions.fill())?);
        if self.versions.fill() < 3 && matches!(fill.value, FillValue::Value(_)) {
            cached.set(kind::FILL_OLD, 0, encode_fill::encode_old(&fill.value)?);
        }
        if !create.filters.is_empty() {
            let filters: Vec<FilterSpec> = create
                .filters
                .iter()
                .map(|f| pipeline::with_values(&self.reader, f, op, &datatype))
                .collect::<Result<_>>()?;
            cached.set(kind::FILTERS, 1, encode_filters::encode(&filters, self.versions.filters())?);
        }
        if let LayoutProperty::External(list) = &create.layout {
            let body = self.storage.store_external_list(list)?;
            cached.set(kind::EXTERNAL_FILES, 1, body);
        }
        let zeros = match alloc {
            AllocTime::Early => self.allocate_zeros(op, &datatype, &layout)?,
            _ => None,
        };
        cached.set(kind::LAYOUT, 0, zeros.as_ref().unwrap_or(&layout).encode_new(self.storage.sizes)?);
        let at = self.objects.adopt(cached);
        if alloc == AllocTime::Early && zeros.is_none() {
            self.allocate_early(at)?;
        }
        Ok(at)
    }

    /// Returns the layout of a contiguous dataset of zeros, which has its space now; `None` for other datasets. So its
    /// header is encoded once, and not decoded in between.
    fn allocate_zeros(
        &mut self,
        op: &OpDatasetCreate,
        datatype: &Datatype,
        layout: &Layout,
    ) -> Result<Option<Layout>> {
        let Layout::Contiguous { address: None, bytes: Some(bytes @ 1..) } = *layout else { return Ok(None) };
        let is_here = op.create.layout == LayoutProperty::Contiguous && !datatype.has_descriptors();
        if !is_here || op.create.fill.value != FillValue::Default {
            return Ok(None);
        }
        let address = Some(self.storage.allocate_zeros(bytes)?);
        Ok(Some(Layout::Contiguous { address, bytes: Some(bytes) }))
    }
}

impl Writer {
    fn new_layout(&mut self, op: &OpDatasetCreate, datatype: &Datatype) -> Result<Layout> {
        let count = op.space.element_count()?;
        let bytes = count.checked_mul(u64::from(datatype.size()));
        let bytes = bytes.ok_or_else(|| Error::limit("create dataset").with("elements", count))?;
        let invalid = |problem: &str| Err(Error::invalid("create dataset").with("problem", problem));
        let chunked = matches!(op.create.layout, LayoutProperty::Chunked { .. });
        match &op.create.layout {
            LayoutProperty::Chunked { .. } | LayoutProperty::Virtual(_) => {}
            LayoutProperty::External(list) => check_external(op, datatype, list)?,
            _ if op.space.is_resizable() => return invalid("only a chunked dataset can change its extent"),
            _ => {}
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
            LayoutProperty::Chunked { shape, edge_chunks_unfiltered, .. } => {
                let bytes_max = self.reader.store.limits.chunk_bytes_max;
                chunked_layout(op, datatype, (shape, *edge_chunks_unfiltered), (self.versions.low, bytes_max))
            }
            LayoutProperty::Virtual(mappings) => {
                let map = virtual_map::encode(mappings, 0, SelectionVersion::V110, self.storage.sizes)?;
                let id = self.values.put(&[&map], &mut self.storage)?;
                let map = HeapId::decode(&mut Cursor::new(&id, "heap ID"), self.storage.sizes)?;
                Ok(Layout::Virtual { map })
            }
        }
    }
}

impl Storage {
    /// Returns the list of external files, whose names go to a local heap.
    fn store_external_list(&mut self, list: &[ExternalFile]) -> Result<Vec<u8>> {
        let sizes = self.sizes;
        let mut names = Segment::for_group(sizes)?;
        let mut slots = Vec::new();
        for file in list {
            let name_offset = names.insert(&text::to_bytes(&file.name))?;
            slots.push(Slot { name_offset, offset: file.offset, size: file.size });
        }
        let heap = self.store_local_heap(&names)?;
        external_files::encode(heap, &slots, sizes)
    }
}

/// Returns an error if external files cannot hold what a dataset may grow to. Its elements follow each other, so that only the first
/// dimension can grow.
fn check_external(op: &OpDatasetCreate, datatype: &Datatype, list: &[ExternalFile]) -> Result<()> {
    let invalid = |problem: &str| Err(Error::invalid("create dataset").with("problem", problem));
    let (dims, max_dims) = (op.space.dims(), op.space.max_dims());
    if dims.iter().zip(max_dims).skip(1).any(|(now, most)| now != most) {
        return invalid("only the first dimension of external data can grow");
    }
    if list.iter().any(|file| file.size == u64::MAX) {
        return Ok(());
    }
    let capacity = list.iter().fold(0u64, |sum, file| sum.saturating_add(file.size));
    let most = max_dims.iter().try_fold(u64::from(datatype.size()), |bytes, dim| bytes.checked_mul(*dim));
    match most {
        Some(bytes) if bytes <= capacity => Ok(()),
        _ => invalid("external files are too small for the extent that the dataset may have"),
    }
}

/// Returns the layout of a new chunked dataset.
fn chunked_layout(
    op: &OpDatasetCreate,
    datatype: &Datatype,
    (shape, edge_chunks_unfiltered): (&[u64], bool),
    (low, bytes_max): (LibVersion, u64),
) -> Result<Layout> {
    checks::chunk_shape(shape, &op.space)?;
    let (version, index) = chunk_index::choose(low, &op.space, shape, &op.create, edge_chunks_unfiltered);
    // Indexes before version 5 count a chunk's bytes in 32 bits.
    let bytes_max = bytes_max.min(if version < 5 { u64::from(u32::MAX) } else { u64::MAX });
    checks::chunk_bytes(shape, datatype.size(), bytes_max)?;
    Ok(Layout::Chunked(Chunked {
        version,
        shape: shape.to_vec(),
        element_bytes: u64::from(datatype.size()),
        edge_chunks_unfiltered,
        parameters: index.default_parameters(),
        index,
        address: None,
    }))
}

/// Returns bytes of elements that were never written yet.
fn filled(fill: &FillValue, bytes: usize) -> Vec<u8> {
    let mut data = vec![0; bytes];
    if let FillValue::Value(value) = fill {
        data.chunks_exact_mut(value.len().max(1)).for_each(|e| e.copy_from_slice(value));
    }
    data
}

/// Returns the fill properties as they are stored: the layout's allocation time, and heap references always
/// initialised.
fn fill_of(op: &OpDatasetCreate, datatype: &Datatype) -> Result<(Fill, AllocTime)> {
    let mut fill = op.create.fill.clone();
    if let FillValue::Value(value) = &fill.value
        && value.len() != datatype.size() as usize
    {
        return Err(Error::invalid("set fill value")
            .with("bytes", value.len())
            .with("wanted", datatype.size()));
    }
    let refused = |problem: &str| Err(Error::invalid("set fill value").with("problem", problem));
    let has_values = datatype.any(&|t| matches!(t, Datatype::VarLen(VarLen { .. })));
    match (fill.time, &fill.value) {
        (FillTime::Never, _) if has_values => return refused("variable-length values must be filled"),
        // With values of variable length it is how (IfSet, Undefined) is stored: such a dataset can be copied.
        (FillTime::Alloc, FillValue::Undefined) if !has_values => {
            return refused("there is none to write on allocation");
        }
        (FillTime::IfSet, _) if has_values => fill.time = FillTime::Alloc,
        _ => {}
    }
    let alloc = match (op.create.alloc_time, &op.create.layout) {
        (AllocTime::Default, LayoutProperty::Compact) => AllocTime::Early,
        (AllocTime::Default, LayoutProperty::Contiguous | LayoutProperty::External(_)) => AllocTime::Late,
        (AllocTime::Default, _) => AllocTime::Incremental,
        (AllocTime::Late | AllocTime::Incremental, LayoutProperty::Compact) => {
            return Err(Error::invalid("create dataset").with("problem", "compact data is allocated early"));
        }
        (time, _) => time,
    };
    Ok((fill, alloc))
}
