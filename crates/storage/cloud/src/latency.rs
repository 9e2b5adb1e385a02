//! Response times of servers, as this process has measured them.

use std::collections::HashMap;
use std::sync::LazyLock;
use std::time::Duration;

use system::sync::Mutex;

static SEEN: LazyLock<Mutex<HashMap<String, Duration>>> = LazyLock::new(Mutex::default);

/// Servers that are remembered.
const SERVERS_MAX: usize = 1024;

/// Returns the usual time to the first byte of an answer of `server`, if one was seen.
pub(crate) fn of(server: &str) -> Option<Duration> {
    SEEN.lock().get(server).copied()
}

/// Takes an answer into account. New ones count for a quarter.
pub(crate) fn note(server: &str, took: Duration) {
    let mut seen = SEEN.lock();
    if seen.len() >= SERVERS_MAX && !seen.contains_key(server) {
        seen.clear();
    }
    let usual = seen.entry(server.to_owned()).or_insert(took);
    *usual = (*usual * 3 + took) / 4;
}
