//! Operations that are not waited for: they are seen in their order, and every failure is reported.

use std::sync::Arc;

use crate::common::{clients, group, in_folder, in_memory};
use hyperslab_server::Server;
use model::properties::FileCreate;
use model::{CharacterSet, Dataspace, Datatype, Kind, LinkTarget, Selection};
use vol::{
    Container, Durability, FileAccess, LinkLocation, OpAttributeCreate, OpLinkCreate, OpList, OpRead, OpWrite,
};

fn create(server: &Server, name: &str) -> Arc<dyn Container> {
    let location = server.location(&format!("{name}?pipeline=yes"));
    clients().create(&location, &FileCreate::default(), &FileAccess::write(), false).unwrap()
}

fn number(container: &dyn Container, object: model::Token, name: &str, value: u8) {
    let datatype = Datatype::integer(1, false, model::datatype::ByteOrder::Little);
    let (name, charset, space) = (name.to_owned(), CharacterSet::Ascii, Dataspace::Scalar);
    let op = OpAttributeCreate { object, name: name.clone(), charset, datatype, committed: None, space };
    container.attribute_create(&op).unwrap();
    container.attribute_write(object, &name, &[value]).unwrap();
}

#[test]
fn what_was_queued_is_seen_by_what_follows() {
    let (server, _folder) = in_folder().unwrap();
    let container = create(&server, "a.h5");
    let root = container.info().unwrap().root;
    let mut parent = root;
    for depth in 0..100 {
        parent = container.group_create(&group(parent, &format!("g{depth}"))).unwrap();
        number(&*container, parent, "depth", depth);
    }
    let first = container.link_get(root, "g0").unwrap().unwrap();
    let LinkTarget::Hard(first) = first.target else { panic!("not a hard link") };
    assert_eq!(container.attribute_read(first, &["depth"]).unwrap(), [[0]]);
    // One object has one token, no matter who names it.
    assert_eq!(container.object_info(parent).unwrap().token, parent);
    let path = (0..100).map(|depth| format!("/g{depth}")).collect::<String>();
    assert_eq!(vol::path::token(&*container, root, &path, 16).unwrap(), parent);
    let data = crate::common::bytes_dataset(&*container, "data", 4).unwrap();
    container
        .dataset_write(&[OpWrite { dataset: data, selection: &Selection::All, from: &[1, 2, 3, 4] }])
        .unwrap();
    let mut buffer = [0; 4];
    container
        .dataset_read(&mut [OpRead { dataset: data, selection: &Selection::All, into: &mut buffer }])
        .unwrap();
    assert_eq!(buffer, [1, 2, 3, 4]);
    container.close().unwrap();
    // Without the session, tokens are those of the container.
    let again = clients().open(&server.location("a.h5"), &FileAccess::read()).unwrap();
    let deepest = vol::path::token(&*again, again.info().unwrap().root, &path, 16).unwrap();
    assert_eq!(again.attribute_read(deepest, &["depth"]).unwrap(), [[99]]);
}

#[test]
fn every_failure_is_told_by_the_next_commit() {
    let server = Server::start(&in_memory()).unwrap();
    let container = create(&server, "a");
    let root = container.info().unwrap().root;
    for name in ["x", "y", "x", "z", "y"] {
        container.group_create(&group(root, name)).unwrap();
    }
    let error = container.commit(Durability::Full).unwrap_err();
    assert_eq!(
        (error.kind(), error.facts().any(|fact| fact == ("failed", "2"))),
        (Kind::Exists, true),
        "{error}"
    );
    // It was given; what did not fail is there.
    container.commit(Durability::Full).unwrap();
    let names: Vec<String> = container
        .link_list(root, &OpList::default())
        .unwrap()
        .entries
        .into_iter()
        .map(|link| link.name)
        .collect();
    assert_eq!(names, ["x", "y", "z"]);
    container.group_create(&group(root, "x")).unwrap();
    assert_eq!(container.close().unwrap_err().kind(), Kind::Exists);
}

#[test]
fn what_builds_on_a_failure_fails_too() {
    let server = Server::start(&in_memory()).unwrap();
    let container = create(&server, "a");
    let root = container.info().unwrap().root;
    container.group_create(&group(root, "x")).unwrap();
    let failed = container.group_create(&group(root, "x")).unwrap();
    assert_eq!(container.group_info(failed).unwrap_err().kind(), Kind::NotFound);
    let place = LinkLocation::new(failed, "inner");
    container.link_create(&OpLinkCreate { place, target: LinkTarget::Hard(root) }).unwrap();
    let error = container.commit(Durability::Full).unwrap_err();
    assert!(error.facts().any(|fact| fact == ("failed", "2")), "{error}");
}

#[test]
fn many_queued_operations_are_all_run() {
    let server = Server::start(&in_memory()).unwrap();
    let container = create(&server, "a");
    let root = container.info().unwrap().root;
    for name in 0..50_000 {
        container.group_create(&group(root, &format!("a group with a long name, number {name}"))).unwrap();
    }
    assert_eq!(container.group_info(root).unwrap().links, 50_000);
    container.close().unwrap();
}

#[test]
fn threads_share_one_queue() {
    let server = Server::start(&in_memory()).unwrap();
    let container = create(&server, "a");
    let root = container.info().unwrap().root;
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let container = &*container;
            scope.spawn(move || {
                for name in 0..500 {
                    let made = container.group_create(&group(root, &format!("{thread}-{name}"))).unwrap();
                    number(container, made, "n", thread);
                    if name % 50 == 0 {
                        assert_eq!(container.attribute_read(made, &["n"]).unwrap(), [[thread]]);
                    }
                }
            });
        }
    });
    assert_eq!(container.group_info(root).unwrap().links, 2000);
    container.commit(Durability::Full).unwrap();
}
