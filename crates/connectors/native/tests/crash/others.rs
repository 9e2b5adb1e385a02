//! Files after a crash as libhdf5 sees them, before anything was recovered.

use std::path::{Path, PathBuf};
use std::process::Command;

use files::crash::{CrashState, Event};
use testkit::generate::{Generator, announced_seed};

use crate::amount;
use crate::images::spread;
use crate::rig::{RECORD, Run};
use crate::workloads;

pub(crate) use testkit::Folder;
pub(crate) use testkit::oracles::has_h5py;

pub(crate) fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/crash").join(name)
}

/// Crashes after which libhdf5 must read the file as it is: the process died at any point, or power failed at any point but
/// while a commit was published. Then the record is what holds the file together, and libhdf5 does not know it.
fn states(run: &Run, count: usize, random: &mut Generator) -> Vec<CrashState> {
    let mut states = spread(run.prefixes(), count.div_ceil(2), random);
    let lost = [run.faults(), run.draws(random.number(), 20 * count)].concat();
    let lost = lost.into_iter().filter(|s| !run.is_publishing(s)).collect();
    states.extend(spread(lost, count - states.len().min(count), random));
    states
}

/// Images of a workload in a folder; what each is.
fn store(run: &Run, count: usize, folder: &Folder, random: &mut Generator) -> Vec<String> {
    let mut images = Vec::new();
    for state in states(run, count, random) {
        let name = format!("{} {}.h5", run.name, images.len());
        std::fs::write(folder.path().join(&name), run.log.image(&state).unwrap()).unwrap();
        images.push(format!("{name}\t{state}"));
    }
    images
}

/// How many of the files in a folder libhdf5 reads to the end, and what it says of the others: name and reason.
fn read_all(folder: &Folder) -> (usize, Vec<String>) {
    run(folder, "read_images.py")
}

pub(crate) fn run(folder: &Folder, name: &str) -> (usize, Vec<String>) {
    let done = Command::new("python3").arg(script(name)).arg(folder.path()).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let output = String::from_utf8_lossy(&done.stdout).into_owned();
    let (read, not): (Vec<&str>, Vec<&str>) = output.lines().partition(|line| line.ends_with("\tread"));
    (read.len(), not.into_iter().map(str::to_owned).collect())
}

#[test]
fn libhdf5_reads_what_a_crash_left_without_recovery() {
    if !has_h5py() {
        return;
    }
    let seed = announced_seed("crashes for libhdf5");
    let images = amount("HYPERSLAB_CRASH_OTHERS", 150);
    let (folder, workloads) = (Folder::new("others"), workloads::read_by_h5py());
    let share = images.div_ceil(workloads.len());
    let mut random = Generator::new(seed);
    let images: Vec<String> =
        workloads.iter().flat_map(|w| store(&Run::of(w), share, &folder, &mut random)).collect();
    let (read, unreadable) = read_all(&folder);
    println!("{} images, libhdf5 read {read}", images.len());
    let which = |line: &String| images.iter().find(|t| t.split('\t').next() == line.split('\t').next());
    unreadable.iter().for_each(|line| println!("{line}\n    {}", which(line).map_or("", String::as_str)));
    assert!(unreadable.is_empty() && read == images.len(), "seed {seed}, {} unreadable", unreadable.len());
}

/// Every moment, not a sample: what libhdf5 lists it must find, on all levels of a symbol table.
#[test]
fn libhdf5_finds_the_links_of_a_symbol_table_that_it_lists_while_they_are_published() {
    if !has_h5py() {
        return;
    }
    for workload in ["index of libhdf5's links, earliest", "index of links in narrow nodes"] {
        assert_eq!(unreadable_when(workload, |_| ()), 0, "{workload}");
    }
}

#[test]
fn libhdf5_finds_nothing_free_that_is_in_use() {
    if !has_h5py() {
        return;
    }
    let seed = announced_seed("crashes for libhdf5 to go on");
    let share = amount("HYPERSLAB_CRASH_OTHERS", 150).div_ceil(10);
    let folder = Folder::new("going-on");
    let mut random = Generator::new(seed);
    for workload in workloads::new_files().iter().filter(|w| w.name.contains("remembered")) {
        let run = Run::of(workload);
        for (n, state) in spread(run.prefixes(), share, &mut random).iter().enumerate() {
            let path = folder.path().join(format!("{} {n}.h5", run.name));
            std::fs::write(path, run.log.image(state).unwrap()).unwrap();
        }
    }
    let (fine, wrong) = run(&folder, "change_images.py");
    assert!(wrong.is_empty() && fine > 0, "seed {seed}, {fine} are fine, {wrong:?}");
}

/// Process deaths while the commits of a workload are published in another order, as libhdf5 sees them.
fn unreadable_when(workload: &str, order: impl Fn(&mut [Event])) -> usize {
    let run = Run::of(&workloads::named(workload));
    let run = run.edited(|events| {
        let record =
            events.iter().position(|e| matches!(e, Event::Write { data, .. } if data.starts_with(RECORD)));
        let Some(record) = record else { return };
        let end = events.iter().rposition(|e| matches!(e, Event::Sync(_))).unwrap_or(events.len());
        order(&mut events[(record + 2).min(end)..end]);
    });
    let folder = Folder::new(&workload.replace(' ', "-"));
    let publishing = run.prefixes().into_iter().filter(|s| run.is_publishing(s));
    for (n, state) in publishing.enumerate() {
        std::fs::write(folder.path().join(format!("{n}.h5")), run.log.image(&state).unwrap()).unwrap();
    }
    read_all(&folder).1.len()
}

#[test]
fn the_order_of_publishing_is_what_libhdf5_needs() {
    if !has_h5py() {
        return;
    }
    let whole = ["nested groups", "texts overwritten", "children before their parent in the file"];
    for workload in whole.into_iter().chain(["attributes renamed"]) {
        assert_eq!(unreadable_when(workload, |_| ()), 0, "{workload}");
    }
    let superblock_last = unreadable_when("nested groups", |events| events.rotate_left(1));
    assert!(superblock_last > 0, "an end that is too small must hurt");
    for workload in ["texts overwritten", "children before their parent in the file"] {
        assert!(unreadable_when(workload, |events| events[1..].reverse()) > 0, "{workload}");
    }
}
