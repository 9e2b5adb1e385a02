//! Changes since the last commit, over what was committed.

use std::collections::{BTreeSet, HashMap};
use std::iter::Peekable;
use std::ops::Bound;
use std::sync::{Arc, OnceLock};

use super::rows::{AkeyValue, Content, Spread, value_of};
use super::snapshot::Snapshot;
use crate::layout::value::Value;
use crate::{Result, Size};

/// Changes by the keys of dkeys. Most look-ups are for one key, and much faster without an order.
#[derive(Clone, Debug, Default)]
pub(super) struct Changes {
    by_key: HashMap<Arc<[u8]>, Content, ahash::RandomState>,
    /// Made when a caller first needs it, and kept up from then on: a commit is often the first.
    order: OnceLock<BTreeSet<Arc<[u8]>>>,
}

impl Changes {
    pub(super) fn get(&self, dkey: &[u8]) -> Option<&Content> {
        self.by_key.get(dkey)
    }

    pub(super) fn get_mut(&mut self, dkey: &[u8]) -> Option<&mut Content> {
        self.by_key.get_mut(dkey)
    }

    pub(super) fn insert(&mut self, dkey: Arc<[u8]>, content: Content) {
        if let Some(order) = self.order.get_mut() {
            order.insert(dkey.clone());
        }
        self.by_key.insert(dkey, content);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// Takes the changes of one dkey out.
    pub(super) fn take(&mut self, dkey: &[u8]) -> Changes {
        let mut taken = Changes::default();
        if let Some((dkey, content)) = self.by_key.remove_entry(dkey) {
            if let Some(order) = self.order.get_mut() {
                order.remove(&dkey);
            }
            taken.insert(dkey, content);
        }
        taken
    }

    /// All, in no order.
    pub(super) fn into_unordered(self) -> impl Iterator<Item = (Arc<[u8]>, Content)> {
        self.by_key.into_iter()
    }

    /// Returns those from a key on, in order.
    pub(super) fn from(&self, from: &[u8]) -> impl Iterator<Item = (&[u8], &Content)> {
        let order = self.order.get_or_init(|| self.by_key.keys().cloned().collect());
        let keys = order.range::<[u8], _>((Bound::Included(from), Bound::Unbounded));
        keys.filter_map(|key| Some((&**key, self.by_key.get(key)?)))
    }
}

/// The view of readers: the first of the three that knows a dkey.
#[derive(Debug)]
pub(super) struct View {
    /// Changes that wait for a flush.
    pub(super) waiting: Changes,
    /// Changes that are being committed.
    pub(super) flushing: Arc<Changes>,
    /// The committed content.
    pub(super) committed: Arc<Snapshot>,
    /// About the bytes that `waiting` takes.
    pub(super) weight: usize,
}

impl View {
    pub(super) fn new(committed: Snapshot) -> View {
        let flushing = Arc::new(Changes::default());
        View { waiting: Changes::default(), flushing, committed: Arc::new(committed), weight: 0 }
    }

    /// Begins to commit what waits.
    pub(super) fn begin_flush(&mut self) {
        self.flushing = Arc::new(std::mem::take(&mut self.waiting));
        self.weight = 0;
    }

    /// Returns what is known of a dkey that is not committed, the newest first.
    fn contents(&self, dkey: &[u8]) -> [Option<&Content>; 2] {
        [self.waiting.get(dkey), self.flushing.get(dkey)]
    }

    /// Returns a dkey, to look at its akeys.
    pub(super) fn at<'a>(&'a self, dkey: &'a [u8]) -> Dkey<'a> {
        Dkey { dkey, layers: self.contents(dkey), committed: &self.committed }
    }

    /// Returns what a dkey holds before its first change that waits; `None` where some wait already.
    pub(super) fn base(&self, dkey: &[u8]) -> Result<Option<Content>> {
        if self.waiting.get(dkey).is_some() {
            return Ok(None);
        }
        Ok(Some(match self.flushing.get(dkey) {
            Some(Content::Row(row)) => Content::Row(row.clone()),
            Some(Content::Spread(_)) => Content::Spread(Spread::default()),
            None => self.committed.content(dkey)?,
        }))
    }

    /// Notes changes of a dkey over its [`View::base`], which no one changed since.
    pub(super) fn put<'a>(
        &mut self,
        dkey: &[u8],
        base: Option<Content>,
        changes: impl Iterator<Item = (&'a [u8], Option<AkeyValue<'a>>)>,
    ) {
        // Where a commit failed since the base was taken, all that it had waits here again.
        if let Some(content) = base
            && self.waiting.get(dkey).is_none()
        {
            self.weight += dkey.len();
            self.waiting.insert(dkey.into(), content);
        }
        let Some(content) = self.waiting.get_mut(dkey) else { return };
        changes.for_each(|(akey, value)| self.weight += content.change(akey, value));
    }

    /// Returns whether a dkey has an akey.
    fn is_present(&self, dkey: &[u8]) -> Result<bool> {
        let mut found = false;
        self.akeys(dkey, b"", |_| {
            found = true;
            Ok(false)
        })?;
        Ok(found)
    }

    /// Calls `each` with the keys of dkeys that are there, in order, from a key on, until it answers false.
    pub(super) fn dkeys(&self, from: &[u8], each: impl FnMut(&[u8]) -> Result<bool>) -> Result<()> {
        let present = |key: &[u8], content: &Content| match content {
            Content::Row(row) => Ok(!row.is_empty()),
            Content::Spread(_) => self.is_present(key),
        };
        let merge = Merge::new(self.waiting.from(from), self.flushing.from(from));
        merge.run(present, each, |each| self.committed.dkeys(from, each))
    }

    /// Calls `each` with the akeys of a dkey, in order, from one on, until it answers false.
    pub(super) fn akeys(
        &self,
        dkey: &[u8],
        from: &[u8],
        mut each: impl FnMut(&[u8]) -> Result<bool>,
    ) -> Result<()> {
        let mut layers = Vec::new();
        for content in self.contents(dkey).into_iter().flatten() {
            match content {
                Content::Row(row) => {
                    for (akey, _) in row.sorted().into_iter().filter(|(akey, _)| *akey >= from) {
                        if !each(akey)? {
                            break;
                        }
                    }
                    return Ok(());
                }
                Content::Spread(spread) => layers.push(spread),
            }
            if layers.last().is_some_and(|spread| spread.is_whole) {
                break;
            }
        }
        let is_whole = layers.last().is_some_and(|spread| spread.is_whole);
        let layer = |n: usize| layers.get(n).into_iter().flat_map(|spread| spread.from(from));
        let merge = Merge::new(layer(0), layer(1));
        merge.run(
            |_, value| Ok(value.is_some()),
            each,
            |each| if is_whole { Ok(()) } else { self.committed.akeys(dkey, from, each) },
        )
    }
}

/// One dkey of a view.
#[derive(Debug)]
pub(super) struct Dkey<'a> {
    dkey: &'a [u8],
    /// The content that is not committed, the newest first.
    layers: [Option<&'a Content>; 2],
    committed: &'a Snapshot,
}

impl<'a> Dkey<'a> {
    /// Returns what an akey holds, where no commit is needed to know it.
    fn known(&self, akey: &[u8]) -> Option<Option<AkeyValue<'a>>> {
        for content in self.layers.into_iter().flatten() {
            match content {
                Content::Row(row) => return Some(row.find(akey)),
                Content::Spread(spread) => match spread.akeys.get(akey) {
                    Some(value) => return Some(value.as_ref().map(AkeyValue::from)),
                    None if spread.is_whole => return Some(None),
                    None => {}
                },
            }
        }
        None
    }

    /// Returns what an akey holds; `held` makes it of a value in memory, `stored` of one that was committed.
    fn get<T>(
        &self,
        akey: &[u8],
        held: impl FnOnce(AkeyValue<'_>) -> T,
        stored: impl Fn(&[u8]) -> Result<T>,
    ) -> Result<Option<T>> {
        if let Some(value) = self.known(akey) {
            return Ok(value.map(held));
        }
        let mut found = None;
        self.committed.values(self.dkey, &[akey], |value| {
            found = value.map(&stored).transpose()?;
            Ok(())
        })?;
        Ok(found)
    }

    pub(super) fn value(&self, akey: &[u8]) -> Result<Option<Value>> {
        self.get(akey, value_of, Value::decode)
    }

    pub(super) fn size(&self, akey: &[u8]) -> Result<Option<Size>> {
        let held = |held: AkeyValue<'_>| match held {
            AkeyValue::Single(bytes) => Size::Single(bytes.len() as u64),
            AkeyValue::Other(value) => value.size(),
        };
        self.get(akey, held, |stored| Ok(Value::decode(stored)?.size()))
    }

    /// Returns what akeys hold, with their bytes copied once where they are near.
    pub(super) fn singles(&self, akeys: &[&[u8]]) -> Result<Vec<Option<Single>>> {
        if self.layers.iter().any(Option::is_some) {
            return akeys.iter().map(|akey| self.get(akey, Single::of, Single::stored)).collect();
        }
        let mut found = Vec::with_capacity(akeys.len());
        self.committed.values(self.dkey, akeys, |value| {
            found.push(value.map(Single::stored).transpose()?);
            Ok(())
        })?;
        Ok(found)
    }
}

/// A single value as it was found.
#[derive(Debug)]
pub(super) enum Single {
    Near(Vec<u8>),
    /// A far one, or an array.
    Other(Value),
}

impl Single {
    fn of(held: AkeyValue<'_>) -> Single {
        match held {
            AkeyValue::Single(bytes) => Single::Near(bytes.to_vec()),
            AkeyValue::Other(value) => Single::Other(value.clone()),
        }
    }

    fn stored(stored: &[u8]) -> Result<Single> {
        Ok(match Value::single(stored) {
            Some(bytes) => Single::Near(bytes.to_vec()),
            None => Single::Other(Value::decode(stored)?),
        })
    }
}

/// Changes that wait and those that are being committed, in order: the waiting ones win.
struct Merge<W: Iterator, F: Iterator> {
    waiting: Peekable<W>,
    flushing: Peekable<F>,
}

impl<'a, V, W, F> Merge<W, F>
where
    V: 'a,
    W: Iterator<Item = (&'a [u8], &'a V)>,
    F: Iterator<Item = (&'a [u8], &'a V)>,
{
    fn new(waiting: W, flushing: F) -> Self {
        Merge { waiting: waiting.peekable(), flushing: flushing.peekable() }
    }

    /// Returns the next key that changed.
    fn peek(&mut self) -> Option<&'a [u8]> {
        let keys = [self.waiting.peek().map(|next| next.0), self.flushing.peek().map(|next| next.0)];
        keys.into_iter().flatten().min()
    }

    /// Takes the next key that changed.
    fn next(&mut self) -> Option<(&'a [u8], &'a V)> {
        let key = self.peek()?;
        let waiting = self.waiting.next_if(|next| next.0 == key);
        let flushing = self.flushing.next_if(|next| next.0 == key);
        waiting.or(flushing)
    }

    /// Calls `each` with the keys that are present, those of `scan` among them, until it answers false.
    fn run(
        mut self,
        present: impl Fn(&[u8], &V) -> Result<bool>,
        mut each: impl FnMut(&[u8]) -> Result<bool>,
        scan: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<bool>) -> Result<()>,
    ) -> Result<()> {
        let mut go_on = true;
        let step = |merge: &mut Self, each: &mut dyn FnMut(&[u8]) -> Result<bool>| match merge.next() {
            Some((key, value)) if present(key, value)? => each(key),
            _ => Ok(true),
        };
        scan(&mut |key| {
            while go_on && self.peek().is_some_and(|next| next < key) {
                go_on = step(&mut self, &mut each)?;
            }
            if go_on {
                let is_changed = self.peek() == Some(key);
                go_on = if is_changed { step(&mut self, &mut each)? } else { each(key)? };
            }
            Ok(go_on)
        })?;
        while go_on && self.peek().is_some() {
            go_on = step(&mut self, &mut each)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::index::Index;
    use super::super::medium::System;
    use super::*;

    #[test]
    fn what_a_failed_commit_gives_back_stays_when_an_update_was_under_way() {
        let folder = tempfile::tempdir().unwrap();
        let dir = dir::Dir::open(folder.path()).unwrap();
        Index::create(&System, &dir).unwrap();
        let index = Index::open_to_read(&System, &dir).unwrap();
        let mut view = View::new(index.snapshot().unwrap());
        let many: Vec<[u8; 1]> = (0..100).map(|n| [n]).collect();
        let base = view.base(b"dkey").unwrap();
        view.put(b"dkey", base, many.iter().map(|akey| (&akey[..], Some(AkeyValue::Single(&[7; 50])))));
        view.begin_flush();
        // An update looks at it, the commit fails, and only then the update is put down.
        let base = view.base(b"dkey").unwrap();
        let failed = std::mem::take(&mut view.flushing);
        Arc::unwrap_or_clone(failed).into_unordered().for_each(|(key, back)| view.waiting.insert(key, back));
        view.put(b"dkey", base, [(&b"new"[..], Some(AkeyValue::Single(b"1")))].into_iter());
        for akey in [&[0][..], &[99], b"new"] {
            assert!(view.at(b"dkey").value(akey).unwrap().is_some(), "{akey:?}");
        }
    }
}
