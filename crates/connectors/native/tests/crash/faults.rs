//! Errors of the storage at every operation: nothing is lost, nothing panics.

use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use files::fault::{Call, Plan, Rule};
use files::{Crash, Fault};
use hyperslab::Result;
use hyperslab_native::open_image;
use rayon::prelude::*;
use testkit::generate::{Generator, announced_seed};
use testkit::snapshot::Snapshot;
use vol::{Container, Durability, FileAccess};

use crate::amount;
use crate::rig::{begin, difference, file, snapshot};
use crate::workloads::{self, Workload};

/// Crashes tried after each fault.
const CRASHES: usize = 3;

/// A workload under way, on a storage that fails when it is told to.
struct Trial {
    crash: Arc<Crash>,
    fault: Arc<Fault>,
    container: Arc<dyn Container>,
}

impl Trial {
    /// Creates the file; from then on the plan holds.
    fn new(workload: &Workload, plan: Plan) -> Trial {
        let mut layers = None;
        let container = begin(workload, |handle| {
            let crash = Arc::new(Crash::new(handle).unwrap());
            let fault = Arc::new(Fault::new(crash.clone()));
            layers = Some((crash, fault.clone()));
            fault
        });
        let (crash, fault) = layers.expect("begin wraps the storage");
        fault.set_plan(plan);
        Trial { crash, fault, container: container.unwrap() }
    }

    fn step(&self, workload: &Workload, n: usize) -> Result<()> {
        workload.steps[n](&file(&self.container)?)
    }
}

/// What a workload's commits hold when nothing fails, and how often it calls its storage.
struct Clean {
    contents: Vec<Snapshot>,
    calls: Vec<(Call, u64)>,
}

const CALLS: [Call; 5] = [Call::Write, Call::Sync, Call::SetLen, Call::Len, Call::Read];

fn clean(workload: &Workload) -> Clean {
    let trial = Trial::new(workload, Plan::default());
    let mut contents = vec![snapshot(&*trial.container).unwrap()];
    for n in 0..workload.steps.len() {
        trial.step(workload, n).unwrap();
        trial.container.commit(Durability::Full).unwrap();
        contents.push(snapshot(&*trial.container).unwrap());
    }
    // The same again without snapshots, whose reads do not count.
    let trial = Trial::new(workload, Plan::default());
    for n in 0..workload.steps.len() {
        trial.step(workload, n).unwrap();
        trial.container.commit(Durability::Full).unwrap();
    }
    Clean { contents, calls: CALLS.map(|call| (call, trial.fault.calls(call))).to_vec() }
}

/// The ways in which a call can fail.
fn rules(call: Call, nth: u64) -> Vec<Rule> {
    let error = Rule::once(call, nth, ErrorKind::Other);
    let full = Rule::from_then(call, nth, ErrorKind::StorageFull);
    match call {
        Call::Write => {
            vec![error, Rule { short_bytes: 100, ..full }, Rule { short_bytes: u64::MAX, ..error }]
        }
        Call::SetLen => vec![error, full],
        Call::Sync => vec![error, Rule::from_then(call, nth, ErrorKind::Other)],
        _ => vec![error],
    }
}

/// What may be found after a fault: contents that were committed or about to be, and whether the last of them is sure.
struct Allowed {
    contents: Vec<Snapshot>,
    /// Events when the last commit returned.
    from: usize,
}

/// Runs a workload until a call fails, and that is reported: what is redone later need not be. Then the storage is well again, and the handle is asked to go on.
fn run(workload: &Workload, clean: &Clean, rule: Rule) -> std::result::Result<(), String> {
    let trial = Trial::new(workload, Plan::of([rule]));
    let mut allowed = Allowed { contents: vec![clean.contents[0].clone()], from: trial.crash.position() };
    for n in 0..workload.steps.len() {
        let stepped = trial.step(workload, n);
        if stepped.is_ok() {
            allowed.contents.push(clean.contents[n + 1].clone());
        }
        if stepped.and_then(|()| trial.container.commit(Durability::Full)).is_err() {
            break;
        }
        allowed = Allowed { contents: vec![clean.contents[n + 1].clone()], from: trial.crash.position() };
    }
    trial.fault.clear();
    judge(&trial, &allowed)?;
    go_on(&trial, &mut allowed)?;
    judge(&trial, &allowed)
}

/// The handle works, and what it commits is what it shows; or it fails, and says so.
fn go_on(trial: &Trial, allowed: &mut Allowed) -> std::result::Result<(), String> {
    let changed = file(&trial.container).and_then(|f| f.set_attr("went on", 1i32).map(drop));
    let shown = snapshot(&*trial.container);
    match (trial.container.commit(Durability::Full), shown) {
        (Ok(()), Ok(content)) => {
            *allowed = Allowed { contents: vec![content], from: trial.crash.position() };
            changed.map_err(|e| format!("committed, though the change failed: {e}"))
        }
        (Ok(()), Err(e)) => Err(format!("committed what cannot be read: {e}")),
        (Err(_), Ok(content)) => {
            allowed.contents.push(content);
            Ok(())
        }
        (Err(_), Err(_)) => Ok(()),
    }
}

/// The process dies now, or power fails: one of the allowed contents is there.
fn judge(trial: &Trial, allowed: &Allowed) -> std::result::Result<(), String> {
    let log = trial.crash.log();
    let now = log.prefixes().last().ok_or("no events")?;
    let lost = log.sample(7).take(200).filter(|s| s.at >= allowed.from).take(CRASHES);
    for state in std::iter::once(now).chain(lost) {
        let opened = open_image(log.image(&state).unwrap(), &FileAccess::read());
        let found = opened.and_then(|c| snapshot(&*c)).map_err(|e| format!("{state}: {e}"))?;
        if !allowed.contents.contains(&found) {
            let near: Vec<_> = allowed.contents.iter().map(|c| difference(c, &found)).collect();
            return Err(format!("{state}: {near:?}"));
        }
    }
    Ok(())
}

fn try_rule(workload: &Workload, clean: &Clean, rule: Rule) -> Option<String> {
    let done = catch_unwind(AssertUnwindSafe(|| run(workload, clean, rule)));
    let problem = match done {
        Ok(Ok(())) => return None,
        Ok(Err(problem)) => problem,
        Err(_) => "panicked".to_owned(),
    };
    Some(format!("{}, {rule:?}: {problem}", workload.name))
}

#[test]
fn an_error_of_the_storage_at_any_call_loses_nothing() {
    let seed = announced_seed("faults");
    let wanted = amount("HYPERSLAB_CRASH_FAULTS", 1500);
    let workloads = workloads::new_files();
    let cleans: Vec<Clean> = workloads.par_iter().map(clean).collect();
    let mut trials = Vec::new();
    for (workload, clean) in workloads.iter().zip(&cleans) {
        for &(call, count) in &clean.calls {
            trials.extend((0..count).flat_map(|nth| rules(call, nth)).map(|rule| (workload, clean, rule)));
        }
    }
    let step = (trials.len() / wanted.max(1)).max(1);
    let first = Generator::new(seed).below(step as u64) as usize;
    let chosen: Vec<_> = trials.iter().skip(first).step_by(step).collect();
    let problems: Vec<String> =
        chosen.par_iter().filter_map(|(workload, clean, rule)| try_rule(workload, clean, *rule)).collect();
    println!(
        "{} workloads, {} faults possible, {} tried, {} problems",
        workloads.len(),
        trials.len(),
        chosen.len(),
        problems.len()
    );
    let told = problems[..problems.len().min(12)].join("\n");
    assert!(problems.is_empty(), "seed {seed}, {} problems:\n{told}", problems.len());
}
