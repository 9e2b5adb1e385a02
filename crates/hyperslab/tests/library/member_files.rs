//! Files of several members through the public crate: the split and multi drivers, with h5py and h5dump as the other side.

use std::path::Path;
use std::process::Command;

use hyperslab::vol::LibVersion;
use hyperslab::vol::model::properties::{FileCreate, SpaceStrategy};
use hyperslab::{Durability, File, FileAccess, Kind};

use testkit::Folder;

/// `opened(name, mode, driver, libver)` opens a file with either driver. h5py has no function for the multi driver, but the
/// library that it has loaded does.
const PRELUDE: &str = r#"
import ctypes, h5py, numpy
def opened(name, mode, driver, libver='earliest'):
    if driver == 'split':
        return h5py.File(name, mode, driver='split', libver=libver)
    path = [line.split()[-1] for line in open('/proc/self/maps') if 'libhdf5-' in line or 'libhdf5.' in line][0]
    set_multi = ctypes.CDLL(path).H5Pset_fapl_multi
    set_multi.argtypes = [ctypes.c_int64] + [ctypes.c_void_p] * 4 + [ctypes.c_bool]
    fapl = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    assert set_multi(fapl.id, None, None, None, None, True) >= 0
    low = h5py.h5f.LIBVER_EARLIEST if libver == 'earliest' else h5py.h5f.LIBVER_LATEST
    fapl.set_libver_bounds(low, h5py.h5f.LIBVER_LATEST)
    if mode == 'w':
        return h5py.File(h5py.h5f.create(name.encode(), h5py.h5f.ACC_TRUNC, fapl=fapl))
    flags = h5py.h5f.ACC_RDONLY if mode == 'r' else h5py.h5f.ACC_RDWR
    return h5py.File(h5py.h5f.open(name.encode(), flags, fapl=fapl))
"#;

fn python(script: &str, folder: &Path) {
    let script = format!("{PRELUDE}{script}");
    let output = Command::new("python3").args(["-c", &script]).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn create(path: &str, access: &FileAccess) -> hyperslab::Result<File> {
    File::create_with(path, &Default::default(), access, true)
}

fn numbers(count: i32) -> Vec<i32> {
    (0..count).collect()
}

const VERSIONS: [LibVersion; 3] = [LibVersion::Earliest, LibVersion::V18, LibVersion::LATEST];
const DRIVERS: [&str; 2] = ["split", "multi"];

/// Contiguous, chunked and variable-length data, a group with many links, an object with many attributes.
fn fill(file: &File) {
    file.new_dataset_builder().with_data(&numbers(5000)).create("a").unwrap();
    file.flush().unwrap();
    let b = file.new_dataset::<i32>().shape((100, 30)).chunk((10, 30)).deflate(1).create("b").unwrap();
    b.write_raw(&numbers(3000)).unwrap();
    let texts: Vec<String> = (0..50).map(|n| format!("text {n}")).collect();
    file.new_dataset_builder().with_data(&texts).create("texts").unwrap();
    // Indexes of chunks: an extensible array with secondary blocks, a B-tree of version 2, and objects of a heap that are huge.
    let line = file.new_dataset::<i32>().shape(2000..).chunk(5).create("line").unwrap();
    line.write_raw(&numbers(2000)).unwrap();
    let grid = file.new_dataset::<i32>().shape((40.., 50..)).chunk((4, 5)).create("grid").unwrap();
    grid.write_raw(&numbers(2000)).unwrap();
    line.new_attr_builder().with_data(&numbers(15_000)).create("long").unwrap();
    let many = file.create_group("many").unwrap();
    for n in 0..60 {
        many.create_group(&format!("group {n:02}")).unwrap();
        b.set_attr(&format!("attribute {n:02}"), n).unwrap();
    }
}

const CHECK: &str = "
 assert (f['a'][:] == numpy.arange(5000)).all()
 assert (f['b'][:].ravel() == numpy.arange(3000)).all()
 assert [t.decode() for t in f['texts'][:]] == [f'text {n}' for n in range(50)]
 assert (f['line'][:] == numpy.arange(2000)).all() and (f['grid'][:].ravel() == numpy.arange(2000)).all()
 assert (f['line'].attrs['long'] == numpy.arange(15000)).all()
 assert list(f['many']) == [f'group {n:02}' for n in range(60)]
 assert [f['b'].attrs[f'attribute {n:02}'] for n in range(60)] == list(range(60))
";

#[test]
fn files_that_we_create_are_read_and_changed_by_h5py_and_then_by_us() {
    for (driver, version) in DRIVERS.iter().flat_map(|d| VERSIONS.map(|v| (*d, v))) {
        let folder = Folder::new(&format!("members-ours-{driver}-{version:?}"));
        let path = folder.at("f");
        let mut access = FileAccess::write().with_driver(driver);
        access.version_low = version;
        let file = create(&path, &access).unwrap();
        fill(&file);
        file.close().unwrap();
        python(
            &format!(
                "with opened('f', 'r+', '{driver}') as f:{CHECK} f['c'] = numpy.arange(4000)\n del f['a']"
            ),
            folder.path(),
        );
        // Without a driver, the names of the members say what it is.
        let mut access = FileAccess::write();
        access.version_low = version;
        let file = File::open_with(&path, &access).unwrap();
        assert_eq!(file.dataset("c").unwrap().read_raw::<i64>().unwrap().len(), 4000);
        assert_eq!(file.dataset("b").unwrap().read_raw::<i32>().unwrap(), numbers(3000));
        file.new_dataset_builder().with_data(&numbers(5000)).create("a").unwrap();
        file.unlink("c").unwrap();
        file.close().unwrap();
        python(&format!("with opened('f', 'r', '{driver}') as f:{CHECK}"), folder.path());
        if version == LibVersion::LATEST {
            // The h5dump of HDF5 1.10 does not know its structures.
            continue;
        }
        let options = ["-f", driver, "-d", "/a", "-c", "3", "f"];
        let dump = Command::new("h5dump").args(options).current_dir(folder.path()).output().unwrap();
        let text = String::from_utf8_lossy(&dump.stdout);
        let problem = String::from_utf8_lossy(&dump.stderr);
        assert!(dump.status.success() && text.contains("(0): 0, 1, 2"), "{driver}: {text}{problem}");
    }
}

#[test]
fn deleting_removes_all_members() {
    for driver in DRIVERS {
        let folder = Folder::new(&format!("members-deleted-{driver}"));
        let path = folder.at("f");
        create(&path, &FileAccess::write().with_driver(driver)).unwrap().close().unwrap();
        assert!(folder.names().len() > 1);
        hyperslab::registry().delete(&path, &FileAccess::write()).unwrap();
        assert!(folder.names().is_empty(), "{:?}", folder.names());
    }
}

#[test]
fn files_of_h5py_are_changed_by_us() {
    for (driver, libver) in DRIVERS.iter().flat_map(|d| ["earliest", "latest"].map(|v| (*d, v))) {
        let folder = Folder::new(&format!("members-theirs-{driver}-{libver}"));
        python(
            &format!(
                "with opened('f', 'w', '{driver}', '{libver}') as f:
 f['old'] = numpy.arange(1000, dtype='i4')
 f['chunks'] = f.create_dataset('many/chunks', data=numpy.arange(1000), chunks=(10,), maxshape=(None,))"
            ),
            folder.path(),
        );
        let file = File::open_with(&folder.at("f"), &FileAccess::write().with_driver(driver)).unwrap();
        assert_eq!(file.dataset("old").unwrap().read_raw::<i32>().unwrap(), numbers(1000));
        file.unlink("old").unwrap();
        file.unlink("many").unwrap();
        fill(&file);
        let chunks = file.dataset("chunks").unwrap();
        chunks.resize(2000).unwrap();
        chunks.write_raw(&(0..2000).rev().collect::<Vec<i64>>()).unwrap();
        file.close().unwrap();
        python(
            &format!(
                "with opened('f', 'r+', '{driver}') as f:{CHECK} assert (f['chunks'][:] == numpy.arange(2000)[::-1]).all()
 assert 'old' not in f
 f['new'] = 1"
            ),
            folder.path(),
        );
        let file = File::open(folder.at("f")).unwrap();
        assert_eq!(file.dataset("new").unwrap().read_raw::<i64>().unwrap(), [1]);
    }
}

#[test]
fn each_kind_of_data_goes_to_its_member() {
    let folder = Folder::new("members-kinds");
    let mut access = FileAccess::write().with_driver("multi");
    access.version_low = LibVersion::Earliest;
    let file = create(&folder.at("f"), &access).unwrap();
    fill(&file);
    file.close().unwrap();
    let expected = ["f-b.h5", "f-g.h5", "f-l.h5", "f-o.h5", "f-r.h5", "f-s.h5"];
    assert_eq!(folder.names(), expected);
    let bytes = expected.map(|name| folder.bytes(name));
    // As in files of libhdf5, values of variable length are among raw data.
    assert!(expected.iter().zip(bytes).all(|(name, bytes)| (bytes > 0) != (*name == "f-g.h5")), "{bytes:?}");
    // As libhdf5 sizes it: a superblock and the driver information.
    assert!(folder.bytes("f-s.h5") < 512);
    let values = std::fs::read(folder.at("f-r.h5")).unwrap();
    assert!(values.windows(7).any(|w| w == b"text 49"));
}

#[test]
fn space_in_a_member_is_used_again_and_given_back_at_close() {
    let folder = Folder::new("members-space");
    let path = folder.at("f");
    let file = create(&path, &FileAccess::write().with_driver("split")).unwrap();
    for round in 0..5 {
        file.new_dataset_builder().with_data(&numbers(10_000)).create("a").unwrap();
        file.new_dataset_builder().with_data(&[round]).create("b").unwrap();
        file.flush().unwrap();
        for name in ["a", "b"] {
            file.unlink(name).unwrap();
        }
        file.flush().unwrap();
    }
    assert!(folder.bytes("f-r.h5") < 3 * 40_000, "{}", folder.bytes("f-r.h5"));
    file.new_dataset_builder().with_data(&[7]).create("last").unwrap();
    file.close().unwrap();
    assert!(folder.bytes("f-r.h5") < 1000, "{}", folder.bytes("f-r.h5"));
    python("with opened('f', 'r', 'split') as f: assert list(f['last']) == [7]", folder.path());
}

#[test]
fn names_of_members_can_be_chosen_and_are_found_in_the_file() {
    let folder = Folder::new("members-names");
    let path = folder.at("f");
    let access = FileAccess::write().with_driver("split{metadata=.meta,raw=.raw}");
    let file = create(&path, &access).unwrap();
    file.new_dataset_builder().with_data(&numbers(10)).create("a").unwrap();
    file.close().unwrap();
    assert_eq!(folder.names(), ["f.meta", "f.raw"]);
    let access = FileAccess::read().with_driver("split{metadata=.meta,raw=.raw}");
    assert_eq!(
        File::open_with(&path, &access).unwrap().dataset("a").unwrap().read_raw::<i32>().unwrap(),
        numbers(10)
    );
    python(
        "import h5py.h5p
fapl = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
fapl.set_fapl_split(b'.meta', h5py.h5p.DEFAULT, b'.raw', h5py.h5p.DEFAULT)
f = h5py.File(h5py.h5f.open(b'f', h5py.h5f.ACC_RDONLY, fapl=fapl))
assert (f['a'][:] == numpy.arange(10)).all()",
        folder.path(),
    );
}

#[test]
fn a_split_file_is_replaced_as_a_whole_or_not_at_all() {
    let folder = Folder::new("members-replaced");
    let path = folder.at("f");
    let access = FileAccess::write().with_driver("split");
    let file = create(&path, &access).unwrap();
    file.new_dataset_builder().with_data(&numbers(4000)).create("old").unwrap();
    let busy = create(&path, &access).unwrap_err();
    assert_eq!(busy.root_cause().kind(), Kind::Busy, "one that is open is not replaced");
    let other = File::open_with(&path, &FileAccess::write()).unwrap();
    assert_eq!(other.member_names().unwrap(), ["old"], "two handles see one state");
    drop(other);
    file.close().unwrap();
    let exists = File::create_with(&path, &Default::default(), &access, false).unwrap_err();
    assert_eq!(exists.root_cause().kind(), Kind::Exists);
    for refused in [
        FileCreate { userblock_bytes: 512, ..FileCreate::default() },
        FileCreate { space_strategy: SpaceStrategy::Page, ..FileCreate::default() },
        FileCreate { space_persist: true, ..FileCreate::default() },
    ] {
        for name in ["f", "new"] {
            let error = File::create_with(&folder.at(name), &refused, &access, true).unwrap_err();
            assert_eq!(error.root_cause().kind(), Kind::Unsupported, "{error}");
        }
    }
    assert_eq!(folder.names(), ["f-m.h5", "f-r.h5"]);
    assert_eq!(File::open(&path).unwrap().member_names().unwrap(), ["old"]);
    let file = create(&path, &access).unwrap();
    file.new_dataset_builder().with_data(&numbers(10)).create("new").unwrap();
    file.close().unwrap();
    assert_eq!(File::open(&path).unwrap().dataset("new").unwrap().read_raw::<i32>().unwrap(), numbers(10));
    assert!(folder.bytes("f-r.h5") < 100);
}

#[test]
fn a_member_that_is_missing_or_truncated_is_an_error_and_nothing_is_made_in_its_stead() {
    let folder = Folder::new("members-missing");
    let path = folder.at("f");
    let file = create(&path, &FileAccess::write().with_driver("split")).unwrap();
    file.new_dataset_builder().with_data(&numbers(1000)).create("a").unwrap();
    file.close().unwrap();
    let raw = std::fs::read(folder.at("f-r.h5")).unwrap();
    std::fs::write(folder.at("f-r.h5"), &raw[..100]).unwrap();
    let writes = FileAccess::write().with_driver("split");
    let error = File::open_with(&path, &writes).unwrap_err();
    assert!(error.to_string().contains("truncated"), "{error}");
    let file = File::open(&path).unwrap();
    assert!(file.dataset("a").unwrap().read_raw::<i32>().is_err(), "no zeros in the place of lost elements");
    drop(file);
    std::fs::remove_file(folder.at("f-r.h5")).unwrap();
    let error = File::open_with(&path, &writes).unwrap_err();
    assert!(error.to_string().contains("missing"), "{error}");
    assert_eq!(folder.names(), ["f-m.h5"]);
}

#[test]
fn commits_without_syncs_and_large_overwrites_are_read_by_h5py() {
    let folder = Folder::new("members-overwrites");
    let path = folder.at("f");
    let mut access = FileAccess::write().with_driver("split");
    access.chunk_cache_bytes = Some(1 << 16);
    let file = create(&path, &access).unwrap();
    let a = file.new_dataset_builder().with_data(&numbers(500_000)).create("a").unwrap();
    file.commit(Durability::None).unwrap();
    // More than may wait in memory: it waits in the raw data member.
    a.write_raw(&numbers(500_000).iter().map(|n| -n).collect::<Vec<_>>()).unwrap();
    file.commit(Durability::Ordered).unwrap();
    assert_eq!(a.read_raw::<i32>().unwrap()[499_999], -499_999);
    file.close().unwrap();
    python(
        "with opened('f', 'r', 'split') as f: assert (f['a'][:] == -numpy.arange(500000)).all()",
        folder.path(),
    );
}
