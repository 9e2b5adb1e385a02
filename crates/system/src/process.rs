//! This process.

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
