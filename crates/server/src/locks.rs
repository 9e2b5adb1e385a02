//! Locks on datasets: shared ones for clients that read and write elements in the file themselves, exclusive ones for
//! what changes where elements lie, or writes them from here.
//!
//! A shared lock is a lease. Whoever holds one stops using it in time by its own clock, which began before ours; so
//! when ours says that it ran out, nobody uses it. Who waits for an exclusive lock comes before those that ask later.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use model::{Error, Result, Token};
use protocol::Id;
use system::sync::{Condvar, Mutex, MutexGuard};
use vol::OpPlacement;

/// Who has a lock: the session, and its number there.
pub(crate) type Holder = (Id, u64);

/// Stands for the container: every shared lock is one on this too.
pub(crate) const WHOLE: Token = Token([0xff; 16]);

/// Locks of one session at once.
const SHARED_MAX: usize = 4096;

/// A shared lock on one dataset.
#[derive(Debug)]
struct Shared {
    until: Instant,
    /// What may be written under it.
    writes: Vec<OpPlacement>,
    /// Somebody gives it back at the moment.
    is_going: bool,
}

#[derive(Debug, Default)]
struct Dataset {
    shared: HashMap<Holder, Shared>,
    is_exclusive: bool,
    /// How many wait for the exclusive lock.
    waiting: usize,
}

impl Dataset {
    fn is_unused(&self) -> bool {
        self.shared.is_empty() && !self.is_exclusive && self.waiting == 0
    }
}

type Datasets = HashMap<Token, Dataset>;

/// A shared lock that ends. What was written under it must be settled before anybody else goes on.
#[derive(Debug)]
pub(crate) struct Ending {
    dataset: Token,
    pub(crate) writes: Vec<OpPlacement>,
    pub(crate) is_expired: bool,
    holder: Holder,
}

/// What is done with a lock that ends, while it still holds.
pub(crate) type Settle<'a> = &'a dyn Fn(&Ending);

/// The locks of one container.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    datasets: Mutex<Datasets>,
    changed: Condvar,
}

/// An exclusive lock, until it is dropped.
#[derive(Debug)]
pub(crate) struct Exclusive<'a> {
    locks: &'a Locks,
    datasets: Vec<Token>,
}

impl Drop for Exclusive<'_> {
    fn drop(&mut self) {
        let mut all = self.locks.datasets.lock();
        for token in &self.datasets {
            if let Some(dataset) = all.get_mut(token) {
                dataset.is_exclusive = false;
            }
        }
        self.locks.tidy(all, &self.datasets);
    }
}

fn busy(waited: Duration) -> Error {
    let error = Error::busy("lock dataset").with("waited", format!("{waited:?}"));
    error.with("problem", "other clients did not give it back")
}

impl Locks {
    /// Wakes who waits, after something was given back.
    fn tidy(&self, mut all: MutexGuard<'_, Datasets>, touched: &[Token]) {
        for token in touched {
            if all.get(token).is_some_and(Dataset::is_unused) {
                all.remove(token);
            }
        }
        drop(all);
        self.changed.notify_all();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.datasets.lock().is_empty()
    }

    /// Takes shared locks on the datasets of `ops`, all at once, for `lease`; waits for `patience` at most.
    pub(crate) fn share(
        &self,
        holder: Holder,
        ops: &[OpPlacement],
        write: bool,
        (lease, patience): (Duration, Duration),
    ) -> Result<()> {
        let wanted = || ops.iter().map(|op| op.dataset).chain([WHOLE]);
        let all = self.datasets.lock();
        let is_taken = |all: &mut Datasets| {
            wanted().filter_map(|token| all.get(&token)).any(|d| d.is_exclusive || d.waiting > 0)
        };
        let mut all = self.changed.wait_timeout_while(all, patience, is_taken);
        if is_taken(&mut all) {
            return Err(busy(patience));
        }
        let held = all.get(&WHOLE).into_iter().flat_map(|whole| whole.shared.keys());
        if held.filter(|(session, _)| *session == holder.0).count() >= SHARED_MAX {
            return Err(Error::limit("lock dataset").with("locks", SHARED_MAX));
        }
        let until = Instant::now() + lease;
        for token in wanted() {
            let shared = all.entry(token).or_default().shared.entry(holder);
            let shared = shared.or_insert_with(|| Shared { until, writes: Vec::new(), is_going: false });
            shared.until = until;
            let own = ops.iter().filter(|op| write && op.dataset == token);
            shared.writes.extend(own.cloned());
        }
        Ok(())
    }

    /// A lock's time begins anew; an error where it ran out.
    pub(crate) fn renew(&self, holder: Holder, lease: Duration) -> Result<()> {
        let mut all = self.datasets.lock();
        let now = Instant::now();
        let mut mine: Vec<&mut Shared> =
            all.values_mut().filter_map(|dataset| dataset.shared.get_mut(&holder)).collect();
        if mine.is_empty() || mine.iter().any(|shared| shared.is_going || shared.until <= now) {
            return Err(Error::not_found("renew lock").with("problem", "its time ran out"));
        }
        mine.iter_mut().for_each(|shared| shared.until = now + lease);
        Ok(())
    }

    /// Gives back the locks that `which` says; what was written under them is settled while they still hold.
    fn give_back(&self, which: impl Fn(&Holder, &Shared) -> bool, settle: Settle<'_>) {
        let now = Instant::now();
        let mut ending = Vec::new();
        for (token, dataset) in self.datasets.lock().iter_mut() {
            for (holder, shared) in &mut dataset.shared {
                if !shared.is_going && which(holder, shared) {
                    shared.is_going = true;
                    // Who reads meanwhile must know of them: they are not settled yet.
                    let (writes, is_expired) = (shared.writes.clone(), shared.until <= now);
                    ending.push(Ending { dataset: *token, writes, is_expired, holder: *holder });
                }
            }
        }
        if ending.is_empty() {
            return;
        }
        ending.iter().for_each(settle);
        let mut all = self.datasets.lock();
        for end in &ending {
            all.get_mut(&end.dataset).map(|dataset| dataset.shared.remove(&end.holder));
        }
        self.tidy(all, &ending.iter().map(|end| end.dataset).collect::<Vec<_>>());
    }

    /// Gives one lock back.
    pub(crate) fn unshare(&self, holder: Holder, settle: Settle<'_>) {
        self.give_back(|other, _| *other == holder, settle);
    }

    /// Waits until the locks of a session are back, or ran out.
    pub(crate) fn wait_for(&self, session: Id, settle: Settle<'_>) {
        let mut all = self.datasets.lock();
        let until = |all: &Datasets| {
            let held = all.values().flat_map(|dataset| &dataset.shared);
            held.filter(|((holder, _), _)| *holder == session).map(|(_, shared)| shared.until).max()
        };
        while let Some(left) = until(&all).and_then(|until| until.checked_duration_since(Instant::now())) {
            all = self.changed.wait_timeout(all, left);
        }
        drop(all);
        self.expire(settle);
    }

    /// A session ended in good order: it uses none of its locks any more.
    pub(crate) fn end(&self, session: Id, settle: Settle<'_>) {
        self.give_back(|(other, _), _| *other == session, settle);
    }

    /// Gives back what ran out.
    pub(crate) fn expire(&self, settle: Settle<'_>) {
        let now = Instant::now();
        self.give_back(|_, shared| shared.until <= now, settle);
    }

    /// Takes the exclusive lock on datasets, all at once, when all shared ones are back or ran out; waits for `patience` at most.
    pub(crate) fn exclusive(
        &self,
        datasets: Vec<Token>,
        patience: Duration,
        settle: Settle<'_>,
    ) -> Result<Exclusive<'_>> {
        let deadline = Instant::now() + patience;
        let mut all = self.datasets.lock();
        datasets.iter().for_each(|token| all.entry(*token).or_default().waiting += 1);
        let taken = loop {
            let wanted = || datasets.iter().filter_map(|token| all.get(token));
            if wanted().all(|dataset| dataset.shared.is_empty() && !dataset.is_exclusive) {
                break true;
            }
            let now = Instant::now();
            let ends = wanted().flat_map(|dataset| dataset.shared.values()).filter(|shared| !shared.is_going);
            let next = ends.map(|shared| shared.until).min();
            if next.is_some_and(|next| next <= now) {
                drop(all);
                self.expire(settle);
                all = self.datasets.lock();
                continue;
            }
            if now >= deadline {
                break false;
            }
            let until = next.unwrap_or(deadline).min(deadline);
            all = self.changed.wait_timeout(all, until.saturating_duration_since(now));
        };
        for token in &datasets {
            if let Some(dataset) = all.get_mut(token) {
                dataset.waiting -= 1;
                dataset.is_exclusive |= taken;
            }
        }
        match taken {
            true => Ok(Exclusive { locks: self, datasets }),
            false => {
                self.tidy(all, &datasets);
                Err(busy(patience))
            }
        }
    }

    /// Whether anybody has a shared lock on a dataset.
    pub(crate) fn is_shared(&self, dataset: Token) -> bool {
        self.datasets.lock().get(&dataset).is_some_and(|dataset| !dataset.shared.is_empty())
    }

    /// What may be written at the moment, of one dataset or of all.
    pub(crate) fn writes(&self, dataset: Option<Token>) -> Vec<OpPlacement> {
        let all = self.datasets.lock();
        let chosen = all.iter().filter(|(token, _)| dataset.is_none_or(|wanted| wanted == **token));
        let shared = chosen.flat_map(|(_, dataset)| dataset.shared.values());
        shared.flat_map(|shared| shared.writes.iter().cloned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use model::Selection;

    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    fn token(number: u64) -> Token {
        Token::from_u64(number)
    }

    fn op(number: u64) -> OpPlacement {
        OpPlacement { dataset: token(number), selection: Selection::All }
    }

    fn share(locks: &Locks, holder: u64, datasets: &[u64], patience: Duration) -> Result<()> {
        let ops: Vec<OpPlacement> = datasets.iter().map(|number| op(*number)).collect();
        locks.share((Id([0; 16]), holder), &ops, true, (LONG, patience))
    }

    fn give_back(locks: &Locks, holder: u64) {
        locks.unshare((Id([0; 16]), holder), &|_| {});
    }

    #[test]
    fn who_closes_waits_for_its_own_locks_only() {
        let locks = Locks::default();
        locks.share((Id([1; 16]), 1), &[op(1)], true, (LONG, LONG)).unwrap();
        locks.wait_for(Id([2; 16]), &|_| {});
        locks.share((Id([2; 16]), 1), &[op(1)], true, (Duration::ZERO, LONG)).unwrap();
        locks.wait_for(Id([2; 16]), &|_| {});
        assert_eq!(locks.writes(None), [op(1)]);
    }

    #[test]
    fn shared_locks_bear_each_other_and_an_exclusive_one_bears_none() {
        let locks = Locks::default();
        share(&locks, 1, &[1, 2], LONG).unwrap();
        share(&locks, 2, &[2], LONG).unwrap();
        let exclusive = |datasets: &[Token]| locks.exclusive(datasets.to_vec(), Duration::ZERO, &|_| {});
        assert_eq!(exclusive(&[token(1)]).unwrap_err().kind(), model::Kind::Busy);
        assert_eq!(exclusive(&[WHOLE]).unwrap_err().kind(), model::Kind::Busy);
        let third = exclusive(&[token(3)]).unwrap();
        assert!(share(&locks, 3, &[2, 3], Duration::ZERO).is_err());
        drop(third);
        give_back(&locks, 1);
        assert!(exclusive(&[token(1), token(2)]).is_err());
        give_back(&locks, 2);
        let whole = exclusive(&[WHOLE]).unwrap();
        assert!(share(&locks, 1, &[5], Duration::ZERO).is_err());
        drop(whole);
        assert!(locks.is_empty());
    }

    #[test]
    fn who_waits_for_an_exclusive_lock_comes_before_those_that_ask_later() {
        let locks = Locks::default();
        share(&locks, 1, &[1], LONG).unwrap();
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| locks.exclusive(vec![token(1)], LONG, &|_| {}).map(drop));
            while locks.datasets.lock()[&token(1)].waiting == 0 {
                std::thread::yield_now();
            }
            assert_eq!(share(&locks, 2, &[1], Duration::ZERO).unwrap_err().kind(), model::Kind::Busy);
            give_back(&locks, 1);
            waiter.join().unwrap().unwrap();
        });
        share(&locks, 2, &[1], Duration::ZERO).unwrap();
    }

    #[test]
    fn what_was_written_is_settled_once_and_before_others_go_on() {
        let locks = Locks::default();
        let holder = (Id([1; 16]), 7);
        locks.share(holder, &[op(1)], true, (Duration::ZERO, LONG)).unwrap();
        assert_eq!(locks.writes(Some(token(1))), [op(1)]);
        assert_eq!(locks.renew(holder, LONG).unwrap_err().kind(), model::Kind::NotFound);
        let settled = Mutex::new(Vec::new());
        let settle = |ending: &Ending| {
            // Until then, who reads is told of it.
            assert!(ending.writes.is_empty() || locks.writes(Some(token(1))) == [op(1)]);
            settled.lock().extend(ending.writes.clone());
        };
        let exclusive = locks.exclusive(vec![token(1)], LONG, &settle).unwrap();
        locks.unshare(holder, &settle);
        locks.end(holder.0, &settle);
        locks.expire(&settle);
        assert_eq!(*settled.lock(), [op(1)]);
        drop(exclusive);
        assert!(locks.is_empty());
    }
}
