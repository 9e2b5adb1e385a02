//! Clocks: the time of day, and time that passes.
//!
//! Tests can put the clock of their process forward ([`virtual_time`]): leases run out and waits end at once, in the same code
//! that runs on the real clock.

use std::ops::{Add, Sub};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Returns the time of day. Where the system has no clock it is the beginning of 1970.
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
pub fn now() -> SystemTime {
    SystemTime::now()
}

/// Returns the beginning of 1970: this system has no clock.
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
pub fn now() -> SystemTime {
    UNIX_EPOCH
}

/// Returns the seconds since 1970 as HDF5 files store them: until 2106 they fit.
pub fn seconds() -> u32 {
    let since = now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    u32::try_from(since).unwrap_or(u32::MAX)
}

/// A moment of a clock that never goes back, as [`std::time::Instant`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(std::time::Instant);

impl Instant {
    /// Returns this moment.
    pub fn now() -> Self {
        Instant(std::time::Instant::now() + skipped())
    }

    /// Returns the time since then.
    pub fn elapsed(self) -> Duration {
        Self::now().duration_since(self)
    }

    /// Returns the time between an earlier moment and this one; zero if it is not earlier.
    pub fn duration_since(self, earlier: Self) -> Duration {
        self.0.saturating_duration_since(earlier.0)
    }

    /// Returns the time between an earlier moment and this one; zero if it is not earlier.
    pub fn saturating_duration_since(self, earlier: Self) -> Duration {
        self.0.saturating_duration_since(earlier.0)
    }

    /// Returns the time between an earlier moment and this one, or `None` if it is not earlier.
    pub fn checked_duration_since(self, earlier: Self) -> Option<Duration> {
        self.0.checked_duration_since(earlier.0)
    }

    /// Returns the moment after a time, or `None` if the clock does not reach that far.
    pub fn checked_add(self, time: Duration) -> Option<Self> {
        self.0.checked_add(time).map(Instant)
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;
    fn add(self, time: Duration) -> Instant {
        Instant(self.0 + time)
    }
}

impl Sub<Instant> for Instant {
    type Output = Duration;
    fn sub(self, earlier: Instant) -> Duration {
        self.duration_since(earlier)
    }
}

/// Nanoseconds by which tests put the clock forward.
static SKIPPED: AtomicU64 = AtomicU64::new(0);
static IS_VIRTUAL: AtomicBool = AtomicBool::new(false);

/// While time is virtual, those that wait look so often whether it was put forward.
const LOOK_EVERY: Duration = Duration::from_millis(1);

fn skipped() -> Duration {
    Duration::from_nanos(SKIPPED.load(Ordering::Relaxed))
}

/// Returns how long to wait on the real clock before the time that is left is looked at again.
pub(crate) fn real_wait(left: Duration) -> Duration {
    if IS_VIRTUAL.load(Ordering::Relaxed) { left.min(LOOK_EVERY) } else { left }
}

/// Time that tests put forward.
#[derive(Debug)]
pub struct VirtualTime(());

/// Makes the time of this process virtual: from now on, what waits with a limit ends when the clock is put forward that far.
/// It goes on as the real clock does besides. For tests.
pub fn virtual_time() -> VirtualTime {
    IS_VIRTUAL.store(true, Ordering::Relaxed);
    VirtualTime(())
}

impl VirtualTime {
    /// Puts the clock forward.
    pub fn advance(&self, by: Duration) {
        SKIPPED.fetch_add(u64::try_from(by.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::{Condvar, Mutex};
    use crate::thread;

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn what_waits_ends_when_the_clock_is_put_forward() {
        let time = virtual_time();
        let (begun, real) = (Instant::now(), std::time::Instant::now());
        let (lock, changed) = (Mutex::new(()), Condvar::new());
        std::thread::scope(|scope| {
            scope.spawn(|| thread::sleep(HOUR));
            scope.spawn(|| drop(changed.wait_timeout_while(lock.lock(), HOUR, |()| true)));
            std::thread::sleep(Duration::from_millis(5));
            time.advance(2 * HOUR);
        });
        assert!(begun.elapsed() >= 2 * HOUR);
        assert!(real.elapsed() < HOUR);
    }

    #[test]
    fn moments_are_compared_and_counted_like_those_of_the_standard_library() {
        let now = Instant::now();
        let later = now + HOUR;
        assert_eq!(later - now, HOUR);
        assert_eq!(now - later, Duration::ZERO);
        assert_eq!(now.checked_duration_since(later), None);
        assert!(now < later && now.checked_add(Duration::MAX).is_none());
    }
}
