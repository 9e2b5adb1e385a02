//! Values in the index.

use std::sync::Arc;

use super::array::{Array, Extent, Near};
use super::blocks::Grid;
use super::sums::Sum;
use crate::bytes::{self, Reader};
use crate::check::Shape;
use crate::runs::Runs;
use crate::{Result, Size};

/// A value in memory.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// A small single value.
    Single(Arc<[u8]>),
    /// A large single value, and its checksum if it has one.
    Far(DataRange, Option<Sum>),
    /// An array.
    Array(Arc<Array>),
}

/// Bytes that are far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DataRange {
    /// Where they begin.
    pub(crate) at: u64,
    /// How many.
    pub(crate) length: u64,
    /// When they were taken.
    pub(crate) epoch: u64,
}

/// A place that is no longer needed.
pub(crate) type Released = DataRange;

/// The epoch of committed values, which never is the current one.
const COMMITTED: u64 = 0;

/// The first byte of a small single value as it is stored.
pub(crate) const SINGLE: u8 = 0;
const FAR: u8 = 1;
const NEAR_ARRAY: u8 = 2;
const FAR_ARRAY: u8 = 3;
const FAR_SUM: u8 = 4;
const FAR_ARRAY_SUMS: u8 = 5;

impl Value {
    pub(crate) fn shape(&self) -> Shape {
        match self {
            Value::Single(_) | Value::Far(..) => Shape::Single,
            Value::Array(array) => Shape::Records(array.record_size),
        }
    }

    pub(crate) fn size(&self) -> Size {
        match self {
            Value::Single(value) => Size::Single(value.len() as u64),
            Value::Far(place, _) => Size::Single(place.length),
            Value::Array(array) => Size::Records { record_size: array.record_size, end: array.end() },
        }
    }

    /// Returns the far bytes that it has.
    pub(crate) fn places(&self) -> Vec<DataRange> {
        match self {
            Value::Single(_) => Vec::new(),
            Value::Far(place, _) => vec![*place],
            Value::Array(array) => {
                array.extents.iter().map(|extent| extent.place(array.record_size)).collect()
            }
        }
    }

    /// Returns about the bytes that it takes in memory.
    pub(crate) fn weight(&self) -> usize {
        match self {
            Value::Single(value) => value.len(),
            Value::Far(..) => 0,
            Value::Array(array) => {
                let bytes = |extent: &Extent| 64 + 16 * extent.runs.as_slice().len() + 4 * extent.sums.len();
                array.extents.iter().map(bytes).sum::<usize>()
                    + array.near.as_ref().map_or(0, |near| near.bytes.len() + 16 * near.runs.as_slice().len())
            }
        }
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Value::Single(value) => {
                out.push(SINGLE);
                out.extend_from_slice(value);
            }
            Value::Far(place, sum) => {
                out.push(if sum.is_some() { FAR_SUM } else { FAR });
                bytes::put(place.at, out);
                bytes::put(place.length, out);
                out.extend(sum.iter().flat_map(|sum| sum.to_le_bytes()));
            }
            Value::Array(array) => match &array.near {
                Some(near) => encode_near(array.record_size, near, out),
                None => encode_far(array, out),
            },
        }
    }

    pub(crate) fn decode(stored: &[u8]) -> Result<Value> {
        let mut reader = Reader(stored);
        let value = match reader.byte()? {
            SINGLE => return Ok(Value::Single(reader.rest().into())),
            FAR => Value::Far(place(reader.number()?, reader.number()?)?, None),
            FAR_SUM => Value::Far(place(reader.number()?, reader.number()?)?, Some(reader.sum()?)),
            NEAR_ARRAY => Value::Array(Arc::new(decode_near(&mut reader)?)),
            FAR_ARRAY => Value::Array(Arc::new(decode_far(&mut reader, false)?)),
            FAR_ARRAY_SUMS => Value::Array(Arc::new(decode_far(&mut reader, true)?)),
            _ => return Err(Reader::corrupt()),
        };
        if reader.0.is_empty() { Ok(value) } else { Err(Reader::corrupt()) }
    }

    /// Returns a small single value, without a copy of it.
    pub(crate) fn single(stored: &[u8]) -> Option<&[u8]> {
        stored.split_first().filter(|(tag, _)| **tag == SINGLE).map(|(_, value)| value)
    }
}

fn place(at: u64, length: u64) -> Result<DataRange> {
    at.checked_add(length).ok_or_else(Reader::corrupt)?;
    Ok(DataRange { at, length, epoch: COMMITTED })
}

fn encode_near(record_size: u32, near: &Near, out: &mut Vec<u8>) {
    out.push(NEAR_ARRAY);
    bytes::put(record_size.into(), out);
    bytes::put_runs(&near.runs, out);
    let held = near.slice((near.runs.start(), near.runs.end()), record_size as usize);
    out.extend_from_slice(held.unwrap_or_default());
}

fn record_size(reader: &mut Reader<'_>) -> Result<u32> {
    u32::try_from(reader.number()?).ok().filter(|size| *size > 0).ok_or_else(Reader::corrupt)
}

fn decode_near(reader: &mut Reader<'_>) -> Result<Array> {
    let record_size = record_size(reader)?;
    let runs = bytes::runs(reader)?;
    let held = reader.rest();
    let wanted = (runs.end() - runs.start()).checked_mul(record_size.into());
    if runs.is_empty() || wanted != Some(held.len() as u64) {
        return Err(Reader::corrupt());
    }
    let near = Near { start: runs.start(), bytes: held.to_vec(), runs };
    Ok(Array { record_size, near: Some(near), extents: Vec::new() })
}

fn encode_far(array: &Array, out: &mut Vec<u8>) {
    let has_sums = array.extents.iter().any(|extent| !extent.sums.is_empty());
    out.push(if has_sums { FAR_ARRAY_SUMS } else { FAR_ARRAY });
    bytes::put(array.record_size.into(), out);
    bytes::put(array.extents.len() as u64, out);
    for extent in &array.extents {
        bytes::put(extent.start, out);
        bytes::put(extent.end - extent.start, out);
        bytes::put(extent.at, out);
        if extent.runs.as_slice() == [(extent.start, extent.end)] {
            bytes::put(0, out);
        } else {
            bytes::put_runs(&extent.runs, out);
        }
        if has_sums {
            bytes::put(extent.sums.len() as u64, out);
            out.extend(extent.sums.iter().flat_map(|sum| sum.to_le_bytes()));
        }
    }
}

fn decode_far(reader: &mut Reader<'_>, has_sums: bool) -> Result<Array> {
    let record_size = record_size(reader)?;
    let mut array = Array::new(record_size);
    for _ in 0..reader.count()? {
        let mut extent = decode_extent(reader, record_size)?;
        if has_sums {
            extent.sums = decode_sums(reader, Grid::new(record_size).count(extent.start, extent.end))?;
        }
        if array.extents.last().is_some_and(|last| last.end > extent.start) {
            return Err(Reader::corrupt());
        }
        array.extents.push(extent);
    }
    if array.extents.is_empty() { Err(Reader::corrupt()) } else { Ok(array) }
}

fn decode_extent(reader: &mut Reader<'_>, record_size: u32) -> Result<Extent> {
    let (start, count, at) = (reader.number()?, reader.number()?, reader.number()?);
    let end = start.checked_add(count).ok_or_else(Reader::corrupt)?;
    place(at, count.checked_mul(record_size.into()).ok_or_else(Reader::corrupt)?)?;
    let stored = bytes::runs(reader)?;
    let runs = if stored.is_empty() && count > 0 { Runs::one(start, end) } else { stored };
    if runs.start() < start || runs.end() > end || runs.is_empty() {
        return Err(Reader::corrupt());
    }
    Ok(Extent { start, end, at, epoch: COMMITTED, runs, sums: Vec::new() })
}

/// Returns the checksums of an extent of so many blocks: all, or none where an older program wrote it.
fn decode_sums(reader: &mut Reader<'_>, blocks: u64) -> Result<Vec<Sum>> {
    let count = reader.count()?;
    if count > 0 && count as u64 != blocks {
        return Err(Reader::corrupt());
    }
    (0..count).map(|_| reader.sum()).collect()
}
