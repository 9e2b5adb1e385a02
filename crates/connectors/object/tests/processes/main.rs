//! Processes that write to one container on a cluster at the same time, without talking to each other.
#![cfg(feature = "rados")]

mod attributes;
mod datasets;
mod elements;
#[path = "../kit/mod.rs"]
mod kit;
mod links;

use std::process::{Command, Stdio};
use std::sync::Arc;

use hyperslab_object::ObjectConnector;
use model::properties::FileCreate;
use vol::{Connector, Container, ContainerCreate, ContainerOpen, FileAccess};

const WRITERS: usize = 4;

const CONF: &str = "HYPERSLAB_CEPH_CONF";
const PATH: &str = "HYPERSLAB_WRITER_PATH";
const NUMBER: &str = "HYPERSLAB_WRITER_NUMBER";

/// Returns how often a writer does something: `variable` says it, or else it is `default`.
fn count(variable: &str, default: usize) -> usize {
    std::env::var(variable).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

fn opened(path: &str, access: &FileAccess) -> Arc<dyn Container> {
    let engine = Some("rados");
    ObjectConnector::new().open(&ContainerOpen { engine, ..ContainerOpen::new(path, access) }).unwrap()
}

/// Returns the container of a process that was started as a writer, and its number; `None` in any other process.
fn writer() -> Option<(Arc<dyn Container>, usize)> {
    let path = std::env::var(PATH).ok()?;
    let number = std::env::var(NUMBER).unwrap().parse().unwrap();
    Some((opened(&path, &FileAccess::write()), number))
}

/// Creates a container, lets processes run `test` on it at the same time, and looks at the result.
fn with_writers(test: &str, create: impl FnOnce(&dyn Container), check: impl FnOnce(&dyn Container)) {
    let Ok(conf) = std::env::var(CONF) else {
        eprintln!("skipped: {CONF} names no cluster");
        return;
    };
    let path = format!("p3/{}-{}?conf={conf}", test.replace("::", "-"), std::process::id());
    let (file, access) = (FileCreate::default(), FileAccess::write());
    let op = ContainerCreate { engine: Some("rados"), ..ContainerCreate::new(&path, &file, &access) };
    let connector = ObjectConnector::new();
    let c = connector.create(&op).unwrap();
    create(&*c);
    c.close().unwrap();
    let start = |number: usize| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", test, "--ignored"]).env(PATH, &path).env(NUMBER, number.to_string());
        command.stdout(Stdio::null()).spawn().unwrap()
    };
    let writers: Vec<_> = (0..WRITERS).map(start).collect();
    for mut writer in writers {
        assert!(writer.wait().unwrap().success());
    }
    let c = opened(&path, &FileAccess::read());
    check(&*c);
    assert_eq!(kit::problems(&*c).unwrap(), Vec::<String>::new());
    c.close().unwrap();
    connector.delete(&ContainerOpen::new(&path, &access)).unwrap();
}
