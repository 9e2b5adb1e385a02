//! A storage engine of the program's own: objects with two levels of keys, in a table of this process
//! (docs/object-layout.md). `object+table:` and `iod+table:` keep containers in it.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyperslab::extend::register_engine;
use hyperslab::extend::storage::{
    Anchor, Change, Condition, ContainerId, ContainerLocation, Engine, Error, Fetch, Mode, ObjectId, Page,
    Phase, Pool, Result, Size, Store, Update,
};
use hyperslab::{File, FileAccess, registry};

/// What an akey holds: one value, or records by index.
#[derive(Debug, Clone)]
enum Value {
    Single(Vec<u8>),
    Records { record_size: u32, records: BTreeMap<u64, Vec<u8>> },
}

type Dkey = BTreeMap<Vec<u8>, Value>;
type Objects = BTreeMap<(ObjectId, Vec<u8>), Dkey>;

fn locked<T>(table: &Mutex<T>) -> MutexGuard<'_, T> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

fn unfit(problem: &str) -> Error {
    Error::Condition(problem.to_owned())
}

/// One container.
#[derive(Debug, Default)]
struct Table {
    objects: Mutex<Objects>,
    taken: AtomicU64,
}

impl Value {
    fn put(&mut self, size: u32, start: u64, bytes: &[u8]) -> Result<()> {
        match self {
            Value::Records { record_size, records } if *record_size == size => {
                let new = bytes.chunks_exact(size as usize).map(<[u8]>::to_vec);
                records.extend((start..).zip(new));
                Ok(())
            }
            _ => Err(unfit("the akey holds something else")),
        }
    }
}

/// Applies one change to the akeys of a dkey.
fn apply(dkey: &mut Dkey, change: &Change<'_>) -> Result<()> {
    let akey = change.akey().to_vec();
    match *change {
        Change::Single(_, value) => drop(dkey.insert(akey, Value::Single(value.to_vec()))),
        Change::Records { record_size, start, bytes, .. } => {
            let empty = || Value::Records { record_size, records: BTreeMap::new() };
            dkey.entry(akey).or_insert_with(empty).put(record_size, start, bytes)?;
        }
        Change::PunchRecords { range, .. } => {
            if let Some(Value::Records { records, .. }) = dkey.get_mut(&akey) {
                records.retain(|at, _| !(range.start..range.end).contains(at));
            }
        }
        Change::Punch(_) => drop(dkey.remove(&akey)),
    }
    dkey.retain(|_, value| !matches!(value, Value::Records { records, .. } if records.is_empty()));
    Ok(())
}

fn holds(dkey: &Dkey, condition: &Condition<'_>) -> bool {
    match (condition, dkey.get(condition.akey())) {
        (Condition::Present(_), found) => found.is_some(),
        (Condition::Absent(_), found) => found.is_none(),
        (Condition::Equals(_, wanted), Some(Value::Single(value))) => value == wanted,
        (Condition::Equals(..), _) => false,
    }
}

/// Returns a page of what comes in order after an anchor, which is the last item of the page before.
fn page<T: Ord>(all: Vec<T>, count_max: usize, after: Option<T>, anchor: fn(&T) -> Vec<u8>) -> Page<T> {
    let mut items: Vec<T> = all.into_iter().filter(|item| after.as_ref().is_none_or(|a| item > a)).collect();
    let more = items.len() > count_max;
    items.truncate(count_max);
    let next = items.last().filter(|_| more).map(|item| Anchor(anchor(item)));
    Page { items, next }
}

fn keys_after(all: Vec<Vec<u8>>, count_max: usize, after: Option<&Anchor>) -> Page<Vec<u8>> {
    page(all, count_max, after.map(|anchor| anchor.0.clone()), Vec::clone)
}

impl Table {
    fn with<T>(&self, object: ObjectId, dkey: &[u8], look: impl FnOnce(Option<&Dkey>) -> T) -> T {
        look(locked(&self.objects).get(&(object, dkey.to_vec())))
    }
}

impl Store for Table {
    fn allocate(&self, count: u64) -> Result<Range<u64>> {
        // 0 and 1 are taken already.
        let start = 2 + self.taken.fetch_add(count, Ordering::SeqCst);
        Ok(start..start + count)
    }

    fn update(&self, update: &Update<'_>) -> Result<()> {
        let mut objects = locked(&self.objects);
        let key = (update.object, update.dkey.to_vec());
        // All changes of a dkey, or none.
        let mut changed = objects.get(&key).cloned().unwrap_or_default();
        if !update.conditions.iter().all(|condition| holds(&changed, condition)) {
            return Err(unfit("another caller was faster"));
        }
        update.changes.iter().try_for_each(|change| apply(&mut changed, change))?;
        match changed.is_empty() {
            true => drop(objects.remove(&key)),
            false => drop(objects.insert(key, changed)),
        }
        Ok(())
    }

    fn update_many(&self, updates: &[Update<'_>]) -> Result<()> {
        updates.iter().try_for_each(|update| self.update(update))
    }

    fn update_now(&self, update: &Update<'_>) -> Result<()> {
        self.update(update)
    }

    fn fetch(&self, fetches: &mut [Fetch<'_>]) -> Result<()> {
        for Fetch { object, dkey, akey, record_size, start, into } in fetches {
            self.with(*object, dkey, |found| match found.and_then(|dkey| dkey.get(*akey)) {
                None => Ok(()),
                Some(Value::Records { record_size: size, records }) if size == record_size => {
                    let buffers = (*start..).zip(into.chunks_exact_mut(*size as usize));
                    buffers.for_each(|(at, into)| {
                        records.get(&at).into_iter().for_each(|record| into.copy_from_slice(record));
                    });
                    Ok(())
                }
                Some(_) => Err(unfit("the akey holds something else")),
            })?;
        }
        Ok(())
    }

    fn get(&self, object: ObjectId, dkey: &[u8], akeys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        self.with(object, dkey, |found| {
            let value = |akey: &&[u8]| match found.and_then(|dkey| dkey.get(*akey)) {
                None => Ok(None),
                Some(Value::Single(value)) => Ok(Some(value.clone())),
                Some(Value::Records { .. }) => Err(unfit("the akey holds records")),
            };
            akeys.iter().map(value).collect()
        })
    }

    fn get_many(&self, keys: &[(ObjectId, &[u8], &[u8])]) -> Result<Vec<Option<Vec<u8>>>> {
        let one = |(object, dkey, akey): &(ObjectId, &[u8], &[u8])| self.get(*object, dkey, &[akey]);
        Ok(keys.iter().map(one).collect::<Result<Vec<_>>>()?.concat())
    }

    fn size(&self, object: ObjectId, dkey: &[u8], akey: &[u8]) -> Result<Option<Size>> {
        let size = |value: &Value| match value {
            Value::Single(value) => Size::Single(value.len() as u64),
            Value::Records { record_size, records } => {
                let end = records.last_key_value().map_or(0, |(last, _)| last + 1);
                Size::Records { record_size: *record_size, end }
            }
        };
        Ok(self.with(object, dkey, |found| found.and_then(|dkey| dkey.get(akey)).map(size)))
    }

    fn punch_dkey(&self, object: ObjectId, dkey: &[u8], _phase: Phase) -> Result<()> {
        locked(&self.objects).remove(&(object, dkey.to_vec()));
        Ok(())
    }

    fn punch_object(&self, object: ObjectId, _phase: Phase) -> Result<()> {
        locked(&self.objects).retain(|(id, _), _| *id != object);
        Ok(())
    }

    fn list_dkeys(
        &self,
        object: ObjectId,
        after: Option<&Anchor>,
        count_max: usize,
    ) -> Result<Page<Vec<u8>>> {
        let objects = locked(&self.objects);
        let keys = objects.keys().filter(|(id, _)| *id == object).map(|(_, dkey)| dkey.clone());
        Ok(keys_after(keys.collect(), count_max, after))
    }

    fn list_akeys(
        &self,
        object: ObjectId,
        dkey: &[u8],
        after: Option<&Anchor>,
        count_max: usize,
    ) -> Result<Page<Vec<u8>>> {
        let akeys = |found: Option<&Dkey>| found.map_or(Vec::new(), |dkey| dkey.keys().cloned().collect());
        Ok(keys_after(self.with(object, dkey, akeys), count_max, after))
    }

    fn list_objects(&self, after: Option<&Anchor>, count_max: usize) -> Result<Page<ObjectId>> {
        let mut all: Vec<ObjectId> = locked(&self.objects).keys().map(|(id, _)| *id).collect();
        all.dedup();
        let after = after.and_then(|anchor| anchor.0.as_slice().try_into().ok()).map(ObjectId::from_bytes);
        Ok(page(all, count_max, after, |id| id.to_bytes().to_vec()))
    }

    fn flush(&self) -> Result<()> {
        // What is in memory lasts no longer for being flushed.
        Ok(())
    }

    fn refresh(&self) -> Result<()> {
        Ok(())
    }
}

/// The containers of this process.
#[derive(Debug, Default)]
struct Tables(Mutex<HashMap<ContainerId, Arc<Table>>>);

impl Pool for Tables {
    fn create(&self, id: ContainerId) -> Result<Arc<dyn Store>> {
        let mut tables = locked(&self.0);
        if tables.contains_key(&id) {
            return Err(Error::Exists("the container is there already".to_owned()));
        }
        Ok(tables.entry(id).or_default().clone())
    }

    fn open(&self, id: ContainerId, _mode: Mode) -> Result<Arc<dyn Store>> {
        let missing = || Error::NotFound("there is no such container".to_owned());
        Ok(locked(&self.0).get(&id).cloned().ok_or_else(missing)?)
    }

    fn destroy(&self, id: ContainerId) -> Result<()> {
        let missing = || Error::NotFound("there is no such container".to_owned());
        locked(&self.0).remove(&id).map(drop).ok_or_else(missing)
    }

    fn list(&self) -> Result<Vec<ContainerId>> {
        let mut all: Vec<ContainerId> = locked(&self.0).keys().copied().collect();
        all.sort_unstable();
        Ok(all)
    }
}

/// An engine with one pool, whose paths are names of containers.
#[derive(Debug, Default)]
struct TableEngine(Arc<Tables>);

impl Engine for TableEngine {
    fn location(&self, path: &str) -> Result<ContainerLocation> {
        Ok(ContainerLocation { pool: self.0.clone(), name: path.to_owned(), key: path.to_owned() })
    }
}

fn main() -> hyperslab::Result<()> {
    let mut registry = registry();
    register_engine(&mut registry, "table", Arc::new(TableEngine::default()))?;
    let access = FileAccess::write();

    let file = File::create_in(&registry, "object+table:run", &Default::default(), &access, true)?;
    file.new_dataset::<i32>().shape([100]).chunk([30]).create("run/numbers")?.write_raw(&[7; 100])?;
    file.set_attr("title", "kept in a table".to_owned())?;
    file.close()?;

    let file = File::open_in(&registry, "object+table:run", &access)?;
    assert_eq!(file.dataset("run/numbers")?.read_raw::<i32>()?, [7; 100]);
    assert_eq!(file.attr("title")?.read_string()?, "kept in a table");
    assert!(file.container().storage_check()?.is_empty());
    file.close()?;
    registry.delete("object+table:run", &access)?;
    assert!(File::open_in(&registry, "object+table:run", &access).is_err());
    println!("an engine of our own stored and returned a container");
    Ok(())
}
