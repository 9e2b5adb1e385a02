//! The client values of scale-offset, and numbers as it sees them.

use crate::error::{Error, Origin};
use crate::names::id;

const AT: Origin = Origin(id::SCALEOFFSET);
/// Word of the values where the fill value starts.
const FILL_AT: usize = 8;

/// How numbers become codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Integers; the number of bits per code, 0 = as few as possible.
    Integer { bits: u32 },
    /// Floats, rounded to this many decimal digits.
    Decimal { digits: i32 },
}

/// The decoded values of the filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) scale: Scale,
    pub(crate) elements: usize,
    pub(crate) element: Element,
    pub(crate) fill: Option<u64>,
}

/// Layout of one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Element {
    pub(crate) size: usize,
    pub(crate) signed: bool,
    pub(crate) big_endian: bool,
}

impl Element {
    pub(crate) fn bits(self) -> u32 {
        self.size as u32 * 8
    }

    /// Returns the raw bits of one stored number.
    pub(crate) fn load(self, bytes: &[u8]) -> u64 {
        let mut word = [0; 8];
        word[..self.size].copy_from_slice(bytes);
        if self.big_endian {
            word[..self.size].reverse();
        }
        u64::from_le_bytes(word)
    }

    /// `value` widened to 64 bits as its sign asks.
    pub(crate) fn extend(self, value: u64) -> u64 {
        let unused = 64 - self.bits();
        if self.signed { (((value << unused) as i64) >> unused) as u64 } else { value }
    }
}

impl Settings {
    pub(crate) fn parse(values: &[u32]) -> Result<Self, Error> {
        let [kind, factor, elements, class, size, sign, order, fill_defined, ..] = *values else {
            return Err(AT.invalid("fewer than 8 values"));
        };
        let scale = parse_scale(kind, factor as i32, class, size)?;
        if sign > 1 || order > 1 {
            return Err(AT.invalid("sign or byte order is neither 0 nor 1"));
        }
        let element = Element { size: size as usize, signed: sign == 1, big_endian: order == 1 };
        let fill = (fill_defined != 0).then(|| parse_fill(values, element));
        Ok(Self { scale, elements: elements as usize, element, fill })
    }

    /// Returns whether data is stored as it is, without a header. This is so for a user's factor of the full width.
    pub(crate) fn passes_through(&self) -> bool {
        self.scale == Scale::Integer { bits: self.element.bits() }
    }

    pub(crate) fn raw_bytes(&self) -> u64 {
        self.elements as u64 * self.element.size as u64
    }
}

fn parse_scale(kind: u32, factor: i32, class: u32, size: u32) -> Result<Scale, Error> {
    match (kind, class, size) {
        (0, 1, 4 | 8) => Ok(Scale::Decimal { digits: factor }),
        (1, ..) => Err(AT.unsupported("E-scaling is defined by no library")),
        (2, 0, 1 | 2 | 4 | 8) => {
            let bits = factor.max(0) as u32;
            if bits > size * 8 {
                return Err(AT.invalid(format!("{bits} bits for numbers of {size} bytes")));
            }
            Ok(Scale::Integer { bits })
        }
        _ => Err(AT.invalid(format!("scale type {kind} for class {class} of {size} bytes"))),
    }
}

fn parse_fill(values: &[u32], element: Element) -> u64 {
    let word = |i: usize| u64::from(values.get(FILL_AT + i).copied().unwrap_or(0));
    let bits = word(1) << 32 | word(0);
    bits & crate::bits::low_bits(element.bits())
}
