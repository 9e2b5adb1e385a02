//! Maps: key-value stores whose pairs are the application's own.

use algorithms::maps::{check_key, check_key_type, last_of_each};
use iod_storage::{Batch, Kind};
use keyed::{Datasets, Values};
use model::{Error, ObjectKind, Result, Token, encode};
use vol::{MapInfo, OpMapCreate, Page};

use crate::described::{Body, Described};
use crate::error::During;
use crate::keys::{KEY_TYPE, VALUE_TYPE};
use crate::objects_of::New;
use crate::opening::Opening;

impl Opening {
    pub(crate) fn make_map(&self, op: &OpMapCreate) -> Result<Token> {
        let key = self.file_type(&op.key, None)?;
        let value = self.file_type(&op.value, None)?;
        check_key_type(&key)?;
        self.insert(New {
            kind: ObjectKind::Map,
            id: self.new_identity(Kind::KeyValue)?,
            creation: encode::object_create(encode::ObjectClass::Map, &op.create)?,
            entries: vec![(KEY_TYPE, encode::datatype(&key)?), (VALUE_TYPE, encode::datatype(&value)?)],
            body: Body::Map { key, value, create: op.create.clone() },
            committed: None,
            place: op.place.as_ref(),
            make: &|batch, id, pad| _ = batch.create_kv(id, pad),
        })
    }

    pub(crate) fn map_info_of(&self, map: &Described) -> Result<MapInfo> {
        let (key, value) = map.map()?;
        let count = self.count_pairs(map.id)?;
        Ok(MapInfo { key: key.clone(), value: value.clone(), count })
    }

    pub(crate) fn put_pairs(&self, map: &Described, pairs: &[(&[u8], &[u8])]) -> Result<()> {
        let (key_type, value_type) = map.map()?;
        let info = MapInfo { key: key_type.clone(), value: value_type.clone(), count: 0 };
        algorithms::maps::check_pairs(&info, pairs)?;
        let _alone = self.changing_values(map.id, value_type);
        let (pairs, replaced) = last_of_each(pairs);
        let mut old = Vec::new();
        if value_type.has_slots() {
            for value in replaced {
                old.extend(self.blobs_in(value_type, value)?);
            }
            let keys: Vec<&[u8]> = pairs.iter().map(|(key, _)| *key).collect();
            for value in self.values_of(map, &keys)?.iter().flatten() {
                old.extend(self.blobs_in(value_type, value)?);
            }
        }
        let mut batch = Batch::new();
        for (key, value) in &pairs {
            batch.put(map.id, *key, *value);
        }
        let done = self.shared.apply(&batch, "set map values");
        self.shared.listings.changed(map.id);
        done?;
        let new: Vec<&[u8]> = pairs.iter().map(|(_, value)| *value).collect();
        self.drop_replaced(value_type, old, &new.concat())
    }

    pub(crate) fn values_of(&self, map: &Described, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        let (key_type, value_type) = map.map()?;
        keys.iter().try_for_each(|key| check_key(key_type, key))?;
        let found = self.storage().get(map.id, keys).during("get map values")?;
        match found.iter().flatten().find(|value| value.len() != value_type.size() as usize) {
            Some(value) => Err(Error::corrupt("get map values").with("bytes", value.len())),
            None => Ok(found),
        }
    }

    pub(crate) fn list_keys(
        &self,
        map: &Described,
        after: Option<&[u8]>,
        count: u64,
    ) -> Result<Page<Vec<u8>>> {
        map.map()?;
        let keys = |from: &[u8], count| self.storage().keys(map.id, from, count).during("list keys");
        keyed::page_after(after, count, keys, |_| Ok(true))
    }

    pub(crate) fn delete_pair(&self, map: &Described, key: &[u8]) -> Result<bool> {
        let (_, value_type) = map.map()?;
        let _alone = self.changing_values(map.id, value_type);
        let Some(old) = self.values_of(map, &[key])?.pop().flatten() else { return Ok(false) };
        let gone = self.blobs_in(value_type, &old)?;
        let mut batch = Batch::new();
        batch.remove(map.id, key);
        let done = self.shared.apply(&batch, "delete map value");
        self.shared.listings.changed(map.id);
        done?;
        self.drop_blobs(&gone)?;
        Ok(true)
    }
}
