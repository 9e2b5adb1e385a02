//! Enums: values matched by their names.

use crate::datatype::Enum;
use crate::{Error, Result};
use std::collections::HashMap;

/// Which target value stands for each source value.
#[derive(Debug, Clone)]
pub(super) struct Names {
    from_bytes: usize,
    to_bytes: usize,
    /// Sorted by source value.
    pairs: Vec<(Vec<u8>, Vec<u8>)>,
}

fn by_name(t: &Enum) -> HashMap<&str, &[u8]> {
    t.members.iter().map(|(name, value)| (name.as_str(), value.as_slice())).collect()
}

impl Names {
    /// Whether both enums give the same names to the same bytes, in whatever order.
    pub(super) fn same(from: &Enum, to: &Enum) -> bool {
        from.base == to.base && from.members.len() == to.members.len() && by_name(from) == by_name(to)
    }

    pub(super) fn new(from: &Enum, to: &Enum) -> Result<Names> {
        let (from_bytes, to_bytes) = (from.base.size() as usize, to.base.size() as usize);
        let wrong = |t: &Enum, bytes| t.members.iter().any(|(_, value)| value.len() != bytes);
        if wrong(from, from_bytes) || wrong(to, to_bytes) {
            return Err(
                Error::invalid("convert enum").with("problem", "a value is not of the base type's size")
            );
        }
        let targets = by_name(to);
        let pair =
            |(name, value): &(String, Vec<u8>)| Some((value.clone(), targets.get(name.as_str())?.to_vec()));
        let mut pairs: Vec<_> = from.members.iter().filter_map(pair).collect();
        pairs.sort();
        pairs.dedup_by(|next, last| next.0 == last.0);
        Ok(Names { from_bytes, to_bytes, pairs })
    }

    pub(super) fn run(&self, from: &[u8], to: &mut [u8]) {
        for (from, to) in from.chunks_exact(self.from_bytes).zip(to.chunks_exact_mut(self.to_bytes)) {
            match self.pairs.binary_search_by(|pair| pair.0.as_slice().cmp(from)) {
                Ok(at) => to.copy_from_slice(&self.pairs[at].1),
                // As libhdf5: all ones for a value that has no name there.
                Err(_) => to.fill(0xff),
            }
        }
    }
}
