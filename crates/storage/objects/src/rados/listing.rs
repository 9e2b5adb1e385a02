//! Pages of objects, dkeys and akeys: what the cluster has, with what waits.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use super::core::{Core, lock};
use super::ffi::Ask;
use super::heads::{self, LEVEL, SHARDS};
use super::keys;
use super::pending::Dkey;
use super::{PAGE, failed};
use crate::bytes::Reader;
use crate::{ObjectId, Result};

/// Keys and stored values of an object from a key on, and whether there are more.
#[derive(Default)]
pub(super) struct Page {
    pub(super) pairs: Vec<(Vec<u8>, Vec<u8>)>,
    pub(super) more: bool,
}

impl Core {
    /// Returns the RADOS objects that have keys of an object, or of one of its dkeys.
    fn sources(&self, object: ObjectId, dkey: Option<&[u8]>) -> Vec<String> {
        let shards = match dkey {
            _ if !self.is_sharded(object) => 0..0,
            None => 0..SHARDS,
            Some(dkey) => heads::shard_of(dkey)..heads::shard_of(dkey) + 1,
        };
        [heads::head(object)].into_iter().chain(shards.map(|number| heads::shard(object, number))).collect()
    }

    /// Returns a page of keys: of all dkeys, or at least of one.
    pub(super) fn page(&self, object: ObjectId, dkey: Option<&[u8]>, from: &[u8]) -> Result<Page> {
        if self.is_fresh(object) {
            return Ok(Page::default());
        }
        let sharded = self.is_sharded(object);
        let ask = |name| Ask {
            name,
            keys: vec![from.to_vec(), LEVEL.to_vec()],
            after: Some((from.to_vec(), PAGE)),
        };
        let asks: Vec<Ask> = self.sources(object, dkey).into_iter().map(ask).collect();
        let answers = self.ask(&asks)?;
        asks.iter().zip(&answers).for_each(|(ask, answer)| self.note_level(ask, answer));
        if self.is_sharded(object) != sharded {
            return self.page(object, dkey, from);
        }
        // Where one source has more, only keys up to its last are known to be all.
        let lasts = answers.iter().filter(|answer| answer.more).filter_map(|answer| answer.behind.last());
        let horizon = lasts.map(|(key, _)| key.clone()).min();
        let all = answers.into_iter().flat_map(|answer| answer.pairs.into_iter().chain(answer.behind));
        let mut pairs: Vec<(Vec<u8>, Vec<u8>)> = all.filter(|(key, _)| key != LEVEL).collect();
        pairs.sort_unstable();
        pairs.dedup();
        if let Some(horizon) = &horizon {
            pairs.retain(|(key, _)| key <= horizon);
        }
        Ok(Page { pairs, more: horizon.is_some() })
    }

    /// Returns up to some dkeys in order.
    pub(super) fn dkeys(&self, object: ObjectId, from: &[u8], count_max: usize) -> Result<Vec<Vec<u8>>> {
        let mut found = Vec::new();
        let mut next = Some(from.to_vec());
        while let Some(from) = next.take().filter(|_| found.len() < count_max) {
            let mut start = Vec::new();
            keys::escape(&from, &mut start);
            let page = self.page(object, None, &start)?;
            let mut stored = BTreeSet::new();
            for (key, _) in &page.pairs {
                let dkey = keys::split(key).and_then(|(dkey, _)| keys::unescape(dkey));
                stored.insert(dkey.ok_or_else(Reader::corrupt)?);
            }
            let last = stored.last().cloned().filter(|_| page.more);
            let waiting = self.waiting_dkeys(object, &from, last.as_deref());
            let all: BTreeSet<&Vec<u8>> = stored.iter().chain(waiting.keys()).collect();
            for dkey in all {
                if found.len() < count_max && self.is_live(object, dkey, waiting.get(dkey))? {
                    found.push(dkey.clone());
                }
            }
            // The dkey after the last one, in byte order.
            next = last.map(|mut last| {
                last.push(0);
                last
            });
        }
        Ok(found)
    }

    /// Returns the dkeys with changes that wait, and whether a change puts something there.
    fn waiting_dkeys(&self, object: ObjectId, from: &[u8], last: Option<&[u8]>) -> BTreeMap<Vec<u8>, bool> {
        let puts = |dkey: &Dkey| dkey.akeys.values().any(|akey| akey.changed && akey.value.is_some());
        let pending = self.pending();
        let range = pending.range((object, from.to_vec())..);
        let ours = range
            .take_while(|((id, dkey), _)| *id == object && last.is_none_or(|last| dkey.as_slice() <= last));
        ours.map(|((_, name), dkey)| (name.clone(), puts(dkey))).collect()
    }

    fn is_live(&self, object: ObjectId, dkey: &[u8], waiting: Option<&bool>) -> Result<bool> {
        match waiting {
            None | Some(true) => Ok(true),
            Some(false) => Ok(!self.akeys(object, dkey, b"", 1)?.is_empty()),
        }
    }

    /// Returns up to some akeys of a dkey in order.
    pub(super) fn akeys(
        &self,
        object: ObjectId,
        dkey: &[u8],
        from: &[u8],
        count_max: usize,
    ) -> Result<Vec<Vec<u8>>> {
        let waiting: BTreeMap<Vec<u8>, bool> = {
            let pending = self.pending();
            let akeys = pending.get(&(object, dkey.to_vec())).map(|dkey| &dkey.akeys).into_iter().flatten();
            let changed = akeys.filter(|(name, akey)| akey.changed && name.as_slice() >= from);
            changed.map(|(name, akey)| (name.clone(), akey.value.is_some())).collect()
        };
        let prefix = heads::prefix(dkey);
        let mut start = prefix.clone();
        keys::escape(from, &mut start);
        let (mut found, mut more) = (BTreeSet::new(), true);
        while more && found.len() < count_max {
            let page = self.page(object, Some(dkey), &start)?;
            let inside = page.pairs.iter().filter_map(|(key, _)| key.strip_prefix(prefix.as_slice()));
            for akey in inside {
                let akey = keys::unescape(akey).ok_or_else(Reader::corrupt)?;
                if !waiting.contains_key(&akey) {
                    found.insert(akey);
                }
            }
            more = page.more && page.pairs.last().is_some_and(|(key, _)| key.starts_with(&prefix));
            if let Some((last, _)) = page.pairs.into_iter().next_back() {
                start = last;
            }
        }
        // What waits may lie behind what was looked at only if all was.
        let last = found.last().cloned().filter(|_| more);
        let puts =
            waiting.into_iter().filter(|(name, put)| *put && last.as_ref().is_none_or(|last| name <= last));
        found.extend(puts.map(|(name, _)| name));
        Ok(found.into_iter().take(count_max).collect())
    }

    /// Returns up to some objects that have a dkey, in order.
    pub(super) fn objects(&self, after: Option<ObjectId>, count_max: usize) -> Result<Vec<ObjectId>> {
        let listed = self.listed(after.is_none())?;
        let waiting: BTreeSet<ObjectId> = self.pending().keys().map(|(object, _)| *object).collect();
        let range = (after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded);
        let all: BTreeSet<ObjectId> = listed.range(range).chain(waiting.range(range)).copied().collect();
        let mut found = Vec::new();
        let all: Vec<ObjectId> = all.into_iter().collect();
        for part in all.chunks(super::AT_ONCE) {
            for (object, live) in part.iter().zip(self.have_keys(part, &waiting)?) {
                if live && found.len() < count_max {
                    found.push(*object);
                }
            }
            if found.len() >= count_max {
                break;
            }
        }
        Ok(found)
    }

    /// Returns the objects with a head, listed anew where a listing begins.
    fn listed(&self, anew: bool) -> Result<Arc<BTreeSet<ObjectId>>> {
        let mut listed = lock(&self.listed);
        if anew || listed.is_empty() {
            let names = self.names.list().map_err(failed("list the objects of the cluster"))?;
            *listed = Arc::new(names.iter().filter_map(|name| heads::object_of(name)).collect());
        }
        Ok(listed.clone())
    }

    fn have_keys(&self, objects: &[ObjectId], waiting: &BTreeSet<ObjectId>) -> Result<Vec<bool>> {
        let ask = |object: &ObjectId| Ask {
            name: heads::head(*object),
            keys: Vec::new(),
            after: Some((Vec::new(), 2)),
        };
        let answers = self.ask(&objects.iter().map(ask).collect::<Vec<_>>())?;
        let mut live = Vec::with_capacity(objects.len());
        for (object, answer) in objects.iter().zip(answers) {
            let own = answer.behind.iter().any(|(key, _)| key != LEVEL);
            // Others need a closer look: something waits, or all keys are in shards.
            let sure = own && !waiting.contains(object);
            live.push(sure || !self.dkeys(*object, b"", 1)?.is_empty());
        }
        Ok(live)
    }
}
