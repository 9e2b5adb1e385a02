//! Kinds of data at addresses, to label the lines of a log. Nothing else depends on them.

use std::collections::BTreeMap;

use crate::DataKind;

/// Ranges that are remembered, at most.
const RANGES_MAX: usize = 1 << 20;

/// What begins with these bytes is of this kind.
const SIGNATURES: [(&[u8], DataKind); 22] = [
    (b"\x89HDF\r\n\x1a\n", DataKind::Superblock),
    (b"TREE", DataKind::Tree),
    (b"SNOD", DataKind::Tree),
    (b"BTHD", DataKind::Tree),
    (b"BTIN", DataKind::Tree),
    (b"BTLF", DataKind::Tree),
    (b"GCOL", DataKind::GlobalHeap),
    (b"HEAP", DataKind::LocalHeap),
    (b"FHDB", DataKind::LocalHeap),
    (b"FSSE", DataKind::LocalHeap),
    (b"FRHP", DataKind::ObjectHeader),
    (b"FHIB", DataKind::ObjectHeader),
    (b"FSHD", DataKind::ObjectHeader),
    (b"OHDR", DataKind::ObjectHeader),
    (b"OCHK", DataKind::ObjectHeader),
    (b"SMTB", DataKind::ObjectHeader),
    (b"SMLI", DataKind::ObjectHeader),
    (b"FAHD", DataKind::ObjectHeader),
    (b"FADB", DataKind::ObjectHeader),
    (b"EAHD", DataKind::ObjectHeader),
    (b"EAIB", DataKind::ObjectHeader),
    (b"EADB", DataKind::ObjectHeader),
];

/// Returns the kind that the first bytes of a structure show.
pub(super) fn recognized(bytes: &[u8]) -> Option<DataKind> {
    let by_signature =
        SIGNATURES.iter().find(|(signature, _)| bytes.starts_with(signature)).map(|(_, kind)| *kind);
    by_signature.or_else(|| is_old_header(bytes).then_some(DataKind::ObjectHeader))
}

/// Object headers of version 1 have no signature: version, zero, number of messages, reference count, size, zeros.
fn is_old_header(bytes: &[u8]) -> bool {
    let Some(head) = bytes.first_chunk::<16>() else { return false };
    head[0] == 1
        && head[1] == 0
        && head[4] > 0
        && head[5..8] == [0; 3]
        && head[8] % 8 == 0
        && head[12..] == [0; 4]
}

/// Returns the name that libhdf5 gives a kind.
pub(super) fn name(kind: Option<DataKind>) -> &'static str {
    match kind {
        None => "H5FD_MEM_DEFAULT",
        Some(DataKind::Superblock) => "H5FD_MEM_SUPER",
        Some(DataKind::Tree) => "H5FD_MEM_BTREE",
        Some(DataKind::Raw) => "H5FD_MEM_DRAW",
        Some(DataKind::GlobalHeap) => "H5FD_MEM_GHEAP",
        Some(DataKind::LocalHeap) => "H5FD_MEM_LHEAP",
        Some(DataKind::ObjectHeader) => "H5FD_MEM_OHDR",
    }
}

/// Ranges of addresses with their kinds, that do not overlap: end and kind by start.
#[derive(Debug, Default)]
pub(super) struct KindMap {
    ranges: BTreeMap<u64, (u64, DataKind)>,
}

impl KindMap {
    /// Sets the kind of a range, or forgets it.
    pub(super) fn set(&mut self, start: u64, end: u64, kind: Option<DataKind>) {
        if start >= end {
            return;
        }
        self.cut(start);
        self.cut(end);
        let inside: Vec<u64> = self.ranges.range(start..end).map(|(start, _)| *start).collect();
        for start in inside {
            self.ranges.remove(&start);
        }
        if let Some(kind) = kind.filter(|_| self.ranges.len() < RANGES_MAX) {
            self.ranges.insert(start, (end, kind));
        }
    }

    /// Lets no range go across an address.
    fn cut(&mut self, at: u64) {
        let Some((_, (end, kind))) = self.ranges.range_mut(..at).next_back() else { return };
        if *end > at {
            let rest = (std::mem::replace(end, at), *kind);
            self.ranges.insert(at, rest);
        }
    }

    /// Returns the kind of an address.
    pub(super) fn at(&self, address: u64) -> Option<DataKind> {
        let (_, (end, kind)) = self.ranges.range(..=address).next_back()?;
        (*end > address).then_some(*kind)
    }

    /// Returns the runs of one kind that a range consists of, at most `count_max`: the last has the rest.
    pub(super) fn runs(&self, start: u64, end: u64, count_max: usize) -> Vec<(u64, u64, Option<DataKind>)> {
        let (mut runs, mut at): (Vec<(u64, u64, Option<DataKind>)>, _) = (Vec::new(), start);
        while at < end {
            let kind = self.at(at);
            let next = match kind {
                Some(_) => self.ranges.range(..=at).next_back().map_or(end, |(_, (stop, _))| *stop),
                None => self.ranges.range(at..).next().map_or(end, |(next, _)| *next),
            };
            let (next, is_full) = (next.min(end), runs.len() == count_max);
            match runs.last_mut() {
                Some((_, stop, last)) if *last == kind => *stop = next,
                Some((_, stop, _)) if is_full => {
                    *stop = end;
                    break;
                }
                _ => runs.push((at, next, kind)),
            }
            at = next;
        }
        runs
    }

    /// Returns all ranges.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, u64, DataKind)> + '_ {
        self.ranges.iter().map(|(start, (end, kind))| (*start, *end, *kind))
    }
}
