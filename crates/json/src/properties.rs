//! Creation properties as HDF5/JSON: what is usual is not said.

use filters::names;
use model::properties::*;
use model::{Error, Result};

use crate::names::Word;
use crate::space::{selection_from_json, selection_to_json};
use crate::text::{Fields, Value, list};

fn phase_to_json(phase: PhaseChange) -> Option<Value<'static>> {
    let fields = Fields::new().with("maxCompact", phase.compact_max).with("minDense", phase.dense_min);
    (phase != PhaseChange::default()).then(|| fields.into())
}

fn phase_from_json(value: &Value<'_>) -> Result<PhaseChange> {
    Ok(PhaseChange {
        compact_max: value.need("maxCompact")?.uint()?,
        dense_min: value.need("minDense")?.uint()?,
    })
}

fn order_to_json(order: CreationOrder) -> Option<&'static str> {
    (order != CreationOrder::default()).then(|| order.word())
}

/// Properties that every object has.
pub(crate) fn object_to_json(create: &ObjectCreate) -> Fields<'static> {
    Fields::new()
        .unless(&true, "trackTimes", create.track_times)
        .some("attributeCreationOrder", order_to_json(create.attribute_order))
        .some("attributePhaseChange", phase_to_json(create.attribute_phase))
}

pub(crate) fn object_from_json(value: &Value<'_>) -> Result<ObjectCreate> {
    let usual = ObjectCreate::default();
    Ok(ObjectCreate {
        track_times: value.or("trackTimes", usual.track_times, Value::truth)?,
        attribute_order: value.or("attributeCreationOrder", usual.attribute_order, Word::from_word)?,
        attribute_phase: value.or("attributePhaseChange", usual.attribute_phase, phase_from_json)?,
        ..usual
    })
}

pub(crate) fn group_to_json(create: &GroupCreate) -> Fields<'static> {
    let usual = GroupCreate::default();
    object_to_json(&create.object)
        .some("linkCreationOrder", order_to_json(create.link_order))
        .some("linkPhaseChange", phase_to_json(create.link_phase))
        .unless(&usual.entries_expected, "entriesExpected", create.entries_expected)
        .unless(&usual.name_bytes_expected, "nameBytesExpected", create.name_bytes_expected)
        .unless(&usual.local_heap_bytes, "localHeapBytes", create.local_heap_bytes)
        .some("filters", filters_to_json(&create.filters))
}

pub(crate) fn group_from_json(value: &Value<'_>) -> Result<GroupCreate> {
    let usual = GroupCreate::default();
    Ok(GroupCreate {
        object: object_from_json(value)?,
        link_order: value.or("linkCreationOrder", usual.link_order, Word::from_word)?,
        link_phase: value.or("linkPhaseChange", usual.link_phase, phase_from_json)?,
        entries_expected: value.or("entriesExpected", usual.entries_expected, Value::uint)?,
        name_bytes_expected: value.or("nameBytesExpected", usual.name_bytes_expected, Value::uint)?,
        local_heap_bytes: value.or("localHeapBytes", usual.local_heap_bytes, Value::uint)?,
        filters: value.or("filters", Vec::new(), filters_from_json)?,
    })
}

/// `fill` is the fill value as JSON, where there is one.
pub(crate) fn dataset_to_json(
    create: &DatasetCreate,
    fill: Option<Value<'static>>,
) -> Result<Fields<'static>> {
    Ok(object_to_json(&create.object)
        .with("layout", layout_to_json(&create.layout)?)
        .some("filters", filters_to_json(&create.filters))
        .some("fillValue", fill)
        .unless(&false, "fillValueUndefined", create.fill.value == FillValue::Undefined)
        .unless(&FillTime::default().word(), "fillTime", create.fill.time.word())
        .unless(&AllocTime::default().word(), "allocTime", create.alloc_time.word()))
}

/// Returns the properties of a dataset, and its fill value as JSON.
pub fn dataset_from_json<'v, 'a>(
    value: &'v Value<'a>,
    blocks_max: u64,
) -> Result<(DatasetCreate, Option<&'v Value<'a>>)> {
    let is_undefined = value.or("fillValueUndefined", false, Value::truth)?;
    let fill = Fill {
        value: if is_undefined { FillValue::Undefined } else { FillValue::Default },
        time: value.or("fillTime", FillTime::default(), Word::from_word)?,
    };
    let create = DatasetCreate {
        object: object_from_json(value)?,
        layout: value.or("layout", Layout::Contiguous, |layout| layout_from_json(layout, blocks_max))?,
        filters: value.or("filters", Vec::new(), filters_from_json)?,
        fill,
        alloc_time: value.or("allocTime", AllocTime::default(), Word::from_word)?,
    };
    Ok((create, value.get("fillValue").filter(|_| !is_undefined)))
}

/// Returns a filter pipeline, or `None` if there are no filters.
fn filters_to_json(filters: &[FilterSpec]) -> Option<Value<'static>> {
    (!filters.is_empty()).then(|| list(filters.iter().map(filter_to_json)))
}

fn filters_from_json(value: &Value<'_>) -> Result<Vec<FilterSpec>> {
    value.array()?.iter().map(filter_from_json).collect()
}

fn filter_to_json(filter: &FilterSpec) -> Fields<'static> {
    let class = names::names(filter.id).and_then(|names| names.class).unwrap_or("H5Z_FILTER_USER");
    Fields::class(class)
        .with("id", filter.id)
        .some("name", filter.name.clone())
        .unless(&false, "optional", filter.optional)
        .with("parameters", list(filter.values.iter().copied()))
}

fn filter_from_json(value: &Value<'_>) -> Result<FilterSpec> {
    let class = value.maybe("class", |class| class.text().map(str::to_owned))?;
    let known = class.as_deref().and_then(names::by_class).map(|names| names.id);
    let id = match (value.get("id"), known) {
        (Some(id), _) => id.uint()?,
        (None, Some(id)) => id,
        (None, None) => return Err(Error::corrupt("read filter").with("missing", "id")),
    };
    // The published form has a level where deflate has its parameter.
    let level = value.maybe("level", Value::uint)?.into_iter().collect();
    let numbers = |numbers: &Value<'_>| numbers.array()?.iter().map(Value::uint).collect();
    Ok(FilterSpec {
        id,
        name: value.maybe("name", |name| name.text().map(str::to_owned))?,
        optional: value.or("optional", false, Value::truth)?,
        values: value.or("parameters", level, numbers)?,
    })
}

fn layout_to_json(layout: &Layout) -> Result<Value<'static>> {
    Ok(match layout {
        Layout::Compact => Fields::class("H5D_COMPACT"),
        Layout::Contiguous => Fields::class("H5D_CONTIGUOUS"),
        Layout::External(files) => {
            let file = |file: &ExternalFile| {
                let fields = Fields::new().with("fileName", file.name.clone()).with("offset", file.offset);
                let fields: Value<'_> = match file.size {
                    u64::MAX => fields.into(),
                    size => fields.with("size", size).into(),
                };
                fields
            };
            Fields::class("H5D_CONTIGUOUS").with("externalStorage", list(files.iter().map(file)))
        }
        Layout::Chunked { shape, edge_chunks_unfiltered, index } => Fields::class("H5D_CHUNKED")
            .with("dims", list(shape.iter().copied()))
            .unless(&false, "edgeChunksUnfiltered", *edge_chunks_unfiltered)
            .some("index", index.map(Word::word)),
        Layout::Virtual(mappings) => {
            let mapping = |mapping: &VirtualMapping| {
                Ok(Fields::new()
                    .with("fileName", mapping.file.clone())
                    .with("dataset", mapping.dataset.clone())
                    .with("source", selection_to_json(&mapping.source)?)
                    .with("target", selection_to_json(&mapping.target)?))
            };
            let mappings = mappings.iter().map(mapping).collect::<Result<Vec<_>>>()?;
            Fields::class("H5D_VIRTUAL").with("mappings", list(mappings))
        }
    }
    .into())
}

fn layout_from_json(value: &Value<'_>, blocks_max: u64) -> Result<Layout> {
    let file = |value: &Value<'_>| {
        Ok(ExternalFile {
            name: value.need("fileName")?.text()?.to_owned(),
            offset: value.or("offset", 0, Value::uint)?,
            size: value.or("size", u64::MAX, Value::uint)?,
        })
    };
    let mapping = |value: &Value<'_>| {
        Ok(VirtualMapping {
            file: value.need("fileName")?.text()?.to_owned(),
            dataset: value.need("dataset")?.text()?.to_owned(),
            source: selection_from_json(value.need("source")?, blocks_max)?,
            target: selection_from_json(value.need("target")?, blocks_max)?,
        })
    };
    Ok(match (value.need("class")?.text()?, value.get("externalStorage")) {
        ("H5D_COMPACT", _) => Layout::Compact,
        ("H5D_CONTIGUOUS", None) => Layout::Contiguous,
        ("H5D_CONTIGUOUS", Some(files)) => {
            Layout::External(files.array()?.iter().map(file).collect::<Result<_>>()?)
        }
        ("H5D_CHUNKED", _) => Layout::Chunked {
            shape: value.need("dims")?.array()?.iter().map(Value::uint).collect::<Result<_>>()?,
            edge_chunks_unfiltered: value.or("edgeChunksUnfiltered", false, Value::truth)?,
            index: value.maybe("index", Word::from_word)?,
        },
        ("H5D_VIRTUAL", _) => {
            Layout::Virtual(value.need("mappings")?.array()?.iter().map(mapping).collect::<Result<_>>()?)
        }
        (other, _) => return Err(Error::corrupt("read layout").with("unknown class", other)),
    })
}

/// Returns the creation properties of a container, except those of its root group.
pub fn file_to_json(create: &FileCreate) -> Option<Value<'static>> {
    let usual = FileCreate::default();
    let index = |index: &SharedIndex| {
        Fields::new().with("messageTypes", index.message_types).with("minBytes", index.bytes_min)
    };
    let indexes = (!create.shared_indexes.is_empty()).then(|| list(create.shared_indexes.iter().map(index)));
    Fields::new()
        .unless(&usual.userblock_bytes, "userblockBytes", create.userblock_bytes)
        .unless(&usual.offset_bytes, "offsetBytes", create.offset_bytes)
        .unless(&usual.length_bytes, "lengthBytes", create.length_bytes)
        .unless(&usual.group_leaf_k, "groupLeafK", create.group_leaf_k)
        .unless(&usual.group_internal_k, "groupInternalK", create.group_internal_k)
        .unless(&usual.chunk_k, "chunkK", create.chunk_k)
        .unless(&usual.space_strategy.word(), "spaceStrategy", create.space_strategy.word())
        .unless(&usual.space_persist, "spacePersist", create.space_persist)
        .unless(&usual.space_threshold, "spaceThreshold", create.space_threshold)
        .unless(&usual.page_bytes, "pageBytes", create.page_bytes)
        .some("sharedIndexes", indexes)
        .filled()
}

/// Returns the container's properties; those of the root group are given.
pub fn file_from_json(value: Option<&Value<'_>>, root: GroupCreate) -> Result<FileCreate> {
    let usual = FileCreate { root, ..FileCreate::default() };
    let Some(value) = value else { return Ok(usual) };
    let index = |index: &Value<'_>| {
        Ok(SharedIndex {
            message_types: index.need("messageTypes")?.uint()?,
            bytes_min: index.need("minBytes")?.uint()?,
        })
    };
    let indexes = |indexes: &Value<'_>| indexes.array()?.iter().map(index).collect();
    Ok(FileCreate {
        userblock_bytes: value.or("userblockBytes", usual.userblock_bytes, Value::uint)?,
        offset_bytes: value.or("offsetBytes", usual.offset_bytes, Value::uint)?,
        length_bytes: value.or("lengthBytes", usual.length_bytes, Value::uint)?,
        group_leaf_k: value.or("groupLeafK", usual.group_leaf_k, Value::uint)?,
        group_internal_k: value.or("groupInternalK", usual.group_internal_k, Value::uint)?,
        chunk_k: value.or("chunkK", usual.chunk_k, Value::uint)?,
        space_strategy: value.or("spaceStrategy", usual.space_strategy, Word::from_word)?,
        space_persist: value.or("spacePersist", usual.space_persist, Value::truth)?,
        space_threshold: value.or("spaceThreshold", usual.space_threshold, Value::uint)?,
        page_bytes: value.or("pageBytes", usual.page_bytes, Value::uint)?,
        shared_indexes: value.or("sharedIndexes", Vec::new(), indexes)?,
        root: usual.root,
    })
}

#[cfg(test)]
mod tests {
    use model::Selection;

    use super::*;
    use crate::text;

    fn again(create: &DatasetCreate) -> String {
        let value: Value<'_> = dataset_to_json(create, None).unwrap().into();
        let text = text::write(&value).unwrap();
        let value = text::read(&text).unwrap();
        assert_eq!(dataset_from_json(&value, 1000).unwrap().0, *create, "{text}");
        text
    }

    fn odd_object() -> ObjectCreate {
        ObjectCreate {
            track_times: false,
            attribute_order: CreationOrder::Indexed,
            attribute_phase: PhaseChange { compact_max: 3, dense_min: 1 },
            ..ObjectCreate::default()
        }
    }

    #[test]
    fn properties_of_datasets_read_back() {
        let external = |size| ExternalFile { name: "x.raw".into(), offset: 7, size };
        let mapping = VirtualMapping {
            file: ".".into(),
            dataset: "/a".into(),
            source: Selection::All,
            target: Selection::block(&[1], &[2]).unwrap(),
        };
        let index = Some(ChunkIndexKind::FixedArray);
        for layout in [
            Layout::Compact,
            Layout::Contiguous,
            Layout::External(vec![external(10), external(u64::MAX)]),
            Layout::Chunked { shape: vec![3, 4], edge_chunks_unfiltered: true, index },
            Layout::Virtual(vec![mapping]),
        ] {
            let filter = FilterSpec { id: 1, name: Some("deflate".into()), optional: true, values: vec![6] };
            let user = FilterSpec { id: 333, name: None, optional: false, values: vec![] };
            let fill = Fill { value: FillValue::Undefined, time: FillTime::Never };
            let filters = vec![filter, user];
            again(&DatasetCreate {
                object: odd_object(),
                layout,
                filters,
                fill,
                alloc_time: AllocTime::Early,
            });
        }
        assert_eq!(
            again(&DatasetCreate::default()).trim(),
            "{\n  \"layout\": {\"class\": \"H5D_CONTIGUOUS\"}\n}"
        );
    }

    #[test]
    fn properties_of_groups_and_files_read_back() {
        let group = GroupCreate {
            object: odd_object(),
            link_order: CreationOrder::Tracked,
            link_phase: PhaseChange { compact_max: 9, dense_min: 2 },
            entries_expected: 77,
            name_bytes_expected: 3,
            local_heap_bytes: 4,
            filters: vec![FilterSpec { id: 1, name: None, optional: true, values: vec![6] }],
        };
        let value: Value<'_> = group_to_json(&group).into();
        assert_eq!(group_from_json(&value).unwrap(), group);
        let file = FileCreate {
            userblock_bytes: 512,
            page_bytes: 8192,
            space_strategy: SpaceStrategy::Page,
            shared_indexes: vec![SharedIndex { message_types: 2, bytes_min: 40 }],
            root: group.clone(),
            ..FileCreate::default()
        };
        assert_eq!(file_from_json(file_to_json(&file).as_ref(), group).unwrap(), file);
        assert_eq!(file_to_json(&FileCreate::default()), None);
    }

    #[test]
    fn the_published_form_of_filters_is_understood() {
        let value = text::read("{\"class\": \"H5Z_FILTER_DEFLATE\", \"level\": 9}").unwrap();
        let filter = filter_from_json(&value).unwrap();
        assert_eq!((filter.id, filter.values), (1, vec![9]));
    }
}
