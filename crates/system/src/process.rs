//! This process.

use std::sync::atomic::{AtomicU32, Ordering};

static FORKS: AtomicU32 = AtomicU32::new(0);

/// Returns a number that differs between a process and its children, as far as [`note_fork`] is called in them. It costs less
/// than asking the system for [`id`].
pub fn generation() -> u32 {
    FORKS.load(Ordering::Relaxed)
}

/// Notes that this process was forked from another. A bridge to a language whose programs fork calls it in the child.
pub fn note_fork() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// Returns the number of this process, or 0 where the system has no processes.
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
pub fn id() -> u32 {
    std::process::id()
}

/// Returns 0: this system has no processes.
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
pub fn id() -> u32 {
    0
}
