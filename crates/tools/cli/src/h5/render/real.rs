//! Real numbers of any stored width, and their exact decimal digits.

/// A number as it will be printed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Real {
    /// A value that a double holds exactly.
    Double(f64),
    /// `mantissa * 2^exponent`, for what a double cannot hold.
    Wide { negative: bool, mantissa: u128, exponent: i32 },
}

/// Base of the big decimal digits: nine decimal places each.
const BASE: u64 = 1_000_000_000;

/// A non-negative decimal number: digits, and how many of them stand after the point.
struct Decimal {
    digits: Vec<u8>,
    fraction: usize,
}

impl Real {
    /// Returns whether the sign bit is set.
    pub(crate) fn is_negative(self) -> bool {
        match self {
            Real::Double(x) => x.is_sign_negative(),
            Real::Wide { negative, .. } => negative,
        }
    }

    /// Returns `nan`, `inf`, or nothing for a number.
    pub(crate) fn special(self) -> Option<&'static str> {
        match self {
            Real::Double(x) if x.is_nan() => Some("nan"),
            Real::Double(x) if x.is_infinite() => Some("inf"),
            _ => None,
        }
    }

    /// Returns the digits with one before the point and `precision` after it, and the power of ten. Without a sign.
    pub(crate) fn scientific(self, precision: usize) -> (String, i32) {
        match self {
            Real::Double(x) => {
                let text = format!("{:.*e}", precision, x.abs());
                let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
                (digits.replace('.', ""), exponent.parse().unwrap_or(0))
            }
            Real::Wide { mantissa, exponent, .. } => Decimal::new(mantissa, exponent).scientific(precision),
        }
    }

    /// Returns text with `precision` digits after the point. Without a sign.
    pub(crate) fn fixed(self, precision: usize) -> String {
        match self {
            Real::Double(x) => format!("{:.*}", precision, x.abs()),
            Real::Wide { mantissa, exponent, .. } => Decimal::new(mantissa, exponent).fixed(precision),
        }
    }
}

impl Decimal {
    fn new(mantissa: u128, exponent: i32) -> Self {
        let mut limbs = Vec::new();
        let mut rest = mantissa;
        while rest > 0 {
            limbs.push((rest % u128::from(BASE)) as u64);
            rest /= u128::from(BASE);
        }
        // A negative power of two is a power of five, with as many decimal places.
        let (factor, step) = if exponent >= 0 { (2u64, 29) } else { (5u64, 12) };
        let mut left = exponent.unsigned_abs();
        while left > 0 {
            let now = left.min(step);
            multiply(&mut limbs, factor.pow(now));
            left -= now;
        }
        let fraction = if exponent < 0 { exponent.unsigned_abs() as usize } else { 0 };
        Decimal { digits: digits_of(&limbs), fraction }
    }

    /// Keeps the first `count` digits, rounding to nearest, ties to even; one digit more where it carries over.
    fn rounded(&self, count: usize) -> Vec<u8> {
        let mut kept: Vec<u8> = self.digits.iter().copied().take(count).collect();
        kept.resize(count, 0);
        let tail = self.digits.get(count..).unwrap_or(&[]);
        let half = tail.first().copied().unwrap_or(0);
        let more = tail.iter().skip(1).any(|&d| d > 0);
        let odd = kept.last().is_some_and(|d| d % 2 == 1);
        if half > 5 || (half == 5 && (more || odd)) {
            increment(&mut kept);
        }
        kept
    }

    fn scientific(&self, precision: usize) -> (String, i32) {
        if self.digits.is_empty() {
            return ("0".repeat(precision + 1), 0);
        }
        let mut exponent = self.digits.len() as i32 - 1 - self.fraction as i32;
        let mut kept = self.rounded(precision + 1);
        if kept.len() > precision + 1 {
            kept.pop();
            exponent += 1;
        }
        (text_of(&kept), exponent)
    }

    fn fixed(&self, precision: usize) -> String {
        // Leading zeros so that there is a digit before the point.
        let zeros = (self.fraction + 1).saturating_sub(self.digits.len());
        let mut digits = vec![0; zeros];
        digits.extend_from_slice(&self.digits);
        let whole = digits.len() - self.fraction;
        let padded = Decimal { digits, fraction: self.fraction };
        let kept = padded.rounded(whole + precision);
        let whole = kept.len() - precision;
        let text = text_of(&kept);
        let trimmed = text[..whole].trim_start_matches('0');
        let head = if trimmed.is_empty() { "0" } else { trimmed };
        if precision == 0 { head.to_owned() } else { format!("{head}.{}", &text[whole..]) }
    }
}

fn multiply(limbs: &mut Vec<u64>, factor: u64) {
    let mut carry = 0;
    for limb in limbs.iter_mut() {
        let product = *limb * factor + carry;
        *limb = product % BASE;
        carry = product / BASE;
    }
    while carry > 0 {
        limbs.push(carry % BASE);
        carry /= BASE;
    }
}

fn digits_of(limbs: &[u64]) -> Vec<u8> {
    let text: String = limbs.iter().rev().map(|limb| format!("{limb:09}")).collect();
    text.trim_start_matches('0').bytes().map(|b| b - b'0').collect()
}

fn text_of(digits: &[u8]) -> String {
    digits.iter().map(|&d| char::from(b'0' + d)).collect()
}

fn increment(digits: &mut Vec<u8>) {
    for digit in digits.iter_mut().rev() {
        if *digit < 9 {
            *digit += 1;
            return;
        }
        *digit = 0;
    }
    digits.insert(0, 1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_numbers_agree_with_doubles() {
        for (mantissa, exponent, double) in
            [(3u128, -1, 1.5), (1, -20, 9.5367431640625e-7), (5, 70, 5.902958103587057e21)]
        {
            let wide = Real::Wide { negative: false, mantissa, exponent };
            for precision in [0, 1, 5, 17] {
                assert_eq!(wide.scientific(precision), Real::Double(double).scientific(precision));
                assert_eq!(wide.fixed(precision), Real::Double(double).fixed(precision));
            }
        }
    }

    #[test]
    fn numbers_beyond_doubles_keep_their_size() {
        let huge = Real::Wide { negative: false, mantissa: 1, exponent: 16000 };
        assert_eq!(huge.scientific(5), ("301947".to_owned(), 4816));
    }
}
