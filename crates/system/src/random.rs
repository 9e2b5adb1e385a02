//! Random numbers that a stranger cannot predict.

use std::hash::{BuildHasher, RandomState};

/// Returns 64 random bits, from the keys that the system gives every new hash map.
pub fn u64() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

/// Returns 128 random bits.
pub fn bytes_16() -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&u64().to_le_bytes());
    bytes[8..].copy_from_slice(&u64().to_le_bytes());
    bytes
}
