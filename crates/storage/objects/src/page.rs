//! Enumeration: pages of keys or objects, and where the next page begins.

use crate::{ObjectId, Result, Store};

/// Where an enumeration goes on. Its bytes mean something to the engine that made it, and to no other caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anchor(pub Vec<u8>);

/// A page of an enumeration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// What was found, in the order of the engine.
    pub items: Vec<T>,
    /// Where the next page begins; `None` after the last one.
    pub next: Option<Anchor>,
}

impl Page<Vec<u8>> {
    /// Returns a page of an engine that enumerates keys in byte order: `keys` are all, or `count_max` of them.
    pub(crate) fn in_order(keys: Vec<Vec<u8>>, count_max: usize) -> Self {
        let last = keys.last().filter(|_| keys.len() >= count_max);
        let next = last.map(|last| Anchor([last.as_slice(), b"\0"].concat()));
        Page { items: keys, next }
    }
}

impl Page<ObjectId> {
    /// Returns a page of an engine whose objects have an order: `ids` are all, or `count_max` of them.
    pub(crate) fn of_objects(ids: Vec<ObjectId>, count_max: usize) -> Self {
        let next = ids.last().filter(|_| ids.len() >= count_max).map(|last| Anchor(last.to_bytes().to_vec()));
        Page { items: ids, next }
    }
}

/// Returns the first key of a page of an engine that enumerates in byte order.
pub(crate) fn first_key(after: Option<&Anchor>) -> &[u8] {
    after.map_or(&[], |anchor| &anchor.0)
}

/// The methods of a [`Store`] that finds keys in byte order: its pages are made of `dkeys` and `akeys`.
macro_rules! list_in_order {
    () => {
        fn list_dkeys(
            &self,
            object: $crate::ObjectId,
            after: Option<&$crate::Anchor>,
            count_max: usize,
        ) -> $crate::Result<$crate::Page<Vec<u8>>> {
            let keys = self.dkeys(object, $crate::page::first_key(after), count_max)?;
            Ok($crate::Page::in_order(keys, count_max))
        }

        fn list_akeys(
            &self,
            object: $crate::ObjectId,
            dkey: &[u8],
            after: Option<&$crate::Anchor>,
            count_max: usize,
        ) -> $crate::Result<$crate::Page<Vec<u8>>> {
            let keys = self.akeys(object, dkey, $crate::page::first_key(after), count_max)?;
            Ok($crate::Page::in_order(keys, count_max))
        }

        fn is_ordered(&self) -> bool {
            true
        }
    };
}
pub(crate) use list_in_order;

/// Returns the object that an anchor of [`Page::of_objects`] names.
pub(crate) fn last_object(after: Option<&Anchor>) -> Result<Option<ObjectId>> {
    let decoded = |anchor: &Anchor| anchor.0.as_slice().try_into().map(ObjectId::from_bytes);
    after.map(decoded).transpose().map_err(|_| crate::bytes::Reader::corrupt())
}

/// Keys or objects that are asked for at a time.
pub(crate) const PAGE: usize = 1024;

/// Visits all items of an enumeration, page by page. `page` returns the page of an anchor.
pub(crate) fn each<T>(
    page: impl Fn(Option<&Anchor>) -> Result<Page<T>>,
    mut visit: impl FnMut(Vec<T>),
) -> Result<()> {
    let mut anchor = None;
    loop {
        let Page { items, next } = page(anchor.as_ref())?;
        visit(items);
        match next {
            Some(next) => anchor = Some(next),
            None => return Ok(()),
        }
    }
}

/// Returns all items of an enumeration, in byte order.
fn sorted(page: impl Fn(Option<&Anchor>) -> Result<Page<Vec<u8>>>, prefix: &[u8]) -> Result<Vec<Vec<u8>>> {
    let mut all: Vec<Vec<u8>> = Vec::new();
    each(page, |keys| all.extend(keys.into_iter().filter(|key| key.starts_with(prefix))))?;
    all.sort_unstable();
    Ok(all)
}

/// Returns up to `count_max` keys from `from` on, of an enumeration in any order.
pub(crate) fn keys_from(
    page: impl Fn(Option<&Anchor>) -> Result<Page<Vec<u8>>>,
    from: &[u8],
    count_max: usize,
) -> Result<Vec<Vec<u8>>> {
    let mut all = sorted(page, b"")?;
    all.drain(..all.partition_point(|key| key.as_slice() < from));
    all.truncate(count_max);
    Ok(all)
}

/// Returns the keys with a prefix of an engine that enumerates in byte order. `page` returns the keys from a key on.
fn range(page: impl Fn(&[u8]) -> Result<Vec<Vec<u8>>>, prefix: &[u8]) -> Result<Vec<Vec<u8>>> {
    let (mut all, mut from) = (Vec::new(), prefix.to_vec());
    loop {
        let keys = page(&from)?;
        let Some(last) = keys.last() else { return Ok(all) };
        from = [last.as_slice(), b"\0"].concat();
        let is_over = !last.starts_with(prefix);
        all.extend(keys.into_iter().filter(|key| key.starts_with(prefix)));
        if is_over {
            return Ok(all);
        }
    }
}

/// Returns the dkeys of an object that begin with `prefix`, in byte order.
///
/// # Errors
/// Returns the error of the engine.
pub fn dkeys_with_prefix(store: &dyn Store, object: ObjectId, prefix: &[u8]) -> Result<Vec<Vec<u8>>> {
    match store.is_ordered() {
        true => range(|from| store.dkeys(object, from, PAGE), prefix),
        false => sorted(|after| store.list_dkeys(object, after, PAGE), prefix),
    }
}

/// Returns the akeys of a dkey that begin with `prefix`, in byte order.
///
/// # Errors
/// Returns the error of the engine.
pub fn akeys_with_prefix(
    store: &dyn Store,
    object: ObjectId,
    dkey: &[u8],
    prefix: &[u8],
) -> Result<Vec<Vec<u8>>> {
    match store.is_ordered() {
        true => range(|from| store.akeys(object, dkey, from, PAGE), prefix),
        false => sorted(|after| store.list_akeys(object, dkey, after, PAGE), prefix),
    }
}
