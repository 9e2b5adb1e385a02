//! Drivers that stand on others, and those with files next to the file: created, changed, opened again, deleted.

use std::process::Command;

use hyperslab::extend::{Onion, Subfiling, SubfilingOptions};
use hyperslab::extensions::{Repartition, repartition};
use hyperslab::vol::LibVersion;
use hyperslab::{File, FileAccess, Kind};

use testkit::Folder;

/// Drivers with their parameters; `DIR` stands for the folder of a test.
const DRIVERS: [&str; 18] = [
    "posix",
    "core",
    "direct",
    "family{member_bytes=4096}",
    "split",
    "multi",
    "log{to=DIR/log.txt}",
    "splitter",
    "onion",
    "subfiling{stripe_bytes=1000,subfiles=3}",
    "log{to=DIR/log.txt,inner=family{member_bytes=4096}}",
    "log{to=DIR/log.txt,inner=direct}",
    "splitter{inner=core}",
    "splitter{inner=split}",
    "splitter{inner=onion{page_bytes=512},wo=subfiling{subfiles=2}}",
    "log{to=DIR/log.txt,inner=splitter{inner=multi}}",
    "onion{inner=direct}",
    "log{to=DIR/log.txt,inner=subfiling{stripe_bytes=1000,subfiles=3}}",
];

fn access(driver: &str, folder: &Folder, version: LibVersion) -> FileAccess {
    let driver = driver.replace("DIR", folder.path().to_str().unwrap());
    FileAccess { version_low: version, ..FileAccess::write().with_driver(driver) }
}

fn create(path: &str, access: &FileAccess) -> hyperslab::Result<File> {
    File::create_with(path, &Default::default(), access, true)
}

fn numbers(from: i32, count: i32) -> Vec<i32> {
    (from..from + count).collect()
}

fn fill(file: &File, name: &str, from: i32) {
    let set = file.new_dataset::<i32>().shape(4000).chunk(300).deflate(1).create(name).unwrap();
    set.write_raw(&numbers(from, 4000)).unwrap();
    file.new_dataset_builder().with_data(&numbers(from, 100)).create(&*format!("{name}-contiguous")).unwrap();
}

fn check(file: &File, name: &str, from: i32) {
    assert_eq!(file.dataset(name).unwrap().read_raw::<i32>().unwrap(), numbers(from, 4000));
    let contiguous = file.dataset(&format!("{name}-contiguous")).unwrap();
    assert_eq!(contiguous.read_raw::<i32>().unwrap(), numbers(from, 100));
}

#[test]
fn files_of_every_driver_are_created_changed_replaced_and_deleted() {
    for (number, driver) in DRIVERS.into_iter().enumerate() {
        for version in [LibVersion::Earliest, LibVersion::LATEST] {
            let folder = Folder::new(&format!("stacks-{number}-{version:?}"));
            let (path, access) = (folder.at("f%02d.h5"), access(driver, &folder, version));
            let file = match create(&path, &access) {
                Err(error) if error.to_string().contains("O_DIRECT") => {
                    eprintln!("SKIPPED {driver}: {error}");
                    continue;
                }
                created => created.unwrap(),
            };
            fill(&file, "first", 1);
            file.flush().unwrap();
            file.set_attr("note", 7).unwrap();
            file.close().unwrap();

            let file = File::open_with(&path, &access).unwrap();
            check(&file, "first", 1);
            file.unlink("first").unwrap();
            fill(&file, "second", 5000);
            file.close().unwrap();

            let file = File::open_with(
                &path,
                &FileAccess { access: hyperslab::vol::Access::Read, ..access.clone() },
            )
            .unwrap();
            check(&file, "second", 5000);
            assert!(file.dataset("first").is_err());
            file.close().unwrap();

            let file = create(&path, &access).unwrap();
            fill(&file, "third", 9);
            file.close().unwrap();
            let file = File::open_with(&path, &access).unwrap();
            check(&file, "third", 9);
            assert!(file.dataset("second").is_err(), "{driver}");
            file.close().unwrap();

            hyperslab::registry().delete(&path, &access).unwrap();
            let left: Vec<String> = folder.names().into_iter().filter(|name| name != "log.txt").collect();
            assert!(left.is_empty(), "{driver} leaves {left:?}");
        }
    }
}

#[test]
fn two_writers_of_one_file_are_one_or_busy() {
    for driver in ["onion", "subfiling{subfiles=2}", "splitter", "direct"] {
        let folder = Folder::new(&format!("stacks-two-{}", &driver[..5]));
        let (path, access) = (folder.at("a.h5"), access(driver, &folder, LibVersion::V18));
        let Ok(first) = create(&path, &access) else {
            eprintln!("SKIPPED {driver}: no direct I/O here");
            continue;
        };
        fill(&first, "first", 1);
        let second = File::open_with(&path, &access).unwrap();
        check(&second, "first", 1);
        let error = create(&path, &access).unwrap_err();
        assert_eq!(error.kind(), Kind::Busy, "{driver}: {error}");
        drop((first, second));
        check(&File::open_with(&path, &access).unwrap(), "first", 1);
    }
}

#[test]
fn every_revision_of_an_onion_can_be_read_and_h5py_reads_the_original() {
    let folder = Folder::new("stacks-onion");
    let path = folder.at("a.h5");
    let file = create(&path, &FileAccess::write()).unwrap();
    fill(&file, "original", 0);
    file.close().unwrap();
    for revision in 1..4 {
        let access =
            FileAccess::write().with_driver(format!("onion{{page_bytes=256,comment=number {revision}}}"));
        let file = File::open_with(&path, &access).unwrap();
        fill(&file, &format!("r{revision}"), revision * 1000);
        file.close().unwrap();
    }
    for revision in 0..4 {
        let access = FileAccess::read().with_driver(format!("onion{{revision={revision}}}"));
        let file = File::open_with(&path, &access).unwrap();
        check(&file, "original", 0);
        for made in 1..4 {
            assert_eq!(file.dataset(&format!("r{made}")).is_ok(), made <= revision, "{made} in {revision}");
        }
        if revision > 0 {
            check(&file, &format!("r{revision}"), revision * 1000);
        }
    }
    let revisions = Onion::revisions(&path).unwrap();
    assert_eq!(revisions.len(), 3);
    assert_eq!(revisions[2].comment, "number 3");
    let missing = File::open_with(&path, &FileAccess::read().with_driver("onion{revision=4}")).unwrap_err();
    assert_eq!(missing.kind(), Kind::Invalid, "{missing}");
    let script =
        "import h5py\nwith h5py.File('a.h5') as f: assert list(f) == ['original', 'original-contiguous']";
    assert!(
        Command::new("python3").args(["-c", script]).current_dir(folder.path()).status().unwrap().success()
    );
}

#[test]
fn a_revision_that_was_flushed_is_there_when_its_writer_dies() {
    let folder = Folder::new("stacks-onion-dies");
    let path = folder.at("a.h5");
    let access = FileAccess::write().with_driver("onion");
    let file = create(&path, &access).unwrap();
    fill(&file, "first", 1);
    file.flush().unwrap();
    // What a killed process leaves: the files as they are now.
    let copies = ["a.h5", "a.h5.onion", "a.h5.onion.recovery"]
        .map(|name| (name, std::fs::read(folder.at(name)).unwrap()));
    file.close().unwrap();
    for (name, bytes) in copies {
        std::fs::write(folder.at(name), bytes).unwrap();
    }
    let file = File::open_with(&path, &access).unwrap();
    check(&file, "first", 1);
    fill(&file, "second", 2);
    file.close().unwrap();
    assert!(!std::fs::exists(folder.at("a.h5.onion.recovery")).unwrap());
    check(&File::open_with(&path, &FileAccess::read().with_driver("onion")).unwrap(), "second", 2);
}

#[test]
fn joined_subfiles_are_a_plain_file_that_h5py_reads() {
    for version in [LibVersion::Earliest, LibVersion::LATEST] {
        let folder = Folder::new(&format!("stacks-join-{version:?}"));
        let path = folder.at("a.h5");
        let file =
            create(&path, &access("subfiling{stripe_bytes=777,subfiles=4}", &folder, version)).unwrap();
        fill(&file, "data", 3);
        file.close().unwrap();
        Subfiling::join(&path, SubfilingOptions::default(), folder.at("one.h5")).unwrap();
        check(&File::open(folder.at("one.h5")).unwrap(), "data", 3);
        let script = "import h5py, numpy\n\
                      with h5py.File('one.h5') as f: assert (f['data'][:] == numpy.arange(3, 4003)).all()";
        let output =
            Command::new("python3").args(["-c", script]).current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn logs_of_both_libraries_have_the_same_kinds_of_lines() {
    let folder = Folder::new("stacks-log");
    let log = folder.at("ours.txt");
    let file =
        create(&folder.at("a.h5"), &FileAccess::write().with_driver(format!("log{{to={log}}}"))).unwrap();
    fill(&file, "data", 3);
    file.close().unwrap();
    let text = std::fs::read_to_string(log).unwrap();
    for line in [
        "(H5FD_MEM_SUPER) Written",
        "(H5FD_MEM_DRAW) Written",
        "(H5FD_MEM_OHDR) Allocated",
        "Total number of write operations: ",
        "Dumping I/O flavor information:",
        "flavor is H5FD_MEM_BTREE",
    ] {
        assert!(text.contains(line), "no line with {line}");
    }
}

#[test]
fn a_copy_that_fails_is_an_error_or_goes_to_the_log() {
    let folder = Folder::new("stacks-splitter");
    let driver = |ignore: bool| {
        let dir = folder.path().to_str().unwrap();
        format!(
            "splitter{{wo=core{{bytes_max=3000}},wo_path={dir}/copy,log={dir}/failures,ignore_wo_errors={ignore}}}"
        )
    };
    let strict = FileAccess::write().with_driver(driver(false));
    let file = create(&folder.at("strict.h5"), &strict).unwrap();
    let set = file.new_dataset::<i32>().shape(4000).create("data").unwrap();
    let failed = set.write_raw(&numbers(0, 4000)).and_then(|()| file.flush());
    assert!(failed.unwrap_err().to_string().contains("write-only channel"));
    drop((set, file));
    let file = create(&folder.at("easy.h5"), &FileAccess::write().with_driver(driver(true))).unwrap();
    fill(&file, "data", 3);
    file.close().unwrap();
    check(&File::open(folder.at("easy.h5")).unwrap(), "data", 3);
    assert!(std::fs::read_to_string(folder.at("failures")).unwrap().contains("write: write-only channel"));
}

#[test]
fn families_are_joined_split_and_get_members_of_another_size() {
    for version in [LibVersion::Earliest, LibVersion::LATEST] {
        let folder = Folder::new(&format!("stacks-repartition-{version:?}"));
        let access = access("family{member_bytes=4096}", &folder, version);
        let file = create(&folder.at("f%02d.h5"), &access).unwrap();
        fill(&file, "data", 3);
        file.close().unwrap();
        let move_to = |from: &str, to: &str, member_bytes| {
            let (from, to) = (folder.at(from), folder.at(to));
            repartition(&Repartition { from: &from, to: &to, member_bytes })
        };
        move_to("f%02d.h5", "one.h5", None).unwrap();
        move_to("f%02d.h5", "large%d.h5", Some(6000)).unwrap();
        move_to("one.h5", "small%d.h5", Some(1000)).unwrap();
        assert_eq!(move_to("f%02d.h5", "one.h5", None).unwrap_err().kind(), Kind::Exists);
        assert_eq!(folder.bytes("large0.h5"), 6000);
        assert_eq!(folder.bytes("small3.h5"), 1000);
        for path in ["f%02d.h5", "one.h5", "large%d.h5", "small%d.h5"] {
            let file = File::open_with(&folder.at(path), &FileAccess::write()).unwrap();
            check(&file, "data", 3);
            file.set_attr("changed", 1).unwrap();
            file.close().unwrap();
        }
        let script = "import h5py, numpy\n\
            def check(name, **how):\n\
            \x20 with h5py.File(name, 'r+', **how) as f:\n\
            \x20   assert (f['data'][:] == numpy.arange(3, 4003)).all() and f.attrs['changed'] == 1\n\
            check('one.h5')\n\
            check('f%02d.h5', driver='family', memb_size=4096)\n\
            check('large%d.h5', driver='family', memb_size=6000)\n\
            check('small%d.h5', driver='family', memb_size=1000)\n";
        let output =
            Command::new("python3").args(["-c", script]).current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}
