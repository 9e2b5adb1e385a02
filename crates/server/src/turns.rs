//! Processor time in turns: where more operations wait than may run, the party that used the least is next.
//!
//! This is start-time fair queueing over measured time: a party's use is what the threads of its connections spent, in
//! operations as well as in receiving and sending. A party that comes back after a pause starts where the others are, so
//! no one saves up time. A turn is given up by itself after [`TURN_MAX`]: a caller that waits for a disk, a lock or another
//! operation keeps no one out, and two operations that need each other cannot wait for ever.

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use system::thread::Thread;

use system::clock::Instant;

use cpu_time::ThreadTime;
use system::sync::Mutex;

use crate::metrics::Metrics;
use crate::party::Party;

/// An operation counts as running for so long at most.
const TURN_MAX: Duration = Duration::from_millis(20);
/// Parties that are remembered; where there are more, those that want nothing now are forgotten.
const PARTIES_MAX: usize = 1024;

thread_local! {
    /// Processor time of this thread that was charged to a caller.
    static CHARGED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// Processor time that this thread spent since it was asked last.
fn spent() -> Duration {
    // Where the system does not say, a thread spends nothing.
    let now = ThreadTime::try_now().map_or(Duration::ZERO, |time| time.as_duration());
    now.saturating_sub(CHARGED.replace(now))
}

/// The order in which parties run.
#[derive(Debug)]
pub(crate) struct Turns {
    queue: Mutex<Queue<Thread>>,
    metrics: Arc<Metrics>,
}

impl Turns {
    /// `running_max` operations run at once.
    pub(crate) fn new(running_max: usize, metrics: Arc<Metrics>) -> Self {
        Turns { queue: Mutex::new(Queue::new(running_max)), metrics }
    }

    /// Waits for a turn of `party`; it ends when it is dropped.
    pub(crate) fn take<'a>(&'a self, party: &'a Party) -> Turn<'a> {
        let mut queue = self.queue.lock();
        let number = queue.arrive(party, system::thread::current());
        queue.serve(Instant::now()).iter().for_each(Thread::unpark);
        if queue.is_waiting(party, number) {
            self.metrics.turns_waited.fetch_add(1, Relaxed);
        }
        while queue.is_waiting(party, number) {
            drop(queue);
            // A caller has to see that a turn is too long.
            system::thread::park_timeout(TURN_MAX);
            queue = self.queue.lock();
            queue.serve(Instant::now()).iter().for_each(Thread::unpark);
        }
        Turn { turns: self, party, number }
    }

    /// Charges what this thread spent until now.
    pub(crate) fn charge(&self, party: &Party) {
        let spent = self.spent();
        self.queue.lock().charge(party, spent);
    }

    fn spent(&self) -> Duration {
        let spent = spent();
        self.metrics.processor_nanos.fetch_add(spent.as_nanos() as u64, Relaxed);
        spent
    }
}

/// A turn, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    turns: &'a Turns,
    party: &'a Party,
    number: u64,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let spent = self.turns.spent();
        let mut queue = self.turns.queue.lock();
        queue.charge(self.party, spent);
        queue.leave(self.party, self.number);
        queue.serve(Instant::now()).iter().for_each(Thread::unpark);
    }
}

/// The use and the demand of a party.
#[derive(Debug)]
struct Share<W> {
    used: Duration,
    waiting: VecDeque<(u64, W)>,
    running: usize,
}

impl<W> Share<W> {
    fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.running == 0
    }
}

/// The order of turns, without threads and clocks; `W` is who waits.
#[derive(Debug)]
struct Queue<W> {
    running_max: usize,
    shares: HashMap<Party, Share<W>>,
    /// Turns that count, and since when they are held.
    running: Vec<(u64, Instant)>,
    /// The use of the party that was served last.
    level: Duration,
    number: u64,
}

impl<W> Queue<W> {
    fn new(running_max: usize) -> Self {
        let (shares, running) = (HashMap::new(), Vec::new());
        Queue { running_max: running_max.max(1), shares, running, level: Duration::ZERO, number: 0 }
    }

    /// Returns a caller wants a turn; its number.
    fn arrive(&mut self, party: &Party, who: W) -> u64 {
        if self.shares.len() >= PARTIES_MAX {
            self.shares.retain(|_, share| !share.is_idle());
        }
        self.number += 1;
        let (number, level) = (self.number, self.level);
        let share = self.share(party);
        if share.is_idle() {
            share.used = share.used.max(level);
        }
        share.waiting.push_back((number, who));
        number
    }

    fn share(&mut self, party: &Party) -> &mut Share<W> {
        let new = || Share { used: Duration::ZERO, waiting: VecDeque::new(), running: 0 };
        self.shares.entry(party.clone()).or_insert_with(new)
    }

    fn is_waiting(&self, party: &Party, number: u64) -> bool {
        self.shares.get(party).is_some_and(|share| share.waiting.iter().any(|(other, _)| *other == number))
    }

    /// Gives turns to those who are next, as long as there are any; who got one.
    fn serve(&mut self, now: Instant) -> Vec<W> {
        self.running.retain(|(_, since)| now.saturating_duration_since(*since) < TURN_MAX);
        let mut served = Vec::new();
        while self.running.len() < self.running_max
            && let Some((number, who)) = self.next()
        {
            self.running.push((number, now));
            served.push(who);
        }
        served
    }

    /// Returns the oldest of the party that used the least.
    fn next(&mut self) -> Option<(u64, W)> {
        let waiting = self.shares.values_mut().filter(|share| !share.waiting.is_empty());
        let share = waiting.min_by_key(|share| share.used)?;
        share.running += 1;
        self.level = self.level.max(share.used);
        share.waiting.pop_front()
    }

    fn charge(&mut self, party: &Party, spent: Duration) {
        if let Some(share) = self.shares.get_mut(party) {
            share.used += spent;
        }
    }

    fn leave(&mut self, party: &Party, number: u64) {
        self.running.retain(|(other, _)| *other != number);
        if let Some(share) = self.shares.get_mut(party) {
            share.running = share.running.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(name: &str) -> Party {
        Party::Token(name.to_owned())
    }

    /// Parties that always want more, each with operations of one cost, on one processor; what each used in the end.
    fn compete(parties: &[(&str, usize, u64)], turns: usize) -> HashMap<String, u64> {
        let mut queue = Queue::new(1);
        let now = Instant::now();
        for (name, connections, _) in parties {
            for _ in 0..*connections {
                queue.arrive(&token(name), *name);
            }
        }
        let mut used = HashMap::new();
        for _ in 0..turns {
            let [name] = queue.serve(now)[..] else { panic!("one turn at a time") };
            let cost = parties.iter().find(|(other, ..)| *other == name).expect("known").2;
            *used.entry(name.to_owned()).or_default() += cost;
            let number = queue.running[0].0;
            queue.charge(&token(name), Duration::from_micros(cost));
            // The next one is there before the turn ends: the party is never at rest.
            queue.arrive(&token(name), name);
            queue.leave(&token(name), number);
        }
        used
    }

    #[test]
    fn parties_get_equal_time_whatever_their_operations_cost_and_however_many_connections_they_have() {
        let used = compete(&[("honest", 1, 50), ("many", 200, 50), ("heavy", 4, 5000)], 100_000);
        let third = used.values().sum::<u64>() / 3;
        assert!(used.values().all(|used| used.abs_diff(third) <= 5000), "{used:?}");
    }

    #[test]
    fn a_party_that_rested_saves_nothing_up() {
        let mut queue = Queue::new(1);
        let now = Instant::now();
        let (busy, rested) = (token("busy"), token("rested"));
        for _ in 0..100 {
            let number = queue.arrive(&busy, "busy");
            assert_eq!(queue.serve(now), ["busy"]);
            queue.charge(&busy, Duration::from_secs(1));
            queue.leave(&busy, number);
        }
        queue.arrive(&rested, "rested");
        assert!(queue.shares[&rested].used >= Duration::from_secs(99));
    }

    #[test]
    fn who_is_alone_does_not_wait() {
        let mut queue = Queue::new(2);
        let heavy = token("heavy");
        queue.arrive(&heavy, 1);
        queue.charge(&heavy, Duration::from_secs(3600));
        queue.arrive(&heavy, 2);
        queue.arrive(&heavy, 3);
        assert_eq!(queue.serve(Instant::now()), [1, 2]);
    }

    #[test]
    fn a_turn_that_is_held_for_long_keeps_nobody_out() {
        let mut queue = Queue::new(1);
        let now = Instant::now();
        queue.arrive(&token("stuck"), "stuck");
        assert_eq!(queue.serve(now), ["stuck"]);
        let number = queue.arrive(&token("next"), "next");
        assert!(queue.serve(now).is_empty() && queue.is_waiting(&token("next"), number));
        assert_eq!(queue.serve(now + TURN_MAX), ["next"]);
    }

    #[test]
    fn parties_at_rest_are_forgotten_where_there_are_many() {
        let mut queue = Queue::new(1);
        for n in 0..10 * PARTIES_MAX as u32 {
            let party = Party::Stranger(Some(system::socket::Ipv4Addr::from(n).into()));
            let number = queue.arrive(&party, ());
            queue.serve(Instant::now());
            queue.leave(&party, number);
        }
        assert!(queue.shares.len() <= PARTIES_MAX);
    }

    #[test]
    fn time_that_a_thread_spends_is_charged_to_its_party() {
        let turns = Turns::new(1, Arc::default());
        let party = token("busy");
        for round in 0..2u64 {
            let turn = turns.take(&party);
            assert_ne!((0..1_000_000u64).map(std::hint::black_box).sum::<u64>(), round);
            drop(turn);
        }
        let queue = turns.queue.lock();
        assert!(queue.shares[&party].used > Duration::ZERO);
        assert!(queue.running.is_empty());
    }
}
