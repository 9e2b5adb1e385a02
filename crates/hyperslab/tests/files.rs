//! Files that h5py wrote, read through the crate that users import.
//!
//! `HYPERSLAB_GOLDEN` names a folder that `tests/golden/make.py` filled; without it the script is run, and without
//! h5py the tests say that they skip.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use hyperslab::model::{Heap, LinkTarget};
use hyperslab::{
    File, FileAccess, FolderResolver, H5Type, Index, Kind, ObjectHandle, Order, ReferenceTarget, Selection,
    registry, s,
};

fn golden() -> Option<&'static Path> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| match std::env::var_os("HYPERSLAB_GOLDEN") {
        Some(folder) => Some(folder.into()),
        None => make_golden(),
    });
    if folder.is_none() {
        eprintln!("skipped: python3 with h5py is needed to make golden files");
    }
    folder.as_deref()
}

fn make_golden() -> Option<PathBuf> {
    let folder = std::env::temp_dir().join(format!("hyperslab-golden-{}", std::process::id()));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/make.py");
    let made = Command::new("python3").arg(script).arg(&folder).output().ok()?;
    made.status.success().then_some(folder)
}

fn open(name: &str) -> Option<File> {
    let folder = golden()?.join("files");
    let resolver = FolderResolver::new(&folder, registry()).unwrap();
    let access = FileAccess::read().with_resolver(resolver);
    Some(File::open_with(&folder.join(name).to_string_lossy(), &access).unwrap())
}

fn bins(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        if entry.path().is_dir() { bins(&entry.path(), found) } else { found.push(entry.path()) }
    }
}

/// What h5py reads, we read: every dataset of every file, in file form.
#[test]
fn every_dataset_has_the_bytes_that_h5py_reads() {
    let Some(golden) = golden() else { return };
    let mut compared = 0;
    for entry in std::fs::read_dir(golden.join("expected")).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        let file = open(&name).unwrap();
        let mut expected = Vec::new();
        bins(&entry.path(), &mut expected);
        for bin in expected {
            let path = bin.strip_prefix(entry.path()).unwrap().with_extension("");
            let dataset = file.dataset(path.to_str().unwrap()).unwrap();
            let found = dataset.read_bytes(&Selection::All, dataset.dtype(), &mut Heap::new());
            let found = found.unwrap_or_else(|e| panic!("{name} {}: {e}", path.display()));
            assert_eq!(found, std::fs::read(&bin).unwrap(), "{name} {}", path.display());
            compared += 1;
        }
    }
    assert!(compared > 300, "only {compared} datasets compared");
}

/// Parts of a dataset are the same parts of the whole, whatever its layout.
#[test]
fn slices_points_and_masks_agree_with_the_whole_in_every_layout() {
    for generation in ["earliest", "v110", "v200"] {
        let Some(file) = open(&format!("layouts-{generation}.h5")) else { return };
        for name in
            ["contiguous", "single_filtered", "fixed_array", "extensible_second", "tree_filtered", "implicit"]
        {
            let dataset = file.dataset(name).unwrap();
            let whole = dataset.read_2d::<i64>().unwrap();
            let part = dataset.read_slice_2d::<i64, _>(s![3..37;5, 2..]).unwrap();
            assert_eq!(part, whole.slice(ndarray::s![3..37;5, 2..]), "{name}");
            let row = dataset.read_slice_1d::<i64, _>(s![11, ..;3]).unwrap();
            assert_eq!(row, whole.slice(ndarray::s![11, ..;3]), "{name}");
            let points = dataset.read_points::<i64>(&[vec![39, 29], vec![0, 0], vec![20, 7]]).unwrap();
            assert_eq!(points.to_vec(), [whole[[39, 29]], whole[[0, 0]], whole[[20, 7]]], "{name}");
            let mask = whole.mapv(|v| v % 7 == 3 || v / 30 == 12).into_dyn();
            let masked = dataset.read_mask::<i64>(&mask).unwrap();
            let wanted: Vec<i64> = whole.iter().copied().filter(|v| v % 7 == 3 || v / 30 == 12).collect();
            assert_eq!(masked.to_vec(), wanted, "{name}");
        }
    }
}

#[derive(Debug, PartialEq, H5Type)]
struct Row {
    x: f64,
    i: i32,
}

#[derive(Debug, Clone, Copy, PartialEq, H5Type)]
#[repr(i16)]
enum Colour {
    #[hdf5(rename = "RED")]
    Red = 0,
    #[hdf5(rename = "GREEN")]
    Green = 1,
    #[hdf5(rename = "BLUE")]
    Blue = 2,
}

#[test]
fn structs_and_enums_are_read_by_member_name() {
    let Some(file) = open("types-v110.h5") else { return };
    let rows = file.dataset("compound").unwrap().read_raw::<Row>().unwrap();
    assert_eq!(rows, [Row { x: 2.5, i: 1 }, Row { x: 4.25, i: -3 }]);
    let colours = file.dataset("enum").unwrap().read_raw::<Colour>().unwrap();
    assert_eq!(colours, [Colour::Red, Colour::Green, Colour::Blue, Colour::Green]);
    assert_eq!(file.dataset("bool").unwrap().read_raw::<bool>().unwrap(), [true, false, true]);
    assert_eq!(file.dataset("scalar").unwrap().read_scalar::<f32>().unwrap(), 42.5);
}

#[test]
fn numbers_convert_on_the_way() {
    let Some(file) = open("types-earliest.h5") else { return };
    let floats = file.dataset("i2be").unwrap().read_raw::<f64>().unwrap();
    assert_eq!(floats[..3], [-4.0, -3.0, -2.0]);
    let clipped = file.dataset("f8le").unwrap().read_raw::<u8>().unwrap();
    assert_eq!(clipped[..6], [0, 0, 0, 0, 0, 1]);
}

#[test]
fn strings_of_every_kind_become_rust_strings() {
    for generation in ["earliest", "v200"] {
        let Some(file) = open(&format!("strings-{generation}.h5")) else { return };
        let texts = file.dataset("vlen").unwrap().read_strings().unwrap();
        assert_eq!(texts, ["first".to_owned(), String::new(), "zwölf".to_owned(), "x".repeat(300)]);
        let sequences = file.dataset("sequences").unwrap().read_raw::<Vec<i64>>().unwrap();
        assert_eq!(sequences[2], [0, 1, 2, 3, 4, 5]);
        assert_eq!(file.attr("title").unwrap().read_string().unwrap(), "a title");
        assert_eq!(file.attr("list").unwrap().read_raw::<String>().unwrap(), ["one", "two"]);
        let Some(types) = open(&format!("types-{generation}.h5")) else { return };
        assert_eq!(types.dataset("fixed").unwrap().read_strings().unwrap(), ["one", "three", ""]);
    }
}

#[test]
fn links_are_listed_by_name_and_by_creation_order() {
    for generation in ["earliest", "v108", "v200"] {
        let Some(file) = open(&format!("groups-{generation}.h5")) else { return };
        let many = file.group("many").unwrap();
        assert_eq!(many.len().unwrap(), 700);
        let names = many.member_names().unwrap();
        assert!(names.is_sorted() && names[699] == "entry 0699");
        let ordered =
            file.group("ordered").unwrap().links_by(Index::CreationOrder, Order::Increasing).unwrap();
        let names: Vec<&str> = ordered.iter().map(|l| l.name.as_str()).collect();
        assert_eq!(names, ["zulu", "alpha", "mike"]);
        assert_eq!(file.link("soft").unwrap().target, LinkTarget::Soft("/few/g0".into()));
        assert!(file.group("soft").is_ok());
        assert_eq!(file.group("dangling").unwrap_err().kind(), Kind::NotFound);
        assert_eq!(file.dataset("external").unwrap_err().kind(), Kind::NotFound);
        assert_eq!(file.group("hard").unwrap().token(), file.group("few").unwrap().token());
        assert_eq!(file.dataset("//ünïcode/./näme").unwrap().read_scalar::<i32>().unwrap(), 3);
    }
}

#[test]
fn a_visit_enters_every_object_once() {
    let Some(file) = open("groups-v110.h5") else { return };
    let (mut objects, mut again) = (0, Vec::new());
    file.visit(|stop| {
        objects += u32::from(stop.object.is_some() && !stop.again);
        if stop.again {
            again.push(stop.path.to_owned());
        }
        Ok(std::ops::ControlFlow::Continue(()))
    })
    .unwrap();
    // few + 5, many + 700, ordered + 3, dense_ordered + 40, ünïcode + 1, deep + 3.
    assert_eq!(objects, 6 + 701 + 4 + 41 + 2 + 4);
    assert_eq!(again, ["hard"]);
}

#[test]
fn attributes_are_found_in_compact_and_dense_storage() {
    for generation in ["earliest", "v110", "v200"] {
        let Some(file) = open(&format!("attributes-{generation}.h5")) else { return };
        let many = file.dataset("many").unwrap();
        assert_eq!(many.attr_names().unwrap().len(), 60);
        assert_eq!(many.attr("attribute 042").unwrap().read_scalar::<i64>().unwrap(), 42);
        let matrix = file.dataset("few").unwrap().attr("matrix").unwrap();
        assert_eq!(matrix.shape(), [2, 3]);
        assert_eq!(matrix.read_dyn::<f64>().unwrap()[[1, 2]], 5.0);
        assert_eq!(many.attr("missing").unwrap_err().kind(), Kind::NotFound);
        let tracked = file.group("tracked").unwrap();
        let order = tracked.attrs_by(Index::CreationOrder, Order::Decreasing).unwrap();
        assert_eq!(order.iter().map(hyperslab::Attribute::name).collect::<String>(), "cab");
    }
}

#[test]
fn references_lead_to_objects_and_regions() {
    let Some(file) = open("references-v108.h5") else { return };
    let objects = file.dataset("objects").unwrap().read_raw::<hyperslab::Reference>().unwrap();
    let ObjectHandle::Dataset(data) = file.dereference(&objects[0]).unwrap() else { panic!("not a dataset") };
    assert_eq!(data.shape(), [10, 10]);
    assert!(matches!(file.dereference(&objects[1]).unwrap(), ObjectHandle::Group(_)));
    assert!(objects[2].is_null());
    let regions = file.dataset("regions").unwrap();
    let memory = regions.dtype().memory_form();
    let mut heap = Heap::new();
    let slots = regions.read_bytes(&Selection::All, &memory, &mut heap).unwrap();
    let region = heap.load_reference(&slots[..16]).unwrap();
    let ReferenceTarget::Region { selection, .. } = region.target else { panic!("not a region") };
    let part = data.read_selection::<i32>(&selection).unwrap();
    assert_eq!(part[..5], [23, 24, 25, 26, 33]);
}

#[test]
fn virtual_datasets_show_sources_and_fill_what_is_missing() {
    for generation in ["v110", "v200"] {
        let Some(file) = open(&format!("virtual-{generation}.h5")) else { return };
        let stacked = file.dataset("stacked").unwrap().read_2d::<i32>().unwrap();
        assert_eq!(stacked.row(2)[9], 209);
        assert!(stacked.row(3).iter().all(|&v| v == -1));
        assert_eq!(file.dataset("own").unwrap().read_2d::<f64>().unwrap().row(1).to_vec(), [5.0, 6.0, 7.0]);
    }
}

/// Without a resolver nothing beyond the file is opened.
#[test]
fn other_files_are_refused_without_a_resolver() {
    let Some(golden) = golden() else { return };
    let file = File::open(golden.join("files/virtual-v110.h5")).unwrap();
    let refused = file.dataset("stacked").unwrap().read_2d::<i32>().unwrap_err();
    assert_eq!(refused.kind(), Kind::Denied);
    let file = File::open(golden.join("files/groups-v110.h5")).unwrap();
    assert_eq!(file.dataset("external").unwrap_err().kind(), Kind::Denied);
}

#[test]
fn eight_threads_read_what_one_reads() {
    let Some(file) = open("layouts-v110.h5") else { return };
    let names = [
        "contiguous",
        "single",
        "fixed_array",
        "fixed_array_filtered",
        "extensible",
        "tree",
        "tree_filtered",
        "implicit",
    ];
    let alone: Vec<Vec<i32>> = names.iter().map(|n| file.dataset(n).unwrap().read_raw().unwrap()).collect();
    std::thread::scope(|scope| {
        for (name, alone) in names.iter().zip(&alone) {
            let file = &file;
            scope.spawn(move || {
                for _ in 0..20 {
                    assert_eq!(&file.dataset(name).unwrap().read_raw::<i32>().unwrap(), alone, "{name}");
                }
            });
        }
    });
}

#[test]
fn a_file_of_another_kind_is_named_in_the_error() {
    let netcdf = File::from_image(b"CDF\x01 and then some".to_vec()).unwrap_err();
    assert!(netcdf.to_string().contains("classic netCDF"), "{netcdf}");
    let hdf4 = File::from_image(vec![0x0e, 0x03, 0x13, 0x01, 0, 0]).unwrap_err();
    assert!(hdf4.to_string().contains("HDF4"), "{hdf4}");
    let nothing = File::open("no/such/file.h5").unwrap_err();
    assert_eq!(nothing.kind(), Kind::NotFound);
}
