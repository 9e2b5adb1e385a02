//! Keys and entries of the index at one moment.

use redb::{ReadOnlyTable, ReadableTable, ReadableTableMetadata};

use super::engine::{Engine, damaged};
use super::index::{Bytes, akey_prefix, failed};
use super::rows::{self, Content};
use super::seal::unseal;
use crate::{Error, Result};

type Keys = ReadOnlyTable<Bytes, Bytes>;

/// The keys of one moment.
pub(super) struct Snapshot {
    engine: Engine,
    /// Those of dkeys and of akeys; they are there until it goes.
    tables: Option<(Keys, Keys)>,
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        let tables = self.tables.take();
        self.engine.release(|| drop(tables));
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Snapshot")
    }
}

/// Calls `each` with keys and entries from a key on, until it answers false. Entries are not verified: one that is damaged
/// must not stand in the way of who looks for others.
fn scan(
    engine: &Engine,
    table: &Keys,
    from: &[u8],
    mut each: impl FnMut(&[u8], &[u8]) -> Result<bool>,
) -> Result<()> {
    engine.guarded(|| {
        let mut last: Option<Vec<u8>> = None;
        for entry in ReadableTable::range::<&[u8]>(table, from..).map_err(failed)? {
            let (key, value) = entry.map_err(failed)?;
            let key = key.value();
            // A damaged tree may go round in circles.
            if last.as_deref().map_or(key < from, |last| key <= last) {
                return Err(damaged("its keys are out of order"));
            }
            let last = last.get_or_insert_default();
            last.clear();
            last.extend_from_slice(key);
            if !each(key, value.value())? {
                break;
            }
        }
        Ok(())
    })
}

impl Snapshot {
    pub(super) fn new(engine: Engine, dkeys: Keys, akeys: Keys) -> Snapshot {
        Snapshot { engine, tables: Some((dkeys, akeys)) }
    }

    fn tables(&self) -> Result<&(Keys, Keys)> {
        self.tables.as_ref().ok_or_else(|| Error::Corrupt("the index is closed".into()))
    }

    /// Returns what a dkey holds.
    pub(super) fn content(&self, dkey: &[u8]) -> Result<Content> {
        let (dkeys, _) = self.tables()?;
        self.engine.guarded(|| {
            let entry = ReadableTable::get(dkeys, dkey).map_err(failed)?;
            let entry = entry.as_ref().map(|entry| unseal(dkey, entry.value())).transpose()?;
            Content::decode(entry)
        })
    }

    /// Calls `look` with the stored values of akeys, in their order.
    pub(super) fn values(
        &self,
        dkey: &[u8],
        akeys: &[&[u8]],
        mut look: impl FnMut(Option<&[u8]>) -> Result<()>,
    ) -> Result<()> {
        let (dkeys, spread) = self.tables()?;
        self.engine.guarded(|| {
            let entry = ReadableTable::get(dkeys, dkey).map_err(failed)?;
            let entry = entry.as_ref().map(|entry| unseal(dkey, entry.value())).transpose()?;
            let row = entry.map(rows::stored).transpose()?;
            for akey in akeys {
                match row {
                    None => look(None)?,
                    Some(Some(row)) => look(row.find(akey)?)?,
                    Some(None) => {
                        let key = [&akey_prefix(dkey), *akey].concat();
                        let value = ReadableTable::get(spread, key.as_slice()).map_err(failed)?;
                        look(value.as_ref().map(|value| unseal(&key, value.value())).transpose()?)?;
                    }
                }
            }
            Ok(())
        })
    }

    /// Calls `each` with the keys of dkeys from one on, until it answers false.
    pub(super) fn dkeys(&self, from: &[u8], each: &mut dyn FnMut(&[u8]) -> Result<bool>) -> Result<()> {
        scan(&self.engine, &self.tables()?.0, from, |key, _| each(key))
    }

    /// Calls `each` with the akeys of a dkey from one on, until it answers false.
    pub(super) fn akeys(
        &self,
        dkey: &[u8],
        from: &[u8],
        each: &mut dyn FnMut(&[u8]) -> Result<bool>,
    ) -> Result<()> {
        let (dkeys, akeys) = self.tables()?;
        let spread = self.engine.guarded(|| {
            let Some(entry) = ReadableTable::get(dkeys, dkey).map_err(failed)? else {
                return Ok(false);
            };
            let Some(row) = rows::stored(unseal(dkey, entry.value())?)? else { return Ok(true) };
            for entry in row {
                let (akey, _) = entry?;
                if akey >= from && !each(akey)? {
                    break;
                }
            }
            Ok(false)
        })?;
        if !spread {
            return Ok(());
        }
        let prefix = akey_prefix(dkey);
        scan(&self.engine, akeys, &[&prefix, from].concat(), |key, _| match key.strip_prefix(&*prefix) {
            Some(akey) => each(akey),
            None => Ok(false),
        })
    }

    /// Returns an error unless every key that is there is also found.
    pub(super) fn verify(&self) -> Result<()> {
        let (dkeys, akeys) = self.tables()?;
        [dkeys, akeys].into_iter().try_for_each(|table| {
            let mut count = 0;
            scan(&self.engine, table, b"", |key, entry| {
                count += 1;
                unseal(key, entry)?;
                match ReadableTable::get(table, key).map_err(failed)? {
                    Some(found) => unseal(key, found.value()).map(|_| true),
                    None => Err(damaged("a key is not found")),
                }
            })?;
            match self.engine.guarded(|| table.len().map_err(failed))? == count {
                true => Ok(()),
                false => Err(damaged("keys are missing")),
            }
        })
    }

    /// Calls `each` with all stored values.
    pub(super) fn all_values(&self, mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let (dkeys, akeys) = self.tables()?;
        scan(&self.engine, dkeys, b"", |key, entry| {
            for entry in rows::stored(unseal(key, entry)?)?.into_iter().flatten() {
                each(entry?.1)?;
            }
            Ok(true)
        })?;
        scan(&self.engine, akeys, b"", |key, value| each(unseal(key, value)?).map(|()| true))
    }
}
