//! The log's group: made with the file, read when it is opened.

use model::{Dataspace, Error, Limits, LinkTarget, Result, Selection, Token};
use vol::{Container, LinkLocation, OpGroupCreate, OpList, OpRead};

use crate::anchor::{numbers, set_number};
use crate::hidden;
use crate::logs::{Log, Logs};
use crate::state::LogState;
use crate::table::{Entry, Table};

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

/// The logs of a file, in a form that goes to other processes as well.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    pub(crate) logs: Vec<(u64, Log)>,
    /// Tables, from old to new.
    pub(crate) tables: Vec<Vec<u8>>,
    pub(crate) flushes: Vec<u64>,
    pub(crate) id_next: u64,
}

impl Loaded {
    /// Reads the log's group.
    pub(crate) fn read(inner: &dyn Container, group: Token, limits: &Limits) -> Result<Self> {
        let id_next = numbers(inner, group, DATASETS)?.and_then(|list| list.first().copied()).unwrap_or(0);
        let mut loaded = Loaded { id_next, ..Loaded::default() };
        let mut flushes = Vec::new();
        for (name, dataset) in members(inner, group, limits)? {
            if let Some(number) = numbered(&name, LOG_PREFIX) {
                loaded.logs.push((number, log(inner, dataset)?));
            } else if let Some(number) = numbered(&name, TABLE_PREFIX) {
                flushes.push((number, dataset));
            } else if name == TABLE {
                loaded.tables.push(bytes(inner, dataset, limits)?);
            }
        }
        flushes.sort_unstable();
        for (number, dataset) in flushes {
            loaded.flushes.push(number);
            loaded.tables.push(bytes(inner, dataset, limits)?);
        }
        Ok(loaded)
    }

    /// Returns the entries of all tables, in the order of their writing.
    pub(crate) fn entries(&self, limits: &Limits) -> Result<Vec<Entry>> {
        let tables = self.tables.iter().map(|bytes| Table::decode_all(bytes, limits));
        let entries = tables.map(|table| Ok(table?.entries)).collect::<Result<Vec<_>>>()?;
        Ok(entries.into_iter().flatten().collect())
    }

    /// Returns the state of a file that was just opened.
    pub(crate) fn into_state(self, limits: &Limits) -> Result<LogState> {
        let mut logs = Logs::default();
        self.logs.into_iter().for_each(|(number, log)| logs.insert(number, log));
        let flush_next = self.flushes.last().map_or(0, |last| last.saturating_add(1));
        let (flushes, id_next) = (self.flushes, self.id_next);
        let mut state = LogState { logs, flushes, flush_next, id_next, ..LogState::default() };
        for bytes in &self.tables {
            let table = Table::decode_all(bytes, limits)?;
            if state.names.len() < table.names.len() {
                state.names = table.names;
            }
            state.arrive(table.entries);
        }
        Ok(state)
    }
}

fn numbered(name: &str, prefix: &str) -> Option<u64> {
    name.strip_prefix(prefix)?.parse().ok()
}

/// Returns the objects in the log's group, the table first.
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
    members.sort_by_key(|(name, _)| name != TABLE);
    Ok(members)
}

fn broken(problem: &str) -> Error {
    Error::corrupt("read log group").with("problem", problem)
}

/// Returns the number of bytes of a one-dimensional dataset of single bytes.
fn length(inner: &dyn Container, dataset: Token) -> Result<u64> {
    let info = inner.dataset_info(dataset)?;
    match (&info.space, info.datatype.size()) {
        (Dataspace::Simple(_), 1) if info.space.rank() == 1 => info.space.element_count(),
        _ => Err(broken("not a list of bytes").at(dataset.to_u64())),
    }
}

fn log(inner: &dyn Container, dataset: Token) -> Result<Log> {
    let bytes = length(inner, dataset)?;
    let storage = inner.dataset_storage(dataset)?;
    match storage.offset {
        Some(offset) if storage.bytes >= bytes => Ok(Log { offset, bytes }),
        _ if bytes == 0 => Ok(Log { offset: 0, bytes }),
        _ => Err(broken("a log that is not in one piece").at(dataset.to_u64())),
    }
}

/// Returns the bytes of a table, which are all there.
fn bytes(inner: &dyn Container, dataset: Token, limits: &Limits) -> Result<Vec<u8>> {
    let len = length(inner, dataset)?;
    if len > limits.metadata_bytes_max && len > inner.dataset_storage(dataset)?.bytes {
        return Err(broken("a table with holes").at(dataset.to_u64()));
    }
    let mut bytes = vec![0; model::Within::within(len, limits.result_bytes_max, "log metadata table")?];
    inner.dataset_read(&mut [OpRead { dataset, selection: &Selection::All, into: &mut bytes }])?;
    Ok(bytes)
}
