//! Headers of TIFF files with one picture.

use crate::answer::Failure;
use crate::elements::numpy::NumberType;

/// Types of values in a directory.
const SHORT: u16 = 3;
const LONG: u16 = 4;
/// The header, and the number of entries of the directory.
const START_BYTES: usize = 10;
/// Bytes of an entry.
const ENTRY_BYTES: usize = 12;
/// Where the next directory is: there is none.
const END_BYTES: usize = 4;
/// The number of entries.
const ENTRIES: usize = 10;
/// The file before the elements, which begin at an even place.
const HEADER_BYTES: usize = START_BYTES + ENTRIES * ENTRY_BYTES + END_BYTES;

/// A picture: its shape, and the numbers it is made of.
#[derive(Debug)]
pub(crate) struct Frame {
    is_big_endian: bool,
    rows: u32,
    columns: u32,
    bits: u16,
    /// 1: unsigned, 2: signed, 3: floats.
    sample_format: u16,
    bytes: u32,
}

impl Frame {
    /// Returns the picture of numbers in this shape.
    ///
    /// # Errors
    /// Returns a failure with the status 422 if it has not one or two dimensions, or if TIFF has no such numbers.
    pub(crate) fn new(numbers: &NumberType, shape: &[u64]) -> Result<Self, Failure> {
        let (rows, columns) = match shape {
            [] => return Err(super::data::no_scalars("tiff")),
            [columns] => (1, *columns),
            [rows, columns] => (*rows, *columns),
            _ => return Err(Failure::argument("A picture has one or two dimensions: select them")),
        };
        let sample_format = match numbers.dtype.as_bytes().get(1) {
            Some(b'u' | b'b') => 1,
            Some(b'i') => 2,
            Some(b'f') => 3,
            _ => return Err(Failure::argument("TIFF has no complex numbers")),
        };
        let large = |_| Failure::argument("A TIFF file has less than 4 GiB: select less");
        let each = numbers.dtype.get(2..).and_then(|bytes| bytes.parse::<u16>().ok()).unwrap_or(1);
        let bytes = rows.saturating_mul(columns).saturating_mul(u64::from(each));
        u32::try_from(bytes.saturating_add(HEADER_BYTES as u64)).map_err(large)?;
        Ok(Frame {
            is_big_endian: numbers.dtype.starts_with('>'),
            rows: u32::try_from(rows).map_err(large)?,
            columns: u32::try_from(columns).map_err(large)?,
            bits: each.saturating_mul(8),
            sample_format,
            bytes: u32::try_from(bytes).map_err(large)?,
        })
    }

    /// Returns what stands before the elements: the header and the only directory.
    pub(crate) fn header(&self) -> Vec<u8> {
        let mut out = if self.is_big_endian { b"MM".to_vec() } else { b"II".to_vec() };
        out.extend(self.short(42));
        out.extend(self.long(8));
        out.extend(self.short(ENTRIES as u16));
        for (tag, kind, value) in self.entries() {
            out.extend([self.short(tag), self.short(kind)].concat());
            out.extend(self.long(1));
            match kind {
                SHORT => out.extend([self.short(value as u16), [0; 2]].concat()),
                _ => out.extend(self.long(value)),
            }
        }
        out.extend([0; END_BYTES]);
        out
    }

    /// Returns tags in their order, their types and values: one strip, black is zero, not compressed.
    fn entries(&self) -> [(u16, u16, u32); ENTRIES] {
        [
            (256, LONG, self.columns),
            (257, LONG, self.rows),
            (258, SHORT, self.bits.into()),
            (259, SHORT, 1),
            (262, SHORT, 1),
            (273, LONG, HEADER_BYTES as u32),
            (277, SHORT, 1),
            (278, LONG, self.rows),
            (279, LONG, self.bytes),
            (339, SHORT, self.sample_format.into()),
        ]
    }

    fn short(&self, number: u16) -> [u8; 2] {
        if self.is_big_endian { number.to_be_bytes() } else { number.to_le_bytes() }
    }

    fn long(&self, number: u32) -> [u8; 4] {
        if self.is_big_endian { number.to_be_bytes() } else { number.to_le_bytes() }
    }
}
