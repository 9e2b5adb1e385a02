//! C's `printf` conversions of floating-point numbers.

use std::fmt::Write;

use super::real::Real;

/// One conversion of a format: what stands between `%` and the letter, and the letter.
#[derive(Debug, Clone, Default, PartialEq)]
struct Conversion {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
    letter: u8,
}

#[derive(Debug, Clone, PartialEq)]
enum FormatPiece {
    Text(String),
    Number(Conversion),
}

/// A parsed format, such as `%g` or `%8.3f m/s`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FloatFormat(Vec<FormatPiece>);

/// Most digits that a precision or width may ask for.
const DIGITS_MAX: usize = 4096;

impl FloatFormat {
    /// Returns a format with floating-point conversions; other conversions print the number as `%g` does.
    pub(crate) fn parse(format: &str) -> Self {
        let mut pieces = Vec::new();
        let mut text = String::new();
        let mut chars = format.chars().peekable();
        while let Some(c) = chars.next() {
            if c != '%' {
                text.push(c);
            } else if chars.peek() == Some(&'%') {
                chars.next();
                text.push('%');
            } else {
                pieces.push(FormatPiece::Text(std::mem::take(&mut text)));
                pieces.push(FormatPiece::Number(Conversion::parse(&mut chars)));
            }
        }
        pieces.push(FormatPiece::Text(text));
        FloatFormat(pieces)
    }

    /// C's `%g`.
    pub(crate) fn general() -> Self {
        FloatFormat(vec![FormatPiece::Number(Conversion { letter: b'g', ..Conversion::default() })])
    }

    /// Returns whether this is `%g` and nothing else.
    fn is_general(&self) -> bool {
        matches!(&self.0[..], [FormatPiece::Number(c)] if *c == Conversion { letter: b'g', ..Conversion::default() })
    }

    /// Writes the number in this format.
    pub(crate) fn write(&self, value: Real, out: &mut String) {
        // Small whole numbers, the most common values of all, need no decimal expansion.
        if let Real::Double(x) = value {
            let whole = x.abs() < 1e6 && x.trunc() == x && (x != 0.0 || x.is_sign_positive());
            if whole && self.is_general() {
                let _ = write!(out, "{}", x as i64);
                return;
            }
        }
        for piece in &self.0 {
            match piece {
                FormatPiece::Text(text) => out.push_str(text),
                FormatPiece::Number(conversion) => out.push_str(&conversion.apply(value)),
            }
        }
    }
}

impl Conversion {
    fn parse(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Self {
        let mut c = Conversion::default();
        while let Some(flag) = chars.next_if(|f| "-+ #0".contains(*f)) {
            match flag {
                '-' => c.left = true,
                '+' => c.plus = true,
                ' ' => c.space = true,
                '#' => c.alternate = true,
                _ => c.zero = true,
            }
        }
        c.width = number(chars).unwrap_or(0);
        if chars.next_if_eq(&'.').is_some() {
            c.precision = Some(number(chars).unwrap_or(0));
        }
        while chars.next_if(|l| "lLhqjzt".contains(*l)).is_some() {}
        c.letter = match chars.next() {
            Some(letter @ ('e' | 'E' | 'f' | 'F' | 'g' | 'G')) => letter as u8,
            _ => b'g',
        };
        c
    }

    fn apply(&self, value: Real) -> String {
        let sign = match (value.is_negative(), self.plus, self.space) {
            (true, _, _) => "-",
            (_, true, _) => "+",
            (_, _, true) => " ",
            _ => "",
        };
        let mut body = match value.special() {
            Some(word) => word.to_owned(),
            None => self.digits(value),
        };
        if self.letter.is_ascii_uppercase() {
            body.make_ascii_uppercase();
        }
        self.pad(sign, &body, value.special().is_none())
    }

    fn pad(&self, sign: &str, body: &str, finite: bool) -> String {
        let fill = self.width.saturating_sub(sign.len() + body.len());
        if self.left {
            return format!("{sign}{body}{}", " ".repeat(fill));
        }
        if self.zero && finite {
            return format!("{sign}{}{body}", "0".repeat(fill));
        }
        format!("{}{sign}{body}", " ".repeat(fill))
    }

    fn digits(&self, value: Real) -> String {
        let precision = self.precision.unwrap_or(6);
        match self.letter.to_ascii_lowercase() {
            b'f' => with_point(value.fixed(precision), self.alternate && precision == 0),
            b'e' => {
                let (digits, exponent) = value.scientific(precision);
                scientific(&digits, exponent, self.alternate)
            }
            _ => self.general(value, precision.max(1)),
        }
    }

    fn general(&self, value: Real, precision: usize) -> String {
        let (digits, exponent) = value.scientific(precision - 1);
        if exponent < -4 || exponent >= precision as i32 {
            let kept = if self.alternate { &digits[..] } else { trim(&digits) };
            return scientific(kept, exponent, self.alternate);
        }
        plain(&digits, exponent, self.alternate)
    }
}

fn number(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<usize> {
    let mut n = None;
    while let Some(digit) = chars.peek().and_then(|c| c.to_digit(10)) {
        chars.next();
        n = Some((n.unwrap_or(0usize) * 10 + digit as usize).min(DIGITS_MAX));
    }
    n
}

fn with_point(text: String, wanted: bool) -> String {
    if wanted { text + "." } else { text }
}

/// Without zeros at the end, but with one digit at least.
fn trim(digits: &str) -> &str {
    let trimmed = digits.trim_end_matches('0');
    &digits[..trimmed.len().max(1)]
}

fn scientific(digits: &str, exponent: i32, alternate: bool) -> String {
    let (first, rest) = digits.split_at(1);
    let point = if rest.is_empty() && !alternate { "" } else { "." };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{first}{point}{rest}e{sign}{:02}", exponent.unsigned_abs())
}

/// Digits of which the first stands at `exponent`, in plain notation.
fn plain(digits: &str, exponent: i32, alternate: bool) -> String {
    let (whole, fraction) = if exponent < 0 {
        ("0".to_owned(), "0".repeat(exponent.unsigned_abs() as usize - 1) + digits)
    } else {
        let (whole, fraction) = digits.split_at(exponent as usize + 1);
        (whole.to_owned(), fraction.to_owned())
    };
    let kept = if alternate { &fraction[..] } else { fraction.trim_end_matches('0') };
    if kept.is_empty() && !alternate { whole } else { format!("{whole}.{kept}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(format: &str, x: f64) -> String {
        let mut out = String::new();
        FloatFormat::parse(format).write(Real::Double(x), &mut out);
        out
    }

    #[test]
    fn general_format_is_that_of_c() {
        let cases = [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (0.1, "0.1"),
            (100000.0, "100000"),
            (1000000.0, "1e+06"),
            (123456.7, "123457"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1.5e300, "1.5e+300"),
            (999999.5, "1e+06"),
            (100000.5, "100000"),
            (100001.5, "100002"),
            (-999999.0, "-999999"),
            (-1000000.0, "-1e+06"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
        ];
        for (x, text) in cases {
            assert_eq!(with("%g", x), text, "{x:?}");
        }
    }

    #[test]
    fn flags_width_and_text_are_honoured() {
        assert_eq!(with("%8.3f|", 1.23456), "   1.235|");
        assert_eq!(with("%-8.2e|", 12345.0), "1.23e+04|");
        assert_eq!(with("%+08.1f", 2.25), "+00002.2");
        assert_eq!(with("%.10G", 1e-7), "1E-07");
        assert_eq!(with("%#g %%", 1.0), "1.00000 %");
        assert_eq!(with("%Lf", 0.5), "0.500000");
    }
}
