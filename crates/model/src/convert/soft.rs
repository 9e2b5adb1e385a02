//! Numbers of any bit layout, one element at a time, through an exact value in between.

use super::bits::{self, BytePosition, mask};
use super::registry::{Exception, Handling, OnException};
use crate::datatype::{BitPad, Bits, Float, Normalization};
use crate::{Datatype, Error, Result};
use std::fmt;

/// A number apart from its representation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Value {
    /// The payload stands below the quiet bit, which is bit 127.
    NotANumber {
        negative: bool,
        payload: u128,
    },
    Infinite {
        negative: bool,
    },
    /// `mantissa * 2^exponent`.
    Finite {
        negative: bool,
        mantissa: u128,
        exponent: i64,
    },
}

/// The bits of the target, and what was lost.
type Packed = (u128, Option<Exception>);

/// A number type that passed its checks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Number {
    place: BytePosition,
    form: Form,
}

#[derive(Debug, Clone, Copy)]
enum Form {
    Integer { bits: Bits, signed: bool },
    Float(Float),
}

impl Number {
    /// Returns the number type, or why it cannot be converted.
    pub(super) fn new(t: &Datatype) -> Result<Number> {
        match t {
            Datatype::Integer(t) => Number::integer(t.bits, t.signed),
            Datatype::Bitfield(bits) => Number::integer(*bits, false),
            Datatype::Float(t) => Ok(Number { place: check_float(t)?, form: Form::Float(*t) }),
            Datatype::Enum(t) => Number::new(&t.base),
            _ => Err(Error::conversion("convert number").with("class", t.class())),
        }
    }

    fn integer(bits: Bits, signed: bool) -> Result<Number> {
        Ok(Number { place: bits::check(&bits)?, form: Form::Integer { bits, signed } })
    }

    fn unpack(&self, raw: u128) -> Value {
        match &self.form {
            Form::Integer { bits, signed } => unpack_integer(raw, bits, *signed),
            Form::Float(float) => unpack_float(raw, float),
        }
    }

    fn pack(&self, value: Value) -> Packed {
        match &self.form {
            Form::Integer { bits, signed } => pack_integer(value, bits, *signed),
            Form::Float(float) => pack_float(value, float),
        }
    }

    /// Returns the bytes of zero.
    pub(super) fn zero(&self) -> Vec<u8> {
        let mut element = vec![0; self.place.bytes()];
        self.place.store(self.pack(ZERO).0, &mut element);
        element
    }
}

const ZERO: Value = Value::Finite { negative: false, mantissa: 0, exponent: 0 };

/// A conversion through [`Value`].
#[derive(Clone)]
pub(super) struct Soft {
    from: Number,
    to: Number,
    /// Bit fields lose their high bits; they are not clipped as numbers are.
    wrap: bool,
    callback: Option<OnException>,
}

impl Soft {
    /// Returns whether a user hears of values that do not fit.
    pub(super) fn has_callback(&self) -> bool {
        self.callback.is_some()
    }
}

impl fmt::Debug for Soft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Soft").field("from", &self.from).field("to", &self.to).finish_non_exhaustive()
    }
}

impl Soft {
    pub(super) fn new(from: &Datatype, to: &Datatype, callback: Option<&OnException>) -> Result<Soft> {
        let wrap = matches!((from, to), (Datatype::Bitfield(_), Datatype::Bitfield(_)));
        Ok(Soft { from: Number::new(from)?, to: Number::new(to)?, wrap, callback: callback.cloned() })
    }

    pub(super) fn run(&self, from: &[u8], to: &mut [u8]) -> Result<()> {
        let targets = to.chunks_exact_mut(self.to.place.bytes());
        for (from, to) in from.chunks_exact(self.from.place.bytes()).zip(targets) {
            self.element(from, to)?;
        }
        Ok(())
    }

    fn element(&self, from: &[u8], to: &mut [u8]) -> Result<()> {
        let value = self.from.unpack(self.from.place.load(from));
        let (raw, exception) = self.to.pack(if self.wrap { self.wrapped(value) } else { value });
        self.to.place.store(raw, to);
        if let (Some(exception), Some(callback)) = (exception, &self.callback)
            && ask(exception, callback, from, to)?
        {
            self.to.place.store(raw, to);
        }
        Ok(())
    }

    /// Returns the low bits of a bit field.
    fn wrapped(&self, value: Value) -> Value {
        match (value, &self.to.form) {
            (Value::Finite { mantissa, .. }, Form::Integer { bits, .. }) => {
                let mantissa = mantissa & mask(u32::from(bits.precision));
                Value::Finite { negative: false, mantissa, exponent: 0 }
            }
            _ => value,
        }
    }
}

/// Returns whether the library's own result is to stand.
fn ask(exception: Exception, callback: &OnException, from: &[u8], to: &mut [u8]) -> Result<bool> {
    match callback(exception, from, to) {
        Handling::Default => Ok(true),
        Handling::Handled => Ok(false),
        Handling::Abort => {
            Err(Error::conversion("convert number").with("exception", format!("{exception:?}")))
        }
    }
}

fn unpack_integer(raw: u128, bits: &Bits, signed: bool) -> Value {
    let precision = u32::from(bits.precision);
    let field = raw >> bits.offset & mask(precision);
    let negative = signed && field >> (precision - 1) == 1;
    let mantissa = if negative { field.wrapping_neg() & mask(precision) } else { field };
    Value::Finite { negative, mantissa, exponent: 0 }
}

fn pack_integer(value: Value, bits: &Bits, signed: bool) -> Packed {
    let precision = u32::from(bits.precision);
    let highest = mask(precision - u32::from(signed));
    let lowest_magnitude = if signed { highest + 1 } else { 0 };
    let clip = |negative| if negative { lowest_magnitude } else { highest };
    let (field, exception) = match value {
        Value::NotANumber { .. } => (0, Some(Exception::NotANumber)),
        Value::Infinite { negative: true } => (clip(true), Some(Exception::MinusInfinity)),
        Value::Infinite { negative: false } => (clip(false), Some(Exception::PlusInfinity)),
        Value::Finite { negative, mantissa, exponent } => match whole(mantissa, exponent) {
            Some((n, _)) if n > clip(negative) => (clip(negative), Some(out_of_range(negative))),
            None => (clip(negative), Some(out_of_range(negative))),
            Some((n, lost)) => {
                let field = if negative { n.wrapping_neg() & mask(precision) } else { n };
                (field, lost.then_some(Exception::Truncate))
            }
        },
    };
    (field << bits.offset | bits::padding(bits), exception)
}

fn out_of_range(negative: bool) -> Exception {
    if negative { Exception::RangeLow } else { Exception::RangeHigh }
}

/// Returns the whole part, and whether a fraction was lost; none if it is beyond 128 bits.
fn whole(mantissa: u128, exponent: i64) -> Option<(u128, bool)> {
    if mantissa == 0 {
        return Some((0, false));
    }
    if exponent >= 0 {
        let fits = i64::from(mantissa.leading_zeros()) >= exponent;
        return fits.then(|| (mantissa << exponent, false));
    }
    match u32::try_from(-exponent) {
        Ok(shift @ 0..128) => Some((mantissa >> shift, mantissa & mask(shift) != 0)),
        _ => Some((0, true)),
    }
}

/// Refuses fields that lie outside the element or are too wide to compute with.
fn check_float(f: &Float) -> Result<BytePosition> {
    let place = bits::check(&f.bits)?;
    let total = f.bits.size * 8;
    let end = |position: u8, bits: u8| u32::from(position) + u32::from(bits);
    let inside = end(f.exponent_position, f.exponent_bits) <= total
        && end(f.mantissa_position, f.mantissa_bits) <= total
        && u32::from(f.sign_position) < total;
    // 32 bits of exponent keep all sums in 64 bits; no float in use has more than 15.
    if !inside
        || f.exponent_bits == 0
        || f.exponent_bits > 32
        || f.mantissa_bits == 0
        || f.mantissa_bits > 126
    {
        return Err(Error::unsupported("convert float").with("shape", format!("{f:?}")));
    }
    Ok(place)
}

fn is_implied(f: &Float) -> bool {
    f.normalization == Normalization::Implied
}

/// Returns the number of bits of the mantissa after the point.
fn fraction_bits(f: &Float) -> u32 {
    u32::from(f.mantissa_bits) - u32::from(!is_implied(f))
}

fn exponent_max(f: &Float) -> i64 {
    mask(u32::from(f.exponent_bits)) as i64
}

fn unpack_float(raw: u128, f: &Float) -> Value {
    let negative = raw >> f.sign_position & 1 == 1;
    let stored = (raw >> f.exponent_position & mask(u32::from(f.exponent_bits))) as i64;
    let mantissa = raw >> f.mantissa_position & mask(u32::from(f.mantissa_bits));
    if stored == exponent_max(f) {
        let fraction = mantissa & mask(fraction_bits(f));
        let payload = fraction << (128 - fraction_bits(f)).min(127);
        return if fraction == 0 {
            Value::Infinite { negative }
        } else {
            Value::NotANumber { negative, payload }
        };
    }
    let leading = if is_implied(f) && stored > 0 { 1 << f.mantissa_bits } else { 0 };
    let exponent = stored.max(1) - i64::from(f.exponent_bias) - i64::from(fraction_bits(f));
    Value::Finite { negative, mantissa: mantissa | leading, exponent }
}

fn pack_float(value: Value, f: &Float) -> Packed {
    match value {
        Value::NotANumber { negative, payload } => (not_a_number(f, negative, payload), None),
        Value::Infinite { negative } => (infinity(f, negative), None),
        Value::Finite { negative, mantissa: 0, .. } => (assemble(f, negative, 0, 0), None),
        Value::Finite { negative, mantissa, exponent } => pack_finite(f, negative, mantissa, exponent),
    }
}

fn pack_finite(f: &Float, negative: bool, mantissa: u128, exponent: i64) -> Packed {
    let fraction = fraction_bits(f);
    let top = i64::from(127 - mantissa.leading_zeros()) + exponent;
    let mut stored = (top + i64::from(f.exponent_bias)).max(1);
    let last_place = stored - i64::from(f.exponent_bias) - i64::from(fraction);
    let (mut rounded, inexact) = round_to(mantissa, last_place - exponent);
    if rounded >> fraction > 1 {
        rounded >>= 1;
        stored += 1;
    }
    if rounded >> fraction == 0 {
        stored = 0;
    }
    if stored >= exponent_max(f) {
        return (infinity(f, negative), Some(out_of_range(negative)));
    }
    let field = if is_implied(f) { rounded & mask(fraction) } else { rounded };
    (assemble(f, negative, stored, field), inexact.then_some(Exception::Precision))
}

/// `mantissa` without its last `shift` bits, to nearest even. A negative shift only adds zeros.
fn round_to(mantissa: u128, shift: i64) -> (u128, bool) {
    if shift <= 0 {
        return (mantissa << (-shift).clamp(0, 127), false);
    }
    if shift > 128 {
        return (0, true);
    }
    let shift = shift as u32;
    let kept = if shift == 128 { 0 } else { mantissa >> shift };
    let lost = mantissa & mask(shift);
    let half = 1u128 << (shift - 1);
    let up = lost > half || (lost == half && kept & 1 == 1);
    (kept + u128::from(up), lost != 0)
}

fn infinity(f: &Float, negative: bool) -> u128 {
    let leading = if is_implied(f) { 0 } else { 1 << fraction_bits(f) };
    assemble(f, negative, exponent_max(f), leading)
}

/// Returns a quiet NaN with as much of the payload as fits.
fn not_a_number(f: &Float, negative: bool, payload: u128) -> u128 {
    let fraction = (payload | 1 << 127) >> (128 - fraction_bits(f)).min(127);
    let leading = if is_implied(f) { 0 } else { 1 << fraction_bits(f) };
    assemble(f, negative, exponent_max(f), leading | fraction & mask(fraction_bits(f)))
}

fn assemble(f: &Float, negative: bool, stored: i64, mantissa: u128) -> u128 {
    let sign = 1u128 << f.sign_position;
    let fields = sign
        | mask(u32::from(f.exponent_bits)) << f.exponent_position
        | mask(u32::from(f.mantissa_bits)) << f.mantissa_position;
    let inside = mask(u32::from(f.bits.precision)) << f.bits.offset;
    let fill = if f.internal_pad == BitPad::One { inside & !fields } else { 0 };
    let outside = bits::padding(&f.bits) & !fields;
    let value = (stored as u128) << f.exponent_position | mantissa << f.mantissa_position;
    value | fill | outside | if negative { sign } else { 0 }
}
