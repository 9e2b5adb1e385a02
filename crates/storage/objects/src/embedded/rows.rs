//! The akeys of one dkey: together in one entry of the index while they are small, each in its own beyond that.
//!
//! An object has a handful of dkeys and some ten akeys; one entry for each dkey makes a flush several times as fast as
//! one for each akey, and a look at an object one search.

use std::collections::BTreeMap;
use std::ops::Bound;

use crate::Result;
use crate::bytes::{self, Reader};
use crate::layout::value::Value;

/// With more bytes than this, akeys are spread: a change of one must not write all others again.
const ROW_BYTES_MAX: usize = 4 << 10;
/// About what an akey takes in memory besides its bytes.
const ENTRY_BYTES: usize = 64;

const SPREAD: u8 = 0;
const ROW: u8 = 1;

/// All akeys of a dkey, sorted.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    akeys: Vec<(Box<[u8]>, Value)>,
    /// About the bytes that the entry takes.
    bytes: usize,
}

/// What changed of a dkey whose akeys are spread: `None` removes one.
#[derive(Clone, Debug, Default)]
pub(super) struct Spread {
    pub(super) akeys: BTreeMap<Box<[u8]>, Option<Value>>,
    /// Whether these are all: what was there before does not count any more.
    pub(super) is_whole: bool,
}

/// What a dkey holds, or how it changes.
#[derive(Clone, Debug)]
pub(super) enum Content {
    Row(Row),
    Spread(Spread),
}

impl Spread {
    /// Changes from an akey on, in order.
    pub(super) fn from(&self, from: &[u8]) -> impl Iterator<Item = (&[u8], &Option<Value>)> {
        let akeys = self.akeys.range::<[u8], _>((Bound::Included(from), Bound::Unbounded));
        akeys.map(|(akey, value)| (&**akey, value))
    }
}

fn bytes_of(akey: &[u8], value: &Value) -> usize {
    akey.len() + value.weight() + 8
}

impl Row {
    fn position(&self, akey: &[u8]) -> std::result::Result<usize, usize> {
        self.akeys.binary_search_by(|(held, _)| (**held).cmp(akey))
    }

    pub(super) fn find(&self, akey: &[u8]) -> Option<&Value> {
        self.position(akey).ok().map(|at| &self.akeys[at].1)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.akeys.is_empty()
    }

    /// Akeys and values in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&[u8], &Value)> {
        self.akeys.iter().map(|(akey, value)| (&**akey, value))
    }

    fn set(&mut self, akey: &[u8], value: Option<Value>) {
        let position = self.position(akey);
        if let Ok(at) = position {
            self.bytes -= bytes_of(akey, &self.akeys[at].1);
        }
        self.bytes += value.as_ref().map_or(0, |value| bytes_of(akey, value));
        match (position, value) {
            (Ok(at), Some(value)) => self.akeys[at].1 = value,
            (Ok(at), None) => drop(self.akeys.remove(at)),
            (Err(at), Some(value)) => self.akeys.insert(at, (akey.into(), value)),
            (Err(_), None) => {}
        }
    }

    /// Appends the stored form.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.push(ROW);
        let mut stored = Vec::new();
        for (akey, value) in &self.akeys {
            stored.clear();
            value.encode(&mut stored);
            bytes::put(akey.len() as u64, out);
            out.extend_from_slice(akey);
            bytes::put(stored.len() as u64, out);
            out.extend_from_slice(&stored);
        }
    }

    fn decode(stored: Stored<'_>) -> Result<Row> {
        let mut row = Row::default();
        for entry in stored {
            let (akey, value) = entry?;
            if row.akeys.last().is_some_and(|(last, _)| **last >= *akey) {
                return Err(Reader::corrupt());
            }
            let value = Value::decode(value)?;
            row.bytes += bytes_of(akey, &value);
            row.akeys.push((akey.into(), value));
        }
        Ok(row)
    }
}

impl Content {
    /// What a stored entry says; without one there is nothing.
    pub(super) fn decode(entry: Option<&[u8]>) -> Result<Content> {
        let Some(entry) = entry else { return Ok(Content::Row(Row::default())) };
        Ok(match stored(entry)? {
            Some(row) => Content::Row(Row::decode(row)?),
            None => Content::Spread(Spread::default()),
        })
    }

    /// Changes akeys, and returns about how many bytes of memory that takes.
    pub(super) fn change(&mut self, akey: &[u8], value: Option<Value>) -> usize {
        let bytes = ENTRY_BYTES + value.as_ref().map_or(akey.len(), |value| bytes_of(akey, value));
        match self {
            Content::Row(row) => row.set(akey, value),
            Content::Spread(spread) => drop(spread.akeys.insert(akey.into(), value)),
        }
        self.spread_if_large();
        bytes
    }

    fn spread_if_large(&mut self) {
        if let Content::Row(row) = self
            && row.bytes > ROW_BYTES_MAX
        {
            let akeys = std::mem::take(&mut row.akeys);
            let akeys = akeys.into_iter().map(|(akey, value)| (akey, Some(value))).collect();
            *self = Content::Spread(Spread { akeys, is_whole: true });
        }
    }

    /// Puts itself below changes that were made over it.
    pub(super) fn go_below(self, over: &mut Content) {
        let (Content::Spread(below), Content::Spread(over)) = (self, over) else { return };
        if !over.is_whole {
            let newer = std::mem::replace(&mut over.akeys, below.akeys);
            over.akeys.extend(newer);
            over.is_whole = below.is_whole;
        }
    }
}

/// The entry of a dkey whose akeys have their own.
pub(super) const SPREAD_ENTRY: &[u8] = &[SPREAD];

/// Akeys and values of a stored row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stored<'a>(&'a [u8]);

/// The row of an entry; `None` where akeys are spread.
pub(super) fn stored(entry: &[u8]) -> Result<Option<Stored<'_>>> {
    match entry.split_first() {
        Some((&ROW, rest)) => Ok(Some(Stored(rest))),
        Some((&SPREAD, [])) => Ok(None),
        _ => Err(Reader::corrupt()),
    }
}

impl<'a> Stored<'a> {
    /// The stored value of an akey.
    pub(super) fn find(self, akey: &[u8]) -> Result<Option<&'a [u8]>> {
        for entry in self {
            let (held, value) = entry?;
            if held == akey {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }
}

impl<'a> Iterator for Stored<'a> {
    type Item = Result<(&'a [u8], &'a [u8])>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let mut reader = Reader(self.0);
        let entry = reader.counted().and_then(|akey| Ok((akey, reader.counted()?)));
        // After an error nothing follows.
        self.0 = if entry.is_ok() { reader.0 } else { &[] };
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn single(bytes: &[u8]) -> Option<Value> {
        Some(Value::Single(bytes.into()))
    }

    #[test]
    fn a_row_comes_back_in_order() {
        let mut content = Content::decode(None).unwrap();
        for akey in [b"c", b"a", b"b", b"d"] {
            content.change(akey, single(akey));
        }
        content.change(b"d", None);
        content.change(b"a", single(b"other"));
        let Content::Row(row) = &content else { panic!("it is small") };
        let mut out = Vec::new();
        row.encode(&mut out);
        let entry = stored(&out).unwrap().unwrap();
        let akeys: Vec<&[u8]> = entry.map(|entry| entry.unwrap().0).collect();
        assert_eq!(akeys, [b"a", b"b", b"c"]);
        assert_eq!(Value::single(entry.find(b"a").unwrap().unwrap()).unwrap(), b"other");
        assert!(entry.find(b"d").unwrap().is_none());
        let Content::Row(again) = Content::decode(Some(&out)).unwrap() else { panic!("it is a row") };
        assert_eq!(again.bytes, row.bytes);
    }

    #[test]
    fn a_large_row_is_spread_and_forgets_what_was_below() {
        let mut content = Content::decode(None).unwrap();
        content.change(b"gone", single(b"x"));
        content.change(b"gone", None);
        for n in 0..100u8 {
            content.change(&[n], single(&[n; 50]));
        }
        let Content::Spread(spread) = &content else { panic!("it is large") };
        assert!(spread.is_whole && spread.akeys.len() == 100);
    }

    #[test]
    fn broken_rows_are_errors() {
        for entry in [&[][..], &[2], &[SPREAD, 1], &[ROW, 5, 1], &[ROW, 1, b'a', 9, 0], &[ROW, 0, 0]] {
            assert!(Content::decode(Some(entry)).is_err(), "{entry:?}");
        }
    }
}
