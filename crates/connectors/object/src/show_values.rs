//! Keys and values as text.

use keyed::Identities;
use keyed::show::{decoded, hex, plain};
use model::{Datatype, Limits, ObjectKind, Token, encode};
use objects::ObjectId;

use crate::ObjectMapping;
use crate::blobs::ID_BYTES;
use crate::identity;
use crate::keys::*;

/// Returns a dkey as text, or an akey of `dkey`.
pub(crate) fn key(object: ObjectId, dkey: Option<&[u8]>, key: &[u8]) -> String {
    let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap_or_default());
    match (dkey, key) {
        (None, key) if object == GLOBAL && key.len() == ID_BYTES => format!("UUID {}", hex(key)),
        (None, [0, rest @ ..]) if identity::kind(object) == ObjectKind::Dataset => {
            let start: Vec<u64> = rest.chunks_exact(8).map(number).collect();
            format!("chunk {start:?}")
        }
        (Some(_), [0]) => "[0]".to_owned(),
        (Some(ORDER), key) if key.len() == 8 => format!("place {}", number(key)),
        (Some(ORDER), [place @ .., 0]) if place.len() == 8 => format!("place {} target", number(place)),
        (Some(ATTRIBUTES), [0, place @ ..]) if place.len() == 8 => format!("place {}", number(place)),
        (_, key) => plain(key),
    }
}

fn link(value: &[u8]) -> String {
    keyed::show::link(link_target(value), object)
}

fn object(token: Token) -> String {
    match identity::object(token) {
        Ok(id) => format!("{} {id}", identity::kind(id).name()),
        Err(error) => format!("broken: {error}"),
    }
}

fn datatype(value: &[u8], limits: &Limits) -> String {
    match ObjectMapping::decode_datatype(value, limits) {
        Ok(Datatype::Integer(i)) => {
            format!("{}integer of {} bytes", if i.signed { "" } else { "unsigned " }, i.bits.size)
        }
        Ok(Datatype::Float(f)) => format!("float of {} bytes", f.bits.size),
        other => decoded(other),
    }
}

fn space(value: &[u8], limits: &Limits) -> String {
    match encode::decode_space_of(value, limits) {
        Ok(space) if space.rank() > 0 => format!("{:?} of at most {:?}", space.dims(), space.max_dims()),
        other => decoded(other),
    }
}

fn creation(id: ObjectId, value: &[u8], limits: &Limits) -> String {
    if id == GLOBAL {
        return decoded(encode::decode_file_create(value));
    }
    match identity::kind(id) {
        ObjectKind::Group => decoded(encode::decode_group_create(value)),
        ObjectKind::Dataset => decoded(encode::decode_dataset_create(value, limits)),
        ObjectKind::Datatype => decoded(encode::decode_object_create(encode::ObjectClass::Datatype, value)),
        ObjectKind::Map => decoded(encode::decode_object_create(encode::ObjectClass::Map, value)),
    }
}

fn counter(value: &[u8]) -> String {
    match value.len() {
        4 => u32::from_le_bytes(value.try_into().unwrap_or_default()).to_string(),
        8 => u64::from_le_bytes(value.try_into().unwrap_or_default()).to_string(),
        _ => hex(value),
    }
}

/// Returns a single value as text.
pub(crate) fn value(id: ObjectId, dkey: &[u8], akey: &[u8], value: &[u8], limits: &Limits) -> String {
    match (dkey, akey) {
        (INTERNAL, CREATION) => creation(id, value, limits),
        (INTERNAL, DATATYPE | KEY_DATATYPE | VALUE_DATATYPE) => datatype(value, limits),
        (INTERNAL, DATASPACE) => space(value, limits),
        (INTERNAL, COMMITTED) => value.try_into().map_or_else(|_| hex(value), |token| object(Token(token))),
        (INTERNAL, CHUNK_SHAPE) => decoded(shape_of(value)),
        (INTERNAL, REFERENCES | DAOS_REFERENCES | LAYOUT_VERSION) => counter(value),
        (_, LINK) => link(value),
        (_, LINK_ORDER) | (ORDER, ORDER_NEXT | ORDER_COUNT) => counter(value),
        (ORDER, akey) if akey.len() == 9 => link(value),
        (ATTRIBUTES, ATTRIBUTE_NEXT | ATTRIBUTE_COUNT) => counter(value),
        (ATTRIBUTES, [b'T', b'-', ..]) => datatype(value, limits),
        (ATTRIBUTES, [b'S', b'-', ..]) => space(value, limits),
        (ATTRIBUTES, [b'P', b'-', ..]) => decoded(encode::decode_attribute_create(value)),
        (ATTRIBUTES, [b'C', b'-', ..]) => counter(value),
        (ATTRIBUTES, [b'D', b'-', ..]) => {
            value.try_into().map_or_else(|_| hex(value), |token| object(Token(token)))
        }
        (_, FILTER_MASK) => counter(value),
        (INTERNAL, EMPTY_KEY) | (_, MAP | DAOS_MAP) => hex(value),
        _ => plain(value),
    }
}
