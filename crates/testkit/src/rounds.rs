//! Writers that are killed: rounds of changes with a commit after each, and what must be left of them.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use model::properties::{CreationOrder, GroupCreate, ObjectCreate};
use model::{Dataspace, Kind, Result, Token};
use vol::{Container, Durability, LinkLocation, OpAttributeCreate, OpGroupCreate, OpMapCreate};

use crate::ints::{dataset, int, read, write};

const FOLDER: &str = "HYPERSLAB_KILLED_FOLDER";
const FIRST: &str = "HYPERSLAB_KILLED_FIRST";
const KILLS: &str = "HYPERSLAB_KILLS";

/// One round of a writer: an object of every kind, and changes of what is there.
fn round(c: &dyn Container, first: i32, n: i32) -> Result<()> {
    let root = c.info()?.root;
    let place = Some(LinkLocation::new(root, format!("round {n}")));
    let create = GroupCreate { link_order: CreationOrder::Indexed, ..GroupCreate::default() };
    let group = c.group_create(&OpGroupCreate { place, create })?;
    let data = dataset(c, LinkLocation::new(group, "data"), &[20_000], &[6000])?;
    write(c, data, &vec![n; 20_000])?;
    let (name, charset, space) = ("n".to_owned(), Default::default(), Dataspace::Scalar);
    let op = OpAttributeCreate { object: data, name, charset, datatype: int(), committed: None, space };
    c.attribute_create(&op)?;
    c.attribute_write(data, "n", &n.to_le_bytes())?;
    let place = Some(LinkLocation::new(group, "map"));
    let create = ObjectCreate::default();
    let map = c.map_create(&OpMapCreate { place, key: int(), value: int(), create })?;
    c.map_put(map, &[(&n.to_le_bytes(), &n.to_le_bytes())])?;
    match n % 3 {
        // What an earlier round made goes.
        0 if n - 2 >= first => c.link_delete(root, &format!("round {}", n - 2)),
        _ => Ok(()),
    }
}

/// Returns what a round left: `false` where nothing is there.
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

/// Runs the writer that is killed: it opens the container in the folder that it is given, and says which rounds are
/// committed. It does nothing without a folder.
pub fn writer(open: impl FnOnce(&Path) -> Result<std::sync::Arc<dyn Container>>) -> Result<()> {
    let (Some(folder), Ok(first)) = (std::env::var_os(FOLDER), std::env::var(FIRST)) else { return Ok(()) };
    let c = open(Path::new(&folder))?;
    let first = first.parse().map_err(|_| model::Error::invalid("read number of the first round"))?;
    for n in first.. {
        round(&*c, first, n)?;
        c.commit(Durability::Full)?;
        println!("committed {n}");
    }
    Ok(())
}

/// Runs this test binary's ignored test `writer` until it has committed some rounds, and kills it; the last that it told.
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

/// Kills writers, and looks after each at what it left: every round that it told is there, and none in part. `check` looks
/// at the rest.
pub fn kill_writers(
    folder: &Path,
    open: impl Fn(&Path) -> Result<std::sync::Arc<dyn Container>>,
    check: impl Fn(&dyn Container),
) {
    let kills: i32 = std::env::var(KILLS).ok().and_then(|n| n.parse().ok()).unwrap_or(5);
    for kill in 0..kills {
        let first = kill * 1_000_000;
        let last = killed(folder, first, 1 + kill as usize % 7);
        let c = open(folder).unwrap();
        for n in first..=last {
            // A later round deletes the one two before it.
            let may_be_gone = (n + 2) % 3 == 0;
            assert!(check_round(&*c, n).unwrap() || may_be_gone, "round {n} of {first}..={last} is lost");
        }
        // The round that was cut short is there whole or not at all.
        check_round(&*c, last + 1).unwrap();
        check(&*c);
        c.close().unwrap();
    }
}
