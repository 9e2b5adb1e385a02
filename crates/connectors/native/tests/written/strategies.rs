//! Ways to manage a file's space: what was asked for is what libhdf5 finds, and both keep to it.

use std::process::Command;
use std::sync::Arc;

use hyperslab_native::NativeConnector;
use model::properties::{DatasetCreate, FileCreate, SpaceStrategy};
use model::{CharacterSet, Datatype, Result, Selection};
use vol::{Access, Connector, Container, ContainerCreate, ContainerOpen, Durability, FileAccess, LibVersion};

use crate::life::{attribute, dataset, deflated, group, ints, put, put_texts, simple};
use crate::others::{Folder, Values, assert_same, has_h5py, ours, python, theirs};

const BOUNDS: [LibVersion; 2] = [LibVersion::Earliest, LibVersion::LATEST];

fn access(low: LibVersion) -> FileAccess {
    FileAccess { access: Access::Write, version_low: low, ..FileAccess::default() }
}

fn create(path: &str, create: &FileCreate, low: LibVersion) -> Arc<dyn Container> {
    let access = access(low);
    let op = ContainerCreate { truncate: true, ..ContainerCreate::new(path, create, &access) };
    NativeConnector.create(&op).unwrap()
}

fn reopen(path: &str, low: LibVersion) -> Arc<dyn Container> {
    NativeConnector.open(&ContainerOpen::new(path, &access(low))).unwrap()
}

/// Each way, with a name for its file.
fn strategies() -> Vec<(String, FileCreate)> {
    let mut all = Vec::new();
    for (name, space_strategy) in [
        ("fsm", SpaceStrategy::FsmAggregate),
        ("page", SpaceStrategy::Page),
        ("aggregate", SpaceStrategy::Aggregate),
        ("none", SpaceStrategy::None),
    ] {
        let plain = FileCreate { space_strategy, ..FileCreate::default() };
        all.push((name.to_owned(), plain.clone()));
        if matches!(name, "fsm" | "page") {
            let kept = FileCreate { space_persist: true, ..plain };
            all.push((format!("{name} persistent"), kept.clone()));
            // h5py sets no page size without pages.
            let page_bytes = if name == "page" { 512 } else { 4096 };
            let picky = FileCreate { space_threshold: 200, page_bytes, ..kept.clone() };
            all.push((format!("{name} picky"), picky));
            let behind = FileCreate { userblock_bytes: 8192, page_bytes: 2048, ..kept };
            all.push((format!("{name} behind"), behind));
        }
    }
    all
}

/// Objects of many sizes in a group of their own.
fn fill(c: &dyn Container, name: &str) -> Result<()> {
    let g = group(c, c.info()?.root, name)?;
    for n in [1, 30, 128, 300, 1023, 1500, 9000] {
        let create = DatasetCreate::default();
        let d = dataset(c, (g, &format!("plain {n}")), ints(), simple(&[n as u64]), create)?;
        put(c, d, &Selection::All, &vec![n; n as usize])?;
    }
    let d = dataset(c, (g, "small"), ints(), simple(&[5]), DatasetCreate::default())?;
    put(c, d, &Selection::All, &[5; 5])?;
    let d = dataset(c, (g, "chunked"), ints(), simple(&[4000]), deflated(&[90]))?;
    put(c, d, &Selection::All, &(0..4000).collect::<Vec<_>>())?;
    for n in 0..25 {
        attribute(c, g, &format!("attribute {n}"), n)?;
        group(c, g, &format!("member {n}"))?;
    }
    Ok(())
}

/// Values of many sizes.
fn fill_texts(c: &dyn Container) -> Result<()> {
    let texts = Datatype::var_string(CharacterSet::Utf8);
    let d = dataset(c, (c.info()?.root, "texts"), texts, simple(&[3]), DatasetCreate::default())?;
    put_texts(c, d, &["one", &"long ".repeat(900), &"longer ".repeat(3000)])
}

fn drop_group(c: &dyn Container, name: &str) {
    c.link_delete(c.info().unwrap().root, name).unwrap();
}

/// What libhdf5 says of each file's space: strategy, persistence, threshold and page size; and the bytes that are free.
fn about(paths: &[&str]) -> Vec<(String, u64)> {
    let text = python("strategies.py", &[&["about"], paths].concat());
    let line = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        (words[..4].join(" "), words[4].parse().unwrap())
    };
    text.lines().map(line).collect()
}

/// The free bytes that h5stat 1.10 finds, where it is installed.
fn h5stat(path: &str) -> Option<std::result::Result<u64, String>> {
    let output = Command::new("h5stat").args(["-S", path]).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let reported =
        text.split("tracked free space: ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
    Some(reported.ok_or_else(|| text + &String::from_utf8_lossy(&output.stderr)))
}

/// Returns the space strategy that was asked for, as a line of text.
fn asked(create: &FileCreate) -> String {
    let (name, keeps) = match create.space_strategy {
        SpaceStrategy::FsmAggregate => ("fsm", true),
        SpaceStrategy::Page => ("page", true),
        SpaceStrategy::Aggregate => ("aggregate", false),
        SpaceStrategy::None => ("none", false),
    };
    let threshold = if keeps { create.space_threshold } else { 1 };
    format!("{name} {} {threshold} {}", create.space_persist && keeps, create.page_bytes)
}

/// Values of one group.
fn part(values: &Values, name: &str) -> Values {
    values.iter().filter(|(path, _)| path.starts_with(name)).map(|(k, v)| (k.clone(), v.clone())).collect()
}

#[track_caller]
fn assert_both_read(path: &str, what: &str) -> Values {
    let ours = ours(path);
    assert_same(what, &theirs(path), &ours);
    ours
}

/// A file of a test.
struct Case {
    path: String,
    create: FileCreate,
    low: LibVersion,
}

fn paths(cases: &[Case]) -> Vec<&str> {
    cases.iter().map(|case| case.path.as_str()).collect()
}

#[track_caller]
fn assert_kept(cases: &[Case]) {
    for (case, (found, free)) in cases.iter().zip(about(&paths(cases))) {
        assert_eq!(found, asked(&case.create), "{}", case.path);
        assert_eq!(free > 0, found.contains("true"), "{}: {free} bytes are free", case.path);
        if let Some(reported) = h5stat(&case.path).filter(|_| case.low == LibVersion::Earliest) {
            assert_eq!(reported, Ok(free), "{}", case.path);
        }
    }
}

/// libhdf5 changes files; what it did not touch is as before.
#[track_caller]
fn changed_by_them(cases: &[Case], turn: &str, untouched: &str) {
    let before: Vec<Values> = cases.iter().map(|case| part(&ours(&case.path), untouched)).collect();
    python("strategies.py", &[&["change", turn], &paths(cases)[..]].concat());
    for (case, before) in cases.iter().zip(before) {
        assert_same(&case.path, &before, &part(&ours(&case.path), untouched));
    }
}

fn read_by_both(cases: &[Case]) {
    cases.iter().for_each(|case| drop(assert_both_read(&case.path, &case.path)));
}

#[test]
fn both_make_use_of_files_of_every_strategy() {
    if !has_h5py() {
        return;
    }
    let folder = Folder::new("strategies");
    let mut cases = Vec::new();
    for low in BOUNDS {
        for (name, create) in strategies() {
            cases.push(Case { path: folder.at(&format!("{name} since {low:?}.h5")), create, low });
        }
    }
    for Case { path, create: properties, low } in &cases {
        let c = create(path, properties, *low);
        fill(&*c, "first").unwrap();
        fill(&*c, "ours").unwrap();
        fill_texts(&*c).unwrap();
        c.commit(Durability::None).unwrap();
        drop_group(&*c, "first");
        fill(&*c, "kept").unwrap();
        c.close().unwrap();
    }
    read_by_both(&cases);
    assert_kept(&cases);
    changed_by_them(&cases, "3", "/kept");
    for case in &cases {
        let c = reopen(&case.path, case.low);
        drop_group(&*c, "theirs");
        c.commit(Durability::None).unwrap();
        fill(&*c, "again").unwrap();
        drop_group(&*c, "ours");
        c.close().unwrap();
    }
    read_by_both(&cases);
    changed_by_them(&cases, "4", "/again");
    assert_kept(&cases);
}

#[test]
fn files_of_others_keep_their_strategy() {
    if !has_h5py() {
        return;
    }
    let folder = Folder::new("their-strategies");
    let (mut cases, mut orders) = (Vec::new(), vec!["make".to_owned(), folder.path().display().to_string()]);
    for (name, create) in strategies().into_iter().filter(|(_, p)| p.userblock_bytes == 0) {
        for libver in ["earliest", "latest"] {
            let file = format!("{name} {libver}.h5");
            orders.push(format!("{file}={},{libver}", asked(&create).replace(' ', ",")));
            cases.push(Case { path: folder.at(&file), create: create.clone(), low: LibVersion::default() });
        }
    }
    python("strategies.py", &orders.iter().map(String::as_str).collect::<Vec<_>>());
    for case in &cases {
        let before = part(&ours(&case.path), "/kept");
        let c = reopen(&case.path, case.low);
        fill(&*c, "ours").unwrap();
        fill_texts(&*c).unwrap();
        c.commit(Durability::None).unwrap();
        fill(&*c, "more").unwrap();
        drop_group(&*c, "ours");
        c.close().unwrap();
        let after = assert_both_read(&case.path, &case.path);
        assert_same(&case.path, &before, &part(&after, "/kept"));
    }
    assert_kept(&cases);
    changed_by_them(&cases, "5", "/more");
    assert_kept(&cases);
}

#[test]
fn space_that_is_remembered_is_used_when_the_file_is_opened_again() {
    let folder = Folder::new("remembered");
    for (name, properties) in strategies().into_iter().filter(|(_, p)| p.space_persist) {
        let path = folder.at(&format!("{name}.h5"));
        let c = create(&path, &properties, LibVersion::default());
        fill(&*c, "kept").unwrap();
        c.close().unwrap();
        let mut sizes = Vec::new();
        for _ in 0..12 {
            let c = reopen(&path, LibVersion::default());
            fill(&*c, "passing").unwrap();
            c.close().unwrap();
            let c = reopen(&path, LibVersion::default());
            drop_group(&*c, "passing");
            c.close().unwrap();
            sizes.push(std::fs::metadata(&path).unwrap().len());
        }
        // Below the threshold space is lost.
        let slack = if properties.space_threshold > 1 { sizes[2] } else { 0 };
        assert!(sizes[11] <= sizes[2] + slack, "{name}: {sizes:?}");
    }
}

#[test]
fn a_file_that_is_opened_and_closed_stays_as_it_is() {
    let folder = Folder::new("untouched");
    for (name, properties) in strategies() {
        let path = folder.at(&format!("{name}.h5"));
        let c = create(&path, &properties, LibVersion::default());
        fill(&*c, "kept").unwrap();
        c.close().unwrap();
        let before = std::fs::read(&path).unwrap();
        reopen(&path, LibVersion::default()).close().unwrap();
        assert!(before == std::fs::read(&path).unwrap(), "{name}");
    }
}

/// Where a signature stands.
fn places(bytes: &[u8], signature: &[u8]) -> Vec<usize> {
    (0..bytes.len()).filter(|&at| bytes[at..].starts_with(signature)).collect()
}

#[test]
fn managers_that_are_damaged_are_not_used() {
    let folder = Folder::new("damaged");
    for (name, properties) in strategies().into_iter().filter(|(_, p)| p.space_persist) {
        let path = folder.at(&format!("{name}.h5"));
        let c = create(&path, &properties, LibVersion::default());
        fill(&*c, "gone").unwrap();
        fill(&*c, "kept").unwrap();
        c.commit(Durability::None).unwrap();
        drop_group(&*c, "gone");
        c.close().unwrap();
        let (whole, before) = (std::fs::read(&path).unwrap(), ours(&path));
        let damage = [places(&whole, b"FSHD"), places(&whole, b"FSSE")].concat();
        assert!(damage.len() >= 4, "{name}: {damage:?}");
        for at in damage {
            let mut bytes = whole.clone();
            bytes[at + 20] ^= 0x10;
            std::fs::write(&path, bytes).unwrap();
            let c = reopen(&path, LibVersion::default());
            let reported = c.info().unwrap().warnings.iter().any(|w| w.contains("free space"));
            fill(&*c, "passing").unwrap();
            c.commit(Durability::None).unwrap();
            drop_group(&*c, "passing");
            c.close().unwrap();
            assert_same(&name, &before, &ours(&path));
            // Managers that nothing leads to any more may be damaged too.
            assert!(reported || places(&whole, b"FSHD").len() > 3, "{name}, {at}");
        }
    }
}

#[test]
fn nodes_of_other_sizes_are_read_by_all() {
    if !has_h5py() {
        return;
    }
    let folder = Folder::new("nodes");
    let mut cases = Vec::new();
    for low in BOUNDS {
        for (group_leaf_k, group_internal_k, chunk_k) in [(1, 2, 3), (50, 40, 32), (3, 16, 200)] {
            let path = folder.at(&format!("{group_leaf_k} {group_internal_k} {chunk_k} since {low:?}.h5"));
            let create = FileCreate { group_leaf_k, group_internal_k, chunk_k, ..FileCreate::default() };
            cases.push(Case { path, create, low });
        }
    }
    for case in &cases {
        let c = create(&case.path, &case.create, case.low);
        fill(&*c, "ours").unwrap();
        let space = model::Dataspace::resizable(&[90, 90], &[model::UNLIMITED; 2]).unwrap();
        let d = dataset(&*c, (c.info().unwrap().root, "grid"), ints(), space, deflated(&[4, 4])).unwrap();
        put(&*c, d, &Selection::All, &(0..8100).collect::<Vec<_>>()).unwrap();
        c.close().unwrap();
    }
    read_by_both(&cases);
    changed_by_them(&cases, "3", "/grid");
    for case in &cases {
        let c = reopen(&case.path, case.low);
        let (found, asked) = (&c.info().unwrap().create.clone(), &case.create);
        assert_eq!(
            (found.group_leaf_k, found.group_internal_k),
            (asked.group_leaf_k, asked.group_internal_k)
        );
        assert_eq!(found.chunk_k, asked.chunk_k);
        fill(&*c, "more").unwrap();
        c.close().unwrap();
    }
    read_by_both(&cases);
}

#[test]
fn properties_that_cannot_be_are_refused() {
    let folder = Folder::new("refused");
    let paged = FileCreate { space_strategy: SpaceStrategy::Page, ..FileCreate::default() };
    for wrong in [
        FileCreate { page_bytes: 100, ..paged.clone() },
        FileCreate { page_bytes: 1 << 31, ..paged.clone() },
        FileCreate { userblock_bytes: 512, ..paged },
        FileCreate { chunk_k: 0, ..FileCreate::default() },
        FileCreate { group_leaf_k: 40_000, ..FileCreate::default() },
    ] {
        let (path, access) = (folder.at("refused.h5"), access(LibVersion::default()));
        let op = ContainerCreate { truncate: true, ..ContainerCreate::new(&path, &wrong, &access) };
        assert_eq!(NativeConnector.create(&op).unwrap_err().kind(), model::Kind::Invalid, "{wrong:?}");
    }
}
