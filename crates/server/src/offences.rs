//! A caller that is refused again and again waits before it hears of it, longer each time.

use std::collections::HashMap;
use std::time::Duration;

use system::clock::Instant;

use system::sync::Mutex;

use crate::party::Party;

/// Refusals that anybody may have without waiting: programs look what they may do.
const FREE: f64 = 64.0;
/// The delay of the next refusal; each is twice as long as the one before.
const DELAY_FIRST: Duration = Duration::from_millis(10);
/// Refusals beyond these do not count: a caller that stops is forgiven soon.
const COUNT_MAX: f64 = FREE + 16.0;
/// Refusals that are forgiven in a second.
const FORGIVEN_PER_SECOND: f64 = 1.0;
/// Parties that are remembered; where there are more, those that are forgiven go, then all.
const PARTIES_MAX: usize = 1024;

/// Refusals of each party.
#[derive(Debug)]
pub(crate) struct Offences {
    delay_max: Duration,
    counts: Mutex<HashMap<Party, (f64, Instant)>>,
}

impl Offences {
    pub(crate) fn new(delay_max: Duration) -> Self {
        Offences { delay_max, counts: Mutex::default() }
    }

    /// Returns one more; how long its answer has to wait.
    pub(crate) fn count(&self, party: &Party) -> Duration {
        self.count_at(party, Instant::now())
    }

    /// Returns how long new connections of a party have to wait.
    pub(crate) fn delay(&self, party: &Party) -> Duration {
        let now = Instant::now();
        self.delay_of(self.counts.lock().get(party).map_or(0.0, |entry| left(*entry, now)))
    }

    fn count_at(&self, party: &Party, now: Instant) -> Duration {
        let counts = &mut *self.counts.lock();
        if counts.len() >= PARTIES_MAX {
            forget(counts, now);
        }
        let entry = counts.entry(party.clone()).or_insert((0.0, now));
        *entry = ((left(*entry, now) + 1.0).min(COUNT_MAX), now);
        self.delay_of(entry.0)
    }

    fn delay_of(&self, count: f64) -> Duration {
        match count - FREE {
            over if over <= 0.0 => Duration::ZERO,
            over => DELAY_FIRST.mul_f64(over.exp2() / 2.0).min(self.delay_max),
        }
    }
}

/// Returns what is not forgiven yet.
fn left((count, at): (f64, Instant), now: Instant) -> f64 {
    (count - now.saturating_duration_since(at).as_secs_f64() * FORGIVEN_PER_SECOND).max(0.0)
}

fn forget(counts: &mut HashMap<Party, (f64, Instant)>, now: Instant) {
    counts.retain(|_, entry| left(*entry, now) > 0.0);
    if counts.len() >= PARTIES_MAX {
        counts.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: Duration = Duration::from_secs(1);

    fn token(name: &str) -> Party {
        Party::Token(name.to_owned())
    }

    #[test]
    fn delays_grow_with_refusals_up_to_a_bound_and_are_forgiven() {
        let (offences, now) = (Offences::new(MAX), Instant::now());
        let party = token("eve");
        let delays: Vec<Duration> = (0..200).map(|_| offences.count_at(&party, now)).collect();
        let free = FREE as usize;
        assert!(delays[..free].iter().all(Duration::is_zero), "{delays:?}");
        assert_eq!(delays[free..free + 3], [1, 2, 4].map(|n| DELAY_FIRST * n));
        assert_eq!(delays[199], MAX);
        let later = now + Duration::from_secs_f64(COUNT_MAX);
        assert!(offences.count_at(&party, later).is_zero());
    }

    #[test]
    fn nobody_waits_for_refusals_of_others() {
        let (offences, now) = (Offences::new(MAX), Instant::now());
        for _ in 0..200 {
            offences.count_at(&token("eve"), now);
        }
        assert!(offences.delay(&token("ann")).is_zero());
        assert!(offences.count_at(&token("ann"), now).is_zero());
    }

    #[test]
    fn parties_that_come_once_do_not_fill_memory() {
        let (offences, now) = (Offences::new(MAX), Instant::now());
        for n in 0..10 * PARTIES_MAX as u32 {
            offences.count_at(&Party::Stranger(Some(system::socket::Ipv4Addr::from(n).into())), now);
        }
        assert!(offences.counts.lock().len() <= PARTIES_MAX);
    }
}
