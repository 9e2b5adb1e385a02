//! Creating datasets, and their creation properties as property lists.

use std::sync::Arc;

use hyperslab::vol::algorithms::transfer;
use hyperslab::vol::model::Heap;
use hyperslab::vol::model::convert::Conversions;
use hyperslab::vol::model::datatype::Datatype;
use hyperslab::vol::model::properties::{DatasetCreate, Fill, FillValue, Layout, VirtualMapping};
use hyperslab::vol::{Container, DatasetInfo, LinkLocation, OpDatasetCreate};
use hyperslab::{Dataspace, ObjectKind, Selection};

use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::hid_t;
use crate::h5a::committed_in;
use crate::h5f::FileHandle;
use crate::h5p;
use crate::h5p::values::{DatasetCreateValues, FillChoice, FillElement, LayoutChoice, VirtualMappingChoice};
use crate::handles::{self, ObjectHandle, Space};

/// A chunk that lies partly outside of the extent is not filtered (`H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS`).
pub(crate) const DONT_FILTER_PARTIAL_CHUNKS: u32 = 2;

/// What a new dataset is created of.
pub(super) struct NewDataset {
    pub(super) datatype: hid_t,
    pub(super) space: hid_t,
    pub(super) dcpl: hid_t,
    pub(super) dapl: hid_t,
}

/// Creates a dataset in a file, at a place or without a link.
pub(super) fn create(
    file: Arc<FileHandle>,
    place: Option<(LinkLocation, Option<String>)>,
    new: &NewDataset,
) -> Fallible<hid_t> {
    file.check_creatable(Major::DATASET)?;
    let datatype = handles::datatype(new.datatype)?;
    let space = handles::extent(new.space)?;
    let access = h5p::dataset_access(new.dapl)?;
    let mut values = h5p::dataset_create(new.dcpl)?;
    let ctype = datatype.datatype();
    check(&values, &ctype, &space)?;
    if !values.filters.is_empty() {
        crate::h5z::prepare(&mut values.filters, new.dcpl, new.datatype, new.space)?;
    }
    let create = to_model(&values, &ctype, &**file.container())?;
    let (place, path) = match place {
        Some((place, path)) => (Some(place), path),
        None => (None, None),
    };
    let op = OpDatasetCreate {
        place,
        committed: committed_in(&datatype, &file)?,
        datatype: (*ctype).clone(),
        space,
        create,
    };
    let token = file.container().dataset_create(&op).map_err(crate::h5g::exists)?;
    let dataset = ObjectHandle::open(file, token, ObjectKind::Dataset, path)?;
    super::set_access(&dataset, access)?;
    dataset.register()
}

/// Checks what libhdf5 checks before it creates a dataset.
fn check(values: &DatasetCreateValues, datatype: &Datatype, space: &Dataspace) -> Fallible<()> {
    let failed = |text: &'static str| Err(Failure::new(Major::DATASET, Minor::CANTINIT, text));
    if datatype.size() == 0 {
        return failed("datatype is not sensible");
    }
    match &values.layout {
        LayoutChoice::Chunked { shape, .. } if shape.len() != space.rank() => {
            failed("dimensionality of chunks doesn't match the dataspace")
        }
        LayoutChoice::Chunked { .. } => Ok(()),
        _ if !values.filters.is_empty() && values.filters.iter().any(|filter| !filter.optional) => {
            failed("filters can only be used with chunked layout")
        }
        LayoutChoice::Contiguous if space.is_resizable() && values.external.is_empty() => {
            failed("extendible contiguous non-external dataset not allowed")
        }
        _ => Ok(()),
    }
}

fn to_model(
    values: &DatasetCreateValues,
    datatype: &Datatype,
    container: &dyn Container,
) -> Fallible<DatasetCreate> {
    let layout = match &values.layout {
        LayoutChoice::Compact => Layout::Compact,
        LayoutChoice::Contiguous if !values.external.is_empty() => Layout::External(values.external.clone()),
        LayoutChoice::Contiguous => Layout::Contiguous,
        LayoutChoice::Chunked { shape, options, .. } => Layout::Chunked {
            shape: shape.clone(),
            edge_chunks_unfiltered: options & DONT_FILTER_PARTIAL_CHUNKS != 0,
            index: None,
        },
        LayoutChoice::Virtual => Layout::Virtual(mappings(&values.virtual_mappings)?),
    };
    let is_chunked = matches!(layout, Layout::Chunked { .. });
    Ok(DatasetCreate {
        object: values.object.clone(),
        layout,
        // Optional filters of a dataset that is not chunked are left out, as libhdf5 does.
        filters: if is_chunked { values.filters.clone() } else { Vec::new() },
        fill: Fill { value: fill(&values.fill, datatype, container)?, time: values.fill_time },
        alloc_time: values.alloc_time,
    })
}

fn mappings(choices: &[VirtualMappingChoice]) -> Fallible<Vec<VirtualMapping>> {
    let mapping = |choice: &VirtualMappingChoice| {
        Ok(VirtualMapping {
            file: choice.file.clone(),
            dataset: choice.dataset.clone(),
            source: explicit(&choice.source)?,
            target: explicit(&choice.target)?,
        })
    };
    choices.iter().map(mapping).collect()
}

/// Returns a selection that does not depend on the extent: all of one is a block.
fn explicit(space: &Space) -> Fallible<Selection> {
    match space.moved_selection()? {
        Selection::All => {
            let dims = space.extent.dims();
            Ok(Selection::block(&vec![0; dims.len()], dims)?)
        }
        selection => Ok(selection),
    }
}

/// Returns a fill value in the file datatype of a new dataset.
fn fill(choice: &FillChoice, datatype: &Datatype, container: &dyn Container) -> Fallible<FillValue> {
    let element = match choice {
        FillChoice::Undefined => return Ok(FillValue::Undefined),
        FillChoice::Default => return Ok(FillValue::Default),
        FillChoice::Value(element) => element,
    };
    let file_type = datatype.with_descriptors(&container.info()?.descriptors);
    let (from, mut heap) = (element.datatype.memory_type(), element.heap.clone());
    let conversions = Conversions::default();
    let bytes = transfer::to_file_type(container, &from, &element.bytes, &file_type, &conversions, &mut heap)
        .map_err(|error| Failure::from(error).as_minor(Minor::CANTINIT))?;
    Ok(FillValue::Value(bytes))
}

/// Returns the creation properties of a dataset as a property list has them.
pub(super) fn values_of(dataset: &ObjectHandle, info: &DatasetInfo) -> Fallible<DatasetCreateValues> {
    let (layout, external, virtual_mappings) = match &info.create.layout {
        Layout::Compact => (LayoutChoice::Compact, Vec::new(), Vec::new()),
        Layout::Contiguous => (LayoutChoice::Contiguous, Vec::new(), Vec::new()),
        Layout::External(files) => (LayoutChoice::Contiguous, files.clone(), Vec::new()),
        Layout::Chunked { shape, edge_chunks_unfiltered, index } => {
            let options = if *edge_chunks_unfiltered { DONT_FILTER_PARTIAL_CHUNKS } else { 0 };
            (LayoutChoice::Chunked { shape: shape.clone(), options, index: *index }, Vec::new(), Vec::new())
        }
        Layout::Virtual(mappings) => {
            let choices = mappings.iter().map(|mapping| choice_of(mapping, info)).collect::<Fallible<_>>()?;
            (LayoutChoice::Virtual, Vec::new(), choices)
        }
    };
    Ok(DatasetCreateValues {
        object: info.create.object.clone(),
        layout,
        filters: info.create.filters.clone(),
        fill: fill_choice(dataset, info)?,
        fill_time: info.create.fill.time,
        alloc_time: alloc_time(info),
        external,
        virtual_mappings,
        ..DatasetCreateValues::default()
    })
}

/// Returns the time at which storage is allocated: the default of the layout is told.
fn alloc_time(info: &DatasetInfo) -> hyperslab::vol::model::properties::AllocTime {
    use hyperslab::vol::model::properties::AllocTime;
    match (info.create.alloc_time, &info.create.layout) {
        (AllocTime::Default, Layout::Compact) => AllocTime::Early,
        (AllocTime::Default, Layout::Contiguous | Layout::External(_)) => AllocTime::Late,
        (AllocTime::Default, Layout::Chunked { .. } | Layout::Virtual(_)) => AllocTime::Incremental,
        (chosen, _) => chosen,
    }
}

fn choice_of(mapping: &VirtualMapping, info: &DatasetInfo) -> Fallible<VirtualMappingChoice> {
    Ok(VirtualMappingChoice {
        file: mapping.file.clone(),
        dataset: mapping.dataset.clone(),
        source: Space {
            extent: around(&mapping.source)?,
            selection: mapping.source.clone(),
            offset: Vec::new(),
        },
        target: Space { extent: info.space.clone(), selection: mapping.target.clone(), offset: Vec::new() },
    })
}

/// Returns the smallest extent that holds a selection: that of a source is not stored.
fn around(selection: &Selection) -> Fallible<Dataspace> {
    let rank = selection.rank().unwrap_or(1);
    let bounded = match selection {
        Selection::Regular(regular) if regular.is_unlimited() => {
            let ends = |axis: &hyperslab::vol::model::selection::Axis| match axis.is_unlimited() {
                true => axis.start() + axis.block().clamp(1, 1 << 32),
                false => axis.start() + axis.stride() * (axis.count() - 1) + axis.block(),
            };
            let dims: Vec<u64> = regular.axes().iter().map(ends).collect();
            return Ok(Dataspace::resizable(&dims, &vec![hyperslab::vol::model::UNLIMITED; rank])?);
        }
        selection => selection.bounds(&vec![u64::MAX >> 8; rank])?,
    };
    let dims = bounded.map_or_else(|| vec![0; rank], |(_, high)| high.iter().map(|last| last + 1).collect());
    Ok(Dataspace::simple(&dims)?)
}

fn fill_choice(dataset: &ObjectHandle, info: &DatasetInfo) -> Fallible<FillChoice> {
    let raw = match &info.create.fill.value {
        FillValue::Undefined => return Ok(FillChoice::Undefined),
        FillValue::Default => return Ok(FillChoice::Default),
        FillValue::Value(raw) => raw,
    };
    let datatype = crate::memory::c_form(&info.datatype);
    let (to, mut heap) = (datatype.memory_type(), Heap::new());
    let bytes = transfer::from_file_type(
        &**dataset.container(),
        &info.datatype,
        raw,
        &to,
        &Conversions::default(),
        &mut heap,
    )?;
    Ok(FillChoice::Value(Arc::new(FillElement { datatype, bytes, heap })))
}
