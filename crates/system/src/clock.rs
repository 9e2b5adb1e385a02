//! The time of day.

use std::time::{SystemTime, UNIX_EPOCH};

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
