//! IDs of objects: their tokens, kinds and numbers.

use std::ops::Range;

use keyed::{During, missing_token};
use model::{Error, ObjectKind, Result, Token};
use objects::{ObjectClass, ObjectId, Store};
use system::sync::Mutex;

use crate::keys::GLOBAL;

/// The bits of the kind: the top two of the application's 32 bits.
const KIND_SHIFT: u32 = 30;
/// The bits of the object class: the upper 32, which belong to the store.
const CLASS_SHIFT: u32 = 32;

/// Returns the token of an object: 16 bytes, the unique ones first, in little-endian order.
pub(crate) fn token(id: ObjectId) -> Token {
    let mut token = Token::default();
    token.0[..8].copy_from_slice(&id.low.to_le_bytes());
    token.0[8..].copy_from_slice(&id.high.to_le_bytes());
    token
}

/// Returns the object of a token.
///
/// # Errors
/// Returns `NotFound` if no object can have the token.
pub(crate) fn object(token: Token) -> Result<ObjectId> {
    let both = u128::from_le_bytes(token.0);
    let id = ObjectId { high: (both >> 64) as u64, low: both as u64 };
    let class_bits = (id.high >> CLASS_SHIFT) as u32;
    let has_class = class_bits == 0 || ObjectClass::from_bits(class_bits).is_some();
    let has_other_bits = id.high as u32 & !(3 << KIND_SHIFT) != 0;
    match !has_class || has_other_bits || id.low == GLOBAL.low {
        true => Err(missing_token(token)),
        false => Ok(id),
    }
}

/// Returns the kind of an object, which stands in its ID.
pub(crate) fn kind(id: ObjectId) -> ObjectKind {
    match id.high >> KIND_SHIFT & 3 {
        0 => ObjectKind::Group,
        1 => ObjectKind::Dataset,
        2 => ObjectKind::Datatype,
        _ => ObjectKind::Map,
    }
}

/// Returns the class of an object, if its ID names one.
pub(crate) fn class(id: ObjectId) -> Option<ObjectClass> {
    ObjectClass::from_bits((id.high >> CLASS_SHIFT) as u32)
}

/// Returns the class of a name; an empty one is no class in particular.
///
/// # Errors
/// Returns `Invalid` if there is no such class.
pub(crate) fn class_of_name(name: &str) -> Result<Option<ObjectClass>> {
    let class = (!name.is_empty()).then(|| name.parse()).transpose();
    class.map_err(|error: objects::Error| Error::invalid("use object class").with("problem", error))
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

/// Numbers that are reserved at a time: on some engines this is a durable change.
const RANGE: u64 = 1024;

/// The reserved numbers for new objects.
#[derive(Debug, Default)]
pub(crate) struct Numbers(Mutex<Range<u64>>);

impl Numbers {
    /// Returns the ID of a new object.
    pub(crate) fn next(
        &self,
        store: &dyn Store,
        kind: ObjectKind,
        class: Option<ObjectClass>,
    ) -> Result<ObjectId> {
        let class = store.class_bits(class).during("use object class")?;
        let mut range = self.0.lock();
        if range.is_empty() {
            *range = store.allocate(RANGE).during("allocate object numbers")?;
        }
        let low = range.next().ok_or_else(|| Error::limit("allocate object numbers"))?;
        Ok(ObjectId { high: u64::from(class) << CLASS_SHIFT | kind_bits(kind), low })
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
    fn a_class_stands_in_the_upper_bits() {
        let (store, numbers) =
            (objects::memory::pool().create(objects::ContainerId([1; 16])).unwrap(), Numbers::default());
        let wanted: ObjectClass = "RP_2GX".parse().unwrap();
        let id = numbers.next(&*store, ObjectKind::Dataset, Some(wanted)).unwrap();
        assert_eq!(id.high, 0x0708_ffff_4000_0000);
        assert_eq!(
            (object(token(id)).unwrap(), class(id), kind(id)),
            (id, Some(wanted), ObjectKind::Dataset)
        );
        let plain = numbers.next(&*store, ObjectKind::Group, None).unwrap();
        assert_eq!((plain.high, class(plain)), (0, None));
    }

    #[test]
    fn what_is_no_object_is_not_found() {
        for token in [Token([0; 16]), Token([0xee; 16]), token(GLOBAL)] {
            assert!(object(token).is_err());
        }
    }
}
