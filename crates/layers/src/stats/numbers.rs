//! Counters, in shards, so that threads seldom contend for a lock.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use system::clock::Instant;

use model::Token;
use system::sync::Mutex;
use vol::{Call, Operation};

use crate::stats::histogram::Histogram;

/// More shards than threads usually work on one container.
const SHARDS: usize = 16;
/// Objects with numbers of their own; more than these count together, to bound the memory.
pub(crate) const OBJECTS_MAX: usize = 16_384;

/// The numbers of one operation or object.
#[derive(Debug, Clone, Default)]
pub(crate) struct Numbers {
    pub(crate) count: u64,
    pub(crate) errors: u64,
    pub(crate) bytes: u64,
    pub(crate) nanos: u64,
    pub(crate) histogram: Histogram,
}

impl Numbers {
    fn add(&mut self, call: &Call, nanos: u64, failed: bool) {
        self.count += 1;
        self.errors += u64::from(failed);
        self.bytes += call.bytes;
        self.nanos += nanos;
        self.histogram.add(nanos);
    }

    fn merge(&mut self, other: &Numbers) {
        self.count += other.count;
        self.errors += other.errors;
        self.bytes += other.bytes;
        self.nanos += other.nanos;
        self.histogram.merge(&other.histogram);
    }
}

/// One call, for the timeline.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Event {
    pub(crate) call: Call,
    /// Nanoseconds after the container was opened.
    pub(crate) begin: u64,
    pub(crate) nanos: u64,
    pub(crate) thread: usize,
    pub(crate) failed: bool,
}

#[derive(Debug, Default)]
struct Shard {
    operations: Vec<Numbers>,
    objects: HashMap<Token, Numbers, Seed>,
    events: Vec<Event>,
}

/// The options of collection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StatsOptions {
    pub(crate) operations: bool,
    pub(crate) objects: bool,
    pub(crate) events_max: u64,
}

/// All numbers of one container.
#[derive(Debug)]
pub(crate) struct Collected {
    opened: Instant,
    shards: Vec<Mutex<Shard>>,
    wanted: StatsOptions,
    objects: AtomicUsize,
    others: Mutex<Numbers>,
    events: AtomicU64,
}

/// The numbers of all shards together.
#[derive(Debug, Default)]
pub(crate) struct Merged {
    pub(crate) operations: Vec<(Operation, Numbers)>,
    pub(crate) objects: Vec<(Token, Numbers)>,
    /// Calls on objects beyond [`OBJECTS_MAX`].
    pub(crate) others: Numbers,
}

/// Returns the number of this thread, counted in the order in which threads came here first.
fn thread_number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local!(static NUMBER: usize = NEXT.fetch_add(1, Ordering::Relaxed));
    NUMBER.with(|number| *number)
}

fn nanos_between(from: Instant, to: Instant) -> u64 {
    let between = to.saturating_duration_since(from);
    between.as_secs().saturating_mul(1_000_000_000).saturating_add(between.subsec_nanos().into())
}

impl Collected {
    pub(crate) fn new(wanted: StatsOptions) -> Self {
        Collected {
            opened: Instant::now(),
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            wanted,
            objects: AtomicUsize::new(0),
            others: Mutex::default(),
            events: AtomicU64::new(0),
        }
    }

    /// Adds a call that has just ended.
    pub(crate) fn add(&self, call: &Call, begun: Instant, failed: bool) {
        let nanos = nanos_between(begun, Instant::now());
        let thread = thread_number();
        let Some(shard) = self.shards.get(thread % SHARDS) else { return };
        let mut shard = shard.lock();
        if self.wanted.operations {
            if shard.operations.is_empty() {
                shard.operations.resize_with(Operation::NUMBER_END, Numbers::default);
            }
            if let Some(numbers) = shard.operations.get_mut(call.operation.number() as usize) {
                numbers.add(call, nanos, failed);
            }
        }
        if self.wanted.objects
            && let Some(object) = call.object
        {
            self.add_to_object(&mut shard, object, |numbers| numbers.add(call, nanos, failed));
        }
        if self.wanted.events_max > 0 && self.events.fetch_add(1, Ordering::Relaxed) < self.wanted.events_max
        {
            let begin = nanos_between(self.opened, begun);
            shard.events.push(Event { call: *call, begin, nanos, thread, failed });
        }
    }

    fn add_to_object(&self, shard: &mut Shard, object: Token, add: impl FnOnce(&mut Numbers)) {
        if let Some(numbers) = shard.objects.get_mut(&object) {
            return add(numbers);
        }
        match self.objects.fetch_add(1, Ordering::Relaxed) < OBJECTS_MAX {
            true => add(shard.objects.entry(object).or_default()),
            false => add(&mut self.others.lock()),
        }
    }

    /// Returns the numbers so far.
    pub(crate) fn merged(&self) -> Merged {
        let mut operations = vec![Numbers::default(); Operation::NUMBER_END];
        let mut objects: HashMap<Token, Numbers> = HashMap::new();
        for shard in &self.shards {
            let shard = shard.lock();
            operations.iter_mut().zip(&shard.operations).for_each(|(all, some)| all.merge(some));
            for (object, numbers) in &shard.objects {
                objects.entry(*object).or_default().merge(numbers);
            }
        }
        let of =
            |operation: &Operation| Some((*operation, operations.get(operation.number() as usize)?.clone()));
        let operations = Operation::ALL.iter().filter_map(of).filter(|(_, n)| n.count > 0);
        let others = self.others.lock().clone();
        Merged { operations: operations.collect(), objects: objects.into_iter().collect(), others }
    }

    /// Returns the calls of the timeline in the order in which they began, and how many did not find space.
    pub(crate) fn events(&self) -> (Vec<Event>, u64) {
        let mut events: Vec<Event> =
            self.shards.iter().flat_map(|shard| shard.lock().events.clone()).collect();
        events.sort_by_key(|event| event.begin);
        (events, self.events.load(Ordering::Relaxed).saturating_sub(self.wanted.events_max))
    }
}

/// Tokens are short and come from files: a quick hash, seeded so that no one can plan collisions.
#[derive(Debug, Clone, Copy)]
struct Seed(u64);

impl Default for Seed {
    fn default() -> Self {
        Seed(RandomState::new().hash_one(0u8))
    }
}

impl BuildHasher for Seed {
    type Hasher = Quick;

    fn build_hasher(&self) -> Quick {
        Quick(self.0)
    }
}

struct Quick(u64);

impl Hasher for Quick {
    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            let product = u128::from(self.0 ^ u64::from_le_bytes(word)) * 0x9E37_79B9_7F4A_7C15;
            self.0 = (product >> 64) as u64 ^ product as u64;
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
