//! The table of all flushes as it is read: the entries of one dataset at a time, which the look-up table leads to.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use files::Posix;
use model::selection::Run;
use model::{Error, Limits, Result, Within};
use system::sync::Mutex;

use crate::table::{self, Entry, Table, v1, v3};
use crate::table_bytes::TableBytes;

/// Bytes of a frame that are read at once; most records have fewer.
const FRAME_READ_BYTES: u64 = 4 << 10;
/// Selections that are held: variables of a model that are divided alike come one after another.
const SELECTIONS_MAX: usize = 16;
/// Bytes of the look-up table that are read at once.
const STARTS_BLOCK_BYTES: u64 = 4 << 10;
/// Starts of datasets that are looked at together.
const STARTS_READ: u64 = 8 << 10;

/// The table of all flushes.
#[derive(Debug)]
pub(crate) struct Merged {
    table: TableBytes,
    /// Where the record of each dataset begins in the table, by ID; 0 where it has none.
    starts: TableBytes,
    version: u8,
    /// Selections that were decoded last, by where they begin.
    selections: Mutex<Vec<(u64, Arc<[Run]>)>>,
    /// What was read last of the look-up table, and of the records: datasets that are read one after another have theirs
    /// side by side.
    last_starts: Mutex<TableBlock>,
    last_records: Mutex<TableBlock>,
}

/// Some bytes of a table.
#[derive(Debug, Default)]
struct TableBlock {
    at: u64,
    bytes: Vec<u8>,
}

impl TableBlock {
    /// Returns what there is from `at` on.
    fn from(&self, at: u64) -> &[u8] {
        let skipped = at.checked_sub(self.at).and_then(|skipped| usize::try_from(skipped).ok());
        skipped.and_then(|skipped| self.bytes.get(skipped..)).unwrap_or_default()
    }
}

/// The selections of one record. Each is decoded once, however often entries of a forged record change between many.
#[derive(Default)]
struct RecordSelections {
    by_start: HashMap<u64, Arc<[Run]>>,
    runs: u64,
}

fn corrupt(problem: &str) -> Error {
    Error::corrupt("read log metadata table").with("problem", problem)
}

impl RecordSelections {
    fn get(
        &mut self,
        at: u64,
        limits: &Limits,
        decode: impl FnOnce() -> Result<Arc<[Run]>>,
    ) -> Result<Arc<[Run]>> {
        if let Some(runs) = self.by_start.get(&at) {
            return Ok(runs.clone());
        }
        let runs = decode()?;
        self.runs = self.runs.saturating_add(runs.len() as u64);
        self.runs.within(limits.entries_max, "runs of a logged dataset")?;
        self.by_start.insert(at, runs.clone());
        Ok(runs)
    }
}

impl Merged {
    /// Returns the table, if its version has records that a look-up table leads to.
    pub(crate) fn new(
        table: TableBytes,
        starts: TableBytes,
        file: &Posix,
        limits: &Limits,
    ) -> Result<Option<Self>> {
        let version = table::version(&table.read(file, 0, 4, limits)?)?;
        (starts.len() / 8).within(limits.entries_max, "datasets of a log")?;
        let merged = Merged {
            table,
            starts,
            version,
            selections: Mutex::default(),
            last_starts: Mutex::default(),
            last_records: Mutex::default(),
        };
        Ok(matches!(version, 1 | 3).then_some(merged))
    }

    /// Returns the bytes of the table, and of the look-up table.
    pub(crate) fn bytes(&self) -> (&TableBytes, &TableBytes) {
        (&self.table, &self.starts)
    }

    /// Returns whether places of entries stay true when the file is repacked.
    pub(crate) fn survives_repack(&self) -> bool {
        // Version 1 counts from the start of the file, version 3 from that of a log dataset.
        self.version != 1
    }

    /// Returns the number of datasets that the look-up table has a line for.
    pub(crate) fn datasets(&self) -> u64 {
        self.starts.len() / 8
    }

    /// Returns the datasets of `range` that have entries.
    pub(crate) fn present(&self, range: Range<u64>, file: &Posix, limits: &Limits) -> Result<Vec<u64>> {
        let (mut found, end) = (Vec::new(), range.end.min(self.datasets()));
        for first in (range.start..end).step_by(STARTS_READ as usize) {
            let starts = self.starts_from(first, STARTS_READ.min(end - first), file, limits)?;
            let numbered = (first..).zip(starts).filter(|(_, start)| *start > 0);
            found.extend(numbered.map(|(dataset, _)| dataset));
        }
        Ok(found)
    }

    /// Returns where the records of `count` datasets begin, from that of `first` on.
    fn starts_from(&self, first: u64, count: u64, file: &Posix, limits: &Limits) -> Result<Vec<u64>> {
        let at = first.checked_mul(8).filter(|at| *at < self.starts.len());
        let Some(at) = at else { return Ok(Vec::new()) };
        let bytes = self.starts.read(file, at, count * 8, limits)?;
        Ok(bytes.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect())
    }

    /// Returns where the records of a dataset begin; 0 where it has none.
    fn start_of(&self, dataset: u64, file: &Posix, limits: &Limits) -> Result<u64> {
        let at = dataset.checked_mul(8).filter(|at| *at < self.starts.len());
        let Some(at) = at else { return Ok(0) };
        let mut last = self.last_starts.lock();
        if last.from(at).len() < 8 {
            let bytes = self.starts.read(file, at, STARTS_BLOCK_BYTES, limits)?;
            *last = TableBlock { at, bytes };
        }
        Ok(last.from(at).first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes)))
    }

    /// Returns the entries of a dataset, in the order of their writing.
    pub(crate) fn entries_of(&self, dataset: u64, file: &Posix, limits: &Limits) -> Result<Vec<Entry>> {
        let start = self.start_of(dataset, file, limits)?;
        match (start, self.version) {
            (0, _) => Ok(Vec::new()),
            (start, 1) => self.records(dataset, start, file, limits),
            (start, _) => self.record(dataset, start, file, limits),
        }
    }

    /// Returns the entries of version 1 from `start` to where those of the next dataset begin.
    fn records(&self, dataset: u64, start: u64, file: &Posix, limits: &Limits) -> Result<Vec<Entry>> {
        let (mut next, mut end) = (dataset.saturating_add(1), None);
        while end.is_none() && next < self.datasets() {
            let starts = self.starts_from(next, STARTS_READ, file, limits)?;
            end = starts.iter().copied().find(|start| *start > 0);
            next += STARTS_READ;
        }
        let end = end.unwrap_or(self.table.len());
        let len = end.checked_sub(start).ok_or_else(|| corrupt("datasets are not in order"))?;
        let head = self.table.read(file, 0, 8, limits)?;
        v1::records(&head, &self.table.read(file, start, len, limits)?, dataset)
    }

    /// Returns the content of the frame of a record, which most often was read with that of another dataset.
    fn record_frame(&self, at: u64, file: &Posix, limits: &Limits) -> Result<Vec<u8>> {
        let mut last = self.last_records.lock();
        let is_whole = |frame: &[u8]| {
            let stored = v3::stored_bytes(frame).ok();
            stored.is_some_and(|stored| stored.saturating_add(v3::FRAME_BYTES) <= frame.len() as u64)
        };
        if !is_whole(last.from(at)) {
            let bytes = self.table.read(file, at, FRAME_READ_BYTES, limits)?;
            *last = TableBlock { at, bytes };
        }
        match is_whole(last.from(at)) {
            true => v3::content(last.from(at), limits),
            false => self.frame(at, file, limits),
        }
    }

    /// Returns the content of the frame that begins at `at`.
    fn frame(&self, at: u64, file: &Posix, limits: &Limits) -> Result<Vec<u8>> {
        let mut bytes = self.table.read(file, at, FRAME_READ_BYTES, limits)?;
        let whole = v3::stored_bytes(&bytes)?.saturating_add(v3::FRAME_BYTES);
        if whole > bytes.len() as u64 {
            whole.within(limits.metadata_bytes_max, "log metadata table")?;
            let rest = whole - bytes.len() as u64;
            bytes.extend(self.table.read(file, at.saturating_add(bytes.len() as u64), rest, limits)?);
        }
        v3::content(&bytes, limits)
    }

    /// Returns the entries of a record of version 3.
    fn record(&self, dataset: u64, start: u64, file: &Posix, limits: &Limits) -> Result<Vec<Entry>> {
        let found = v3::record(&self.record_frame(start, file, limits)?, dataset)?;
        let (mut entries, mut selections) = (Vec::with_capacity(found.len()), RecordSelections::default());
        for entry in found {
            let at = start.checked_sub(entry.distance).filter(|_| entry.distance > 0);
            let at = at.ok_or_else(|| corrupt("a selection that is not before its record"))?;
            let runs = selections.get(at, limits, || self.selection(at, file, limits))?;
            entries.push(Entry {
                dataset,
                coded: entry.coded,
                place: entry.place,
                stored: entry.stored,
                runs,
            });
        }
        Ok(entries)
    }

    fn selection(&self, at: u64, file: &Posix, limits: &Limits) -> Result<Arc<[Run]>> {
        let mut held = self.selections.lock();
        if let Some((_, runs)) = held.iter().find(|(held, _)| *held == at) {
            return Ok(runs.clone());
        }
        let runs = v3::runs(&self.frame(at, file, limits)?, limits)?;
        if held.len() == SELECTIONS_MAX {
            held.remove(0);
        }
        held.push((at, runs.clone()));
        Ok(runs)
    }

    /// Returns the names of datasets, by ID.
    pub(crate) fn names(&self, file: &Posix, limits: &Limits) -> Result<Vec<String>> {
        match self.version {
            1 => Ok(Table::decode_all(&self.table.all(file, limits)?, limits)?.names),
            _ => v3::names(&self.frame(v3::HEADER_BYTES, file, limits)?),
        }
    }
}

#[cfg(test)]
mod tests {
    use model::Kind;

    use super::*;

    #[test]
    fn selections_of_a_record_are_decoded_once_and_within_bounds() {
        let mut limits = Limits::default();
        limits.entries_max = 100;
        let runs: Arc<[Run]> = vec![Run { offset: 0, len: 1 }; 30].into();
        let (mut selections, mut decoded) = (RecordSelections::default(), 0);
        for at in (0..3).cycle().take(1000) {
            let decode = || {
                decoded += 1;
                Ok(runs.clone())
            };
            selections.get(at, &limits, decode).unwrap();
        }
        assert_eq!(decoded, 3);
        assert_eq!(selections.get(3, &limits, || Ok(runs.clone())).unwrap_err().kind(), Kind::Limit);
    }
}
