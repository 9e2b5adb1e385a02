//! Several processes under MPI: this program starts itself under `mpirun`.
//!
//! `HYPERSLAB_RANKS` (2), `HYPERSLAB_REQUESTS` (20000) and `HYPERSLAB_KILLS` (3 of each kind) set other sizes.

mod common;

use std::io::{Read, Write};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use comm::{Comm, Mpi};
use common::*;
use libtest_mimic::{Arguments, Failed, Trial};
use model::Selection;
use model::properties::FileCreate;
use vol::{Container, ContainerCreate, Durability, FileAccess};

/// What a process is to do, when `mpirun` started it: a task, a file, and a number.
const TASK: &str = "HYPERSLAB_LOG_TASK";
/// Elements that each process writes in a flush that is killed: 4 MiB.
const KILLED_ELEMENTS: u64 = 1 << 20;

/// What a process says before it ends because another one is missing.
const OWN_ERROR: &str = "ended with an error of its own:";
/// How long processes wait for a silent one.
const SILENCE_MAX: Duration = Duration::from_millis(200);

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn main() {
    if let Ok(task) = std::env::var(TASK) {
        let parts: Vec<&str> = task.splitn(3, ' ').collect();
        let (kind, number, path) = (parts[0], parts[1].parse().unwrap(), parts[2]);
        let started = if kind == "silent" { Mpi::start_within(SILENCE_MAX) } else { Mpi::start() };
        let comm: Arc<dyn Comm> = Arc::new(started.unwrap());
        return match kind {
            "scattered" => scattered::write(comm, path),
            "silent" => silent(&*comm, path),
            "subfiled" => programs::subfiled(comm, path),
            "strings" => programs::strings(comm, path),
            "references" => programs::references(comm, path),
            "merged" => programs::merged(&comm, path),
            kind => killed(comm, path, kind, number),
        };
    }
    let has_mpi =
        Command::new("mpirun").arg("--version").output().is_ok_and(|output| output.status.success());
    let trials = [
        (
            "scattered_requests_of_several_processes_read_back",
            (|| check_scattered(ranks() as usize)) as fn() -> Result<(), Failed>,
        ),
        ("scattered_requests_of_four_processes_read_back", || check_scattered(4)),
        ("subfiles_of_two_processes_read_back", || check_program("subfiled", 2)),
        ("subfiles_of_four_processes_read_back", || check_program("subfiled", 4)),
        ("strings_of_two_processes_read_back", || check_program("strings", 2)),
        ("strings_of_four_processes_read_back", || check_program("strings", 4)),
        ("references_of_two_processes_read_back", || check_program("references", 2)),
        ("references_of_four_processes_read_back", || check_program("references", 4)),
        ("tables_that_two_processes_merged_are_read_by_dataset", || check_program("merged", 2)),
        ("tables_that_four_processes_merged_are_read_by_dataset", || check_program("merged", 4)),
        ("a_process_that_keeps_silent_fails_the_others", check_silent),
        ("a_process_killed_before_a_flush_leaves_the_last_one", || check_killed("before")),
        ("a_process_killed_during_a_flush_leaves_a_whole_one", || check_killed("during")),
    ];
    let skip = || {
        testkit::oracles::missing("mpirun");
        Ok(())
    };
    let trials = trials.map(|(name, run)| Trial::test(name, if has_mpi { run } else { skip }));
    libtest_mimic::run(&Arguments::from_args(), trials.into()).exit();
}

fn ranks() -> u64 {
    number("HYPERSLAB_RANKS", 2)
}

/// Runs this program in several processes; how it ended and what it said.
fn mpirun(task: &str, outlives: bool) -> (ExitStatus, String) {
    mpirun_with(ranks() as usize, task, outlives)
}

fn mpirun_with(ranks: usize, task: &str, outlives: bool) -> (ExitStatus, String) {
    let mut command = testkit::mpi::mpirun(ranks, outlives).unwrap();
    command.arg(std::env::current_exe().unwrap()).env(TASK, task);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    (child.wait().unwrap(), said)
}

fn check_scattered(ranks: usize) -> Result<(), Failed> {
    let folder = Folder::new("log");
    let path = folder.at("scattered.h5");
    let (status, said) = mpirun_with(ranks, &format!("scattered 0 {path}"), false);
    if !status.success() {
        return Err(said.into());
    }
    scattered::check(&path);
    Ok(())
}

/// Runs a program whose processes check what they and the others wrote; then one process reads it once more.
fn check_program(task: &str, ranks: usize) -> Result<(), Failed> {
    let folder = Folder::new("log");
    let path = folder.at(&format!("{task}.h5"));
    let (status, said) = mpirun_with(ranks, &format!("{task} 0 {path}"), false);
    if !status.success() {
        return Err(said.into());
    }
    let c = open(&path, &FileAccess::read())?;
    programs::check(task, &*c, ranks as u64);
    Ok(c.close()?)
}

/// Two flushes; one process is killed before the second, or somewhere in it.
fn killed(comm: Arc<dyn Comm>, path: &str, kind: &str, number: u64) {
    let (rank, ranks) = (comm.rank() as u64, comm.size() as u64);
    let is_victim = rank == number % ranks;
    let durability = if number % 4 < 2 { Durability::None } else { Durability::Full };
    let (create, access) = (FileCreate::default(), FileAccess::write());
    let c = connector().create_shared(comm, &ContainerCreate::new(path, &create, &access)).unwrap();
    let data = ints(&*c, "d", &[ranks * KILLED_ELEMENTS]);
    let own = Selection::block(&[rank * KILLED_ELEMENTS], &[KILLED_ELEMENTS]).unwrap();
    put(&*c, data, &own, &vec![1; KILLED_ELEMENTS as usize]).unwrap();
    c.commit(durability).unwrap();
    put(&*c, data, &own, &vec![2; KILLED_ELEMENTS as usize]).unwrap();
    if is_victim {
        // It waits for a line, so that the end comes as soon as it is asked for.
        let script = format!("read x; kill -9 {}", std::process::id());
        let mut killer = Command::new("sh").args(["-c", &script]).stdin(Stdio::piped()).spawn().unwrap();
        let mut ask = killer.stdin.take().unwrap();
        // Before the flush at once, else after some work of varying length: kills hit all parts of a flush.
        let work = if kind == "before" { 0 } else { number * 300_000 };
        let end = std::thread::spawn(move || {
            let mut sum = 0u64;
            (0..work).for_each(|n| sum = std::hint::black_box(sum ^ n));
            ask.write_all(b"\n").unwrap();
            let _ = killer.wait();
        });
        if kind == "before" {
            let _ = end.join();
        }
    }
    let mut outcome = c.commit(durability);
    // Where the kill comes late, the flush was complete: no one leaves before it came.
    if is_victim {
        loop {
            std::thread::park();
        }
    }
    loop {
        if let Err(error) = outcome {
            end_with(&error);
        }
        outcome = c.commit(durability);
    }
}

/// Says why, in one piece: others do so at the same time.
fn end_with(error: &vol::Error) -> ! {
    std::io::stderr().write_all(format!("{OWN_ERROR} {error}\n").as_bytes()).unwrap();
    std::process::exit(3);
}

/// One process takes no part, though it is there.
fn silent(comm: &dyn Comm, path: &str) {
    if comm.rank() != 0 {
        while !std::path::Path::new(path).exists() {
            std::thread::yield_now();
        }
        std::process::exit(3);
    }
    let error = comm.barrier().unwrap_err();
    assert!(comm.allgather(&[1]).is_err());
    std::fs::write(path, []).unwrap();
    end_with(&error);
}

fn check_silent() -> Result<(), Failed> {
    let folder = Folder::new("log");
    let (_, said) = mpirun(&format!("silent 0 {}", folder.at("over")), true);
    let is_said = said.lines().any(|line| line.contains(OWN_ERROR) && line.contains("silent"));
    if is_said { Ok(()) } else { Err(said.into()) }
}

/// Opens a file whose writers were ended: `mpirun` may be back a moment before the last of them has release it.
fn open_when_free(path: &str) -> vol::Result<Arc<hyperslab_log::LogContainer>> {
    let mut tries = 0..100_000;
    loop {
        match open(path, &FileAccess::read()) {
            Err(error) if error.kind() == model::Kind::Busy && tries.next().is_some() => {
                std::thread::yield_now();
            }
            opened => return opened,
        }
    }
}

fn check_killed(kind: &str) -> Result<(), Failed> {
    let folder = Folder::new("log");
    let mut complete = 0;
    for n in 0..number("HYPERSLAB_KILLS", 3) {
        let path = folder.at(&format!("{kind}-{n}.h5"));
        // Left to themselves, the others end with an error of their own; were one to hang, this would not return.
        let (_, said) = mpirun(&format!("{kind} {n} {path}"), true);
        let ended = said.matches(OWN_ERROR).count() as u64;
        assert!(ended == ranks() - 1 || !testkit::mpi::outlive_others(), "kill {n}: {said}");
        let c = open_when_free(&path)?;
        let found = get(&*c, find(&*c, "d"), &Selection::All)?;
        c.close()?;
        let first = found[0];
        assert!(found.iter().all(|value| *value == first), "kill {n}: half of a flush");
        assert!(first == 1 || (first == 2 && kind == "during"), "kill {n}: {first}");
        complete += u64::from(first == 2);
        std::fs::remove_file(&path).unwrap();
    }
    println!("{kind}: {complete} of the second flushes were complete");
    Ok(())
}
