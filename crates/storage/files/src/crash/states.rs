//! Systematic enumeration of crash states.

use super::Event;
use super::log::{CrashState, Log, SurvivingEvent, SurvivingPart};

/// How many pending events are enumerated in full by [`Log::states`]. Work grows as 2^n and as n!.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatesMax {
    /// Every subset is made of at most so many; more than 24 count as 24.
    pub subset_events_max: usize,
    /// Every order is made of at most so many; more than 8 count as 8.
    pub order_events_max: usize,
}

impl Default for StatesMax {
    /// Subsets of 8 (256 states), orders of 5 (120 states).
    fn default() -> Self {
        StatesMax { subset_events_max: 8, order_events_max: 5 }
    }
}

const SUBSET_EVENTS_MAX: usize = 24;
const ORDER_EVENTS_MAX: usize = 8;

impl Log {
    /// Returns the states if the process dies and the system lives: after each number of events, all of them.
    pub fn prefixes(&self) -> impl Iterator<Item = CrashState> + '_ {
        (0..=self.events().len()).map(|at| self.whole(at))
    }

    /// Returns the states if the system dies after `at` events and keeps any subset of the pending ones, in order. `None` if there are
    /// more than 24.
    pub fn subsets(&self, at: usize) -> Option<impl Iterator<Item = CrashState> + '_> {
        let pending = self.pending(at);
        let within = pending.len() <= SUBSET_EVENTS_MAX;
        within.then(|| {
            (0..1u32 << pending.len()).map(move |mask| {
                let kept = pending.clone().zip(0..).filter(|(_, bit)| mask >> bit & 1 == 1);
                state(at, kept.map(|(event, _)| whole(event)).collect())
            })
        })
    }

    /// Returns the states if the system dies after `at` events and keeps all pending ones, in any order. `None` if there are more than 8.
    pub fn orders(&self, at: usize) -> Option<impl Iterator<Item = CrashState> + '_> {
        let pending = self.pending(at);
        let within = pending.len() <= ORDER_EVENTS_MAX;
        within.then(|| {
            let count: usize = (1..=pending.len()).product();
            (0..count).map(move |rank| state(at, permutation(pending.clone().collect(), rank)))
        })
    }

    /// Returns the states if the system dies after `at` events and keeps all pending ones but a part of one write: its first sectors, its
    /// last sectors, or its length only.
    pub fn tears(&self, at: usize) -> impl Iterator<Item = CrashState> + '_ {
        let pending = self.pending(at);
        pending.clone().flat_map(move |torn| {
            let pending = pending.clone();
            self.parts(torn).into_iter().map(move |part| {
                let kept = |event| SurvivingEvent {
                    event,
                    part: if event == torn { part.clone() } else { SurvivingPart::Whole },
                };
                state(at, pending.clone().map(kept).collect())
            })
        })
    }

    /// Returns the states if the system dies just before a write would have been synced. Of that write it keeps nothing, a part, or noise, or it alone is
    /// kept; all other pending events are kept, or none.
    pub fn faults(&self, event: usize) -> impl Iterator<Item = CrashState> + '_ {
        let issued = self.events().iter().skip(event).position(|e| matches!(e, Event::Sync(_)));
        let at = issued.map_or(self.events().len(), |n| event + n);
        let pending = self.pending(at);
        let with = move |part: Option<SurvivingPart>| {
            let part = move |e| if e == event { part.clone() } else { Some(SurvivingPart::Whole) };
            let kept =
                pending.clone().filter_map(|event| part(event).map(|part| SurvivingEvent { event, part }));
            state(at, kept.collect())
        };
        let sectors = self.events()[event].sectors().len();
        let noisy = [vec![true; sectors], (0..sectors).map(|s| s % 2 == 0).collect()];
        let noisy = noisy.into_iter().filter(move |_| sectors > 0).map(SurvivingPart::Noise);
        let parts = self.parts(event).into_iter().chain(noisy).map(Some);
        let alone = state(at, vec![whole(event)]);
        std::iter::once(None).chain(parts).map(with).chain([alone])
    }

    /// Prefixes, tears, and, as far as `max` allows, subsets and orders, for a crash at every point.
    pub fn states(&self, max: StatesMax) -> impl Iterator<Item = CrashState> + '_ {
        (0..=self.events().len()).flat_map(move |at| {
            let pending = self.pending(at).len();
            let subsets = (pending <= max.subset_events_max).then(|| self.subsets(at)).flatten();
            let orders = (pending <= max.order_events_max).then(|| self.orders(at)).flatten();
            let systematic = subsets.into_iter().flatten().chain(orders.into_iter().flatten());
            std::iter::once(self.whole(at)).chain(self.tears(at)).chain(systematic)
        })
    }

    fn whole(&self, at: usize) -> CrashState {
        state(at, self.pending(at).map(whole).collect())
    }

    /// Returns the ways to keep a proper part of an event.
    fn parts(&self, event: usize) -> Vec<SurvivingPart> {
        let sectors = self.events()[event].sectors().len();
        if sectors == 0 {
            return Vec::new();
        }
        let mask = |kept: &dyn Fn(usize) -> bool| SurvivingPart::Sectors((0..sectors).map(kept).collect());
        let first = (1..sectors).map(|cut| mask(&|sector| sector < cut));
        let last = (1..sectors).map(|cut| mask(&|sector| sector >= cut));
        first.chain(last).chain([SurvivingPart::Length]).collect()
    }
}

fn state(at: usize, kept: Vec<SurvivingEvent>) -> CrashState {
    CrashState { at, kept, drawn: None }
}

fn whole(event: usize) -> SurvivingEvent {
    SurvivingEvent { event, part: SurvivingPart::Whole }
}

/// Returns the permutation of `events` with the given rank, by factorial digits.
fn permutation(mut events: Vec<usize>, mut rank: usize) -> Vec<SurvivingEvent> {
    let mut kept = Vec::with_capacity(events.len());
    while !events.is_empty() {
        let digit = rank % events.len();
        rank /= events.len();
        kept.push(whole(events.remove(digit)));
    }
    kept
}
