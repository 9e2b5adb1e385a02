//! Many writers of one container: threads, and a process that is killed.

mod kit;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use kit::{create, dataset, int, open, problems, read, write};
use model::properties::{CreationOrder, FileCreate, GroupCreate, ObjectCreate};
use model::{Dataspace, Kind, Result, Token};
use vol::{Container, Durability, FileAccess, OpAttributeCreate, OpGroupCreate, OpList, OpMapCreate, Place};

const THREADS: usize = 4;
const DATASETS: usize = 2500;

#[test]
fn four_threads_make_datasets_in_one_container() {
    let folder = tempfile::tempdir().unwrap();
    let c = create(folder.path(), &FileCreate::default()).unwrap();
    let root = c.info().unwrap().root;
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let c = &*c;
            scope.spawn(move || {
                for n in 0..DATASETS {
                    let place = Place::new(root, format!("{thread} {n}"));
                    let data = dataset(c, place, &[4], &[4]).unwrap();
                    write(c, data, &[thread as i32, n as i32, 0, -1]).unwrap();
                }
            });
        }
    });
    c.close().unwrap();
    let c = open(folder.path(), &FileAccess::read()).unwrap();
    let (mut skip, mut seen) = (0, std::collections::HashSet::new());
    loop {
        let page = c.link_list(root, &OpList { skip, count_max: 1000, ..OpList::default() }).unwrap();
        for link in &page.entries {
            let model::LinkTarget::Hard(token) = link.target else { panic!("{link:?}") };
            assert!(seen.insert(token), "{} is another's object", link.name);
            let values = read(&*c, token).unwrap();
            assert_eq!(link.name, format!("{} {}", values[0], values[1]));
        }
        skip += page.entries.len() as u64;
        if !page.more {
            break;
        }
    }
    assert_eq!(seen.len(), THREADS * DATASETS);
    assert_eq!(problems(&*c).unwrap(), Vec::<String>::new());
}

const FOLDER: &str = "HYPERSLAB_KILLED_FOLDER";
const FIRST: &str = "HYPERSLAB_KILLED_FIRST";
const KILLS: &str = "HYPERSLAB_KILLS";

/// One round of a writer: an object of every kind, and changes of what is there.
fn round(c: &dyn Container, first: i32, n: i32) -> Result<()> {
    let root = c.info()?.root;
    let place = Some(Place::new(root, format!("round {n}")));
    let create = GroupCreate { link_order: CreationOrder::Indexed, ..GroupCreate::default() };
    let group = c.group_create(&OpGroupCreate { place, create })?;
    let data = dataset(c, Place::new(group, "data"), &[20_000], &[6000])?;
    write(c, data, &vec![n; 20_000])?;
    let (name, charset, space) = ("n".to_owned(), Default::default(), Dataspace::Scalar);
    let op = OpAttributeCreate { object: data, name, charset, datatype: int(), committed: None, space };
    c.attribute_create(&op)?;
    c.attribute_write(data, "n", &n.to_le_bytes())?;
    let place = Some(Place::new(group, "map"));
    let create = ObjectCreate::default();
    let map = c.map_create(&OpMapCreate { place, key: int(), value: int(), create })?;
    c.map_put(map, &[(&n.to_le_bytes(), &n.to_le_bytes())])?;
    match n % 3 {
        // What an earlier round made goes.
        0 if n - 2 >= first => c.link_delete(root, &format!("round {}", n - 2)),
        _ => Ok(()),
    }
}

/// What a round left: `false` where nothing is there.
fn check_round(c: &dyn Container, n: i32) -> Result<bool> {
    let root = c.info()?.root;
    let found = |group: Token, name: &str| vol::path::token(c, group, name, 16);
    let group = match found(root, &format!("round {n}")) {
        Err(error) if error.kind() == Kind::NotFound => return Ok(false),
        group => group?,
    };
    assert_eq!(c.group_info(group)?.links, 2);
    let data = found(group, "data")?;
    assert_eq!(read(c, data)?, vec![n; 20_000]);
    assert_eq!(c.attribute_read(data, &["n"])?, [n.to_le_bytes()]);
    assert_eq!(c.map_get(found(group, "map")?, &[&n.to_le_bytes()])?, [Some(n.to_le_bytes().to_vec())]);
    Ok(true)
}

/// The writer that is killed: it says which rounds are committed.
#[test]
#[ignore = "it runs until somebody kills it"]
fn writer() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let c = match open(Path::new(&folder), &FileAccess::write()) {
        Err(error) if error.kind() == Kind::NotFound => {
            create(Path::new(&folder), &FileCreate::default()).unwrap()
        }
        opened => opened.unwrap(),
    };
    let first = std::env::var(FIRST).unwrap().parse().unwrap();
    for n in first.. {
        round(&*c, first, n).unwrap();
        c.commit(Durability::Full).unwrap();
        println!("committed {n}");
    }
}

/// Runs the writer until it has committed some rounds, and kills it; the last that it told.
fn killed(folder: &Path, first: i32, rounds: usize) -> i32 {
    let mut writer = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "writer", "--ignored", "--nocapture"])
        .env(FOLDER, folder)
        .env(FIRST, first.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(writer.stdout.take().unwrap()).lines();
    let mut told = lines.map_while(std::result::Result::ok);
    let number = |line: &String| line.split_once("committed ").and_then(|(_, n)| n.trim().parse().ok());
    let mut seen: Vec<i32> = told.by_ref().filter_map(|line| number(&line)).take(rounds).collect();
    writer.kill().unwrap();
    writer.wait().unwrap();
    // What it told before it died counts too.
    seen.extend(told.filter_map(|line| number(&line)));
    *seen.last().unwrap()
}

#[test]
fn a_killed_writer_leaves_what_it_committed_and_nothing_half() {
    let kills: i32 = std::env::var(KILLS).ok().and_then(|n| n.parse().ok()).unwrap_or(5);
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("c");
    for kill in 0..kills {
        let first = kill * 1_000_000;
        let last = killed(&place, first, 1 + kill as usize % 7);
        let c = open(&place, &FileAccess::read()).unwrap();
        for n in first..=last {
            // A later round deletes the one two before it.
            let may_be_gone = (n + 2) % 3 == 0;
            assert!(check_round(&*c, n).unwrap() || may_be_gone, "round {n} of {first}..={last} is lost");
        }
        // The round that was cut short is there whole or not at all.
        check_round(&*c, last + 1).unwrap();
        assert_eq!(problems(&*c).unwrap(), Vec::<String>::new());
        c.close().unwrap();
    }
}

/// Processes that write to one container on a cluster at the same time, without talking to each other.
#[cfg(feature = "rados")]
mod on_ceph {
    use super::*;
    use hyperslab_object::ObjectConnector;
    use std::sync::Arc;
    use vol::{Connector, ContainerCreate, ContainerOpen};

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
            let data = dataset(&*c, Place::new(root, format!("{number} {n}")), &[4], &[4]).unwrap();
            write(&*c, data, &[number, n, 0, -1]).unwrap();
            if n % 50 == 0 {
                let target = model::LinkTarget::Hard(data);
                let place = Place::new(shared, format!("{number} {n}"));
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
        c.group_create(&OpGroupCreate { place: Some(Place::new(root, "shared")), create }).unwrap();
        c.close().unwrap();
        let start = |number: usize| {
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "on_ceph::writer_on_ceph", "--ignored"])
                .env(PATH, &path)
                .env(NUMBER, number.to_string())
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        };
        let writers: Vec<_> = (0..THREADS).map(start).collect();
        for mut writer in writers {
            assert!(writer.wait().unwrap().success());
        }
        let c = opened(&path, &FileAccess::read());
        let mut seen = std::collections::HashSet::new();
        for number in 0..THREADS as i32 {
            for n in 0..count() {
                let token = vol::path::token(&*c, root, &format!("{number} {n}"), 16).unwrap();
                assert!(seen.insert(token), "{number} {n} is another's object");
                assert_eq!(read(&*c, token).unwrap(), [number, n, 0, -1]);
            }
        }
        assert_eq!(c.group_info(root).unwrap().links, THREADS as u64 * count() as u64 + 1);
        let shared = vol::path::token(&*c, root, "shared", 16).unwrap();
        let links = c.group_info(shared).unwrap().links;
        assert_eq!(links, THREADS as u64 * (count() as u64).div_ceil(50));
        assert_eq!(problems(&*c).unwrap(), Vec::<String>::new());
        c.close().unwrap();
        connector.delete(&path).unwrap();
    }
}
