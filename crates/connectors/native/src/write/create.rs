//! New files: a superblock and a root group.

use files::Handle;
use model::properties::{CreationOrder, FileCreate, GroupCreate, SpaceStrategy};
use model::{Error, Result};

use super::objects::prefix_options;
use crate::format::encode::group as encode_group;
use crate::format::group::{GroupInfo, LinkInfo};
use crate::format::header::{Message, Prefix, kind};
use crate::format::superblock::{Superblock, TreeK};
use crate::format::symbol_table::Cached;
use crate::format::{Address, Sizes};

/// Bytes of messages in the header of a new group, as libhdf5 sizes it: a few links fit.
pub(super) const GROUP_ROOM_BYTES: u64 = 120;

/// Writes an empty file: superblock version 2, and a root group of the newer style.
pub(crate) fn create_file(file: &Handle, create: &FileCreate) -> Result<()> {
    check(create)?;
    let io = |r: std::io::Result<()>| r.map_err(|e| Error::io("create file", &e));
    let sizes = Sizes { offset: usize::from(create.offset_bytes), length: usize::from(create.length_bytes) };
    let base = create.userblock_bytes;
    let root = Address((12 + 4 * sizes.offset + 4) as u64).0.next_multiple_of(8);
    let prefix = Prefix::version_2(&prefix_options(&create.root.object), GROUP_ROOM_BYTES);
    let header = prefix.encode_first_block(&group_messages(&create.root, sizes)?)?;
    let superblock = Superblock {
        version: 2,
        sizes,
        k: TreeK::default(),
        flags: 0,
        base,
        end: base + root + header.len() as u64,
        extension: None,
        driver_info: None,
        root: Address(root),
        root_cached: Cached::Nothing,
    };
    io(file.set_len(0))?;
    io(file.write_at(base + root, &header))?;
    io(file.write_at(base, &superblock.encode()?))?;
    io(file.sync(files::Sync::All))
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
