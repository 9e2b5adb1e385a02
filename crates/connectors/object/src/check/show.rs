//! Keys and values in words.

use model::{Datatype, Limits, LinkTarget, ObjectKind, Result, Token, encode, text};
use objects::ObjectId;

use crate::identity;
use crate::keys::*;
use crate::slots::{ID_BYTES, decode_type};

/// Bytes of a value that are shown where nobody knows what they mean.
const BYTES_MAX: usize = 24;

fn hex(bytes: &[u8]) -> String {
    let shown: String = bytes.iter().take(BYTES_MAX).map(|byte| format!("{byte:02x}")).collect();
    if bytes.len() > BYTES_MAX { format!("{shown}… ({} bytes)", bytes.len()) } else { shown }
}

fn is_text(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ')
}

fn plain(bytes: &[u8]) -> String {
    match is_text(bytes) {
        true => format!("\"{}\"", text::from_bytes(bytes)),
        false => hex(bytes),
    }
}

/// A dkey, or an akey of one.
pub(super) fn key(object: ObjectId, dkey: Option<&[u8]>, key: &[u8]) -> String {
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

fn shown<T: std::fmt::Debug>(decoded: Result<T>) -> String {
    match decoded {
        Ok(value) => format!("{value:?}"),
        Err(error) => format!("broken: {error}"),
    }
}

fn link(value: &[u8]) -> String {
    match link_target(value) {
        Ok(LinkTarget::Hard(token)) => object(token),
        Ok(LinkTarget::Soft(path)) => format!("soft link to \"{path}\""),
        Ok(LinkTarget::External { file, path }) => format!("external link to \"{path}\" in \"{file}\""),
        Ok(LinkTarget::User { class, data }) => format!("link of class {class}: {}", hex(&data)),
        Err(error) => format!("broken: {error}"),
    }
}

fn object(token: Token) -> String {
    match identity::object(token) {
        Ok(id) => format!("{} {id}", identity::kind(id).name()),
        Err(error) => format!("broken: {error}"),
    }
}

fn datatype(value: &[u8], limits: &Limits) -> String {
    match decode_type(value, limits) {
        Ok(Datatype::Integer(i)) => {
            format!("{}integer of {} bytes", if i.signed { "" } else { "unsigned " }, i.bits.size)
        }
        Ok(Datatype::Float(f)) => format!("float of {} bytes", f.bits.size),
        decoded => shown(decoded),
    }
}

fn space(value: &[u8], limits: &Limits) -> String {
    match encode::decode_space_of(value, limits) {
        Ok(space) if space.rank() > 0 => format!("{:?} of at most {:?}", space.dims(), space.max_dims()),
        decoded => shown(decoded),
    }
}

fn creation(id: ObjectId, value: &[u8], limits: &Limits) -> String {
    if id == GLOBAL {
        return shown(encode::decode_file_create(value));
    }
    match identity::kind(id) {
        ObjectKind::Group => shown(encode::decode_group_create(value)),
        ObjectKind::Dataset => shown(encode::decode_dataset_create(value, limits)),
        ObjectKind::Datatype => shown(encode::decode_object_create(encode::ObjectClass::Datatype, value)),
        ObjectKind::Map => shown(encode::decode_object_create(encode::ObjectClass::Map, value)),
    }
}

fn counter(value: &[u8]) -> String {
    match value.len() {
        4 => u32::from_le_bytes(value.try_into().unwrap_or_default()).to_string(),
        8 => u64::from_le_bytes(value.try_into().unwrap_or_default()).to_string(),
        _ => hex(value),
    }
}

/// A single value.
pub(super) fn value(id: ObjectId, dkey: &[u8], akey: &[u8], value: &[u8], limits: &Limits) -> String {
    match (dkey, akey) {
        (INTERNAL, CREATION) => creation(id, value, limits),
        (INTERNAL, DATATYPE | KEY_DATATYPE | VALUE_DATATYPE) => datatype(value, limits),
        (INTERNAL, DATASPACE) => space(value, limits),
        (INTERNAL, COMMITTED) => value.try_into().map_or_else(|_| hex(value), |token| object(Token(token))),
        (INTERNAL, CHUNK_SHAPE) => shown(shape_of(value)),
        (INTERNAL, REFERENCES | LAYOUT_VERSION) => counter(value),
        (_, LINK) => link(value),
        (_, LINK_ORDER) | (ORDER, ORDER_NEXT | ORDER_COUNT) => counter(value),
        (ORDER, akey) if akey.len() == 9 => link(value),
        (ATTRIBUTES, ATTRIBUTE_NEXT | ATTRIBUTE_COUNT) => counter(value),
        (ATTRIBUTES, [b'T', b'-', ..]) => datatype(value, limits),
        (ATTRIBUTES, [b'S', b'-', ..]) => space(value, limits),
        (ATTRIBUTES, [b'P', b'-', ..]) => shown(encode::decode_attribute_create(value)),
        (ATTRIBUTES, [b'C', b'-', ..]) => counter(value),
        (ATTRIBUTES, [b'D', b'-', ..]) => {
            value.try_into().map_or_else(|_| hex(value), |token| object(Token(token)))
        }
        (_, FILTER_MASK) => counter(value),
        (_, MAP) => hex(value),
        _ => plain(value),
    }
}
