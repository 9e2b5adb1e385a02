//! Selections from masks: one byte for each element of an extent, which is selected where the byte is not zero.

use std::sync::Arc;

use super::spans::{Builder, Node};
use super::{Selection, invalid};
use crate::{Result, dataspace};

/// Bytes that are compared with zero at a time.
const WORD: usize = 8;

/// The selected elements of some rows of a mask. Several threads can look at the rows of one mask.
#[derive(Debug)]
pub struct MaskRows(Option<Arc<Node>>);

impl MaskRows {
    /// Looks at the rows from `first` on, in the slowest dimension of an extent; `mask` has the bytes of whole rows.
    ///
    /// # Errors
    /// Returns an error of kind `Invalid` if the mask does not have whole rows, or too many of them.
    pub fn new(dims: &[u64], first: u64, mask: &[u8]) -> Result<MaskRows> {
        let wrong = || invalid("mask does not have the shape of the extent").with("bytes", mask.len());
        let (&rows, inner) = dims.split_first().ok_or_else(wrong)?;
        let row_bytes = dataspace::element_count(inner)?;
        let is_whole = row_bytes > 0 && (mask.len() as u64).is_multiple_of(row_bytes);
        let count = if is_whole { mask.len() as u64 / row_bytes } else { 0 };
        match (mask.is_empty(), is_whole && first.checked_add(count).is_some_and(|end| end <= rows)) {
            (true, _) => Ok(MaskRows(None)),
            (false, true) => Ok(MaskRows(node(inner, first, mask)?)),
            _ => Err(wrong()),
        }
    }
}

impl Selection {
    /// Returns the selection of all rows of a mask, in order.
    ///
    /// # Errors
    /// Returns an error of kind `Invalid` if rows come twice or in another order.
    pub fn from_mask_rows(parts: impl IntoIterator<Item = MaskRows>) -> Result<Selection> {
        let (mut builder, mut end) = (Builder::default(), 0);
        let nodes = parts.into_iter().filter_map(|part| Arc::into_inner(part.0?));
        for span in nodes.flat_map(|node| node.spans) {
            if span.low < end {
                return Err(invalid("rows of a mask are not in order").with("row", span.low));
            }
            end = span.high + 1;
            builder.push(span.low, span.high, span.down)?;
        }
        Ok(Self::from_node(builder.finish()))
    }
}

/// Returns the tree of rows whose elements have the extent `inner`, each with its own part of the mask.
fn node(inner: &[u64], first: u64, mask: &[u8]) -> Result<Option<Arc<Node>>> {
    let mut builder = Builder::default();
    let Some((_, below)) = inner.split_first() else {
        set_runs(mask, |start, end| builder.push(first + start as u64, first + end as u64 - 1, None))?;
        return Ok(builder.finish());
    };
    let row_bytes = inner.iter().product::<u64>() as usize;
    for (row, mask) in (first..).zip(mask.chunks_exact(row_bytes)) {
        if let Some(down) = node(below, 0, mask)? {
            builder.push(row, row, Some(down))?;
        }
    }
    Ok(builder.finish())
}

/// Calls `each` with start and end of every run of bytes that are not zero.
fn set_runs(mask: &[u8], mut each: impl FnMut(usize, usize) -> Result<()>) -> Result<()> {
    let mut at = 0;
    while let Some(start) = next(mask, at, |word| word, |byte| byte != 0) {
        let end = next(mask, start, zero_bytes, |byte| byte == 0).unwrap_or(mask.len());
        each(start, end)?;
        at = end;
    }
    Ok(())
}

/// Returns the first byte from `at` on that `is_wanted`. `marked` is not zero in a word that has one, and its lowest byte that
/// is not zero is that one.
fn next(
    mask: &[u8],
    at: usize,
    marked: impl Fn(u64) -> u64,
    is_wanted: impl Fn(u8) -> bool,
) -> Option<usize> {
    let (words, rest) = mask[at..].as_chunks::<WORD>();
    for (n, word) in words.iter().enumerate() {
        let marks = marked(u64::from_le_bytes(*word));
        if marks != 0 {
            return Some(at + n * WORD + marks.trailing_zeros() as usize / WORD);
        }
    }
    let rest_at = mask.len() - rest.len();
    rest.iter().position(|&byte| is_wanted(byte)).map(|n| rest_at + n)
}

/// Returns a word whose lowest byte that is not zero is where the first zero byte of `word` is.
fn zero_bytes(word: u64) -> u64 {
    const LOW: u64 = u64::from_le_bytes([0x01; WORD]);
    const HIGH: u64 = u64::from_le_bytes([0x80; WORD]);
    word.wrapping_sub(LOW) & !word & HIGH
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that look random, of which one in `one_in` is set.
    fn mask(len: u64, one_in: u64) -> Vec<u8> {
        let byte = |n: u64| u8::from((n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33).is_multiple_of(one_in));
        (0..len).map(|n| byte(n) * (1 + (n % 255) as u8)).collect()
    }

    fn selected(dims: &[u64], mask: &[u8], parts: usize) -> Selection {
        let row_bytes = mask.len() / dims[0] as usize;
        let rows = (dims[0] as usize).div_ceil(parts).max(1);
        let part = |(n, part): (usize, &[u8])| MaskRows::new(dims, (n * rows) as u64, part).unwrap();
        Selection::from_mask_rows(mask.chunks(rows * row_bytes).enumerate().map(part)).unwrap()
    }

    #[test]
    fn set_bytes_are_selected() {
        for (dims, one_in) in
            [(vec![1000], 3), (vec![40, 33], 1), (vec![7, 5, 9], 2), (vec![64, 16], 50), (vec![3, 3], 10_000)]
        {
            let mask = mask(dims.iter().product(), one_in);
            let elements = (0..mask.len()).filter(|&n| mask[n] != 0).map(|n| n as u64).collect::<Vec<_>>();
            for parts in [1, 2, 5] {
                let selection = selected(&dims, &mask, parts);
                let runs = selection.runs(&dims).unwrap();
                let found: Vec<u64> = runs.flat_map(|run| run.offset..run.offset + run.len).collect();
                assert_eq!(found, elements, "{dims:?} in {parts} parts");
            }
        }
    }

    #[test]
    fn a_mask_equals_the_union_of_its_blocks() {
        let (dims, mask) = ([2, 4], [0, 1, 1, 0, 0, 1, 1, 0]);
        assert_eq!(selected(&dims, &mask, 2), Selection::block(&[0, 1], &[2, 2]).unwrap());
        assert_eq!(selected(&dims, &[0; 8], 1), Selection::None);
    }

    #[test]
    fn a_mask_of_another_shape_is_refused() {
        assert!(MaskRows::new(&[2, 4], 0, &[1; 7]).is_err());
        assert!(MaskRows::new(&[2, 4], 1, &[1; 8]).is_err());
        assert!(MaskRows::new(&[], 0, &[1]).is_err());
        let rows = || MaskRows::new(&[2, 4], 0, &[1; 4]).unwrap();
        assert!(Selection::from_mask_rows([rows(), rows()]).is_err());
    }
}
