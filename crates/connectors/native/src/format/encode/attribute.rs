//! Attribute messages (format spec IV.A.2.m) and attribute info (IV.A.2.v).

use model::{CharacterSet, Result, text};

use super::super::Sizes;
use super::super::attribute::{AttributeInfo, RawAttribute};
use super::Encoder;

/// Bytes before the parts of a message.
const HEAD_BYTES: usize = 9;

/// Returns the version that says all of an attribute, and at least `floor` (1 before HDF5 1.8, then 3).
pub(crate) fn version(attribute: &RawAttribute, floor: u8) -> u8 {
    let needed = match attribute.charset {
        CharacterSet::Utf8 => 3,
        CharacterSet::Ascii if attribute.datatype.shared || attribute.dataspace.shared => 2,
        CharacterSet::Ascii => 1,
    };
    needed.max(floor)
}

/// Returns the body of an attribute message; `version` is 1 to 3 and must be able to say it.
pub(crate) fn encode(attribute: &RawAttribute, version: u8) -> Result<Vec<u8>> {
    let name = text::as_bytes(&attribute.name);
    let parts = [&attribute.datatype.bytes, &attribute.dataspace.bytes];
    let lens = [name.len() + 1, parts[0].len(), parts[1].len()];
    let parts_bytes: usize = lens.iter().map(|len| len.next_multiple_of(8)).sum();
    let mut e = Encoder::sized("attribute", (HEAD_BYTES + parts_bytes + attribute.data.len()) as u64);
    e.require((1..=3).contains(&version), "version");
    e.require(version >= self::version(attribute, 1), "version is too old for the attribute");
    e.require(!name.is_empty() && !name.contains(&0), "name is empty or holds a NUL");
    let flags = u8::from(attribute.datatype.shared) | u8::from(attribute.dataspace.shared) << 1;
    e.u8(version).u8(flags);
    for len in lens {
        e.count(len, 2);
    }
    if version == 3 {
        e.u8(u8::from(attribute.charset == CharacterSet::Utf8));
    }
    let unit = if version == 1 { 8 } else { 1 };
    let start = e.len();
    e.raw(&name).u8(0).pad(start, unit);
    for part in parts {
        let start = e.len();
        e.raw(part).pad(start, unit);
    }
    e.raw(&attribute.data).finish()
}

/// Returns the attribute info message.
pub(crate) fn info(info: &AttributeInfo, sizes: Sizes) -> Result<Vec<u8>> {
    let mut e = Encoder::new("attribute info", sizes);
    e.u8(0).u8(u8::from(info.order_next.is_some()) | u8::from(info.order_indexed) << 1);
    if let Some(next) = info.order_next {
        e.u16(next);
    }
    e.address(info.heap).address(info.name_tree);
    if info.order_indexed {
        e.address(info.order_tree);
    }
    e.finish()
}
