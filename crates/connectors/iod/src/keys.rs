//! Every key of the layout, and the values that have a form of their own. `docs/iod-layout.md` says the same.

use iod_storage::{Id, Kind};
use model::{Error, LinkTarget, ObjectKind, Result};

use crate::identity;

/// The version of the layout that is written.
pub const VERSION: u32 = 1;

/// The root group.
pub const ROOT: Id = Id::new(Kind::KeyValue, 0);
/// The metadata of the root group and of the file.
pub const ROOT_METADATA: Id = Id::new(Kind::KeyValue, 1);
/// Attributes of the root group.
pub const ROOT_ATTRIBUTES: Id = Id::new(Kind::KeyValue, 2);

/// Creation properties, as `H5Pencode` makes them.
pub const CREATION: &[u8] = b"object_create_plist";
/// The key of an object's type: a number of `H5I_type_t`, four bytes.
pub const TYPE: &[u8] = b"object_type";
/// Hard links, and users of a committed datatype: eight bytes.
pub const LINK_COUNT: &[u8] = b"object_link_count";
/// A datatype, as `H5Tencode` makes it.
pub const DATATYPE: &[u8] = b"object_datatype";
/// An extent, as `H5Sencode` makes it.
pub const DATASPACE: &[u8] = b"object_dataspace";
/// Bytes of a committed datatype: eight bytes.
pub const SERIALIZED_SIZE: &[u8] = b"serialized_size";
/// Type of a map's keys.
pub const KEY_TYPE: &[u8] = b"key_type";
/// Type of a map's values.
pub const VALUE_TYPE: &[u8] = b"value_type";
/// The next number of a key-value store: eight bytes.
pub const KV_INDEX: &[u8] = b"kv_ids_index";
/// The next number of an array: eight bytes.
pub const ARRAY_INDEX: &[u8] = b"array_ids_index";
/// The next number of a blob: eight bytes.
pub const BLOB_INDEX: &[u8] = b"blob_ids_index";

// What follows is ours.

/// The version of the layout: four bytes.
pub const LAYOUT_VERSION: &[u8] = b"layout_version";
/// The committed datatype that a dataset or an attribute shares: its identity.
pub const COMMITTED: &[u8] = b"object_committed_datatype";
/// The fill value: one element.
pub const FILL_VALUE: &[u8] = b"object_fill_value";
/// Creation properties that `H5Pencode` does not say.
pub const OTHER_PROPERTIES: &[u8] = b"object_other_properties";
/// A comment.
pub const COMMENT: &[u8] = b"object_comment";
/// An attribute's place in the order of creation: eight bytes.
pub const CREATION_ORDER: &[u8] = b"object_creation_order";
/// The next place in the order of links: eight bytes.
pub const LINK_NEXT: &[u8] = b"link_order_next";
/// The next place in the order of attributes: eight bytes.
pub const ATTRIBUTE_NEXT: &[u8] = b"attribute_order_next";
/// Before the name of a link: its place in the order of creation, and its character set.
pub const LINK_INFO: &[u8] = b"link_info/";
/// Before a place in the order of creation: the name of the link there.
pub const LINK_PLACE: &[u8] = b"link_place/";

/// The number of an attribute in `H5I_type_t`.
pub const H5I_ATTRIBUTE: u32 = 7;

/// Returns what `H5I_type_t` calls an object.
pub fn type_number(kind: ObjectKind) -> u32 {
    match kind {
        ObjectKind::Group => 2,
        ObjectKind::Datatype => 3,
        ObjectKind::Dataset => 5,
        ObjectKind::Map => 6,
    }
}

/// Returns as what an object is stored.
pub fn storage_kind(kind: ObjectKind) -> Kind {
    match kind {
        ObjectKind::Group | ObjectKind::Map => Kind::KeyValue,
        ObjectKind::Dataset => Kind::Array,
        ObjectKind::Datatype => Kind::Blob,
    }
}

/// Returns the kind of a type number, or `None` if it is not that of an object.
pub fn kind_of(number: u32) -> Option<ObjectKind> {
    let kinds = [ObjectKind::Group, ObjectKind::Datatype, ObjectKind::Dataset, ObjectKind::Map];
    kinds.into_iter().find(|kind| type_number(*kind) == number)
}

/// Eight bytes of a number.
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

/// Four bytes of a number.
pub fn small_of(bytes: &[u8], what: &'static str) -> Result<u32> {
    let bytes: Result<[u8; 4], _> = bytes.try_into();
    bytes.map(u32::from_le_bytes).map_err(|_| Error::corrupt(format!("read {what}")))
}

/// Returns an identity that is stored.
pub fn id_of(bytes: &[u8], what: &'static str) -> Result<Id> {
    let bytes: Result<[u8; 8], _> = bytes.try_into();
    bytes.map(Id::from_bytes).map_err(|_| Error::corrupt(format!("read {what}")))
}

/// Returns the key of what is known of a link besides its target.
pub fn link_info(name: &[u8]) -> Vec<u8> {
    [LINK_INFO, name].concat()
}

/// Returns the key of a place in the order of links: keys sort as places do.
pub fn link_place(place: u64) -> Vec<u8> {
    [LINK_PLACE, &place.to_be_bytes()].concat()
}

/// The properties of a link, without its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkInfo {
    /// Its place in the order of creation, where that is tracked.
    pub place: Option<u64>,
    /// Whether its name is UTF-8.
    pub is_utf8: bool,
}

const NO_PLACE: u64 = u64::MAX;

impl LinkInfo {
    /// Nine bytes: the place (all ones for none), and 1 for UTF-8.
    pub fn to_bytes(self) -> [u8; 9] {
        let mut bytes = [u8::from(self.is_utf8); 9];
        bytes[..8].copy_from_slice(&number(self.place.unwrap_or(NO_PLACE)));
        bytes
    }

    /// Decodes the info of a link.
    ///
    /// # Errors
    /// Returns `Corrupt` if the bytes are too few.
    pub fn of(bytes: &[u8]) -> Result<LinkInfo> {
        let [place @ .., charset] = bytes else {
            return Err(Error::corrupt("read link").with("bytes", bytes.len()));
        };
        let place = number_of(place, "link")?;
        Ok(LinkInfo { place: (place != NO_PLACE).then_some(place), is_utf8: *charset == 1 })
    }
}

/// Returns the value of a link: the identity of an object; for others `UNDEFINED`, then the class and what it keeps.
pub fn link_value(target: &LinkTarget) -> Result<Vec<u8>> {
    match target {
        LinkTarget::Hard(token) => Ok(identity::object(*token)?.to_bytes().to_vec()),
        other => Ok([&Id::UNDEFINED.to_bytes()[..], &keyed::link_value(other)?].concat()),
    }
}

/// Decodes the value of a link.
///
/// # Errors
/// Returns `Corrupt` if it is no link.
pub fn link_target(value: &[u8]) -> Result<LinkTarget> {
    let corrupt = || Error::corrupt("read link").with("bytes", value.len());
    let (id, rest) = value.split_first_chunk::<8>().ok_or_else(corrupt)?;
    let id = Id::from_bytes(*id);
    match (id.is_undefined(), rest) {
        (true, rest) => keyed::link_target(rest),
        (false, []) if id.kind().is_some() => Ok(LinkTarget::Hard(identity::token(id))),
        _ => Err(corrupt()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_every_class_come_back() {
        for target in [
            LinkTarget::Hard(identity::token(Id::new(Kind::Array, 3))),
            LinkTarget::Soft("../x".into()),
            LinkTarget::External { file: "f.h5".into(), path: "/a/b".into() },
            LinkTarget::User { class: 70, data: vec![1, 0, 2] },
        ] {
            assert_eq!(link_target(&link_value(&target).unwrap()).unwrap(), target);
        }
        assert_eq!(link_value(&LinkTarget::Hard(identity::token(ROOT))).unwrap(), [0; 8]);
    }

    #[test]
    fn broken_links_are_errors() {
        for value in [&[][..], &[0; 7], &[0; 9], &[0xff; 8], &[0xff; 9][..8], &[0, 0, 0, 0, 0, 0, 0, 0xc0]] {
            assert!(link_target(value).is_err(), "{value:?}");
        }
    }

    #[test]
    fn what_is_known_of_a_link_comes_back() {
        for info in [LinkInfo { place: Some(7), is_utf8: true }, LinkInfo::default()] {
            assert_eq!(LinkInfo::of(&info.to_bytes()).unwrap(), info);
        }
        assert!(LinkInfo::of(&[0; 8]).is_err());
    }
}
