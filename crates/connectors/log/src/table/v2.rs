//! Version 2: numbers as varints (seven bits a byte, low first), selections as differences, equal ones once.

use std::collections::HashMap;
use std::sync::Arc;

use model::bytes::Cursor;
use model::selection::Run;
use model::{Error, Limits, Result, UNLIMITED, Within};

use super::deflate::{deflate, inflate};
use super::{Coded, Entry, EntryOffset, SIGNATURE, Table};

/// The body is a zlib stream.
const DEFLATED: u32 = 1;
/// Filter codes: then the mask, for [`Coded::Filters`].
const PLAIN: u64 = 0;
const ZLIB: u64 = 1;
const FILTERS: u64 = 2;

pub(super) fn put(out: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

/// Returns a difference: small ones of either sign are small numbers.
pub(super) fn zigzag(from: u64, to: u64) -> u64 {
    let difference = to.wrapping_sub(from) as i64;
    (difference << 1 ^ difference >> 63) as u64
}

pub(super) fn unzigzag(from: u64, code: u64) -> u64 {
    from.wrapping_add((code >> 1) ^ (code & 1).wrapping_neg())
}

/// Returns a selection: its runs, each by its distance from the end of the one before, and its length.
pub(super) fn selection(runs: &[Run]) -> Vec<u8> {
    let mut out = Vec::with_capacity(4 + runs.len() * 4);
    put(&mut out, runs.len() as u64);
    let same = runs.first().filter(|first| runs.iter().all(|run| run.len == first.len));
    put(&mut out, same.map_or(0, |run| run.len));
    let mut end = 0;
    for run in runs {
        put(&mut out, zigzag(end, run.offset));
        if same.is_none() {
            put(&mut out, run.len);
        }
        end = run.offset + run.len;
    }
    out
}

pub(super) fn put_names(out: &mut Vec<u8>, names: &[String]) {
    put(out, names.len() as u64);
    for name in names {
        put(out, name.len() as u64);
        out.extend_from_slice(name.as_bytes());
    }
}

pub(super) fn put_coded(out: &mut Vec<u8>, coded: Coded) {
    match coded {
        Coded::Plain => put(out, PLAIN),
        Coded::Zlib => put(out, ZLIB),
        Coded::Filters(mask) => {
            put(out, FILTERS);
            put(out, mask.into());
        }
    }
}

pub(super) fn encode(table: &Table) -> Result<Vec<u8>> {
    let mut body = Vec::new();
    put_names(&mut body, &table.names);
    let mut numbers: HashMap<Vec<u8>, u64> = HashMap::new();
    // Entries that share a list need not be looked at twice.
    let mut seen: HashMap<*const Run, u64> = HashMap::new();
    let (mut selections, mut which) = (Vec::new(), Vec::with_capacity(table.entries.len()));
    for entry in &table.entries {
        let next = numbers.len() as u64;
        let number = *seen.entry(entry.runs.as_ptr()).or_insert_with(|| {
            *numbers.entry(selection(&entry.runs)).or_insert_with_key(|bytes| {
                selections.extend_from_slice(bytes);
                next
            })
        });
        which.push(number);
    }
    put(&mut body, numbers.len() as u64);
    body.append(&mut selections);
    put_entries(&mut body, table, &which)?;
    wrap(&body)
}

fn put_entries(body: &mut Vec<u8>, table: &Table, which: &[u64]) -> Result<()> {
    put(body, table.entries.len() as u64);
    let (mut dataset, mut log, mut end) = (0, 0, 0u64);
    for (entry, number) in table.entries.iter().zip(which) {
        let EntryOffset::Log(in_log, offset) = entry.place else {
            return Err(Error::invalid("write log metadata table").with("problem", "an entry without a log"));
        };
        put(body, zigzag(dataset, entry.dataset));
        put_coded(body, entry.coded);
        put(body, zigzag(log, in_log));
        put(body, zigzag(end, offset));
        put(body, entry.stored.map_or(0, |stored| stored.saturating_add(1)));
        put(body, *number);
        (dataset, log, end) = (entry.dataset, in_log, offset.wrapping_add(entry.stored.unwrap_or(0)));
    }
    Ok(())
}

/// Signature, version, flags, bytes of the body before and after deflating; all little-endian.
fn wrap(body: &[u8]) -> Result<Vec<u8>> {
    let small = deflate(body)?;
    let flags = if small.is_some() { DEFLATED } else { 0 };
    let stored = small.as_deref().unwrap_or(body);
    let mut out = SIGNATURE.to_vec();
    out.push(2);
    out.extend_from_slice(&flags.to_le_bytes());
    out.extend_from_slice(&(body.len() as u64).to_le_bytes());
    out.extend_from_slice(&(stored.len() as u64).to_le_bytes());
    out.extend_from_slice(stored);
    Ok(out)
}

/// Returns what follows the signature and the version.
pub(super) fn decode(cursor: &mut Cursor<'_>, limits: &Limits) -> Result<Table> {
    let flags = cursor.u32()?;
    let raw = cursor.u64()?;
    let stored = usize::try_from(cursor.u64()?).map_err(|_| cursor.corrupt("size"))?;
    let stored = cursor.take(stored)?;
    match flags {
        0 if raw == stored.len() as u64 => body(stored, limits),
        DEFLATED => body(&inflate(stored, raw, limits)?, limits),
        _ => Err(cursor.corrupt("flags")),
    }
}

pub(super) fn varint(from: &mut Cursor<'_>) -> Result<u64> {
    let (mut number, mut shift) = (0u64, 0);
    loop {
        let byte = from.u8()?;
        if shift > 63 || (shift == 63 && byte > 1) {
            return Err(from.corrupt("a number of more than 64 bits"));
        }
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
        shift += 7;
    }
}

/// Returns a count of things that take at least a byte.
pub(super) fn count(from: &mut Cursor<'_>) -> Result<usize> {
    let count = varint(from)?;
    let fits = usize::try_from(count).ok().filter(|&n| n <= from.remaining());
    fits.ok_or_else(|| from.corrupt("more things than bytes"))
}

fn body(bytes: &[u8], limits: &Limits) -> Result<Table> {
    let from = &mut Cursor::new(bytes, "log metadata table");
    let names = get_names(from)?;
    let selections = (0..count(from)?).map(|_| get_runs(from, limits)).collect::<Result<Vec<_>>>()?;
    let count = count(from)?;
    let mut entries: Vec<Entry> = Vec::with_capacity(count.min(from.remaining() / 6 + 1));
    let (mut dataset, mut log, mut end) = (0, 0, 0u64);
    for _ in 0..count {
        dataset = unzigzag(dataset, varint(from)?);
        let coded = get_coded(from)?;
        log = unzigzag(log, varint(from)?);
        let offset = unzigzag(end, varint(from)?);
        let stored = varint(from)?.checked_sub(1);
        let number = varint(from)?;
        let runs = usize::try_from(number).ok().and_then(|n| selections.get(n));
        let runs = runs.ok_or_else(|| from.corrupt("no such selection"))?.clone();
        entries.push(Entry { dataset, coded, place: EntryOffset::Log(log, offset), stored, runs });
        end = offset.wrapping_add(stored.unwrap_or(0));
    }
    match from.remaining() {
        0 => Ok(Table { names, entries }),
        _ => Err(from.corrupt("bytes behind the last entry")),
    }
}

pub(super) fn get_names(from: &mut Cursor<'_>) -> Result<Vec<String>> {
    (0..count(from)?).map(|_| name(from)).collect()
}

fn name(from: &mut Cursor<'_>) -> Result<String> {
    let len = count(from)?;
    Ok(String::from_utf8_lossy(from.take(len)?).into_owned())
}

pub(super) fn get_coded(from: &mut Cursor<'_>) -> Result<Coded> {
    match varint(from)? {
        PLAIN => Ok(Coded::Plain),
        ZLIB => Ok(Coded::Zlib),
        FILTERS => {
            let mask = u32::try_from(varint(from)?);
            mask.map(Coded::Filters).map_err(|_| from.corrupt("mask of filters"))
        }
        _ => Err(from.corrupt("unknown filter")),
    }
}

pub(super) fn get_runs(from: &mut Cursor<'_>, limits: &Limits) -> Result<Arc<[Run]>> {
    let same = count(from)? as u64;
    let count = same.within(limits.selection_blocks_max, "logged selection")?;
    let same = varint(from)?;
    let (mut end, mut runs) = (0, Vec::with_capacity(count));
    for _ in 0..count {
        let offset = unzigzag(end, varint(from)?);
        let len = if same > 0 { same } else { varint(from)? };
        let next = offset.checked_add(len).filter(|&next| len > 0 && next < UNLIMITED);
        end = next.ok_or_else(|| from.corrupt("a run that is empty or too long"))?;
        runs.push(Run { offset, len });
    }
    Ok(runs.into())
}
