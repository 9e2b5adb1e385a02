//! Commits of one file: one after the other, and one for all who ask at the same time.

use model::{Error, Result};
use system::sync::{Condvar, Mutex, MutexGuard};
use vol::Durability;

use crate::store::INTERRUPTED;

/// The commits of a file: the one that runs, and the last one that ended.
#[derive(Debug, Default)]
pub(crate) struct Commits {
    state: Mutex<CommitState>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct CommitState {
    /// Commits that began, and those that ended.
    begun: u64,
    ended: u64,
    /// The last commit that succeeded, by what it promises at least.
    succeeded: [u64; 3],
    /// Why the last one failed.
    error: Option<Error>,
}

impl CommitState {
    fn is_running(&self) -> bool {
        self.ended < self.begun
    }

    /// Returns how the commit `wanted`, or one after it, ended; `None` where none promised enough.
    fn outcome(&self, wanted: u64, durability: Durability) -> Option<Result<()>> {
        let has_succeeded = self.succeeded[rank(durability)] >= wanted;
        match &self.error {
            _ if self.ended < wanted => None,
            _ if has_succeeded => Some(Ok(())),
            error => error.clone().map(Err),
        }
    }

    fn end(&mut self, durability: Durability, done: &Result<()>) {
        self.ended = self.begun;
        if done.is_ok() {
            self.succeeded[..=rank(durability)].fill(self.begun);
        }
        self.error = done.as_ref().err().cloned();
    }
}

/// Later ones promise more.
fn rank(durability: Durability) -> usize {
    match durability {
        Durability::None => 0,
        Durability::Ordered => 1,
        Durability::Full => 2,
    }
}

impl Commits {
    /// Runs `commit`, or waits for one that begins after this call and so has all that was changed before it. Of those who
    /// wait for a commit to end, one makes the next for all of them.
    pub(crate) fn share(&self, durability: Durability, commit: impl FnOnce() -> Result<()>) -> Result<()> {
        let mut state = self.state();
        let wanted = state.begun + 1;
        loop {
            if let Some(outcome) = state.outcome(wanted, durability) {
                return outcome;
            }
            if !state.is_running() {
                break;
            }
            state = self.ended.wait(state);
        }
        state.begun += 1;
        drop(state);
        let mut running = Running { commits: self, durability, done: Err(interrupted()) };
        running.done = commit();
        running.done.clone()
    }

    fn state(&self) -> MutexGuard<'_, CommitState> {
        self.state.lock()
    }
}

/// A commit that is under way. It ends also if it panics.
struct Running<'c> {
    commits: &'c Commits,
    durability: Durability,
    done: Result<()>,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.commits.state().end(self.durability, &self.done);
        self.commits.ended.notify_all();
    }
}

fn interrupted() -> Error {
    Error::invalid("commit").with("problem", INTERRUPTED)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Barrier};

    use super::*;

    /// Returns how many commits are made while `count` threads ask during the first one, and how each of them ended.
    fn share(count: usize, fails: bool) -> (usize, Vec<Result<()>>) {
        let (commits, made) = (Commits::default(), AtomicUsize::new(0));
        let (begun, asked) = (Barrier::new(2), Arc::new(AtomicUsize::new(0)));
        let results = std::thread::scope(|scope| {
            let first = scope.spawn(|| {
                commits.share(Durability::Full, || {
                    made.fetch_add(1, Ordering::Relaxed);
                    begun.wait();
                    // The others are about to wait. A caller that comes later than that makes a commit of its own.
                    while asked.load(Ordering::Relaxed) < count || commits.state.try_lock().is_none() {
                        std::thread::yield_now();
                    }
                    std::thread::sleep(std::time::Duration::from_millis(50));
                    Ok(())
                })
            });
            begun.wait();
            let others: Vec<_> = (0..count)
                .map(|_| {
                    scope.spawn(|| {
                        asked.fetch_add(1, Ordering::Relaxed);
                        commits.share(Durability::Full, || {
                            made.fetch_add(1, Ordering::Relaxed);
                            if fails { Err(Error::limit("commit")) } else { Ok(()) }
                        })
                    })
                })
                .collect();
            first.join().unwrap().unwrap();
            others.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        (made.into_inner(), results)
    }

    #[test]
    fn who_asks_while_a_commit_runs_shares_the_next_one() {
        let (made, results) = share(8, false);
        assert!(results.iter().all(Result::is_ok));
        assert!((2..=4).contains(&made), "{made} commits");
    }

    #[test]
    fn all_who_share_a_commit_learn_that_it_failed() {
        let (_, results) = share(8, true);
        assert!(results.iter().all(Result::is_err));
    }

    #[test]
    fn a_commit_that_promises_less_is_not_enough() {
        let mut state = CommitState { begun: 3, ..CommitState::default() };
        state.end(Durability::Ordered, &Ok(()));
        assert!(state.outcome(3, Durability::Ordered).is_some_and(|done| done.is_ok()));
        assert!(state.outcome(3, Durability::Full).is_none());
        assert!(state.outcome(4, Durability::None).is_none());
    }
}
