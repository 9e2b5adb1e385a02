//! Differences of plain numbers: one loop for each type of the machine.

use super::options::{Options, Tolerance};
use super::report::Report;
use super::table::Table;
use crate::h5::render::cformat::FloatFormat;
use crate::h5::render::real::Real;

/// How two numbers differ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Verdict {
    Same,
    Different,
    /// By this part of the first.
    Relative(f64),
    /// The first is zero, so that there is no part of it.
    NoPart,
}

/// Numbers as C compares and prints them.
pub(crate) trait Number: Copy {
    const BYTES: usize;
    /// Loads a number from the bytes of the machine.
    fn load(bytes: &[u8]) -> Self;
    /// Compares two numbers whose bytes differ.
    fn verdict(self, other: Self, options: &Options) -> Verdict;
    /// Returns both numbers and their difference; the part of the first where that was compared.
    fn line(self, other: Self, verdict: Verdict) -> String;
}

/// Returns the relative difference where the first number is not zero.
fn part(zero: [bool; 2], part: f64, limit: f64) -> Verdict {
    match zero {
        [true, true] => Verdict::Same,
        [true, false] => Verdict::NoPart,
        _ if part > limit => Verdict::Relative(part),
        _ => Verdict::Same,
    }
}

macro_rules! integers {
    ($($type:ty, $wide:ty, $part:ty, $distance:expr;)*) => { $(
        #[allow(clippy::cast_lossless, reason = "for all integers, of which some do not fit a double")]
        impl Number for $type {
            const BYTES: usize = size_of::<$type>();

            fn load(bytes: &[u8]) -> Self {
                bytes.first_chunk().map_or(0, |raw| <$type>::from_ne_bytes(*raw))
            }

            fn verdict(self, other: Self, options: &Options) -> Verdict {
                let distance: fn($type, $type) -> $wide = $distance;
                match options.tolerance {
                    Tolerance::Delta(limit) if distance(self, other) as f64 <= limit => Verdict::Same,
                    Tolerance::Relative(limit) => {
                        let step = (other as $wide).wrapping_sub(self as $wide) as $part;
                        part([self == 0, other == 0], (step as f64 / self as f64).abs(), limit)
                    }
                    _ if self == other => Verdict::Same,
                    _ => Verdict::Different,
                }
            }

            fn line(self, other: Self, verdict: Verdict) -> String {
                let distance: fn($type, $type) -> $wide = $distance;
                let difference = distance(self, other);
                match verdict {
                    Verdict::Relative(part) => {
                        format!("{self:<15} {other:<15} {difference:<15} {part:<14.6}\n")
                    }
                    Verdict::NoPart => format!("{self:<15} {other:<15} {difference:<15} not comparable\n"),
                    _ => format!("{self:<15} {other:<15} {difference:<15}\n"),
                }
            }
        }
    )* };
}

// C computes small integers as `int`, and lets the others wrap.
integers! {
    i8, i32, i32, |a, b| (i32::from(a) - i32::from(b)).abs();
    i16, i32, i32, |a, b| (i32::from(a) - i32::from(b)).abs();
    i32, i32, i32, |a, b| a.wrapping_sub(b).wrapping_abs();
    i64, i64, i64, |a, b| a.wrapping_sub(b).wrapping_abs();
    u8, u32, i8, |a, b| a.abs_diff(b).into();
    u16, u32, i16, |a, b| a.abs_diff(b).into();
    u32, u32, i32, u32::abs_diff;
    u64, u64, i64, u64::abs_diff;
}

/// Below this a number counts as zero: C's `DBL_EPSILON`, whatever the type.
const ZERO: f64 = f64::EPSILON;

/// C's columns for reals: `%-15g`, or with ten digits where a part is shown.
pub(crate) fn real_line(values: [Real; 3], verdict: Verdict, part: Real) -> String {
    let precise = matches!(verdict, Verdict::Relative(_) | Verdict::NoPart);
    let format = FloatFormat::parse(if precise { "%-15.10g" } else { "%-15g" });
    let mut line = String::new();
    for (i, value) in values.into_iter().enumerate() {
        line.push_str(if i > 0 { " " } else { "" });
        format.write(value, &mut line);
    }
    match verdict {
        Verdict::Relative(_) => {
            line.push(' ');
            FloatFormat::parse("%-14.10g").write(part, &mut line);
        }
        Verdict::NoPart => line.push_str(" not comparable"),
        _ => {}
    }
    line + "\n"
}

/// How reals whose bytes differ compare, after a look at NaN. `distance`: between them; `step`: from the first on.
pub(crate) struct Reals {
    pub(crate) values: [f64; 2],
    pub(crate) distance: f64,
    pub(crate) step: f64,
    pub(crate) epsilon: f64,
}

impl Reals {
    pub(crate) fn verdict(&self, options: &Options) -> Verdict {
        let [a, b] = self.values;
        if !options.ignore_nan {
            match [a.is_nan(), b.is_nan()] {
                [false, false] => {}
                [true, true] => return Verdict::Same,
                _ => return Verdict::Different,
            }
        }
        match options.tolerance {
            Tolerance::Delta(limit) if self.distance > limit => Verdict::Different,
            Tolerance::Delta(_) => Verdict::Same,
            Tolerance::Relative(limit) => {
                part([a.abs() < ZERO, b.abs() < ZERO], (self.step / a).abs(), limit)
            }
            Tolerance::Epsilon if self.distance.abs() < self.epsilon => Verdict::Same,
            _ => Verdict::Different,
        }
    }
}

macro_rules! floats {
    ($($type:ty),*) => { $(
        impl Number for $type {
            const BYTES: usize = size_of::<$type>();

            fn load(bytes: &[u8]) -> Self {
                bytes.first_chunk().map_or(0.0, |raw| <$type>::from_ne_bytes(*raw))
            }

            fn verdict(self, other: Self, options: &Options) -> Verdict {
                let reals = Reals {
                    values: [self.into(), other.into()],
                    distance: magnitude((self - other).into()),
                    step: (other - self).into(),
                    epsilon: <$type>::EPSILON.into(),
                };
                reals.verdict(options)
            }

            fn line(self, other: Self, verdict: Verdict) -> String {
                let difference = magnitude((self - other).into());
                let values = [self.into(), other.into(), difference].map(Real::Double);
                real_line(values, verdict, Real::Double(magnitude((1.0 - other / self).into())))
            }
        }
    )* };
}

floats!(f32, f64);

/// Returns the absolute value as the tools compute it, which turns the sign of NaN.
pub(crate) fn magnitude(x: f64) -> f64 {
    if x >= 0.0 { x } else { -x }
}

/// Compares buffers of plain numbers; returns how many differ.
pub(crate) fn compare<T: Number>(
    report: &mut Report<'_>,
    table: &mut Table<'_>,
    first: &[u8],
    second: &[u8],
) -> u64 {
    let limit = report.options.count_max.unwrap_or(u64::MAX);
    let pairs = first.chunks_exact(T::BYTES).zip(second.chunks_exact(T::BYTES));
    let mut found = 0;
    for (element, (a, b)) in pairs.enumerate() {
        if a != b {
            found += compare_one(report, table, element as u64, T::load(a), T::load(b));
            if found >= limit {
                break;
            }
        }
    }
    found
}

/// Compares two numbers whose bytes differ.
pub(crate) fn compare_one<T: Number>(
    report: &mut Report<'_>,
    table: &mut Table<'_>,
    element: u64,
    first: T,
    second: T,
) -> u64 {
    let verdict = first.verdict(second, report.options);
    if verdict == Verdict::Same {
        return 0;
    }
    if report.options.shows_data() {
        let relative = matches!(verdict, Verdict::Relative(_) | Verdict::NoPart);
        table.place(report, element, None, relative);
        report.put(first.line(second, verdict).as_bytes());
    }
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(tolerance: Tolerance) -> Options {
        Options { tolerance, ..Options::default() }
    }

    #[test]
    fn integers_wrap_as_in_c() {
        assert_eq!((-2_000_000_000i32).line(2_000_000_000, Verdict::Different).trim_end(), {
            "-2000000000     2000000000      294967296"
        });
        assert_eq!(1u8.verdict(200, &with(Tolerance::Relative(0.5))), Verdict::Relative(57.0));
        assert_eq!(0u8.verdict(200, &with(Tolerance::Relative(0.5))), Verdict::NoPart);
        assert_eq!(3i64.verdict(5, &with(Tolerance::Delta(2.0))), Verdict::Same);
    }

    #[test]
    fn nan_equals_nan_and_nothing_else() {
        let plain = with(Tolerance::Exact);
        assert_eq!(f32::NAN.verdict(-f32::NAN, &plain), Verdict::Same);
        assert_eq!(f64::NAN.verdict(1.0, &with(Tolerance::Delta(1e9))), Verdict::Different);
        let blind = Options { ignore_nan: true, ..with(Tolerance::Delta(1.0)) };
        assert_eq!(f64::NAN.verdict(1.0, &blind), Verdict::Same);
    }

    #[test]
    fn tiny_numbers_are_zero_for_parts() {
        let tenth = with(Tolerance::Relative(0.1));
        assert_eq!(1e-300f64.verdict(0.0, &tenth), Verdict::Same);
        assert_eq!(1e-300f64.verdict(1.0, &tenth), Verdict::NoPart);
        assert_eq!(1.0f64.verdict(1.0 + 1e-17, &with(Tolerance::Epsilon)), Verdict::Same);
    }
}
