//! A program that is killed at any moment: what it committed is there, once, and the folder opens.

mod place;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use model::{LinkTarget, ObjectKind, Token};
use place::*;
use vol::*;

/// Tells the program that is to be killed where to write.
const VICTIM: &str = "HYPERSLAB_RAW_VICTIM";

/// Creates datasets, renames their groups and swaps names, and says after each commit how far it is.
fn victim(path: &str) {
    let place = Folder::at(path.as_ref());
    let c = place.create();
    let root = c.info().unwrap().root;
    for n in 0..3 {
        group(&*c, root, &format!("g{n}"));
    }
    for n in 1..10_000i32 {
        let parent = path::token(&*c, root, &format!("g{}", n % 3), 9).unwrap();
        put(&*c, ints(&*c, parent, &format!("d{n}"), &[1]), &[n]);
        if n % 2 == 1 {
            rename(&*c, root, "g0", "t");
            rename(&*c, root, "g1", "g0");
            rename(&*c, root, "t", "g1");
        }
        if n % 5 == 4 {
            let inner = path::token(&*c, root, "g2", 9).unwrap();
            let to = LinkLocation::new(parent, "moved");
            if parent != inner && c.link_get(parent, "moved").unwrap().is_none() {
                c.link_move(&OpLinkMove { from: root, name: "g2".into(), to, copy: false }).unwrap();
                group(&*c, root, "g2");
            }
        }
        c.commit(Durability::None).unwrap();
        println!("committed {n}");
    }
}

/// Values of all datasets, each with how often it is there.
fn values(c: &dyn Container) -> BTreeMap<i32, u32> {
    let mut found = BTreeMap::new();
    let mut pending: Vec<Token> = vec![c.info().unwrap().root];
    while let Some(token) = pending.pop() {
        for link in c.link_list(token, &OpList::default()).unwrap().entries {
            let LinkTarget::Hard(member) = link.target else { continue };
            match c.object_info(member).unwrap().kind {
                ObjectKind::Group => pending.push(member),
                // What was not committed may be there without its elements, but not as something else.
                _ => {
                    assert_eq!(c.dataset_info(member).unwrap().datatype.size(), 4, "{}", link.name);
                    let value = get(c, member)[0];
                    let name = link.name[1..].parse::<i32>().unwrap();
                    assert!(value == name || value == 0, "{name}: {value}");
                    *found.entry(value).or_insert(0) += 1;
                }
            }
        }
    }
    found
}

#[test]
fn what_was_committed_survives_a_kill() {
    if let Ok(path) = std::env::var(VICTIM) {
        return victim(&path);
    }
    for round in 0..24usize {
        let place = Folder::new();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "what_was_committed_survives_a_kill", "--nocapture"])
            .env(VICTIM, &place.path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let committed = lines
            .map_while(Result::ok)
            .filter_map(|line| line.split_once("committed ").and_then(|(_, n)| n.trim().parse::<i32>().ok()));
        let last = committed.take(1 + round * 2).last().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let c = place.open(&FileAccess::write()).unwrap();
        let found = values(&*c);
        for n in 1..=last {
            assert_eq!(found.get(&n), Some(&1), "round {round}, {n} of {last}: {found:?}");
        }
        c.close().unwrap();
        assert_eq!(values(&*place.open(&FileAccess::read()).unwrap()), found);
    }
}
