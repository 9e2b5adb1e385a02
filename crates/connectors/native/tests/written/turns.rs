//! Both libraries write to one file by turns.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use model::properties::FileCreate;
use model::{Dataspace, Kind, LinkTarget, ObjectKind, Result, Selection, Token};
use testkit::generate::Generator;
use vol::{Access, Container, Durability, OpList, OpRead, OpWrite};

use crate::life::{STEPS, attribute, group, more_members, snapshot};
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
        let path = folder.at(&format!("{seed}.h5"));
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
    let path = folder.at("life.h5");
    let c = create(&path, &FileCreate::default());
    for step in STEPS {
        step(&*c).unwrap();
        c.commit(Durability::Full).unwrap();
        let copy = folder.at("copy.h5");
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
        let path = folder.at(&format!("{steps}.h5"));
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

/// Golden files of every generation, made by libhdf5.
fn golden() -> Vec<PathBuf> {
    let Some(made) = testkit::oracles::golden() else { return Vec::new() };
    let mut paths = testkit::oracles::files_under(&made.join("files"));
    paths.retain(|path| path.extension().is_some_and(|e| e == "h5"));
    // Filters of plugins are not everywhere, virtual data needs its sources, h5dump takes minutes for the long indexes, and 1.12 and 1.14 write
    // what 1.10 writes.
    let left_out = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_like_another = name.contains("-v112") || name.contains("-v114");
        let is_elsewhere = name == "plugins.h5" || name.starts_with("virtual");
        is_elsewhere || name.starts_with("long_indexes") || is_like_another
    };
    paths.retain(|path| !left_out(path));
    paths
}

/// Unsupported is an answer; nothing else that fails is.
#[track_caller]
fn done_or_unsupported<T>(path: &str, result: Result<T>) -> bool {
    match result {
        Ok(_) => true,
        Err(error) if error.kind() == Kind::Unsupported => false,
        Err(error) => panic!("{path}: {error}"),
    }
}

/// All objects by one path each, the root first.
fn objects(c: &dyn Container) -> Vec<(String, Token)> {
    let mut found = vec![(String::new(), c.info().unwrap().root)];
    let mut met: BTreeSet<Token> = found.iter().map(|(_, token)| *token).collect();
    let mut next = 0;
    while let Some((path, token)) = found.get(next).cloned() {
        next += 1;
        if c.object_info(token).unwrap().kind != ObjectKind::Group {
            continue;
        }
        for link in c.link_list(token, &OpList { count_max: 40, ..OpList::default() }).unwrap().entries {
            if let LinkTarget::Hard(member) = link.target
                && met.insert(member)
            {
                found.push((format!("{path}/{}", link.name), member));
            }
        }
    }
    found
}

/// Turns every bit of a dataset round; whether that is supported.
fn overwrite(c: &dyn Container, path: &str, dataset: Token) -> bool {
    let info = c.dataset_info(dataset).unwrap();
    if info.datatype.has_descriptors() || info.space == Dataspace::Null {
        return true;
    }
    let mut data = vec![0; info.space.element_count().unwrap() as usize * info.datatype.size() as usize];
    c.dataset_read(&mut [OpRead { dataset, selection: &Selection::All, into: &mut data }]).unwrap();
    data.iter_mut().for_each(|byte| *byte = !*byte);
    let written = c.dataset_write(&[OpWrite { dataset, selection: &Selection::All, from: &data }]);
    let written = done_or_unsupported(path, written);
    if written {
        let mut again = vec![0; data.len()];
        c.dataset_read(&mut [OpRead { dataset, selection: &Selection::All, into: &mut again }]).unwrap();
        assert!(again == data, "{path}: what was written is not read");
    }
    written
}

/// Changes every `step`th object of a file.
fn change_all(c: &dyn Container, path: &str, (first, step): (usize, usize)) {
    for (name, object) in objects(c).into_iter().skip(first).step_by(step) {
        let path = format!("{path}:{name}");
        done_or_unsupported(&path, attribute(c, object, &format!("added {first}"), 7));
        match c.object_info(object).unwrap().kind {
            ObjectKind::Group => done_or_unsupported(&path, group(c, object, &format!("added {first}"))),
            ObjectKind::Dataset => overwrite(c, &path, object),
            _ => true,
        };
    }
}

/// Deletes the first member of every group; nothing where a group is empty.
fn delete_some(c: &dyn Container, path: &str) {
    for (name, object) in objects(c) {
        let is_group = c.object_info(object).is_ok_and(|info| info.kind == ObjectKind::Group);
        let first = if is_group {
            c.link_list(object, &OpList { count_max: 1, ..OpList::default() })
        } else {
            continue;
        };
        if let Some(link) = first.unwrap().entries.first() {
            done_or_unsupported(&format!("{path}:{name}"), c.link_delete(object, &link.name));
        }
    }
}

/// Neither may have trouble with a file that was changed; h5dump only with what it could not read before.
fn assert_still_read(path: &str, was_dumped: bool) {
    assert_same(path, &theirs(path), &ours(path));
    if was_dumped && let Some(Err(error)) = h5dump(path) {
        panic!("h5dump {path}: {error}");
    }
}

#[test]
fn files_of_libhdf5_stay_whole_when_we_change_them() {
    if !has_h5py() {
        return;
    }
    let folder = Folder::new("golden");
    for original in golden() {
        let name = original.file_name().unwrap().to_string_lossy().into_owned();
        let path = folder.at(&name);
        std::fs::copy(&original, &path).unwrap();
        let was_dumped = h5dump(&path).is_some_and(|dumped| dumped.is_ok());
        for round in 0..2 {
            let c = match open(&path, Access::Write) {
                Err(error) if error.kind() == Kind::Unsupported => break,
                opened => opened.unwrap(),
            };
            change_all(&*c, &name, (round, 3));
            c.commit(Durability::Full).unwrap();
            change_all(&*c, &name, (round + 10, 4));
            delete_some(&*c, &name);
            c.close().unwrap();
            assert_still_read(&path, was_dumped);
            let before = ours(&path);
            python("append.py", &[&path, &round.to_string()]);
            assert_still_read(&path, was_dumped);
            let after = ours(&path);
            let lost = before.iter().find(|(key, value)| after.get(*key) != Some(value));
            assert!(lost.is_none(), "{path}: libhdf5 wrote over {lost:?}");
        }
    }
}

#[test]
fn values_before_the_padding_of_old_headers_can_be_replaced() {
    if !has_h5py() {
        return;
    }
    let folder = Folder::new("padded");
    let path = folder.at("old.h5");
    python("old_attributes.py", &[&path]);
    let c = open(&path, Access::Write).unwrap();
    let root = c.info().unwrap().root;
    for n in 1..10 {
        c.attribute_write(root, &format!("{n} bytes"), &vec![n; usize::from(n)]).unwrap();
        assert!(c.attribute_write(root, &format!("{n} bytes"), &vec![n; usize::from(n) + 1]).is_err());
    }
    c.close().unwrap();
    assert_read_by_all(&path);
}
