//! Crashes at any point: what was promised is there.

use std::sync::Arc;

use files::{Crash, Memory};
use hyperslab_native::{create_handle, open_handle, open_image};
use model::Selection;
use model::properties::FileCreate;
use testkit::snapshot::Snapshot;
use vol::{Access, Durability, FileAccess};

use crate::life::{STEPS, member, more_members, put, snapshot};

/// What was committed, and how far the stream of events was when it returned.
struct Life {
    log: files::crash::Log,
    commits: Vec<(usize, Snapshot)>,
}

fn life(durability: Durability) -> Life {
    let crash = Arc::new(Crash::new(Arc::new(Memory::from_image(Vec::new()))).unwrap());
    let c = create_handle(crash.clone(), "crash", &FileCreate::default(), &FileAccess::default()).unwrap();
    let mut commits = vec![(crash.position(), snapshot(&*c))];
    for step in STEPS {
        step(&*c).unwrap();
        c.commit(durability).unwrap();
        commits.push((crash.position(), snapshot(&*c)));
    }
    more_members(&*c, "never committed").unwrap();
    put(&*c, member(&*c, c.info().unwrap().root, "new 1"), &Selection::All, &[66; 60]).unwrap();
    Life { log: crash.log(), commits }
}

impl Life {
    /// Which commit a crash left, read as it is and after recovery.
    fn check(&self, state: &files::crash::State, promised: bool) {
        // Before the first sync there is no file yet.
        let Some(at_least) = self.commits.iter().rposition(|(position, _)| state.at >= *position) else {
            return;
        };
        let image = self.log.image(state).unwrap();
        let write = FileAccess { access: Access::Write, ..FileAccess::default() };
        let read = open_image(image.clone(), &FileAccess::default());
        let recovered = open_handle(Arc::new(Memory::from_image(image)), "recovered", &write);
        for (how, opened) in [("read", read), ("recovered", recovered)] {
            let c = opened.unwrap_or_else(|e| panic!("{how}, {state}: {e}"));
            let found = Snapshot::of(&*c, c.info().unwrap().root);
            let found = found.unwrap_or_else(|e| panic!("{how}, {state}: {e}"));
            let which = self.commits.iter().rposition(|(_, snapshot)| *snapshot == found);
            let fits = which.is_some_and(|n| n >= at_least || !promised);
            let near = self.commits.iter().skip(at_least).take(2);
            let difference: Vec<_> = near.map(|(_, snapshot)| snapshot.difference(&found)).collect();
            assert!(fits, "{how}, {state}: commit {which:?}, promised {at_least}, {difference:?}");
        }
    }
}

#[test]
fn after_every_prefix_of_the_writes_the_last_commit_is_there() {
    let life = life(Durability::Full);
    life.log.prefixes().for_each(|state| life.check(&state, true));
}

#[test]
fn sampled_crashes_leave_a_commit_not_older_than_the_last_that_returned() {
    let life = life(Durability::Full);
    let seed = testkit::generate::announced_seed("sampled crashes");
    life.log.sample(seed).take(400).for_each(|state| life.check(&state, true));
}

#[test]
fn sampled_crashes_of_ordered_commits_leave_one_of_them() {
    let life = life(Durability::Ordered);
    let seed = testkit::generate::announced_seed("sampled crashes, ordered");
    life.log.sample(seed).take(400).for_each(|state| life.check(&state, false));
}
