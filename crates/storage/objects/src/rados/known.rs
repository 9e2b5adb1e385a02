//! Heads whose keys are all known: whether a name is free need not be asked for each of a thousand new ones. Where
//! another process is faster, the condition that goes with the change finds out.

use std::collections::{HashMap, HashSet};

use super::core::{Core, lock};
use super::heads::{self, AkeyPath};
use super::pending::{Dkey, DkeyId};
use crate::{ObjectId, Result};

/// Heads that are known at once; with more, all are forgotten.
const HEADS_MAX: usize = 64;

/// Keys by object; `None` for an object with too many.
pub(super) type Known = HashMap<ObjectId, Option<HashSet<Vec<u8>>>>;

impl Core {
    /// Returns whether the cluster had no such akey when its object was looked at.
    pub(super) fn is_absent(&self, (object, dkey, akey): AkeyPath<'_>) -> Result<bool> {
        let absent = |keys: &Option<HashSet<Vec<u8>>>| {
            keys.as_ref().is_some_and(|keys| !keys.contains(&heads::key(dkey, akey)))
        };
        if let Some(keys) = lock(&self.known).get(&object) {
            return Ok(absent(keys));
        }
        let page = self.page(object, None, b"")?;
        let is_all = !page.more && !self.is_sharded(object);
        let keys = is_all.then(|| page.pairs.into_iter().map(|(key, _)| key).collect());
        let is_absent = absent(&keys);
        let mut known = lock(&self.known);
        if known.len() >= HEADS_MAX {
            known.clear();
        }
        known.insert(object, keys);
        Ok(is_absent)
    }

    /// Notes keys that are on the cluster now.
    pub(super) fn note_keys(&self, id: &DkeyId, dkey: &Dkey) {
        if let Some(Some(keys)) = lock(&self.known).get_mut(&id.0) {
            let put = dkey.akeys.iter().filter(|(_, akey)| akey.changed && akey.value.is_some());
            keys.extend(put.map(|(name, _)| heads::key(&id.1, name)));
        }
    }
}
