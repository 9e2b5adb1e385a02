//! Maps: values by keys, as first-class objects.

mod elements;

use std::collections::HashMap;
use std::ops::ControlFlow;

use algorithms::transfer::{from_file_type, to_file_type};
use model::convert::Conversions;
use model::heap::Heap;
use model::properties::ObjectCreate;
use model::{Datatype, Error, Result};
use vol::{MapInfo, OpMapCreate};

use crate::object::Object;
use crate::{Group, H5Type};
use elements::Elements;

/// Access properties of a map: how its keys are fetched while it is iterated (`H5Pset_map_iterate_hints`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MapAccess {
    /// Keys that are fetched at a time: more cost memory, fewer cost round trips.
    pub key_prefetch: u64,
    /// Bytes of keys that are expected to come at a time. After a page that had more, the next ones ask for fewer keys.
    pub key_alloc_bytes: u64,
}

impl Default for MapAccess {
    fn default() -> Self {
        MapAccess { key_prefetch: 4096, key_alloc_bytes: 1 << 20 }
    }
}

impl MapAccess {
    /// Returns how many keys the next page has, after pages of `keys` with so many bytes.
    #[must_use]
    pub fn keys_of_page(&self, keys: u64, bytes: u64) -> u64 {
        let average = bytes.checked_div(keys).unwrap_or(0).max(1);
        self.key_prefetch.min(self.key_alloc_bytes / average).max(1)
    }
}

/// A map: pairs of a key and a value, each of one type. It dereferences to [`Object`], so it has attributes.
///
/// Keys and values of other types than the map's are converted. A key holds no references and no nested variable-length
/// values.
///
/// ```
/// # fn main() -> hyperslab::Result<()> {
/// let file = hyperslab::File::create("memory:staff")?;
/// let ids = file.create_map::<String, u64>("ids")?;
/// ids.put(&"Alice".to_owned(), &25_385_486u64)?;
/// assert_eq!(ids.get::<_, u64>(&"Alice".to_owned())?, Some(25_385_486));
/// assert_eq!(ids.len()?, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Map {
    object: Object,
    key: Datatype,
    value: Datatype,
    access: MapAccess,
}

impl std::ops::Deref for Map {
    type Target = Object;
    fn deref(&self) -> &Object {
        &self.object
    }
}

impl Map {
    pub(crate) fn open(object: Object) -> Result<Self> {
        let MapInfo { key, value, .. } = object.session.container.map_info(object.token)?;
        Ok(Self::of_types(object, key, value))
    }

    /// Returns the map of an object, whose types are known as they are stored.
    pub(crate) fn of_types(object: Object, key: Datatype, value: Datatype) -> Self {
        Map { object, key, value, access: MapAccess::default() }
    }

    /// Returns the type of keys, as stored.
    pub fn key_type(&self) -> &Datatype {
        &self.key
    }

    /// Returns the type of values, as stored.
    pub fn value_type(&self) -> &Datatype {
        &self.value
    }

    /// Returns how many pairs there are.
    pub fn len(&self) -> Result<u64> {
        Ok(self.session.container.map_info(self.token)?.count)
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Fetches so many keys at a time while it iterates: more cost memory, fewer cost round trips.
    pub fn keys_at_once(mut self, count: u64) -> Self {
        self.access.key_prefetch = count;
        self
    }

    /// Sets the access properties.
    pub fn with_access(mut self, access: MapAccess) -> Self {
        self.access = access;
        self
    }

    /// Returns the access properties.
    pub fn access(&self) -> &MapAccess {
        &self.access
    }

    /// Sets the value of a key.
    pub fn put<K: H5Type, V: H5Type>(&self, key: &K, value: &V) -> Result<()> {
        self.put_all([(key, value)])
    }

    /// Sets many values, which costs far less than one after the other. A key that comes twice has its last value.
    pub fn put_all<'p, K: H5Type + 'p, V: H5Type + 'p>(
        &self,
        pairs: impl IntoIterator<Item = (&'p K, &'p V)>,
    ) -> Result<()> {
        let (mut keys, mut values) = (Elements::new::<K>(), Elements::new::<V>());
        for (key, value) in pairs {
            keys.push(key)?;
            values.push(value)?;
        }
        let keys = self.stored_keys(keys)?;
        let (keys, places) = last_of_each(&keys);
        values.keep(&places);
        #[cfg(feature = "async")]
        if self.session.queues_values(&self.value, values.bytes.len()) {
            self.queue_pairs(keys.into_iter().map(<[u8]>::to_vec).collect(), values);
            return Ok(());
        }
        let container = self.session.container.as_ref();
        let values = to_file_type(
            container,
            &V::datatype(),
            &values.bytes,
            &self.value,
            &self.session.registered.conversions,
            &mut values.heap,
        )?;
        let values = values.chunks_exact(self.value.size().max(1) as usize);
        let pairs: Vec<(&[u8], &[u8])> = keys.into_iter().zip(values).collect();
        container.map_put(self.token, &pairs)
    }

    /// Returns the value of a key, or `None`.
    pub fn get<K: H5Type, V: H5Type>(&self, key: &K) -> Result<Option<V>> {
        Ok(self.get_all([key])?.pop().flatten())
    }

    /// Returns the values of many keys, in their order.
    pub fn get_all<'k, K: H5Type + 'k, V: H5Type>(
        &self,
        keys: impl IntoIterator<Item = &'k K>,
    ) -> Result<Vec<Option<V>>> {
        let keys = self.keys_of(keys)?;
        let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let _pin = vol::Pin::of(self.session.container.as_ref(), &self.value)?;
        let found = self.session.container.map_get(self.token, &keys)?;
        // Those that are there go through conversion together.
        let present: Vec<&[u8]> = found.iter().flatten().map(Vec::as_slice).collect();
        let mut values = self.values(&present.concat())?.into_iter();
        Ok(found.iter().map(|value| value.as_ref().and_then(|_| values.next())).collect())
    }

    /// Returns whether a key has a value.
    pub fn contains<K: H5Type>(&self, key: &K) -> Result<bool> {
        let key = self.stored_key(key)?;
        let found = self.session.container.map_get(self.token, &[&key])?;
        Ok(found.into_iter().any(|value| value.is_some()))
    }

    /// Removes a pair; `false` where there was none.
    pub fn delete<K: H5Type>(&self, key: &K) -> Result<bool> {
        self.session.container.map_delete(self.token, &self.stored_key(key)?)
    }

    /// Removes a pair if there is one. In a scope of an event set this is queued, where
    /// [`Map::delete`] waits to know whether there was one.
    ///
    /// # Errors
    /// Returns the error of the storage, and `Invalid` if the key does not fit.
    pub fn remove<K: H5Type>(&self, key: &K) -> Result<()> {
        let (container, map, key) = (&*self.session.container, self.token, self.stored_key(key)?);
        #[cfg(feature = "async")]
        if layers::asynchronous::queues_changes(container) {
            // The set has the request.
            drop(layers::asynchronous::start(container, move |c| c.map_delete(map, &key)));
            return Ok(());
        }
        container.map_delete(map, &key).map(drop)
    }

    /// Calls `visit` with every key after `position`, in the order of their stored bytes, until it breaks or there are no
    /// more. Returns `Break` if `visit` broke.
    ///
    /// `position` moves along: the next call goes on after the last key that was visited, whatever was set and deleted
    /// meanwhile, by `visit` too. A key for which `visit` returns an error counts as not visited, so that going on
    /// begins with it.
    ///
    /// ```
    /// # use std::ops::ControlFlow;
    /// # fn main() -> hyperslab::Result<()> {
    /// # let file = hyperslab::File::create("memory:visited")?;
    /// let map = file.create_map::<u8, f32>("map")?;
    /// map.put_all([(&1, &0.5f32), (&2, &1.5), (&3, &2.5)])?;
    /// let mut position = hyperslab::KeyPosition::default();
    /// let _ = map.iterate(&mut position, |key: u8| map.delete(&key).map(|_| ControlFlow::Continue(())))?;
    /// assert!(map.is_empty()?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn iterate<K: H5Type>(
        &self,
        position: &mut KeyPosition,
        mut visit: impl FnMut(K) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        let (mut keys, mut bytes) = (0, 0);
        loop {
            let container = &self.session.container;
            let count = self.access.keys_of_page(keys, bytes);
            let page = container.map_keys(self.token, position.0.as_deref(), count)?;
            keys += page.entries.len() as u64;
            bytes += page.entries.iter().map(|key| key.len() as u64).sum::<u64>();
            let is_last = !page.more || page.entries.is_empty();
            for (key, stored) in self.loaded_keys(&page.entries)?.into_iter().zip(page.entries) {
                let went = visit(key)?;
                position.0 = Some(stored);
                if went.is_break() {
                    return Ok(went);
                }
            }
            if is_last {
                return Ok(ControlFlow::Continue(()));
            }
        }
    }

    /// Returns all keys.
    pub fn keys<K: H5Type>(&self) -> Result<Vec<K>> {
        let mut keys = Vec::new();
        let _ = self.iterate(&mut KeyPosition::default(), |key| {
            keys.push(key);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(keys)
    }

    fn values<V: H5Type>(&self, raw: &[u8]) -> Result<Vec<V>> {
        let (container, mut heap) = (self.session.container.as_ref(), Heap::new());
        let memory = V::datatype();
        let conversions = &self.session.registered.conversions;
        let values = from_file_type(container, &self.value, raw, &memory, conversions, &mut heap)?;
        let mut loaded = Vec::new();
        V::load_more(&values, &heap, &mut loaded)?;
        Ok(loaded)
    }

    pub(crate) fn keys_of<'k, K: H5Type + 'k>(
        &self,
        keys: impl IntoIterator<Item = &'k K>,
    ) -> Result<Vec<Vec<u8>>> {
        let mut elements = Elements::new::<K>();
        keys.into_iter().try_for_each(|key| elements.push(key))?;
        self.stored_keys(elements)
    }

    pub(crate) fn stored_key<K: H5Type>(&self, key: &K) -> Result<Vec<u8>> {
        let missing = || Error::invalid("use map key");
        self.keys_of([key])?.pop().ok_or_else(missing)
    }

    /// Returns the bytes that stand for keys: an element's, or those of a variable-length value.
    fn stored_keys(&self, elements: Elements) -> Result<Vec<Vec<u8>>> {
        let Elements { datatype, bytes, mut heap } = elements;
        algorithms::maps::stored_keys(&self.key, &datatype, &bytes, &mut heap)
    }

    /// Returns the opposite.
    pub(crate) fn loaded_keys<K: H5Type>(&self, keys: &[Vec<u8>]) -> Result<Vec<K>> {
        let (memory, mut heap) = (self.key.memory_type(), Heap::new());
        let bytes = algorithms::maps::to_elements(&self.key, keys.iter().map(Vec::as_slice), &mut heap)?;
        let mut out = vec![0; keys.len() * K::element_bytes()];
        model::convert::Plan::compile(&memory, &K::datatype(), &Conversions::default())?.run(
            &bytes,
            &mut out,
            keys.len(),
            &mut heap,
        )?;
        if algorithms::maps::stored_keys(&self.key, &K::datatype(), &out, &mut heap)? != keys {
            return Err(
                Error::invalid("read map keys").with("problem", "a key does not fit the type it is read as")
            );
        }
        let mut loaded = Vec::new();
        K::load_more(&out, &heap, &mut loaded)?;
        Ok(loaded)
    }
}

/// How far an iteration over the keys of a [`Map`] has come: after a key, which need not be there any more. The default is
/// before the first one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyPosition(Option<Vec<u8>>);

/// Keys without those that come again later, and their places.
pub(crate) fn last_of_each(keys: &[Vec<u8>]) -> (Vec<&[u8]>, Vec<usize>) {
    let last: HashMap<&[u8], usize> = keys.iter().map(Vec::as_slice).zip(0..).collect();
    let is_last = |(place, key): &(usize, &Vec<u8>)| last.get(key.as_slice()) == Some(place);
    keys.iter().enumerate().filter(is_last).map(|(place, key)| (key.as_slice(), place)).unzip()
}

impl Group {
    /// Creates a map from keys to values.
    pub fn create_map<K: H5Type, V: H5Type>(&self, path: &str) -> Result<Map> {
        self.create_map_of(Some(path), &K::datatype(), &V::datatype(), &ObjectCreate::default())
    }

    /// Creates a map that no link leads to: it goes with its last handle unless it is linked.
    pub fn create_anonymous_map<K: H5Type, V: H5Type>(&self) -> Result<Map> {
        self.create_map_of(None, &K::datatype(), &V::datatype(), &ObjectCreate::default())
    }

    /// Creates a map of types that are chosen at run time.
    pub fn create_map_of(
        &self,
        path: Option<&str>,
        key: &Datatype,
        value: &Datatype,
        create: &ObjectCreate,
    ) -> Result<Map> {
        let place = path.map(|path| self.place(path)).transpose()?;
        let op = OpMapCreate { place, key: key.clone(), value: value.clone(), create: create.clone() };
        let token = self.session.container.map_create(&op)?;
        let path = path.map_or_else(|| model::ObjectPath::start(""), |path| self.path_to(path));
        // Every connector stores the types as they are, with descriptors of its own. Asking for them could mean to
        // wait.
        let sizes = &self.session.descriptors;
        let (key, value) = (key.with_descriptors(sizes), value.with_descriptors(sizes));
        Ok(Map::of_types(Object::new(self.session.clone(), token, path), key, value))
    }

    /// Returns the map at a path.
    pub fn map(&self, path: &str) -> Result<Map> {
        self.open_kind(path, model::ObjectKind::Map).and_then(Map::open)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_get_smaller_where_keys_are_long_and_never_empty() {
        let access = MapAccess { key_prefetch: 100, key_alloc_bytes: 1000 };
        assert_eq!(access.keys_of_page(0, 0), 100);
        assert_eq!(access.keys_of_page(100, 400), 100);
        assert_eq!(access.keys_of_page(100, 10_000), 10);
        assert_eq!(access.keys_of_page(1, 1 << 20), 1);
        assert_eq!(MapAccess { key_prefetch: 0, key_alloc_bytes: 0 }.keys_of_page(5, 50), 1);
    }
}
