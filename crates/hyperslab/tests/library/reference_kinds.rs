//! References of new datasets: their kind follows the version bound, and h5py reads them.

use hyperslab::types::RegionReference;
use hyperslab::vol::model::datatype::ReferenceKind;
use hyperslab::{Datatype, File, FileAccess, LibVersion, ObjectHandle, Reference, Selection};

fn kind(datatype: &Datatype) -> ReferenceKind {
    match datatype {
        Datatype::Reference(reference) => reference.kind,
        other => panic!("{other:?}"),
    }
}

fn write(file: &File) {
    let target = file.write_array("group/target", &[10, 20, 30, 40]).unwrap();
    let references =
        [Reference::object(target.token()), Reference::object(file.group("group").unwrap().token())];
    file.new_dataset::<Reference>().shape(2).create("objects").unwrap().write(&references).unwrap();
    let region = Reference::region(target.token(), Selection::block(&[1], &[2]).unwrap());
    file.new_dataset_builder().with_data(&[RegionReference(region)]).create("regions").unwrap();
    file.set_attr("first", references[0].clone()).unwrap();
}

fn read(file: &File) {
    let references = file.dataset("objects").unwrap().read_raw::<Reference>().unwrap();
    let target = file.dereference(&references[0]).unwrap();
    assert_eq!(target.object().name(), "/group/target");
    assert_eq!(file.dereference(&references[1]).unwrap().object().name(), "/group");
    let regions = file.dataset("regions").unwrap().read_raw::<RegionReference>().unwrap();
    let hyperslab::ReferenceTarget::Region { selection, .. } = &regions[0].0.target else { panic!() };
    let ObjectHandle::Dataset(dataset) = file.dereference(&regions[0].0).unwrap() else { panic!() };
    assert_eq!(dataset.read_selection::<i32>(selection).unwrap(), [20, 30]);
    let root = Reference::object(file.as_group().token());
    assert_eq!(file.dereference(&root).unwrap().object().name(), "/");
}

#[test]
fn at_the_default_bound_h5py_reads_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.h5");
    write(&File::create(&path).unwrap());
    let file = File::open(&path).unwrap();
    assert_eq!(kind(&file.dataset("objects").unwrap().dtype().unwrap()), ReferenceKind::Object1);
    assert_eq!(kind(&file.dataset("regions").unwrap().dtype().unwrap()), ReferenceKind::DatasetRegion1);
    read(&file);
    let script = "
import h5py
with h5py.File('f.h5') as f:
    assert [f[r].name for r in f['objects'][...]] == ['/group/target', '/group']
    assert f[f.attrs['first']].name == '/group/target'
    region = f['regions'][0]
    assert f[region].name == '/group/target' and f[region][region].tolist() == [20, 30]
";
    let output =
        std::process::Command::new("python3").args(["-c", script]).current_dir(&folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn from_the_bound_1_12_on_they_are_of_the_new_kind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.h5");
    let access = FileAccess { version_low: LibVersion::V112, ..FileAccess::write() };
    write(&File::with_options().with_fapl(|p| p.libver_v112()).create(&path).unwrap());
    let file = File::open_with(path.to_str().unwrap(), &access).unwrap();
    assert_eq!(kind(&file.dataset("objects").unwrap().dtype().unwrap()), ReferenceKind::Object);
    assert_eq!(kind(&file.dataset("regions").unwrap().dtype().unwrap()), ReferenceKind::Object);
    read(&file);
}

#[test]
fn typed_writes_reach_both_old_kinds_and_refuse_what_they_cannot_hold() {
    let folder = tempfile::tempdir().unwrap();
    let file = File::create(folder.path().join("f.h5")).unwrap();
    let target = file.write_array("target", &[1, 2, 3]).unwrap();
    let object = Reference::object(target.token());
    let region = Reference::region(target.token(), Selection::block(&[0], &[2]).unwrap());
    let old = |kind| file.new_dataset_as(Datatype::reference(kind)).shape(1);
    let objects = old(ReferenceKind::Object1).create("objects").unwrap();
    let regions = old(ReferenceKind::DatasetRegion1).create("regions").unwrap();
    let (object, region) = ([object], [region]);
    objects.write(&object).unwrap();
    regions.write(&region).unwrap();
    assert!(objects.write(&region).is_err() && regions.write(&object).is_err());
    assert_eq!(objects.read_raw::<Reference>().unwrap(), object);
    assert_eq!(regions.read_raw::<Reference>().unwrap(), region);
}
