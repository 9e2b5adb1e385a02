//! Virtual file drivers from shared libraries.

mod common;

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use files::{Driver, DriverParameters, Drivers, Lock, Mode, Sync, Target};
use hyperslab_plugin::{Plugin, load};
use model::properties::FileCreate;
use native::NativeConnector;
use vol::{FileAccess, LinkLocation, OpGroupCreate, OpList, Registry};

fn driver() -> Arc<dyn Driver> {
    match load(common::example("driver_plugin")).unwrap().plugin {
        Plugin::Driver(driver) => driver,
        other => panic!("{other:?}"),
    }
}

fn with<T>(path: &Path, parameters: &[(&str, &str)], work: impl FnOnce(&Target<'_>) -> T) -> T {
    let pairs = parameters.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let (parameters, drivers): (DriverParameters, _) = (pairs.collect(), Drivers::default());
    work(&Target { path, parameters: &parameters, drivers: &drivers })
}

#[test]
fn files_of_a_plugin_are_created_changed_locked_and_deleted() {
    let (driver, path) = (driver(), common::folder("driver_files").join("file"));
    let open = |mode| with(&path, &[("key", "3")], |target| driver.open(target, mode));
    assert_eq!(open(Mode::Read).unwrap_err().kind(), ErrorKind::NotFound);
    let created = with(&path, &[("key", "3")], |target| driver.create(target, false)).unwrap();
    assert!(created.is_new);
    let file = created.file;
    file.write_at(2, b"abc").unwrap();
    file.set_len(6).unwrap();
    file.sync(Sync::All).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), [3, 3, b'd', b'e', b'f', 3]);
    let again = open(Mode::ReadWrite).unwrap();
    assert_eq!(again.identity(), file.identity());
    assert!(file.identity().is_some());
    file.lock(Lock::Exclusive).unwrap();
    assert_eq!(again.lock(Lock::Shared).unwrap_err().kind(), ErrorKind::WouldBlock);
    file.lock(Lock::Unlock).unwrap();
    again.lock(Lock::Shared).unwrap();
    let mut bytes = [9; 6];
    again.read_at(0, &mut bytes).unwrap();
    assert_eq!((&bytes, again.len().unwrap()), (b"\0\0abc\0", 6));
    assert_eq!(again.read_at(1, &mut bytes).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    let read_only = open(Mode::Read).unwrap();
    assert_eq!(read_only.write_at(0, b"x").unwrap_err().kind(), ErrorKind::PermissionDenied);
    with(&path, &[], |target| driver.delete(target)).unwrap();
    assert!(!path.exists());
}

#[test]
fn wrong_parameters_are_refused_before_anything_is_made() {
    let (driver, path) = (driver(), common::folder("driver_parameters").join("file"));
    for wrong in [("key", "300"), ("keys", "3")] {
        let checked = with(&path, &[wrong], |target| driver.check_create(target));
        assert_eq!(checked.unwrap_err().kind(), ErrorKind::InvalidInput, "{wrong:?}");
    }
    assert!(!path.exists());
}

#[test]
fn an_hdf5_file_lies_on_the_driver_of_a_plugin() {
    let mut registry = Registry::new();
    registry.register(Arc::new(NativeConnector)).unwrap();
    load(common::example("driver_plugin")).unwrap().register(&mut registry).unwrap();
    let path = common::folder("driver_hdf5").join("run.h5");
    let location = path.to_str().unwrap();
    let access = |base: FileAccess| FileAccess { driver: Some("scrambled{key=7}".to_owned()), ..base };
    let file =
        registry.create(location, &FileCreate::default(), &access(FileAccess::write()), false).unwrap();
    let root = file.info().unwrap().root;
    let place = Some(LinkLocation::new(root, "group"));
    file.group_create(&OpGroupCreate { place, ..Default::default() }).unwrap();
    file.close().unwrap();
    drop(file);
    assert!(!std::fs::read(&path).unwrap().starts_with(b"\x89HDF"));
    let file = registry.open(location, &access(FileAccess::read())).unwrap();
    let links = file.link_list(root, &OpList::default()).unwrap();
    assert_eq!(links.entries.iter().map(|link| &*link.name).collect::<Vec<_>>(), ["group"]);
    assert!(registry.open(location, &FileAccess::read()).is_err(), "its bytes are no HDF5 file");
}
