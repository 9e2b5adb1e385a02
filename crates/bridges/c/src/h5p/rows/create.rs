//! Properties of creation lists of objects, groups, files, names and links.

use hyperslab::vol::model::Result;
use hyperslab::vol::model::bytes::{Cursor, Put};
use hyperslab::vol::model::encode;
use hyperslab::vol::model::properties::CreationOrder;

use super::{Form, Row, absent, custom, expect_width, hidden, number, other};
use crate::h5p::list_values::ListValues;

const TRACKED: u32 = 1;
const INDEXED: u32 = 2;
const TIMES: u64 = 0x20;

/// Returns the flags of an order (`H5P_CRT_ORDER_…`).
pub(crate) fn order_flags(order: CreationOrder) -> u32 {
    match order {
        CreationOrder::Untracked => 0,
        CreationOrder::Tracked => TRACKED,
        CreationOrder::Indexed => TRACKED | INDEXED,
    }
}

/// Returns the order of flags.
pub(crate) fn order(flags: u32) -> CreationOrder {
    match (flags & TRACKED, flags & INDEXED) {
        (0, _) => CreationOrder::Untracked,
        (_, 0) => CreationOrder::Tracked,
        _ => CreationOrder::Indexed,
    }
}

pub(super) const OBJECT: &[Row] = &[
    other("pline", 72, put_filters, take_filters),
    number!("min dense attr", 4, Unsigned, v => v.object()?.attribute_phase.dense_min),
    number!("max compact attr", 4, Unsigned, v => v.object()?.attribute_phase.compact_max),
    custom("object header flags", 1, Form::Byte, |values, new| {
        let object = values.object()?;
        if let Some(flags) = new {
            object.track_times = flags & TIMES != 0;
            object.attribute_order = order((flags >> 2) as u32);
        }
        let times = if object.track_times { TIMES } else { 0 };
        Some(times | u64::from(order_flags(object.attribute_order)) << 2)
    }),
];

fn put_filters(values: &mut ListValues) -> Result<Vec<u8>> {
    encode::filters(values.filters().ok_or_else(absent)?)
}

fn take_filters(values: &mut ListValues, cursor: &mut Cursor<'_>) -> Result<()> {
    *values.filters().ok_or_else(absent)? = encode::decode_filters(cursor)?;
    Ok(())
}

pub(super) const GROUP: &[Row] =
    &[other("link info", 48, put_link_info, take_link_info), other("group info", 16, put_group, take_group)];

fn put_link_info(values: &mut ListValues) -> Result<Vec<u8>> {
    let flags = order_flags(values.group().ok_or_else(absent)?.link_order);
    let mut out = vec![4];
    out.put_uint(flags.into(), 4);
    Ok(out)
}

fn take_link_info(values: &mut ListValues, cursor: &mut Cursor<'_>) -> Result<()> {
    expect_width(cursor, 4)?;
    values.group().ok_or_else(absent)?.link_order = order(cursor.u32()?);
    Ok(())
}

fn put_group(values: &mut ListValues) -> Result<Vec<u8>> {
    let group = values.group().ok_or_else(absent)?;
    let mut out = Vec::new();
    out.put_uint(group.local_heap_bytes.into(), 4);
    let phase = group.link_phase;
    for value in [phase.compact_max, phase.dense_min, group.entries_expected, group.name_bytes_expected] {
        out.put_uint(value.into(), 2);
    }
    Ok(out)
}

fn take_group(values: &mut ListValues, cursor: &mut Cursor<'_>) -> Result<()> {
    let group = values.group().ok_or_else(absent)?;
    group.local_heap_bytes = cursor.u32()?;
    group.link_phase.compact_max = cursor.u16()?;
    group.link_phase.dense_min = cursor.u16()?;
    group.entries_expected = cursor.u16()?;
    group.name_bytes_expected = cursor.u16()?;
    Ok(())
}

pub(super) const FILE: &[Row] = &[
    number!("file_space_strategy", 4, Byte, v => v.file()?.space_strategy),
    other("btree_rank", 8, put_ranks, take_ranks),
    number!("block_size", 8, Sized, v => v.file()?.userblock_bytes),
    number!("symbol_leaf", 4, Unsigned, v => v.file()?.group_leaf_k),
    number!("file_space_page_size", 8, Sized, v => v.file()?.page_bytes),
    number!("free_space_persist", 1, Byte, v => v.file()?.space_persist),
    other("shmsg_message_types", 32, |v| put_array(v, false), |v, cursor| take_array(v, cursor, false)),
    hidden("super_version", 4),
    number!("obj_byte_num", 1, Byte, v => v.file()?.length_bytes),
    number!("free_space_threshold", 8, Sized, v => v.file()?.space_threshold),
    number!("addr_byte_num", 1, Byte, v => v.file()?.offset_bytes),
    other("shmsg_message_minsize", 32, |v| put_array(v, true), |v, cursor| take_array(v, cursor, true)),
    number!("shmsg_btree_min", 4, Unsigned, v => v.file()?.shared.tree_min),
    number!("shmsg_list_max", 4, Unsigned, v => v.file()?.shared.list_max),
    custom("num_shmsg_indexes", 4, Form::Unsigned, |values, new| {
        let shared = &mut values.file()?.shared;
        if let Some(count) = new {
            shared.count = u32::try_from(count).ok().filter(|count| *count <= 8)?;
        }
        Some(shared.count.into())
    }),
];

fn put_ranks(values: &mut ListValues) -> Result<Vec<u8>> {
    let file = values.file().ok_or_else(absent)?;
    let mut out = vec![4];
    out.put_uint(file.group_internal_k.into(), 4);
    out.put_uint(file.chunk_k.into(), 4);
    Ok(out)
}

fn take_ranks(values: &mut ListValues, cursor: &mut Cursor<'_>) -> Result<()> {
    expect_width(cursor, 4)?;
    let (group, chunk) = (cursor.u32()?, cursor.u32()?);
    let small = |rank: u32| u16::try_from(rank).map_err(|_| cursor.corrupt(format!("rank {rank}")));
    let (group, chunk) = (small(group)?, small(chunk)?);
    let file = values.file().ok_or_else(absent)?;
    (file.group_internal_k, file.chunk_k) = (group, chunk);
    Ok(())
}

fn put_array(values: &mut ListValues, is_bytes: bool) -> Result<Vec<u8>> {
    let shared = &values.file().ok_or_else(absent)?.shared;
    let mut out = vec![4];
    let array = if is_bytes { &shared.bytes_min } else { &shared.types };
    array.iter().for_each(|value| out.put_uint((*value).into(), 4));
    Ok(out)
}

fn take_array(values: &mut ListValues, cursor: &mut Cursor<'_>, is_bytes: bool) -> Result<()> {
    expect_width(cursor, 4)?;
    let shared = &mut values.file().ok_or_else(absent)?.shared;
    let array = if is_bytes { &mut shared.bytes_min } else { &mut shared.types };
    array.iter_mut().try_for_each(|value| {
        *value = cursor.u32()?;
        Ok(())
    })
}

pub(super) const NAME: &[Row] = &[custom("character_encoding", 4, Form::Byte, |values, new| {
    let encoding = values.encoding()?;
    if let Some(new) = new {
        *encoding = i32::try_from(new).ok().filter(|new| (0..=1).contains(new))?;
    }
    Some(*encoding as u64)
})];

pub(super) const LINK: &[Row] =
    &[number!("intermediate_group", 4, Unsigned, v => v.link_create()?.intermediate_groups)];
