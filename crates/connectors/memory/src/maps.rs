//! Maps: pairs of a key and a value.

use std::collections::BTreeMap;
use std::ops::Bound;

use algorithms::maps::{check_key, check_key_type, page};
use model::{Datatype, Error, Limits, Result, Token};
use vol::{MapInfo, OpMapCreate, Page};

use crate::check;
use crate::objects::{Body, ContainerState, Object};

/// A map; keys are sorted by their bytes.
#[derive(Debug, Clone)]
pub(crate) struct Map {
    key: Datatype,
    pub(crate) value: Datatype,
    pub(crate) pairs: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl ContainerState {
    pub(crate) fn map_create(&mut self, op: &OpMapCreate, limits: &Limits) -> Result<Token> {
        let key = self.file_type(&op.key, None, limits)?;
        let value = self.file_type(&op.value, None, limits)?;
        check_key_type(&key)?;
        let body = Body::Map(Map { key, value, pairs: BTreeMap::new() });
        self.insert(Object::new(op.create.clone(), body), op.place.as_ref(), limits.entries_max)
    }

    pub(crate) fn map_info(&self, map: Token) -> Result<MapInfo> {
        let map = self.map(map)?;
        Ok(MapInfo { key: map.key.clone(), value: map.value.clone(), count: map.pairs.len() as u64 })
    }

    pub(crate) fn map_put(&mut self, token: Token, pairs: &[(&[u8], &[u8])], limits: &Limits) -> Result<()> {
        let map = self.map_mut(token)?;
        for (key, value) in pairs {
            check_key(&map.key, key)?;
            check::length("set map value", map.value.size().into(), value.len())?;
        }
        if map.pairs.len() as u64 + pairs.len() as u64 > limits.entries_max {
            return Err(Error::limit("set map values").with("limit", limits.entries_max));
        }
        map.pairs.extend(pairs.iter().map(|(key, value)| (key.to_vec(), value.to_vec())));
        self.object_mut(token)?.touch_data();
        Ok(())
    }

    pub(crate) fn map_get(&self, map: Token, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        let map = self.map(map)?;
        keys.iter().map(|key| check_key(&map.key, key).map(|()| map.pairs.get(*key).cloned())).collect()
    }

    pub(crate) fn map_keys(&self, map: Token, after: Option<&[u8]>, count_max: u64) -> Result<Page<Vec<u8>>> {
        let pairs = &self.map(map)?.pairs;
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        Ok(page(pairs.range::<[u8], _>((from, Bound::Unbounded)).map(|(key, _)| key), count_max))
    }

    pub(crate) fn map_delete(&mut self, token: Token, key: &[u8]) -> Result<bool> {
        let map = self.map_mut(token)?;
        check_key(&map.key, key)?;
        let was_there = map.pairs.remove(key).is_some();
        self.object_mut(token)?.touch_data();
        Ok(was_there)
    }
}
