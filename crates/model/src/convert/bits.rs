//! Bits of a number in the bytes of its element: at most 16 bytes, as one `u128`.

use crate::datatype::{BitPad, Bits};
use crate::{ByteOrder, Datatype, Error, Result};

/// Elements of numbers may not be larger, unless they are copied or only swapped.
pub(super) const NUMBER_BYTES_MAX: u32 = 16;

/// The lowest `n` bits set.
pub(super) fn mask(n: u32) -> u128 {
    if n == 0 { 0 } else { u128::MAX >> (128 - n.min(128)) }
}

/// Where the bytes of an element go, checked once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    bytes: usize,
    order: ByteOrder,
}

impl Place {
    pub(super) fn new(size: u32, order: ByteOrder) -> Result<Place> {
        let odd = order == ByteOrder::Vax && !size.is_multiple_of(2);
        if size == 0 || size > NUMBER_BYTES_MAX || odd {
            return Err(Error::unsupported("convert number").with("bytes", size));
        }
        Ok(Place { bytes: size as usize, order })
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The bits of one element, which has exactly [`Place::bytes`] bytes.
    pub(super) fn load(&self, element: &[u8]) -> u128 {
        let mut raw = [0; 16];
        let low = &mut raw[..self.bytes];
        low.copy_from_slice(element);
        self.reorder(low);
        u128::from_le_bytes(raw)
    }

    pub(super) fn store(&self, value: u128, element: &mut [u8]) {
        element.copy_from_slice(&value.to_le_bytes()[..self.bytes]);
        self.reorder(element);
    }

    /// To and from least significant first; each order is its own inverse.
    fn reorder(&self, bytes: &mut [u8]) {
        match self.order {
            ByteOrder::Little => {}
            ByteOrder::Big => bytes.reverse(),
            ByteOrder::Vax => {
                bytes.reverse();
                bytes.chunks_exact_mut(2).for_each(<[u8]>::reverse);
            }
        }
    }
}

/// Refuses significant bits that lie outside their element.
pub(super) fn check(bits: &Bits) -> Result<Place> {
    let place = Place::new(bits.size, bits.order)?;
    let end = u32::from(bits.offset) + u32::from(bits.precision);
    if bits.precision == 0 || end > bits.size * 8 {
        let error = Error::invalid("convert number").with("bits", bits.precision);
        return Err(error.with("offset", bits.offset).with("bytes", bits.size));
    }
    Ok(place)
}

/// The bits below and above the significant ones, as the type wants them filled.
pub(super) fn padding(bits: &Bits) -> u128 {
    let fill = |pad, region| if pad == BitPad::One { region } else { 0 };
    let low = mask(u32::from(bits.offset));
    let end = mask(u32::from(bits.offset) + u32::from(bits.precision));
    fill(bits.low_pad, low) | fill(bits.high_pad, mask(bits.size * 8) & !end)
}

/// The byte order of a number, and the same type in the other order.
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
