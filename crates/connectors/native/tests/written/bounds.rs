//! Version bounds: every index and structure of each generation, as libhdf5 reads and continues it.

use std::sync::Arc;

use hyperslab_native::NativeConnector;
use model::datatype::{ByteOrder, Complex, ReferenceKind};
use model::properties::{AllocTime, DatasetCreate, FileCreate, Fill, FillValue, FilterSpec, Layout};
use model::{Dataspace, Datatype, Kind, Reference, Selection, UNLIMITED};
use testkit::generate::Generator;
use vol::{Access, Connector, Container, ContainerCreate, ContainerOpen, FileAccess, LibVersion, OpRead};

use crate::life::{STEPS, attribute, dataset, deflated, group, ints, member, put, simple, snapshot};
use crate::others::{Folder, assert_read_by_all, assert_same, h5dump, has_h5py, ours, python, theirs};

pub(crate) const BOUNDS: [LibVersion; 6] = [
    LibVersion::Earliest,
    LibVersion::V18,
    LibVersion::V110,
    LibVersion::V112,
    LibVersion::V114,
    LibVersion::V200,
];

fn access(low: LibVersion) -> FileAccess {
    FileAccess { access: Access::Write, version_low: low, ..FileAccess::default() }
}

pub(crate) fn create(path: &str, low: LibVersion) -> Arc<dyn Container> {
    let (create, access) = (&FileCreate::default(), &access(low));
    NativeConnector
        .create(&ContainerCreate { truncate: true, ..ContainerCreate::new(path, create, access) })
        .unwrap()
}

pub(crate) fn reopen(path: &str, low: LibVersion) -> Arc<dyn Container> {
    NativeConnector.open(&ContainerOpen::new(path, &access(low))).unwrap()
}

fn holds(bytes: &[u8], signature: &[u8]) -> bool {
    bytes.windows(signature.len()).any(|w| w == signature)
}

/// h5dump 1.10 reads what libraries up to 1.10 write.
pub(crate) fn assert_read(path: &str, low: LibVersion) {
    match low {
        LibVersion::V112 | LibVersion::V114 | LibVersion::V200 => {
            assert_same(path, &theirs(path), &ours(path));
        }
        _ => assert_read_by_all(path),
    }
}

fn space(dims: &[u64], max: &[u64]) -> Dataspace {
    Dataspace::resizable(dims, max).unwrap()
}

/// Every chunk index there is, with and without filters; the bits say which chunks were written.
fn every_index(c: &dyn Container) {
    let root = c.info().unwrap().root;
    let plain = |shape: &[u64]| DatasetCreate { layout: Layout::chunked(shape), ..DatasetCreate::default() };
    let early = |shape: &[u64]| DatasetCreate { alloc_time: AllocTime::Early, ..plain(shape) };
    let spaces = [
        ("single", simple(&[6, 5]), vec![6, 5]),
        ("fixed", simple(&[37, 9]), vec![4, 3]),
        ("fixed long", simple(&[5000]), vec![2]),
        ("growing", space(&[300], &[UNLIMITED]), vec![2]),
        ("growing second", space(&[7, 40], &[9, UNLIMITED]), vec![3, 2]),
        ("growing both", space(&[40, 9], &[UNLIMITED, UNLIMITED]), vec![3, 2]),
    ];
    for (name, space, shape) in spaces {
        let count = space.element_count().unwrap() as i32;
        for (kind, create) in
            [("", plain(&shape)), (" early", early(&shape)), (" deflated", deflated(&shape))]
        {
            let d = dataset(c, (root, &format!("{name}{kind}")), ints(), space.clone(), create).unwrap();
            put(c, d, &Selection::All, &(0..count).collect::<Vec<_>>()).unwrap();
        }
    }
    let mut edges = deflated(&[4, 4]);
    edges.layout = Layout::Chunked { shape: vec![4, 4], edge_chunks_unfiltered: true, index: None };
    edges.fill = Fill { value: FillValue::Value(7i32.to_le_bytes().to_vec()), ..Fill::default() };
    let d = dataset(c, (root, "edges"), ints(), space(&[10, 10], &[20, UNLIMITED]), edges).unwrap();
    put(c, d, &Selection::All, &(0..100).collect::<Vec<_>>()).unwrap();
    let far = dataset(c, (root, "far"), ints(), space(&[300_000], &[UNLIMITED]), plain(&[2])).unwrap();
    for at in [0, 5, 70, 4_000, 90_000, 299_998] {
        put(c, far, &Selection::block(&[at], &[2]).unwrap(), &[at as i32, 1]).unwrap();
    }
}

fn resize_all(c: &dyn Container, root: model::Token) {
    for (name, dims) in [
        ("growing", vec![500]),
        ("growing deflated", vec![11]),
        ("growing second early", vec![9, 50]),
        ("growing both deflated", vec![20, 21]),
        ("edges", vec![13, 12]),
        ("far", vec![400_000]),
    ] {
        c.dataset_resize(member(c, root, name), &dims).unwrap();
    }
}

#[test]
fn every_index_of_every_generation_is_read_and_continued_by_libhdf5() {
    if !has_h5py() {
        return;
    }
    let folder = Folder::new("indexes");
    for low in BOUNDS {
        let path = folder.at(&format!("{low:?}.h5"));
        let c = create(&path, low);
        every_index(&*c);
        c.close().unwrap();
        assert_read(&path, low);
        let c = reopen(&path, low);
        resize_all(&*c, c.info().unwrap().root);
        c.close().unwrap();
        assert_read(&path, low);
        python("append.py", &[&path, "1"]);
        python("grow.py", &[&path]);
        assert_read(&path, low);
        let c = reopen(&path, low);
        let root = c.info().unwrap().root;
        resize_all(&*c, root);
        for name in ["single", "fixed long deflated", "growing both", "edges", "far"] {
            c.link_delete(root, name).unwrap();
        }
        c.close().unwrap();
        assert_read(&path, low);
    }
}

#[test]
fn nothing_is_newer_than_the_bound() {
    let folder = Folder::new("newer");
    for low in BOUNDS {
        let path = folder.at("bound.h5");
        let c = create(&path, low);
        let root = c.info().unwrap().root;
        let many = group(&*c, root, "many").unwrap();
        for n in 0..40 {
            group(&*c, many, &format!("member {n}")).unwrap();
            attribute(&*c, root, &format!("attribute {n}"), n).unwrap();
        }
        let d = dataset(&*c, (root, "fixed"), ints(), simple(&[100]), deflated(&[8])).unwrap();
        put(&*c, d, &Selection::All, &(0..100).collect::<Vec<_>>()).unwrap();
        c.close().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let superblock = match low {
            LibVersion::Earliest => 0,
            LibVersion::V18 => 2,
            _ => 3,
        };
        assert_eq!(bytes[8], superblock, "{low:?}");
        let is_old = low == LibVersion::Earliest;
        assert_eq!((holds(&bytes, b"OHDR"), holds(&bytes, b"SNOD")), (!is_old, is_old), "{low:?}");
        assert_eq!((holds(&bytes, b"FRHP"), holds(&bytes, b"BTHD")), (!is_old, !is_old), "{low:?}");
        assert_eq!(holds(&bytes, b"FAHD"), low >= LibVersion::V110, "{low:?}");
        assert_eq!(holds(&bytes, b"TREE"), low < LibVersion::V110, "{low:?}");
    }
}

#[test]
fn lives_and_random_trees_of_every_generation_are_read_by_libhdf5() {
    if !has_h5py() {
        return;
    }
    let folder = Folder::new("bounds");
    for low in BOUNDS {
        let path = folder.at(&format!("life {low:?}.h5"));
        let c = create(&path, low);
        for step in STEPS {
            step(&*c).unwrap();
            c.commit(vol::Durability::None).unwrap();
        }
        c.close().unwrap();
        assert_read(&path, low);
        for seed in 0..5 {
            let path = folder.at(&format!("{low:?} {seed}.h5"));
            let c = create(&path, low);
            Generator::new(seed).fill(&*c, c.info().unwrap().root, 60).unwrap();
            let is_new = snapshot(&*c).0.values().any(|fact| fact.contains("Complex"));
            c.close().unwrap();
            assert_same(&path, &theirs(&path), &ours(&path));
            if !is_new
                && low < LibVersion::V112
                && let Some(Err(error)) = h5dump(&path)
            {
                panic!("h5dump {path}: {error}");
            }
        }
    }
}

#[test]
fn filters_reach_their_edges() {
    let filter = FilterSpec { id: 3, name: None, optional: false, values: vec![] };
    let create = DatasetCreate {
        layout: Layout::Chunked { shape: vec![4], edge_chunks_unfiltered: true, index: None },
        filters: vec![filter],
        ..DatasetCreate::default()
    };
    let folder = Folder::new("edges");
    let c = self::create(&folder.at("edges.h5"), LibVersion::V110);
    let root = c.info().unwrap().root;
    let d = dataset(&*c, (root, "d"), ints(), space(&[6], &[UNLIMITED]), create).unwrap();
    put(&*c, d, &Selection::All, &[1, 2, 3, 4, 5, 6]).unwrap();
    let stored = |c: &dyn Container| -> Vec<u64> {
        c.chunk_list(d, 0, 10).unwrap().entries.iter().map(|chunk| chunk.bytes).collect()
    };
    assert_eq!(stored(&*c), [20, 16]);
    c.dataset_resize(d, &[8]).unwrap();
    assert_eq!(stored(&*c), [20, 20]);
    c.dataset_resize(d, &[7]).unwrap();
    assert_eq!(stored(&*c), [20, 16]);
    let mut into = [0; 28];
    c.dataset_read(&mut [OpRead { dataset: d, selection: &Selection::All, into: &mut into }]).unwrap();
    let values: Vec<i32> = into.chunks(4).map(|b| i32::from_le_bytes(b.try_into().unwrap())).collect();
    assert_eq!(values, [1, 2, 3, 4, 5, 6, 0]);
}

#[test]
fn filters_get_the_values_that_libhdf5_needs() {
    if !has_h5py() {
        return;
    }
    let folder = Folder::new("filters");
    let path = folder.at("filters.h5");
    let c = create(&path, LibVersion::V18);
    let root = c.info().unwrap().root;
    for (name, id, values) in [
        ("deflate", 1, vec![]),
        ("shuffle", 2, vec![]),
        ("szip", 4, vec![4, 8]),
        ("szip differences", 4, vec![32, 16]),
        ("n-bit", 5, vec![]),
        ("scale-offset", 6, vec![2, 0]),
        ("lzf", 32000, vec![]),
    ] {
        let filter = FilterSpec { id, name: None, optional: false, values };
        let create = DatasetCreate {
            filters: vec![filter],
            layout: Layout::chunked(&[16, 10]),
            ..DatasetCreate::default()
        };
        let d = dataset(&*c, (root, name), ints(), simple(&[40, 25]), create).unwrap();
        put(&*c, d, &Selection::All, &(0..1000).map(|n| n * 3 % 77).collect::<Vec<_>>()).unwrap();
    }
    c.close().unwrap();
    assert_same(&path, &theirs(&path), &ours(&path));
}

#[test]
fn values_that_are_overwritten_do_not_make_the_file_grow() {
    let folder = Folder::new("values");
    let path = folder.at("values.h5");
    let c = create(&path, LibVersion::V18);
    let root = c.info().unwrap().root;
    let texts = model::Datatype::var_string(model::CharacterSet::Utf8);
    let d = dataset(&*c, (root, "texts"), texts, simple(&[300]), DatasetCreate::default()).unwrap();
    let mut sizes = Vec::new();
    for round in 0..30 {
        let texts: Vec<String> = (0..300).map(|n| format!("{round} {}", "x".repeat(n % 50))).collect();
        crate::life::put_texts(&*c, d, &texts.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
        c.commit(vol::Durability::None).unwrap();
        sizes.push(std::fs::metadata(&path).unwrap().len());
    }
    c.close().unwrap();
    assert!(sizes[29] <= 2 * sizes[3], "{sizes:?}");
    if has_h5py() {
        assert_read_by_all(&path);
    }
}

#[test]
fn filters_that_are_not_built_in_have_a_name() {
    let filter = |id| FilterSpec { id, name: None, optional: true, values: vec![] };
    let folder = Folder::new("names");
    for low in [LibVersion::Earliest, LibVersion::V18, LibVersion::V200] {
        let path = folder.at(&format!("{low:?}.h5"));
        let c = self::create(&path, low);
        let create = DatasetCreate {
            layout: Layout::chunked(&[4]),
            filters: vec![filter(32000), filter(500)],
            ..DatasetCreate::default()
        };
        let d = dataset(&*c, (c.info().unwrap().root, "d"), ints(), space(&[6], &[6]), create).unwrap();
        c.commit(vol::Durability::None).unwrap();
        let info = c.dataset_info(d).unwrap();
        let names: Vec<Option<&str>> = info.create.filters.iter().map(|f| f.name.as_deref()).collect();
        assert_eq!(names, [Some("lzf"), Some("filter 500")]);
    }
}

#[test]
fn a_region_reference_says_how_long_its_selection_is() {
    let folder = Folder::new("regions");
    let c = self::create(&folder.at("regions.h5"), LibVersion::V112);
    let root = c.info().unwrap().root;
    let d = dataset(&*c, (root, "d"), ints(), space(&[6], &[6]), DatasetCreate::default()).unwrap();
    let region = Reference::region(d, Selection::block(&[1], &[2]).unwrap());
    let slot = c.reference_put(ReferenceKind::Object, &[region]).unwrap().remove(0);
    let mut blobs = vol::Blobs::default();
    c.blob_get(&[&slot[6..]], &mut blobs).unwrap();
    let blob = blobs.iter().next().unwrap().to_vec();
    // The token and its length, then the length of the selection, the rank and the selection.
    let len = u32::from_le_bytes(blob[9..13].try_into().unwrap());
    assert_eq!(len as usize, blob.len() - 17);
}

#[test]
fn chunks_without_an_index_keep_what_is_written_after_growing() {
    let folder = Folder::new("implicit");
    let path = folder.at("implicit.h5");
    let c = self::create(&path, LibVersion::V110);
    let create = DatasetCreate {
        layout: Layout::chunked(&[2]),
        alloc_time: AllocTime::Early,
        ..DatasetCreate::default()
    };
    let d = dataset(&*c, (c.info().unwrap().root, "d"), ints(), space(&[8], &[13]), create).unwrap();
    let values: Vec<i32> = (1..14).collect();
    put(&*c, d, &Selection::All, &values[..8]).unwrap();
    for dims in [13, 3, 13] {
        c.dataset_resize(d, &[dims]).unwrap();
    }
    put(&*c, d, &Selection::block(&[3], &[10]).unwrap(), &values[3..]).unwrap();
    c.close().unwrap();
    let c = reopen(&path, LibVersion::V110);
    let mut into = [0; 52];
    let read = OpRead { dataset: d, selection: &Selection::All, into: &mut into };
    c.dataset_read(&mut [read]).unwrap();
    assert_eq!(into.chunks(4).map(|b| i32::from_le_bytes(b.try_into().unwrap())).collect::<Vec<_>>(), values);
}

#[test]
fn what_needs_newer_structures_than_the_high_bound_is_refused() {
    let folder = Folder::new("high_bound");
    let path = folder.at("high.h5");
    let access = FileAccess { version_high: Some(LibVersion::V18), ..FileAccess::write() };
    let file = hyperslab::File::create_with(&path, &FileCreate::default(), &access, true).unwrap();
    let (c, root) = (file.container(), file.container().info().unwrap().root);
    let create = |layout: Layout, datatype: Datatype, name: &str| {
        let create = DatasetCreate { layout, ..DatasetCreate::default() };
        dataset(&**c, (root, name), datatype, simple(&[9]), create)
    };
    let chunked =
        |edge_chunks_unfiltered| Layout::Chunked { shape: vec![2], edge_chunks_unfiltered, index: None };
    create(chunked(false), ints(), "plain").unwrap();
    for (layout, name) in [(chunked(true), "edges"), (Layout::Virtual(Vec::new()), "virtual")] {
        assert_eq!(create(layout, ints(), name).unwrap_err().kind(), Kind::Invalid, "{name}");
    }
    let base = Box::new(Datatype::ieee_f64(ByteOrder::Little));
    let complex = Datatype::Complex(Complex { base });
    assert_eq!(create(Layout::Contiguous, complex, "complex").unwrap_err().kind(), Kind::Invalid);
    file.close().unwrap();
    let file = hyperslab::File::open(&path).unwrap();
    assert_eq!(file.member_names().unwrap(), ["plain"]);
}
