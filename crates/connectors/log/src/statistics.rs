//! Statistics of a log: flushes, entries, bytes, overwritten bytes, and how scattered each dataset is.

use std::fmt;

use model::{LinkTarget, ObjectKind, Result, Token};
use vol::{Container, OpList};

use crate::container::LogContainer;
use crate::datasets::shown;
use crate::table::Entry;

/// The content of a log in numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogStatistics {
    /// Log datasets: one for each flush.
    pub flushes: u64,
    /// Bytes of them.
    pub log_bytes: u64,
    /// Bytes of the metadata tables.
    pub table_bytes: u64,
    /// Each dataset, by path.
    pub datasets: Vec<DatasetStatistics>,
}

/// The content of a log in numbers, for one dataset.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DatasetStatistics {
    /// Where it is.
    pub path: String,
    /// Entries of the tables.
    pub entries: u64,
    /// Runs of elements in them.
    pub runs: u64,
    /// Bytes that were written, before filters.
    pub logged_bytes: u64,
    /// Bytes of elements that still show.
    pub shown_bytes: u64,
    /// Pieces that a reader of the whole dataset puts together.
    pub pieces: u64,
}

impl DatasetStatistics {
    /// Returns the number of bytes that were overwritten later.
    pub fn overlap_bytes(&self) -> u64 {
        self.logged_bytes.saturating_sub(self.shown_bytes)
    }
}

impl LogContainer {
    /// Returns what the log holds, after a flush of what waits.
    pub fn statistics(&self) -> Result<LogStatistics> {
        let shared = self.shared();
        let state = shared.read();
        let entries = state.all_entries(&shared.file, &shared.limits)?;
        let (flushes, table_bytes) = (state.logs.iter().count() as u64, state.table_bytes());
        let log_bytes = state.logs.bytes();
        drop(state);
        let mut statistics = LogStatistics { flushes, log_bytes, table_bytes, ..Default::default() };
        for (path, dataset) in self.all_datasets()? {
            statistics.datasets.extend(self.of_dataset(path, dataset, &entries)?);
        }
        Ok(statistics)
    }

    fn of_dataset(
        &self,
        path: String,
        dataset: Token,
        entries: &[Entry],
    ) -> Result<Option<DatasetStatistics>> {
        self.know(dataset)?;
        let state = self.shared().ready(&[dataset])?;
        let Some(logged) = state.logged(dataset) else { return Ok(None) };
        let mut found = DatasetStatistics { path, ..Default::default() };
        for entry in entries.iter().filter(|entry| entry.dataset == logged.id) {
            found.entries += 1;
            found.runs += entry.runs.len() as u64;
            found.logged_bytes += entry.elements().unwrap_or(0).saturating_mul(logged.size);
        }
        let list = logged.index.lists().next().unwrap_or(&[]);
        for piece in shown(logged, list)? {
            found.pieces += 1;
            found.shown_bytes += piece.len * logged.size;
        }
        Ok(Some(found))
    }

    /// Returns all datasets that links lead to, each by the first path that is found.
    pub(crate) fn all_datasets(&self) -> Result<Vec<(String, Token)>> {
        let (mut found, mut groups) = (Vec::new(), vec![(String::new(), self.shared().root)]);
        let mut seen = std::collections::HashSet::from([self.shared().root]);
        while let Some((path, group)) = groups.pop() {
            let mut skip = 0;
            loop {
                let page = Container::link_list(self, group, &OpList { skip, ..OpList::default() })?;
                skip += page.entries.len() as u64;
                for link in page.entries {
                    let LinkTarget::Hard(token) = link.target else { continue };
                    if !seen.insert(token) {
                        continue;
                    }
                    let path = format!("{path}/{}", link.name);
                    match Container::object_kinds(self, &[token])?.first() {
                        Some(ObjectKind::Group) => groups.push((path, token)),
                        Some(ObjectKind::Dataset) => found.push((path, token)),
                        _ => {}
                    }
                }
                if !page.more {
                    break;
                }
            }
        }
        found.sort();
        Ok(found)
    }
}

impl fmt::Display for LogStatistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "flushes     {}", self.flushes)?;
        writeln!(f, "log bytes   {}", self.log_bytes)?;
        let share = 100.0 * self.table_bytes as f64 / self.log_bytes.max(1) as f64;
        writeln!(f, "table bytes {} ({share:.1} %)", self.table_bytes)?;
        let entries: u64 = self.datasets.iter().map(|dataset| dataset.entries).sum();
        writeln!(f, "entries     {entries}")?;
        let overlap: u64 = self.datasets.iter().map(DatasetStatistics::overlap_bytes).sum();
        writeln!(f, "overlap     {overlap}")?;
        writeln!(f)?;
        let head = ["entries", "runs", "logged bytes", "overlap", "pieces"];
        writeln!(f, "{:>9} {:>9} {:>14} {:>14} {:>9}  dataset", head[0], head[1], head[2], head[3], head[4])?;
        for d in &self.datasets {
            let (entries, runs, logged, overlap) = (d.entries, d.runs, d.logged_bytes, d.overlap_bytes());
            writeln!(f, "{entries:>9} {runs:>9} {logged:>14} {overlap:>14} {:>9}  {}", d.pieces, d.path)?;
        }
        Ok(())
    }
}
