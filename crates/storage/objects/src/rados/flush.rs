//! Sends what waits, phase by phase, with many operations in flight.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::atomic::Ordering;

use super::core::{Core, lock};
use super::far;
use super::ffi::{Ask, CANCELED, Code, Completion, Guard, NOT_FOUND, Write};
use super::heads::{self, DkeyLocation, LEVEL};
use super::pending::{Akey, Dkey, DkeyId};
use super::{AT_ONCE, failed};
use crate::layout::reader::{self, LastBlock};
use crate::layout::value::Value;
use crate::layout::writer::Writer;
use crate::{Change, Error, ObjectId, Phase, Result};

/// Keys and bytes of one operation on a head.
const OPERATION_KEYS_MAX: usize = 400;
const OPERATION_BYTES_MAX: usize = 1 << 20;
/// How often a change is created anew on what others stored meanwhile.
const TRIES_MAX: usize = 1000;
const SEND: &str = "write keys to the cluster";

/// All phases.
pub(super) const PHASES: [Phase; 4] = [Phase::Content, Phase::Description, Phase::Link, Phase::Removal];

/// One operation and what it brings.
struct Sent {
    dkeys: Vec<DkeyId>,
    write: Write<'static>,
    name: String,
}

impl Core {
    /// Sends all that waits of some phases; the gate is held alone.
    pub(super) fn flush(&self, phases: &[Phase], epoch: u64) -> Result<()> {
        self.flight.wait().map_err(failed("write to the cluster"))?;
        let together = if phases.contains(&Phase::Description) { self.together() } else { HashSet::new() };
        for phase in phases {
            self.flush_phase(*phase, &together, epoch)?;
        }
        self.weight.store(0, Ordering::Relaxed);
        self.remove_pending_free();
        self.shard_large()
    }

    /// Returns the objects whose content and description fit into one operation: half as many, and none is there
    /// without the other.
    fn together(&self) -> HashSet<ObjectId> {
        let pending = self.pending();
        let of_object = pending.iter().collect::<Vec<_>>();
        let objects = of_object.chunk_by(|a, b| a.0.0 == b.0.0).filter(|dkeys| {
            let has = |phase| dkeys.iter().any(|(_, dkey)| dkey.phase == phase);
            let akeys = || dkeys.iter().flat_map(|(_, dkey)| dkey.akeys.values());
            has(Phase::Content)
                && has(Phase::Description)
                && akeys().count() <= OPERATION_KEYS_MAX
                && akeys().map(Akey::weight).sum::<usize>() <= OPERATION_BYTES_MAX
        });
        let objects = objects.filter_map(|dkeys| dkeys.first()).map(|(id, _)| id.0);
        objects.filter(|object| !self.is_sharded(*object)).collect()
    }

    fn flush_phase(&self, phase: Phase, together: &HashSet<ObjectId>, epoch: u64) -> Result<()> {
        let is_now = |id: &DkeyId, dkey: &Dkey| match dkey.phase {
            Phase::Content if together.contains(&id.0) => phase == Phase::Description,
            own => own == phase,
        };
        let ids: Vec<DkeyId> = {
            let pending = self.pending();
            pending.iter().filter(|(id, dkey)| is_now(id, dkey)).map(|(id, _)| id.clone()).collect()
        };
        let mut error = self.learn(&ids)?;
        let operations = self.operations(&ids)?;
        let mut again = Vec::new();
        let mut flying: VecDeque<(Sent, Completion)> = VecDeque::new();
        let mut end = |sent: Sent, code: Code| match code {
            0.. => self.arrived(&sent.dkeys),
            // Only keys to remove, and nothing that has them.
            NOT_FOUND if sent.write.create.is_none() => self.arrived(&sent.dkeys),
            CANCELED => again.extend(sent.dkeys),
            code => drop(error.get_or_insert(failed(SEND)(code))),
        };
        for sent in operations {
            if flying.len() >= AT_ONCE {
                flying.pop_front().into_iter().for_each(|(sent, begun)| end(sent, begun.wait()));
            }
            match self.names.begin(&sent.name, &sent.write) {
                Ok(begun) => flying.push_back((sent, begun)),
                Err(code) => end(sent, code),
            }
        }
        flying.into_iter().for_each(|(sent, begun)| end(sent, begun.wait()));
        let of_phase = |id: &DkeyId| self.pending().get(id).map(|dkey| dkey.phase);
        again.sort_by_key(of_phase);
        for id in again {
            if let Err(failure) = self.flush_dkey(&id, epoch) {
                error.get_or_insert(failure);
            }
        }
        error.map_or(Ok(()), Err)
    }

    /// Asks for what was not known yet. Where a change must not be, it is given up, and the answer says why.
    fn learn(&self, ids: &[DkeyId]) -> Result<Option<Error>> {
        let mut unknown: Vec<(&DkeyId, Vec<u8>)> = Vec::new();
        {
            let pending = self.pending();
            for id in ids {
                let akeys = pending.get(id).into_iter().flat_map(|dkey| &dkey.akeys);
                unknown.extend(akeys.filter(|(_, akey)| akey.unknown).map(|(name, _)| (id, name.clone())));
            }
        }
        let wanted: Vec<_> =
            unknown.iter().map(|(id, name)| (id.0, id.1.as_slice(), name.as_slice())).collect();
        let found = self.look_up(&wanted)?;
        let (mut pending, mut error) = (self.pending_mut(), None);
        for ((id, name), base) in unknown.iter().zip(found) {
            let Some(akey) = pending.get_mut(*id).and_then(|dkey| dkey.akeys.get_mut(name)) else { continue };
            if let Err(failure) = akey.learn(name, base) {
                error.get_or_insert(failure);
                let given_up = pending.remove(*id);
                lock(&self.pending_free)
                    .extend(given_up.iter().flat_map(|dkey| dkey.akeys.values()).flat_map(Akey::wasted));
            }
        }
        Ok(error)
    }

    /// Returns the operations for some dkeys: those of one head together, up to a size.
    fn operations(&self, ids: &[DkeyId]) -> Result<Vec<Sent>> {
        let dkeys: Vec<_> = ids.iter().map(|(object, dkey)| (*object, dkey.as_slice())).collect();
        let mut by_home: BTreeMap<DkeyLocation, Vec<&DkeyId>> = BTreeMap::new();
        for (home, id) in self.homes(&dkeys)?.into_iter().zip(ids) {
            by_home.entry(home).or_default().push(id);
        }
        let pending = self.pending();
        let mut operations = Vec::new();
        for (home, ids) in by_home {
            let new = || Sent { dkeys: Vec::new(), write: home.write(), name: home.name.clone() };
            let (mut sent, mut keys, mut bytes) = (new(), 0, 0);
            for id in ids {
                let Some(dkey) = pending.get(id) else { continue };
                if keys > OPERATION_KEYS_MAX || bytes > OPERATION_BYTES_MAX {
                    operations.push(std::mem::replace(&mut sent, new()));
                    (keys, bytes) = (0, 0);
                }
                bytes += fill(&mut sent.write, &id.1, dkey);
                keys += dkey.akeys.len();
                sent.dkeys.push(id.clone());
            }
            operations.push(sent);
        }
        Ok(operations)
    }

    /// Forgets changes that are acknowledged.
    fn arrived(&self, ids: &[DkeyId]) {
        let mut pending = self.pending_mut();
        let arrived: Vec<(DkeyId, Dkey)> = ids.iter().filter_map(|id| pending.remove_entry(id)).collect();
        drop(pending);
        arrived.iter().for_each(|(id, dkey)| self.note_arrived(id, dkey));
    }

    fn note_arrived(&self, id: &DkeyId, dkey: &Dkey) {
        lock(&self.pending_free)
            .extend(dkey.akeys.values().filter(|akey| akey.changed).flat_map(Akey::pending_free));
        self.note_keys(id, dkey);
        self.set_stored([id.0].into_iter());
        *lock(&self.puts).entry(id.0).or_default() += dkey.akeys.len();
    }

    /// Sends the changes of one dkey; where a condition does not hold any more they are given up.
    pub(super) fn flush_dkey(&self, id: &DkeyId, epoch: u64) -> Result<()> {
        if let Some(error) = self.learn(std::slice::from_ref(id))? {
            return Err(error);
        }
        let Some(mut dkey) = self.pending().get(id).cloned() else { return Ok(()) };
        let sent = self.send_change(id, &mut dkey, epoch);
        if matches!(sent, Ok(()) | Err(Error::Condition(_))) {
            self.pending_mut().remove(id);
        }
        sent
    }

    /// Sends changes of one dkey until no other caller is faster.
    pub(super) fn send_change(&self, id: &DkeyId, dkey: &mut Dkey, epoch: u64) -> Result<()> {
        for _ in 0..TRIES_MAX {
            self.flight.wait().map_err(failed("write to the cluster"))?;
            let home = self.homes(&[(id.0, &id.1)])?.into_iter().next();
            let Some(home) = home else { return Ok(()) };
            let mut write = home.write();
            fill(&mut write, &id.1, dkey);
            match self.names.write(&home.name, &write) {
                Err(CANCELED) => {}
                Err(code) if code != NOT_FOUND || write.create.is_some() => return Err(failed(SEND)(code)),
                // Without an object to create there were only keys to remove.
                Ok(()) | Err(_) => {
                    self.note_arrived(id, dkey);
                    return Ok(());
                }
            }
            if let Err(error) = far::again(|| self.learn_again(id, dkey, epoch)) {
                lock(&self.pending_free).extend(dkey.akeys.values().flat_map(Akey::wasted));
                return Err(error);
            }
        }
        Err(Error::Condition("others change the same dkey all the time".into()))
    }

    /// Makes what waits of one dkey anew on what the cluster has now.
    pub(super) fn rebase(&self, id: &DkeyId, epoch: u64) -> Result<()> {
        let _dkey = self.stripe(id.0, &id.1).write();
        let Some(mut dkey) = self.pending().get(id).cloned() else { return Ok(()) };
        if dkey.akeys.values().all(|akey| !akey.unknown) {
            self.learn_again(id, &mut dkey, epoch)?;
            self.pending_mut().insert(id.clone(), dkey);
        }
        Ok(())
    }

    /// Looks at what the cluster has now, and makes the changes anew on it.
    fn learn_again(&self, id: &DkeyId, dkey: &mut Dkey, epoch: u64) -> Result<()> {
        let wanted: Vec<_> = dkey.akeys.keys().map(|akey| (id.0, id.1.as_slice(), akey.as_slice())).collect();
        let found = self.look_up(&wanted)?;
        for ((name, akey), base) in dkey.akeys.iter_mut().zip(found) {
            let holds = match &akey.guard {
                None => true,
                Some(Guard::Present) => base.is_some(),
                Some(Guard::Equals(value)) => base.as_deref().unwrap_or_default() == value.as_slice(),
            };
            if !holds {
                return Err(crate::check::unmet(name, "was changed by another process"));
            }
            if base == akey.base {
                continue;
            }
            let value = if akey.merges() {
                self.rebuilt(name, akey, base.as_deref(), epoch)?
            } else {
                akey.value.clone()
            };
            akey.rebased(value, base)?;
        }
        Ok(())
    }

    /// Returns the records that were written and punched here, on an array that another process changed.
    fn rebuilt(&self, name: &[u8], akey: &Akey, base: Option<&[u8]>, epoch: u64) -> Result<Option<Value>> {
        let mut value = base.map(Value::decode).transpose()?;
        let mine = match &akey.value {
            Some(Value::Array(array)) => Some(array),
            _ => None,
        };
        if let (Some(base), Some(mine)) = (&value, mine) {
            crate::check::same(name, base.shape(), crate::check::Shape::Records(mine.record_size))?;
        }
        let mut writer = Writer::new(self, epoch);
        for &(start, end) in akey.punched.as_slice() {
            writer.apply(&mut value, &[Change::PunchRecords { akey: name, range: (start..end).into() }])?;
        }
        for &(start, end) in akey.own.as_slice() {
            let Some(mine) = mine else { break };
            let mut bytes = vec![0; mine.bytes(end - start) as usize];
            reader::read(self, mine, start, &mut bytes, &mut LastBlock::default())?;
            let record_size = mine.record_size;
            writer.apply(&mut value, &[Change::Records { akey: name, record_size, start, bytes: &bytes }])?;
        }
        Ok(value)
    }

    /// Removes data objects that no one needs. What fails stays for the next time.
    pub(super) fn remove_pending_free(&self) {
        let pending_free = std::mem::take(&mut *lock(&self.pending_free));
        let remove = Write { remove: true, ..Write::default() };
        for part in pending_free.chunks(AT_ONCE) {
            let begun: Vec<_> =
                part.iter().map(|number| self.names.begin(&far::data(*number), &remove)).collect();
            for (number, begun) in part.iter().zip(begun) {
                let code = begun.map_or_else(|code| code, |begun| begun.wait());
                if code < 0 && code != NOT_FOUND {
                    lock(&self.pending_free).push(*number);
                }
            }
        }
    }

    /// Gives heads that have many keys shards.
    fn shard_large(&self) -> Result<()> {
        let enough = self.head_keys_max / 4;
        let large: Vec<_> =
            lock(&self.puts).iter().filter(|(_, puts)| **puts > enough).map(|(id, _)| *id).collect();
        for object in large {
            lock(&self.puts).remove(&object);
            if !self.is_sharded(object) && self.has_many_keys(&heads::head(object))? {
                let set = vec![(LEVEL.to_vec(), vec![1])];
                let write = Write { create: Some(false), set, ..Write::default() };
                self.names.write(&heads::head(object), &write).map_err(failed(SEND))?;
                self.set_sharded(object);
            }
        }
        Ok(())
    }

    fn has_many_keys(&self, name: &str) -> Result<bool> {
        let (mut count, mut after) = (0, Vec::new());
        while count < self.head_keys_max {
            let ask = Ask { name: name.into(), keys: Vec::new(), after: Some((after, super::PAGE)) };
            let Some(answer) = self.ask(&[ask])?.into_iter().next() else { return Ok(false) };
            count += answer.behind.len();
            match answer.behind.into_iter().next_back().filter(|_| answer.more) {
                Some((last, _)) => after = last,
                None => break,
            }
        }
        Ok(count >= self.head_keys_max)
    }
}

/// Adds the changes of a dkey to an operation, and answers their bytes.
fn fill(write: &mut Write<'_>, dkey: &[u8], changes: &Dkey) -> usize {
    let mut bytes = 0;
    for (name, akey) in &changes.akeys {
        let key = heads::key(dkey, name);
        if let Some(guard) = akey.needed() {
            write.guards.push((key.clone(), guard));
            write.create = Some(false);
        }
        match akey.stored().filter(|_| akey.changed) {
            Some(stored) => {
                bytes += key.len() + stored.len();
                write.set.push((key, stored));
                write.create = Some(false);
            }
            None if akey.changed => write.unset.push(key),
            None => {}
        }
    }
    bytes
}
