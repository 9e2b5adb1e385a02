//! Maps.

use algorithms::maps::{check_key, check_pairs, last_of_each};
use model::{Error, Result};
use vol::{MapInfo, Page};

use crate::listing::page_after;
use crate::mapping::Mapping;
use crate::{Handle, ObjectHeader};

/// Returns up to `count` of sorted keys after a key, and whether more follow.
fn page_of(sorted: &[Vec<u8>], after: Option<&[u8]>, count: u64) -> Page<Vec<u8>> {
    let start = after.map_or(0, |after| sorted.partition_point(|key| key.as_slice() <= after));
    let rest = &sorted[start..];
    let count = usize::try_from(count).unwrap_or(usize::MAX).min(rest.len());
    Page { entries: rest[..count].to_vec(), more: count < rest.len() }
}

impl<M: Mapping> Handle<M> {
    pub(crate) fn map_info(&self, map: &ObjectHeader<M>) -> Result<MapInfo> {
        let (key, value) = map.map()?;
        let count = self.count_entries(map.id)?;
        Ok(MapInfo { key: key.clone(), value: value.clone(), count })
    }

    pub(crate) fn put_pairs(&self, map: &ObjectHeader<M>, pairs: &[(&[u8], &[u8])]) -> Result<()> {
        let (key_type, value_type) = map.map()?;
        check_pairs(&MapInfo { key: key_type.clone(), value: value_type.clone(), count: 0 }, pairs)?;
        let _lock = self.lock_values(map.id, value_type);
        let (pairs, replaced) = last_of_each(pairs);
        let mut old = Vec::new();
        if value_type.has_descriptors() {
            for value in replaced {
                old.extend(self.blobs_in(value_type, value)?);
            }
            let keys: Vec<&[u8]> = pairs.iter().map(|(key, _)| *key).collect();
            for value in self.map_values(map, &keys)?.iter().flatten() {
                old.extend(self.blobs_in(value_type, value)?);
            }
        }
        let done = self.mapping().put_values(map.id, &pairs);
        self.shared.listings.changed(map.id);
        done?;
        if old.is_empty() {
            return Ok(());
        }
        let new: Vec<&[u8]> = pairs.iter().map(|(_, value)| *value).collect();
        self.drop_replaced(value_type, old, &new.concat())
    }

    /// Returns the values of keys, `None` for each key that the map has no pair of.
    pub(crate) fn map_values(&self, map: &ObjectHeader<M>, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        let (key_type, value_type) = map.map()?;
        keys.iter().try_for_each(|key| check_key(key_type, key))?;
        let found = self.mapping().values(map.id, keys, "get map values")?;
        match found.iter().flatten().find(|value| value.len() != value_type.size() as usize) {
            Some(value) => Err(Error::corrupt("get map values").with("bytes", value.len())),
            None => Ok(found),
        }
    }

    pub(crate) fn map_keys(
        &self,
        map: &ObjectHeader<M>,
        after: Option<&[u8]>,
        count: u64,
    ) -> Result<Page<Vec<u8>>> {
        map.map()?;
        if !self.mapping().has_ordered_keys() {
            return Ok(page_of(&self.all_keys(map.id)?, after, count));
        }
        let keys = |from: &[u8], count| self.mapping().keys(map.id, from, count);
        page_after(after, count, keys, |key| self.mapping().is_entry(map.id, key))
    }

    /// Removes a pair, and returns whether there was one.
    pub(crate) fn delete_pair(&self, map: &ObjectHeader<M>, key: &[u8]) -> Result<bool> {
        let (_, value_type) = map.map()?;
        let _lock = self.lock_values(map.id, value_type);
        let Some(old) = self.map_values(map, &[key])?.pop().flatten() else { return Ok(false) };
        let unused = self.blobs_in(value_type, &old)?;
        let done = self.mapping().remove_value(map.id, key);
        self.shared.listings.changed(map.id);
        done?;
        self.drop_blobs(&unused)?;
        Ok(true)
    }

    /// Returns the blobs that the values of a map use.
    pub(crate) fn blobs_of_map(&self, map: &ObjectHeader<M>) -> Result<Vec<M::BlobId>> {
        let (_, value_type) = map.map()?;
        let mut blobs = Vec::new();
        if value_type.has_descriptors() {
            self.each_value(map.id, |_, value| {
                blobs.extend(self.blobs_in(value_type, value)?);
                Ok(())
            })?;
        }
        Ok(blobs)
    }
}
