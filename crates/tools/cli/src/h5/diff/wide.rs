//! Arithmetic of floats that are wider than a double.

use crate::h5::render::real::Real;

/// The smallest step from 1 of the widest machine float: 64 bits of mantissa.
pub(crate) const EPSILON: f64 = 1.084_202_172_485_504_4e-19;

/// Returns the sign, mantissa of at most 64 bits, and exponent; `None` for infinities and NaN.
fn parts(x: Real) -> Option<(bool, u128, i32)> {
    match x {
        Real::Wide { negative, mantissa, exponent } => Some((negative, mantissa, exponent)),
        Real::Double(x) if !x.is_finite() => None,
        Real::Double(x) => {
            let bits = x.to_bits();
            let (exponent, fraction) = ((bits >> 52 & 0x7ff) as i32, u128::from(bits & ((1 << 52) - 1)));
            let (mantissa, exponent) =
                if exponent == 0 { (fraction, -1074) } else { (fraction | 1 << 52, exponent - 1075) };
            let shift = if mantissa == 0 { 0 } else { mantissa.trailing_zeros() };
            Some((x.is_sign_negative(), mantissa >> shift, exponent + shift as i32))
        }
    }
}

/// Returns the nearest double.
pub(crate) fn double(x: Real) -> f64 {
    match x {
        Real::Double(x) => x,
        Real::Wide { negative, mantissa, exponent } => {
            let half = exponent / 2;
            let size = mantissa as f64 * 2f64.powi(half) * 2f64.powi(exponent - half);
            if negative { -size } else { size }
        }
    }
}

/// Returns the absolute value.
pub(crate) fn magnitude(x: Real) -> Real {
    match x {
        Real::Double(x) => Real::Double(super::number::magnitude(x)),
        Real::Wide { mantissa, exponent, .. } => Real::Wide { negative: false, mantissa, exponent },
    }
}

/// `a - b`; what a mantissa of 64 bits cannot hold is cut off.
pub(crate) fn difference(a: Real, b: Real) -> Real {
    let (Some(first), Some(second)) = (parts(a), parts(b)) else {
        return Real::Double(double(a) - double(b));
    };
    let exponent = first.2.min(second.2);
    let shifted = |(negative, mantissa, own): (bool, u128, i32)| -> Option<i128> {
        let shift = u32::try_from(own - exponent).ok()?;
        let size = i128::try_from(mantissa).ok()?;
        // Space for the sign and a carry.
        let fits = size == 0 || shift + 128 - size.leading_zeros() <= 126;
        fits.then(|| if size == 0 { 0 } else { size << shift }).map(|n| if negative { -n } else { n })
    };
    match (shifted(first), shifted(second)) {
        (Some(x), Some(y)) => {
            let n = x - y;
            Real::Wide { negative: n < 0, mantissa: n.unsigned_abs(), exponent }
        }
        // One is so much smaller that it leaves no trace.
        (None, _) => a,
        (_, None) => negated(b),
    }
}

fn negated(x: Real) -> Real {
    match x {
        Real::Double(x) => Real::Double(-x),
        Real::Wide { negative, mantissa, exponent } => Real::Wide { negative: !negative, mantissa, exponent },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_exact_where_they_fit() {
        assert_eq!(double(difference(Real::Double(2.75), Real::Double(2.5))), 0.25);
        assert_eq!(double(difference(Real::Double(-1.0), Real::Double(1.0))), -2.0);
        let one_and_a_bit = Real::Wide { negative: false, mantissa: (1 << 63) + 1, exponent: -63 };
        assert_eq!(double(difference(one_and_a_bit, Real::Double(1.0))), EPSILON);
        assert_eq!(double(difference(Real::Double(1e300), Real::Double(1e-300))), 1e300);
        assert!(double(difference(Real::Double(f64::INFINITY), Real::Double(f64::INFINITY))).is_nan());
    }
}
