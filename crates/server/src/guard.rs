//! What stands between a client and a container: how much it holds, what it may ask for, and what the server cannot do for it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use model::{Budget, Charge, Error, Kind, Link, Result, Token};
use system::sync::Mutex;
use vol::{
    AttributeInfo, Capability, Container, ContainerInfo, Layer, OpList, OpPlacement, Page, Pin, Placement,
};

use crate::memory::SMALL_BYTES;

/// Bytes of an object that a client holds open, here and in the connector.
const HANDLE_BYTES: u64 = 256;
/// Bytes of values that are asked for at once, where no one knows how large they are.
const BATCH_BYTES: u64 = 1 << 20;
/// Values that are asked for first, and at most.
const BATCH_FIRST: usize = 16;
const BATCH_MAX: usize = 4096;
/// Entries of a listing that are asked for at once, and what one of them takes without its name.
const PAGE_ENTRIES: u64 = 1 << 16;
const ENTRY_BYTES: u64 = 128;
/// Listings up to so many entries are part of what every connection has.
const FREE_ENTRIES: u64 = SMALL_BYTES / ENTRY_BYTES;
/// The chunk cache that a client may choose for a dataset.
const CHUNK_CACHE_BYTES_MAX: u64 = 16 << 20;

thread_local! {
    /// The charge for the answer of the operation that this thread runs.
    static ANSWERED: RefCell<Option<Charge>> = const { RefCell::new(None) };
}

/// Keeps a charge until the answer is sent: a caller that gave it back before would count it as free too soon.
fn leave_for_answer(charge: Charge) {
    ANSWERED.with_borrow_mut(|answered| *answered = Some(charge));
}

/// Returns the charge for the answer that this thread just got.
pub(crate) fn answered() -> Option<Charge> {
    ANSWERED.take()
}

/// The handles of a session.
#[derive(Debug, Default)]
struct SessionHandles {
    /// Objects, and how often.
    objects: HashMap<Token, u64>,
    /// Pins of the client, whose numbers other clients have too, and what they are called here.
    pins: HashMap<u64, u64>,
    charge: Option<Charge>,
}

/// A container as one session has it.
pub(crate) struct Guard {
    inner: Arc<dyn Container>,
    held: Mutex<SessionHandles>,
    objects_max: usize,
    writable: bool,
    budget: Budget,
    /// Extensions of this server's connectors and layers that a client may call without the right to write.
    readable: Arc<[&'static str]>,
}

impl Guard {
    pub(crate) fn new(
        inner: Arc<dyn Container>,
        objects_max: usize,
        writable: bool,
        budget: Budget,
        readable: Arc<[&'static str]>,
    ) -> Self {
        Guard { inner, held: Mutex::default(), objects_max, writable, budget, readable }
    }

    /// Releases what the client held.
    pub(crate) fn let_go(&self) {
        let held = std::mem::take(&mut *self.held.lock());
        for number in held.pins.into_values() {
            let _ = self.inner.blob_unpin(number);
        }
        for (object, count) in held.objects {
            for _ in 0..count {
                // An object that is gone needs no one to release it.
                let _ = self.inner.release(object);
            }
        }
    }

    /// Memory for one more object or pin.
    fn hold_more(&self, held: &mut SessionHandles) -> Result<()> {
        let count = held.objects.len() + held.pins.len();
        if count >= self.objects_max {
            return Err(Error::limit("open object").with("objects", count));
        }
        let bytes = (count as u64 + 1) * HANDLE_BYTES;
        match &mut held.charge {
            Some(charge) => charge.resize(bytes, "open objects"),
            none => {
                *none = Some(self.budget.charge(bytes, "open objects")?);
                Ok(())
            }
        }
    }

    /// Asks for values of unknown size in batches, each of which is charged before the next: the same one may be asked for
    /// any number of times.
    fn in_batches<K, V>(
        &self,
        keys: &[K],
        what: &str,
        size: impl Fn(&V) -> usize,
        get: impl Fn(&[K]) -> Result<Vec<V>>,
    ) -> Result<Vec<V>> {
        let mut charge = self.budget.empty_charge();
        let (mut values, mut rest, mut batch) = (Vec::new(), keys, BATCH_FIRST);
        while !rest.is_empty() {
            let (now, later) = rest.split_at(batch.min(rest.len()));
            let got = get(now)?;
            let bytes: usize = got.iter().map(&size).sum();
            charge.resize(charge.bytes() + bytes as u64, what)?;
            batch = next_batch(now.len(), bytes as u64);
            values.extend(got);
            rest = later;
        }
        leave_for_answer(charge);
        Ok(values)
    }

    /// Asks for a listing in pages. Each is charged before it is made, by the `count` of all entries, and then by what it is.
    fn in_pages<T>(
        &self,
        op: &OpList,
        count: impl Fn() -> Result<u64>,
        size: impl Fn(&T) -> u64,
        list: impl Fn(&OpList) -> Result<Page<T>>,
    ) -> Result<Page<T>> {
        if op.count_max <= FREE_ENTRIES {
            return list(op);
        }
        let mut charge = self.budget.empty_charge();
        let (mut op, mut all, mut left) = (*op, Page { entries: Vec::new(), more: true }, op.count_max);
        let end = count()?;
        while all.more && left > 0 {
            op.count_max = left.min(PAGE_ENTRIES);
            let (so_far, expected) = (charge.bytes(), op.count_max.min(end.saturating_sub(op.skip)));
            charge.resize(so_far + expected * ENTRY_BYTES, "listing")?;
            let page = list(&op)?;
            let bytes: u64 = page.entries.iter().map(&size).sum();
            charge.resize(so_far + bytes, "listing")?;
            let count = page.entries.len() as u64;
            (op.skip, left) = (op.skip + count, left - count);
            all.entries.extend(page.entries);
            all.more = page.more && count > 0;
        }
        leave_for_answer(charge);
        Ok(all)
    }

    /// Returns an error unless the client may call an extension: one that is not declared as reading may change anything.
    fn check_optional(&self, name: &str) -> Result<()> {
        if self.writable || self.readable.contains(&name) {
            return Ok(());
        }
        let error = Error::denied("optional operation").with("name", name);
        Err(error.with("problem", "the container is open to read"))
    }
}

/// As many as [`BATCH_BYTES`] have space for, if they are as large as the last ones.
fn next_batch(count: usize, bytes: u64) -> usize {
    let each = (bytes / count.max(1) as u64).max(1);
    usize::try_from(BATCH_BYTES / each).unwrap_or(BATCH_MAX).clamp(1, BATCH_MAX)
}

impl Layer for Guard {
    fn inner(&self) -> &dyn Container {
        &*self.inner
    }

    /// Returns what an operation answers is its client's; what the container keeps is not.
    fn budget(&self) -> Budget {
        self.budget.clone()
    }

    /// Files next to the container are not followed here.
    fn info(&self) -> Result<Arc<ContainerInfo>> {
        let info = self.inner.info()?;
        let capability = Capability { external_data: false, virtual_datasets: false, ..info.capability };
        Ok(Arc::new(ContainerInfo { capability, ..(*info).clone() }))
    }

    fn optional(&self, name: &str, request: &[u8]) -> Result<Vec<u8>> {
        self.check_optional(name)?;
        self.inner.optional(name, request)
    }

    fn chunk_cache_set(&self, dataset: Token, bytes: u64) -> Result<()> {
        if bytes > CHUNK_CACHE_BYTES_MAX {
            let error = Error::limit("set chunk cache").with("bytes", bytes);
            return Err(error.with("limit", CHUNK_CACHE_BYTES_MAX));
        }
        self.inner.chunk_cache_set(dataset, bytes)
    }

    fn link_list(&self, group: Token, op: &OpList) -> Result<Page<Link>> {
        let size = |link: &Link| link.name.len() as u64 + ENTRY_BYTES;
        let count = || Ok(self.inner.group_info(group)?.links);
        self.in_pages(op, count, size, |op| self.inner.link_list(group, op))
    }

    fn attribute_list(&self, object: Token, op: &OpList) -> Result<Page<AttributeInfo>> {
        let size = |info: &AttributeInfo| info.name.len() as u64 + 2 * ENTRY_BYTES;
        let count = || Ok(self.inner.object_info(object)?.attributes);
        self.in_pages(op, count, size, |op| self.inner.attribute_list(object, op))
    }

    fn attribute_read(&self, object: Token, names: &[&str]) -> Result<Vec<Vec<u8>>> {
        self.in_batches(names, "attributes", Vec::len, |names| self.inner.attribute_read(object, names))
    }

    fn map_get(&self, map: Token, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        let size = |value: &Option<Vec<u8>>| value.as_ref().map_or(0, Vec::len);
        self.in_batches(keys, "values of a map", size, |keys| self.inner.map_get(map, keys))
    }

    /// Refuses: where elements lie is said together with a lock, or not at all.
    fn elements_find(&self, _op: &OpPlacement) -> Result<Placement> {
        Err(Error::unsupported("find elements without a lock"))
    }

    fn elements_place(&self, _op: &OpPlacement) -> Result<Placement> {
        Err(Error::unsupported("place elements without a lock"))
    }

    fn elements_changed(&self, _op: &OpPlacement) -> Result<()> {
        Err(Error::unsupported("change elements without a lock"))
    }

    /// A container without pins needs none: a caller that queued this does not wait to be told.
    fn blob_pin(&self, pin: u64) -> Result<()> {
        let held = &mut *self.held.lock();
        self.hold_more(held)?;
        let number = Pin::number();
        match self.inner.blob_pin(number) {
            Err(error) if error.kind() != Kind::Unsupported => return Err(error),
            _ => held.pins.insert(pin, number),
        };
        Ok(())
    }

    fn blob_unpin(&self, pin: u64) -> Result<()> {
        let number = self.held.lock().pins.remove(&pin);
        match number.map_or(Ok(()), |number| self.inner.blob_unpin(number)) {
            Err(error) if error.kind() != Kind::Unsupported => Err(error),
            _ => Ok(()),
        }
    }

    fn retain(&self, object: Token) -> Result<()> {
        let held = &mut *self.held.lock();
        if !held.objects.contains_key(&object) {
            self.hold_more(held)?;
        }
        self.inner.retain(object)?;
        *held.objects.entry(object).or_default() += 1;
        Ok(())
    }

    fn release(&self, object: Token) -> Result<()> {
        self.inner.release(object)?;
        let mut held = self.held.lock();
        if let Some(count) = held.objects.get_mut(&object) {
            *count -= 1;
            if *count == 0 {
                held.objects.remove(&object);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use model::properties::FileCreate;
    use vol::{FileAccess, Registry};

    use super::*;

    #[test]
    fn a_listing_without_memory_for_it_is_not_even_made() {
        let mut registry = Registry::new();
        registry.register(Arc::new(memory::MemoryConnector::new())).unwrap();
        let create = FileCreate::default();
        let container = registry.create("memory:listing", &create, &FileAccess::write(), true).unwrap();
        let guard = Guard::new(container, 1, true, Budget::new("session", 1000 * ENTRY_BYTES), Arc::from([]));
        let list = |links: u64| {
            let made = |_: &OpList| match links {
                1000 => Ok(Page { entries: vec![(); 1000], more: false }),
                _ => panic!("made before it is charged"),
            };
            let op = OpList { count_max: PAGE_ENTRIES, ..OpList::default() };
            guard.in_pages(&op, || Ok(links), |()| 1, made)
        };
        assert_eq!(list(1001).unwrap_err().kind(), Kind::Limit);
        assert_eq!(list(1000).unwrap().entries.len(), 1000);
        assert_eq!(answered().map(|charge| charge.bytes()), Some(1000), "what it is, once it is known");
    }
}
