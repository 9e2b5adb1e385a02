//! Free space that a file remembers: managers that are read when it is opened, and written when it is closed.
//!
//! While a file is changed its message names no managers, from the first commit on: what libhdf5 finds after a crash
//! never lists space that is in use. They come back with a commit of their own, the last one, when all else is published.

use files::DataKind;
use model::properties::SpaceStrategy;
use model::{Error, Result};

use super::storage::Storage;
use crate::format::encode::header as encode_header;
use crate::format::file_space::FileSpace;
use crate::format::free_space::{Client, Detail, Manager, Section};
use crate::format::header::{self, Message, MessageRef, Prefix, kind};
use crate::format::{Address, Sizes};
use crate::object::footprint::Ranges;
use crate::object::header::Header;
use crate::reader::Reader;
use crate::space::{Class, Space, Use};
use crate::store::Store;
use crate::txn::PublishOrder;

/// Managers of small and of large ranges, for six kinds of data each.
const MANAGERS: usize = 12;
/// The managers that are used: those of metadata, of raw data, and of pages.
const SLOT_METADATA: usize = 0;
const SLOT_RAW: usize = 2;
const SLOT_LARGE: usize = 6;
/// Without pages, free ranges from here on are for raw data: metadata is small.
const RAW_BYTES: u64 = 2048;

/// The account of free space that a file keeps.
#[derive(Debug)]
pub(crate) struct Account {
    info: FileSpace,
    extension: Extension,
    /// The message names managers.
    is_listed: bool,
    /// A commit was made since the file was opened.
    is_changed: bool,
}

/// The superblock extension. Once it is prepared, its messages keep their places.
#[derive(Debug, Clone)]
pub(super) struct Extension {
    address: Address,
    prefix: Prefix,
    first: Vec<Message>,
    rest: Vec<Message>,
    continuations: Ranges,
}

impl Extension {
    /// Returns an extension without messages.
    pub(super) fn new(address: Address, prefix: Prefix) -> Extension {
        Extension { address, prefix, first: Vec::new(), rest: Vec::new(), continuations: Ranges::new() }
    }

    pub(super) fn load(store: &Store, address: Address) -> Result<Extension> {
        let header = Header::load(store, address)?;
        let continuations = header.messages_of(kind::CONTINUATION);
        let continuations = continuations.map(|m| header::continuation(m.body, store.sizes()));
        let continuations = continuations.collect::<Result<_>>()?;
        let first = header.messages().filter(|m| m.kind != 0 && m.kind != kind::CONTINUATION);
        Ok(Extension {
            address,
            prefix: header.prefix.clone(),
            first: first.map(MessageRef::to_message).collect(),
            rest: Vec::new(),
            continuations,
        })
    }

    /// Replaces the message of this kind, if there is one.
    pub(super) fn set(&mut self, kind: u16, body: Vec<u8>) {
        let mut messages = self.first.iter_mut().chain(&mut self.rest);
        if let Some(message) = messages.find(|m| m.kind == kind) {
            message.body = body;
        }
    }

    /// Replaces the message of this kind, or adds it.
    pub(super) fn put(&mut self, kind: u16, flags: u8, body: Vec<u8>) {
        if !self.first.iter().chain(&self.rest).any(|message| message.kind == kind) {
            self.first.push(Message { kind, flags, creation_order: None, body: Vec::new() });
        }
        self.set(kind, body);
    }

    /// Removes the message of this kind, if there is one.
    pub(super) fn remove(&mut self, kind: u16) {
        self.first.retain(|message| message.kind != kind);
        self.rest.retain(|message| message.kind != kind);
    }

    /// Finds a place for every message; the bodies have the lengths that they keep.
    pub(super) fn prepare(&mut self, storage: &mut Storage) -> Result<()> {
        for (at, len) in std::mem::take(&mut self.continuations) {
            storage.release(at, len);
        }
        self.first.retain(|message| message.kind != kind::CONTINUATION);
        self.first.append(&mut self.rest);
        if self.prefix.messages_bytes(&self.first) > self.prefix.block_bytes {
            let body = encode_header::continuation(Address(0), 1, storage.sizes)?;
            let last = Message { kind: kind::CONTINUATION, flags: 0, creation_order: None, body };
            let last_bytes = self.prefix.message_bytes(&last) as u64;
            while self.prefix.messages_bytes(&self.first) + last_bytes > self.prefix.block_bytes {
                let too_small = || Error::corrupt("change superblock extension").at(self.address.0);
                self.rest.insert(0, self.first.pop().ok_or_else(too_small)?);
            }
            let len = self.prefix.continuation_bytes(&self.rest);
            let at = storage.allocate(len, DataKind::ObjectHeader);
            self.continuations.push((at, len));
            let body = encode_header::continuation(at, len, storage.sizes)?;
            self.first.push(Message { body, ..last });
        }
        if self.prefix.version == 1 {
            let spare = self.prefix.block_bytes > self.prefix.messages_bytes(&self.first);
            let count = self.first.len() + self.rest.len() + usize::from(spare);
            self.prefix.message_count = Some(u16::try_from(count).unwrap_or(u16::MAX));
        }
        Ok(())
    }

    pub(super) fn write(&self, storage: &mut Storage, turn: PublishOrder) -> Result<()> {
        for &(at, len) in &self.continuations {
            storage.write_in_turn(at, &self.prefix.encode_continuation(&self.rest, len)?, turn)?;
        }
        storage.write_in_turn(self.address, &self.prefix.encode_first_block(&self.first)?, turn)
    }
}

impl Storage {
    /// Takes over the free space that the file remembers. What was wrong with it, if it cannot be trusted: then it is lost.
    pub(crate) fn take_account(&mut self, reader: &Reader) -> Result<Option<Error>> {
        let store = &reader.store;
        let info = reader.space.as_ref().filter(|info| info.persist);
        let Some((info, at)) = info.zip(store.superblock.extension) else {
            return Ok(None);
        };
        let is_listed = info.managers.iter().any(Option::is_some);
        let extension = Extension::load(store, at)?;
        let found = StoredManagers::load(store, info);
        let info = FileSpace { end: None, managers: vec![None; MANAGERS], ..info.clone() };
        self.account = Some(Account { info, extension, is_listed, is_changed: false });
        match found {
            Ok(found) => self.take_found(found).map(|()| None),
            Err(error) => Ok(Some(error)),
        }
    }

    fn take_found(&mut self, found: StoredManagers) -> Result<()> {
        for (class, start, len) in found.free {
            self.allocator.space.add_free(start, len, class);
        }
        // The managers themselves are written anew.
        for (at, len) in found.blocks {
            self.allocator.space.give_up(at, len, Use::Metadata);
        }
        Ok(())
    }

    /// From the next commit on the message names no managers. Published before anything that may use the space they list.
    pub(super) fn forget_managers(&mut self) -> Result<()> {
        let Some(mut account) = self.account.take() else { return Ok(()) };
        let done = account.forget(self);
        self.account = Some(account);
        done
    }

    /// Says what the superblock extension is from now on.
    pub(super) fn reload_account(&mut self, extension: &Extension) {
        if let Some(account) = &mut self.account {
            account.extension = extension.clone();
        }
    }

    /// Writes what is free now, to become part of the next commit. Whether there is anything to commit.
    pub(super) fn store_managers(&mut self) -> Result<bool> {
        let Some(mut account) = self.account.take() else { return Ok(false) };
        let done = account.store(self);
        self.account = Some(account);
        done
    }
}

impl Account {
    fn forget(&mut self, storage: &mut Storage) -> Result<()> {
        if self.is_changed && !self.is_listed {
            return Ok(());
        }
        self.info.end = None;
        self.info.managers = vec![None; MANAGERS];
        self.extension.set(kind::FILE_SPACE, self.info.encode(storage.sizes)?);
        if !self.is_changed {
            self.extension.prepare(storage)?;
            self.is_changed = true;
        }
        self.is_listed = false;
        self.extension.write(storage, PublishOrder::First)
    }

    fn store(&mut self, storage: &mut Storage) -> Result<bool> {
        // Lists of narrower lengths cannot be read by libhdf5.
        if !self.is_changed || self.is_listed || storage.sizes.length < 8 {
            return Ok(false);
        }
        let places = places(storage);
        let mut managers = vec![None; MANAGERS];
        for place in &places {
            managers[place.slot] = place.write(storage)?;
        }
        self.info.end = Some(Address(storage.allocator.space.end()));
        self.info.managers = managers;
        self.extension.set(kind::FILE_SPACE, self.info.encode(storage.sizes)?);
        self.extension.write(storage, PublishOrder::Middle)?;
        self.is_listed = true;
        Ok(true)
    }
}

/// Space for a manager and its list.
struct ManagerSpace {
    slot: usize,
    header: (Address, u64),
    list: (Address, u64),
    /// Most ranges that the list can hold.
    count_max: usize,
}

/// Returns the free ranges by manager.
fn sections(space: &Space) -> Vec<(usize, Vec<Section>)> {
    let mut slots = [SLOT_METADATA, SLOT_RAW, SLOT_LARGE].map(|slot| (slot, Vec::new()));
    for (class, offset, bytes) in space.free() {
        let (class, kind) = match (space.is_paged(), class) {
            (true, Class::Large) => (class, 2),
            (true, _) => (class, 1),
            (false, _) if bytes >= RAW_BYTES => (Class::Raw, 0),
            (false, _) => (Class::Metadata, 0),
        };
        slots[class as usize].1.push(Section { offset, bytes, detail: Detail::Plain(kind) });
    }
    slots.into()
}

/// Reserves space for the managers. That changes what is free: lists get some space more.
fn places(storage: &mut Storage) -> Vec<ManagerSpace> {
    let slots = sections(&storage.allocator.space);
    // Making space takes from one range and may leave two, each time.
    let spare = 2 * 2 * slots.len();
    let header_bytes = Manager::header_bytes(storage.sizes);
    let mut places = Vec::new();
    for (slot, sections) in slots {
        // Metadata comes first: all this space is taken from there.
        if sections.is_empty() && slot != SLOT_METADATA {
            continue;
        }
        let count_max = sections.len() + spare;
        let list_bytes = Manager::of_file().list_bytes_max(count_max, storage.sizes);
        let header = (storage.allocate(header_bytes, DataKind::ObjectHeader), header_bytes);
        places.push(ManagerSpace {
            slot,
            header,
            list: (storage.allocate(list_bytes, DataKind::LocalHeap), list_bytes),
            count_max,
        });
    }
    let now = sections(&storage.allocator.space);
    let is_empty = |slot: usize| now.iter().any(|(s, sections)| *s == slot && sections.is_empty());
    let (unused, used): (Vec<ManagerSpace>, Vec<ManagerSpace>) =
        places.into_iter().partition(|p| is_empty(p.slot));
    for (at, len) in unused.into_iter().flat_map(|place| [place.header, place.list]) {
        storage.allocator.space.give_up(at, len, Use::Metadata);
    }
    used
}

impl ManagerSpace {
    /// Writes the manager as the space is now.
    fn write(&self, storage: &mut Storage) -> Result<Option<Address>> {
        let sizes = storage.sizes;
        let all = sections(&storage.allocator.space);
        let mut sections = all.into_iter().find(|(slot, _)| *slot == self.slot).map_or(Vec::new(), |s| s.1);
        // What does not fit is lost, the smallest first.
        sections.sort_by_key(|s| std::cmp::Reverse(s.bytes));
        sections.truncate(self.count_max);
        if sections.is_empty() {
            return Ok(None);
        }
        let (count, manager) = (sections.len() as u64, Manager::of_file());
        let manager = Manager {
            bytes: sections.iter().map(|s| s.bytes).sum(),
            sections: count,
            stored_sections: count,
            list: Some(self.list.0),
            list_used_bytes: manager.list_bytes_of(&sections, sizes) as u64,
            list_bytes: self.list.1,
            ..manager
        };
        storage.write(self.list.0, &manager.encode_list(self.header.0, &sections, sizes)?)?;
        storage.write(self.header.0, &manager.encode(sizes)?)?;
        Ok(Some(self.header.0))
    }
}

/// The free-space managers of a file.
#[derive(Default)]
struct StoredManagers {
    free: Vec<(Class, u64, u64)>,
    /// The managers themselves.
    blocks: Ranges,
}

impl StoredManagers {
    fn load(store: &Store, info: &FileSpace) -> Result<StoredManagers> {
        let mut found = StoredManagers::default();
        if info.end.is_some_and(|end| end.0 != store.end()) {
            return Err(stale("the file changed since"));
        }
        let is_paged = info.strategy == SpaceStrategy::Page;
        for (slot, at) in info.managers.iter().enumerate() {
            let Some(at) = *at else { continue };
            let class = match slot {
                _ if !is_paged => Class::Metadata,
                6.. => Class::Large,
                2 | 3 => Class::Raw,
                _ => Class::Metadata,
            };
            found.add_manager(store, at, class)?;
        }
        found.check(store.sizes(), store.end())?;
        Ok(found)
    }

    fn add_manager(&mut self, store: &Store, at: Address, class: Class) -> Result<()> {
        let sizes = store.sizes();
        let bytes = Manager::header_bytes(sizes);
        let manager = Manager::decode(&store.block(at, bytes, "free-space manager")?, sizes)?;
        if manager.client != Client::File {
            return Err(stale("a manager of something else"));
        }
        self.blocks.push((at, bytes));
        let Some(list) = manager.list else { return Ok(()) };
        let block = store.block(list, manager.list_bytes, "free-space sections")?;
        self.blocks.push((list, manager.list_bytes));
        let sections = manager.sections(&block, at, sizes, &store.limits)?;
        self.free.extend(sections.into_iter().map(|s| (class, s.offset, s.bytes)));
        Ok(())
    }

    /// Space that is listed twice, or that holds a manager, cannot be free.
    fn check(&self, sizes: Sizes, end: u64) -> Result<()> {
        let blocks = self.blocks.iter().map(|(at, len)| (at.0, *len));
        let mut all: Vec<(u64, u64)> = self.free.iter().map(|&(_, s, l)| (s, l)).chain(blocks).collect();
        all.sort_unstable();
        let mut from = 16 + 4 * sizes.offset as u64;
        for (start, len) in all {
            let stop = start.checked_add(len).filter(|&stop| start >= from && len > 0 && stop <= end);
            from = stop.ok_or_else(|| stale("ranges overlap").at(start))?;
        }
        Ok(())
    }
}

fn stale(problem: &str) -> Error {
    Error::corrupt("read free space").with("problem", problem)
}
