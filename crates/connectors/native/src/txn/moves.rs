//! Bytes that wait in the file, as a redo record has them.

use std::ops::Range;

use model::Result;
use model::bytes::{Cursor, Put};

use super::claim::is_inside;
use super::journal::{Extent, Journal, Move};

/// Bytes that wait in the file, in a record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Moves {
    /// So many entries are published before them.
    pub(super) after: usize,
    pub(super) extents: Vec<Extent>,
    pub(crate) all: Vec<Move>,
}

impl Moves {
    pub(super) fn of(journal: &Journal) -> Self {
        Moves { after: 0, extents: journal.extents().to_vec(), all: journal.moves().copied().collect() }
    }

    pub(super) fn bytes(&self) -> u64 {
        if self.all.is_empty() { 0 } else { 24 + 24 * (self.extents.len() + self.all.len()) as u64 }
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        if self.all.is_empty() {
            return;
        }
        let extents = self.extents.iter().flat_map(|e| [e.at, e.len, e.sum]);
        let all = self.all.iter().flat_map(|m| [m.to, m.from, m.len]);
        let heads = ([self.after as u64, self.extents.len() as u64], [self.all.len() as u64]);
        let fields = heads.0.into_iter().chain(extents).chain(heads.1).chain(all);
        fields.for_each(|field| out.put_uint(field, 8));
    }

    /// Returns the moves of a record that stands at the start of `outside`: they bring nothing to there, nor from there.
    pub(super) fn decode(c: &mut Cursor<'_>, outside: &Range<u64>) -> Result<Moves> {
        let after = usize::try_from(c.u64()?).unwrap_or(usize::MAX);
        let (mut extents, mut all) = (Vec::new(), Vec::new());
        for _ in 0..c.u64()? {
            extents.push(Extent { at: c.u64()?, len: c.u64()?, sum: c.u64()? });
        }
        for _ in 0..c.u64()? {
            all.push(Move { to: c.u64()?, from: c.u64()?, len: c.u64()? });
        }
        // What waits is what its checksum was made of.
        let mut by_start: Vec<&Extent> = extents.iter().collect();
        by_start.sort_unstable_by_key(|e| e.at);
        let is_verified = |m: &Move| {
            let before = by_start[..by_start.partition_point(|e| e.at <= m.from)].last();
            before.is_some_and(|e| m.from.checked_add(m.len).is_some_and(|stop| stop - e.at <= e.len))
        };
        let is_sound = extents.iter().all(|e| is_inside(outside, e.at, e.len))
            && all.iter().all(|m| is_inside(outside, m.to, m.len) && is_verified(m));
        if is_sound {
            Ok(Moves { after, extents, all })
        } else {
            Err(c.corrupt("move beyond the end of the file"))
        }
    }
}
