//! Every moment in which a commit is published, as libhdf5 sees it: what it finds is of that commit or of the one before.

use rayon::prelude::*;
use testkit::generate::{Generator, announced_seed};

use crate::amount;
use crate::images::spread;
use crate::others::{Folder, has_h5py, run};
use crate::rig::Run;
use crate::workloads::{self, Workload};

/// Stores what a process leaves that dies while it publishes, after up to `count` of its writes, and the commits around them.
fn store(workload: &Workload, count: usize, folder: &Folder, random: &mut Generator) -> usize {
    let run = Run::of(workload);
    let states: Vec<_> = run.prefixes().into_iter().filter(|state| run.is_publishing(state)).collect();
    let states = spread(states, count, random);
    let folder = folder.path().join(&run.name);
    std::fs::create_dir_all(&folder).unwrap();
    let image = |state, name: String| {
        std::fs::write(folder.join(name), run.log.image(state).unwrap()).unwrap();
    };
    let whole = run.log.prefixes().collect::<Vec<_>>();
    for (n, promise) in run.promises.iter().enumerate() {
        let state = whole.iter().find(|state| state.at == promise.at).unwrap();
        image(state, format!("commit {n}.h5"));
    }
    for (n, state) in states.iter().enumerate() {
        let next = run.promises.iter().position(|promise| promise.at > state.at);
        let commit = next.unwrap_or(run.promises.len() - 1);
        image(state, format!("publishing {commit}, {n}.h5"));
    }
    states.len()
}

#[test]
fn libhdf5_finds_each_index_old_or_new_while_it_is_published() {
    if !has_h5py() {
        return;
    }
    let seed = announced_seed("moments of publishing");
    let images = amount("HYPERSLAB_CRASH_PUBLISHING", 150);
    let (folder, workloads) = (Folder::new("publishing"), workloads::indexes());
    let share = images.div_ceil(workloads.len());
    let store = |(n, workload)| store(workload, share, &folder, &mut Generator::new(seed ^ n as u64));
    let stored: usize = workloads.par_iter().enumerate().map(store).sum();
    let (read, wrong) = run(&folder, "read_publishing.py");
    println!("{stored} images of {} workloads, libhdf5 read {read}", workloads.len());
    let told = wrong[..wrong.len().min(12)].join("\n");
    assert!(wrong.is_empty() && read == stored, "seed {seed}, {} are wrong:\n{told}", wrong.len());
}
