//! The entries of a log, for people: a line each.

use std::collections::HashMap;
use std::fmt::Write as _;

use model::Result;

use crate::container::LogContainer;
use crate::table::{Coded, Entry, EntryOffset};

/// Entries of one answer: its text has some megabytes at most.
const ENTRIES_MAX: usize = 1 << 15;
/// Runs of an entry that its line names.
const RUNS_SHOWN: usize = 8;

impl LogContainer {
    /// Returns the entries of the logs after `skip` as text, [`ENTRIES_MAX`] at most.
    pub(crate) fn entries_text(&self, skip: u64) -> Result<String> {
        let shared = self.shared();
        let entries = shared.read().all_entries(&shared.file, &shared.limits)?;
        let paths = self.paths()?;
        let mut text = String::new();
        let skip = usize::try_from(skip).unwrap_or(usize::MAX);
        for (number, entry) in entries.iter().enumerate().skip(skip).take(ENTRIES_MAX) {
            let unnamed = || format!("(dataset {}, without a link)", entry.dataset);
            let path = paths.get(&entry.dataset).cloned().unwrap_or_else(unnamed);
            let _ = writeln!(text, "{number:>8}  {}  {}", path.escape_debug(), described(entry));
        }
        Ok(text)
    }

    /// Returns the paths of logged datasets, by their IDs.
    fn paths(&self) -> Result<HashMap<u64, String>> {
        let mut paths = HashMap::new();
        for (path, dataset) in self.all_datasets()? {
            self.know(dataset)?;
            let id = self.shared().read().logged(dataset).map(|logged| logged.id);
            paths.extend(id.map(|id| (id, path)));
        }
        Ok(paths)
    }
}

/// Returns where an entry lies, how it is coded, and which elements it has.
fn described(entry: &Entry) -> String {
    let mut text = match entry.place {
        EntryOffset::File(offset) => format!("at byte {offset} of the file"),
        EntryOffset::Log(log, offset) => format!("at byte {offset} of log {log}"),
    };
    match entry.coded {
        Coded::Plain => {}
        Coded::Zlib => text.push_str(", zlib"),
        Coded::Filters(0) => text.push_str(", filtered"),
        Coded::Filters(mask) => drop(write!(text, ", filtered without {mask:#b}")),
    }
    if let Some(bytes) = entry.stored {
        let _ = write!(text, ", {bytes} bytes stored");
    }
    let _ = write!(text, ", {} elements:", entry.elements().unwrap_or(u64::MAX));
    for run in entry.runs.iter().take(RUNS_SHOWN) {
        let _ = match run.len {
            1 => write!(text, " {}", run.offset),
            len => write!(text, " {}-{}", run.offset, run.offset.saturating_add(len).saturating_sub(1)),
        };
    }
    if let Some(more) = entry.runs.len().checked_sub(RUNS_SHOWN + 1) {
        let _ = write!(text, " and {} runs more", more + 1);
    }
    text
}
