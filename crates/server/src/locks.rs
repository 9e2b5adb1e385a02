//! Locks on datasets: shared ones for clients that read and write elements in the file themselves, exclusive ones for
//! what changes where elements lie, or writes them from here.
//!
//! A file system may show a reader half of a write, so shared locks to read and to write bear each other only where
//! their selections lie apart. A shared lock is a lease. A caller that holds one stops using it in time by its own
//! clock, which began before ours; so when ours says that it ran out, no one uses it. A caller that waits comes before
//! those that ask later.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use system::clock::Instant;

use model::{Error, Result, Selection, Token};
use protocol::Id;
use system::sync::{Condvar, Mutex, MutexGuard};
use vol::OpPlacement;

/// The holder of a lock: the session, and its number there.
pub(crate) type Holder = (Id, u64);

/// Stands for the container: every shared lock is one on this too.
pub(crate) const WHOLE: Token = Token([0xff; 16]);

/// Locks of one session at once.
const SHARED_MAX: usize = 4096;

/// Time that a read of the server itself may take: it gives its lock back when it ends.
const READ_MAX: Duration = Duration::from_secs(24 * 3600);

/// A shared lock on one dataset.
#[derive(Debug)]
struct Shared {
    until: Instant,
    /// The elements that may be read under it.
    reads: Vec<OpPlacement>,
    /// The elements that may be written under it.
    writes: Vec<OpPlacement>,
    /// A caller gives it back at the moment.
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

    /// Returns whether `op` may meet what another holder reads or writes at the moment. Two writers may meet: which of
    /// them is the last is theirs to say.
    fn is_crossed(&self, op: &OpPlacement, write: bool) -> bool {
        let others =
            self.shared.values().flat_map(|shared| if write { &shared.reads } else { &shared.writes });
        others.into_iter().any(|other| may_overlap(&op.selection, &other.selection))
    }
}

/// Returns whether the smallest blocks around two selections of one dataset overlap.
fn may_overlap(a: &Selection, b: &Selection) -> bool {
    if matches!(a, Selection::None) || matches!(b, Selection::None) {
        return false;
    }
    let bounds = |of: &Selection| match of.rank() {
        Some(rank) if !of.is_unlimited() => of.bounds(&vec![u64::MAX; rank]).ok().flatten(),
        _ => None,
    };
    let (Some((a_low, a_high)), Some((b_low, b_high))) = (bounds(a), bounds(b)) else { return true };
    let is_below = |low: &[u64], high: &[u64]| low.iter().zip(high).all(|(low, high)| low <= high);
    is_below(&a_low, &b_high) && is_below(&b_low, &a_high)
}

type Datasets = HashMap<Token, Dataset>;

/// A shared lock that ends. What was written under it must be visible before another caller goes on.
#[derive(Debug)]
pub(crate) struct Ending {
    dataset: Token,
    pub(crate) writes: Vec<OpPlacement>,
    pub(crate) is_expired: bool,
    holder: Holder,
}

/// A function that is called for a lock that ends, while it still holds.
pub(crate) type OnLockEnd<'a> = &'a dyn Fn(&Ending);

/// The locks of one container.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    datasets: Mutex<Datasets>,
    changed: Condvar,
    /// The number of the last read that the server made itself.
    last_read: AtomicU64,
}

/// Stands for the session of reads that the server makes itself.
const SERVER: Id = Id([0xff; 16]);

/// A shared lock to read, for the server itself, until it is dropped.
#[derive(Debug)]
pub(crate) struct Reading<'a> {
    locks: &'a Locks,
    number: u64,
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.locks.unshare((SERVER, self.number), &|_| {});
    }
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
        on_end: OnLockEnd<'_>,
    ) -> Result<()> {
        let deadline = Instant::now() + patience;
        let wanted = || ops.iter().map(|op| op.dataset).chain([WHOLE]);
        let all = self.datasets.lock();
        let is_taken = |all: &mut Datasets| {
            wanted().filter_map(|token| all.get(&token)).any(|d| d.is_exclusive || d.waiting > 0)
        };
        let mut all = self.changed.wait_timeout_while(all, patience, is_taken);
        if is_taken(&mut all) {
            return Err(busy(patience));
        }
        let is_free = |all: &Datasets| {
            let is_exclusive = |token| all.get(&token).is_some_and(|dataset| dataset.is_exclusive);
            let is_crossed =
                |op: &OpPlacement| all.get(&op.dataset).is_some_and(|dataset| dataset.is_crossed(op, write));
            !wanted().any(is_exclusive) && !ops.iter().any(is_crossed)
        };
        let datasets: Vec<Token> = ops.iter().map(|op| op.dataset).collect();
        let (mut all, is_free) = self.wait_until(all, &datasets, deadline, on_end, is_free);
        if !is_free {
            self.tidy(all, &datasets);
            return Err(busy(patience));
        }
        let held = all.get(&WHOLE).into_iter().flat_map(|whole| whole.shared.keys());
        if held.filter(|(session, _)| *session == holder.0).count() >= SHARED_MAX {
            return Err(Error::limit("lock dataset").with("locks", SHARED_MAX));
        }
        let until = Instant::now() + lease;
        for token in wanted() {
            let shared = all.entry(token).or_default().shared.entry(holder);
            let shared = shared.or_insert_with(|| Shared {
                until,
                reads: Vec::new(),
                writes: Vec::new(),
                is_going: false,
            });
            shared.until = until;
            let own = ops.iter().filter(|op| op.dataset == token).cloned();
            if write { shared.writes.extend(own) } else { shared.reads.extend(own) }
        }
        Ok(())
    }

    /// Takes a shared lock for a read that the server makes itself.
    pub(crate) fn read(
        &self,
        ops: &[OpPlacement],
        patience: Duration,
        on_end: OnLockEnd<'_>,
    ) -> Result<Reading<'_>> {
        let number = self.last_read.fetch_add(1, Ordering::Relaxed);
        self.share((SERVER, number), ops, false, (READ_MAX, patience), on_end)?;
        Ok(Reading { locks: self, number })
    }

    /// Waits until `is_free`, or the deadline. Who asks for one of `datasets` later waits meanwhile. What ran out is given
    /// back.
    fn wait_until<'a>(
        &'a self,
        mut all: MutexGuard<'a, Datasets>,
        datasets: &[Token],
        deadline: Instant,
        on_end: OnLockEnd<'_>,
        is_free: impl Fn(&Datasets) -> bool,
    ) -> (MutexGuard<'a, Datasets>, bool) {
        if is_free(&all) {
            return (all, true);
        }
        datasets.iter().for_each(|token| all.entry(*token).or_default().waiting += 1);
        let is_free = loop {
            if is_free(&all) {
                break true;
            }
            let now = Instant::now();
            let shared = datasets
                .iter()
                .filter_map(|token| all.get(token))
                .flat_map(|dataset| dataset.shared.values());
            let next = shared.filter(|shared| !shared.is_going).map(|shared| shared.until).min();
            if next.is_some_and(|next| next <= now) {
                drop(all);
                self.expire(on_end);
                all = self.datasets.lock();
                continue;
            }
            if now >= deadline {
                break false;
            }
            let until = next.unwrap_or(deadline).min(deadline);
            all = self.changed.wait_timeout(all, until.saturating_duration_since(now));
        };
        for token in datasets {
            if let Some(dataset) = all.get_mut(token) {
                dataset.waiting -= 1;
            }
        }
        (all, is_free)
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

    /// Gives back the locks that `which` says; what was written under them becomes visible while they still hold.
    fn give_back(&self, which: impl Fn(&Holder, &Shared) -> bool, on_end: OnLockEnd<'_>) {
        let now = Instant::now();
        let mut ending = Vec::new();
        for (token, dataset) in self.datasets.lock().iter_mut() {
            for (holder, shared) in &mut dataset.shared {
                if !shared.is_going && which(holder, shared) {
                    shared.is_going = true;
                    // Who reads meanwhile must know of them: they are not visible yet.
                    let (writes, is_expired) = (shared.writes.clone(), shared.until <= now);
                    ending.push(Ending { dataset: *token, writes, is_expired, holder: *holder });
                }
            }
        }
        if ending.is_empty() {
            return;
        }
        ending.iter().for_each(on_end);
        let mut all = self.datasets.lock();
        for end in &ending {
            all.get_mut(&end.dataset).map(|dataset| dataset.shared.remove(&end.holder));
        }
        self.tidy(all, &ending.iter().map(|end| end.dataset).collect::<Vec<_>>());
    }

    /// Gives one lock back.
    pub(crate) fn unshare(&self, holder: Holder, on_end: OnLockEnd<'_>) {
        self.give_back(|other, _| *other == holder, on_end);
    }

    /// Waits until the locks of a session are back, or ran out.
    pub(crate) fn wait_for(&self, session: Id, on_end: OnLockEnd<'_>) {
        let mut all = self.datasets.lock();
        let until = |all: &Datasets| {
            let held = all.values().flat_map(|dataset| &dataset.shared);
            held.filter(|((holder, _), _)| *holder == session).map(|(_, shared)| shared.until).max()
        };
        while let Some(left) = until(&all).and_then(|until| until.checked_duration_since(Instant::now())) {
            all = self.changed.wait_timeout(all, left);
        }
        drop(all);
        self.expire(on_end);
    }

    /// A session ended in good order: it uses none of its locks any more.
    pub(crate) fn end(&self, session: Id, on_end: OnLockEnd<'_>) {
        self.give_back(|(other, _), _| *other == session, on_end);
    }

    /// Gives back what ran out.
    pub(crate) fn expire(&self, on_end: OnLockEnd<'_>) {
        let now = Instant::now();
        self.give_back(|_, shared| shared.until <= now, on_end);
    }

    /// Takes the exclusive lock on datasets, all at once, when all shared ones are back or ran out; waits for `patience` at most.
    pub(crate) fn exclusive(
        &self,
        datasets: Vec<Token>,
        patience: Duration,
        on_end: OnLockEnd<'_>,
    ) -> Result<Exclusive<'_>> {
        let is_free = |all: &Datasets| {
            let wanted = datasets.iter().filter_map(|token| all.get(token));
            wanted.into_iter().all(|dataset| dataset.shared.is_empty() && !dataset.is_exclusive)
        };
        let deadline = Instant::now() + patience;
        let (mut all, is_free) = self.wait_until(self.datasets.lock(), &datasets, deadline, on_end, is_free);
        if !is_free {
            self.tidy(all, &datasets);
            return Err(busy(patience));
        }
        for token in &datasets {
            all.entry(*token).or_default().is_exclusive = true;
        }
        drop(all);
        Ok(Exclusive { locks: self, datasets })
    }

    /// Returns whether anybody has a shared lock on a dataset.
    pub(crate) fn is_shared(&self, dataset: Token) -> bool {
        self.datasets.lock().get(&dataset).is_some_and(|dataset| !dataset.shared.is_empty())
    }

    /// Returns what may be written at the moment, of one dataset or of all.
    pub(crate) fn writes(&self, dataset: Option<Token>) -> Vec<OpPlacement> {
        let all = self.datasets.lock();
        let chosen = all.iter().filter(|(token, _)| dataset.is_none_or(|wanted| wanted == **token));
        let shared = chosen.flat_map(|(_, dataset)| dataset.shared.values());
        shared.flat_map(|shared| shared.writes.iter().cloned()).collect()
    }
}

#[cfg(test)]
mod tests {
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
        locks.share((Id([0; 16]), holder), &ops, true, (LONG, patience), &|_| {})
    }

    fn give_back(locks: &Locks, holder: u64) {
        locks.unshare((Id([0; 16]), holder), &|_| {});
    }

    #[test]
    fn who_closes_waits_for_its_own_locks_only() {
        let locks = Locks::default();
        locks.share((Id([1; 16]), 1), &[op(1)], true, (LONG, LONG), &|_| {}).unwrap();
        locks.wait_for(Id([2; 16]), &|_| {});
        locks.share((Id([2; 16]), 1), &[op(1)], true, (Duration::ZERO, LONG), &|_| {}).unwrap();
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
    fn who_reads_and_who_writes_meet_only_where_their_selections_lie_apart() {
        let locks = Locks::default();
        let part = |start: u64| OpPlacement {
            dataset: token(1),
            selection: Selection::block(&[start], &[10]).unwrap(),
        };
        let take = |holder: u64, op: OpPlacement, write: bool| {
            locks.share((Id([0; 16]), holder), &[op], write, (LONG, Duration::ZERO), &|_| {})
        };
        take(1, part(0), true).unwrap();
        take(2, part(5), true).unwrap();
        take(3, part(15), false).unwrap();
        assert_eq!(take(4, part(9), false).unwrap_err().kind(), model::Kind::Busy);
        assert_eq!(take(4, op(1), false).unwrap_err().kind(), model::Kind::Busy);
        assert_eq!(take(4, part(20), true).unwrap_err().kind(), model::Kind::Busy);
        assert!(locks.read(&[part(0)], Duration::ZERO, &|_| {}).is_err());
        let reading = locks.read(&[part(30)], Duration::ZERO, &|_| {}).unwrap();
        assert!(take(4, part(39), true).is_err());
        drop(reading);
        take(4, part(39), true).unwrap();
        (1..=4).for_each(|holder| give_back(&locks, holder));
        assert!(locks.is_empty());
    }

    #[test]
    fn who_waits_to_write_comes_before_those_that_ask_to_read_later() {
        let locks = Locks::default();
        let reading = locks.read(&[op(1)], LONG, &|_| {}).unwrap();
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| share(&locks, 1, &[1], LONG));
            while locks.datasets.lock()[&token(1)].waiting == 0 {
                std::thread::yield_now();
            }
            assert!(locks.read(&[op(1)], Duration::ZERO, &|_| {}).is_err());
            drop(reading);
            writer.join().unwrap().unwrap();
        });
        give_back(&locks, 1);
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
        locks.share(holder, &[op(1)], true, (Duration::ZERO, LONG), &|_| {}).unwrap();
        assert_eq!(locks.writes(Some(token(1))), [op(1)]);
        assert_eq!(locks.renew(holder, LONG).unwrap_err().kind(), model::Kind::NotFound);
        let ended = Mutex::new(Vec::new());
        let on_end = |ending: &Ending| {
            // Until then, readers learn of it.
            assert!(ending.writes.is_empty() || locks.writes(Some(token(1))) == [op(1)]);
            ended.lock().extend(ending.writes.clone());
        };
        let exclusive = locks.exclusive(vec![token(1)], LONG, &on_end).unwrap();
        locks.unshare(holder, &on_end);
        locks.end(holder.0, &on_end);
        locks.expire(&on_end);
        assert_eq!(*ended.lock(), [op(1)]);
        drop(exclusive);
        assert!(locks.is_empty());
    }
}
