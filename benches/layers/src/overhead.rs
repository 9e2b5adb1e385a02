//! What one layer adds to a call that does little, and to a transfer of 1 MiB.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use model::{Result, Selection, Token};
use vol::{Container, OpRead, OpWrite};

/// The first is measured again at the end: what differs between the two is chance.
const STACKS: &[&str] =
    &["", "pass", "trace", "stats{by=operation}", "stats", "async", "check", "mirror{to=memory:copy}", ""];
const ROUNDS: usize = 60;
const CALLS: u32 = 20_000;
const TRANSFERS: u32 = 20;
const TRANSFER_BYTES: usize = 1 << 20;

struct Subject {
    stack: &'static str,
    container: Arc<dyn Container>,
    dataset: Token,
    best: f64,
}

fn subjects() -> Result<Vec<Subject>> {
    let subject = |stack: &&'static str| {
        let container = crate::container(stack)?;
        let dataset = crate::dataset(&*container, "d", TRANSFER_BYTES as u64)?;
        Ok(Subject { stack, container, dataset, best: f64::MAX })
    };
    STACKS.iter().map(subject).collect()
}

/// Nanoseconds of one `work`, the least of all rounds, for each stack.
fn measure(times: u32, work: &mut dyn FnMut(&Subject) -> Result<()>) -> Result<Vec<Subject>> {
    let mut subjects = subjects()?;
    for _ in 0..ROUNDS {
        for subject in &mut subjects {
            let begun = Instant::now();
            for _ in 0..times {
                work(subject)?;
            }
            let nanos = begun.elapsed().as_secs_f64() * 1e9 / f64::from(times);
            subject.best = subject.best.min(nanos);
        }
    }
    Ok(subjects)
}

fn print(title: &str, subjects: &[Subject]) {
    println!("\n{title}\n{:28} {:>12} {:>12} {:>8}", "stack over memory", "ns", "added ns", "ratio");
    let plain = subjects.first().map_or(1.0, |subject| subject.best);
    for subject in subjects {
        let name = if subject.stack.is_empty() { "(none)" } else { subject.stack };
        let (added, ratio) = (subject.best - plain, subject.best / plain);
        println!("{name:28} {:>12.1} {added:>12.1} {ratio:>8.3}", subject.best);
    }
}

/// Calls that do little.
pub(crate) fn calls() -> Result<()> {
    let subjects = measure(CALLS, &mut |subject| {
        black_box(subject.container.dataset_info(black_box(subject.dataset))?);
        Ok(())
    })?;
    print("dataset_info", &subjects);
    Ok(())
}

/// Transfers of 1 MiB.
pub(crate) fn transfers() -> Result<()> {
    let mut buffer = vec![1; TRANSFER_BYTES];
    let selection = &Selection::All;
    let subjects = measure(TRANSFERS, &mut |subject| {
        let into = &mut buffer[..];
        subject.container.dataset_read(&mut [OpRead { dataset: subject.dataset, selection, into }])
    })?;
    print("dataset_read of 1 MiB", &subjects);
    let subjects = measure(TRANSFERS, &mut |subject| {
        let from = &buffer[..];
        subject.container.dataset_write(&[OpWrite { dataset: subject.dataset, selection, from }])
    })?;
    print("dataset_write of 1 MiB (async: until it is queued)", &subjects);
    Ok(())
}
