//! Property lists as `H5Pencode` frames them: a version, a class, and properties by name.

use crate::Result;
use crate::bytes::Cursor;

/// Classes of property lists (`H5P_plist_type_t`).
pub(super) mod class {
    pub(in crate::encode) const FILE_CREATE: u8 = 3;
    pub(in crate::encode) const DATASET_CREATE: u8 = 5;
    pub(in crate::encode) const GROUP_CREATE: u8 = 9;
    pub(in crate::encode) const DATATYPE_CREATE: u8 = 11;
    pub(in crate::encode) const ATTRIBUTE_CREATE: u8 = 14;
    pub(in crate::encode) const MAP_CREATE: u8 = 20;
}

const VERSION: u8 = 0;

/// One property: its name, its bytes, and whether it was set.
pub(super) struct Property {
    name: &'static str,
    bytes: Vec<u8>,
    is_set: bool,
}

impl Property {
    /// Returns a property; it counts as set where it differs from its default.
    pub(super) fn new(name: &'static str, bytes: Vec<u8>, default: &[u8]) -> Self {
        let is_set = bytes != default;
        Property { name, bytes, is_set }
    }

    /// Returns the same property, though it may have been set to its default.
    pub(super) fn or_set(self, is_set: bool) -> Self {
        Property { is_set: self.is_set || is_set, ..self }
    }
}

/// Returns the number that libhdf5 sorts the properties of a list by, in memory and in encoded lists.
pub fn property_hash(name: &str) -> u32 {
    name.bytes().fold(5381u32, |hash, byte| hash.wrapping_mul(33).wrapping_add(byte.into()))
}

/// Returns a whole list: first what was set, then what was not, class after class from the outermost on.
pub(super) fn encode(class: u8, levels: Vec<Vec<Property>>) -> Vec<u8> {
    let mut out = vec![VERSION, class];
    let mut set = Vec::new();
    let mut unset = Vec::new();
    for level in levels {
        let (changed, mut kept): (Vec<_>, Vec<_>) = level.into_iter().partition(|p| p.is_set);
        set.extend(changed);
        kept.sort_by_key(|p| property_hash(p.name));
        unset.extend(kept);
    }
    set.sort_by_key(|p| property_hash(p.name));
    for property in set.into_iter().chain(unset) {
        out.extend(property.name.as_bytes());
        out.push(0);
        out.extend(property.bytes);
    }
    out.push(0);
    out
}

/// Hands every property of a list to `take`, which consumes its bytes.
pub(super) fn decode<'b>(
    bytes: &'b [u8],
    class: u8,
    mut take: impl FnMut(&'b str, &mut Cursor<'b>) -> Result<()>,
) -> Result<()> {
    let mut cursor = Cursor::new(bytes, "property list");
    let [version, found] = cursor.array()?;
    if (version, found) != (VERSION, class) {
        return Err(cursor.corrupt(format!("version {version}, class {found} instead of {class}")));
    }
    loop {
        let name = cursor.until_nul()?;
        if name.is_empty() {
            return Ok(());
        }
        let name = std::str::from_utf8(name).map_err(|_| cursor.corrupt("name of a property"))?;
        take(name, &mut cursor)?;
    }
}

/// Returns the error for an unknown property, whose length is not known either.
pub(super) fn unknown(name: &str, cursor: &Cursor<'_>) -> crate::Error {
    cursor.corrupt(format!("unknown property \"{}\"", name.escape_debug()))
}
