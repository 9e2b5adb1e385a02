//! Enums: values matched by their names.

use super::bits::BytePosition;
use crate::datatype::Enum;
use crate::{ByteOrder, Error, Result};
use std::collections::HashMap;

/// Values below this are looked up in a table, others among sorted keys.
const TABLE_MAX: u128 = 1024;
/// The table's entry for a value that has no name in the target.
const UNKNOWN: u32 = u32::MAX;

/// Which target value stands for each source value.
#[derive(Debug, Clone)]
pub(super) struct Names {
    place: BytePosition,
    to_bytes: usize,
    /// Sorted by the bits of the source value.
    pairs: Vec<(u128, Vec<u8>)>,
    /// For small source values, their place in `pairs`.
    table: Vec<u32>,
}

fn by_name(t: &Enum) -> HashMap<&str, &[u8]> {
    t.members.iter().map(|(name, value)| (name.as_str(), value.as_slice())).collect()
}

impl Names {
    /// Returns whether both enums give the same names to the same bytes, in whatever order.
    pub(super) fn same(from: &Enum, to: &Enum) -> bool {
        from.base == to.base && from.members.len() == to.members.len() && by_name(from) == by_name(to)
    }

    pub(super) fn new(from: &Enum, to: &Enum) -> Result<Names> {
        // Keys only have to differ where values do, so any one order serves.
        let place = BytePosition::new(from.base.size(), ByteOrder::Little)?;
        let to_bytes = to.base.size() as usize;
        let wrong = |t: &Enum, bytes| t.members.iter().any(|(_, value)| value.len() != bytes);
        if wrong(from, place.bytes()) || wrong(to, to_bytes) {
            return Err(
                Error::invalid("convert enum").with("problem", "a value is not of the base type's size")
            );
        }
        let targets = by_name(to);
        let pair = |(name, value): &(String, Vec<u8>)| {
            Some((place.load(value), targets.get(name.as_str())?.to_vec()))
        };
        let mut pairs: Vec<_> = from.members.iter().filter_map(pair).collect();
        pairs.sort();
        pairs.dedup_by(|next, last| next.0 == last.0);
        Ok(Names { place, to_bytes, table: table(&pairs), pairs })
    }

    pub(super) fn run(&self, from: &[u8], to: &mut [u8]) {
        for (from, to) in from.chunks_exact(self.place.bytes()).zip(to.chunks_exact_mut(self.to_bytes)) {
            match self.target(self.place.load(from)) {
                Some(value) => to.copy_from_slice(value),
                // As libhdf5: all ones for a value that has no name there.
                None => to.fill(0xff),
            }
        }
    }

    fn target(&self, key: u128) -> Option<&[u8]> {
        let at = if key < TABLE_MAX {
            *self.table.get(key as usize)? as usize
        } else {
            self.pairs.binary_search_by_key(&key, |pair| pair.0).ok()?
        };
        self.pairs.get(at).map(|pair| pair.1.as_slice())
    }
}

fn table(pairs: &[(u128, Vec<u8>)]) -> Vec<u32> {
    let mut table = Vec::new();
    for (n, (key, _)) in pairs.iter().enumerate().take_while(|(_, pair)| pair.0 < TABLE_MAX) {
        table.resize(*key as usize, UNKNOWN);
        table.push(n as u32);
    }
    table
}
