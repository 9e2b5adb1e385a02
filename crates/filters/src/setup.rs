//! Client values for new datasets, computed as libhdf5 does when it creates one.
//!
//! Pure functions from plain descriptions of type and chunk to the values of a pipeline entry.

use crate::error::{Error, Origin};
use crate::names::id;

const NBIT: Origin = Origin(id::NBIT);
const SCALE_OFFSET: Origin = Origin(id::SCALEOFFSET);
const SZIP: Origin = Origin(id::SZIP);
const SCALE_OFFSET_VALUES: usize = 20;
const SCALE_OFFSET_FILL_AT: usize = 8;
const DEPTH_MAX: usize = 64;

const SZIP_ALLOW_K13: u32 = 1;
const SZIP_ENTROPY: u32 = 4;
const SZIP_LSB: u32 = 8;
const SZIP_MSB: u32 = 16;
const SZIP_NEAREST_NEIGHBOUR: u32 = 32;
const SZIP_RAW: u32 = 128;
const SZIP_BLOCK_MAX: u32 = 32;
const SZIP_BLOCKS_PER_SCANLINE: u64 = 128;
const SZIP_SCANLINE_MAX: u64 = 4096;

/// An integer or float, as far as filters care.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Number {
    /// Bytes of one number.
    pub size: u32,
    /// Most significant byte first.
    pub big_endian: bool,
    /// Significant bits.
    pub precision: u32,
    /// Position of the lowest significant bit.
    pub bit_offset: u32,
}

impl Number {
    fn is_full(&self) -> bool {
        self.bit_offset == 0 && u64::from(self.precision) == u64::from(self.size) * 8
    }
}

/// A datatype, as far as n-bit cares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Type {
    /// Integer or float.
    Number(Number),
    /// Array of `size` bytes in all.
    Array {
        /// Bytes of the whole array.
        size: u32,
        /// Type of its elements.
        base: Box<Type>,
    },
    /// Compound.
    Compound {
        /// Bytes of the whole compound.
        size: u32,
        /// Byte offset and type of each member, in offset order.
        members: Vec<(u32, Type)>,
    },
    /// Variable-length sequence; inside a compound it takes the space up to the next member.
    Sequence {
        /// Bytes of one element.
        size: u32,
    },
    /// Anything else: stored as it is.
    Other {
        /// Bytes of one element.
        size: u32,
    },
}

/// Returns the values of shuffle for elements of this many bytes.
pub fn shuffle(element_bytes: u32) -> [u32; 1] {
    [element_bytes]
}

/// Returns the values of n-bit for chunks of `chunk_elements`.
pub fn nbit(element: &Type, chunk_elements: u32) -> Result<Vec<u32>, Error> {
    let mut tree = Tree { values: vec![0, 0, chunk_elements], is_full: true };
    if !matches!(element, Type::Sequence { .. } | Type::Other { .. }) {
        tree.push(element, 0)?;
    }
    tree.values[0] = u32::try_from(tree.values.len()).map_err(|_| NBIT.invalid("type is too large"))?;
    tree.values[1] = u32::from(tree.is_full);
    Ok(tree.values)
}

struct Tree {
    values: Vec<u32>,
    /// No number so far has unused bits.
    is_full: bool,
}

impl Tree {
    fn push(&mut self, node: &Type, depth: usize) -> Result<(), Error> {
        if depth > DEPTH_MAX {
            return Err(NBIT.invalid("type is nested too deeply"));
        }
        match node {
            Type::Number(number) => self.push_number(number),
            Type::Array { size, base } => {
                self.values.extend([2, *size]);
                self.push(base, depth + 1)
            }
            Type::Compound { size, members } => self.push_compound(*size, members, depth),
            Type::Sequence { size } | Type::Other { size } => {
                self.values.extend([4, *size]);
                Ok(())
            }
        }
    }

    fn push_number(&mut self, number: &Number) -> Result<(), Error> {
        let end = u64::from(number.precision) + u64::from(number.bit_offset);
        if number.precision == 0 || end > u64::from(number.size) * 8 {
            return Err(NBIT.invalid(format!("{number:?}")));
        }
        self.is_full &= number.is_full();
        let order = u32::from(number.big_endian);
        self.values.extend([1, number.size, order, number.precision, number.bit_offset]);
        Ok(())
    }

    fn push_compound(&mut self, size: u32, members: &[(u32, Type)], depth: usize) -> Result<(), Error> {
        self.values.extend([3, size, members.len() as u32]);
        for (index, (offset, member)) in members.iter().enumerate() {
            self.values.push(*offset);
            if let Type::Sequence { .. } = member {
                let next = members.get(index + 1).map_or(size, |(next, _)| *next);
                self.values.extend([4, next.saturating_sub(*offset)]);
            } else {
                self.push(member, depth + 1)?;
            }
        }
        Ok(())
    }
}

/// How scale-offset turns numbers into codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Integers; bits per code, 0 = as few as needed.
    Integer {
        /// The type has a sign.
        signed: bool,
        /// Bits per code.
        bits: u32,
    },
    /// Floats rounded to this many decimal digits.
    Float {
        /// Decimal digits after the point.
        digits: i32,
    },
}

/// Returns the values of scale-offset. `fill` is the fill value as stored in the file, or `None` if it is undefined.
pub fn scale_offset(
    scale: Scale,
    number: &Number,
    chunk_elements: u32,
    fill: Option<&[u8]>,
) -> Result<Vec<u32>, Error> {
    let (kind, factor, class, sign) = match scale {
        Scale::Integer { signed, bits } => (2, bits, 0, u32::from(signed)),
        Scale::Float { digits } => (0, digits as u32, 1, 0),
    };
    let fits = match scale {
        Scale::Integer { bits, .. } => matches!(number.size, 1 | 2 | 4 | 8) && bits <= number.size * 8,
        Scale::Float { .. } => matches!(number.size, 4 | 8),
    };
    if !fits || fill.is_some_and(|fill| fill.len() != number.size as usize) {
        return Err(SCALE_OFFSET.incompressible(format!("{scale:?} for {number:?}")));
    }
    let order = u32::from(number.big_endian);
    let defined = u32::from(fill.is_some());
    let mut values = vec![kind, factor, chunk_elements, class, number.size, sign, order, defined];
    values.resize(SCALE_OFFSET_VALUES, 0);
    if let Some(fill) = fill {
        values[SCALE_OFFSET_FILL_AT..SCALE_OFFSET_FILL_AT + 2]
            .copy_from_slice(&words(fill, number.big_endian));
    }
    Ok(values)
}

/// Returns up to 8 bytes as two words, low word first.
fn words(bytes: &[u8], big_endian: bool) -> [u32; 2] {
    let mut wide = [0; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    if big_endian {
        wide[..bytes.len()].reverse();
    }
    let value = u64::from_le_bytes(wide);
    [value as u32, (value >> 32) as u32]
}

/// Coding method of szip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    /// Entropy coding of the pixels themselves.
    Entropy,
    /// Entropy coding of differences.
    NearestNeighbour,
}

/// Returns the values of szip for numbers in chunks of this shape.
pub fn szip(
    coding: Coding,
    block_pixels: u32,
    number: &Number,
    chunk_shape: &[u64],
) -> Result<[u32; 4], Error> {
    if block_pixels == 0 || !block_pixels.is_multiple_of(2) || block_pixels > SZIP_BLOCK_MAX {
        return Err(SZIP.invalid(format!("blocks of {block_pixels} pixels")));
    }
    let coding = match coding {
        Coding::Entropy => SZIP_ENTROPY,
        Coding::NearestNeighbour => SZIP_NEAREST_NEIGHBOUR,
    };
    let order = if number.big_endian { SZIP_MSB } else { SZIP_LSB };
    let mask = coding | order | SZIP_RAW | SZIP_ALLOW_K13;
    let scanline = szip_scanline(u64::from(block_pixels), chunk_shape)?;
    Ok([mask, block_pixels, szip_pixel_bits(number)?, scanline])
}

fn szip_pixel_bits(number: &Number) -> Result<u32, Error> {
    let full = number.size.saturating_mul(8);
    match if number.bit_offset == 0 { number.precision } else { full } {
        bits @ 1..=24 => Ok(bits),
        25..=32 => Ok(32),
        33..=64 => Ok(64),
        bits => Err(SZIP.incompressible(format!("pixels of {bits} bits"))),
    }
}

fn szip_scanline(block: u64, chunk_shape: &[u64]) -> Result<u32, Error> {
    let pixels = chunk_shape.iter().fold(1u64, |product, dim| product.saturating_mul(*dim));
    let longest = block * SZIP_BLOCKS_PER_SCANLINE;
    let scanline = match chunk_shape.last().copied().unwrap_or(0) {
        _ if pixels < block => return Err(SZIP.incompressible("chunk smaller than a block")),
        short if short < block => longest.min(pixels),
        line if line <= SZIP_SCANLINE_MAX => longest.min(line),
        _ => longest,
    };
    Ok(scanline as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(size: u32, big_endian: bool, precision: u32, bit_offset: u32) -> Number {
        Number { size, big_endian, precision, bit_offset }
    }

    #[test]
    fn nbit_values_are_those_of_libhdf5() {
        let five = Type::Number(number(2, false, 5, 3));
        assert_eq!(nbit(&five, 4).unwrap(), [8, 0, 4, 1, 2, 0, 5, 3]);
        let full = Type::Number(number(4, false, 32, 0));
        assert_eq!(nbit(&full, 50).unwrap(), [8, 1, 50, 1, 4, 0, 32, 0]);
        assert_eq!(nbit(&Type::Other { size: 3 }, 9).unwrap(), [3, 1, 9]);
        let array = Type::Array { size: 4, base: Box::new(five.clone()) };
        let members = vec![(0, five), (2, Type::Other { size: 1 }), (4, array)];
        let expected = [23, 0, 4, 3, 8, 3, 0, 1, 2, 0, 5, 3, 2, 4, 1, 4, 2, 4, 1, 2, 0, 5, 3];
        assert_eq!(nbit(&Type::Compound { size: 8, members }, 4).unwrap(), expected);
    }

    #[test]
    fn sequence_in_a_compound_takes_the_space_to_the_next_member() {
        let members = vec![(0, Type::Sequence { size: 16 }), (24, Type::Number(number(1, false, 3, 0)))];
        let values = nbit(&Type::Compound { size: 32, members }, 1).unwrap();
        assert_eq!(values[3..], [3, 32, 2, 0, 4, 24, 24, 1, 1, 0, 3, 0]);
    }

    #[test]
    fn scale_offset_values_are_those_of_libhdf5() {
        let short = number(2, true, 16, 0);
        let values = scale_offset(Scale::Integer { signed: true, bits: 0 }, &short, 12, Some(&[0xff, 0xfe]));
        let values = values.unwrap();
        assert_eq!(values[..9], [2, 0, 12, 0, 2, 1, 1, 1, 65534]);
        assert_eq!(values.len(), 20);
        let float = scale_offset(Scale::Float { digits: 3 }, &number(4, false, 32, 0), 12, None).unwrap();
        assert_eq!(float[..9], [0, 3, 12, 1, 4, 0, 0, 0, 0]);
    }

    #[test]
    fn szip_values_are_those_of_libhdf5() {
        let float = number(4, true, 32, 0);
        let near = Coding::NearestNeighbour;
        assert_eq!(szip(near, 4, &float, &[4, 3]).unwrap(), [177, 4, 32, 12]);
        assert_eq!(szip(near, 8, &number(8, false, 64, 0), &[25, 50]).unwrap(), [169, 8, 64, 50]);
        assert_eq!(szip(Coding::Entropy, 4, &number(4, false, 32, 0), &[10, 5]).unwrap(), [141, 4, 32, 5]);
        assert!(szip(near, 32, &float, &[5, 3]).is_err());
    }
}
