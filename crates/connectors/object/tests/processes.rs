//! Processes that write to one container on a cluster at the same time, without talking to each other.
#![cfg(feature = "rados")]

mod kit;

use std::process::{Command, Stdio};
use std::sync::Arc;

use hyperslab_object::ObjectConnector;
use kit::{dataset, problems, read, write};
use model::properties::{CreationOrder, FileCreate, GroupCreate};
use vol::{Connector, Container, ContainerCreate, ContainerOpen, FileAccess, LinkLocation, OpGroupCreate};

const WRITERS: usize = 4;

const CONF: &str = "HYPERSLAB_CEPH_CONF";
const PATH: &str = "HYPERSLAB_WRITER_PATH";
const NUMBER: &str = "HYPERSLAB_WRITER_NUMBER";
const COUNT: &str = "HYPERSLAB_CEPH_DATASETS";

fn count() -> i32 {
    std::env::var(COUNT).ok().and_then(|n| n.parse().ok()).unwrap_or(250)
}

fn opened(path: &str, access: &FileAccess) -> Arc<dyn Container> {
    let engine = Some("rados");
    ObjectConnector::new().open(&ContainerOpen { engine, ..ContainerOpen::new(path, access) }).unwrap()
}

/// One of the processes: datasets in the root group, and links in a group whose order is tracked.
#[test]
#[ignore = "it is one of several"]
fn writer_on_ceph() {
    let Ok(path) = std::env::var(PATH) else { return };
    let number: i32 = std::env::var(NUMBER).unwrap().parse().unwrap();
    let c = opened(&path, &FileAccess::write());
    let root = c.info().unwrap().root;
    let shared = vol::path::token(&*c, root, "shared", 16).unwrap();
    for n in 0..count() {
        let data = dataset(&*c, LinkLocation::new(root, format!("{number} {n}")), &[4], &[4]).unwrap();
        write(&*c, data, &[number, n, 0, -1]).unwrap();
        if n % 50 == 0 {
            let target = model::LinkTarget::Hard(data);
            let place = LinkLocation::new(shared, format!("{number} {n}"));
            c.link_create(&vol::OpLinkCreate { place, target }).unwrap();
        }
    }
    c.close().unwrap();
}

#[test]
fn four_processes_make_datasets_in_one_container() {
    let Ok(conf) = std::env::var(CONF) else {
        eprintln!("skipped: {CONF} names no cluster");
        return;
    };
    let path = format!("p3/writers-{}?conf={conf}", std::process::id());
    let (create, access) = (FileCreate::default(), FileAccess::write());
    let op = ContainerCreate { engine: Some("rados"), ..ContainerCreate::new(&path, &create, &access) };
    let connector = ObjectConnector::new();
    let c = connector.create(&op).unwrap();
    let root = c.info().unwrap().root;
    let create = GroupCreate { link_order: CreationOrder::Tracked, ..GroupCreate::default() };
    c.group_create(&OpGroupCreate { place: Some(LinkLocation::new(root, "shared")), create }).unwrap();
    c.close().unwrap();
    let start = |number: usize| {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "writer_on_ceph", "--ignored"])
            .env(PATH, &path)
            .env(NUMBER, number.to_string())
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    };
    let writers: Vec<_> = (0..WRITERS).map(start).collect();
    for mut writer in writers {
        assert!(writer.wait().unwrap().success());
    }
    let c = opened(&path, &FileAccess::read());
    let mut seen = std::collections::HashSet::new();
    for number in 0..WRITERS as i32 {
        for n in 0..count() {
            let token = vol::path::token(&*c, root, &format!("{number} {n}"), 16).unwrap();
            assert!(seen.insert(token), "{number} {n} is another's object");
            assert_eq!(read(&*c, token).unwrap(), [number, n, 0, -1]);
        }
    }
    assert_eq!(c.group_info(root).unwrap().links, WRITERS as u64 * count() as u64 + 1);
    let shared = vol::path::token(&*c, root, "shared", 16).unwrap();
    let links = c.group_info(shared).unwrap().links;
    assert_eq!(links, WRITERS as u64 * (count() as u64).div_ceil(50));
    assert_eq!(problems(&*c).unwrap(), Vec::<String>::new());
    c.close().unwrap();
    connector.delete(&ContainerOpen::new(&path, &access)).unwrap();
}
