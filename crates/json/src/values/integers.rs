//! Whole numbers, bit fields and times.

use model::datatype::{BitPad, Bits};
use model::{ByteOrder, Datatype, Result};

use super::{raw_from_json, raw_to_json, unfit};
use crate::text::Value;

/// How the bits of an element are a number.
#[derive(Debug, Clone, Copy)]
pub(super) struct IntegerForm {
    bits: Bits,
    signed: bool,
}

impl IntegerForm {
    /// Of a type whose elements are whole numbers.
    pub(super) fn of(datatype: &Datatype) -> Option<IntegerForm> {
        Some(match datatype {
            Datatype::Integer(t) => IntegerForm { bits: t.bits, signed: t.signed },
            Datatype::Bitfield(bits) => IntegerForm { bits: *bits, signed: false },
            Datatype::Time(t) => IntegerForm {
                bits: Bits { precision: t.precision, ..Bits::full(t.size, t.order) },
                signed: true,
            },
            _ => return None,
        })
    }

    /// Returns whether a number of 64 bits holds it.
    fn is_short(&self) -> bool {
        let end = u32::from(self.bits.offset) + u32::from(self.bits.precision);
        self.bits.size <= 8 && self.bits.precision > 0 && end <= self.bits.size * 8
    }

    fn mask(&self) -> u64 {
        u64::MAX >> (64 - u32::from(self.bits.precision))
    }

    fn load(&self, bytes: &[u8]) -> u64 {
        let little = |n: u64, byte: &u8| n << 8 | u64::from(*byte);
        match self.bits.order {
            ByteOrder::Big => bytes.iter().fold(0, little),
            _ => bytes.iter().rev().fold(0, little),
        }
    }

    /// Returns the element whose significant bits these are, with padding as declared.
    fn store(&self, significant: u64) -> Vec<u8> {
        let all = u64::MAX >> (64 - self.bits.size * 8);
        let low = (1u64 << self.bits.offset) - 1;
        let high = all & !low & !(self.mask() << self.bits.offset);
        let ones = |pad, bits| if pad == BitPad::One { bits } else { 0 };
        let n = (significant & self.mask()) << self.bits.offset
            | ones(self.bits.low_pad, low)
            | ones(self.bits.high_pad, high);
        let mut bytes = n.to_le_bytes()[..self.bits.size as usize].to_vec();
        if self.bits.order == ByteOrder::Big {
            bytes.reverse();
        }
        bytes
    }

    pub(super) fn show(self, bytes: &[u8]) -> Value<'static> {
        if !self.is_short() || self.bits.order == ByteOrder::Vax {
            return raw_to_json(bytes);
        }
        let n = self.load(bytes) >> self.bits.offset & self.mask();
        if self.store(n) != bytes {
            return raw_to_json(bytes);
        }
        let unused = 64 - u32::from(self.bits.precision);
        if self.signed { ((n << unused).cast_signed() >> unused).into() } else { n.into() }
    }

    pub(super) fn parse(self, value: &Value<'_>) -> Result<Vec<u8>> {
        if let Some(bytes) = raw_from_json(value, self.bits.size as usize)? {
            return Ok(bytes);
        }
        let Value::Number(text) = value else { return Err(unfit("whole number", value)) };
        let number: i128 = text.parse().map_err(|_| unfit("whole number", value))?;
        let bits = u32::from(self.bits.precision);
        if !self.is_short() || self.bits.order == ByteOrder::Vax {
            return Err(unfit("bytes of a number without a JSON form", value));
        }
        let (min, max) = match self.signed {
            true => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
            false => (0, (1i128 << bits) - 1),
        };
        match (min..=max).contains(&number) {
            true => Ok(self.store(number as u64)),
            false => Err(unfit("number that fits", value)),
        }
    }
}

/// Returns a value of an enum, or its bytes where the type below is no number.
pub(crate) fn number_to_json(datatype: &Datatype, bytes: &[u8]) -> Value<'static> {
    match IntegerForm::of(datatype) {
        Some(whole) if bytes.len() == datatype.size() as usize => whole.show(bytes),
        _ => raw_to_json(bytes),
    }
}

/// Returns the bytes of [`number_to_json`].
pub(crate) fn number_from_json(datatype: &Datatype, value: &Value<'_>) -> Result<Vec<u8>> {
    let whole = IntegerForm::of(datatype).ok_or_else(|| unfit("value of an enum of whole numbers", value))?;
    whole.parse(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again(whole: IntegerForm, bytes: &[u8]) -> Value<'static> {
        let value = whole.show(bytes);
        assert_eq!(whole.parse(&value).unwrap(), bytes, "{value:?}");
        value
    }

    fn full(size: u32, signed: bool, order: ByteOrder) -> IntegerForm {
        IntegerForm { bits: Bits::full(size, order), signed }
    }

    #[test]
    fn numbers_beyond_53_bits_stay_exact() {
        let text = |value| if let Value::Number(text) = value { text } else { Default::default() };
        let whole = full(8, false, ByteOrder::Big);
        assert_eq!(text(again(whole, &u64::MAX.to_be_bytes())), "18446744073709551615");
        let whole = full(8, true, ByteOrder::Little);
        assert_eq!(text(again(whole, &i64::MIN.to_le_bytes())), "-9223372036854775808");
        assert_eq!(text(again(full(3, true, ByteOrder::Little), &[0xFE, 0xFF, 0xFF])), "-2");
    }

    #[test]
    fn odd_bits_and_their_padding_survive() {
        let bits = Bits { offset: 3, precision: 9, high_pad: BitPad::One, ..Bits::full(2, ByteOrder::Big) };
        for n in 0..=u16::MAX {
            again(IntegerForm { bits, signed: true }, &n.to_be_bytes());
        }
        again(full(16, false, ByteOrder::Little), &[7; 16]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for text in ["256", "-1", "1.5", "1e3", "\"0x0102\"", "\"7\"", "null"] {
            let value = crate::text::read(text).unwrap();
            assert!(full(1, false, ByteOrder::Little).parse(&value).is_err(), "{text}");
        }
    }
}
