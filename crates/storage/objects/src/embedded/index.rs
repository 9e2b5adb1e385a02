//! The index: keys and small values in one `redb` file.

use std::io::{self, ErrorKind};
use std::sync::Arc;

use dir::Dir;
use redb::{Builder, Database, DatabaseError, Durability, ReadableDatabase, ReadableTable, TableDefinition};

use super::INDEX;
use super::engine::{Engine, damaged};
use super::index_file::{Backend, IndexFile};
use super::medium::{Medium, Open};
use super::overlay::Changes;
use super::reserve::Reserve;
use super::rows::{Content, SPREAD_ENTRY, Spread};
use super::seal::seal;
use super::snapshot::Snapshot;
use crate::{Error, Result, bytes};

pub(super) type Bytes = &'static [u8];

/// The content of dkeys, under the object's identity and the dkey: all akeys, or that they are spread.
const DKEYS: TableDefinition<'_, Bytes, Bytes> = TableDefinition::new("dkeys");
/// The content of spread akeys, under the dkey's key and the akey.
const AKEYS: TableDefinition<'_, Bytes, Bytes> = TableDefinition::new("akeys");
/// Numbers of the container.
const NUMBERS: TableDefinition<'_, &str, u64> = TableDefinition::new("numbers");

/// The layout of this folder. A newer program may raise it, and this one refuses then.
const LAYOUT: u64 = 3;
/// The oldest layout that is read: it has no checksums. The first commit raises it.
const LAYOUT_MIN: u64 = 2;
/// Pages that redb keeps at most. A tenth of it is for pages that a commit changes: with less, a batch of 10,000 keys
/// is written twice.
const CACHE_BYTES: usize = 512 << 20;

/// Names of numbers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    /// The layout's version.
    Layout,
    /// The next number that no one took.
    Next,
    /// The data file's length at the last commit: a shorter one was cut.
    DataEnd,
}

impl Number {
    fn name(self) -> &'static str {
        match self {
            Number::Layout => "layout",
            Number::Next => "next",
            Number::DataEnd => "data end",
        }
    }
}

/// An open index.
pub(super) struct Index {
    /// Is there until the index closes.
    base: Option<Database>,
    engine: Engine,
    file: Arc<IndexFile>,
    is_writable: bool,
}

impl Drop for Index {
    fn drop(&mut self) {
        // Closing writes, and a damaged index must not end the program here.
        let base = self.base.take();
        self.engine.release(|| drop(base));
    }
}

/// The changes of one commit.
pub(super) struct Commit<'a> {
    pub(super) changes: &'a Changes,
    pub(super) numbers: &'a [(Number, u64)],
    /// Whether it outlives a crash.
    pub(super) durable: bool,
}

impl std::fmt::Debug for Index {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Index")
    }
}

/// Returns what redb says, as one of our errors.
pub(super) fn failed(error: impl Into<redb::Error>) -> Error {
    match error.into() {
        redb::Error::Corrupted(text) => damaged(text),
        redb::Error::Io(source)
            if matches!(source.kind(), ErrorKind::UnexpectedEof | ErrorKind::InvalidData) =>
        {
            damaged(source)
        }
        redb::Error::Io(source) => Error::Io { what: "use the index".into(), source },
        redb::Error::PreviousIo => Error::Io {
            what: "use the index".into(),
            source: io::Error::other("an earlier call failed: open the container again"),
        },
        redb::Error::ValueTooLarge(bytes) => {
            Error::TooLarge(format!("a value of {bytes} bytes in the index"))
        }
        other => Error::Corrupt(format!("the index cannot be used: {other}")),
    }
}

/// Another process has the container.
pub(super) fn busy() -> Error {
    Error::Refused(
        "the container is open in another process; to share it between processes, run `hyperslab serve`"
            .into(),
    )
}

fn not_opened(error: DatabaseError) -> Error {
    match error {
        DatabaseError::DatabaseAlreadyOpen => busy(),
        other => failed(other),
    }
}

fn builder() -> Builder {
    let mut builder = Builder::new();
    builder.set_cache_size(CACHE_BYTES);
    builder
}

/// Returns the error of the index's file.
fn refused(dir: &Dir) -> impl FnOnce(io::Error) -> Error {
    let path = dir.path(INDEX).display().to_string();
    move |source| match source.kind() {
        ErrorKind::NotFound => Error::Corrupt(format!("{path} is missing")),
        ErrorKind::InvalidData | ErrorKind::UnexpectedEof => {
            Error::Corrupt(format!("{path} is damaged: {source}"))
        }
        _ => Error::Io { what: format!("open {path}"), source },
    }
}

impl Index {
    fn new(file: IndexFile, is_writable: bool) -> Result<Index> {
        let file = Arc::new(file);
        let engine = Engine::default();
        let base =
            engine.guarded(|| builder().create_with_backend(Backend(file.clone())).map_err(not_opened))?;
        Ok(Index { base: Some(base), engine, file, is_writable })
    }

    /// Returns whether it may change.
    pub(super) fn is_writable(&self) -> bool {
        self.is_writable
    }

    /// Makes a new index in a file that is not there.
    pub(super) fn create(medium: &dyn Medium, dir: &Dir) -> Result<()> {
        let file = medium.open(dir, INDEX, Open::Create).and_then(IndexFile::create).map_err(refused(dir))?;
        let index = Index::new(file, true)?;
        let numbers = [(Number::Layout, LAYOUT), (Number::Next, 2)];
        index.commit(&Commit { changes: &Changes::default(), numbers: &numbers, durable: true })
    }

    /// Opens an index to read: it goes back to the last commit of a writer that was killed, and nothing is written.
    pub(super) fn open_to_read(medium: &dyn Medium, dir: &Dir) -> Result<Index> {
        let file =
            medium.open(dir, INDEX, Open::Read).and_then(IndexFile::open_to_read).map_err(refused(dir))?;
        let index = Index::new(file, false)?;
        index.check_layout()?;
        Ok(index)
    }

    /// Opens an index to write. redb recovers in place, and what it leaves when it fails is not what was there: so it is
    /// tried in memory first.
    pub(super) fn open_to_write(medium: &dyn Medium, dir: &Dir, reserve: Reserve) -> Result<Index> {
        drop(Index::open_to_read(medium, dir)?);
        let file = medium.open(dir, INDEX, Open::Write);
        let file = file.and_then(|file| IndexFile::open_to_write(file, reserve)).map_err(refused(dir))?;
        Index::new(file, true)
    }

    /// Does what waits for space on the disk.
    fn drain(&self) -> Result<()> {
        self.file.drain().map_err(|source| Error::Io { what: "write the index".into(), source })
    }

    fn check_layout(&self) -> Result<()> {
        match self.number(Number::Layout)? {
            Some(LAYOUT_MIN..=LAYOUT) => Ok(()),
            Some(other) if other > 0 => {
                let program = if other > LAYOUT { "a newer" } else { "an older" };
                Err(Error::Corrupt(format!(
                    "the container has layout version {other}, and this program knows {LAYOUT}: use {program} one"
                )))
            }
            _ => Err(Error::Corrupt("the index is none of an object container".into())),
        }
    }

    fn begin(&self) -> Result<redb::ReadTransaction> {
        match &self.base {
            Some(database) => database.begin_read().map_err(failed),
            None => Err(Error::Corrupt("the index is closed".into())),
        }
    }

    /// Returns one of the container's numbers.
    pub(super) fn number(&self, number: Number) -> Result<Option<u64>> {
        self.engine.guarded(|| {
            let table = self.begin()?.open_table(NUMBERS).map_err(failed)?;
            let found = table.get(number.name()).map_err(failed)?;
            Ok(found.map(|found| found.value()))
        })
    }

    /// Returns the keys as they are now.
    pub(super) fn snapshot(&self) -> Result<Snapshot> {
        self.engine.guarded(|| {
            let moment = self.begin()?;
            let open = |table| moment.open_table(table).map_err(failed);
            Ok(Snapshot::new(self.engine.clone(), open(DKEYS)?, open(AKEYS)?))
        })
    }

    /// Says that older programs do not understand the index any more.
    fn raise_layout(&self, transaction: &redb::WriteTransaction) -> Result<()> {
        let mut numbers = transaction.open_table(NUMBERS).map_err(failed)?;
        let held = numbers.get(Number::Layout.name()).map_err(failed)?.map(|number| number.value());
        if held != Some(LAYOUT) {
            numbers.insert(Number::Layout.name(), LAYOUT).map_err(failed)?;
        }
        Ok(())
    }

    /// Changes many keys at once. After an error nothing is lost: the caller does the same again later.
    pub(super) fn commit(&self, commit: &Commit<'_>) -> Result<()> {
        let Some(database) = self.base.as_ref().filter(|_| self.is_writable) else {
            return Err(Error::Refused("the container is open for reading only".into()));
        };
        self.drain()?;
        self.engine.guarded(|| {
            let mut transaction = database.begin_write().map_err(failed)?;
            let durability = if commit.durable { Durability::Immediate } else { Durability::None };
            transaction.set_durability(durability).map_err(failed)?;
            write(&transaction, commit)?;
            self.raise_layout(&transaction)?;
            transaction.commit().map_err(failed)
        })?;
        // Where the disk is full redb has committed in memory only: the changes wait, and doing them again does no harm.
        self.drain()
    }
}

fn write(transaction: &redb::WriteTransaction, commit: &Commit<'_>) -> Result<()> {
    let mut dkeys = transaction.open_table(DKEYS).map_err(failed)?;
    let mut akeys = transaction.open_table(AKEYS).map_err(failed)?;
    let mut stored = Vec::new();
    for (key, content) in commit.changes.from(b"") {
        let is_there = match content {
            Content::Row(row) if row.is_empty() => false,
            Content::Row(row) => {
                seal(key, &mut stored, |out| row.encode(out));
                dkeys.insert(key, stored.as_slice()).map_err(failed)?;
                true
            }
            Content::Spread(spread) => {
                let is_there = write_spread(&mut akeys, &akey_prefix(key), spread)?;
                // Also where it was spread: the flush before this one may have taken all its akeys.
                if is_there {
                    seal(key, &mut stored, |out| out.extend_from_slice(SPREAD_ENTRY));
                    dkeys.insert(key, stored.as_slice()).map_err(failed)?;
                }
                is_there
            }
        };
        if !is_there {
            dkeys.remove(key).map_err(failed)?;
        }
    }
    let mut numbers = transaction.open_table(NUMBERS).map_err(failed)?;
    for (number, value) in commit.numbers {
        numbers.insert(number.name(), value).map_err(failed)?;
    }
    Ok(())
}

/// Changes akeys that are spread; whether any is left.
fn write_spread(akeys: &mut redb::Table<'_, Bytes, Bytes>, prefix: &[u8], spread: &Spread) -> Result<bool> {
    let (mut key, mut stored) = (prefix.to_vec(), Vec::new());
    for (akey, value) in &spread.akeys {
        key.truncate(prefix.len());
        key.extend_from_slice(akey);
        match value {
            None => drop(akeys.remove(key.as_slice()).map_err(failed)?),
            Some(value) => {
                seal(&key, &mut stored, |out| value.encode(out));
                akeys.insert(key.as_slice(), stored.as_slice()).map_err(failed)?;
            }
        }
    }
    if spread.akeys.values().any(Option::is_some) {
        return Ok(true);
    }
    let first = akeys.range::<&[u8]>(prefix..).map_err(failed)?.next().transpose().map_err(failed)?;
    Ok(first.is_some_and(|(key, _)| key.value().starts_with(prefix)))
}

/// Returns what the keys of a dkey's spread akeys begin with.
pub(super) fn akey_prefix(dkey: &[u8]) -> Vec<u8> {
    let mut prefix = Vec::with_capacity(dkey.len() + 8);
    bytes::put(dkey.len() as u64, &mut prefix);
    prefix.extend_from_slice(dkey);
    prefix
}
