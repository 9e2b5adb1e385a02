//! Version 1: appendix A of the design, byte for byte.
//!
//! An `INT64` of this table is 8 bytes, `ZERO` and `ONE` are 4, in the byte order that the table names. `entry_off` and
//! `entry_len` are those of the record of an entry. `entry_off` is an offset in the file; in the table of one flush, and
//! in tables that were made before this was so, it is counted from the start of the table. A subarray is a run of
//! elements from `start` to `end`, both included.

use std::sync::Arc;

use model::bytes::Cursor;
use model::selection::Run;
use model::{Error, Result};

use super::{Coded, Entry, EntryOffset, SIGNATURE, Table};

const NONE: u32 = 0;
const ZLIB: u32 = 1;
const SUBARRAY: u32 = 0;
const POINT: u32 = 1;
/// Bytes of an entry's record before its selection's starts and ends.
const RECORD_BYTES: u64 = 8 + 4 + 8 + 4 + 8;

fn is_points(entry: &Entry) -> bool {
    entry.runs.iter().all(|run| run.len == 1)
}

/// Returns the bytes of an entry's record.
pub(crate) fn record_bytes(entry: &Entry) -> u64 {
    let each = if is_points(entry) { 8 } else { 16 };
    RECORD_BYTES + entry.runs.len() as u64 * each
}

fn put(out: &mut Vec<u8>, n: u64) {
    out.extend_from_slice(&n.to_le_bytes());
}

/// Returns what comes before `entry_off`: the signature, the names, the number of entries.
pub(crate) fn header(names: &[String], entries: u64) -> Vec<u8> {
    let mut out = SIGNATURE.to_vec();
    out.push(1);
    out.extend_from_slice(&0u32.to_le_bytes());
    put(&mut out, names.len() as u64);
    for name in names {
        put(&mut out, name.len() as u64);
        out.extend_from_slice(name.as_bytes());
    }
    put(&mut out, entries);
    out
}

pub(super) fn encode(table: &Table, locate: &dyn Fn(EntryOffset) -> EntryOffset) -> Result<Vec<u8>> {
    let count = table.entries.len() as u64;
    let mut out = header(&table.names, count);
    let mut at = out.len() as u64 + count * 16;
    for entry in &table.entries {
        put(&mut out, at);
        at += record_bytes(entry);
    }
    table.entries.iter().for_each(|entry| put(&mut out, record_bytes(entry)));
    table.entries.iter().try_for_each(|entry| put_entry(&mut out, entry, locate))?;
    Ok(out)
}

/// Adds the record of an entry.
pub(crate) fn put_entry(
    out: &mut Vec<u8>,
    entry: &Entry,
    locate: &dyn Fn(EntryOffset) -> EntryOffset,
) -> Result<()> {
    let filter = match entry.coded {
        Coded::Plain => NONE,
        Coded::Zlib => ZLIB,
        Coded::Filters(_) => return Err(Error::unsupported("write filters to a table of version 1")),
    };
    let EntryOffset::File(at) = locate(entry.place) else {
        return Err(Error::invalid("write log metadata table").with("problem", "an entry without an offset"));
    };
    put(out, entry.dataset);
    out.extend_from_slice(&filter.to_le_bytes());
    put(out, at);
    let is_points = is_points(entry);
    out.extend_from_slice(&(if is_points { POINT } else { SUBARRAY }).to_le_bytes());
    put(out, entry.runs.len() as u64);
    entry.runs.iter().for_each(|run| put(out, run.offset));
    if !is_points {
        entry.runs.iter().for_each(|run| put(out, run.offset + run.len - 1));
    }
    Ok(())
}

/// Numbers in the table's byte order.
struct Numbers<'c, 'b> {
    cursor: &'c mut Cursor<'b>,
    is_big: bool,
}

impl<'b> Numbers<'_, 'b> {
    fn small(&mut self) -> Result<u32> {
        let bytes = self.cursor.array()?;
        Ok(if self.is_big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }

    fn number(&mut self) -> Result<u64> {
        let bytes = self.cursor.array()?;
        let number = if self.is_big { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) };
        match i64::try_from(number) {
            Ok(_) => Ok(number),
            Err(_) => Err(self.cursor.corrupt("a negative number")),
        }
    }

    /// Returns a count of things that take at least `each` bytes.
    fn count(&mut self, each: usize) -> Result<usize> {
        let count = self.number()?;
        let fits = usize::try_from(count).ok().filter(|&n| n <= self.cursor.remaining() / each);
        fits.ok_or_else(|| self.cursor.corrupt("more things than bytes"))
    }

    fn numbers(&mut self, count: usize) -> Result<Vec<u64>> {
        (0..count).map(|_| self.number()).collect()
    }
}

fn is_big(cursor: &mut Cursor<'_>) -> Result<bool> {
    match cursor.array::<4>()? {
        [0, 0, 0, 0] => Ok(false),
        [0, 0, 0, 1] => Ok(true),
        _ => Err(cursor.corrupt("byte order")),
    }
}

/// Returns what follows the signature and the version.
pub(super) fn decode(cursor: &mut Cursor<'_>) -> Result<Table> {
    let start = cursor.position() - SIGNATURE.len() - 1;
    let is_big = is_big(cursor)?;
    let mut from = Numbers { cursor, is_big };
    let count = from.count(8)?;
    let names = (0..count).map(|_| name(&mut from)).collect::<Result<Vec<_>>>()?;
    let count = from.count(16 + RECORD_BYTES as usize)?;
    let offsets = from.numbers(count)?;
    let lengths = from.numbers(count)?;
    let mut entries = Vec::with_capacity(count);
    // Where offsets count from.
    let mut base = None;
    for (offset, length) in offsets.into_iter().zip(lengths) {
        let begin = from.cursor.position();
        let here = offset.checked_sub((begin - start) as u64);
        if here.is_none() || here != *base.get_or_insert(here) {
            return Err(from.cursor.corrupt("an entry is not where the table says"));
        }
        entries.push(entry(&mut from)?);
        if length != (from.cursor.position() - begin) as u64 {
            return Err(from.cursor.corrupt("an entry is not as long as the table says"));
        }
    }
    Ok(Table { names, entries })
}

/// Returns the entries of one dataset from their records; `head` has the first bytes of the table.
pub(crate) fn records(head: &[u8], bytes: &[u8], dataset: u64) -> Result<Vec<Entry>> {
    let mut head = Cursor::new(head, "log metadata table");
    head.skip(SIGNATURE.len() + 1)?;
    let is_big = is_big(&mut head)?;
    let cursor = &mut Cursor::new(bytes, "records of a log metadata table");
    let mut from = Numbers { cursor, is_big };
    let mut entries = Vec::new();
    while from.cursor.remaining() > 0 {
        entries.push(entry(&mut from)?);
        if entries.last().is_some_and(|entry| entry.dataset != dataset) {
            return Err(from.cursor.corrupt("a record of another dataset"));
        }
    }
    Ok(entries)
}

fn name(from: &mut Numbers<'_, '_>) -> Result<String> {
    let len = from.count(1)?;
    Ok(String::from_utf8_lossy(from.cursor.take(len)?).into_owned())
}

fn entry(from: &mut Numbers<'_, '_>) -> Result<Entry> {
    let dataset = from.number()?;
    let coded = match from.small()? {
        NONE => Coded::Plain,
        ZLIB => Coded::Zlib,
        _ => return Err(from.cursor.corrupt("unknown filter")),
    };
    let place = EntryOffset::File(from.number()?);
    let runs = match from.small()? {
        SUBARRAY => subarrays(from)?,
        POINT => {
            let count = from.count(8)?;
            from.numbers(count)?.into_iter().map(|offset| Run { offset, len: 1 }).collect()
        }
        _ => return Err(from.cursor.corrupt("unknown selection")),
    };
    Ok(Entry { dataset, coded, place, stored: None, runs })
}

fn subarrays(from: &mut Numbers<'_, '_>) -> Result<Arc<[Run]>> {
    let count = from.count(16)?;
    let starts = from.numbers(count)?;
    let ends = from.numbers(count)?;
    let run =
        |(start, end): (u64, u64)| match end.checked_sub(start) {
            Some(last) => Ok(Run { offset: start, len: last + 1 }),
            None => Err(Error::corrupt("decode log metadata table")
                .with("problem", "a subarray ends before it starts")),
        };
    starts.into_iter().zip(ends).map(run).collect()
}
