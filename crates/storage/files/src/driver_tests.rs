use super::*;
use crate::scratch::Scratch;
use crate::{DriverBlock, Posix, Sync};
use std::io::ErrorKind;

fn parameters(pairs: &[(&str, &str)]) -> DriverParameters {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn at<'a>(path: &'a Path, parameters: &'a DriverParameters) -> Target<'a> {
    static DRIVERS: LazyLock<Drivers> = LazyLock::new(Drivers::default);
    Target { path, parameters, drivers: &DRIVERS }
}

fn names(dir: &Scratch) -> Vec<String> {
    let entries = std::fs::read_dir(dir.dir()).unwrap();
    let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn drivers_are_found_by_name_and_alias() {
    let drivers = Drivers::default();
    for (name, known) in [("posix", "posix"), ("sec2", "posix"), ("stdio", "posix"), ("memory", "core")] {
        assert_eq!(drivers.get(name).unwrap().info().name, known);
    }
    for unknown in ["mpio", "hdfs", ""] {
        assert!(drivers.get(unknown).is_none(), "{unknown}");
    }
    let names: Vec<_> = drivers.names().collect();
    let all = "core memory direct family log mirror multi onion posix sec2 stdio split splitter subfiling";
    assert_eq!(names.join(" "), all);
}

#[test]
fn a_taken_name_is_refused_and_other_sets_do_not_change() {
    let mut drivers = Drivers::default();
    assert_eq!(drivers.register(Arc::new(CoreDriver)).unwrap_err().kind(), ErrorKind::AlreadyExists);
    let mut empty = Drivers::empty();
    empty.register(Arc::new(CoreDriver)).unwrap();
    assert_eq!(empty.names().count(), 2);
    assert!(Drivers::empty().get("core").is_none());
}

#[test]
fn unknown_and_wrong_parameters_are_refused_by_every_driver() {
    let dir = Scratch::new();
    let path = dir.path("a%d");
    for driver in Drivers::default().iter() {
        let wrong = parameters(&[("colour", "red")]);
        let target = at(&path, &wrong);
        let refused = [
            driver.check_create(&target).unwrap_err(),
            driver.create(&target, true).unwrap_err(),
            driver.open(&target, Mode::Read).unwrap_err(),
        ];
        assert!(refused.iter().all(|e| e.kind() == ErrorKind::InvalidInput), "{}", driver.info().name);
    }
    for (driver, pair) in [("family", ("member_bytes", "many")), ("core", ("backing_store", "maybe"))] {
        let wrong = parameters(&[pair]);
        let target = at(&path, &wrong);
        let error = Drivers::default().get(driver).unwrap().create(&target, true).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    }
    assert!(names(&dir).is_empty(), "nothing was created");
}

#[test]
fn a_family_is_created_extended_cut_and_deleted_with_all_members() {
    let dir = Scratch::new();
    let (path, sized) = (dir.path("f%03d"), parameters(&[("member_bytes", "10")]));
    let target = at(&path, &sized);
    let created = FamilyDriver.create(&target, false).unwrap();
    assert!(created.is_new);
    created.file.write_at(0, &[7; 25]).unwrap();
    assert_eq!(names(&dir), ["f000", "f001", "f002"]);
    assert_eq!(FamilyDriver.create(&target, false).unwrap_err().kind(), ErrorKind::AlreadyExists);
    let again = FamilyDriver.create(&target, true).unwrap();
    assert!(!again.is_new && again.file.len().unwrap() == 25, "the caller cuts it when it has the lock");
    assert_eq!(again.file.identity(), created.file.identity());
    again.file.set_len(0).unwrap();
    again.file.write_at(0, b"new").unwrap();
    let block = again.file.driver_block().unwrap();
    let opened = FamilyDriver.open(&at(&path, &DriverParameters::default()), Mode::ReadWrite);
    let opened = opened.unwrap();
    opened.set_driver_block(&block).unwrap();
    opened.write_at(3, &[1; 9]).unwrap();
    assert_eq!(std::fs::read(dir.path("f001")).unwrap(), [1, 1], "the block says how large members are");
    let other = DriverBlock { id: *b"NCSAmult", data: vec![0; 8] };
    assert_eq!(opened.set_driver_block(&other).unwrap_err().kind(), ErrorKind::InvalidData);
    let wrong = parameters(&[("member_bytes", "11")]);
    let misread = FamilyDriver.open(&at(&path, &wrong), Mode::Read).unwrap();
    assert_eq!(misread.set_driver_block(&block).unwrap_err().kind(), ErrorKind::InvalidInput);
    // On Windows a name goes with the last handle.
    drop((created, again, opened, misread));
    FamilyDriver.delete(&target).unwrap();
    assert!(names(&dir).is_empty());
    assert_eq!(FamilyDriver.delete(&target).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn core_writes_to_its_backing_store_only_if_asked() {
    let dir = Scratch::new();
    let path = dir.path("a");
    let (without, with) = (parameters(&[("backing_store", "false")]), parameters(&[("increment", "10")]));
    let file = CoreDriver.create(&at(&path, &without), false).unwrap().file;
    file.write_at(0, b"abc").unwrap();
    file.sync(Sync::All).unwrap();
    drop(file);
    assert!(names(&dir).is_empty());
    let file = CoreDriver.create(&at(&path, &with), false).unwrap().file;
    file.write_at(0, b"abc").unwrap();
    file.sync(Sync::All).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"abc");
    assert_eq!(file.identity(), Some(Posix::open(&path, Mode::Read).unwrap().identity()));
    drop(file);
    let file = CoreDriver.open(&at(&path, &without), Mode::ReadWrite).unwrap();
    file.write_at(0, b"xyz").unwrap();
    drop(file);
    assert_eq!(std::fs::read(&path).unwrap(), b"abc");
    CoreDriver.delete(&at(&path, &without)).unwrap();
    assert_eq!(names(&dir), ["a"]);
    CoreDriver.delete(&at(&path, &with)).unwrap();
    assert!(names(&dir).is_empty());
}

#[test]
fn names_of_several_files_are_recognized() {
    let dir = Scratch::new();
    let name = |path: &str| Drivers::default().recognize(&dir.path(path)).map(|driver| driver.info().name);
    assert_eq!((name("f%d"), name("f"), name("100%.h5")), (Some("family"), None, None));
    std::fs::write(dir.path("s-m.h5"), b"").unwrap();
    assert_eq!(name("s"), None);
    std::fs::write(dir.path("s-r.h5"), b"").unwrap();
    std::fs::write(dir.path("m-s.h5"), b"").unwrap();
    assert_eq!((name("s"), name("m")), (Some("split"), Some("multi")));
}
