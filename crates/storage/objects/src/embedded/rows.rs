//! The akeys of one dkey: together in one entry of the index while they are small, each in its own beyond that.
//!
//! An object has a handful of dkeys and some ten akeys; one entry for each dkey makes a flush several times as fast as
//! one for each akey, and a look at an object one search.

use std::collections::BTreeMap;
use std::ops::Bound;

use crate::Result;
use crate::bytes::{self, Reader};
use crate::layout::value::{SINGLE, Value};

/// With more bytes than this, akeys are spread: a change of one must not write all others again.
const ROW_BYTES_MAX: usize = 4 << 10;
/// About what an akey takes in memory besides its bytes.
const ENTRY_BYTES: usize = 64;

/// A new row gets space for about so many akeys: growing from nothing takes longer than filling it.
const NEW_ROW_AKEYS: usize = 4;

const SPREAD: u8 = 0;
const ROW: u8 = 1;

/// All akeys of a dkey.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    /// Small single values, sorted by their akeys: most rows have nothing else.
    singles: Vec<Slot>,
    /// Their bytes, those of former values among them: one buffer is made, filled and freed faster than a handful.
    bytes: Vec<u8>,
    /// How many of these are former ones.
    former: usize,
    /// Other values, sorted: they know when their bytes were taken, which no entry says.
    others: Vec<(Box<[u8]>, Value)>,
}

/// Where an akey and, behind it, its value are.
#[derive(Clone, Copy, Debug)]
struct Slot {
    at: u32,
    akey: u32,
    value: u32,
}

impl Slot {
    fn akey(self, bytes: &[u8]) -> &[u8] {
        bytes.get(self.at as usize..).and_then(|rest| rest.get(..self.akey as usize)).unwrap_or_default()
    }

    fn value(self, bytes: &[u8]) -> &[u8] {
        let rest = bytes.get((self.at + self.akey) as usize..);
        rest.and_then(|rest| rest.get(..self.value as usize)).unwrap_or_default()
    }

    fn bytes(self) -> usize {
        (self.akey + self.value) as usize
    }
}

/// The content of an akey of a row.
#[derive(Clone, Copy, Debug)]
pub(super) enum AkeyValue<'a> {
    Single(&'a [u8]),
    Other(&'a Value),
}

/// Returns the value on its own.
pub(super) fn value_of(held: AkeyValue<'_>) -> Value {
    match held {
        AkeyValue::Single(bytes) => Value::Single(bytes.into()),
        AkeyValue::Other(value) => value.clone(),
    }
}

impl<'a> From<&'a Value> for AkeyValue<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Single(bytes) => AkeyValue::Single(bytes),
            other => AkeyValue::Other(other),
        }
    }
}

/// The changes of a dkey whose akeys are spread: `None` removes one.
#[derive(Clone, Debug, Default)]
pub(super) struct Spread {
    pub(super) akeys: BTreeMap<Box<[u8]>, Option<Value>>,
    /// Whether these are all: what was there before does not count any more.
    pub(super) is_whole: bool,
}

/// The content of a dkey, or its change.
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

fn bytes_of(akey: &[u8], held: AkeyValue<'_>) -> usize {
    let value = match held {
        AkeyValue::Single(bytes) => bytes.len(),
        AkeyValue::Other(value) => value.weight(),
    };
    akey.len() + value + 8
}

impl Row {
    fn single(&self, akey: &[u8]) -> std::result::Result<usize, usize> {
        self.singles.binary_search_by(|slot| slot.akey(&self.bytes).cmp(akey))
    }

    fn other(&self, akey: &[u8]) -> std::result::Result<usize, usize> {
        self.others.binary_search_by(|(held, _)| (**held).cmp(akey))
    }

    pub(super) fn find(&self, akey: &[u8]) -> Option<AkeyValue<'_>> {
        match self.single(akey) {
            Ok(at) => Some(AkeyValue::Single(self.singles[at].value(&self.bytes))),
            Err(_) => self.other(akey).ok().map(|at| AkeyValue::Other(&self.others[at].1)),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.singles.is_empty() && self.others.is_empty()
    }

    fn singles(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.singles.iter().map(|slot| (slot.akey(&self.bytes), slot.value(&self.bytes)))
    }

    /// Returns the akeys and values in order.
    pub(super) fn sorted(&self) -> Vec<(&[u8], AkeyValue<'_>)> {
        let singles = self.singles().map(|(akey, value)| (akey, AkeyValue::Single(value)));
        let others = self.others.iter().map(|(akey, value)| (&**akey, AkeyValue::Other(value)));
        let mut all: Vec<_> = singles.chain(others).collect();
        all.sort_unstable_by_key(|(akey, _)| *akey);
        all
    }

    /// Returns about the bytes that the entry takes.
    fn weight(&self) -> usize {
        let others = self.others.iter().map(|(akey, value)| bytes_of(akey, value.into())).sum::<usize>();
        self.bytes.len() - self.former + 4 * self.singles.len() + others
    }

    fn set(&mut self, akey: &[u8], held: Option<AkeyValue<'_>>) {
        match held {
            Some(AkeyValue::Single(bytes)) => {
                self.set_other(akey, None);
                self.set_single(akey, bytes);
            }
            other => {
                self.remove_single(akey);
                self.set_other(akey, other.map(value_of));
            }
        }
    }

    fn set_other(&mut self, akey: &[u8], value: Option<Value>) {
        match (self.other(akey), value) {
            (Ok(at), Some(value)) => self.others[at].1 = value,
            (Ok(at), None) => drop(self.others.remove(at)),
            (Err(at), Some(value)) => self.others.insert(at, (akey.into(), value)),
            (Err(_), None) => {}
        }
    }

    fn set_single(&mut self, akey: &[u8], value: &[u8]) {
        let slot = self.add(akey, value);
        match self.single(akey) {
            Ok(at) => {
                self.former += std::mem::replace(&mut self.singles[at], slot).bytes();
                self.tidy();
            }
            Err(at) => self.singles.insert(at, slot),
        }
    }

    /// Appends the bytes of a single value. Keys and near values have few: a row is spread long before 2^32.
    fn add(&mut self, akey: &[u8], value: &[u8]) -> Slot {
        if self.bytes.is_empty() {
            self.bytes.reserve(NEW_ROW_AKEYS * (akey.len() + value.len()));
            self.singles.reserve(NEW_ROW_AKEYS);
        }
        let at = self.bytes.len() as u32;
        self.bytes.extend_from_slice(akey);
        self.bytes.extend_from_slice(value);
        Slot { at, akey: akey.len() as u32, value: value.len() as u32 }
    }

    /// Adds a single value whose akey comes after all others.
    fn push_single(&mut self, akey: &[u8], value: &[u8]) {
        let slot = self.add(akey, value);
        self.singles.push(slot);
    }

    fn remove_single(&mut self, akey: &[u8]) {
        if let Ok(at) = self.single(akey) {
            self.former += self.singles.remove(at).bytes();
            self.tidy();
        }
    }

    /// Keeps fewer former bytes than a row may have.
    fn tidy(&mut self) {
        if self.former > ROW_BYTES_MAX {
            let mut tidy = Row { others: std::mem::take(&mut self.others), ..Row::default() };
            self.singles().for_each(|(akey, value)| tidy.push_single(akey, value));
            *self = tidy;
        }
    }

    /// Appends the stored form.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.push(ROW);
        if self.others.is_empty() {
            return self.singles().for_each(|(akey, value)| put_entry(akey, &[SINGLE], value, out));
        }
        let mut stored = Vec::new();
        for (akey, held) in self.sorted() {
            match held {
                AkeyValue::Single(value) => put_entry(akey, &[SINGLE], value, out),
                AkeyValue::Other(value) => {
                    stored.clear();
                    value.encode(&mut stored);
                    put_entry(akey, &[], &stored, out);
                }
            }
        }
    }

    fn decode(stored: Stored<'_>) -> Result<Row> {
        let (mut row, mut last) = (Row::default(), None);
        for entry in stored {
            let (akey, value) = entry?;
            if last.is_some_and(|last| last >= akey) {
                return Err(Reader::corrupt());
            }
            last = Some(akey);
            match Value::single(value) {
                Some(value) => row.push_single(akey, value),
                None => row.others.push((akey.into(), Value::decode(value)?)),
            }
        }
        Ok(row)
    }
}

/// Appends an akey and its stored value, which begins with `head`.
fn put_entry(akey: &[u8], head: &[u8], value: &[u8], out: &mut Vec<u8>) {
    bytes::put(akey.len() as u64, out);
    out.extend_from_slice(akey);
    bytes::put((head.len() + value.len()) as u64, out);
    out.extend_from_slice(head);
    out.extend_from_slice(value);
}

impl Content {
    /// Returns what a stored entry says; without one there is nothing.
    pub(super) fn decode(entry: Option<&[u8]>) -> Result<Content> {
        let Some(entry) = entry else { return Ok(Content::Row(Row::default())) };
        Ok(match stored(entry)? {
            Some(row) => Content::Row(Row::decode(row)?),
            None => Content::Spread(Spread::default()),
        })
    }

    /// Changes akeys, and returns about how many bytes of memory that takes.
    pub(super) fn change(&mut self, akey: &[u8], held: Option<AkeyValue<'_>>) -> usize {
        let bytes = ENTRY_BYTES + held.map_or(akey.len(), |held| bytes_of(akey, held));
        match self {
            Content::Row(row) => row.set(akey, held),
            Content::Spread(spread) => drop(spread.akeys.insert(akey.into(), held.map(value_of))),
        }
        self.spread_if_large();
        bytes
    }

    fn spread_if_large(&mut self) {
        if let Content::Row(row) = self
            && row.weight() > ROW_BYTES_MAX
        {
            let akeys = row.sorted().into_iter();
            let akeys = akeys.map(|(akey, held)| (akey.into(), Some(value_of(held)))).collect();
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

/// Returns the row of an entry; `None` where akeys are spread.
pub(super) fn stored(entry: &[u8]) -> Result<Option<Stored<'_>>> {
    match entry.split_first() {
        Some((&ROW, rest)) => Ok(Some(Stored(rest))),
        Some((&SPREAD, [])) => Ok(None),
        _ => Err(Reader::corrupt()),
    }
}

impl<'a> Stored<'a> {
    /// Returns the stored value of an akey.
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

    fn single(bytes: &[u8]) -> Option<AkeyValue<'_>> {
        Some(AkeyValue::Single(bytes))
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
        assert_eq!(again.weight(), row.weight());
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
