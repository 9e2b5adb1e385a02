//! Serialized selections, as region references and virtual dataset mappings hold them (format spec VIII.A).

use super::{Axis, Points, Regular, Selection};
use crate::bytes::{Cursor, Put};
use crate::dataspace::{RANK_MAX, UNLIMITED};
use crate::{Error, Limits, Result, Within};

const NONE: u32 = 0;
const POINTS: u32 = 1;
const HYPERSLAB: u32 = 2;
const ALL: u32 = 3;

/// Which libraries have to read the bytes: the oldest of them decides the form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SelectionVersion {
    /// HDF5 1.8 and before, where the selection can be said so.
    V18,
    /// HDF5 1.10: regular hyperslabs stay regular.
    V110,
    /// HDF5 1.12 and later: numbers as wide as needed.
    V112,
}

impl Selection {
    /// Returns a selection and the bytes it used. `rank` is what the extent has, where the caller knows it.
    pub fn decode(bytes: &[u8], rank: Option<usize>, limits: &Limits) -> Result<(Self, usize)> {
        let mut cursor = Cursor::new(bytes, "selection");
        let (class, version) = (cursor.u32()?, cursor.u32()?);
        let decoder = Decoder { rank, limits };
        let selection = match (class, version) {
            (NONE, 1) => cursor.skip(8).map(|()| Selection::None),
            (ALL, 1) => cursor.skip(8).map(|()| Selection::All),
            (POINTS, 1 | 2) => decoder.points(&mut cursor, version),
            (HYPERSLAB, 1) => decoder.blocks(&mut cursor, 1, 4),
            (HYPERSLAB, 2 | 3) => decoder.hyperslab(&mut cursor, version),
            (class, version) => Err(cursor.corrupt(format!("class {class} version {version}"))),
        }?;
        Ok((selection, cursor.position()))
    }

    /// Returns the bytes of the selection in the form that `version` has for it.
    pub fn encode(&self, version: SelectionVersion) -> Result<Vec<u8>> {
        match &self.merged()? {
            Selection::None => Ok(words(&[NONE, 1, 0, 0])),
            Selection::All => Ok(words(&[ALL, 1, 0, 0])),
            Selection::Points(points) => encode_points(points, version),
            Selection::Regular(regular) => encode_regular(self, regular, version),
            Selection::Irregular(tree) => {
                let tree = tree.tree()?;
                let highest = tree.high.iter().copied().max().unwrap_or(0);
                let blocks = self.block_count(&tree.high)?;
                let version =
                    if version == SelectionVersion::V112 || !fits_u32(blocks.max(highest)) { 3 } else { 1 };
                encode_blocks(self, tree.low.len(), blocks, highest, version)
            }
        }
    }
}

struct Decoder<'l> {
    rank: Option<usize>,
    limits: &'l Limits,
}

impl Decoder<'_> {
    fn rank(&self, cursor: &mut Cursor<'_>) -> Result<usize> {
        let rank = cursor.u32()? as usize;
        if rank == 0 || rank > RANK_MAX || self.rank.is_some_and(|expected| expected != rank) {
            return Err(cursor.corrupt(format!("rank {rank}")));
        }
        Ok(rank)
    }

    /// Returns a number of items that the rest of the bytes can hold, `item_bytes` each.
    fn count(&self, cursor: &mut Cursor<'_>, width: usize, item_bytes: usize) -> Result<usize> {
        let count = cursor.uint(width)?.within(self.limits.selection_blocks_max, "selection")?;
        match count.checked_mul(item_bytes) {
            Some(bytes) if bytes <= cursor.remaining() => Ok(count),
            _ => Err(cursor.corrupt(format!("{count} items in {} bytes", cursor.remaining()))),
        }
    }

    fn points(&self, cursor: &mut Cursor<'_>, version: u32) -> Result<Selection> {
        let width = match version {
            1 => cursor.skip(8).map(|()| 4)?,
            _ => width(cursor)?,
        };
        let rank = self.rank(cursor)?;
        let count = self.count(cursor, width, rank * width)?;
        let coords = numbers(cursor, count * rank, width)?;
        Selection::points(rank, coords).map_err(|e| cursor.corrupt("points").because(e))
    }

    /// Versions 2 and 3 after the version field.
    fn hyperslab(&self, cursor: &mut Cursor<'_>, version: u32) -> Result<Selection> {
        let is_regular = cursor.u8()? & 1 != 0;
        let width = match version {
            2 => cursor.skip(4).map(|()| 8)?,
            _ => width(cursor)?,
        };
        match (is_regular, version) {
            (true, _) => self.regular(cursor, width),
            (false, 3) => self.blocks(cursor, 3, width),
            (false, _) => Err(cursor.corrupt("irregular hyperslab of version 2")),
        }
    }

    fn regular(&self, cursor: &mut Cursor<'_>, width: usize) -> Result<Selection> {
        let rank = self.rank(cursor)?;
        let mut columns = [const { Vec::new() }; 4];
        for _ in 0..rank {
            for (n, column) in columns.iter_mut().enumerate() {
                let value = cursor.uint(width)?;
                // Only count and block can be unlimited; all ones of their width say so.
                let is_unlimited = n >= 2 && value == all_ones(width);
                column.push(if is_unlimited { UNLIMITED } else { value });
            }
        }
        let [start, stride, count, block] = &columns;
        Selection::hyperslab(start, stride, count, block).map_err(|e| cursor.corrupt("hyperslab").because(e))
    }

    fn blocks(&self, cursor: &mut Cursor<'_>, version: u32, width: usize) -> Result<Selection> {
        if version == 1 {
            cursor.skip(8)?;
        }
        let rank = self.rank(cursor)?;
        let count = self.count(cursor, width, 2 * rank * width)?;
        let corners = numbers(cursor, count * 2 * rank, width)?;
        let union = Selection::union_within(rank, &corners, self.limits.selection_blocks_max);
        union
            .map_err(|e| if e.kind() == crate::Kind::Limit { e } else { cursor.corrupt("blocks").because(e) })
    }
}

/// Version 3 of hyperslabs and 2 of points say how wide their numbers are.
fn width(cursor: &mut Cursor<'_>) -> Result<usize> {
    match cursor.u8()? {
        width @ (2 | 4 | 8) => Ok(width.into()),
        width => Err(cursor.corrupt(format!("numbers of {width} bytes"))),
    }
}

fn numbers(cursor: &mut Cursor<'_>, count: usize, width: usize) -> Result<Vec<u64>> {
    let bytes = cursor.take(count * width)?;
    let number = |chunk: &[u8]| chunk.iter().rev().fold(0, |n, &byte| n << 8 | u64::from(byte));
    Ok(bytes.chunks_exact(width).map(number).collect())
}

fn all_ones(width: usize) -> u64 {
    u64::MAX >> (64 - 8 * width)
}

fn fits_u32(n: u64) -> bool {
    u32::try_from(n).is_ok()
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Returns the narrowest of the widths that the format has.
fn width_for(highest: u64) -> usize {
    match highest {
        0..=0xffff => 2,
        0x1_0000..=0xffff_ffff => 4,
        _ => 8,
    }
}

/// Type, version 1, and the length of what follows, which 32 bits must hold.
fn old_header(class: u32, rank: usize, count: u64, number_count: u64) -> Result<Vec<u8>> {
    let length = number_count.checked_mul(4).and_then(|n| n.checked_add(8)).filter(|&n| fits_u32(n));
    let (Some(length), true) = (length, fits_u32(count)) else {
        return Err(Error::unsupported("encode selection").with("problem", "too large for version 1"));
    };
    Ok(words(&[class, 1, 0, length as u32, rank as u32, count as u32]))
}

fn encode_points(points: &Points, version: SelectionVersion) -> Result<Vec<u8>> {
    let highest = points.high.iter().copied().max().unwrap_or(0).max(points.len() as u64);
    let rank = points.rank();
    let (mut out, width) = if version == SelectionVersion::V112 || !fits_u32(highest) {
        let width = width_for(highest);
        let mut out = words(&[POINTS, 2]);
        out.push(width as u8);
        out.put_uint(rank as u64, 4);
        out.put_uint(points.len() as u64, width);
        (out, width)
    } else {
        (old_header(POINTS, rank, points.len() as u64, points.coords().len() as u64)?, 4)
    };
    points.coords().iter().for_each(|&x| out.put_uint(x, width));
    Ok(out)
}

fn encode_regular(selection: &Selection, regular: &Regular, version: SelectionVersion) -> Result<Vec<u8>> {
    if version == SelectionVersion::V112 {
        return Ok(regular_v3(regular));
    }
    if regular.is_unlimited() {
        return Ok(regular_v2(regular));
    }
    let highest = regular.axes().iter().map(Axis::last).max().unwrap_or(0);
    let blocks = regular.blocks();
    // Below four blocks the list is the shorter form.
    if !fits_u32(highest.max(blocks)) || (version == SelectionVersion::V110 && blocks >= 4) {
        return Ok(regular_v2(regular));
    }
    encode_blocks(selection, regular.axes().len(), blocks, highest, 1)
}

fn put_axes(out: &mut Vec<u8>, axes: &[Axis], width: usize) {
    for axis in axes {
        for value in [axis.start, axis.stride, axis.count, axis.block] {
            out.put_uint(value, width);
        }
    }
}

fn regular_v2(regular: &Regular) -> Vec<u8> {
    let rank = regular.axes().len() as u64;
    let mut out = words(&[HYPERSLAB, 2]);
    out.push(1);
    out.put_uint(4 + 32 * rank, 4);
    out.put_uint(rank, 4);
    put_axes(&mut out, regular.axes(), 8);
    out
}

/// All ones of the width mean unlimited, so a count or block must stay below them.
fn regular_v3(regular: &Regular) -> Vec<u8> {
    let bounded = |n: u64| if n == UNLIMITED { 0 } else { n + 1 };
    let needs = |axis: &Axis| bounded(axis.count).max(bounded(axis.block)).max(axis.start).max(axis.stride);
    let width = width_for(regular.axes().iter().map(needs).max().unwrap_or(0));
    let mut out = words(&[HYPERSLAB, 3]);
    out.extend([1, width as u8]);
    out.put_uint(regular.axes().len() as u64, 4);
    put_axes(&mut out, regular.axes(), width);
    out
}

fn encode_blocks(
    selection: &Selection,
    rank: usize,
    blocks: u64,
    highest: u64,
    version: u32,
) -> Result<Vec<u8>> {
    let (mut out, width) = if version == 1 {
        let number_count = blocks.saturating_mul(2 * rank as u64);
        (old_header(HYPERSLAB, rank, blocks, number_count)?, 4)
    } else {
        let width = width_for(highest.max(blocks));
        let mut out = words(&[HYPERSLAB, 3]);
        out.extend([0, width as u8]);
        out.put_uint(rank as u64, 4);
        out.put_uint(blocks, width);
        (out, width)
    };
    // The blocks of a bounded selection do not depend on the extent, only its rank is looked at.
    for (low, high) in selection.blocks(&vec![0; rank])? {
        low.iter().chain(&high).for_each(|&x| out.put_uint(x, width));
    }
    Ok(out)
}
