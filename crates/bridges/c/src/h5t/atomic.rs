//! Byte order, precision, offset and padding of numbers and strings.

use std::ffi::c_int;

use hyperslab::vol::model::datatype::{BitPad, Bits, ByteOrder, Datatype, Integer, Time};

use super::{cannot_init, change_innermost, innermost, parent_mut, undefined, view};
use crate::api;
use crate::arguments::Out;
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{herr_t, hid_t};
use crate::handles;

/// `H5T_order_t`
mod order {
    use super::c_int;
    pub(super) const LE: c_int = 0;
    pub(super) const BE: c_int = 1;
    pub(super) const VAX: c_int = 2;
    pub(super) const MIXED: c_int = 3;
    pub(super) const NONE: c_int = 4;
}

fn order_code(order: ByteOrder) -> c_int {
    match order {
        ByteOrder::Little => order::LE,
        ByteOrder::Big => order::BE,
        ByteOrder::Vax => order::VAX,
    }
}

/// Returns the significant bits of a number or a string.
pub(super) fn bits_of(datatype: &Datatype) -> Option<Bits> {
    match datatype {
        Datatype::Integer(t) => Some(t.bits),
        Datatype::Float(t) => Some(t.bits),
        Datatype::Bitfield(t) => Some(*t),
        Datatype::Time(t) => Some(Bits { precision: t.precision, ..Bits::full(t.size, t.order) }),
        _ => None,
    }
}

/// Runs `change` on the significant bits of a number.
fn change_bits<T>(datatype: &mut Datatype, change: impl FnOnce(&mut Bits) -> Fallible<T>) -> Fallible<T> {
    match datatype {
        Datatype::Integer(Integer { bits, .. }) | Datatype::Bitfield(bits) => change(bits),
        Datatype::Float(t) => change(&mut t.bits),
        Datatype::Time(t) => {
            let mut bits = Bits { precision: t.precision, ..Bits::full(t.size, t.order) };
            let answer = change(&mut bits)?;
            *t = Time { size: bits.size, order: bits.order, precision: bits.precision };
            Ok(answer)
        }
        _ => Err(undefined()),
    }
}

/// Returns the byte order of a type; compounds have that of their members, if it is one.
fn order_of(datatype: &Datatype) -> c_int {
    match innermost(datatype) {
        Datatype::Compound(t) => {
            let orders = t.members.iter().map(|m| order_of(&m.datatype)).filter(|o| *o != order::NONE);
            orders.reduce(|a, b| if a == b { a } else { order::MIXED }).unwrap_or(order::NONE)
        }
        inner => bits_of(&inner).map_or(order::NONE, |bits| order_code(bits.order)),
    }
}

fn set_order(datatype: &mut Datatype, order: Option<ByteOrder>) -> Fallible<()> {
    if let Datatype::Enum(t) = datatype
        && !t.members.is_empty()
    {
        return Err(unsupported("operation not allowed after enum members are defined"));
    }
    if let Some(inner) = parent_mut(datatype) {
        return set_order(inner, order);
    }
    match (datatype, order) {
        (Datatype::Compound(t), order) => {
            if t.members.is_empty() {
                return Err(unsupported("no member is in the compound data type"));
            }
            t.members.iter_mut().try_for_each(|m| set_order(&mut m.datatype, order))
        }
        // Bytes without an order have none whatever is said of them.
        (Datatype::String(_) | Datatype::Opaque(_) | Datatype::Reference(_) | Datatype::VarLen(_), _) => {
            Ok(())
        }
        (_, None) => Err(unsupported("illegal byte order for type")),
        (number, Some(order)) => change_bits(number, |bits| {
            bits.order = order;
            Ok(())
        }),
    }
}

fn order_from(code: c_int) -> Fallible<Option<ByteOrder>> {
    match code {
        order::LE => Ok(Some(ByteOrder::Little)),
        order::BE => Ok(Some(ByteOrder::Big)),
        order::VAX => Ok(Some(ByteOrder::Vax)),
        order::NONE => Ok(None),
        _ => Err(Failure::argument("illegal byte order").as_major(Major::DATATYPE)),
    }
}

/// Returns an error for fields of a float that lie outside of its bits.
pub(super) fn check_fields(datatype: &Datatype) -> Fallible<()> {
    let Datatype::Float(t) = datatype else { return Ok(()) };
    let end = u32::from(t.bits.precision) + u32::from(t.bits.offset);
    let is_inside = u32::from(t.sign_position) < end
        && u32::from(t.exponent_position) + u32::from(t.exponent_bits) <= end
        && u32::from(t.mantissa_position) + u32::from(t.mantissa_bits) <= end;
    if is_inside {
        return Ok(());
    }
    Err(cannot_init("adjust sign, mantissa, and exponent fields first"))
}

/// Returns a number of bits that the format can store.
fn bit_count(bits: usize) -> Fallible<u16> {
    u16::try_from(bits).map_err(|_| Failure::argument("precision or offset out of range"))
}

fn set_precision(datatype: &mut Datatype, precision: usize) -> Fallible<()> {
    let precision = bit_count(precision).ok().filter(|bits| *bits > 0);
    let precision = precision.ok_or_else(|| Failure::argument("precision must be positive"))?;
    if datatype.is_string() {
        return Err(Failure::argument("precision for this type is read-only").as_minor(Minor::UNSUPPORTED));
    }
    let changed = change_innermost(datatype, |inner| {
        change_bits(inner, |bits| {
            let room = bits.size * 8;
            if u32::from(precision) > room {
                bits.offset = 0;
                bits.size = u32::from(precision).div_ceil(8);
            } else if u32::from(bits.offset) + u32::from(precision) > room {
                bits.offset = (room - u32::from(precision)) as u16;
            }
            bits.precision = precision;
            Ok(())
        })?;
        check_fields(inner)
    });
    // As libhdf5: a type that cannot be made so is one whose value cannot be set.
    changed.map_err(
        |failure| if failure.minor == Minor::CANTINIT { failure.as_minor(Minor::CANTSET) } else { failure },
    )
}

fn set_offset(datatype: &mut Datatype, offset: usize) -> Fallible<()> {
    let offset = bit_count(offset)?;
    if datatype.is_string() {
        return match offset {
            0 => Ok(()),
            _ => Err(Failure::argument("offset must be zero for this type")),
        };
    }
    change_innermost(datatype, |inner| match inner {
        Datatype::Time(_) if offset != 0 => Err(undefined()),
        inner => change_bits(inner, |bits| {
            let end = u32::from(offset) + u32::from(bits.precision);
            bits.size = bits.size.max(end.div_ceil(8));
            bits.offset = offset;
            Ok(())
        }),
    })
}

pub(super) fn pad_from(code: c_int) -> Fallible<BitPad> {
    match code {
        0 => Ok(BitPad::Zero),
        1 => Ok(BitPad::One),
        2 => Err(Failure::unsupported("H5T_PAD_BACKGROUND is not supported: files cannot store it")),
        _ => Err(Failure::argument("invalid pad type")),
    }
}

fn unsupported(text: &'static str) -> Failure {
    Failure::new(Major::DATATYPE, Minor::UNSUPPORTED, text)
}

fn change(id: hid_t, change: impl FnOnce(&mut Datatype) -> Fallible<()>) -> Fallible<()> {
    handles::datatype(id)?.change(change)
}

api! { DATATYPE:
    /// Returns the byte order.
    fn H5Tget_order(id: hid_t) -> c_int {
        Ok(order_of(&*view(id)?))
    }

    /// Sets the byte order, of every member if the datatype is a compound.
    fn H5Tset_order(id: hid_t, code: c_int) -> herr_t {
        let order = order_from(code)?;
        change(id, |datatype| set_order(datatype, order))
    }

    /// Returns the number of significant bits.
    fn H5Tget_precision(id: hid_t) -> usize {
        match innermost(&*view(id)?) {
            Datatype::String(t) => Ok(t.size as usize * 8),
            inner => bits_of(&inner).map(|bits| usize::from(bits.precision)).ok_or_else(undefined),
        }
    }

    /// Sets the number of significant bits; the datatype grows where it must.
    fn H5Tset_precision(id: hid_t, precision: usize) -> herr_t {
        change(id, |datatype| set_precision(datatype, precision))
    }

    /// Returns the position of the first significant bit.
    fn H5Tget_offset(id: hid_t) -> c_int {
        match innermost(&*view(id)?) {
            Datatype::String(_) => Ok(0),
            inner => bits_of(&inner).map(|bits| c_int::from(bits.offset)).ok_or_else(undefined),
        }
    }

    /// Sets the position of the first significant bit; the datatype grows where it must.
    fn H5Tset_offset(id: hid_t, offset: usize) -> herr_t {
        change(id, |datatype| set_offset(datatype, offset))
    }

    /// Returns the padding below and above the significant bits.
    fn H5Tget_pad(id: hid_t, low: Out<c_int>, high: Out<c_int>) -> herr_t {
        let pads = match innermost(&*view(id)?) {
            Datatype::String(_) => (BitPad::Zero, BitPad::Zero),
            inner => bits_of(&inner).map(|bits| (bits.low_pad, bits.high_pad)).ok_or_else(undefined)?,
        };
        low.put(pads.0 as c_int);
        high.put(pads.1 as c_int);
        Ok(())
    }

    /// Sets the padding below and above the significant bits.
    fn H5Tset_pad(id: hid_t, low: c_int, high: c_int) -> herr_t {
        let (low, high) = (pad_from(low)?, pad_from(high)?);
        change(id, |datatype| change_innermost(datatype, |inner| match inner {
            Datatype::Time(_) | Datatype::String(_) if (low, high) == (BitPad::Zero, BitPad::Zero) => Ok(()),
            Datatype::Time(_) => Err(undefined()),
            inner => change_bits(inner, |bits| {
                (bits.low_pad, bits.high_pad) = (low, high);
                Ok(())
            }),
        }))
    }
}
