//! Maps: each pair under the dkey of its key.

use algorithms::maps::{check_key, check_key_type, last_of_each};
use keyed::{Datasets, Values};
use model::{Datatype, Error, ObjectKind, Result, Token, encode};
use objects::{Change, ObjectId, Phase, Update};
use vol::{MapInfo, OpMapCreate, Page};

use crate::described::{Body, Described};
use crate::error::During;
use crate::keys::{ATTRIBUTES, CREATION, INTERNAL, KEY_DATATYPE, MAP, VALUE_DATATYPE};
use crate::listing::each_dkey;
use crate::opening::Opening;

impl Opening {
    pub(crate) fn make_map(&self, op: &OpMapCreate) -> Result<Token> {
        let key = self.file_type(&op.key, None)?;
        let value = self.file_type(&op.value, None)?;
        check_key_type(&key)?;
        let creation = encode::object_create(encode::ObjectClass::Map, &op.create)?;
        let (key_bytes, value_bytes) = (encode::datatype(&key)?, encode::datatype(&value)?);
        let id = self.new_identity(ObjectKind::Map)?;
        let entries = vec![
            (CREATION, &creation[..]),
            (KEY_DATATYPE, &key_bytes[..]),
            (VALUE_DATATYPE, &value_bytes[..]),
        ];
        let body = Body::Map { key, value, create: op.create.clone() };
        self.insert(Described { id, body }, entries, None, op.place.as_ref())
    }

    /// Whether a dkey of a map is a key: one may be called like a dkey of ours.
    fn is_key(&self, map: ObjectId, dkey: &[u8]) -> Result<bool> {
        match dkey == INTERNAL || dkey == ATTRIBUTES {
            true => Ok(self.store().size(map, dkey, MAP).during("list keys")?.is_some()),
            false => Ok(true),
        }
    }

    pub(crate) fn map_info_of(&self, map: &Described) -> Result<MapInfo> {
        let (key, value) = map.map()?;
        let count = self.shared.listings.count(map.id, || {
            let mut count = 0;
            each_dkey(self.store(), map.id, b"", |dkey| {
                count += u64::from(self.is_key(map.id, dkey)?);
                Ok(true)
            })?;
            Ok(count)
        })?;
        Ok(MapInfo { key: key.clone(), value: value.clone(), count })
    }

    pub(crate) fn put_pairs(&self, map: &Described, pairs: &[(&[u8], &[u8])]) -> Result<()> {
        let (key_type, value_type) = map.map()?;
        for (key, value) in pairs {
            check_key(key_type, key)?;
            if value.len() != value_type.size() as usize {
                let wanted = value_type.size();
                return Err(Error::invalid("set map value")
                    .with("bytes", value.len())
                    .with("wanted", wanted));
            }
        }
        let _alone = self.changing_values(map.id, value_type);
        let (pairs, replaced) = last_of_each(pairs);
        let pairs = &pairs[..];
        let mut old = match value_type.has_slots() {
            true => self.values_of(map, &pairs.iter().map(|(key, _)| *key).collect::<Vec<_>>())?,
            false => Vec::new(),
        };
        old.extend(replaced.into_iter().map(|value| Some(value.to_vec())));
        let changes: Vec<_> = pairs.iter().map(|(_, value)| [Change::Single(MAP, value)]).collect();
        let update = |((key, _), changes)| Update {
            object: map.id,
            dkey: key,
            changes,
            conditions: &[],
            phase: Phase::Content,
        };
        let updates: Vec<Update<'_>> =
            pairs.iter().copied().zip(changes.iter().map(|change| &change[..])).map(update).collect();
        let done = self.update_all(&updates).during("set map values");
        self.shared.listings.changed(map.id);
        done?;
        self.give_up(value_type, &old, pairs)
    }

    /// Removes the blobs of values that were replaced.
    fn give_up(&self, datatype: &Datatype, old: &[Option<Vec<u8>>], new: &[(&[u8], &[u8])]) -> Result<()> {
        let mut gone = Vec::new();
        for value in old.iter().flatten() {
            gone.extend(self.blobs_in(datatype, value)?);
        }
        let new: Vec<&[u8]> = new.iter().map(|(_, value)| *value).collect();
        self.drop_replaced(datatype, gone, &new.concat())
    }

    pub(crate) fn values_of(&self, map: &Described, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        let (key_type, value_type) = map.map()?;
        keys.iter().try_for_each(|key| check_key(key_type, key))?;
        let wanted: Vec<_> = keys.iter().map(|key| (map.id, *key, MAP)).collect();
        let found = self.store().get_many(&wanted).during("get map values")?;
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
        let keys = |from: &[u8], count| self.store().dkeys(map.id, from, count).during("list keys");
        keyed::page_after(after, count, keys, |dkey| self.is_key(map.id, dkey))
    }

    pub(crate) fn delete_pair(&self, map: &Described, key: &[u8]) -> Result<bool> {
        let (_, value_type) = map.map()?;
        let _alone = self.changing_values(map.id, value_type);
        let Some(old) = self.values_of(map, &[key])?.pop().flatten() else { return Ok(false) };
        let changes = [Change::Punch(MAP)];
        let update =
            Update { object: map.id, dkey: key, changes: &changes, conditions: &[], phase: Phase::Content };
        self.store().update(&update).during("delete map value")?;
        self.shared.listings.changed(map.id);
        let gone = self.blobs_in(value_type, &old)?;
        self.drop_blobs(&gone)?;
        Ok(true)
    }
}
