//! Files that h5py wrote, read through the crate that users import.
//!
//! `tests/golden/make.py` makes them.

use std::path::{Path, PathBuf};
use std::process::Command;

use hyperslab::vol::model::{Heap, LinkTarget};
use hyperslab::{
    File, FileAccess, FolderResolver, H5Type, Index, Kind, ObjectHandle, Order, ReferenceTarget, Selection,
    registry, s,
};
use testkit::oracles::golden;

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

/// What h5py reads, we read: every dataset of every file, in the file datatype.
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
            let found = dataset.read_bytes(&Selection::All, &dataset.dtype().unwrap(), &mut Heap::new());
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
    let memory = regions.dtype().unwrap().memory_type();
    let mut heap = Heap::new();
    let descriptors = regions.read_bytes(&Selection::All, &memory, &mut heap).unwrap();
    let region = heap.load_reference(&descriptors[..16]).unwrap();
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

/// A folder of a test's own, which goes with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let folder = std::env::temp_dir().join(format!("hyperslab-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Scratch(folder)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[derive(Debug, Clone, PartialEq, H5Type)]
struct Station {
    id: i32,
    name: String,
    heights: [f64; 3],
}

/// Creates a file with a bit of everything.
fn write_sample(path: &Path) -> hyperslab::Result<()> {
    let file = File::create(path)?;
    let grid = ndarray::Array2::from_shape_fn((50, 40), |(i, j)| (i * 40 + j) as f32);
    let temperature = file
        .new_dataset::<f32>()
        .shape((50, 40))
        .max_shape((hyperslab::vol::model::UNLIMITED as usize, 40))
        .chunk((8, 16))
        .shuffle()
        .deflate(4)
        .fletcher32()
        .fill_value(&-1.0f32)
        .create("weather/temperature")?;
    temperature.write(&grid)?;
    temperature.set_attr("unit", "K".to_owned())?;
    temperature.set_attr_array("corners", &ndarray::arr2(&[[1i64, 2], [3, 4]]))?;
    temperature.write_slice(&ndarray::Array1::from_elem(40, 7.5f32), s![3, ..])?;
    let stations = vec![
        Station { id: 1, name: "Potsdam".into(), heights: [1.0, 2.0, 3.0] },
        Station { id: 2, name: "Łódź".into(), heights: [4.0, 5.0, 6.0] },
    ];
    file.new_dataset::<Station>().shape(2).create("stations")?.write_raw(&stations)?;
    file.new_dataset::<String>().shape(3).create("names")?.write_raw(&[
        "a".to_owned(),
        String::new(),
        "ccc".to_owned(),
    ])?;
    file.write_array("plain", &ndarray::arr1(&[1u16, 2, 3]))?;
    file.link_soft("/weather/temperature", "shortcut")?;
    file.link_hard("plain", "again")?;
    file.create_group("empty/group")?;
    file.unlink("empty/group")?;
    file.close()
}

#[test]
fn what_we_write_we_read() {
    let scratch = Scratch::new("write");
    let path = scratch.0.join("sample.h5");
    write_sample(&path).unwrap();
    let file = File::open(&path).unwrap();
    let grid = file.dataset("shortcut").unwrap().read_2d::<f64>().unwrap();
    assert_eq!((grid[[49, 39]], grid[[3, 11]]), (1999.0, 7.5));
    let stations = file.dataset("stations").unwrap().read_raw::<Station>().unwrap();
    assert_eq!((stations[1].name.as_str(), stations[1].heights[2]), ("Łódź", 6.0));
    assert_eq!(file.dataset("names").unwrap().read_strings().unwrap(), ["a", "", "ccc"]);
    assert_eq!(file.dataset("again").unwrap().read_raw::<i32>().unwrap(), [1, 2, 3]);
    assert!(!file.exists("empty/group").unwrap());
    drop(file);
    let file = File::open_rw(&path).unwrap();
    let temperature = file.dataset("weather/temperature").unwrap();
    temperature.resize((60, 40)).unwrap();
    file.flush().unwrap();
    assert_eq!(
        temperature.read_slice_1d::<f32, _>(s![55, ..]).unwrap(),
        ndarray::Array1::from_elem(40, -1.0)
    );
}

/// h5py reads what we write, value for value, and h5dump prints it.
#[test]
fn what_we_write_others_read() {
    const CHECK: &str = r#"
import sys, h5py, numpy as np
f = h5py.File(sys.argv[1], "r")
t = f["weather/temperature"]
want = np.arange(2000, dtype="f4").reshape(50, 40); want[3] = 7.5
assert (t[...] == want).all() and t.chunks == (8, 16) and t.maxshape == (None, 40) and t.fletcher32 and t.fillvalue == -1
assert t.attrs["unit"] == "K" and (t.attrs["corners"] == [[1, 2], [3, 4]]).all()
s = f["stations"][1]
assert s["id"] == 2 and s["name"].decode() == "Łódź" and list(s["heights"]) == [4, 5, 6]
assert [x.decode() for x in f["names"]] == ["a", "", "ccc"] and list(f["again"]) == [1, 2, 3]
assert f.get("shortcut", getlink=True).path == "/weather/temperature" and len(f["empty"]) == 0
"#;
    let scratch = Scratch::new("others");
    let path = scratch.0.join("sample.h5");
    write_sample(&path).unwrap();
    let mut programs = Vec::new();
    if testkit::oracles::has_h5py() {
        programs.push(Command::new("python3").args(["-c", CHECK]).arg(&path).output());
    }
    if testkit::oracles::has_program("h5dump") {
        programs.push(Command::new("h5dump").arg(&path).output());
    }
    for done in programs.into_iter().map(Result::unwrap) {
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
}
