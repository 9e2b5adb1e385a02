//! At the close the tables of all flushes become one, sorted by dataset, with a look-up table beside it.

use model::properties::{DatasetCreate, Layout};
use model::{Dataspace, Datatype, Result, Selection, Token, UNLIMITED};
use vol::{Container, OpDatasetCreate, OpWrite, Place as At};

use crate::container::LogContainer;
use crate::load::{Loaded, OFFSETS, TABLE, store_numbers, table_name};
use crate::state::State;
use crate::table::{Coded, Table, TableVersion};

/// Elements of a chunk of the tables, at most.
const CHUNK_ELEMENTS_MAX: u64 = 1 << 20;

impl LogContainer {
    /// Stores the numbers of datasets and logs, if they changed.
    pub(crate) fn update_numbers(&self, state: &mut State) -> Result<()> {
        if std::mem::take(&mut state.is_changed)
            && let Some(inner) = self.leading()
        {
            store_numbers(inner, self.shared().group, state)?;
        }
        Ok(())
    }

    /// Makes one table of those of all flushes.
    pub(crate) fn merge_tables(&self, state: &mut State) -> Result<()> {
        if state.flushes.is_empty() {
            return Ok(());
        }
        self.ask_leader(|inner| {
            let shared = self.shared();
            let loaded = Loaded::read(inner, shared.group, &shared.limits)?;
            let mut table = Table::default();
            for bytes in &loaded.tables {
                table.entries.extend(Table::decode_all(bytes, &shared.limits)?.entries);
            }
            table.names = state.names.clone();
            self.store_table(inner, state, table)?;
            for flush in &loaded.flushes {
                inner.link_delete(shared.group, &table_name(*flush))?;
            }
            Ok((0, 0))
        })?;
        state.flushes.clear();
        state.flush_next = 0;
        Ok(())
    }

    /// Puts a table in the place of the one that is there.
    pub(crate) fn store_table(&self, inner: &dyn Container, state: &State, mut table: Table) -> Result<()> {
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
