//! Bits of a number in the bytes of its element: at most 16 bytes, as one `u128`.

use crate::datatype::{BitPad, Bits};
use crate::{ByteOrder, Datatype, Error, Result};

/// Elements of numbers may not be larger, unless they are copied or only swapped.
pub(super) const NUMBER_BYTES_MAX: u32 = 16;

/// Returns the lowest `n` bits set.
pub(super) fn mask(n: u32) -> u128 {
    if n == 0 { 0 } else { u128::MAX >> (128 - n.min(128)) }
}

/// The target position of each byte of an element, checked once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BytePosition {
    bytes: usize,
    order: ByteOrder,
}

impl BytePosition {
    pub(super) fn new(size: u32, order: ByteOrder) -> Result<BytePosition> {
        let odd = order == ByteOrder::Vax && !size.is_multiple_of(2);
        if size == 0 || size > NUMBER_BYTES_MAX || odd {
            return Err(Error::unsupported("convert number").with("bytes", size));
        }
        Ok(BytePosition { bytes: size as usize, order })
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the bits of one element, which has exactly [`BytePosition::bytes`] bytes.
    pub(super) fn load(&self, element: &[u8]) -> u128 {
        // The usual sizes apart: a `memcpy` of unknown length costs more than the number.
        let value = match *element {
            [a] => u128::from(a),
            [a, b] => u128::from(u16::from_le_bytes([a, b])),
            [a, b, c, d] => u128::from(u32::from_le_bytes([a, b, c, d])),
            [a, b, c, d, e, f, g, h] => u128::from(u64::from_le_bytes([a, b, c, d, e, f, g, h])),
            _ => {
                let mut raw = [0; 16];
                raw[..self.bytes].copy_from_slice(element);
                u128::from_le_bytes(raw)
            }
        };
        self.reorder(value)
    }

    pub(super) fn store(&self, value: u128, element: &mut [u8]) {
        let raw = self.reorder(value).to_le_bytes();
        match element {
            [a] => *a = raw[0],
            [a, b] => [*a, *b] = [raw[0], raw[1]],
            [a, b, c, d] => [*a, *b, *c, *d] = [raw[0], raw[1], raw[2], raw[3]],
            _ => element.copy_from_slice(&raw[..self.bytes]),
        }
    }

    /// To and from least significant first; each order is its own inverse.
    fn reorder(&self, value: u128) -> u128 {
        const LOW_OF_WORDS: u128 = u128::MAX / 0xffff * 0xff;
        let reversed = value.swap_bytes() >> (128 - 8 * self.bytes);
        match self.order {
            ByteOrder::Little => value,
            ByteOrder::Big => reversed,
            ByteOrder::Vax => (reversed & LOW_OF_WORDS) << 8 | reversed >> 8 & LOW_OF_WORDS,
        }
    }
}

/// Refuses significant bits that lie outside their element.
pub(super) fn check(bits: &Bits) -> Result<BytePosition> {
    let place = BytePosition::new(bits.size, bits.order)?;
    let end = u32::from(bits.offset) + u32::from(bits.precision);
    if bits.precision == 0 || end > bits.size * 8 {
        let error = Error::invalid("convert number").with("bits", bits.precision);
        return Err(error.with("offset", bits.offset).with("bytes", bits.size));
    }
    Ok(place)
}

/// Returns the bits below and above the significant ones, as the type wants them filled.
pub(super) fn padding(bits: &Bits) -> u128 {
    let fill = |pad, region| if pad == BitPad::One { region } else { 0 };
    let low = mask(u32::from(bits.offset));
    let end = mask(u32::from(bits.offset) + u32::from(bits.precision));
    fill(bits.low_pad, low) | fill(bits.high_pad, mask(bits.size * 8) & !end)
}

/// Returns the byte order of a number, and the same type in the other order.
pub(super) fn other_order(t: &Datatype) -> Option<Datatype> {
    let mut other = t.clone();
    let order = match &mut other {
        Datatype::Integer(t) => &mut t.bits.order,
        Datatype::Bitfield(t) => &mut t.order,
        Datatype::Float(t) => &mut t.bits.order,
        Datatype::Time(t) => &mut t.order,
        _ => return None,
    };
    *order = match *order {
        ByteOrder::Little => ByteOrder::Big,
        ByteOrder::Big => ByteOrder::Little,
        ByteOrder::Vax => return None,
    };
    Some(other)
}
