//! Tokens: the identity of an object in its container.

use std::fmt;

/// Sixteen bytes that name a group, dataset, committed datatype or map in one container.
/// Their meaning is the container's own: an address, an object ID, the hash of a path.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Token(pub [u8; 16]);

impl Token {
    /// Returns a token made of one number, as containers with addresses use it.
    pub fn from_u64(n: u64) -> Self {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&n.to_le_bytes());
        Token(bytes)
    }

    /// Returns the number of [`Token::from_u64`].
    pub fn to_u64(self) -> u64 {
        let mut low = [0; 8];
        low.copy_from_slice(&self.0[..8]);
        u64::from_le_bytes(low)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({:#x})", u128::from_le_bytes(self.0))
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", u128::from_le_bytes(self.0))
    }
}
