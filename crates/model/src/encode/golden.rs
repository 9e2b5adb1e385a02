//! The bytes that libhdf5 makes; `tests/make_property_golden.py` asked it.

use super::*;
use crate::properties::*;
use crate::{CharacterSet, Kind, UNLIMITED};

const GOLDEN: &str = include_str!("../../tests/property_golden.txt");

fn golden(name: &str) -> Vec<u8> {
    let line = GOLDEN.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).unwrap();
    (0..line.len()).step_by(2).map(|at| u8::from_str_radix(&line[at..at + 2], 16).unwrap()).collect()
}

fn int() -> Datatype {
    Datatype::integer(4, true, crate::ByteOrder::Little)
}

fn check_dataset(name: &str, create: &DatasetCreate, space: &Dataspace) {
    let bytes = dataset_create(create, &int(), space).unwrap();
    assert_eq!(bytes, golden(name), "{name}");
    assert_eq!(decode_dataset_create(&bytes, &Limits::default()).unwrap(), *create, "{name}");
}

fn filter(id: u16, values: &[u32]) -> FilterSpec {
    FilterSpec { id, name: None, optional: true, values: values.to_vec() }
}

#[test]
fn datasets_are_as_libhdf5_has_them() {
    let (plain, line) = (DatasetCreate::default(), Dataspace::simple(&[10]).unwrap());
    check_dataset("default_DATASET_CREATE", &plain, &line);
    check_dataset("compact", &DatasetCreate { layout: Layout::Compact, ..plain.clone() }, &line);
    for (name, alloc_time) in [("late", AllocTime::Late), ("early", AllocTime::Early)] {
        check_dataset(name, &DatasetCreate { alloc_time, ..plain.clone() }, &line);
    }
    let fill = Fill { time: FillTime::Never, ..Fill::default() };
    check_dataset("never", &DatasetCreate { fill, ..plain.clone() }, &line);
    let fill = Fill { value: FillValue::Undefined, ..Fill::default() };
    check_dataset("undefined", &DatasetCreate { fill, ..plain.clone() }, &line);
    let layout = Layout::chunked(&[3]);
    check_dataset(
        "foreign",
        &DatasetCreate { layout, filters: vec![filter(32001, &[1, 2, 3])], ..plain.clone() },
        &line,
    );
}

#[test]
fn layouts_are_as_libhdf5_has_them() {
    let (plain, line) = (DatasetCreate::default(), Dataspace::simple(&[10]).unwrap());
    let file = |name: &str, offset, size| ExternalFile { name: name.into(), offset, size };
    let layout = Layout::External(vec![file("x.dat", 4, 100), file("y.dat", 0, u64::MAX)]);
    check_dataset("external", &DatasetCreate { layout, ..plain.clone() }, &line);
    let five = Selection::block(&[0], &[5]).unwrap();
    let layout = Layout::Virtual(vec![VirtualMapping {
        file: "f.h5".into(),
        dataset: "/d".into(),
        source: five.clone(),
        target: five,
    }]);
    check_dataset("virtual", &DatasetCreate { layout, ..plain }, &line);
}

#[test]
fn filters_are_as_libhdf5_has_them() {
    let create = DatasetCreate {
        object: ObjectCreate {
            track_times: false,
            attribute_order: CreationOrder::Indexed,
            ..ObjectCreate::default()
        },
        layout: Layout::chunked(&[10, 20]),
        filters: vec![filter(1, &[4]), filter(2, &[])],
        fill: Fill { value: FillValue::Value(vec![7, 0, 0, 0]), ..Fill::default() },
        alloc_time: AllocTime::Default,
    };
    check_dataset("filtered", &create, &Dataspace::simple(&[10, 20]).unwrap());
}

#[test]
fn groups_and_files_are_as_libhdf5_has_them() {
    assert_eq!(group_create(&GroupCreate::default()).unwrap(), golden("default_GROUP_CREATE"));
    let group = GroupCreate {
        link_order: CreationOrder::Indexed,
        object: ObjectCreate {
            attribute_phase: PhaseChange { compact_max: 3, dense_min: 2 },
            ..ObjectCreate::default()
        },
        link_phase: PhaseChange { compact_max: 20, dense_min: 10 },
        local_heap_bytes: 77,
        ..GroupCreate::default()
    };
    assert_eq!(group_create(&group).unwrap(), golden("group"));
    assert_eq!(decode_group_create(&golden("group")).unwrap(), group);
    assert_eq!(file_create(&FileCreate::default()).unwrap(), golden("default_FILE_CREATE"));
    let file = FileCreate {
        userblock_bytes: 1024,
        offset_bytes: 4,
        group_internal_k: 20,
        group_leaf_k: 5,
        shared_indexes: vec![
            SharedIndex { message_types: 2, bytes_min: 30 },
            SharedIndex { message_types: 8, bytes_min: 100 },
        ],
        root: GroupCreate { link_order: CreationOrder::Tracked, ..GroupCreate::default() },
        ..FileCreate::default()
    };
    assert_eq!(file_create(&file).unwrap(), golden("file"));
    assert_eq!(decode_file_create(&golden("file")).unwrap(), file);
}

#[test]
fn small_lists_are_as_libhdf5_has_them() {
    let plain = ObjectCreate::default();
    for (of, name) in
        [(ObjectClass::Datatype, "default_DATATYPE_CREATE"), (ObjectClass::Map, "default_MAP_CREATE")]
    {
        assert_eq!(object_create(of, &plain).unwrap(), golden(name));
        assert_eq!(decode_object_create(of, &golden(name)).unwrap(), plain);
    }
    for (charset, name) in
        [(CharacterSet::Ascii, "default_ATTRIBUTE_CREATE"), (CharacterSet::Utf8, "attribute")]
    {
        assert_eq!(attribute_create(charset), golden(name));
        assert_eq!(decode_attribute_create(&golden(name)).unwrap(), charset);
    }
}

#[test]
fn types_and_extents_are_as_libhdf5_has_them() {
    for name in ["type_int", "type_compound", "type_array", "type_enum"] {
        let decoded = decode_datatype(&golden(name), &Limits::default()).unwrap();
        assert_eq!(datatype(&decoded).unwrap(), golden(name), "{name}");
    }
    assert_eq!(datatype(&int()).unwrap(), golden("type_int"));
    let resizable = Dataspace::resizable(&[4, 6], &[UNLIMITED, 6]).unwrap();
    for (extent, name) in
        [(resizable, "space_resizable"), (Dataspace::Scalar, "space_scalar"), (Dataspace::Null, "space_null")]
    {
        assert_eq!(space(&extent).unwrap(), golden(name));
        assert_eq!(decode_space_of(&golden(name), &Limits::default()).unwrap(), extent);
    }
}

#[test]
fn chunks_beyond_32_bits_have_a_form_of_their_own() {
    let layout = Layout::chunked(&[1 << 33]);
    let create = DatasetCreate { layout, ..DatasetCreate::default() };
    let bytes = dataset_create(&create, &int(), &Dataspace::Scalar).unwrap();
    assert_eq!(decode_dataset_create(&bytes, &Limits::default()).unwrap(), create);
}

#[test]
fn broken_bytes_are_errors() {
    let limits = Limits::strict();
    for name in ["filtered", "external", "virtual"] {
        let good = golden(name);
        for len in 0..good.len() {
            let kind = decode_dataset_create(&good[..len], &limits).unwrap_err().kind();
            assert!(matches!(kind, Kind::Corrupt | Kind::Limit), "{kind:?}");
        }
        for at in 0..good.len() {
            for value in [0, 1, 8, 127, 255] {
                let mut bad = good.clone();
                bad[at] = value;
                let _ = decode_dataset_create(&bad, &limits);
            }
        }
    }
}
