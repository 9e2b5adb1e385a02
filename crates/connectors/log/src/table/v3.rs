//! Version 3: the table of all flushes, of which a reader takes the entries of one dataset and leaves the rest alone.
//!
//! It consists of frames. Each begins with its bytes as stored and its bytes before deflating (8 each; equal where they
//! were not deflated). The first, after the signature, has the names; then selections, and a record for each dataset,
//! which says how far before it each of its selections begins. So records can be joined without being changed.

use std::collections::HashMap;
use std::sync::Arc;

use model::bytes::Cursor;
use model::selection::Run;
use model::{Error, Limits, Result};

use super::deflate::{deflate, inflate};
use super::v2::{
    self, count, get_coded, get_names, get_runs, put, put_coded, put_names, unzigzag, varint, zigzag,
};
use super::{Coded, Entry, EntryOffset, SIGNATURE};

/// Bytes before the frame of names: the signature, the version, four that are 0.
pub(crate) const HEADER_BYTES: u64 = 8;
/// Bytes of a frame before its content.
pub(crate) const FRAME_BYTES: u64 = 16;

fn put_frame(out: &mut Vec<u8>, content: &[u8]) -> Result<()> {
    let small = deflate(content)?;
    let stored = small.as_deref().unwrap_or(content);
    out.extend_from_slice(&(stored.len() as u64).to_le_bytes());
    out.extend_from_slice(&(content.len() as u64).to_le_bytes());
    out.extend_from_slice(stored);
    Ok(())
}

/// Returns the bytes that the content of a frame takes in the table, by its first bytes.
pub(crate) fn stored_bytes(frame: &[u8]) -> Result<u64> {
    Cursor::new(frame, "frame of a log metadata table").u64()
}

/// Returns the content of a frame, which may have bytes behind it.
pub(crate) fn content(frame: &[u8], limits: &Limits) -> Result<Vec<u8>> {
    let mut cursor = Cursor::new(frame, "frame of a log metadata table");
    let (stored, raw) = (cursor.u64()?, cursor.u64()?);
    let stored = usize::try_from(stored).map_err(|_| cursor.corrupt("size"))?;
    let stored = cursor.take(stored)?;
    if raw == stored.len() as u64 { Ok(stored.to_vec()) } else { inflate(stored, raw, limits) }
}

/// Returns the names of datasets, from the content of their frame.
pub(crate) fn names(content: &[u8]) -> Result<Vec<String>> {
    get_names(&mut Cursor::new(content, "names in a log metadata table"))
}

/// Returns what comes before all records: the signature and the names.
pub(crate) fn header(names: &[String]) -> Result<Vec<u8>> {
    let mut out = SIGNATURE.to_vec();
    out.extend_from_slice(&[3, 0, 0, 0, 0]);
    let mut content = Vec::new();
    put_names(&mut content, names);
    put_frame(&mut out, &content)?;
    Ok(out)
}

/// Records of some datasets, and the selections they need.
#[derive(Default)]
pub(crate) struct Records {
    pub(crate) bytes: Vec<u8>,
    /// By selection as it is encoded, where its frame begins.
    selections: HashMap<Vec<u8>, u64>,
    /// Positions of frames by list. The list is held, so that entries that share one are looked up once.
    seen: HashMap<*const Run, (Arc<[Run]>, u64)>,
}

impl Records {
    /// Adds the entries of a dataset, in the order of their writing. Returns where its record begins.
    pub(crate) fn add(&mut self, dataset: u64, entries: &[Entry]) -> Result<u64> {
        let selections =
            entries.iter().map(|entry| self.selection(&entry.runs)).collect::<Result<Vec<_>>>()?;
        let at = self.bytes.len() as u64;
        let mut content = Vec::new();
        put(&mut content, dataset);
        put(&mut content, entries.len() as u64);
        let (mut log, mut end) = (0, 0u64);
        for (entry, selection) in entries.iter().zip(selections) {
            let EntryOffset::Log(in_log, offset) = entry.place else {
                return Err(
                    Error::corrupt("write log metadata table").with("problem", "an entry without a log")
                );
            };
            put_coded(&mut content, entry.coded);
            put(&mut content, zigzag(log, in_log));
            put(&mut content, zigzag(end, offset));
            put(&mut content, entry.stored.map_or(0, |stored| stored.saturating_add(1)));
            put(&mut content, at - selection);
            (log, end) = (in_log, offset.wrapping_add(entry.stored.unwrap_or(0)));
        }
        put_frame(&mut self.bytes, &content)?;
        Ok(at)
    }

    /// Returns where the frame of a selection begins, which is added if there is none like it.
    fn selection(&mut self, runs: &Arc<[Run]>) -> Result<u64> {
        if let Some((_, at)) = self.seen.get(&runs.as_ptr()) {
            return Ok(*at);
        }
        let encoded = v2::selection(runs);
        let at = match self.selections.get(&encoded) {
            Some(at) => *at,
            None => {
                let at = self.bytes.len() as u64;
                put_frame(&mut self.bytes, &encoded)?;
                self.selections.insert(encoded, at);
                at
            }
        };
        self.seen.insert(runs.as_ptr(), (runs.clone(), at));
        Ok(at)
    }
}

/// An entry of a record, whose selection is in a frame of its own.
pub(crate) struct RecordEntry {
    pub(crate) coded: Coded,
    pub(crate) place: EntryOffset,
    pub(crate) stored: Option<u64>,
    /// How many bytes before the record the frame of its selection begins.
    pub(crate) distance: u64,
}

/// Returns the entries of a record, from its content.
pub(crate) fn record(content: &[u8], dataset: u64) -> Result<Vec<RecordEntry>> {
    let from = &mut Cursor::new(content, "record of a log metadata table");
    if varint(from)? != dataset {
        return Err(from.corrupt("a record of another dataset"));
    }
    let count = count(from)?;
    let mut entries = Vec::with_capacity(count.min(from.remaining() / 5 + 1));
    let (mut log, mut end) = (0, 0u64);
    for _ in 0..count {
        let coded = get_coded(from)?;
        log = unzigzag(log, varint(from)?);
        let offset = unzigzag(end, varint(from)?);
        let stored = varint(from)?.checked_sub(1);
        let distance = varint(from)?;
        entries.push(RecordEntry { coded, place: EntryOffset::Log(log, offset), stored, distance });
        end = offset.wrapping_add(stored.unwrap_or(0));
    }
    match from.remaining() {
        0 => Ok(entries),
        _ => Err(from.corrupt("bytes behind the last entry")),
    }
}

/// Returns the runs of a selection, from the content of its frame.
pub(crate) fn runs(content: &[u8], limits: &Limits) -> Result<Arc<[Run]>> {
    get_runs(&mut Cursor::new(content, "selection in a log metadata table"), limits)
}
