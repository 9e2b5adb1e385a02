//! Randomness of the operating system.

use std::hash::{BuildHasher, RandomState};
use std::io;

/// Returns 16 bytes that no other call returns: for identities and salts. Where the system has no source of random bytes, they
/// come from the keys of hash maps.
pub fn unique() -> [u8; 16] {
    let mut bytes = [0; 16];
    if fill(&mut bytes).is_err() {
        bytes[..8].copy_from_slice(&RandomState::new().hash_one(0).to_le_bytes());
        bytes[8..].copy_from_slice(&RandomState::new().hash_one(1).to_le_bytes());
    }
    bytes
}

/// Fills a buffer with bytes that no one can foresee: for tokens.
///
/// # Errors
/// Returns an error of kind `Unsupported` if the system has no such source.
#[cfg(any(unix, windows))]
pub fn fill(bytes: &mut [u8]) -> io::Result<()> {
    Ok(getrandom::fill(bytes)?)
}

/// Returns `Unsupported`: this system has no source of random bytes.
#[cfg(not(any(unix, windows)))]
pub fn fill(_: &mut [u8]) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_differ_from_call_to_call() {
        assert_ne!(unique(), unique());
        let mut bytes = [0; 32];
        fill(&mut bytes).unwrap();
        assert_ne!(bytes, [0; 32]);
    }
}
