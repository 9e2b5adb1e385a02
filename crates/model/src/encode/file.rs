//! File creation properties, which hold those of the root group.

use super::list::{Property, class, decode, encode};
use super::{group, put_sized, put_unsigned, sized, unsigned};
use crate::bytes::Cursor;
use crate::properties::{FileCreate, SharedIndex, SpaceStrategy};
use crate::{Error, Result};

/// Shared-message indexes that a file can have.
const INDEXES_MAX: usize = 8;
/// The smallest sizes that libhdf5 stores where it has no index.
const NO_INDEX_BYTES: [u32; INDEXES_MAX] = [250, 250, 250, 250, 250, 250, 0, 0];
/// The numbers of messages at which a list of shared messages becomes a tree, and back.
const SHARED_LIST_MAX: u32 = 50;
const SHARED_TREE_MIN: u32 = 40;

fn number(value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    put_sized(&mut out, value);
    out
}

fn numbers(values: &[u32]) -> Vec<u8> {
    let mut out = Vec::new();
    put_unsigned(&mut out, values);
    out
}

fn strategy(strategy: SpaceStrategy) -> u8 {
    match strategy {
        SpaceStrategy::FsmAggregate => 0,
        SpaceStrategy::Page => 1,
        SpaceStrategy::Aggregate => 2,
        SpaceStrategy::None => 3,
    }
}

fn shared(create: &FileCreate) -> Result<([u32; INDEXES_MAX], [u32; INDEXES_MAX])> {
    let count = create.shared_indexes.len();
    if count > INDEXES_MAX {
        return Err(Error::invalid("encode shared indexes").with("indexes", count));
    }
    let (mut types, mut bytes) = ([0; INDEXES_MAX], NO_INDEX_BYTES);
    for (n, index) in create.shared_indexes.iter().enumerate() {
        (types[n], bytes[n]) = (index.message_types.into(), index.bytes_min);
    }
    Ok((types, bytes))
}

/// Encodes the creation properties of a container.
pub fn file_create(create: &FileCreate) -> Result<Vec<u8>> {
    let mut levels = vec![own(create)?];
    levels.extend(group::levels(&create.root)?);
    Ok(encode(class::FILE_CREATE, levels))
}

fn own(create: &FileCreate) -> Result<Vec<Property>> {
    let default = FileCreate::default();
    let values = |create: &FileCreate| -> Result<Vec<(&'static str, Vec<u8>)>> {
        let (types, bytes) = shared(create)?;
        Ok(vec![
            ("file_space_strategy", vec![strategy(create.space_strategy)]),
            ("btree_rank", numbers(&[create.group_internal_k.into(), create.chunk_k.into()])),
            ("block_size", number(create.userblock_bytes)),
            ("symbol_leaf", numbers(&[create.group_leaf_k.into()])),
            ("file_space_page_size", number(create.page_bytes)),
            ("free_space_persist", vec![u8::from(create.space_persist)]),
            ("shmsg_message_types", numbers(&types)),
            ("obj_byte_num", vec![create.length_bytes]),
            ("free_space_threshold", number(create.space_threshold)),
            ("addr_byte_num", vec![create.offset_bytes]),
            ("shmsg_message_minsize", numbers(&bytes)),
            ("shmsg_btree_min", numbers(&[SHARED_TREE_MIN])),
            ("shmsg_list_max", numbers(&[SHARED_LIST_MAX])),
            ("num_shmsg_indexes", numbers(&[create.shared_indexes.len() as u32])),
        ])
    };
    // One call of libhdf5's sets both sizes.
    let has_sizes =
        (create.offset_bytes, create.length_bytes) != (default.offset_bytes, default.length_bytes);
    let pairs = values(create)?.into_iter().zip(values(&default)?);
    let property = |((name, bytes), (_, default)): ((&'static str, _), (_, Vec<u8>))| {
        Property::new(name, bytes, &default).or_set(has_sizes && name.ends_with("_byte_num"))
    };
    Ok(pairs.map(property).collect())
}

/// Indexes before their number is known.
#[derive(Default)]
struct Shared {
    count: u32,
    types: [u32; INDEXES_MAX],
    bytes: [u32; INDEXES_MAX],
}

fn small(cursor: &mut Cursor<'_>, value: u32) -> Result<u16> {
    u16::try_from(value).map_err(|_| cursor.corrupt(format!("number {value}")))
}

fn take(name: &str, cursor: &mut Cursor<'_>, create: &mut FileCreate, shared: &mut Shared) -> Result<()> {
    match name {
        "file_space_strategy" => {
            create.space_strategy = match cursor.u8()? {
                0 => SpaceStrategy::FsmAggregate,
                1 => SpaceStrategy::Page,
                2 => SpaceStrategy::Aggregate,
                3 => SpaceStrategy::None,
                other => return Err(cursor.corrupt(format!("file space strategy {other}"))),
            };
        }
        "btree_rank" => {
            let [group, chunk] = unsigned(cursor)?;
            (create.group_internal_k, create.chunk_k) = (small(cursor, group)?, small(cursor, chunk)?);
        }
        "symbol_leaf" => {
            let [leaf] = unsigned(cursor)?;
            create.group_leaf_k = small(cursor, leaf)?;
        }
        "block_size" => create.userblock_bytes = sized(cursor)?,
        "file_space_page_size" => create.page_bytes = sized(cursor)?,
        "free_space_persist" => create.space_persist = cursor.u8()? != 0,
        "free_space_threshold" => create.space_threshold = sized(cursor)?,
        "obj_byte_num" => create.length_bytes = cursor.u8()?,
        "addr_byte_num" => create.offset_bytes = cursor.u8()?,
        "shmsg_message_types" => shared.types = unsigned(cursor)?,
        "shmsg_message_minsize" => shared.bytes = unsigned(cursor)?,
        "shmsg_btree_min" | "shmsg_list_max" => drop(unsigned::<1>(cursor)?),
        "num_shmsg_indexes" => [shared.count] = unsigned(cursor)?,
        _ => return group::take(name, cursor, &mut create.root),
    }
    Ok(())
}

/// Decodes the bytes of [`file_create`] or `H5Pencode`.
pub fn decode_file_create(bytes: &[u8]) -> Result<FileCreate> {
    let (mut create, mut shared) = (FileCreate::default(), Shared::default());
    decode(bytes, class::FILE_CREATE, |name, cursor| take(name, cursor, &mut create, &mut shared))?;
    let count = usize::try_from(shared.count).unwrap_or(usize::MAX);
    if count > INDEXES_MAX {
        return Err(Error::corrupt("decode property list").with("shared indexes", count));
    }
    let indexes = shared.types.iter().zip(&shared.bytes).take(count);
    let index = |(&types, &bytes_min): (&u32, &u32)| SharedIndex { message_types: types as u16, bytes_min };
    create.shared_indexes = indexes.map(index).collect();
    Ok(create)
}
