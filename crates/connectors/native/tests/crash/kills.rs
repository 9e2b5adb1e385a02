//! A writer that is killed: what it said was committed is there.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use hyperslab::{File, Result, Selection};
use testkit::generate::{Generator, announced_seed};
use testkit::snapshot::Snapshot;

use crate::amount;
use crate::others::Folder;
use crate::rig::{difference, snapshot};
use crate::workloads::Workload;

/// Tells the child which file to write.
const FILE: &str = "HYPERSLAB_CRASH_FILE";
/// Commits of one life; the writer is killed before, or ends.
const COMMITS_MAX: i32 = 4000;

/// What the writer does before its `n`th commit.
fn change(f: &File, n: i32) -> Result<()> {
    f.set_attr("n", n)?;
    if n == 0 {
        f.new_dataset::<i32>().shape(300).create("plain")?.write_raw(&[0i32; 300])?;
        f.new_dataset::<i32>().shape(0).resizable().chunk(32).deflate(1).create("appended")?;
        f.new_dataset::<String>().shape(3).create("texts")?;
        f.create_group("groups")?;
    }
    let block = Selection::block(&[(n as u64 * 7) % 200], &[90])?;
    f.dataset("plain")?.write_selection(&block, &[n; 90])?;
    let texts = [0, 1, 2].map(|k| "text ".repeat(((n + k) % 40) as usize));
    f.dataset("texts")?.write_raw(&texts)?;
    let len = f.dataset("appended")?.shape()[0];
    f.dataset("appended")?.resize(if len > 200 { 10 } else { len + 10 })?;
    if n >= 12 {
        f.unlink(&format!("groups/{}", n - 12))?;
    }
    f.create_group(&format!("groups/{n}")).map(drop)
}

/// The child: commits and tells, until it is killed.
#[test]
#[ignore = "run by the test that kills it"]
fn writer() {
    let Ok(path) = std::env::var(FILE) else { return };
    let f = File::create(path).unwrap();
    let mut out = std::io::stdout().lock();
    for n in 0..COMMITS_MAX {
        change(&f, n).unwrap();
        f.flush().unwrap();
        // The line is in the pipe before the next change begins.
        writeln!(out, "\npromise {n}").unwrap();
        out.flush().unwrap();
    }
}

fn start(path: &str) -> Child {
    let arguments = ["--exact", "kills::writer", "--ignored", "--nocapture"];
    let mut command = Command::new(std::env::current_exe().unwrap());
    let command = command.args(arguments).env(FILE, path).stdout(Stdio::piped()).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// Kills the writer some time after its first promise; the last promise that it made.
fn kill_after(mut child: Child, time: Duration) -> i32 {
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(std::result::Result::ok);
    let promise = |line: String| line.strip_prefix("promise ").and_then(|n| n.parse::<i32>().ok());
    let first = lines.find_map(promise).expect("a first promise");
    // The pipe is emptied meanwhile, so that the writer never waits; what it holds when the writer dies counts.
    let rest = std::thread::spawn(move || lines.filter_map(promise).last());
    std::thread::sleep(time);
    child.kill().unwrap();
    child.wait().unwrap();
    rest.join().unwrap().unwrap_or(first)
}

/// What is in a file after each commit, made when it is asked for.
struct Expected {
    file: File,
    contents: Vec<Snapshot>,
}

impl Expected {
    fn new() -> Expected {
        let c = crate::rig::begin(&Workload::new("kills", &[]), |handle| handle).unwrap();
        Expected { file: crate::rig::file(&c).unwrap(), contents: Vec::new() }
    }

    fn after(&mut self, n: i32) -> &Snapshot {
        while self.contents.len() <= n as usize {
            change(&self.file, self.contents.len() as i32).unwrap();
            self.file.container().commit(vol::Durability::None).unwrap();
            self.contents.push(snapshot(self.file.container().as_ref()).unwrap());
        }
        &self.contents[n as usize]
    }
}

#[test]
fn a_killed_writer_loses_nothing_that_it_promised() {
    let mut random = Generator::new(announced_seed("kills"));
    let kills = amount("HYPERSLAB_CRASH_KILLS", 10);
    let folder = Folder::new("kills");
    let mut expected = Expected::new();
    let (mut promises, mut later) = (0, 0);
    for kill in 0..kills {
        let path = folder.path().join(format!("{kill}.h5")).display().to_string();
        let promised = kill_after(start(&path), Duration::from_micros(random.below(100_000)));
        for access in [File::open, File::open_rw] {
            let f = access(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
            let found = snapshot(f.container().as_ref()).unwrap_or_else(|e| panic!("{path}: {e}"));
            let fits = [promised, promised + 1].into_iter().find(|&n| *expected.after(n) == found);
            let difference = difference(expected.after(promised), &found);
            assert!(fits.is_some(), "{path}: promised {promised}, {difference:?}");
            later += i32::from(fits == Some(promised + 1));
        }
        promises += promised + 1;
    }
    println!("{kills} kills, {promises} promises, lost 0, not yet told {}", later / 2);
}
