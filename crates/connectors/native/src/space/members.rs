//! Free space of a file whose kinds of data lie in members of their own.
//!
//! The first member holds the superblock; its space is managed as that of any file, and the file's end is its end. Each other
//! member has a pool of free ranges, the last of which reaches to the end of its addresses.

use files::{DataKind, MemberRanges};

use super::pool::Pool;
use super::{ALIGNMENT, Space};

/// The members after the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MemberPools {
    ranges: MemberRanges,
    pools: Vec<Pool>,
}

impl MemberPools {
    fn new(ranges: MemberRanges) -> Self {
        let pools = ranges.all().iter().skip(1).map(|range| {
            let (start, mut pool) = (range.start + range.allocated, Pool::default());
            pool.insert(start, range.end - start, 0..u64::MAX);
            pool
        });
        MemberPools { pools: pools.collect(), ranges }
    }

    /// Returns whether an address is one of these members.
    pub(super) fn serves(&self, at: u64) -> bool {
        at >= self.ranges.first().end
    }

    /// Takes `len` bytes from the member for this kind; `None` if that is the first one, or has no such range.
    pub(super) fn take(&mut self, len: u64, kind: DataKind) -> Option<u64> {
        self.pools.get_mut(self.ranges.of(kind).checked_sub(1)?)?.take(len, ALIGNMENT)
    }

    /// Adds a free range to the member that has it.
    pub(super) fn insert(&mut self, start: u64, len: u64) {
        let Some(index) = self.ranges.serving(start) else { return };
        let fits = len <= self.ranges.all()[index].end - start;
        if let Some(pool) = index.checked_sub(1).and_then(|index| self.pools.get_mut(index)).filter(|_| fits)
        {
            pool.insert(start, len, 0..u64::MAX);
        }
    }

    /// Forgets free ranges but those at the ends of members.
    pub(super) fn keep_ends(&mut self) {
        for (index, pool) in self.pools.iter_mut().enumerate() {
            let (start, end) = (used_end(&self.ranges, pool, index), self.ranges.all()[index + 1].end);
            pool.clear();
            pool.insert(start, end - start, 0..u64::MAX);
        }
    }

    fn used_ends(&self) -> impl DoubleEndedIterator<Item = u64> + ExactSizeIterator {
        self.pools.iter().enumerate().map(|(index, pool)| used_end(&self.ranges, pool, index))
    }
}

/// Returns where the free range begins that reaches to the end of a member's addresses.
fn used_end(ranges: &MemberRanges, pool: &Pool, index: usize) -> u64 {
    let end = ranges.all()[index + 1].end;
    pool.start_of(end).unwrap_or(end)
}

impl Space {
    /// Returns the space of a file of several members, the first of which ends at `end`.
    pub(crate) fn of_members(self, ranges: MemberRanges) -> Self {
        Space { members: Some(MemberPools::new(ranges)), ..self }
    }

    /// Returns bytes that are allocated in each member, or `None` if there is one range only.
    pub(crate) fn allocated(&self) -> Option<Vec<u64>> {
        let members = self.members.as_ref()?;
        let starts = members.ranges.all().iter().skip(1).map(|range| range.start);
        let rest = members.used_ends().zip(starts).map(|(end, start)| end - start);
        Some(std::iter::once(self.end).chain(rest).collect())
    }

    /// Returns one past the last address that is allocated.
    pub(crate) fn last_end(&self) -> u64 {
        let of_members = self.members.iter().flat_map(MemberPools::used_ends);
        of_members.max().unwrap_or(0).max(self.end)
    }

    /// Takes so many bytes at the end, or whole pages of them; `None` if offsets in files cannot be so large.
    pub(crate) fn extend(&mut self, by: u64) -> Option<()> {
        let by = super::pool::round_up(by, self.policy.page_bytes.unwrap_or(1));
        self.end = self.end.checked_add(by).filter(|end| i64::try_from(*end).is_ok())?;
        Some(())
    }

    /// Returns whether the first member has space for all that it was asked for.
    pub(crate) fn fits(&self) -> bool {
        self.members.as_ref().is_none_or(|members| self.end <= members.ranges.first().end)
    }
}
