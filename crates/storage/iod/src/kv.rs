//! Key-value stores: pairs of any bytes, in the order of their keys.

use objects::{Change, Phase, Update, akeys_with_prefix};

use crate::head::HEAD;
use crate::{Batch, Container, Error, Id, Kind, Result};

/// The first byte of a key, so that none is taken for the head.
const PAIR: u8 = 1;
/// The longest key.
const KEY_BYTES_MAX: usize = (32 << 10) - 1;

/// A pair: its key and its value.
pub(crate) type Pair = (Vec<u8>, Vec<u8>);

pub(crate) fn check_key(key: &[u8]) -> Result<()> {
    match key.len() <= KEY_BYTES_MAX {
        true => Ok(()),
        false => Err(Error::TooLarge(format!("a key of {} bytes: at most {KEY_BYTES_MAX}", key.len()))),
    }
}

/// Returns the akey of a pair.
pub(crate) fn pair_key(key: &[u8]) -> Vec<u8> {
    let mut akey = Vec::with_capacity(1 + key.len());
    akey.push(PAIR);
    akey.extend_from_slice(key);
    akey
}

impl Container {
    /// Sets pairs of one store, all at once.
    pub fn put(&self, kv: Id, pairs: &[(&[u8], &[u8])]) -> Result<()> {
        let mut batch = Batch::new();
        for (key, value) in pairs {
            batch.put(kv, *key, *value);
        }
        self.apply(&batch)
    }

    /// Values of keys, all from one moment; `None` where there is none.
    pub fn get(&self, kv: Id, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        self.head_of(kv, Kind::KeyValue)?;
        let akeys: Vec<Vec<u8>> = keys.iter().map(|key| pair_key(key)).collect();
        let wanted: Vec<&[u8]> = akeys.iter().map(Vec::as_slice).collect();
        let found = self.store().get(kv.object(), self.here(), &wanted)?;
        Ok(found.into_iter().map(|value| value.map(|value| self.core.layout.value(value))).collect())
    }

    /// Sets a pair, durable and seen by all when this returns, where a flush is not one commit.
    pub fn put_early(&self, kv: Id, key: &[u8], value: &[u8]) -> Result<()> {
        if self.is_atomic() {
            return self.put(kv, &[(key, value)]);
        }
        self.check_writable()?;
        check_key(key)?;
        self.head_of(kv, Kind::KeyValue)?;
        let (akey, value) = (pair_key(key), self.core.layout.stored_value(value));
        let changes = [Change::Single(&akey, &value)];
        let (object, dkey, phase) = (kv.object(), self.here(), Phase::Content);
        self.store().update_now(&Update { object, dkey, changes: &changes, conditions: &[], phase })
    }

    /// Returns all keys that begin with `prefix`, in the order of their bytes.
    pub fn keys_with_prefix(&self, kv: Id, prefix: &[u8]) -> Result<Vec<Vec<u8>>> {
        self.head_of(kv, Kind::KeyValue)?;
        let akeys = akeys_with_prefix(self.store(), kv.object(), self.here(), &pair_key(prefix))?;
        Ok(akeys.into_iter().map(|mut akey| akey.split_off(1)).collect())
    }

    /// Up to `count_max` keys in the order of their bytes, from `from` on: a page goes on from the last key of the one
    /// before, with a 0 byte appended.
    pub fn keys(&self, kv: Id, from: &[u8], count_max: usize) -> Result<Vec<Vec<u8>>> {
        self.head_of(kv, Kind::KeyValue)?;
        let akeys = self.store().akeys(kv.object(), self.here(), &pair_key(from), count_max)?;
        Ok(akeys.into_iter().filter(|akey| akey != HEAD).map(|mut akey| akey.split_off(1)).collect())
    }

    /// Returns the same with their values.
    pub fn pairs(&self, kv: Id, from: &[u8], count_max: usize) -> Result<Vec<Pair>> {
        let keys = self.keys(kv, from, count_max)?;
        let values = self.get(kv, &keys.iter().map(Vec::as_slice).collect::<Vec<_>>())?;
        // A pair that went in between is none.
        Ok(keys.into_iter().zip(values).filter_map(|(key, value)| Some((key, value?))).collect())
    }
}
