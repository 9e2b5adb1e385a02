//! Both libraries write to one file by turns.

use model::properties::FileCreate;
use testkit::generate::Generator;
use vol::{Access, Durability};

use crate::life::{STEPS, more_members, snapshot};
use crate::others::{
    Folder, assert_read_by_all, assert_same, create, h5dump, has_h5py, open, ours, python, theirs,
};

#[test]
fn libhdf5_reads_what_generators_wrote() {
    if !has_h5py() {
        return;
    }
    let folder = Folder::new("generated");
    for seed in 0..20 {
        let mut generator = Generator::new(seed);
        let path = folder.file(&format!("{seed}.h5"));
        let c = create(&path, &generator.file_create());
        generator.fill(&*c, c.info().unwrap().root, 60).unwrap();
        // h5dump 1.10 does not know the complex numbers of HDF5 2.0.
        let is_new = snapshot(&*c).0.values().any(|fact| fact.contains("Complex"));
        c.close().unwrap();
        assert_same(&path, &theirs(&path), &ours(&path));
        if !is_new && let Some(Err(error)) = h5dump(&path) {
            panic!("h5dump {path}: {error}");
        }
    }
}

#[test]
fn libhdf5_reads_every_commit_of_a_life() {
    if !has_h5py() {
        return;
    }
    let folder = Folder::new("life");
    let path = folder.file("life.h5");
    let c = create(&path, &FileCreate::default());
    for step in STEPS {
        step(&*c).unwrap();
        c.commit(Durability::Full).unwrap();
        let copy = folder.file("copy.h5");
        std::fs::copy(&path, &copy).unwrap();
        assert_read_by_all(&copy);
    }
}

#[test]
fn we_read_what_libhdf5_changed_in_our_files() {
    if !has_h5py() {
        return;
    }
    let folder = Folder::new("changed");
    for steps in 2..=STEPS.len() {
        let path = folder.file(&format!("{steps}.h5"));
        let c = create(&path, &FileCreate::default());
        STEPS[..steps].iter().for_each(|step| step(&*c).unwrap());
        c.close().unwrap();
        python("change.py", &[&path]);
        assert_read_by_all(&path);
        let c = open(&path, Access::Write).unwrap();
        more_members(&*c, "after theirs").unwrap();
        c.close().unwrap();
        assert_read_by_all(&path);
    }
}
