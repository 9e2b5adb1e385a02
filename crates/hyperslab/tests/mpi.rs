//! Files that several processes have open together, under MPI: this program starts itself under `mpirun`.
//!
//! `HYPERSLAB_PROGRAMS` (2 for each number of processes) and `HYPERSLAB_KILLS` (3) set other sizes.

#[path = "parallel/common.rs"]
#[allow(dead_code, reason = "the other program uses all of it")]
mod common;
#[path = "parallel/features.rs"]
mod features;
#[path = "parallel/random.rs"]
mod random;
#[path = "parallel/theirs.rs"]
mod theirs;

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;

use common::{Scratch, others_agree, rows, together};
use hyperslab::extend::storage::strict;
use hyperslab::extend::{Registry, register_engine};
use hyperslab::parallel::{Comm, Mpi};
use hyperslab::{File, FileAccess, Kind, Result, registry};
use hyperslab_server::{Auth, Config, Server};
use libtest_mimic::{Arguments, Failed, Trial};

/// What a process is to do, when `mpirun` started it: a task, a number and a file.
const TASK: &str = "HYPERSLAB_PARALLEL_TASK";
/// What a process says before it ends because another one is missing.
const OWN_ERROR: &str = "ended with an error of its own:";
/// Rows that each process writes in a round of the program that is killed.
const KILLED_ROWS: u64 = 64;
const COLUMNS: u64 = 512;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn main() {
    if let Ok(task) = std::env::var(TASK) {
        let parts: Vec<&str> = task.splitn(3, ' ').collect();
        let (number, scratch) = (parts[1].parse().expect("a number"), Scratch::at(parts[2]));
        let comm: Arc<dyn Comm> = Arc::new(Mpi::start().expect("MPI starts"));
        match parts[0] {
            "random" => random::program(&comm, &scratch, number).expect("the program ends well"),
            "features" => features::program(&comm, &scratch).expect("the program ends well"),
            "cluster" | "served" => features::own_program(&comm, &scratch).expect("the program ends well"),
            "theirs" => theirs::change(&comm, &scratch).expect("the program ends well"),
            _ => killed(comm, &scratch, number),
        }
        return std::mem::forget(scratch);
    }
    let trials = vec![
        Trial::test("random_programs_of_two_processes", || check_random(2)),
        Trial::test("random_programs_of_four_processes", || check_random(4)),
        Trial::test("everything_is_written_by_two_processes", || check_features(2)),
        Trial::test("everything_is_written_by_four_processes", || check_features(4)),
        Trial::test("everything_is_written_to_a_cluster_by_two_processes", || check_cluster(2)),
        Trial::test("everything_is_written_to_a_cluster_by_four_processes", || check_cluster(4)),
        Trial::test("everything_is_written_to_a_server_by_two_processes", || check_served(2)),
        Trial::test("everything_is_written_to_a_server_by_four_processes", || check_served(4)),
        Trial::test("everything_is_written_to_two_servers_by_two_processes", || check_nodes(2)),
        Trial::test("everything_is_written_to_two_servers_by_four_processes", || check_nodes(4)),
        Trial::test("a_file_that_libhdf5_wrote_in_parallel_is_changed_in_parallel", check_theirs),
        Trial::test("a_process_that_is_killed_leaves_the_last_commit", check_killed),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// Runs this program in several processes: whether it ended well, and what it said.
fn run(processes: usize, outlives: bool, task: &str) -> Option<(bool, String)> {
    let mut command = testkit::mpi::mpirun(processes, outlives)?;
    command.arg(std::env::current_exe().expect("this program")).env(TASK, task);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("mpirun starts");
    let mut said = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("text");
    Some((child.wait().expect("mpirun ends").success(), said))
}

fn check_random(processes: usize) -> std::result::Result<(), Failed> {
    for seed in 0..number("HYPERSLAB_PROGRAMS", 2) {
        let scratch = Scratch::new(&format!("mpi-{processes}-{seed}"));
        let task = format!("random {} {}", seed + 100, scratch.path().display());
        let Some((is_well, said)) = run(processes, false, &task) else { return Ok(()) };
        if !is_well {
            return Err(format!("seed {seed}: {said}").into());
        }
        others_agree(&scratch, "f.visititems(lambda n, o: o[...] if isinstance(o, h5py.Dataset) else None)");
    }
    Ok(())
}

/// Runs a task that must end well. Returns whether there is MPI.
fn run_well(processes: usize, task: &str) -> std::result::Result<bool, Failed> {
    match run(processes, false, task) {
        Some((false, said)) => Err(format!("{task}: {said}").into()),
        done => Ok(done.is_some()),
    }
}

fn check_features(processes: usize) -> std::result::Result<(), Failed> {
    let scratch = Scratch::new(&format!("mpi-features-{processes}"));
    if run_well(processes, &format!("features 0 {}", scratch.path().display()))? {
        others_agree(&scratch, features::CHECK);
    }
    Ok(())
}

/// Every process opens the container on Ceph for itself.
fn check_cluster(processes: usize) -> std::result::Result<(), Failed> {
    let conf = std::env::var("HYPERSLAB_CEPH_CONF").ok().filter(|_| cfg!(feature = "rados"));
    let Some(conf) = conf else {
        eprintln!("skipped: HYPERSLAB_CEPH_CONF names no cluster, or the feature rados is off");
        return Ok(());
    };
    let location = format!("object+rados:p3/mpi-{processes}-{}?conf={conf}", std::process::id());
    if run_well(processes, &format!("cluster 0 {location}"))? {
        check_written(&location, processes)?;
    }
    Ok(())
}

/// Every process has a connection of its own to a server in this one, which keeps containers on keys.
fn check_served(processes: usize) -> std::result::Result<(), Failed> {
    for stack in ["object:", "iod:"] {
        let folder = testkit::Folder::new("served");
        let (stack, local) = (Some(stack.to_owned()), Config::local(registry(), folder.path()));
        let server = Server::start(&Config { auth: Auth::Off, stack, ..local })?;
        let location = server.location(&format!("ranks-{processes}"));
        if run_well(processes, &format!("served 0 {location}"))? {
            check_written(&location, processes)?;
        }
    }
    Ok(())
}

/// Processes are spread over two servers in front of one pool, of which both write to `object:`, and one at a time to `iod:`.
fn check_nodes(processes: usize) -> std::result::Result<(), Failed> {
    for stack in ["object+shared:", "iod+shared:"] {
        let engine = strict::engine();
        let start = || -> Result<Server> {
            // Connectors of their own: as in processes of their own, the servers share what is stored, and no more.
            let mut registry = Registry::new();
            registry.register(Arc::new(object::ObjectConnector::new()))?;
            registry.register(Arc::new(iod::IodConnector::new()))?;
            register_engine(&mut registry, "shared", engine.clone())?;
            let (stack, local) = (Some(stack.to_owned()), Config::local(registry, ""));
            Server::start(&Config { auth: Auth::Off, root: None, stack, ..local })
        };
        let servers = [start()?, start()?];
        let [first, second] = servers.each_ref().map(|server| server.location(""));
        let (first, second) = (first.trim_end_matches('/'), second.trim_start_matches("h5s://"));
        let location = format!("{first},{second}ranks-{processes}");
        if run_well(processes, &format!("served 0 {location}"))? {
            check_written(&location, processes)?;
        }
    }
    Ok(())
}

/// Reads what the program of all features wrote.
fn check_written(location: &str, processes: usize) -> Result<()> {
    let file = File::open(location)?;
    for name in ["contiguous", "chunked"] {
        let values = file.dataset(name)?.read_raw::<i32>()?;
        // The last columns are no one's where the number of ranks does not divide that of the columns.
        assert!(values.iter().enumerate().all(|(n, value)| *value == -(n as i32) || n % 30 >= 28), "{name}");
    }
    assert_eq!(file.dataset("names")?.read_raw::<String>()?.len(), processes);
    assert_eq!(file.group("soft")?.attr("text")?.read_string()?, "of all");
    assert_eq!(file.dataset("grown and deflated")?.shape(), [14]);
    Ok(())
}

/// libhdf5 writes a file in parallel, we change it in parallel, and it reads the result in parallel.
fn check_theirs() -> std::result::Result<(), Failed> {
    let Some(program) = theirs::Program::compile() else { return Ok(()) };
    for processes in [2, 4] {
        let scratch = Scratch::new(&format!("mpi-theirs-{processes}"));
        program.run("write", &scratch, processes)?;
        if run_well(processes, &format!("theirs 0 {}", scratch.path().display()))? {
            others_agree(&scratch, theirs::CHECK);
            program.run("check", &scratch, processes)?;
        }
    }
    Ok(())
}

/// All write and flush, round after round, until one is killed.
#[expect(clippy::zombie_processes, reason = "the child ends this process")]
fn killed(comm: Arc<dyn Comm>, scratch: &Scratch, number: u64) {
    let (rank, ranks) = (comm.rank() as u64, comm.size() as u64);
    if rank == number % ranks {
        let script = format!("sleep 0.{:03}; kill -9 {}", 200 + number * 37 % 700, std::process::id());
        Command::new("sh").args(["-c", &script]).spawn().expect("sh starts");
    }
    let done = rounds(comm, scratch, rank, ranks);
    let error = done.expect_err("a process is killed");
    let _ = std::io::stderr().write_all(format!("{OWN_ERROR} {error}\n").as_bytes());
    std::process::exit(3);
}

fn rounds(comm: Arc<dyn Comm>, scratch: &Scratch, rank: u64, ranks: u64) -> Result<()> {
    let access = FileAccess::write().with_close_error_hook(|_| ());
    let location = scratch.path().to_str().expect("a path");
    let file = File::create_parallel_with(comm, location, &Default::default(), &access, true)?;
    let shape = ((ranks * KILLED_ROWS) as usize, COLUMNS as usize);
    let plain = together(&file.new_dataset::<i32>().shape(shape).create("plain")?);
    let new = file.new_dataset::<i32>().shape(shape);
    let filtered = together(&new.chunk((48, 100)).deflate(1).create("filtered")?);
    let own = rows(rank * KILLED_ROWS, KILLED_ROWS, COLUMNS);
    for round in 0.. {
        let values = vec![round; (KILLED_ROWS * COLUMNS) as usize];
        plain.write_selection(&own, &values)?;
        filtered.write_selection(&own, &values)?;
        file.flush()?;
    }
    Ok(())
}

/// Opens a file whose writers were ended: `mpirun` may be back a moment before the last of them is gone.
fn open_when_free(scratch: &Scratch) -> Result<File> {
    let mut tries = 0..100_000;
    loop {
        match File::open(scratch.path()) {
            Err(error) if error.kind() == Kind::Busy && tries.next().is_some() => std::thread::yield_now(),
            opened => return opened,
        }
    }
}

fn check_killed() -> std::result::Result<(), Failed> {
    for n in 0..number("HYPERSLAB_KILLS", 3) {
        let scratch = Scratch::new(&format!("mpi-killed-{n}"));
        let victim = n % 3;
        let Some((_, said)) = run(3, true, &format!("killed {n} {}", scratch.path().display())) else {
            return Ok(());
        };
        let named = said.lines().filter(|line| line.contains(OWN_ERROR));
        let named = named.filter(|line| line.contains(&format!("rank: {victim}"))).count();
        assert!(named == 2 || !testkit::mpi::outlive_others(), "kill {n}: {said}");
        // Where the kill came before the first commit, there is no data.
        let Ok(plain) = open_when_free(&scratch)?.dataset("plain") else { continue };
        let filtered = open_when_free(&scratch)?.dataset("filtered")?.read_raw::<i32>()?;
        let plain = plain.read_raw::<i32>()?;
        let first = plain[0];
        assert!(plain.iter().chain(&filtered).all(|value| *value == first), "kill {n}: half of a commit");
    }
    Ok(())
}
