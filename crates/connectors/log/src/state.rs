//! The state of one open file: its datasets, pending elements, and their positions.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use comm::Comm;
use files::Posix;
use model::spread::Spread;
use model::{Error, Limits, Result, Token};
use system::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use vol::{Container, WhenFull};

use crate::arena::Arena;
use crate::logged::{Logged, SharedLists};
use crate::logs::Logs;
use crate::merged::Merged;
use crate::pieces::RUN_BYTES;
use crate::pipeline;
use crate::subfiles::Subfiles;
use crate::table::{self, Entry, Table, TableVersion};
use crate::table_bytes::{FileRange, TableBytes};

/// One open file, as one process (or one that stands for a process) has it.
pub(crate) struct Shared {
    pub(crate) state: RwLock<LogState>,
    /// The bytes of the file: logs are read and written here, everything else through the inner container.
    pub(crate) file: Arc<Posix>,
    pub(crate) subfiles: Subfiles,
    pub(crate) path: String,
    pub(crate) comm: Arc<dyn Comm>,
    /// The inner container, where this process is the one that changes it.
    pub(crate) leader: Option<Arc<dyn Container>>,
    pub(crate) root: Token,
    pub(crate) group: Token,
    pub(crate) settings: Settings,
    pub(crate) limits: Limits,
    /// Filters of the registry that the file was opened with.
    pub(crate) filters: filters::Registry,
    /// Handles that are not closed: without any, other programs may change the file.
    pub(crate) handles: AtomicUsize,
    /// The entry that was decoded last.
    pub(crate) decoded: system::sync::Mutex<Option<Decoded>>,
    /// What the last read went through; empty while another caller reads.
    pub(crate) read_buffer: system::sync::Mutex<Vec<u8>>,
}

/// How a file is written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    pub(crate) version: TableVersion,
    /// Files next to the file that logs go to; 0: they go to the file itself.
    pub(crate) subfiles: u32,
    /// Bytes that may wait, with those that say where they go.
    pub(crate) buffer_bytes_max: u64,
    pub(crate) when_full: WhenFull,
    /// Other processes have the file open too, and the cores with it.
    pub(crate) is_shared: bool,
}

/// Elements of an entry that went through filters.
pub(crate) struct Decoded {
    pub(crate) dataset: u64,
    pub(crate) entry: u32,
    pub(crate) bytes: Arc<Vec<u8>>,
}

/// A dataset of the file.
#[derive(Debug)]
pub(crate) enum KnownDataset {
    Logged(Box<Logged>),
    /// Not an anchor: the inner container has its elements.
    Plain,
}

#[derive(Debug, Default)]
pub(crate) struct LogState {
    pub(crate) known: HashMap<Token, KnownDataset, Spread>,
    pub(crate) arena: Arena,
    /// Runs that are noted for what waits, of all datasets.
    pub(crate) noted: u64,
    pub(crate) logs: Logs,
    /// The table of all flushes before the last close.
    pub(crate) merged: Option<Merged>,
    pub(crate) lists: SharedLists,
    /// Tables of the flushes since then, from old to new.
    pub(crate) tables: Vec<FlushTable>,
    /// How many of them are decoded.
    pub(crate) tables_decoded: usize,
    /// Entries of decoded tables that no index has yet, by dataset.
    pub(crate) arrived: HashMap<u64, Vec<Entry>, Spread>,
    /// Names of the datasets that were made since the file was opened, by number.
    pub(crate) names: BTreeMap<u64, String>,
    pub(crate) id_next: u64,
    pub(crate) flush_next: u64,
    /// The numbers of the log's group are out of date.
    pub(crate) is_changed: bool,
}

/// The table of one flush.
#[derive(Debug)]
pub(crate) struct FlushTable {
    /// The tables of all processes, one after another.
    pub(crate) bytes: TableBytes,
    /// What this process wrote of them; `None` where it was not there.
    pub(crate) own: Option<FileRange>,
}

impl FlushTable {
    /// Returns a table that was in the file when it was opened.
    pub(crate) fn of_all(bytes: TableBytes) -> Self {
        FlushTable { bytes, own: None }
    }
}

impl Shared {
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, LogState> {
        self.state.read()
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, LogState> {
        self.state.write()
    }

    /// Returns the file itself, or a subfile.
    pub(crate) fn file_of(&self, number: u32) -> Result<Arc<Posix>> {
        if number == 0 { Ok(self.file.clone()) } else { self.subfiles.get(number) }
    }

    pub(crate) fn is_alone(&self) -> bool {
        self.comm.size() == 1
    }

    pub(crate) fn forget_decoded(&self) {
        *self.decoded.lock() = None;
    }

    /// Returns the state, when all that was written to these datasets is in their indexes.
    pub(crate) fn ready(&self, datasets: &[Token]) -> Result<RwLockReadGuard<'_, LogState>> {
        loop {
            let state = self.read();
            if datasets.iter().all(|dataset| state.is_ready(*dataset)) {
                return Ok(state);
            }
            drop(state);
            let mut state = self.write();
            datasets.iter().try_for_each(|dataset| state.make_ready(*dataset, self))?;
        }
    }
}

impl LogState {
    /// Returns a dataset of the log, if it is one that is known.
    pub(crate) fn logged(&self, dataset: Token) -> Option<&Logged> {
        match self.known.get(&dataset) {
            Some(KnownDataset::Logged(logged)) => Some(logged),
            _ => None,
        }
    }

    pub(crate) fn logged_mut(&mut self, dataset: Token) -> Option<&mut Logged> {
        match self.known.get_mut(&dataset) {
            Some(KnownDataset::Logged(logged)) => Some(logged),
            _ => None,
        }
    }

    /// Returns the bytes that wait, with those that say where they go.
    #[inline]
    pub(crate) fn waiting_bytes(&self) -> u64 {
        self.arena.bytes() + self.noted * RUN_BYTES
    }

    /// Returns the bytes that would wait with a write of so many bytes, which are noted as so many runs.
    #[inline]
    pub(crate) fn waiting_with(&self, bytes: u64, runs: u64) -> u64 {
        self.waiting_bytes().saturating_add(bytes).saturating_add(runs.saturating_mul(RUN_BYTES))
    }

    fn is_ready(&self, dataset: Token) -> bool {
        self.logged(dataset).is_none_or(|logged| {
            logged.broken.is_none()
                && logged.is_loaded
                && logged.absorbed == logged.requests.len()
                && logged.index.is_merged()
                && self.tables_decoded == self.tables.len()
                && !self.arrived.contains_key(&logged.id)
        })
    }

    fn make_ready(&mut self, dataset: Token, shared: &Shared) -> Result<()> {
        if self.logged(dataset).is_none() {
            return Ok(());
        }
        self.decode_tables(&shared.file, &shared.limits)?;
        let Some(KnownDataset::Logged(logged)) = self.known.get_mut(&dataset) else { return Ok(()) };
        self.noted += logged.absorb();
        let mut attached = Ok(());
        if let Some(merged) = self.merged.as_ref().filter(|_| !logged.is_loaded) {
            let entries = merged.entries_of(logged.id, &shared.file, &shared.limits)?;
            attached = logged.load(&entries, &mut self.lists, &self.logs, &shared.limits);
        }
        logged.is_loaded = true;
        let arrived = self.arrived.remove(&logged.id).unwrap_or_default();
        let mut arrived = arrived.iter();
        let attached = attached
            .and_then(|()| arrived.try_for_each(|entry| logged.attach(entry, &self.logs, &shared.limits)));
        if let Err(error) = attached {
            logged.broken = Some(error);
        }
        logged.index.merge(logged.size);
        logged.broken.clone().map_or(Ok(()), Err)
    }

    /// Notes the entries of the flushes since the last close.
    fn decode_tables(&mut self, file: &Posix, limits: &Limits) -> Result<()> {
        while let Some(table) = self.tables.get(self.tables_decoded) {
            for entry in Table::decode_all(&table.bytes.all(file, limits)?, limits)?.entries {
                self.arrived.entry(entry.dataset).or_default().push(entry);
            }
            self.tables_decoded += 1;
        }
        Ok(())
    }

    /// Forgets what is known of the logs in the file: they are about to be read anew.
    pub(crate) fn forget_file(&mut self) {
        (self.tables, self.tables_decoded, self.lists) = (Vec::new(), 0, SharedLists::default());
        self.arrived.clear();
        for known in self.known.values_mut() {
            if let KnownDataset::Logged(logged) = known {
                logged.forget_file();
            }
        }
    }

    /// Returns all entries, dataset by dataset, each dataset's in the order of their writing.
    pub(crate) fn all_entries(&self, file: &Posix, limits: &Limits) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for table in &self.tables {
            entries.extend(Table::decode_all(&table.bytes.all(file, limits)?, limits)?.entries);
        }
        let Some(merged) = &self.merged else { return Ok(entries) };
        let mut all = Vec::new();
        for dataset in merged.present(0..u64::MAX, file, limits)? {
            all.extend(merged.entries_of(dataset, file, limits)?);
        }
        all.extend(entries);
        Ok(all)
    }

    /// Returns whether places of entries stay true when the file is repacked.
    pub(crate) fn survives_repack(&self, file: &Posix, limits: &Limits) -> Result<bool> {
        if self.merged.as_ref().is_some_and(|merged| !merged.survives_repack()) {
            return Ok(false);
        }
        // Version 1 counts from the start of the file, version 2 from that of a log dataset.
        for table in &self.tables {
            if table::version(&table.bytes.read(file, 0, 4, limits)?)? == 1 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the number of bytes of all tables.
    pub(crate) fn table_bytes(&self) -> u64 {
        let merged = self.merged.as_ref().map_or(0, |merged| merged.bytes().0.len());
        self.tables.iter().fold(merged, |n, table| n.saturating_add(table.bytes.len()))
    }
}

/// Returns the elements of an entry that went through filters.
pub(crate) fn decode_entry(
    shared: &Shared,
    logs: &Logs,
    logged: &Logged,
    number: u32,
) -> Result<Arc<Vec<u8>>> {
    let mut last = shared.decoded.lock();
    if let Some(known) = last.as_ref().filter(|d| d.dataset == logged.id && d.entry == number) {
        return Ok(known.bytes.clone());
    }
    let missing = || Error::corrupt("read log entry").with("entry", number);
    let entry = logged.coded.get(number as usize).ok_or_else(missing)?;
    let bytes = entry.elements().and_then(|n| n.checked_mul(logged.size)).ok_or_else(missing)?;
    let bytes = model::Within::within(bytes, shared.limits.chunk_bytes_max, "log entry")?;
    // A stream that says itself where it ends needs no more than this, and may have less before the log ends.
    let bound = (bytes as u64).saturating_add((bytes / 1000) as u64 + 1024);
    let found = match entry.stored {
        Some(stored) => logs.find(entry.place, stored)?,
        None => logs.find_up_to(entry.place, bound)?,
    };
    let stored = model::Within::within(found.bytes, shared.limits.chunk_bytes_max, "log entry")?;
    let raw = files::File::read_vec(&*shared.file_of(found.file)?, found.offset, stored);
    let raw = raw.map_err(|e| Error::io("read log", &e).at(found.offset))?;
    let decoded = Arc::new(pipeline::decode(&shared.filters, &logged.info, entry.coded, raw, bytes)?);
    if decoded.len() != bytes {
        return Err(missing().with("bytes", decoded.len()).with("wanted", bytes));
    }
    *last = Some(Decoded { dataset: logged.id, entry: number, bytes: decoded.clone() });
    Ok(decoded)
}
