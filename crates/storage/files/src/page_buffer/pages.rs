//! The pages of a page buffer, in the order in which they were used.

use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;
use std::sync::Arc;

use super::{PageBufferOptions, PageKind, PageStatistics};

/// Pages that share a counter of changes do so by chance.
const COUNTERS: usize = 64;

/// A page in the buffer.
#[derive(Debug, Clone)]
pub(super) struct Page {
    pub(super) bytes: Arc<Vec<u8>>,
    pub(super) kind: PageKind,
}

/// The number of changes of a page, before it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp(u64);

/// The pages in the buffer.
#[derive(Debug)]
pub(super) struct Pages {
    options: PageBufferOptions,
    /// Each with the time it was used last.
    kept: HashMap<u64, (u64, Page)>,
    /// Numbers of pages by the time they were used last, of each kind.
    used: [BTreeMap<u64, u64>; 2],
    now: u64,
    changes: [u64; COUNTERS],
    pub(super) statistics: PageStatistics,
}

fn counter(number: u64) -> usize {
    (number % COUNTERS as u64) as usize
}

impl Pages {
    pub(super) fn new(options: PageBufferOptions) -> Self {
        Pages {
            options,
            kept: HashMap::new(),
            used: Default::default(),
            now: 0,
            changes: [0; COUNTERS],
            statistics: PageStatistics::default(),
        }
    }

    /// Returns a page, which is the one that was used last from now on.
    pub(super) fn get(&mut self, number: u64) -> Option<Page> {
        let (time, page) = self.kept.get_mut(&number)?;
        self.now += 1;
        let used = &mut self.used[page.kind as usize];
        used.remove(&std::mem::replace(time, self.now));
        used.insert(self.now, number);
        Some(page.clone())
    }

    /// To be asked for before a page is read, and given back with it.
    pub(super) fn stamp(&self, number: u64) -> Stamp {
        Stamp(self.changes[counter(number)])
    }

    /// Removes a page if there is no space for one more; returns whether there is space now.
    pub(super) fn make_space(&mut self, kind: PageKind, number: u64) -> bool {
        if self.kept.len() < self.options.pages_max || self.kept.contains_key(&number) {
            return true;
        }
        let Some(victim) = self.victim(kind) else { return false };
        if let Some(page) = self.remove(victim) {
            self.statistics.of(page.kind).evictions += 1;
        }
        true
    }

    /// Returns the page that was used longest ago, of those that a page of this kind may push out.
    fn victim(&self, kind: PageKind) -> Option<u64> {
        let min = [self.options.metadata_pages_min, self.options.raw_pages_min];
        let oldest = |of: PageKind| {
            let used = &self.used[of as usize];
            let may_go = of == kind || used.len() > min[of as usize];
            used.first_key_value().filter(|_| may_go)
        };
        let candidates = [oldest(PageKind::Metadata), oldest(PageKind::Raw)];
        candidates.into_iter().flatten().min_by_key(|(time, _)| **time).map(|(_, number)| *number)
    }

    /// Adds a page, unless it changed since `stamp` or others took the space meanwhile.
    pub(super) fn insert(&mut self, number: u64, page: Page, stamp: Stamp) {
        if self.stamp(number) != stamp {
            return;
        }
        self.remove(number);
        if self.kept.len() < self.options.pages_max {
            self.now += 1;
            self.used[page.kind as usize].insert(self.now, number);
            self.kept.insert(number, (self.now, page));
        }
    }

    fn remove(&mut self, number: u64) -> Option<Page> {
        let (time, page) = self.kept.remove(&number)?;
        self.used[page.kind as usize].remove(&time);
        Some(page)
    }

    /// Removes pages that changed. Readers that are reading one of them now do not add it.
    pub(super) fn forget(&mut self, numbers: RangeInclusive<u64>) {
        let count = numbers.end().saturating_sub(*numbers.start()).saturating_add(1);
        for number in numbers.clone().take(COUNTERS) {
            self.changes[counter(number)] += 1;
        }
        if count <= self.kept.len() as u64 {
            numbers.for_each(|number| drop(self.remove(number)));
            return;
        }
        let gone: Vec<u64> = self.kept.keys().copied().filter(|number| numbers.contains(number)).collect();
        gone.into_iter().for_each(|number| drop(self.remove(number)));
    }
}
