//! Every key of the layout, and the values that have a form of their own. `docs/object-layout.md` says the same.

use model::bytes::{Cursor, Put};
use model::{Error, LinkTarget, Result, Token};
use objects::ObjectId;

use crate::identity;

/// The version of the layout that is written.
pub const VERSION: u32 = 1;

/// The object of global metadata.
pub const GLOBAL: ObjectId = ObjectId { high: 0, low: 0 };
/// The root group.
pub const ROOT: ObjectId = ObjectId { high: 0, low: 1 };

/// The dkey of what an object is.
pub const INTERNAL: &[u8] = b"/Internal Metadata";
/// Creation properties, as `H5Pencode` makes them.
pub const CREATION: &[u8] = b"Creation Property List";
/// Hard links and users of a committed datatype: eight bytes.
pub const REFERENCES: &[u8] = b"Reference Count";
/// A datatype, as `H5Tencode` makes it.
pub const DATATYPE: &[u8] = b"Datatype";
/// An extent, as `H5Sencode` makes it.
pub const DATASPACE: &[u8] = b"Dataspace";
/// The fill value: one element.
pub const FILL_VALUE: &[u8] = b"Fill Value";
/// Type of a map's keys.
pub const KEY_DATATYPE: &[u8] = b"Key Datatype";
/// Type of a map's values.
pub const VALUE_DATATYPE: &[u8] = b"Value Datatype";
/// The committed datatype that a dataset shares: its identity.
pub const COMMITTED: &[u8] = b"Committed Datatype";
/// The shape of chunks of a dataset whose layout is not chunked: eight bytes for each dimension.
pub const CHUNK_SHAPE: &[u8] = b"Chunk Dimensions";
/// Creation properties that `H5Pencode` does not say.
pub const OTHER_PROPERTIES: &[u8] = b"Other Properties";
/// A comment.
pub const COMMENT: &[u8] = b"Comment";
/// The version of the layout, in the object of global metadata: four bytes.
pub const LAYOUT_VERSION: &[u8] = b"Layout Version";

/// The akey of a link, under the dkey of its name.
pub const LINK: &[u8] = b"Link";
/// The akey of a link's place in the order of creation: eight bytes.
pub const LINK_ORDER: &[u8] = b"Creation Order";
/// The akey that says that a link's name is UTF-8: one byte.
pub const LINK_CHARSET: &[u8] = b"Character Set";
/// The dkey of links in the order of their creation.
pub const ORDER: &[u8] = b"/Link Creation Order";
/// The next place in that order: eight bytes.
pub const ORDER_NEXT: &[u8] = b"Max Link Creation Order";
/// How many links there are: eight bytes.
pub const ORDER_COUNT: &[u8] = b"Num Links";

/// The dkey of attributes.
pub const ATTRIBUTES: &[u8] = b"/Attribute";
/// The next place in the order of their creation: eight bytes.
pub const ATTRIBUTE_NEXT: &[u8] = b"Max Attribute Creation Order";
/// How many attributes there are: eight bytes.
pub const ATTRIBUTE_COUNT: &[u8] = b"Num Attributes";

/// The akey of a chunk's elements, or of its filtered bytes.
pub const ELEMENTS: &[u8] = &[0];
/// The akey of a chunk's filter mask, where it is not 0: four bytes.
pub const FILTER_MASK: &[u8] = b"Filter Mask";
/// The akey of a blob, under the dkey of its UUID.
pub const BLOB: &[u8] = b"Blob";
/// The akey that a blob without bytes has instead: one byte, because a store keeps no empty value.
pub const EMPTY_BLOB: &[u8] = b"Empty Blob";
/// The akey of a map's value, under the dkey of its key.
pub const MAP: &[u8] = b"MAP_AKEY";
/// [`REFERENCES`] as the connector for DAOS spells it.
pub const DAOS_REFERENCES: &[u8] = b"Ref Count";
/// [`MAP`] as the connector for DAOS spells it.
pub const DAOS_MAP: &[u8] = b"Map Record";
/// The akey of the value of a map's empty key, under [`INTERNAL`]: a store has no empty dkey.
pub const EMPTY_KEY: &[u8] = b"Empty Key";

/// How a container spells its keys, and whether it has keys that only we know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Spelling {
    /// As the design has it, with keys of ours next to them.
    #[default]
    Design,
    /// As the connector for DAOS does it, without keys of ours for what it can say itself.
    Daos,
}

impl Spelling {
    /// Returns the akey of a reference count.
    pub fn references(self) -> &'static [u8] {
        match self {
            Spelling::Design => REFERENCES,
            Spelling::Daos => DAOS_REFERENCES,
        }
    }

    /// Returns the akey of a map's value.
    pub fn map(self) -> &'static [u8] {
        match self {
            Spelling::Design => MAP,
            Spelling::Daos => DAOS_MAP,
        }
    }
}

/// The part of an attribute that an akey under [`ATTRIBUTES`] holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttributePart {
    /// `T-`: its type.
    Datatype,
    /// `S-`: its extent.
    Dataspace,
    /// `P-`: its creation properties.
    Creation,
    /// `V-`: its value.
    Value,
    /// `C-`: its place in the order of creation.
    Order,
    /// `D-`: the committed datatype that it shares.
    Committed,
}

impl AttributePart {
    /// Returns the two bytes before the name.
    pub fn prefix(self) -> &'static [u8; 2] {
        match self {
            AttributePart::Datatype => b"T-",
            AttributePart::Dataspace => b"S-",
            AttributePart::Creation => b"P-",
            AttributePart::Value => b"V-",
            AttributePart::Order => b"C-",
            AttributePart::Committed => b"D-",
        }
    }

    /// Returns the akey of an attribute's part.
    pub fn of(self, name: &[u8]) -> Vec<u8> {
        [self.prefix(), name].concat()
    }
}

/// Returns the akey that has the name of the link at a place in the order of creation.
pub fn order_name(place: u64) -> [u8; 8] {
    place.to_le_bytes()
}

/// Returns the akey that has its target.
pub fn order_target(place: u64) -> [u8; 9] {
    let mut key = [0; 9];
    key[..8].copy_from_slice(&place.to_le_bytes());
    key
}

/// Returns the akey that has the name of the attribute at a place in the order of creation.
pub fn attribute_order(place: u64) -> [u8; 9] {
    let mut key = [0; 9];
    key[1..].copy_from_slice(&place.to_le_bytes());
    key
}

/// Returns the dkey of a chunk: a 0 byte, and its first element.
pub fn chunk(start: &[u64]) -> Vec<u8> {
    let mut key = Vec::with_capacity(1 + 8 * start.len());
    key.push(0);
    start.iter().for_each(|at| key.extend(at.to_le_bytes()));
    key
}

/// Returns the first element of a chunk, where `dkey` is one of this rank.
pub fn chunk_start(dkey: &[u8], rank: usize) -> Option<Vec<u64>> {
    let (0, rest) = dkey.split_first()? else { return None };
    let (numbers, odd) = rest.as_chunks::<8>();
    (odd.is_empty() && numbers.len() == rank)
        .then(|| numbers.iter().map(|number| u64::from_le_bytes(*number)).collect())
}

const HARD: u8 = 0;

/// Returns the value of a link: its class as HDF5 numbers them, and what the class keeps.
pub fn link_value(target: &LinkTarget) -> Result<Vec<u8>> {
    match target {
        LinkTarget::Hard(token) => Ok([&[HARD][..], &token.0].concat()),
        other => keyed::link_value(other),
    }
}

/// Decodes the value of a link.
///
/// # Errors
/// Returns `Corrupt` if it is no link.
pub fn link_target(value: &[u8]) -> Result<LinkTarget> {
    let mut cursor = Cursor::new(value, "link");
    if cursor.u8()? != HARD {
        return keyed::link_target(value);
    }
    let token = Token(cursor.array()?);
    identity::object(token).map_err(|error| cursor.corrupt("target").because(error))?;
    Ok(LinkTarget::Hard(token))
}

/// Eight bytes of a counter.
pub fn number(value: u64) -> [u8; 8] {
    value.to_le_bytes()
}

/// Decodes a number; `what` names it in errors.
///
/// # Errors
/// Returns `Corrupt` if it has not 8 bytes.
pub fn number_of(bytes: &[u8], what: &'static str) -> Result<u64> {
    let bytes: Result<[u8; 8], _> = bytes.try_into();
    bytes.map(u64::from_le_bytes).map_err(|_| Error::corrupt(format!("read {what}")))
}

/// Returns the shape of chunks, eight bytes for each dimension.
pub fn shape(shape: &[u64]) -> Vec<u8> {
    let mut out = Vec::with_capacity(8 * shape.len());
    shape.iter().for_each(|&len| out.put_uint(len, 8));
    out
}

/// Decodes the shape of chunks.
///
/// # Errors
/// Returns `Corrupt` if the bytes are no whole numbers.
pub fn shape_of(bytes: &[u8]) -> Result<Vec<u64>> {
    let (numbers, odd) = bytes.as_chunks::<8>();
    match odd.is_empty() {
        true => Ok(numbers.iter().map(|number| u64::from_le_bytes(*number)).collect()),
        false => Err(Error::corrupt("read chunk dimensions").with("bytes", bytes.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_every_class_come_back() {
        for target in [
            LinkTarget::Hard(identity::token(ROOT)),
            LinkTarget::Soft("../x".into()),
            LinkTarget::External { file: "f.h5".into(), path: "/a/b".into() },
            LinkTarget::User { class: 70, data: vec![1, 0, 2] },
        ] {
            assert_eq!(link_target(&link_value(&target).unwrap()).unwrap(), target);
        }
    }

    #[test]
    fn broken_links_are_errors() {
        for value in [&[][..], &[0], &[0; 16], &[0; 18][..17], &[2, 1], &[64], &[64, 0, 1], &[64, 1, 1, 0]] {
            let is_root_hole = value.len() == 17;
            assert_eq!(link_target(value).is_err(), !is_root_hole || value[1..] == [0; 16]);
        }
    }

    #[test]
    fn chunk_keys_are_as_the_design_has_them() {
        assert_eq!(chunk(&[1, 258]), [0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(chunk_start(&chunk(&[4, 6]), 2), Some(vec![4, 6]));
        assert_eq!(chunk_start(&chunk(&[4, 6]), 1), None);
        assert_eq!(chunk_start(INTERNAL, 2), None);
    }
}
