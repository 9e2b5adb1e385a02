//! The RADOS object that holds a dkey.
//!
//! An object's head has its dkeys. When it has many, its level becomes 1: from then on new dkeys go to one of its
//! shards, by a hash, and those that the head has stay there. A dkey is in one place only, so a reader asks both.

use std::collections::HashMap;

use super::core::Core;
use super::ffi::{Answer, Ask, Guard, Write};
use super::keys;
use crate::{ObjectId, Result};

/// Shards of a head.
pub(super) const SHARDS: u64 = 64;
/// Is there when the level is 1. No pair of keys has this begin.
pub(super) const LEVEL: &[u8] = b"\x02\x04level";
/// Keys in one request.
const KEYS_AT_ONCE: usize = 512;

/// Returns the head's name.
pub(super) fn head(object: ObjectId) -> String {
    format!("h.{object}")
}

/// Returns the name of one of its shards.
pub(super) fn shard(object: ObjectId, number: u64) -> String {
    format!("h.{object}.{number:02x}")
}

/// Returns the shard of a dkey. The hash (FNV-1a) is part of the format.
pub(super) fn shard_of(dkey: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = dkey.iter().fold(0xcbf2_9ce4_8422_2325, step);
    (hash >> 32) % SHARDS
}

/// Returns the object of a head's or shard's name.
pub(super) fn object_of(name: &str) -> Option<ObjectId> {
    let rest = name.strip_prefix("h.")?;
    let (high, rest) = rest.split_once('.')?;
    let low = rest.split('.').next()?;
    Some(ObjectId { high: u64::from_str_radix(high, 16).ok()?, low: u64::from_str_radix(low, 16).ok()? })
}

/// Returns the key of an akey in its RADOS object.
pub(super) fn key(dkey: &[u8], akey: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(dkey.len() + akey.len() + 4);
    keys::pair(dkey, akey, &mut key);
    key
}

/// Returns what all keys of a dkey begin with.
pub(super) fn prefix(dkey: &[u8]) -> Vec<u8> {
    let mut prefix = Vec::new();
    keys::dkey_prefix(dkey, &mut prefix);
    prefix
}

/// Where a dkey is to be written.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct DkeyLocation {
    pub(super) name: String,
    /// Whether the head must still be of level 0.
    pub(super) level_0: bool,
}

impl DkeyLocation {
    /// Begins a write there.
    pub(super) fn write<'a>(&self) -> Write<'a> {
        let guards = self.level_0.then(|| (LEVEL.to_vec(), Guard::Equals(Vec::new())));
        Write { guards: guards.into_iter().collect(), ..Write::default() }
    }
}

/// One akey of one dkey.
pub(super) type AkeyPath<'a> = (ObjectId, &'a [u8], &'a [u8]);

impl Core {
    /// Returns the stored values of akeys.
    pub(super) fn look_up(&self, wanted: &[AkeyPath<'_>]) -> Result<Vec<Option<Vec<u8>>>> {
        let mut found: Vec<Option<Vec<u8>>> = vec![None; wanted.len()];
        let mut left: Vec<usize> = (0..wanted.len()).collect();
        while !left.is_empty() {
            let before: Vec<bool> =
                left.iter().map(|i| wanted.get(*i).is_some_and(|key| self.is_sharded(key.0))).collect();
            let (asks, askers) = self.asks(wanted, &left);
            let answers = self.ask(&asks)?;
            for ((ask, answer), askers) in asks.iter().zip(answers).zip(askers) {
                self.note_level(ask, &answer);
                give(&mut found, wanted, &askers, answer);
            }
            // Those whose head turned out to have shards are asked for again.
            left = left.into_iter().zip(before).filter(|(_, before)| !before).map(|(i, _)| i).collect();
            left.retain(|i| wanted.get(*i).is_some_and(|key| self.is_sharded(key.0)));
        }
        Ok(found)
    }

    /// Returns what to ask whom, and for which of the wanted.
    fn asks(&self, wanted: &[AkeyPath<'_>], left: &[usize]) -> (Vec<Ask>, Vec<Vec<usize>>) {
        let mut by_name: HashMap<String, Vec<usize>> = HashMap::new();
        for &i in left {
            let Some((object, dkey, _)) = wanted.get(i) else { continue };
            by_name.entry(head(*object)).or_default().push(i);
            if self.is_sharded(*object) {
                by_name.entry(shard(*object, shard_of(dkey))).or_default().push(i);
            }
        }
        let (mut asks, mut askers) = (Vec::new(), Vec::new());
        for (name, all) in by_name {
            for part in all.chunks(KEYS_AT_ONCE) {
                let pairs = part.iter().filter_map(|i| wanted.get(*i));
                let keys = pairs.map(|(_, dkey, akey)| key(dkey, akey)).chain([LEVEL.to_vec()]).collect();
                asks.push(Ask { name: name.clone(), keys, after: None });
                askers.push(part.to_vec());
            }
        }
        (asks, askers)
    }

    /// Notes what an answer says of the level.
    pub(super) fn note_level(&self, ask: &Ask, answer: &Answer) {
        if answer.pairs.iter().chain(&answer.behind).any(|(key, _)| key == LEVEL) {
            object_of(&ask.name).into_iter().for_each(|object| self.set_sharded(object));
        }
    }

    /// Returns where dkeys are to be written.
    pub(super) fn homes(&self, dkeys: &[(ObjectId, &[u8])]) -> Result<Vec<DkeyLocation>> {
        let sharded: Vec<bool> = dkeys.iter().map(|(object, _)| self.is_sharded(*object)).collect();
        let asked = dkeys.iter().zip(&sharded).filter(|(_, sharded)| **sharded);
        let asks: Vec<Ask> = asked.map(|((object, dkey), _)| first_of(head(*object), dkey)).collect();
        let mut answers = self.ask(&asks)?.into_iter();
        let home = |((object, dkey), sharded): (&(ObjectId, &[u8]), bool)| {
            let name = head(*object);
            if !sharded {
                return DkeyLocation { name, level_0: true };
            }
            let stays = answers.next().is_some_and(|answer| has_dkey(&answer, dkey));
            let name = if stays { name } else { shard(*object, shard_of(dkey)) };
            DkeyLocation { name, level_0: false }
        };
        Ok(dkeys.iter().zip(sharded).map(home).collect())
    }
}

/// Asks for one key of a dkey.
pub(super) fn first_of(name: String, dkey: &[u8]) -> Ask {
    let prefix = prefix(dkey);
    Ask { name, keys: vec![prefix.clone(), LEVEL.to_vec()], after: Some((prefix, 1)) }
}

/// Returns whether an answer to [`first_of`] has one.
fn has_dkey(answer: &Answer, dkey: &[u8]) -> bool {
    let prefix = prefix(dkey);
    answer.pairs.iter().chain(&answer.behind).any(|(key, _)| key.starts_with(&prefix))
}

fn give(found: &mut [Option<Vec<u8>>], wanted: &[AkeyPath<'_>], askers: &[usize], answer: Answer) {
    let mut values: HashMap<Vec<u8>, Vec<u8>> = answer.pairs.into_iter().collect();
    for &i in askers {
        let Some((_, dkey, akey)) = wanted.get(i) else { continue };
        // The same key may be wanted twice, so it stays in the map.
        if let (Some(value), Some(place)) = (values.get_mut(&key(dkey, akey)), found.get_mut(i)) {
            *place = Some(value.clone());
        }
    }
}
