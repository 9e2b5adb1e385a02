//! Groups whose links are compressed: each library reads and changes those of the other.

use hyperslab_native::NativeConnector;
use model::properties::{CreationOrder, FileCreate, FilterSpec, GroupCreate, PhaseChange};
use model::{Error, LinkTarget, Token};
use vol::{Access, Connector, Container, ContainerCreate, FileAccess, LibVersion, OpGroupCreate, OpList};
use vol::{LinkLocation, OpLinkCreate};

use crate::others::{Folder, has_h5py, open, python};

const DEFLATE: u16 = 1;
const FLETCHER32: u16 = 3;
const UNKNOWN: u16 = 32_700;

fn filter(id: u16, values: &[u32]) -> FilterSpec {
    FilterSpec { id, name: None, optional: id == DEFLATE, values: values.to_vec() }
}

fn compressed() -> GroupCreate {
    GroupCreate { filters: vec![filter(DEFLATE, &[6])], ..GroupCreate::default() }
}

fn soft(c: &dyn Container, group: Token, name: &str, to: &str) {
    let place = LinkLocation::new(group, name);
    c.link_create(&OpLinkCreate { place, target: LinkTarget::Soft(to.to_owned()) }).unwrap();
}

/// Adds links, and one that does not fit a block of the heap.
fn add(c: &dyn Container, group: Token, turn: &str, count: usize) {
    (0..count).for_each(|n| {
        soft(c, group, &format!("link {turn} number {n:06}"), &format!("/some/object/far/away/{n}"));
    });
    soft(c, group, &format!("huge {turn}"), &("x".repeat(9000) + turn));
}

fn links(c: &dyn Container, group: Token) -> Vec<model::Link> {
    c.link_list(group, &OpList { count_max: u64::MAX, ..OpList::default() }).unwrap().entries
}

fn groups(c: &dyn Container) -> Vec<(String, Token)> {
    let root = c.info().unwrap().root;
    let hard = |link: model::Link| match link.target {
        LinkTarget::Hard(token) => Some((link.name, token)),
        _ => None,
    };
    links(c, root).into_iter().filter_map(hard).collect()
}

/// Returns what `group_filters.py list` prints.
fn ours(path: &str) -> Vec<String> {
    let c = open(path, Access::Read).unwrap();
    let mut lines = Vec::new();
    for (name, group) in groups(&*c) {
        let filters = c.group_info(group).unwrap().create.filters;
        lines.push(format!("{name} filters {}", filters.len()));
        for link in links(&*c, group) {
            let LinkTarget::Soft(to) = link.target else { panic!("{name}/{}", link.name) };
            lines.push(format!("{name} {} {to}", link.name));
        }
    }
    c.close().unwrap();
    lines
}

/// Checks that both libraries find the same.
#[track_caller]
fn assert_same(path: &str) {
    let theirs = python("group_filters.py", &["list", path]);
    assert_eq!(ours(path), theirs.lines().collect::<Vec<_>>(), "{path}");
}

fn file_bytes(path: &str) -> u64 {
    std::fs::metadata(path).unwrap().len()
}

/// Links go and come, in two commits.
fn change(path: &str, turn: &str) {
    let c = open(path, Access::Write).unwrap();
    for half in ["first half", "second half"] {
        for (_, group) in groups(&*c) {
            for link in links(&*c, group).iter().step_by(3) {
                c.link_delete(group, &link.name).unwrap();
            }
            add(&*c, group, &format!("ours {turn} {half}"), 40);
        }
        c.commit(vol::Durability::None).unwrap();
    }
    c.close().unwrap();
}

fn make(path: &str, low: LibVersion, create: &GroupCreate) {
    let access = FileAccess { version_low: low, ..FileAccess::write() };
    let root = FileCreate { root: compressed(), ..FileCreate::default() };
    let op = ContainerCreate { truncate: true, ..ContainerCreate::new(path, &root, &access) };
    let c = NativeConnector.create(&op).unwrap();
    let root = c.info().unwrap().root;
    for (name, count) in [("few", 3), ("many", 3000), ("some", 30)] {
        let place = Some(LinkLocation::new(root, name));
        let group = c.group_create(&OpGroupCreate { place, create: create.clone() }).unwrap();
        add(&*c, group, "first", count);
    }
    c.close().unwrap();
}

#[test]
fn both_change_groups_whose_links_are_compressed() {
    if !has_h5py() {
        return;
    }
    let folder = Folder::new("group_filters");
    for (low, libver) in [(LibVersion::Earliest, "earliest"), (LibVersion::LATEST, "latest")] {
        let (made, theirs) = (folder.at(&format!("ours-{libver}.h5")), folder.at(&format!("{libver}.h5")));
        make(&made, low, &compressed());
        python("group_filters.py", &["make", &theirs, libver]);
        for path in [&made, &theirs] {
            assert_same(path);
            // The links alone have 200,000 bytes.
            assert!(file_bytes(path) < 150_000, "{path}: {} bytes", file_bytes(path));
            for turn in ["1", "2"] {
                change(path, turn);
                assert_same(path);
                python("group_filters.py", &["change", path, turn]);
                assert_same(path);
            }
        }
    }
}

#[test]
fn other_filters_orders_and_phases_go_together() {
    if !has_h5py() {
        return;
    }
    let folder = Folder::new("group_filters_others");
    let create = GroupCreate {
        filters: vec![filter(DEFLATE, &[1]), filter(FLETCHER32, &[])],
        link_order: CreationOrder::Indexed,
        link_phase: PhaseChange { compact_max: 2, dense_min: 1 },
        ..GroupCreate::default()
    };
    let path = folder.at("others.h5");
    make(&path, LibVersion::V110, &create);
    assert_same(&path);
    change(&path, "1");
    assert_same(&path);
    python("group_filters.py", &["change", &path, "1"]);
    assert_same(&path);
}

#[test]
fn a_filter_that_is_not_there_is_refused_unless_it_is_optional() {
    let folder = Folder::new("group_filters_refused");
    let path = folder.at("groups.h5");
    let c = crate::others::create(&path, &FileCreate::default());
    let root = c.info().unwrap().root;
    let group = |name: &str, optional: bool| {
        let filters = vec![FilterSpec { optional, ..filter(UNKNOWN, &[]) }];
        let create = GroupCreate { filters, ..GroupCreate::default() };
        c.group_create(&OpGroupCreate { place: Some(LinkLocation::new(root, name)), create })
    };
    let filters = vec![filter(UNKNOWN, &[])];
    let create =
        FileCreate { root: GroupCreate { filters, ..GroupCreate::default() }, ..FileCreate::default() };
    let (refused, access) = (folder.at("refused.h5"), FileAccess::write());
    let error = NativeConnector.check_create(&ContainerCreate::new(&refused, &create, &access)).unwrap_err();
    assert_eq!(error.kind(), model::Kind::Unsupported);
    let error: Error = group("required", false).unwrap_err();
    assert_eq!(error.kind(), model::Kind::Unsupported);
    assert_eq!(c.link_get(root, "required").unwrap(), None);
    let optional = group("optional", true).unwrap();
    add(&*c, optional, "first", 100);
    c.close().unwrap();
    assert_eq!(ours(&path).len(), 1 + 101);
}
