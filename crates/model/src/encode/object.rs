//! Properties that all objects share, and the lists that hold nothing else: datatypes, maps, attributes.

use super::list::{Property, class, decode, encode, unknown};
use super::{put_sized, put_unsigned, sized, unsigned};
use crate::bytes::{Cursor, Put};
use crate::properties::{CreationOrder, FilterSpec, ObjectCreate, PhaseChange};
use crate::{CharacterSet, Error, Result, text};

/// Objects without creation properties of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectClass {
    /// A committed datatype.
    Datatype,
    /// A map.
    Map,
}

impl ObjectClass {
    fn number(self) -> u8 {
        match self {
            ObjectClass::Datatype => class::DATATYPE_CREATE,
            ObjectClass::Map => class::MAP_CREATE,
        }
    }
}

const TIMES: u8 = 0x20;
const ATTRIBUTES_TRACKED: u8 = 0x04;
const ATTRIBUTES_INDEXED: u8 = 0x08;

/// Bytes that a filter's name has in a list, and no more.
const FILTER_NAME_BYTES: usize = 12;
/// Filters of one pipeline.
const FILTERS_MAX: u64 = 32;
/// Values of one filter.
const VALUES_MAX: u64 = 1 << 16;

fn one(value: u32) -> Vec<u8> {
    let mut out = Vec::new();
    put_unsigned(&mut out, &[value]);
    out
}

fn flags(create: &ObjectCreate) -> u8 {
    let order = match create.attribute_order {
        CreationOrder::Untracked => 0,
        CreationOrder::Tracked => ATTRIBUTES_TRACKED,
        CreationOrder::Indexed => ATTRIBUTES_TRACKED | ATTRIBUTES_INDEXED,
    };
    order | if create.track_times { TIMES } else { 0 }
}

/// Returns the properties that every object has; datasets and groups have `filters`.
pub(super) fn level(create: &ObjectCreate, filters: &[FilterSpec]) -> Result<Vec<Property>> {
    let default = PhaseChange::default();
    let phase = create.attribute_phase;
    Ok(vec![
        Property::new("pline", self::filters(filters)?, &[4, 1, 0]),
        Property::new("min dense attr", one(phase.dense_min.into()), &one(default.dense_min.into())),
        Property::new("max compact attr", one(phase.compact_max.into()), &one(default.compact_max.into())),
        Property::new("object header flags", vec![flags(create)], &[TIMES]),
    ])
}

/// Encodes a filter pipeline, which is one property of a creation list (`pline`).
///
/// # Errors
/// Returns `Invalid` if there are more than 32 filters.
pub fn filters(filters: &[FilterSpec]) -> Result<Vec<u8>> {
    let mut out = vec![4];
    put_sized(&mut out, filters.len() as u64);
    for filter in filters {
        out.put_uint(filter.id.into(), 4);
        out.put_uint(u64::from(filter.optional), 4);
        match &filter.name {
            Some(name) => {
                let mut name = text::to_bytes(name);
                name.resize(FILTER_NAME_BYTES, 0);
                out.push(1);
                out.extend(name);
            }
            None => out.push(0),
        }
        put_sized(&mut out, filter.values.len() as u64);
        filter.values.iter().for_each(|&value| out.put_uint(value.into(), 4));
    }
    match filters.len() as u64 > FILTERS_MAX {
        true => Err(Error::invalid("encode filters").with("filters", filters.len())),
        false => Ok(out),
    }
}

fn filter(cursor: &mut Cursor<'_>) -> Result<FilterSpec> {
    let id = cursor.u32()?;
    let id = u16::try_from(id).map_err(|_| cursor.corrupt(format!("filter {id}")))?;
    let optional = cursor.u32()? & 1 != 0;
    let name = match cursor.u8()? {
        0 => None,
        _ => Some(text::from_bytes_to_nul(cursor.take(FILTER_NAME_BYTES)?)),
    };
    let count = sized(cursor)?;
    if count > VALUES_MAX || count * 4 > cursor.remaining() as u64 {
        return Err(cursor.corrupt(format!("{count} values of a filter")));
    }
    let values = (0..count).map(|_| cursor.u32()).collect::<Result<_>>()?;
    Ok(FilterSpec { id, name, optional, values })
}

/// Decodes the bytes of [`filters`].
///
/// # Errors
/// Returns `Corrupt` if the bytes are no filter pipeline.
pub fn decode_filters(cursor: &mut Cursor<'_>) -> Result<Vec<FilterSpec>> {
    let [] = unsigned::<0>(cursor)?;
    let count = sized(cursor)?;
    if count > FILTERS_MAX {
        return Err(cursor.corrupt(format!("{count} filters")));
    }
    (0..count).map(|_| filter(cursor)).collect()
}

fn phase(cursor: &mut Cursor<'_>) -> Result<u16> {
    let [value] = unsigned(cursor)?;
    u16::try_from(value).map_err(|_| cursor.corrupt(format!("{value} attributes")))
}

/// Takes a property that every object has.
pub(super) fn take(
    name: &str,
    cursor: &mut Cursor<'_>,
    create: &mut ObjectCreate,
    filters: &mut Vec<FilterSpec>,
) -> Result<()> {
    match name {
        "pline" => *filters = decode_filters(cursor)?,
        "min dense attr" => create.attribute_phase.dense_min = phase(cursor)?,
        "max compact attr" => create.attribute_phase.compact_max = phase(cursor)?,
        "object header flags" => {
            let flags = cursor.u8()?;
            create.track_times = flags & TIMES != 0;
            create.attribute_order = match (flags & ATTRIBUTES_TRACKED, flags & ATTRIBUTES_INDEXED) {
                (0, _) => CreationOrder::Untracked,
                (_, 0) => CreationOrder::Tracked,
                _ => CreationOrder::Indexed,
            };
        }
        _ => return Err(unknown(name, cursor)),
    }
    Ok(())
}

/// Encodes the creation properties of a committed datatype or a map.
pub fn object_create(of: ObjectClass, create: &ObjectCreate) -> Result<Vec<u8>> {
    Ok(encode(of.number(), vec![level(create, &[])?]))
}

/// Decodes the bytes of [`object_create`] or `H5Pencode`.
pub fn decode_object_create(of: ObjectClass, bytes: &[u8]) -> Result<ObjectCreate> {
    let (mut create, mut filters) = (ObjectCreate::default(), Vec::new());
    decode(bytes, of.number(), |name, cursor| take(name, cursor, &mut create, &mut filters))?;
    Ok(create)
}

/// Encodes the creation properties of an attribute: the character set of its name.
pub fn attribute_create(charset: CharacterSet) -> Vec<u8> {
    let name = Property::new("character_encoding", vec![charset as u8], &[0]);
    encode(class::ATTRIBUTE_CREATE, vec![vec![name]])
}

/// Decodes the bytes of [`attribute_create`] or `H5Pencode`.
pub fn decode_attribute_create(bytes: &[u8]) -> Result<CharacterSet> {
    let mut charset = CharacterSet::Ascii;
    decode(bytes, class::ATTRIBUTE_CREATE, |name, cursor| {
        charset = match (name, cursor.u8()?) {
            ("character_encoding", 0) => CharacterSet::Ascii,
            ("character_encoding", 1) => CharacterSet::Utf8,
            _ => return Err(unknown(name, cursor)),
        };
        Ok(())
    })?;
    Ok(charset)
}
