//! The log's group: made with the file, read when it is opened.

use files::Posix;
use model::properties::Layout;
use model::{Error, Limits, LinkTarget, Result, Token};
use vol::{Container, LinkLocation, OpGroupCreate, OpList};

use crate::anchor::{numbers, set_number};
use crate::logs::{Log, Logs};
use crate::merged::Merged;
use crate::state::{FlushTable, LogState};
use crate::table_bytes::{TableBytes, length};
use crate::{hidden, subfiles};

/// User datasets that were ever made: the number of the next one.
const DATASETS: &str = "datasets";
/// Log datasets.
const LOGS: &str = "log_datasets";
/// The metadata table, sorted by dataset, and where each dataset begins in it.
pub(crate) const TABLE: &str = "metadata";
pub(crate) const OFFSETS: &str = "offsets";
const LOG_PREFIX: &str = "log_";
const TABLE_PREFIX: &str = "flush_";

/// Returns the name of a log dataset.
pub(crate) fn log_name(number: u64) -> String {
    format!("{LOG_PREFIX}{number:08}")
}

/// Returns the name of the table of one flush.
pub(crate) fn table_name(number: u64) -> String {
    format!("{TABLE_PREFIX}{number:08}")
}

/// Makes the log's group in a new file.
pub(crate) fn create(inner: &dyn Container) -> Result<Token> {
    let place = Some(LinkLocation::new(inner.info()?.root, hidden::GROUP));
    let group = inner.group_create(&OpGroupCreate { place, ..OpGroupCreate::default() })?;
    set_number(inner, group, DATASETS, 0)?;
    set_number(inner, group, LOGS, 0)?;
    Ok(group)
}

/// Returns the log's group, where a file has one.
pub(crate) fn find(inner: &dyn Container) -> Result<Option<Token>> {
    let link = inner.link_get(inner.info()?.root, hidden::GROUP)?;
    let Some(LinkTarget::Hard(group)) = link.map(|link| link.target) else { return Ok(None) };
    Ok(numbers(inner, group, DATASETS)?.map(|_| group))
}

/// Stores the numbers of datasets and logs.
pub(crate) fn store_numbers(inner: &dyn Container, group: Token, state: &LogState) -> Result<()> {
    set_number(inner, group, DATASETS, state.id_next)?;
    set_number(inner, group, LOGS, state.logs.iter().count() as u64)
}

/// The logs of a file, in a form that goes to other processes as well: where everything lies.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    pub(crate) logs: Vec<(u64, Log)>,
    /// The table of all flushes but the last ones, and where datasets begin in it.
    pub(crate) merged: Option<TableBytes>,
    pub(crate) starts: Option<TableBytes>,
    /// Tables of single flushes by their numbers, from old to new.
    pub(crate) flushes: Vec<(u64, TableBytes)>,
    pub(crate) id_next: u64,
}

impl Loaded {
    /// Reads the log's group.
    pub(crate) fn read(inner: &dyn Container, group: Token, limits: &Limits) -> Result<Self> {
        let id_next = numbers(inner, group, DATASETS)?.and_then(|list| list.first().copied()).unwrap_or(0);
        let mut loaded = Loaded { id_next, ..Loaded::default() };
        for (name, dataset) in members(inner, group, limits)? {
            if let Some(number) = numbered(&name, LOG_PREFIX) {
                loaded.logs.push((number, log(inner, dataset)?));
            } else if let Some(number) = numbered(&name, TABLE_PREFIX) {
                loaded.flushes.push((number, TableBytes::of(inner, dataset, 1, limits)?));
            } else if name == TABLE {
                loaded.merged = Some(TableBytes::of(inner, dataset, 1, limits)?);
            } else if name == OFFSETS {
                loaded.starts = Some(TableBytes::of(inner, dataset, 8, limits)?);
            }
        }
        loaded.flushes.sort_unstable_by_key(|(number, _)| *number);
        Ok(loaded)
    }

    /// Returns the state of a file that was just opened.
    pub(crate) fn into_state(self, file: &Posix, limits: &Limits) -> Result<LogState> {
        let mut logs = Logs::default();
        self.logs.into_iter().for_each(|(number, log)| logs.insert(number, log));
        let flush_next = self.flushes.last().map_or(0, |(last, _)| last.saturating_add(1));
        let mut state = LogState { logs, flush_next, id_next: self.id_next, ..LogState::default() };
        let merged = self.merged.filter(|table| table.len() > 0);
        state.merged = match (merged.clone(), self.starts) {
            (Some(table), Some(starts)) => Merged::new(table, starts, file, limits)?,
            _ => None,
        };
        // A table without a look-up is decoded with those of single flushes, before them.
        let whole = merged.filter(|_| state.merged.is_none()).map(FlushTable::of_all);
        let flushes = self.flushes.into_iter().map(|(_, table)| FlushTable::of_all(table));
        state.tables = whole.into_iter().chain(flushes).collect();
        Ok(state)
    }
}

/// Returns the names of the tables of single flushes.
pub(crate) fn flush_names(inner: &dyn Container, group: Token, limits: &Limits) -> Result<Vec<String>> {
    let names = members(inner, group, limits)?.into_iter().map(|(name, _)| name);
    Ok(names.filter(|name| numbered(name, TABLE_PREFIX).is_some()).collect())
}

fn numbered(name: &str, prefix: &str) -> Option<u64> {
    name.strip_prefix(prefix)?.parse().ok()
}

/// Returns the objects in the log's group.
fn members(inner: &dyn Container, group: Token, limits: &Limits) -> Result<Vec<(String, Token)>> {
    let mut members = Vec::new();
    loop {
        let page = inner.link_list(group, &OpList { skip: members.len() as u64, ..OpList::default() })?;
        for link in page.entries {
            if let LinkTarget::Hard(token) = link.target {
                members.push((link.name, token));
            } else {
                return Err(broken("a link that leads out of the log").with("name", link.name));
            }
        }
        if !page.more || members.len() as u64 > limits.entries_max {
            break;
        }
    }
    Ok(members)
}

fn broken(problem: &str) -> Error {
    Error::corrupt("read log group").with("problem", problem)
}

fn log(inner: &dyn Container, dataset: Token) -> Result<Log> {
    let bytes = length(inner, dataset, 1)?;
    let info = inner.dataset_info(dataset)?;
    if let Layout::External(list) = &info.create.layout {
        return Ok(Log { segments: subfiles::segments(list)? });
    }
    let storage = inner.dataset_storage(dataset)?;
    match storage.offset {
        Some(offset) if storage.bytes >= bytes => Ok(Log::in_file(offset, bytes)),
        _ if bytes == 0 => Ok(Log::default()),
        _ => Err(broken("a log that is not in one piece").at(dataset.to_u64())),
    }
}
