//! Space and bytes of the file while it changes: the allocator and the transaction, which all that is written goes through.

use std::collections::VecDeque;
use std::sync::Arc;

use files::{DataKind, PageKind};
use filters::Registry;
use model::{Error, Kind, Result, Within};
use vol::Durability;

use super::file_space::Account;
use super::followed::RecentSpace;
use super::members::MemberInfo;
use crate::format::superblock::{Superblock, TreeK};
use crate::format::{Address, Sizes};
use crate::free_sections::too_large;
use crate::gate::{Gate, Readers};
use crate::reader::Reader;
use crate::space::{Class, Policy, Space, Use};
use crate::store::{Commit, Shared, Store};
use crate::txn::{Publish, PublishOrder};
use crate::update::Blocks;

/// Where bytes of a file go, and how they become part of a commit.
#[derive(Debug)]
pub(crate) struct Storage {
    pub(crate) sizes: Sizes,
    pub(crate) tree_k: TreeK,
    /// Filters that heaps of links can have.
    registry: Registry,
    /// Most bytes of one block of metadata.
    block_bytes_max: u64,
    pub(super) allocator: Allocator,
    pub(super) transaction: Transaction,
    /// The file's own account of its free space, if it has one.
    pub(super) account: Option<Account>,
    /// The file's members, if it has several.
    pub(super) members: Option<MemberInfo>,
    /// Bytes that go over committed ones, and may wait in memory.
    staged_bytes_max: u64,
    /// What processes that follow this one must be told of space, if there are any.
    pub(super) followed: Option<RecentSpace>,
    /// Space in which others wait, and space from which a commit copied them, with its number.
    journal: Vec<(Address, u64)>,
    copied: VecDeque<(u64, Address, u64)>,
}

/// Bytes that are staged at a time: a large write must not be in memory twice.
const PART_BYTES: usize = 1 << 20;
/// The least that waits in memory before it goes to the journal.
const STAGED_BYTES_MIN: u64 = 4096;

/// Finds space, and takes it back.
#[derive(Debug)]
pub(super) struct Allocator {
    pub(super) space: Space,
    /// Readers of other programs look on: nothing is used again.
    pub(super) is_swmr: bool,
    gate: Option<Arc<Gate>>,
    /// Space that was given up while objects were read, with the epoch of readers then.
    limbo: VecDeque<(u64, Address, u64, Use)>,
}

impl Allocator {
    /// Gives space up. It is not used again before all are gone who read meanwhile.
    fn release(&mut self, at: Address, len: u64, used: Use) {
        match self.gate.as_ref().filter(|gate| !gate.readers.is_idle()) {
            Some(gate) => self.limbo.push_back((gate.readers.epoch(), at, len, used)),
            None => self.space.release(at, len, used),
        }
    }

    /// Takes back what readers are done with.
    fn end_limbo(&mut self) {
        let Some(gate) = self.gate.as_ref().filter(|_| !self.limbo.is_empty()) else { return };
        let (is_idle, now) = (gate.readers.is_idle(), gate.readers.epoch());
        let is_over = |epoch: u64| is_idle || Readers::are_gone(epoch, now);
        let count = self.limbo.iter().take_while(|(epoch, ..)| is_over(*epoch)).count();
        for (_, at, len, used) in self.limbo.drain(..count) {
            self.space.release(at, len, used);
        }
    }
}

/// Returns the space of a file as the last commit left it.
fn space_of(reader: &Reader, policy: Policy) -> Space {
    let Store { shared, superblock, .. } = &reader.store;
    let Some(ranges) = shared.members() else { return Space::new(policy, reader.store.end()) };
    // The end of the file is that of the first member; addresses in use end with the last one.
    let space = Space::new(policy, superblock.end.saturating_sub(superblock.base)).of_members(ranges);
    shared.set_end(space.last_end());
    space
}

/// The changes since the last commit.
#[derive(Debug)]
pub(super) struct Transaction {
    store: Arc<Shared>,
    /// As the next commit writes it.
    pub(super) superblock: Superblock,
    /// Whether anything was written since the last commit.
    pub(super) is_changed: bool,
    /// Number of the next commit.
    generation: u64,
}

impl Storage {
    /// Returns the size of each range that is free.
    pub(crate) fn free_sections(&self) -> Vec<u64> {
        self.allocator.space.free().map(|(_, _, len)| len).collect()
    }

    /// Returns the ranges that are free: class, address and bytes.
    pub(crate) fn free_ranges(&self) -> impl Iterator<Item = (Class, u64, u64)> + '_ {
        self.allocator.space.free()
    }

    /// Takes so many bytes at the end of the file, for nothing.
    pub(crate) fn extend(&mut self, by: u64) -> Result<()> {
        let space = &mut self.allocator.space;
        space.extend(by).ok_or_else(|| too_large(space.end(), by))?;
        self.transaction.store.set_end(self.allocator.space.last_end());
        self.transaction.is_changed = true;
        Ok(())
    }

    /// Returns whether nobody else sees the file before it is published.
    pub(super) fn is_private(&self) -> bool {
        self.transaction.store.is_private()
    }

    /// Returns a storage without changes.
    pub(super) fn new(reader: &Reader, policy: Policy, staged_bytes_max: u64) -> Self {
        let Store { shared, superblock, limits, .. } = &reader.store;
        let space = space_of(reader, policy);
        let (store, superblock) = (shared.clone(), superblock.clone());
        Storage {
            sizes: superblock.sizes,
            tree_k: reader.tree_k,
            registry: reader.registry.clone(),
            block_bytes_max: limits.metadata_bytes_max,
            allocator: Allocator { space, is_swmr: false, gate: reader.gate.clone(), limbo: VecDeque::new() },
            transaction: Transaction { store, superblock, is_changed: false, generation: 1 },
            account: None,
            members: None,
            staged_bytes_max: staged_bytes_max.max(STAGED_BYTES_MIN),
            followed: None,
            journal: Vec::new(),
            copied: VecDeque::new(),
        }
    }

    pub(super) fn store(&self) -> &Arc<Shared> {
        &self.transaction.store
    }

    /// Allocates `len` bytes of a kind, which may be read from now on.
    pub(crate) fn allocate(&mut self, len: u64, kind: DataKind) -> Address {
        self.free_finished();
        let at = self.allocator.space.allocate(len, kind);
        self.transaction.store.set_end(self.allocator.space.last_end());
        self.transaction.store.note_allocated(kind, at, len);
        if let Some(followed) = self.followed.as_mut().filter(|_| kind == DataKind::Raw) {
            followed.ranges.push(at.0..at.0.saturating_add(len));
        }
        at
    }

    /// Returns whether nothing that was committed is there.
    pub(crate) fn is_fresh(&self, at: Address, len: u64) -> bool {
        at.0.checked_add(len).is_some_and(|stop| self.allocator.space.is_fresh(at.0, stop))
    }

    /// Returns whether space that is given up is used again.
    pub(super) fn reuses(&self) -> bool {
        self.allocator.space.reuses()
    }

    pub(crate) fn release(&mut self, at: Address, len: u64) {
        self.give_back(at, len, Use::Metadata);
    }

    /// Gives back space of elements or values.
    pub(crate) fn release_raw(&mut self, at: Address, len: u64) {
        self.give_back(at, len, Use::Raw);
    }

    fn give_back(&mut self, at: Address, len: u64, used: Use) {
        // A reader that looks on may still be there.
        if !self.allocator.is_swmr {
            self.followed.iter_mut().for_each(|followed| followed.has_freed = true);
            self.transaction.store.note_freed(at, len);
            self.allocator.release(at, len, used);
        }
    }

    pub(crate) fn write(&mut self, at: Address, data: &[u8]) -> Result<()> {
        self.write_in_turn(at, data, PublishOrder::Middle)
    }

    /// Writes bytes that are published before or after those that point to them.
    pub(crate) fn write_in_turn(&mut self, at: Address, data: &[u8], turn: PublishOrder) -> Result<()> {
        self.transaction.is_changed = true;
        if self.is_fresh(at, data.len() as u64) {
            return self.transaction.store.write(at, data);
        }
        let mut at = at;
        for part in data.chunks(PART_BYTES) {
            let waiting = self.transaction.store.stage(at, part, turn)?;
            if waiting > self.staged_bytes_max {
                self.spill()?;
            }
            at.0 += part.len() as u64;
        }
        Ok(())
    }

    /// Writes bytes over committed ones at once. A crash may leave some of both.
    pub(super) fn overwrite(&mut self, at: Address, data: &[u8]) -> Result<()> {
        self.transaction.is_changed = true;
        match self.is_fresh(at, data.len() as u64) {
            true => self.transaction.store.write(at, data),
            false => self.transaction.store.overwrite(at, data),
        }
    }

    /// Writes bytes of elements where they lie, for other processes to read, unless others wait for a commit there.
    pub(crate) fn put_in_place(&mut self, at: Address, data: &[u8]) -> Result<()> {
        self.transaction.is_changed = true;
        if self.is_fresh(at, data.len() as u64) {
            return self.write_raw(at, data);
        }
        match self.transaction.store.write_bare(at, data) {
            Err(error) if error.kind() == Kind::Busy => self.write(at, data),
            done => done,
        }
    }

    /// Puts what waits for the commit, and goes over committed bytes, to free space of the file.
    fn spill(&mut self) -> Result<()> {
        let bytes = self.transaction.store.spill_bytes()?;
        // Many small pieces stay in memory: each would take as much there, wherever its bytes are.
        if bytes < self.staged_bytes_max / 2 {
            return Ok(());
        }
        let at = self.allocate(bytes, DataKind::Raw);
        let done = self.transaction.store.spill(at, bytes);
        match &done {
            Ok(()) => self.journal.push((at, bytes)),
            Err(_) => self.release_raw(at, bytes),
        }
        done
    }

    /// Returns whether anything waits for a commit.
    pub(super) fn is_changed(&self) -> bool {
        self.transaction.is_changed || !self.is_committed(self.transaction.generation - 1)
    }

    /// Takes everything that was written for one commit. What changes from then on is of the next one.
    pub(super) fn seal(&mut self, durability: Durability) -> Result<Commit> {
        self.allocator.end_limbo();
        self.cut_end(durability);
        self.store_members()?;
        let (space, transaction) = (&mut self.allocator.space, &mut self.transaction);
        let commit = transaction.seal(space, durability)?;
        space.seal(commit.number());
        if let Some(followed) = &mut self.followed {
            *followed = RecentSpace { is_committed: true, ..RecentSpace::default() };
        }
        let number = commit.number();
        self.copied.extend(self.journal.drain(..).map(|(at, len)| (number, at, len)));
        Ok(commit)
    }

    /// Returns where the file could end. A file that keeps an account of its free space has no use for less.
    fn used_end(&self, durability: Durability) -> u64 {
        if self.account.is_some() || self.allocator.is_swmr {
            return self.allocator.space.end();
        }
        let finished = self.transaction.store.finished();
        // Readers may be on their way to what was copied, and without syncs the file may get shorter before its superblock says so.
        let is_idle = self.allocator.gate.as_ref().is_none_or(|gate| gate.readers.is_idle());
        let copied = self.copied.iter().filter(|(number, ..)| is_idle && *number <= finished);
        let copied: Vec<_> = copied.map(|(_, at, len)| (at.0, *len)).collect();
        self.allocator.space.used_end(&copied, durability != Durability::None)
    }

    /// Creates the file end where nothing is in use.
    fn cut_end(&mut self, durability: Durability) {
        let (before, end) = (self.allocator.space.end(), self.used_end(durability));
        self.allocator.space.cut_end(end);
        // What was copied from other members stays.
        for (_, at, len) in self.copied.iter_mut().filter(|(_, at, _)| at.0 < before) {
            *len = (*len).min(end.saturating_sub(at.0));
        }
        self.copied.retain(|(_, _, len)| *len > 0);
    }

    /// The last commit shall make the file as short as it can be.
    pub(super) fn give_back_end(&mut self, durability: Durability) {
        self.free_finished();
        self.allocator.space.release_metadata_block();
        let is_shorter = self.used_end(durability) < self.allocator.space.end();
        self.transaction.is_changed |= is_shorter || self.is_allocation_stale();
    }

    /// Makes everything that was written one commit, and what it gave up free.
    pub(super) fn commit(&mut self, durability: Durability) -> Result<()> {
        self.seal(durability)?.run()?;
        self.free_finished();
        Ok(())
    }

    /// A commit after the last one: from then on the file says what is free.
    pub(super) fn commit_managers(&mut self, durability: Durability) -> Result<()> {
        self.free_finished();
        match self.store_managers()? {
            true => self.commit(durability),
            false => Ok(()),
        }
    }

    /// Frees the space that commits in the file gave up.
    pub(super) fn free_finished(&mut self) {
        let finished = self.transaction.store.finished();
        self.allocator.space.free_finished(finished);
        // The record that leads there may be found after a crash until the next commit is in the file.
        let count = self.copied.iter().take_while(|(number, ..)| *number < finished).count();
        let copied: Vec<_> = self.copied.drain(..count).collect();
        copied.into_iter().for_each(|(_, at, len)| self.release_raw(at, len));
    }
}

impl Transaction {
    fn seal(&mut self, space: &Space, durability: Durability) -> Result<Commit> {
        self.store.set_end(space.last_end());
        self.superblock.end = self.superblock.base + space.end();
        let superblock = self.superblock.encode()?;
        let publish = Publish { superblock: &superblock, end: self.superblock.end };
        let commit = self.store.seal(&publish, durability, self.generation)?;
        self.is_changed = false;
        self.generation += 1;
        Ok(commit)
    }
}

impl Blocks for Storage {
    fn sizes(&self) -> Sizes {
        self.sizes
    }

    fn filters(&self) -> &Registry {
        &self.registry
    }

    fn read(&self, at: Address, len: u64, what: &str) -> Result<Vec<u8>> {
        let stop = at.0.checked_add(len).filter(|&stop| stop <= self.allocator.space.last_end());
        let past = || Error::corrupt(format!("read {what}")).at(at.0).with("bytes", len);
        stop.ok_or_else(past)?;
        let mut block = vec![0; len.within(self.block_bytes_max, what)?];
        let read = self.transaction.store.read(PageKind::Metadata, at, &mut block);
        read.map_err(|e| Error::io(format!("read {what}"), &e).at(at.0))?;
        Ok(block)
    }

    fn allocate(&mut self, len: u64, kind: DataKind) -> Address {
        Storage::allocate(self, len, kind)
    }

    fn release(&mut self, at: Address, len: u64) {
        Storage::release(self, at, len);
    }

    fn release_raw(&mut self, at: Address, len: u64) {
        Storage::release_raw(self, at, len);
    }

    fn is_fresh(&self, at: Address, len: u64) -> bool {
        Storage::is_fresh(self, at, len)
    }

    fn write(&mut self, at: Address, data: &[u8], turn: PublishOrder) -> Result<()> {
        self.write_in_turn(at, data, turn)
    }

    fn generation(&self) -> u64 {
        self.transaction.generation
    }

    fn is_committed(&self, generation: u64) -> bool {
        generation <= self.transaction.store.finished()
    }
}
