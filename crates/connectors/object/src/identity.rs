//! Identities of objects: tokens, kinds, and numbers that nobody else gets.

use std::ops::Range;

use model::{Error, ObjectKind, Result, Token};
use objects::{ObjectId, Store};
use system::sync::Mutex;

use crate::error::stored;
use crate::keys::GLOBAL;

/// Where the kind stands: the top two of the application's 32 bits.
const KIND_SHIFT: u32 = 30;

/// The token of an object: 16 bytes, the unique ones first, little-endian as the design has them.
pub(crate) fn token(id: ObjectId) -> Token {
    let mut token = Token::default();
    token.0[..8].copy_from_slice(&id.low.to_le_bytes());
    token.0[8..].copy_from_slice(&id.high.to_le_bytes());
    token
}

/// The inverse of [`token`]; what cannot be an object of ours is not found.
pub(crate) fn object(token: Token) -> Result<ObjectId> {
    let both = u128::from_le_bytes(token.0);
    let id = ObjectId { high: (both >> 64) as u64, low: both as u64 };
    let has_other_bits = id.high & !(3 << KIND_SHIFT) != 0;
    match has_other_bits || id.low == GLOBAL.low {
        true => Err(missing(token)),
        false => Ok(id),
    }
}

pub(crate) fn missing(token: Token) -> Error {
    Error::not_found("find object").with("token", token)
}

/// What an object is: its identity says so.
pub(crate) fn kind(id: ObjectId) -> ObjectKind {
    match id.high >> KIND_SHIFT & 3 {
        0 => ObjectKind::Group,
        1 => ObjectKind::Dataset,
        2 => ObjectKind::Datatype,
        _ => ObjectKind::Map,
    }
}

fn kind_bits(kind: ObjectKind) -> u64 {
    let number = match kind {
        ObjectKind::Group => 0,
        ObjectKind::Dataset => 1,
        ObjectKind::Datatype => 2,
        ObjectKind::Map => 3,
    };
    number << KIND_SHIFT
}

/// Numbers taken from the store at a time: on some engines each time is a durable change.
const RANGE: u64 = 1024;

/// Numbers for new objects.
#[derive(Debug, Default)]
pub(crate) struct Numbers(Mutex<Range<u64>>);

impl Numbers {
    /// An identity that nobody has.
    pub(crate) fn next(&self, store: &dyn Store, kind: ObjectKind) -> Result<ObjectId> {
        let mut range = self.0.lock();
        if range.is_empty() {
            *range = store.allocate(RANGE).map_err(|e| stored("take numbers for objects", &e))?;
        }
        let low = range.next().ok_or_else(|| Error::limit("take numbers for objects"))?;
        Ok(ObjectId { high: kind_bits(kind), low })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::ROOT;

    #[test]
    fn tokens_are_the_bytes_of_identities() {
        let id = ObjectId { high: kind_bits(ObjectKind::Map), low: 0x0102 };
        assert_eq!(token(id).0, [2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xc0, 0, 0, 0, 0]);
        assert_eq!(object(token(id)).unwrap(), id);
        assert_eq!((kind(id), kind(ROOT)), (ObjectKind::Map, ObjectKind::Group));
    }

    #[test]
    fn what_is_no_object_is_not_found() {
        for token in [Token([0; 16]), Token([0xee; 16]), token(GLOBAL)] {
            assert!(object(token).is_err());
        }
    }
}
