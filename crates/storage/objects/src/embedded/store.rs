//! A handle of an open container.

use std::ops::Range;
use std::sync::Arc;
use system::thread;

use super::overlay::Single;
use super::shared::Shared;
use super::{key, listing};
use crate::layout::reader::LastBlock;
use crate::layout::value::Value;
use crate::page::{last_object, list_in_order};
use crate::{Anchor, Change, Error, Fetch, Mode, ObjectId, Page, Phase, Result, Size, Store, Update, check};

/// Below this a second thread takes longer to begin than it saves.
const PARALLEL_BYTES_MIN: usize = 4 << 20;
/// dkeys that are punched at once.
const PUNCH_PAGE: usize = 1000;

/// A handle.
#[derive(Debug)]
pub(super) struct EmbeddedStore {
    shared: Arc<Shared>,
    mode: Mode,
}

impl EmbeddedStore {
    pub(super) fn new(shared: Arc<Shared>, mode: Mode) -> EmbeddedStore {
        EmbeddedStore { shared, mode }
    }

    fn writable(&self) -> Result<()> {
        match self.mode {
            Mode::ReadWrite => Ok(()),
            Mode::Read => Err(Error::Refused("the container is open for reading only".into())),
        }
    }

    fn singles(&self, object: ObjectId, dkey: &[u8], akeys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        let _dkey = self.shared.stripe(object, dkey).read();
        let found = self.shared.view().at(&key(object, dkey)).singles(akeys)?;
        let bytes = |(akey, single): (&&[u8], Option<Single>)| single.map(|single| self.bytes(akey, single));
        akeys.iter().zip(found).map(|found| bytes(found).transpose()).collect()
    }

    fn bytes(&self, akey: &[u8], single: Single) -> Result<Vec<u8>> {
        match single {
            Single::Near(bytes) => Ok(bytes),
            Single::Other(Value::Single(bytes)) => Ok(bytes.to_vec()),
            Single::Other(Value::Array(_)) => Err(check::unmet(akey, "holds records")),
            Single::Other(Value::Far(place, sum)) => self.shared.far_value(place, sum),
        }
    }
}

/// Does work on parts of a list, by several threads where it is much.
fn in_parts<T: Send>(
    items: &mut [T],
    bytes: usize,
    work: impl Fn(&mut [T]) -> Result<()> + Sync,
) -> Result<()> {
    if bytes < PARALLEL_BYTES_MIN || items.len() < 2 {
        return work(items);
    }
    // Asking costs more than a small update.
    let threads = thread::available_parallelism().map_or(1, usize::from).min(4);
    let part = items.len().div_ceil(threads);
    let work = &work;
    thread::scope(|scope| {
        let parts: Vec<_> = items.chunks_mut(part).map(|part| scope.spawn(move || work(part))).collect();
        let stopped = || Err(Error::Corrupt("a thread stopped".into()));
        parts.into_iter().try_for_each(|part| part.join().unwrap_or_else(|_| stopped()))
    })
}

fn bytes_of(update: &Update<'_>) -> usize {
    let bytes = |change: &Change<'_>| match change {
        Change::Single(_, bytes) | Change::Records { bytes, .. } => bytes.len(),
        Change::PunchRecords { .. } | Change::Punch(_) => 0,
    };
    update.changes.iter().map(bytes).sum()
}

/// Updates of the same dkey must stay in order: then they are not parted.
fn in_order_only(updates: &[&Update<'_>]) -> bool {
    let mut seen = std::collections::HashSet::new();
    !updates.iter().all(|update| seen.insert((update.object, update.dkey)))
}

impl Drop for EmbeddedStore {
    fn drop(&mut self) {
        // A caller that opens the container next must not find it open because of a thread of ours.
        self.shared.join_helper();
    }
}

impl Store for EmbeddedStore {
    fn allocate(&self, count: u64) -> Result<Range<u64>> {
        self.writable()?;
        self.shared.allocate(count)
    }

    fn update(&self, update: &Update<'_>) -> Result<()> {
        self.writable()?;
        self.shared.update(update)?;
        self.shared.relieve()
    }

    fn update_many(&self, updates: &[Update<'_>]) -> Result<()> {
        self.writable()?;
        let bytes = updates.iter().map(bytes_of).sum();
        let mut updates: Vec<&Update<'_>> = updates.iter().collect();
        if bytes >= PARALLEL_BYTES_MIN && in_order_only(&updates) {
            return updates.iter().try_for_each(|update| self.update(update));
        }
        in_parts(&mut updates, bytes, |part| part.iter().try_for_each(|update| self.update(update)))
    }

    fn update_together(&self, updates: &[Update<'_>]) -> Result<()> {
        self.writable()?;
        self.shared.update_together(updates)?;
        self.shared.relieve()
    }

    fn update_now(&self, update: &Update<'_>) -> Result<()> {
        self.writable()?;
        self.shared.update(update)?;
        self.shared.flush_dkey(&key(update.object, update.dkey))
    }

    fn fetch(&self, fetches: &mut [Fetch<'_>]) -> Result<()> {
        let bytes = fetches.iter().map(|fetch| fetch.into.len()).sum();
        in_parts(fetches, bytes, |part| {
            let mut last = LastBlock::default();
            part.iter_mut().try_for_each(|fetch| self.shared.fetch(fetch, &mut last))
        })
    }

    fn get(&self, object: ObjectId, dkey: &[u8], akeys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        self.singles(object, dkey, akeys)
    }

    fn get_many(&self, keys: &[(ObjectId, &[u8], &[u8])]) -> Result<Vec<Option<Vec<u8>>>> {
        let mut values = Vec::with_capacity(keys.len());
        for run in keys.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let Some((object, dkey, _)) = run.first() else { continue };
            let akeys: Vec<&[u8]> = run.iter().map(|key| key.2).collect();
            values.extend(self.singles(*object, dkey, &akeys)?);
        }
        Ok(values)
    }

    fn size(&self, object: ObjectId, dkey: &[u8], akey: &[u8]) -> Result<Option<Size>> {
        self.shared.view().at(&key(object, dkey)).size(akey)
    }

    fn punch_dkey(&self, object: ObjectId, dkey: &[u8], _phase: Phase) -> Result<()> {
        self.writable()?;
        // A flush is one commit: phases are for engines that have none.
        self.shared.punch_dkey(object, dkey)?;
        self.shared.relieve()
    }

    fn punch_object(&self, object: ObjectId, phase: Phase) -> Result<()> {
        self.writable()?;
        let mut from = Vec::new();
        loop {
            let page = self.dkeys(object, &from, PUNCH_PAGE)?;
            page.iter().try_for_each(|dkey| self.punch_dkey(object, dkey, phase))?;
            let Some(last) = page.last().filter(|_| page.len() == PUNCH_PAGE) else { return Ok(()) };
            from = [last.as_slice(), b"\0"].concat();
        }
    }

    fn dkeys(&self, object: ObjectId, from: &[u8], count_max: usize) -> Result<Vec<Vec<u8>>> {
        listing::dkeys(&self.shared.view(), object, from, count_max)
    }

    fn akeys(&self, object: ObjectId, dkey: &[u8], from: &[u8], count_max: usize) -> Result<Vec<Vec<u8>>> {
        listing::akeys(&self.shared.view(), object, dkey, from, count_max)
    }

    list_in_order!();

    fn list_objects(&self, after: Option<&Anchor>, count_max: usize) -> Result<Page<ObjectId>> {
        let after = last_object(after)?;
        let found = listing::objects(&self.shared.view(), after, count_max)?;
        Ok(Page::of_objects(found, count_max))
    }

    fn flush(&self) -> Result<()> {
        self.shared.flush()
    }

    fn is_atomic(&self) -> bool {
        true
    }

    fn verify_index(&self) -> Result<()> {
        let committed = self.shared.view().committed.clone();
        committed.verify()
    }

    fn refresh(&self) -> Result<()> {
        // No other process changes it while it is open here.
        Ok(())
    }
}
