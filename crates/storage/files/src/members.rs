//! Address ranges of a file whose kinds of data lie in members of their own.

use std::io;

/// The kind of data that bytes belong to, for drivers with a member for each (`H5FD_mem_t`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataKind {
    /// The superblock and what belongs to it.
    Superblock,
    /// Nodes of B-trees, and other indexes.
    Tree,
    /// Elements of datasets.
    Raw,
    /// Values of variable length. libhdf5 stores them as [`Raw`](DataKind::Raw), and so do we.
    GlobalHeap,
    /// Names of links, and blocks of heaps.
    LocalHeap,
    /// Headers of objects and of other structures.
    ObjectHeader,
}

/// The addresses of one member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemberRange {
    /// Address of its first byte.
    pub start: u64,
    /// One past its last address.
    pub end: u64,
    /// Bytes from `start` on that are allocated, as the file says.
    pub allocated: u64,
}

/// Where a member begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemberStart {
    /// Address of its first byte.
    pub start: u64,
    /// Bytes from `start` on that are allocated.
    pub allocated: u64,
}

/// The members of a file, the one with the superblock first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberRanges {
    ranges: Vec<MemberRange>,
    /// For each kind, the index of its member.
    by_kind: [usize; 6],
}

impl MemberRanges {
    /// Describes members; each ends where the next higher one begins. `by_kind` has the index of the member for each
    /// [`DataKind`], in their order.
    ///
    /// # Errors
    /// Returns `InvalidData` if the first does not start at 0, two start at the same address, more is allocated than a member
    /// has addresses, or a kind has no member.
    pub fn new(members: &[MemberStart], by_kind: [usize; 6]) -> io::Result<MemberRanges> {
        let next = |start: u64| members.iter().map(|other| other.start).filter(|other| *other > start).min();
        let range = |&MemberStart { start, allocated }: &MemberStart| MemberRange {
            start,
            end: next(start).unwrap_or(u64::MAX),
            allocated,
        };
        let ranges: Vec<MemberRange> = members.iter().map(range).collect();
        let is_sound = |(index, range): (usize, &MemberRange)| {
            let is_first_at_0 = (range.start == 0) == (index == 0);
            let is_unique = ranges.iter().filter(|other| other.start == range.start).count() == 1;
            is_first_at_0 && is_unique && range.allocated <= range.end - range.start
        };
        let has_all = by_kind.iter().all(|index| *index < ranges.len());
        if has_all && ranges.iter().enumerate().all(is_sound) {
            Ok(MemberRanges { ranges, by_kind })
        } else {
            Err(io::Error::new(io::ErrorKind::InvalidData, "addresses of members overlap"))
        }
    }

    /// Returns all members.
    pub fn all(&self) -> &[MemberRange] {
        &self.ranges
    }

    /// Returns the member with the superblock.
    pub fn first(&self) -> MemberRange {
        self.ranges[0]
    }

    /// Returns the same members with nothing allocated.
    pub fn emptied(mut self) -> MemberRanges {
        self.ranges.iter_mut().for_each(|range| range.allocated = 0);
        self
    }

    /// Returns the index of the member for bytes of this kind.
    pub fn of(&self, kind: DataKind) -> usize {
        self.by_kind[kind as usize]
    }

    /// Returns the index of the member that serves an address.
    pub fn serving(&self, address: u64) -> Option<usize> {
        self.ranges.iter().position(|range| range.start <= address && address < range.end)
    }
}
