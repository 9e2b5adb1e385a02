//! Identities of containers and objects.

use std::fmt;

/// A container's UUID.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContainerId(pub [u8; 16]);

/// An object's 128 bits: 32 for the store, 32 for the application, 64 that are unique.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId {
    /// The store's and the application's bits.
    pub high: u64,
    /// The unique half.
    pub low: u64,
}

/// The name space of hashed names, as RFC 4122 asks of a name-based UUID. It is part of the format: never change it.
const NAME_SPACE: [u8; 16] = *b"hyperslab/object";

impl ContainerId {
    /// Returns the identity of the container with this name: a UUID of version 5, the same everywhere and always.
    #[must_use]
    pub fn from_name(name: &str) -> ContainerId {
        let mut hash = sha1_smol::Sha1::new();
        hash.update(&NAME_SPACE);
        hash.update(name.as_bytes());
        let digest = hash.digest().bytes();
        let mut id = [0; 16];
        id.copy_from_slice(&digest[..16]);
        id[6] = id[6] & 0x0f | 0x50;
        id[8] = id[8] & 0x3f | 0x80;
        ContainerId(id)
    }

    /// Parses what `Display` writes, or returns `None` for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<ContainerId> {
        let digits: Vec<u8> = text.bytes().filter(|&byte| byte != b'-').collect();
        let mut id = [0; 16];
        for (byte, pair) in id.iter_mut().zip(digits.chunks(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        let id = ContainerId(id);
        (id.to_string() == text).then_some(id)
    }
}

impl ObjectId {
    /// Returns 16 bytes whose order is that of the identities.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 16] {
        (u128::from(self.high) << 64 | u128::from(self.low)).to_be_bytes()
    }

    /// Returns the identity of bytes that [`ObjectId::to_bytes`] returned.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 16]) -> ObjectId {
        let both = u128::from_be_bytes(bytes);
        ObjectId { high: (both >> 64) as u64, low: both as u64 }
    }
}

impl fmt::Debug for ContainerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for ContainerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, byte) in self.0.iter().enumerate() {
            let dash = if matches!(i, 4 | 6 | 8 | 10) { "-" } else { "" };
            write!(f, "{dash}{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}.{:016x}", self.high, self.low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_always_has_the_same_identity() {
        let id = ContainerId::from_name("run.h5");
        assert_eq!(id, ContainerId::from_name("run.h5"));
        assert_ne!(id, ContainerId::from_name("run.h6"));
        assert_eq!(id.to_string(), "c5b1e960-4a8c-53ad-915d-d93a41183561");
        assert_eq!(ContainerId::parse(&id.to_string()), Some(id));
    }

    #[test]
    fn what_is_no_identity_is_not_parsed() {
        for text in
            ["", "run.h5", "00000000-0000-0000-0000-00000000000", "+0000000-0000-0000-0000-000000000000"]
        {
            assert_eq!(ContainerId::parse(text), None, "{text}");
        }
    }

    #[test]
    fn bytes_of_an_object_identity_keep_its_order() {
        let (small, large) = (ObjectId { high: 1, low: u64::MAX }, ObjectId { high: 2, low: 0 });
        assert!(small.to_bytes() < large.to_bytes());
        assert_eq!(ObjectId::from_bytes(small.to_bytes()), small);
    }
}
