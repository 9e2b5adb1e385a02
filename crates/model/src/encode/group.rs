//! Group creation properties.

use super::list::{Property, class, decode, encode};
use super::{object, put_unsigned, unsigned};
use crate::Result;
use crate::bytes::{Cursor, Put};
use crate::properties::{CreationOrder, GroupCreate};

const TRACKED: u32 = 1;
const INDEXED: u32 = 2;

fn link_info(create: &GroupCreate) -> Vec<u8> {
    let order = match create.link_order {
        CreationOrder::Untracked => 0,
        CreationOrder::Tracked => TRACKED,
        CreationOrder::Indexed => TRACKED | INDEXED,
    };
    let mut out = Vec::new();
    put_unsigned(&mut out, &[order]);
    out
}

fn group_info(create: &GroupCreate) -> Vec<u8> {
    let mut out = Vec::new();
    out.put_uint(create.local_heap_bytes.into(), 4);
    let phase = create.link_phase;
    for value in [phase.compact_max, phase.dense_min, create.entries_expected, create.name_bytes_expected] {
        out.put_uint(value.into(), 2);
    }
    out
}

/// Returns the properties that groups have, and below them those of every object.
pub(super) fn levels(create: &GroupCreate) -> Result<Vec<Vec<Property>>> {
    let default = GroupCreate::default();
    let own = vec![
        Property::new("link info", link_info(create), &link_info(&default)),
        Property::new("group info", group_info(create), &group_info(&default)),
    ];
    Ok(vec![own, object::level(&create.object, &create.filters)?])
}

/// Takes a property that groups have.
pub(super) fn take(name: &str, cursor: &mut Cursor<'_>, create: &mut GroupCreate) -> Result<()> {
    match name {
        "link info" => {
            let [flags] = unsigned(cursor)?;
            create.link_order = match (flags & TRACKED, flags & INDEXED) {
                (0, _) => CreationOrder::Untracked,
                (_, 0) => CreationOrder::Tracked,
                _ => CreationOrder::Indexed,
            };
        }
        "group info" => {
            create.local_heap_bytes = cursor.u32()?;
            create.link_phase.compact_max = cursor.u16()?;
            create.link_phase.dense_min = cursor.u16()?;
            create.entries_expected = cursor.u16()?;
            create.name_bytes_expected = cursor.u16()?;
        }
        _ => return object::take(name, cursor, &mut create.object, &mut create.filters),
    }
    Ok(())
}

/// Encodes the creation properties of a group.
pub fn group_create(create: &GroupCreate) -> Result<Vec<u8>> {
    Ok(encode(class::GROUP_CREATE, levels(create)?))
}

/// Decodes the bytes of [`group_create`] or `H5Pencode`.
pub fn decode_group_create(bytes: &[u8]) -> Result<GroupCreate> {
    let mut create = GroupCreate::default();
    decode(bytes, class::GROUP_CREATE, |name, cursor| take(name, cursor, &mut create))?;
    Ok(create)
}
