//! Identities and scratch pads.

use std::fmt;

use objects::ObjectId;

/// The three kinds of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Ordered pairs.
    KeyValue,
    /// Cells in n dimensions.
    Array,
    /// A row of bytes.
    Blob,
}

/// An object's 64 bits: its kind in the top two (0 key-value store, 1 array, 2 blob), its number in the others. Each
/// kind has numbers of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(pub u64);

const KIND_SHIFT: u32 = 62;

impl Id {
    /// The identity of no object, where a scratch pad has an unused place.
    pub const UNDEFINED: Id = Id(u64::MAX);

    /// Returns the object of a kind with a number, of which there are 2^62.
    #[must_use]
    pub const fn new(kind: Kind, number: u64) -> Id {
        let bits = match kind {
            Kind::KeyValue => 0,
            Kind::Array => 1,
            Kind::Blob => 2,
        };
        Id(bits << KIND_SHIFT | number & ((1 << KIND_SHIFT) - 1))
    }

    /// Returns what the object is; `None` for what cannot be one.
    #[must_use]
    pub const fn kind(self) -> Option<Kind> {
        match self.0 >> KIND_SHIFT {
            0 => Some(Kind::KeyValue),
            1 => Some(Kind::Array),
            2 => Some(Kind::Blob),
            _ => None,
        }
    }

    /// Returns its number among those of its kind.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0 & ((1 << KIND_SHIFT) - 1)
    }

    /// Returns whether it is the identity of no object.
    #[must_use]
    pub fn is_undefined(self) -> bool {
        self == Id::UNDEFINED
    }

    /// Eight bytes, the lowest first.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 8] {
        self.0.to_le_bytes()
    }

    /// The inverse of [`Id::to_bytes`].
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 8]) -> Id {
        Id(u64::from_le_bytes(bytes))
    }

    /// Returns where it lies in the inner store.
    pub(crate) fn object(self) -> ObjectId {
        ObjectId { high: self.0 >> KIND_SHIFT, low: self.number() }
    }

    /// Returns the ID of an object of the store, or `None` if it is no object of a user.
    pub(crate) fn of(object: ObjectId) -> Option<Id> {
        let id = Id(object.high.checked_shl(KIND_SHIFT)? | object.low);
        (object.high < 3 && id.object() == object).then_some(id)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            Some(Kind::KeyValue) => write!(f, "KV {}", self.number()),
            Some(Kind::Array) => write!(f, "array {}", self.number()),
            Some(Kind::Blob) => write!(f, "blob {}", self.number()),
            None if self.is_undefined() => write!(f, "UNDEFINED"),
            None => write!(f, "{:#x}", self.0),
        }
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Four identities that belong to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScratchPad(pub [Id; 4]);

/// Bytes of a scratch pad.
pub(crate) const PAD_BYTES: usize = 32;

impl ScratchPad {
    /// A pad with nothing on it.
    pub const NULL: ScratchPad = ScratchPad([Id::UNDEFINED; 4]);

    /// Returns a pad with up to four identities; the others are undefined.
    #[must_use]
    pub fn with(ids: &[Id]) -> ScratchPad {
        let mut pad = ScratchPad::NULL;
        pad.0.iter_mut().zip(ids).for_each(|(place, id)| *place = *id);
        pad
    }

    /// Returns its 32 bytes, the first identity first.
    #[must_use]
    pub fn to_bytes(self) -> [u8; PAD_BYTES] {
        let mut bytes = [0; PAD_BYTES];
        for (place, id) in bytes.as_chunks_mut().0.iter_mut().zip(self.0) {
            *place = id.to_bytes();
        }
        bytes
    }

    /// The inverse of [`ScratchPad::to_bytes`].
    #[must_use]
    pub fn from_bytes(bytes: &[u8; PAD_BYTES]) -> ScratchPad {
        let mut pad = ScratchPad::NULL;
        pad.0.iter_mut().zip(bytes.as_chunks().0).for_each(|(id, bytes)| *id = Id::from_bytes(*bytes));
        pad
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_numbers_of_their_own() {
        assert_eq!(Id::new(Kind::KeyValue, 0), Id(0));
        for kind in [Kind::KeyValue, Kind::Array, Kind::Blob] {
            let id = Id::new(kind, 77);
            assert_eq!((id.kind(), id.number()), (Some(kind), 77));
            assert_eq!(Id::of(id.object()), Some(id));
            assert_eq!(Id::from_bytes(id.to_bytes()), id);
        }
        assert_eq!(Id::UNDEFINED.kind(), None);
        assert_eq!(Id::of(ObjectId { high: 3, low: 0 }), None);
        assert_eq!(Id::of(ObjectId { high: 1, low: u64::MAX }), None);
    }

    #[test]
    fn pads_are_their_32_bytes() {
        let pad = ScratchPad::with(&[Id(1), Id(2)]);
        assert_eq!(pad.to_bytes()[..16], [1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(pad.to_bytes()[16..], [0xff; 16]);
        assert_eq!(ScratchPad::from_bytes(&pad.to_bytes()), pad);
    }
}
