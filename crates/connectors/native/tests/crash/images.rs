//! Files after a crash at any point: valid, atomic, durable.

use rayon::prelude::*;

use files::crash::CrashState;
use testkit::generate::{Generator, announced_seed};

use crate::amount;
use crate::rig::Run;
use crate::workloads;

/// Violations told before the rest is only counted.
const TOLD_MAX: usize = 12;

/// Up to `count` of the states, evenly spread from a random one on.
pub(crate) fn spread(states: Vec<CrashState>, count: usize, random: &mut Generator) -> Vec<CrashState> {
    let step = (states.len() / count.max(1)).max(1);
    let first = random.below(step as u64) as usize;
    states.into_iter().skip(first).step_by(step).take(count).collect()
}

/// The crashes to try on a run: prefixes, faults and draws, a third each where there are so many.
fn crashes(run: &Run, count: usize, all_prefixes: bool, random: &mut Generator) -> Vec<CrashState> {
    let third = count.div_ceil(3);
    let prefixes = run.prefixes();
    let wanted = if all_prefixes { prefixes.len() } else { third };
    let mut states = spread(prefixes, wanted, random);
    states.extend(spread(run.faults(), third, random));
    states.extend(run.draws(random.number(), count.saturating_sub(states.len()).max(third)));
    states
}

#[test]
fn every_crash_leaves_the_last_commit_or_a_newer_one() {
    let seed = announced_seed("crashes");
    let images = amount("HYPERSLAB_CRASH_IMAGES", 3000);
    let workloads = workloads::all();
    let share = images.div_ceil(workloads.len());
    let done: Vec<(usize, Vec<String>)> = workloads
        .par_iter()
        .enumerate()
        .map(|(n, workload)| {
            let run = Run::of(workload);
            let mut random = Generator::new(seed ^ n as u64);
            let states = crashes(&run, share, images >= 30_000, &mut random);
            let judged = states.iter().filter_map(|state| {
                run.judge(state).err().map(|violation| format!("{}, {state}: {violation}", run.name))
            });
            (states.len(), judged.collect())
        })
        .collect();
    let tried: usize = done.iter().map(|(count, _)| count).sum();
    let violations: Vec<String> = done.into_iter().flat_map(|(_, violations)| violations).collect();
    println!("{} workloads, {tried} images, {} violations", workloads.len(), violations.len());
    assert!(
        tried * 10 >= images * 9 && workloads.len() >= 40,
        "{tried} images of {} workloads",
        workloads.len()
    );
    let told = violations[..violations.len().min(TOLD_MAX)].join("\n");
    assert!(violations.is_empty(), "seed {seed}, {} violations:\n{told}", violations.len());
}
