//! Virtual file drivers through the public crate, with h5py as the other side.

use std::path::Path;
use std::process::Command;

use hyperslab::vol::LibVersion;
use hyperslab::{Durability, File, FileAccess, Kind};

use testkit::Folder;

fn python(script: &str, folder: &Path) {
    let output = Command::new("python3").args(["-c", script]).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn create(path: &str, access: &FileAccess) -> hyperslab::Result<File> {
    File::create_with(path, &Default::default(), access, true)
}

fn numbers(count: i32) -> Vec<i32> {
    (0..count).collect()
}

const VERSIONS: [LibVersion; 3] = [LibVersion::Earliest, LibVersion::V18, LibVersion::LATEST];

#[test]
fn an_unknown_driver_is_an_error_that_names_the_known_ones_and_nothing_is_created() {
    let folder = Folder::new("drivers-unknown");
    std::fs::write(folder.at("there.h5"), b"something").unwrap();
    for driver in [
        "nonsense",
        "mpio",
        "log{inner=nonsense}",
        "family{colour=red}",
        "core{increment=many}",
        "a | b",
        "onion{page_bytes=3}",
        "subfiling{subfiles=0}",
        "direct{alignment=3}",
        "splitter{wo=family{colour=red}}",
    ] {
        for name in ["new.h5", "there.h5", "f%d.h5"] {
            let access = FileAccess::write().with_driver(driver);
            let error = create(&folder.at(name), &access).unwrap_err();
            if ["nonsense", "mpio", "log{inner=nonsense}"].contains(&driver) {
                assert_eq!(error.kind(), Kind::Unsupported, "{error}");
                let text = error.to_string();
                assert!(
                    ["posix", "sec2", "core", "family", "split", "multi"].iter().all(|k| text.contains(k))
                );
            }
            assert!(File::open_with(&folder.at(name), &FileAccess::read().with_driver(driver)).is_err());
        }
    }
    assert_eq!(folder.names(), ["there.h5"]);
    assert_eq!(std::fs::read(folder.at("there.h5")).unwrap(), b"something");
    let error = create("memory:x", &FileAccess::write().with_driver("core")).unwrap_err();
    assert_eq!(error.kind(), Kind::Unsupported, "a connector without files has no drivers");
}

#[test]
fn families_that_we_create_are_read_and_changed_by_h5py_and_then_by_us() {
    for version in VERSIONS {
        let folder = Folder::new(&format!("drivers-family-ours-{version:?}"));
        let path = folder.at("f%02d.h5");
        let mut access = FileAccess::write().with_driver("family{member_bytes=4096}");
        access.version_low = version;
        let file = create(&path, &access).unwrap();
        file.new_dataset_builder().with_data(&numbers(5000)).create("a").unwrap();
        file.flush().unwrap();
        file.new_dataset::<i32>().shape(3000).chunk(100).deflate(1).create("b").unwrap();
        file.dataset("b").unwrap().write(&ndarray::Array1::from(numbers(3000))).unwrap();
        file.close().unwrap();
        let members = folder.names();
        assert!(members.len() > 5 && members[0] == "f00.h5", "{members:?}");
        python(
            "import h5py, numpy\n\
             with h5py.File('f%02d.h5', 'r+', driver='family', memb_size=4096) as f:\n\
             \x20 assert (f['a'][:] == numpy.arange(5000)).all() and (f['b'][:] == numpy.arange(3000)).all()\n\
             \x20 f['c'] = numpy.arange(4000)\n\
             \x20 del f['a']\n\
             with h5py.File('f%02d.h5', 'r', driver='family', memb_size=0) as f:\n\
             \x20 assert list(f) == ['b', 'c']",
            folder.path(),
        );
        // Without a driver, the name says what it is, and the file how large members are.
        let mut access = FileAccess::write();
        access.version_low = version;
        let file = File::open_with(&path, &access).unwrap();
        assert_eq!(file.dataset("c").unwrap().read_raw::<i64>().unwrap().len(), 4000);
        file.new_dataset_builder().with_data(&numbers(6000)).create("d").unwrap();
        file.close().unwrap();
        python(
            "import h5py, numpy\n\
             with h5py.File('f%02d.h5', 'r', driver='family', memb_size=4096) as f:\n\
             \x20 assert (f['d'][:] == numpy.arange(6000)).all() and (f['b'][:] == numpy.arange(3000)).all()",
            folder.path(),
        );
        let wrong = FileAccess::read().with_driver("family{member_bytes=5000}");
        assert_eq!(File::open_with(&path, &wrong).unwrap_err().root_cause().kind(), Kind::Invalid);
        let access = FileAccess::write();
        hyperslab::registry().delete(&path, &access).unwrap();
        assert!(folder.names().is_empty(), "{:?}", folder.names());
    }
}

#[test]
fn families_of_h5py_are_changed_by_us() {
    for libver in ["earliest", "latest"] {
        let folder = Folder::new(&format!("drivers-family-theirs-{libver}"));
        python(
            &format!(
                "import h5py, numpy\n\
                 with h5py.File('f%d.h5', 'w', driver='family', memb_size=3000, libver='{libver}') as f:\n\
                 \x20 f['a'] = numpy.arange(1000, dtype='i4')"
            ),
            folder.path(),
        );
        let path = folder.at("f%d.h5");
        let file = File::open_with(&path, &FileAccess::write()).unwrap();
        assert_eq!(file.dataset("a").unwrap().read_raw::<i32>().unwrap(), numbers(1000));
        file.new_dataset_builder().with_data(&numbers(2000)).create("b").unwrap();
        file.unlink("a").unwrap();
        file.close().unwrap();
        let sizes: Vec<u64> =
            (0..3).map(|n| std::fs::metadata(folder.at(&format!("f{n}.h5"))).unwrap().len()).collect();
        assert_eq!(sizes[..2], [3000, 3000]);
        python(
            "import h5py, numpy\n\
             with h5py.File('f%d.h5', 'r', driver='family', memb_size=3000) as f:\n\
             \x20 assert list(f) == ['b'] and (f['b'][:] == numpy.arange(2000)).all()",
            folder.path(),
        );
    }
}

#[test]
fn a_family_is_replaced_with_other_members_and_leaves_nothing_of_the_old_one() {
    let folder = Folder::new("drivers-family-replaced");
    let path = folder.at("f%d.h5");
    let file = create(&path, &FileAccess::write().with_driver("family{member_bytes=2048}")).unwrap();
    file.new_dataset_builder().with_data(&numbers(4000)).create("old").unwrap();
    file.close().unwrap();
    let access = FileAccess::write().with_driver("family{member_bytes=3000}");
    let exists = File::create_with(&path, &Default::default(), &access, false).unwrap_err();
    assert_eq!(exists.root_cause().kind(), Kind::Exists);
    let file = create(&path, &access).unwrap();
    let busy = create(&path, &access).unwrap_err();
    assert_eq!(busy.root_cause().kind(), Kind::Busy, "one that is open is not replaced");
    file.new_dataset_builder().with_data(&numbers(1000)).create("new").unwrap();
    file.close().unwrap();
    let file = File::open_with(&path, &FileAccess::read()).unwrap();
    assert_eq!(file.member_names().unwrap(), ["new"]);
    assert_eq!(file.dataset("new").unwrap().read_raw::<i32>().unwrap(), numbers(1000));
}

#[test]
fn two_handles_of_a_family_see_one_state() {
    let folder = Folder::new("drivers-family-shared");
    let path = folder.at("f%d.h5");
    let file = create(&path, &FileAccess::write().with_driver("family{member_bytes=2048}")).unwrap();
    let other = File::open_with(&path, &FileAccess::write()).unwrap();
    other.create_group("made here").unwrap();
    assert!(file.exists("made here").unwrap());
}

#[test]
fn core_with_a_backing_store_writes_at_a_commit_and_h5py_reads_it() {
    let folder = Folder::new("drivers-core");
    let path = folder.at("c.h5");
    let file = create(&path, &FileAccess::write().with_driver("core{increment=1024}")).unwrap();
    file.new_dataset_builder().with_data(&numbers(1000)).create("a").unwrap();
    file.flush().unwrap();
    let on_disk = std::fs::read(&path).unwrap();
    let committed = File::from_image(on_disk).unwrap();
    assert_eq!(committed.dataset("a").unwrap().read_raw::<i32>().unwrap(), numbers(1000));
    file.new_dataset_builder().with_data(&numbers(10)).create("b").unwrap();
    file.close().unwrap();
    python(
        "import h5py, numpy\n\
         with h5py.File('c.h5', 'r+', driver='core', backing_store=True) as f:\n\
         \x20 assert (f['a'][:] == numpy.arange(1000)).all() and len(f['b']) == 10\n\
         \x20 f['c'] = 7",
        folder.path(),
    );
    let file = File::open_with(&path, &FileAccess::write().with_driver("core")).unwrap();
    assert_eq!(file.dataset("c").unwrap().read_raw::<i64>().unwrap(), [7]);
    file.unlink("c").unwrap();
    file.commit(Durability::None).unwrap();
    file.close().unwrap();
    assert_eq!(File::open(&path).unwrap().member_names().unwrap(), ["a", "b"]);
}

#[test]
fn core_without_a_backing_store_leaves_the_disk_alone() {
    let folder = Folder::new("drivers-core-alone");
    let path = folder.at("c.h5");
    let access = FileAccess::write().with_driver("core{backing_store=false}");
    let file = create(&path, &access).unwrap();
    file.new_dataset_builder().with_data(&numbers(100)).create("a").unwrap();
    file.flush().unwrap();
    let image = file.image().unwrap();
    file.close().unwrap();
    assert!(folder.names().is_empty());
    std::fs::write(&path, &image).unwrap();
    python("import h5py; assert len(h5py.File('c.h5')['a']) == 100", folder.path());
    let file = File::open_with(&path, &access).unwrap();
    file.unlink("a").unwrap();
    file.close().unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), image);
}

#[test]
fn an_image_is_changed_in_memory_and_returned() {
    let folder = Folder::new("drivers-image");
    python(
        "import h5py\n\
         with h5py.File('i.h5', 'w', libver='latest') as f: f['a'] = [1, 2, 3]",
        folder.path(),
    );
    let image = std::fs::read(folder.at("i.h5")).unwrap();
    let file = File::from_image_with(image, &FileAccess::write()).unwrap();
    file.new_dataset_builder().with_data(&[4, 5]).create("b").unwrap();
    std::fs::write(folder.at("o.h5"), file.image().unwrap()).unwrap();
    python("import h5py; f = h5py.File('o.h5', 'r+'); assert list(f['b']) == [4, 5]", folder.path());
    let file = File::open(folder.at("i.h5")).unwrap();
    assert_eq!(file.image().unwrap(), std::fs::read(folder.at("i.h5")).unwrap());
}
