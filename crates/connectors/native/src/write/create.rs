//! New files: a superblock and a root group.

use files::Handle;
use model::properties::{CreationOrder, FileCreate, GroupCreate, SpaceStrategy};
use model::{Error, Result};
use vol::LibVersion;

use super::versions;
use crate::format::btree1::{Kind, Node};
use crate::format::encode::btree1::group_key;
use crate::format::encode::group as encode_group;
use crate::format::encode::local_heap::Segment;
use crate::format::group::{GroupInfo, LinkInfo, SymbolTable};
use crate::format::header::{Message, kind};
use crate::format::local_heap::LocalHeap;
use crate::format::superblock::{Superblock, TreeK};
use crate::format::symbol_table::Cached;
use crate::format::{Address, Sizes};

/// Bytes of messages in the header of a new group, as libhdf5 sizes it: a few links fit.
pub(super) const GROUP_ROOM_BYTES: u64 = 120;
/// The same for a group of the older style: a symbol table message, a time, and something more.
pub(super) const OLD_GROUP_ROOM_BYTES: u64 = 24 + 16;

/// Writes an empty file: a superblock and a root group, as old as the bound allows.
pub(crate) fn create_file(file: &Handle, create: &FileCreate, low: LibVersion) -> Result<()> {
    check(create)?;
    let io = |r: std::io::Result<()>| r.map_err(|e| Error::io("create file", &e));
    let sizes = Sizes { offset: usize::from(create.offset_bytes), length: usize::from(create.length_bytes) };
    let is_old = low == LibVersion::Earliest && create.root.link_order == CreationOrder::Untracked;
    let mut superblock = Superblock {
        version: superblock_version(low, is_old),
        sizes,
        k: TreeK::default(),
        flags: 0,
        base: create.userblock_bytes,
        // Known when the root group is made; until then any end that every width of addresses holds.
        end: create.userblock_bytes.saturating_add(1),
        extension: None,
        driver_info: None,
        root: Address(0),
        root_cached: Cached::Nothing,
    };
    let at = (superblock.encode()?.len() as u64).next_multiple_of(8);
    let body = if is_old { old_root(&mut superblock, create, at)? } else { new_root(create, low, sizes)? };
    superblock.root = Address(at);
    superblock.end = superblock.base + at + body.len() as u64;
    io(file.set_len(0))?;
    io(file.write_at(superblock.base + at, &body))?;
    io(file.write_at(superblock.base, &superblock.encode()?))?;
    io(file.sync(files::Sync::All))
}

fn superblock_version(low: LibVersion, is_old: bool) -> u8 {
    match low {
        LibVersion::Earliest if is_old => 0,
        LibVersion::Earliest | LibVersion::V18 => 2,
        _ => 3,
    }
}

fn new_root(create: &FileCreate, low: LibVersion, sizes: Sizes) -> Result<Vec<u8>> {
    let prefix = versions::prefix(low.max(LibVersion::V18), &create.root.object, GROUP_ROOM_BYTES);
    prefix.encode_first_block(&group_messages(&create.root, sizes)?)
}

/// The root group's header at `at`, then its empty tree and heap.
fn old_root(superblock: &mut Superblock, create: &FileCreate, at: u64) -> Result<Vec<u8>> {
    let (sizes, k) = (superblock.sizes, superblock.k.group_internal);
    let mut prefix = versions::prefix(LibVersion::Earliest, &create.root.object, OLD_GROUP_ROOM_BYTES);
    let tree = at + prefix.first_block_bytes();
    let heap = tree + Kind::Group.node_bytes(k, sizes).next_multiple_of(8);
    let data = heap + LocalHeap::header_bytes(sizes);
    let table = SymbolTable { tree: Address(tree), heap: Address(heap) };
    let body = encode_group::symbol_table(table, sizes)?;
    let mut messages = vec![Message { kind: kind::SYMBOL_TABLE, flags: 0, creation_order: None, body }];
    if create.root.object.track_times {
        let body = versions::time_message();
        messages.push(Message { kind: kind::TIME, flags: 0, creation_order: None, body });
    }
    let spare = prefix.block_bytes > prefix.messages_bytes(&messages);
    prefix.message_count = Some(messages.len() as u16 + u16::from(spare));
    let key = group_key(0, sizes)?;
    let node = Node { level: 0, left: None, right: None, keys: vec![&key], children: Vec::new() };
    let names = Segment::for_group(sizes)?;
    let local = LocalHeap { data_bytes: names.len(), free: names.first_free(), data: Address(data) };
    let mut bytes = prefix.encode_first_block(&messages)?;
    bytes.extend(node.encode(Kind::Group, k, sizes)?);
    bytes.resize((heap - at) as usize, 0);
    bytes.extend(local.encode(sizes)?);
    bytes.resize((data - at) as usize, 0);
    bytes.extend(names.encode()?);
    superblock.root_cached = Cached::Group { tree: Some(table.tree), heap: Some(table.heap) };
    Ok(bytes)
}

/// The messages that every new group has.
pub(super) fn group_messages(create: &GroupCreate, sizes: Sizes) -> Result<Vec<Message>> {
    let info = LinkInfo {
        order_tracked: create.link_order != CreationOrder::Untracked,
        order_indexed: create.link_order == CreationOrder::Indexed,
        order_next: 0,
        heap: None,
        name_tree: None,
        order_tree: None,
    };
    let body = encode_group::link_info(&info, sizes)?;
    let link_info = Message { kind: kind::LINK_INFO, flags: 0, creation_order: None, body };
    Ok(vec![link_info, group_info_message(create)?])
}

pub(super) fn group_info_message(create: &GroupCreate) -> Result<Message> {
    let info = GroupInfo {
        phase: create.link_phase,
        entries_expected: create.entries_expected,
        name_bytes_expected: create.name_bytes_expected,
    };
    Ok(Message {
        kind: kind::GROUP_INFO,
        flags: 1,
        creation_order: None,
        body: encode_group::group_info(&info)?,
    })
}

/// What needs a superblock extension or another version is not written yet.
fn check(create: &FileCreate) -> Result<()> {
    let plain = FileCreate::default();
    let unsupported = |what: &str| Err(Error::unsupported("create file").with("property", what));
    let user_block = create.userblock_bytes;
    if user_block != 0 && (user_block < 512 || !user_block.is_power_of_two()) {
        return Err(Error::invalid("create file").with("user block bytes", user_block));
    }
    let k = (create.group_leaf_k, create.group_internal_k, create.chunk_k);
    if k != (plain.group_leaf_k, plain.group_internal_k, plain.chunk_k) {
        return unsupported("B-tree sizes");
    }
    if create.space_strategy != SpaceStrategy::default()
        || create.space_persist
        || create.space_threshold != 1
    {
        return unsupported("file space strategy");
    }
    if !create.shared_indexes.is_empty() {
        return unsupported("shared messages");
    }
    let usable = |n: u8| matches!(n, 2 | 4 | 8);
    if usable(create.offset_bytes) && usable(create.length_bytes) {
        Ok(())
    } else {
        unsupported("sizes of addresses")
    }
}
