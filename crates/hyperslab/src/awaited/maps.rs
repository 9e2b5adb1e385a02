//! Maps that are awaited.

use layers::asynchronous::start;
use model::Result;

use super::descriptors::Pinned;
use super::{loaded, stored};
use crate::map::last_of_each;
use crate::{H5Type, Map};

impl Map {
    /// Sets the value of a key, as [`Map::put`] does, and ends when the storage has it.
    ///
    /// # Errors
    /// Returns the error of the storage, and `Conversion` or `Invalid` if the key or the value does not fit.
    pub async fn put_async<K, V>(&self, key: &K, value: &V) -> Result<()>
    where
        K: H5Type + Clone + 'static,
        V: H5Type + Clone + 'static,
    {
        self.put_all_async(std::slice::from_ref(key), std::slice::from_ref(value)).await
    }

    /// Sets the values of many keys, as [`Map::put_all`] does, and ends when the storage has them.
    ///
    /// # Errors
    /// Returns the error of the storage, and `Conversion` or `Invalid` if a key or a value does not fit.
    pub async fn put_all_async<K, V>(&self, keys: &[K], values: &[V]) -> Result<()>
    where
        K: H5Type + Clone + 'static,
        V: H5Type + Clone + 'static,
    {
        if !self.session.is_started() || self.value_bytes(values.len()) > super::HERE_BYTES_MAX {
            let (map, keys, values) = (self.clone(), keys.to_vec(), values.to_vec());
            return self.session.aside(move || map.put_all(keys.iter().zip(&values))).await;
        }
        let stored_keys = self.keys_of(keys)?;
        let (keys, places) = last_of_each(&stored_keys);
        let keys: Vec<Vec<u8>> = keys.into_iter().map(<[u8]>::to_vec).collect();
        let values: Vec<V> = places.iter().filter_map(|&place| values.get(place).cloned()).collect();
        let values = stored(&self.session, self.value_type(), &values).await?;
        let (map, size) = (self.token, self.value_type().size().max(1) as usize);
        let put = start(&*self.session.container, move |c| {
            let pairs: Vec<(&[u8], &[u8])> =
                keys.iter().map(Vec::as_slice).zip(values.chunks_exact(size)).collect();
            c.map_put(map, &pairs)
        });
        put.await
    }

    /// Returns the value of a key, or `None`, as [`Map::get`] does.
    ///
    /// # Errors
    /// Returns the error of the storage, and `Conversion` or `Invalid` if the key or the value does not fit.
    pub async fn get_async<K, V>(&self, key: &K) -> Result<Option<V>>
    where
        K: H5Type + Clone + 'static,
        V: H5Type + 'static,
    {
        Ok(self.get_all_async(std::slice::from_ref(key)).await?.pop().flatten())
    }

    /// Returns the values of many keys, in their order, as [`Map::get_all`] does.
    ///
    /// # Errors
    /// Returns the error of the storage, and `Conversion` or `Invalid` if a key or a value does not fit.
    pub async fn get_all_async<K, V>(&self, keys: &[K]) -> Result<Vec<Option<V>>>
    where
        K: H5Type + Clone + 'static,
        V: H5Type + 'static,
    {
        if !self.session.is_started() {
            let (map, keys) = (self.clone(), keys.to_vec());
            return self.session.aside(move || map.get_all(&keys)).await;
        }
        let (map, keys, container) = (self.token, self.keys_of(keys)?, &*self.session.container);
        let _pinned = Pinned::of(container, self.value_type()).await?;
        let get =
            start(container, move |c| c.map_get(map, &keys.iter().map(Vec::as_slice).collect::<Vec<_>>()));
        let found = get.await?;
        let present: Vec<&[u8]> = found.iter().flatten().map(Vec::as_slice).collect();
        let mut values = loaded(&self.session, self.value_type(), present.concat()).await?.into_iter();
        Ok(found.iter().map(|value| value.as_ref().and_then(|_| values.next())).collect())
    }

    /// Removes a pair, as [`Map::delete`] does; `false` where there was none.
    ///
    /// # Errors
    /// Returns the error of the storage, and `Conversion` or `Invalid` if the key does not fit.
    pub async fn delete_async<K: H5Type + Clone + 'static>(&self, key: &K) -> Result<bool> {
        if !self.session.is_started() {
            let (map, key) = (self.clone(), key.clone());
            return self.session.aside(move || map.delete(&key)).await;
        }
        let (map, key) = (self.token, self.stored_key(key)?);
        start(&*self.session.container, move |c| c.map_delete(map, &key)).await
    }

    /// Returns all keys, as [`Map::keys`] does.
    ///
    /// # Errors
    /// Returns the error of the storage, and `Conversion` or `Invalid` if a key does not fit.
    pub async fn keys_async<K: H5Type + 'static>(&self) -> Result<Vec<K>> {
        if !self.session.is_started() {
            let map = self.clone();
            return self.session.aside(move || map.keys()).await;
        }
        let (mut keys, mut after) = (Vec::new(), None);
        loop {
            let (map, from, count) = (self.token, after.take(), self.access().key_prefetch.max(1));
            let page =
                start(&*self.session.container, move |c| c.map_keys(map, from.as_deref(), count)).await?;
            keys.extend(self.loaded_keys(&page.entries)?);
            after = page.entries.into_iter().next_back();
            if !page.more || after.is_none() {
                return Ok(keys);
            }
        }
    }

    /// Returns how many pairs there are, as [`Map::len`] does.
    ///
    /// # Errors
    /// Returns the error of the storage.
    pub async fn len_async(&self) -> Result<u64> {
        if !self.session.is_started() {
            let map = self.clone();
            return self.session.aside(move || map.len()).await;
        }
        let map = self.token;
        Ok(start(&*self.session.container, move |c| c.map_info(map)).await?.count)
    }

    /// Returns the bytes of so many values, as stored.
    fn value_bytes(&self, count: usize) -> usize {
        count.saturating_mul(self.value_type().size() as usize)
    }
}
