//! New files: a superblock and a root group.

use files::{DataKind, DriverBlock, Handle};
use model::properties::{
    self, CreationOrder, FileCreate, FilterSpec, GroupCreate, ObjectCreate, SpaceStrategy,
};
use model::{Error, Result};
use vol::LibVersion;

use super::versions::{self, Versions};
use crate::format::btree1::{Kind, Node};
use crate::format::encode::btree1::group_key;
use crate::format::encode::driver_info as encode_driver;
use crate::format::encode::filters as encode_filters;
use crate::format::encode::group as encode_group;
use crate::format::encode::local_heap::Segment;
use crate::format::encode::shared as encode_shared;
use crate::format::encode::superblock as encode_superblock;
use crate::format::file_space::FileSpace;
use crate::format::group::{GroupInfo, LinkInfo, SymbolTable};
use crate::format::header::{Message, Prefix, flag, kind};
use crate::format::local_heap::LocalHeap;
use crate::format::shared::SharedIndex;
use crate::format::superblock::{Superblock, TreeK};
use crate::format::symbol_table::Cached;
use crate::format::{Address, Sizes};
use crate::space::{Policy, Space};

/// Bytes of messages in the header of a new group, as libhdf5 sizes it: a few links fit.
pub(super) const GROUP_CAPACITY_BYTES: u64 = 120;
/// Space for messages in the header of a group of the older style: a symbol table message, a time, and something more.
pub(super) const OLD_GROUP_CAPACITY_BYTES: u64 = 24 + 16;

/// Indexes of shared messages that a file has at most.
const SHARED_INDEXES_MAX: usize = 8;
/// With more messages an index becomes a tree, with fewer a list: libhdf5's defaults.
const SHARED_LIST_MAX: u16 = 50;
const SHARED_TREE_MIN: u16 = 40;

/// A file that is being created: its superblock, and blocks with their places.
struct NewFile<'a> {
    create: &'a FileCreate,
    low: LibVersion,
    superblock: Superblock,
    /// The information that the driver stores in the file.
    driver: Option<DriverBlock>,
    space: Space,
    blocks: Vec<(Address, Vec<u8>)>,
}

/// Writes an empty file: a superblock, what extends it, and a root group, as old as the bound and the properties allow.
pub(crate) fn create_file(file: &Handle, create: &FileCreate, low: LibVersion) -> Result<()> {
    check(create)?;
    let io = |r: std::io::Result<()>| r.map_err(|e| Error::io("create file", &e));
    let version = superblock_version(create, low, is_old(create, low));
    let mut new = NewFile::place_all(file, create, low, version)?;
    if let Some(allocated) = new.space.allocated() {
        // What is allocated in each member is known when all has its place, and stands in the file.
        io(file.set_allocated(&allocated))?;
        new = NewFile::place_all(file, create, low, version)?;
    }
    io(file.set_len(0))?;
    new.write(file)
}

/// Returns whether the root group has a symbol table.
fn is_old(create: &FileCreate, low: LibVersion) -> bool {
    low == LibVersion::Earliest && is_old_style(&create.root)
}

/// Returns whether a group can have a symbol table, as before HDF5 1.8.
pub(super) fn is_old_style(create: &GroupCreate) -> bool {
    create.link_order == CreationOrder::Untracked && create.filters.is_empty()
}

fn superblock_version(create: &FileCreate, low: LibVersion, is_old: bool) -> u8 {
    let has_chunk_k = create.chunk_k != TreeK::default().chunk;
    match low {
        LibVersion::Earliest
            if is_old && file_space(create).is_none() && create.shared_indexes.is_empty() =>
        {
            u8::from(has_chunk_k)
        }
        LibVersion::Earliest | LibVersion::V18 => 2,
        _ => 3,
    }
}

/// Returns what the file says of how its space is managed, if that is unusual.
fn file_space(create: &FileCreate) -> Option<FileSpace> {
    let plain = FileCreate::default();
    let reuses = Policy::new(create.space_strategy, 1, create.page_bytes).reuses;
    // Like libhdf5: where free space is not used it is not remembered either.
    let persist = create.space_persist && reuses;
    let threshold = if reuses { create.space_threshold } else { plain.space_threshold };
    let usual = create.space_strategy == plain.space_strategy
        && create.page_bytes == plain.page_bytes
        && (persist, threshold) == (plain.space_persist, plain.space_threshold);
    (!usual).then(|| FileSpace {
        strategy: create.space_strategy,
        persist,
        threshold,
        page_bytes: create.page_bytes,
        page_end_threshold: 0,
        end: None,
        managers: vec![None; if persist { 12 } else { 0 }],
    })
}

impl<'a> NewFile<'a> {
    /// Returns all blocks of a new file, with their addresses.
    fn place_all(file: &Handle, create: &'a FileCreate, low: LibVersion, version: u8) -> Result<Self> {
        let mut new = NewFile::new(create, low, version, file)?;
        new.extend()?;
        if is_old(create, low) { new.old_root() } else { new.root() }?;
        new.superblock.end = new.superblock.base.saturating_add(new.space.end());
        Ok(new)
    }

    fn write(&self, file: &Handle) -> Result<()> {
        let io = |r: std::io::Result<()>| r.map_err(|e| Error::io("create file", &e));
        for (at, block) in &self.blocks {
            io(file.write_at(self.superblock.base + at.0, block))?;
        }
        // The last page may be longer than what is in it.
        io(file.set_len(self.superblock.end))?;
        if let Some(allocated) = self.space.allocated() {
            io(file.set_allocated(&allocated))?;
        }
        io(file.write_at(self.superblock.base, &self.superblock.encode()?))?;
        io(file.sync(files::Sync::All))
    }

    fn new(create: &'a FileCreate, low: LibVersion, version: u8, file: &Handle) -> Result<Self> {
        let driver = file.driver_block();
        let sizes =
            Sizes { offset: usize::from(create.offset_bytes), length: usize::from(create.length_bytes) };
        let k = TreeK {
            group_leaf: create.group_leaf_k,
            group_internal: create.group_internal_k,
            chunk: create.chunk_k,
        };
        let mut superblock = Superblock {
            version,
            sizes,
            k,
            flags: 0,
            base: create.userblock_bytes,
            // Known when the root group is created; until then any end that every width of addresses holds.
            end: create.userblock_bytes.saturating_add(1),
            extension: None,
            driver_info: None,
            root: Address(0),
            root_cached: Cached::Nothing,
        };
        let policy = Policy::new(create.space_strategy, create.space_threshold, create.page_bytes);
        let (mut head, mut blocks) = (superblock.encode()?.len() as u64, Vec::new());
        if let Some(driver) = driver.as_ref().filter(|_| version < 2) {
            let block = encode_driver::block(driver)?;
            superblock.driver_info = Some(Address(head));
            head += block.len() as u64;
            blocks.push((Address(head - block.len() as u64), block));
        }
        let space = Space::of_new_file(policy, head);
        let space = match file.members() {
            Some(ranges) => space.of_members(ranges.emptied()),
            None => space,
        };
        Ok(NewFile { create, low, superblock, driver, space, blocks })
    }

    fn place(&mut self, len: u64, kind: DataKind) -> Address {
        self.space.allocate(len, kind)
    }

    /// Writes the superblock extension, if it has any messages.
    fn extend(&mut self) -> Result<()> {
        let mut messages = Vec::new();
        let message = |kind, flags, body| Message { kind, flags, creation_order: None, body };
        if self.superblock.version >= 2 && self.superblock.k != TreeK::default() {
            let body = encode_superblock::tree_k(self.superblock.k)?;
            messages.push(message(kind::TREE_K, flag::CONSTANT | flag::NEVER_SHARE, body));
        }
        if let Some(driver) = self.driver.as_ref().filter(|_| self.superblock.version >= 2) {
            messages.push(message(kind::DRIVER_INFO, flag::NEVER_SHARE, encode_driver::message(driver)?));
        }
        if let Some(space) = file_space(self.create) {
            let body = space.encode(self.superblock.sizes)?;
            messages.push(message(kind::FILE_SPACE, flag::NEVER_SHARE | flag::MARK_UNKNOWN, body));
        }
        if !self.create.shared_indexes.is_empty() {
            let body = self.shared_table()?;
            messages.push(message(kind::SHARED_TABLE, flag::CONSTANT | flag::NEVER_SHARE, body));
        }
        if messages.is_empty() {
            return Ok(());
        }
        let create = ObjectCreate { track_times: false, ..ObjectCreate::default() };
        let capacity = versions::prefix(self.low, &create, 0).messages_bytes(&messages);
        let mut prefix = versions::prefix(self.low, &create, capacity);
        count(&mut prefix, &messages);
        let at = self.place(prefix.first_block_bytes(), DataKind::ObjectHeader);
        self.blocks.push((at, prefix.encode_first_block(&messages)?));
        self.superblock.extension = Some(at);
        Ok(())
    }

    /// Places the table of indexes of shared messages, which are empty, and returns the message that leads to it.
    fn shared_table(&mut self) -> Result<Vec<u8>> {
        let index = |index: &properties::SharedIndex| SharedIndex {
            message_types: index.message_types,
            bytes_min: index.bytes_min,
            is_tree: false,
            list_max: SHARED_LIST_MAX,
            tree_min: SHARED_TREE_MIN,
            messages: 0,
            index: None,
            heap: None,
        };
        let (sizes, indexes) = (self.superblock.sizes, &self.create.shared_indexes);
        let table = encode_shared::table(&indexes.iter().map(index).collect::<Vec<_>>(), sizes)?;
        let count = indexes.len() as u8;
        let at = self.place(table.len() as u64, DataKind::ObjectHeader);
        self.blocks.push((at, table));
        encode_shared::table_message(at, count, sizes)
    }

    fn root(&mut self) -> Result<()> {
        let root = &self.create.root;
        let filters = filters_message(&root.filters, Versions { low: self.low, high: self.low }.filters())?;
        let capacity =
            GROUP_CAPACITY_BYTES + filters.as_ref().map_or(0, |message| message.body.len() as u64 + 8);
        let prefix = versions::prefix(self.low.max(LibVersion::V18), &root.object, capacity);
        let mut messages = group_messages(root, self.superblock.sizes)?;
        messages.extend(filters);
        self.superblock.root = self.place(prefix.first_block_bytes(), DataKind::ObjectHeader);
        self.blocks.push((self.superblock.root, prefix.encode_first_block(&messages)?));
        Ok(())
    }

    /// Writes the root group's header, and then its empty tree and heap.
    fn old_root(&mut self) -> Result<()> {
        let (sizes, k) = (self.superblock.sizes, self.superblock.k.group_internal);
        let object = &self.create.root.object;
        let mut prefix = versions::prefix(LibVersion::Earliest, object, OLD_GROUP_CAPACITY_BYTES);
        let at = self.place(prefix.first_block_bytes(), DataKind::ObjectHeader);
        let tree = self.place(Kind::Group.node_bytes(k, sizes), DataKind::Tree);
        let heap = self.place(LocalHeap::header_bytes(sizes), DataKind::LocalHeap);
        let table = SymbolTable { tree, heap };
        let body = encode_group::symbol_table(table, sizes)?;
        let mut messages = vec![Message { kind: kind::SYMBOL_TABLE, flags: 0, creation_order: None, body }];
        if object.track_times {
            let body = versions::time_message();
            messages.push(Message { kind: kind::TIME, flags: 0, creation_order: None, body });
        }
        count(&mut prefix, &messages);
        let key = group_key(0, sizes)?;
        let node = Node { level: 0, left: None, right: None, keys: vec![&key], children: Vec::new() };
        let names = Segment::for_group(sizes)?;
        let data = self.place(names.len(), DataKind::LocalHeap);
        let local = LocalHeap { data_bytes: names.len(), free: names.first_free(), data };
        self.blocks.push((at, prefix.encode_first_block(&messages)?));
        self.blocks.push((tree, node.encode(Kind::Group, k, sizes)?));
        self.blocks.push((heap, local.encode(sizes)?));
        self.blocks.push((data, names.encode()?));
        self.superblock.root = at;
        self.superblock.root_cached = Cached::Group { tree: Some(tree), heap: Some(heap) };
        Ok(())
    }
}

/// Counts the messages of a version 1 header, with the empty one that fills it.
fn count(prefix: &mut Prefix, messages: &[Message]) {
    if prefix.version == 1 {
        let spare = prefix.block_bytes > prefix.messages_bytes(messages);
        prefix.message_count = Some(messages.len() as u16 + u16::from(spare));
    }
}

/// Returns the messages that every new group has.
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

/// Returns the message that says which filters the heap of a group's links has, if it has some.
pub(super) fn filters_message(filters: &[FilterSpec], version: u8) -> Result<Option<Message>> {
    if filters.is_empty() {
        return Ok(None);
    }
    let body = encode_filters::encode(filters, version)?;
    Ok(Some(Message { kind: kind::FILTERS, flags: 1, creation_order: None, body }))
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

/// Returns an error for properties that are invalid or not supported yet.
pub(crate) fn check(create: &FileCreate) -> Result<()> {
    let unsupported = |what: &str| Err(Error::unsupported("create file").with("property", what));
    let invalid = |what: &'static str, value: u64| Err(Error::invalid("create file").with(what, value));
    let (user_block, page) = (create.userblock_bytes, create.page_bytes);
    if user_block != 0 && (user_block < 512 || !user_block.is_power_of_two()) {
        return invalid("user block bytes", user_block);
    }
    Policy::new(SpaceStrategy::Page, 1, page).checked()?;
    // Pages count from the user block's end, and lie at their multiples in the file too.
    if create.space_strategy == SpaceStrategy::Page && !user_block.is_multiple_of(page) {
        return invalid("user block bytes", user_block);
    }
    // Nodes count their entries, twice K, in 16 bits.
    for k in [create.group_leaf_k, create.group_internal_k, create.chunk_k] {
        if k == 0 || k > u16::MAX / 2 {
            return invalid("B-tree K", k.into());
        }
    }
    if create.shared_indexes.len() > SHARED_INDEXES_MAX {
        return invalid("shared message indexes", create.shared_indexes.len() as u64);
    }
    let usable = |n: u8| matches!(n, 2 | 4 | 8);
    if usable(create.offset_bytes) && usable(create.length_bytes) {
        Ok(())
    } else {
        unsupported("sizes of addresses")
    }
}
