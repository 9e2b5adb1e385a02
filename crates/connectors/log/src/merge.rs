//! At the close the tables of all flushes become one, sorted by dataset, with a look-up table next to it.

use model::properties::{DatasetCreate, Layout};
use model::{Dataspace, Datatype, Error, Result, Selection, Token, UNLIMITED};
use vol::{Container, Durability, LinkLocation as At, OpDatasetCreate, OpWrite};

use crate::container::LogContainer;
use crate::flush::bytes_dataset;
use crate::load::{Loaded, OFFSETS, TABLE, store_numbers, table_name};
use crate::state::LogState;
use crate::table::{Coded, Table, TableVersion};

/// Elements of a chunk of the tables, at most.
const CHUNK_ELEMENTS_MAX: u64 = 1 << 20;

/// The step that follows when a log was written.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Last {
    /// Nothing: a caller commits later.
    Nothing,
    /// A commit.
    Commit(Durability),
    /// One table of those of all flushes, and a commit.
    Merge(Durability),
}

impl Last {
    pub(crate) fn durability(self) -> Durability {
        match self {
            Last::Nothing => Durability::None,
            Last::Commit(durability) | Last::Merge(durability) => durability,
        }
    }
}

/// Why a flush did not end well.
#[derive(Debug)]
pub(crate) enum Unfinished {
    /// Its tables could not be kept: it did not happen.
    NotKept(Error),
    /// It waits for a commit that goes well.
    NotCommitted(Error),
}

impl From<Unfinished> for Error {
    fn from(unfinished: Unfinished) -> Error {
        match unfinished {
            Unfinished::NotKept(error) | Unfinished::NotCommitted(error) => error,
        }
    }
}

impl LogContainer {
    /// Keeps the tables of a flush, and does what comes last: the leader does all of it at once, and says how it went.
    pub(crate) fn finish(
        &self,
        state: &mut LogState,
        tables: &[Vec<u8>],
        last: Last,
    ) -> Result<(), Unfinished> {
        let (flush, has_tables) = (state.flush_next, !tables.is_empty());
        let merges = matches!(last, Last::Merge(_)) && (has_tables || !state.flushes.is_empty());
        let mut failed = None;
        let done = self.ask_leader(|inner| {
            self.keep(inner, state, tables, merges)?;
            if !matches!(last, Last::Nothing) {
                failed = inner.commit(last.durability()).err();
            }
            Ok((flush, u64::from(failed.is_some())))
        });
        let (_, is_failed) = done.map_err(Unfinished::NotKept)?;
        state.is_changed = false;
        match merges {
            true => (state.flushes, state.flush_next) = (Vec::new(), 0),
            false if has_tables => {
                state.flushes.push(flush);
                state.flush_next = flush + 1;
            }
            false => {}
        }
        match (failed, is_failed) {
            (None, 0) => Ok(()),
            (Some(error), _) => Err(Unfinished::NotCommitted(error)),
            (None, _) => {
                let error = Error::invalid("commit").with("problem", "the leader could not");
                Err(Unfinished::NotCommitted(error))
            }
        }
    }

    /// Stores the tables of a flush and what counts datasets and logs; all or nothing.
    fn keep(&self, inner: &dyn Container, state: &LogState, tables: &[Vec<u8>], merges: bool) -> Result<()> {
        let (group, name) = (self.shared().group, table_name(state.flush_next));
        let store = || {
            if state.is_changed || !tables.is_empty() {
                store_numbers(inner, group, state)?;
            }
            if merges { self.merge(inner, state) } else { Ok(()) }
        };
        if tables.is_empty() {
            return store();
        }
        let bytes = tables.concat();
        let dataset = inner.dataset_create(&bytes_dataset(group, name.clone(), bytes.len() as u64)?)?;
        let written = inner.dataset_write(&[OpWrite { dataset, selection: &Selection::All, from: &bytes }]);
        written.and_then(|()| store()).inspect_err(|_| {
            // The first error says more than one about this.
            let _ = inner.link_delete(group, &name);
        })
    }

    /// Stores the numbers of datasets and logs, if they changed.
    pub(crate) fn update_numbers(&self, state: &mut LogState) -> Result<()> {
        if std::mem::take(&mut state.is_changed)
            && let Some(inner) = self.leading()
        {
            store_numbers(inner, self.shared().group, state)?;
        }
        Ok(())
    }

    /// Makes one table of those of all flushes.
    pub(crate) fn merge(&self, inner: &dyn Container, state: &LogState) -> Result<()> {
        let shared = self.shared();
        let loaded = Loaded::read(inner, shared.group, &shared.limits)?;
        let mut table = Table::default();
        for bytes in &loaded.tables {
            table.entries.extend(Table::decode_all(bytes, &shared.limits)?.entries);
        }
        table.names = state.names.clone();
        self.store_table(inner, state, table)?;
        loaded.flushes.iter().try_for_each(|flush| inner.link_delete(shared.group, &table_name(*flush)))
    }

    /// Puts a table in the place of the one that is there.
    pub(crate) fn store_table(
        &self,
        inner: &dyn Container,
        state: &LogState,
        mut table: Table,
    ) -> Result<()> {
        let shared = self.shared();
        table.sort();
        // The first version has no words for other filters than one.
        let has_filters = table.entries.iter().any(|entry| matches!(entry.coded, Coded::Filters(_)));
        let version = if has_filters { TableVersion::V2 } else { shared.settings.version };
        if version == TableVersion::V2 {
            table.entries.iter_mut().for_each(|entry| entry.place = state.logs.in_log(entry.place));
        }
        let encoded = table.encode(version, &|place| state.logs.in_file(place))?;
        replace(inner, shared.group, TABLE, 1, &encoded.bytes)?;
        let starts: Vec<u8> = encoded.starts.iter().flat_map(|start| start.to_le_bytes()).collect();
        replace(inner, shared.group, OFFSETS, 8, &starts)
    }
}

/// A list of numbers of `size` bytes that may grow, in the place of one that may be there.
fn replace(inner: &dyn Container, group: Token, name: &str, size: u32, bytes: &[u8]) -> Result<()> {
    if inner.link_get(group, name)?.is_some() {
        inner.link_delete(group, name)?;
    }
    let count = bytes.len() as u64 / u64::from(size);
    let layout = Layout::chunked(&[count.clamp(1, CHUNK_ELEMENTS_MAX)]);
    let dataset = inner.dataset_create(&OpDatasetCreate {
        place: Some(At::new(group, name)),
        datatype: Datatype::native_uint(size),
        committed: None,
        space: Dataspace::resizable(&[count], &[UNLIMITED])?,
        create: DatasetCreate { layout, ..DatasetCreate::default() },
    })?;
    inner.dataset_write(&[OpWrite { dataset, selection: &Selection::All, from: bytes }])
}
