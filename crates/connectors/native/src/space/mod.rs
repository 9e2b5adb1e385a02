//! Allocation of file space: from space that was free at the last commit, or at the end of the file.

mod members;
mod pool;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use files::DataKind;
use model::properties::SpaceStrategy;
use model::{Error, Result};

use vol::FilePlacement;

use crate::format::Address;
use members::MemberPools;
use pool::{Pool, round_up};

/// New things start at a multiple of this. Lengths are kept exact: other writers leave no gaps, so what follows a
/// range may be in use from its very next byte.
const ALIGNMENT: u64 = 8;

/// Bytes that a page may have.
const PAGE_BYTES: std::ops::RangeInclusive<u64> = 512..=1 << 30;

/// The end of the last commit is moved for so many bytes, and no fewer: the salts of both ends lie apart then.
const SHRINK_BYTES_MIN: u64 = 4096;

/// The use of bytes. In files of pages each has pages of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// Headers, trees, heaps.
    Metadata,
    /// Elements, variable-length values, and large objects of heaps.
    Raw,
}

impl Use {
    fn of(kind: DataKind) -> Use {
        match kind {
            DataKind::Raw => Use::Raw,
            _ => Use::Metadata,
        }
    }
}

/// Which free ranges are used for what. Only files of pages tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// Within pages of metadata, or anywhere where there are no pages.
    Metadata,
    /// Within pages of raw data.
    Raw,
    /// Whole pages, and what is left of the last page of something large.
    Large,
}

const CLASSES: [Class; 3] = [Class::Metadata, Class::Raw, Class::Large];

/// How a file's space is managed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Policy {
    /// Whether space that the last commit gave up is used again.
    pub(crate) reuses: bool,
    /// Less is not worth keeping.
    pub(crate) threshold: u64,
    /// Bytes of a page, in a file of pages.
    pub(crate) page_bytes: Option<u64>,
    /// Where space is taken, in a file without pages.
    placement: FilePlacement,
}

impl Default for Policy {
    fn default() -> Self {
        Policy { reuses: true, threshold: 1, page_bytes: None, placement: FilePlacement::default() }
    }
}

impl Policy {
    pub(crate) fn new(strategy: SpaceStrategy, threshold: u64, page_bytes: u64) -> Self {
        let is_paged = strategy == SpaceStrategy::Page;
        Policy {
            reuses: matches!(strategy, SpaceStrategy::FsmAggregate | SpaceStrategy::Page),
            threshold,
            page_bytes: is_paged.then_some(page_bytes),
            placement: FilePlacement::default(),
        }
    }

    /// Returns the policy with what the opener of a file asks for.
    pub(crate) fn with_placement(self, placement: FilePlacement) -> Self {
        Policy { placement, ..self }
    }

    /// Returns what the address of so many bytes is a multiple of.
    fn alignment_of(&self, len: u64) -> u64 {
        match self.placement {
            FilePlacement { alignment_threshold, alignment, .. }
                if alignment > 1 && len >= alignment_threshold =>
            {
                alignment
            }
            _ => ALIGNMENT,
        }
    }

    /// Returns the policy, if pages have a size that libhdf5 would allow.
    pub(crate) fn checked(self) -> Result<Self> {
        match self.page_bytes.filter(|bytes| !PAGE_BYTES.contains(bytes)) {
            None => Ok(self),
            Some(bytes) => Err(Error::invalid("manage space of file").with("page bytes", bytes)),
        }
    }
}

/// Start, length and use of a range.
type GivenUp = (u64, u64, Use);

/// The free space of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Space {
    policy: Policy,
    /// First address that is not allocated.
    end: u64,
    /// Free ranges by class.
    free: [Pool; 3],
    /// The use of each page, as far as it is known, by number.
    pages: HashMap<u64, Use>,
    /// Given up since the last commit: what was committed there must stay until the next one.
    pending: Vec<GivenUp>,
    /// Space that commits gave up which are not in the file yet, with their numbers.
    sealed: Vec<(u64, Vec<GivenUp>)>,
    /// Ranges that were free at the last commit and were allocated since. All from `committed_end` on was free.
    recent: Pool,
    committed_end: u64,
    /// Members after the first, in a file of several.
    members: Option<MemberPools>,
    /// Start and end of what is set aside for metadata; nothing else goes there before the file is closed.
    metadata_block: Option<(u64, u64)>,
}

impl Space {
    /// Returns the space of a file that ends at `end`, and of which nothing is known to be free.
    pub(crate) fn new(policy: Policy, end: u64) -> Self {
        Space {
            policy,
            end: policy.page_bytes.map_or(end, |page| round_up(end, page)),
            free: Default::default(),
            pages: HashMap::new(),
            pending: Vec::new(),
            sealed: Vec::new(),
            recent: Pool::default(),
            committed_end: end,
            members: None,
            metadata_block: None,
        }
    }

    /// Returns the space of a new file whose superblock takes `head` bytes.
    pub(crate) fn of_new_file(policy: Policy, head: u64) -> Self {
        let mut space = Space::new(policy, head);
        if policy.page_bytes.is_some() {
            space.pages.insert(0, Use::Metadata);
            space.insert(head, space.end - head, Use::Metadata);
        }
        space
    }

    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Returns whether space that the last commit gave up is used again.
    pub(crate) fn reuses(&self) -> bool {
        self.policy.reuses
    }

    pub(crate) fn is_paged(&self) -> bool {
        self.policy.page_bytes.is_some()
    }

    /// Allocates `len` bytes: in the smallest free range that holds them, or at the end.
    pub(crate) fn allocate(&mut self, len: u64, kind: DataKind) -> Address {
        let in_member = self.members.as_mut().and_then(|members| members.take(len, kind));
        let at = match (in_member, self.policy.page_bytes) {
            (Some(at), _) => at,
            (None, None) => self.allocate_anywhere(len, Use::of(kind)),
            (None, Some(page)) if len < page => self.allocate_in_page(len, page, Use::of(kind)),
            (None, Some(page)) => self.allocate_pages(len, page),
        };
        if at < self.committed_end || self.is_in_member(at) {
            self.recent.insert(at, len, 0..u64::MAX);
        }
        Address(at)
    }

    /// Returns whether an address is of a member after the first.
    fn is_in_member(&self, at: u64) -> bool {
        self.members.as_ref().is_some_and(|members| members.serves(at))
    }

    fn allocate_anywhere(&mut self, len: u64, what: Use) -> u64 {
        let block_bytes = self.policy.placement.metadata_block_bytes;
        if block_bytes > 0 && self.metadata_block.is_none() {
            self.set_metadata_aside(block_bytes);
        }
        if what == Use::Metadata && len <= block_bytes {
            return self.allocate_in_metadata_block(len, block_bytes);
        }
        self.allocate_aligned(len, self.policy.alignment_of(len))
    }

    fn allocate_aligned(&mut self, len: u64, alignment: u64) -> u64 {
        let pool = &mut self.free[Class::Metadata as usize];
        if let Some(at) = pool.take(len, alignment) {
            return at;
        }
        let at = round_up(self.end, alignment);
        pool.insert(self.end, at - self.end, 0..u64::MAX);
        self.end = at.saturating_add(len);
        at
    }

    fn set_metadata_aside(&mut self, bytes: u64) {
        self.release_metadata_block();
        let at = self.allocate_aligned(bytes, self.policy.alignment_of(bytes));
        self.metadata_block = Some((at, at.saturating_add(bytes)));
    }

    fn allocate_in_metadata_block(&mut self, len: u64, block_bytes: u64) -> u64 {
        let alignment = self.policy.alignment_of(len);
        let fitting = |(start, end): (u64, u64)| {
            let at = round_up(start, alignment);
            (at.saturating_add(len) <= end).then_some((start, at, end))
        };
        let found = self.metadata_block.and_then(fitting).or_else(|| {
            self.set_metadata_aside(block_bytes);
            self.metadata_block.and_then(fitting)
        });
        let Some((start, at, end)) = found else { return self.allocate_aligned(len, alignment) };
        self.free[Class::Metadata as usize].insert(start, at - start, 0..u64::MAX);
        self.metadata_block = Some((at + len, end));
        at
    }

    /// Releases the rest of the space for metadata for any use.
    pub(crate) fn release_metadata_block(&mut self) {
        if let Some((start, end)) = self.metadata_block.take() {
            self.free[Class::Metadata as usize].insert(start, end - start, 0..u64::MAX);
        }
    }

    /// Small things share pages with others of their use, and never cross into the next one.
    fn allocate_in_page(&mut self, len: u64, page: u64, what: Use) -> u64 {
        if let Some(at) = self.free[what as usize].take(len, ALIGNMENT) {
            return at;
        }
        let at = self.allocate_pages(page, page);
        self.pages.insert(at / page, what);
        self.insert(at + len, page - len, what);
        at
    }

    /// Large things begin with a page.
    fn allocate_pages(&mut self, len: u64, page: u64) -> u64 {
        if let Some(at) = self.free[Class::Large as usize].take(len, page) {
            return at;
        }
        let at = self.end;
        let stop = at.saturating_add(len);
        self.end = round_up(stop, page);
        self.free[Class::Large as usize].insert(stop, self.end - stop, 0..u64::MAX);
        at
    }

    /// Gives space back: to be used again at once where nothing was committed, else after the next commit.
    pub(crate) fn release(&mut self, at: Address, len: u64, what: Use) {
        if len >= self.policy.threshold {
            self.give_up(at, len, what);
        }
    }

    /// Gives space back, however little it is.
    pub(crate) fn give_up(&mut self, at: Address, len: u64, what: Use) {
        // A damaged file may name space that it does not have.
        let is_there = |stop: u64| stop <= self.end || self.is_in_member(at.0);
        let Some(stop) = at.0.checked_add(len).filter(|&stop| len > 0 && is_there(stop)) else { return };
        match self.is_fresh(at.0, stop) {
            true => self.insert(at.0, len, what),
            false => self.pending.push((at.0, len, what)),
        }
    }

    /// Returns whether a range was free at the last commit.
    pub(crate) fn is_fresh(&self, start: u64, stop: u64) -> bool {
        let is_past_end = start >= self.committed_end && !self.is_in_member(start);
        is_past_end || self.recent.contains(start, stop)
    }

    /// Adds a range that nothing uses, as the file itself says.
    pub(crate) fn add_free(&mut self, start: u64, len: u64, class: Class) {
        match class {
            Class::Large => self.insert_large(start, len),
            Class::Metadata => self.insert_small(start, len, Use::Metadata),
            Class::Raw => self.insert_small(start, len, Use::Raw),
        }
    }

    /// Returns where the file could end: nothing from there on is in use. Ranges of `others` are free for this, and for nothing else.
    /// What the last commit has stays, unless `may_shrink`.
    pub(crate) fn used_end(&self, others: &[(u64, u64)], may_shrink: bool) -> u64 {
        let free_before = |end: u64| {
            let last = CLASSES.iter().find_map(|class| self.free[*class as usize].start_of(end));
            last.or_else(|| others.iter().find(|(start, len)| start + len == end).map(|(start, _)| *start))
        };
        let mut end = self.end;
        while let Some(start) = free_before(end) {
            end = start;
        }
        end = self.policy.page_bytes.map_or(end, |page| round_up(end, page)).min(self.end);
        let shrinks =
            may_shrink && self.policy.reuses && end.saturating_add(SHRINK_BYTES_MIN) <= self.committed_end;
        if shrinks { end } else { end.max(self.committed_end).min(self.end) }
    }

    /// Gives the end of the file back, from [`Space::used_end`] on.
    pub(crate) fn cut_end(&mut self, end: u64) {
        if end >= self.end {
            return;
        }
        self.free.iter_mut().for_each(|pool| pool.cut(end));
        if let Some(page) = self.policy.page_bytes {
            self.pages.retain(|number, _| *number < end.div_ceil(page));
        }
        self.end = end;
    }

    /// Everything that was allocated and given up is part of a commit, which is not in the file yet.
    pub(crate) fn seal(&mut self, number: u64) {
        let pending = std::mem::take(&mut self.pending);
        match self.policy.reuses {
            true if !pending.is_empty() => self.sealed.push((number, pending)),
            true => {}
            false => self.forget_free(),
        }
        self.recent.clear();
        self.committed_end = self.end;
    }

    fn forget_free(&mut self) {
        self.free.iter_mut().for_each(Pool::clear);
        self.members.iter_mut().for_each(MemberPools::keep_ends);
    }

    /// Frees the space that commits up to this number gave up: they are in the file.
    pub(crate) fn free_finished(&mut self, finished: u64) {
        if self.sealed.first().is_none_or(|(number, _)| *number > finished) {
            return;
        }
        let count = self.sealed.partition_point(|(number, _)| *number <= finished);
        let done: Vec<_> = self.sealed.drain(..count).flat_map(|(_, pending)| pending).collect();
        done.into_iter().for_each(|(start, len, what)| self.insert(start, len, what));
    }

    /// Returns the free ranges by class.
    pub(crate) fn free(&self) -> impl Iterator<Item = (Class, u64, u64)> + '_ {
        CLASSES
            .into_iter()
            .flat_map(|class| self.free[class as usize].iter().map(move |(s, l)| (class, s, l)))
    }

    fn insert(&mut self, start: u64, len: u64, what: Use) {
        if let Some(members) = self.members.as_mut().filter(|members| members.serves(start)) {
            return members.insert(start, len);
        }
        match self.policy.page_bytes {
            Some(page) if len >= page => self.insert_large(start, len),
            Some(page) => {
                let known = self.pages.get(&(start / page)).copied();
                self.insert_small(start, len, known.unwrap_or(what));
            }
            None => self.insert_small(start, len, Use::Metadata),
        }
    }

    fn insert_large(&mut self, start: u64, len: u64) {
        self.free[Class::Large as usize].insert(start, len, 0..u64::MAX);
    }

    /// Pages stay apart, until all of one is free.
    fn insert_small(&mut self, start: u64, len: u64, what: Use) {
        let Some(page) = self.policy.page_bytes else {
            self.free[Class::Metadata as usize].insert(start, len, 0..u64::MAX);
            return;
        };
        let first = start - start % page;
        // Nothing small crosses a page: what does is not ours, and its space is not used.
        if len == 0 || len > page - start % page {
            return;
        }
        self.pages.insert(start / page, what);
        let pool = &mut self.free[what as usize];
        let (start, len) = pool.insert(start, len, first..first.saturating_add(page));
        if len == page {
            pool.remove(start, len);
            self.pages.remove(&(start / page));
            self.insert_large(start, len);
        }
    }
}
