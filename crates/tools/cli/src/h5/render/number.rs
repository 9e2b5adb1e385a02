//! Numbers out of stored bytes.

use hyperslab::vol::model::ByteOrder;
use hyperslab::vol::model::datatype::{Bits, Float, Integer, Normalization};

use super::real::Real;

/// Returns the bytes of a number as one integer; `None` where it is wider than 128 bits.
fn word(bytes: &[u8], order: ByteOrder) -> Option<u128> {
    if bytes.len() > 16 {
        return None;
    }
    let mut little = [0u8; 16];
    for (i, descriptor) in little[..bytes.len()].iter_mut().enumerate() {
        *descriptor = bytes[place(i, bytes.len(), order)];
    }
    Some(u128::from_le_bytes(little))
}

/// Returns where the byte of significance `i` stands.
fn place(i: usize, len: usize, order: ByteOrder) -> usize {
    match order {
        ByteOrder::Little => i,
        ByteOrder::Big => len - 1 - i,
        // 16-bit words, most significant first, each with its low byte first.
        ByteOrder::Vax => (len - 1 - i) ^ 1,
    }
    .min(len - 1)
}

fn mask(bits: u32) -> u128 {
    if bits >= 128 { u128::MAX } else { (1 << bits) - 1 }
}

fn field(word: u128, position: u8, bits: u8) -> u128 {
    word.checked_shr(position.into()).unwrap_or(0) & mask(bits.into())
}

/// Returns the significant bits of a number.
pub(crate) fn significant(bits: &Bits, bytes: &[u8]) -> Option<u128> {
    let (offset, precision) = (usize::from(bits.offset), usize::from(bits.precision).min(128));
    if (offset + precision).div_ceil(8) > bytes.len() || bytes.is_empty() {
        return None;
    }
    let mut value = 0u128;
    for i in offset / 8..(offset + precision).div_ceil(8) {
        let byte = u128::from(bytes[place(i, bytes.len(), bits.order)]);
        let shift = i as i64 * 8 - offset as i64;
        value |= if shift < 0 { byte >> -shift } else { byte << shift };
    }
    Some(value & mask(precision as u32))
}

/// Returns the value of an integer.
pub(crate) fn integer(datatype: &Integer, bytes: &[u8]) -> Option<i128> {
    let raw = significant(&datatype.bits, bytes)?;
    let precision = u32::from(datatype.bits.precision);
    let negative = datatype.signed && precision > 0 && precision < 128 && raw >> (precision - 1) & 1 == 1;
    Some(if negative { (raw | !mask(precision)) as i128 } else { raw as i128 })
}

/// Returns the number of bytes of the machine's integer that holds `precision` bits.
pub(crate) fn native_integer_bytes(precision: u16) -> usize {
    match precision {
        0..=8 => 1,
        9..=16 => 2,
        17..=32 => 4,
        _ => 8,
    }
}

/// Bits of the mantissa of the widest machine float.
const LONG_DOUBLE_BITS: u32 = 64;

/// Returns the value of a float of any shape.
pub(crate) fn float(datatype: &Float, bytes: &[u8]) -> Option<Real> {
    let word = word(bytes, datatype.bits.order)?;
    let negative = field(word, datatype.sign_position, 1) == 1;
    // No exponent of any real type comes near; a broken type's must not overflow what follows.
    let exponent = field(word, datatype.exponent_position, datatype.exponent_bits).min(1 << 60) as i64;
    let mantissa = field(word, datatype.mantissa_position, datatype.mantissa_bits);
    if exponent as u128 == mask(datatype.exponent_bits.into()) && datatype.bits.order != ByteOrder::Vax {
        return Some(special(datatype, negative, mantissa));
    }
    let (mantissa, exponent) = scale_mantissa(datatype, mantissa, exponent);
    Some(real(negative, mantissa, exponent))
}

fn special(datatype: &Float, negative: bool, mantissa: u128) -> Real {
    let explicit = datatype.normalization != Normalization::Implied;
    let fraction = if explicit {
        mantissa & mask(u32::from(datatype.mantissa_bits).saturating_sub(1))
    } else {
        mantissa
    };
    let magnitude = if fraction == 0 { f64::INFINITY } else { f64::NAN };
    Real::Double(magnitude.copysign(if negative { -1.0 } else { 1.0 }))
}

/// Returns the mantissa as an integer, and the power of two that it is multiplied by.
fn scale_mantissa(datatype: &Float, mantissa: u128, exponent: i64) -> (u128, i64) {
    let bits = i64::from(datatype.mantissa_bits);
    let bias = i64::from(datatype.exponent_bias);
    match datatype.normalization {
        Normalization::Implied if exponent == 0 => (mantissa, 1 - bias - bits),
        Normalization::Implied => {
            (mantissa | 1u128.checked_shl(bits as u32).unwrap_or(0), exponent - bias - bits)
        }
        _ => (mantissa, exponent.max(1) - bias - (bits - 1)),
    }
}

fn real(negative: bool, mantissa: u128, exponent: i64) -> Real {
    let (mantissa, exponent) = round_to(mantissa, exponent, LONG_DOUBLE_BITS);
    let width = i64::from(128 - mantissa.leading_zeros());
    // Whole doubles: 53 bits, all at or above the smallest denormal, and below the largest power.
    let low = i64::from(mantissa.trailing_zeros()) + exponent;
    let fits = width - i64::from(mantissa.trailing_zeros()) <= 53 && low >= -1074 && width + exponent <= 1024;
    if mantissa == 0 || fits {
        return Real::Double(if negative { -double(mantissa, exponent) } else { double(mantissa, exponent) });
    }
    Real::Wide { negative, mantissa, exponent: exponent as i32 }
}

fn double(mantissa: u128, exponent: i64) -> f64 {
    if mantissa == 0 {
        return 0.0;
    }
    let shift = mantissa.trailing_zeros();
    // Two steps, so that neither power overflows on the way to a denormal.
    let power = exponent + i64::from(shift);
    let half = power / 2;
    (mantissa >> shift) as f64 * 2f64.powi(half as i32) * 2f64.powi((power - half) as i32)
}

/// At most `bits` bits of mantissa, to nearest, ties to even.
fn round_to(mantissa: u128, exponent: i64, bits: u32) -> (u128, i64) {
    let excess = (128 - mantissa.leading_zeros()).saturating_sub(bits);
    if excess == 0 {
        return (mantissa, exponent);
    }
    let kept = mantissa >> excess;
    let rest = mantissa & mask(excess);
    let half = 1u128 << (excess - 1);
    let up = rest > half || (rest == half && kept & 1 == 1);
    (kept + u128::from(up), exponent + i64::from(excess))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyperslab::vol::model::Datatype;

    fn float_of(datatype: &Datatype, bytes: &[u8]) -> Real {
        match datatype {
            Datatype::Float(f) => float(f, bytes).unwrap(),
            _ => Real::Double(f64::NAN),
        }
    }

    #[test]
    fn ieee_floats_come_out_exactly() {
        for x in [0.0, -1.5, f64::MIN_POSITIVE, 5e-324, f64::MAX, 0.1, f64::NEG_INFINITY] {
            let big = Datatype::ieee_f64(ByteOrder::Big);
            assert_eq!(float_of(&big, &x.to_be_bytes()), Real::Double(x));
        }
        let single = Datatype::ieee_f32(ByteOrder::Little);
        assert_eq!(float_of(&single, &1e-45f32.to_le_bytes()), Real::Double(f64::from(1e-45f32)));
        let half = Datatype::ieee_f16(ByteOrder::Little);
        assert_eq!(float_of(&half, &[0x00, 0xc0]), Real::Double(-2.0));
    }

    #[test]
    fn odd_integers_keep_sign_and_offset() {
        let mut bits = Bits::full(4, ByteOrder::Big);
        (bits.offset, bits.precision) = (3, 17);
        let datatype = Integer { bits, signed: true };
        let stored = ((-5i32 as u32) & 0x1_ffff) << 3;
        assert_eq!(integer(&datatype, &stored.to_be_bytes()), Some(-5));
    }
}
