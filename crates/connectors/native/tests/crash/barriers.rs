//! Every barrier is needed: without it, or with writes in another order, a crash breaks a promise.

use std::sync::Arc;

use files::crash::{Event, Log};
use files::{Crash, Memory};
use hyperslab_native::open_handle;
use rayon::prelude::*;
use vol::FileAccess;

use crate::rig::{RECORD, Run, Violation};
use crate::workloads;

fn is_sync(event: &Event) -> bool {
    matches!(event, Event::Sync(_))
}

fn is_record(event: &Event) -> bool {
    matches!(event, Event::Write { data, .. } if data.starts_with(RECORD))
}

/// Crashes of all kinds, until one breaks a promise.
fn violation(run: &Run) -> Option<Violation> {
    let states = [run.faults(), run.draws(20_261_115, 1500), run.prefixes()].concat();
    states.par_iter().find_map_any(|state| run.judge(state).err())
}

fn run(workload: &str) -> Run {
    Run::of(&workloads::named(workload))
}

/// The run without the `nth` sync of every commit.
fn without_sync(run: &Run, nth: usize) -> Run {
    run.edited(|events| {
        let syncs: Vec<usize> = (0..events.len()).filter(|&n| is_sync(&events[n])).collect();
        // The first events make the file, with one sync.
        if let Some(&sync) = syncs.get(nth).filter(|_| syncs.len() > 1) {
            events.remove(sync);
        }
    })
}

#[track_caller]
fn assert_needed(what: &str, run: &Run) {
    let found = violation(run);
    println!("{}, {what}: {}", run.name, found.as_ref().map_or("nothing".to_owned(), ToString::to_string));
    assert!(found.is_some(), "{}: {what} breaks nothing", run.name);
}

#[test]
fn with_all_barriers_nothing_breaks() {
    for workload in ["nested groups", "overwrites of many sectors", "commits of nothing"] {
        assert_eq!(violation(&run(workload)), None, "{workload}");
    }
}

#[test]
fn each_sync_of_a_full_commit_is_needed() {
    for workload in ["a life", "overwrites of many sectors"] {
        let run = run(workload);
        assert_needed("no sync of content", &without_sync(&run, 0));
        assert_needed("no sync of the record", &without_sync(&run, 1));
        assert_needed("no sync of what was published", &without_sync(&run, 2));
    }
}

#[test]
fn each_sync_of_an_ordered_commit_is_needed() {
    let run = run("a life in ordered commits");
    assert_needed("no sync before the last record is written over", &without_sync(&run, 0));
    assert_needed("no sync of content", &without_sync(&run, 1));
    assert_needed("no sync of the record", &without_sync(&run, 2));
}

#[test]
fn the_sync_of_a_new_file_is_needed() {
    let run = run("nested groups");
    let made = run.promises[0].at;
    let without = run.edited(|events| {
        if events.len() == made {
            events.retain(|e| !is_sync(e));
        }
    });
    assert_needed("no sync of a new file", &without);
}

#[test]
fn a_commit_of_nothing_syncs_what_waits() {
    let run = run("commits of nothing that settle");
    assert_eq!(violation(&run), None);
    let without = run.edited(|events| {
        if events.iter().filter(|e| is_sync(e)).count() == 1
            && !events.iter().any(|e| matches!(e, Event::Write { .. }))
        {
            events.retain(|e| !is_sync(e));
        }
    });
    assert_needed("no sync in a commit of nothing", &without);
}

/// The places in a full commit's events: its first sync, its record, the sync of that, the last sync.
fn places(events: &[Event]) -> Option<[usize; 4]> {
    let record = events.iter().position(is_record)?;
    let first = events[..record].iter().rposition(is_sync)?;
    let stored = record + events[record..].iter().position(is_sync)?;
    let last = stored + 1 + events[stored + 1..].iter().position(is_sync)?;
    Some([first, record, stored, last])
}

#[test]
fn content_after_publishing_breaks_commits() {
    for workload in ["a life", "nested groups"] {
        let late = run(workload).edited(|events| {
            if let Some([first, _, _, last]) = places(events) {
                events[..last].rotate_left(first);
            }
        });
        assert_needed("content after publishing", &late);
    }
}

#[test]
fn publishing_before_the_record_breaks_commits() {
    for workload in ["a life", "overwrites of many sectors"] {
        let early = run(workload).edited(|events| {
            if let Some([first, _, stored, last]) = places(events) {
                events[first + 1..last].rotate_left(stored - first);
            }
        });
        assert_needed("publishing before the record", &early);
    }
}

#[test]
fn cutting_the_record_off_before_the_last_sync_breaks_commits() {
    let early = run("overwrites of many sectors").edited(|events| {
        if let Some([_, _, _, last]) = places(events) {
            events[last..].reverse();
        }
    });
    assert_needed("cutting off before the last sync", &early);
}

/// Recovery, with a crash in it, of a file whose commit was cut short when its record was stored.
fn recovery() -> Run {
    let run = run("overwrites of many sectors");
    let stored = run.prefixes().into_iter().filter(|s| run.is_publishing(s)).map(|s| s.at).min().unwrap();
    let state = run.prefixes().into_iter().find(|s| s.at == stored).unwrap();
    let image = run.log.image(&state).unwrap();
    let crash = Arc::new(Crash::new(Arc::new(Memory::from_image(image))).unwrap());
    open_handle(crash.clone(), "recovery", &FileAccess::write()).unwrap();
    let commit = run.promises.iter().position(|p| p.at > stored).unwrap();
    let mut promises = vec![run.promises[commit].clone()];
    promises[0].at = 0;
    let log: Log = crash.log();
    Run { name: "recovery".to_owned(), log, promises }
}

#[test]
fn recovery_can_be_cut_short_and_needs_its_sync() {
    let run = recovery();
    assert!(run.log.events().len() > 2, "{:?}", run.log.events());
    assert_eq!(violation(&run), None);
    let events = run.log.events().iter().filter(|e| !is_sync(e)).cloned().collect();
    let without = Run { log: Log::new(run.log.base().into(), events), ..run };
    assert_needed("recovery without its sync", &without);
}
