//! The datatype of this machine that holds the values of another one.

use std::ffi::c_int;

use hyperslab::vol::model::Heap;
use hyperslab::vol::model::convert::{Conversions, Plan};
use hyperslab::vol::model::datatype::{
    Array, Bits, ByteOrder, Complex, Compound, Datatype, Enum, Float, Member, Normalization, ReferenceKind,
};

use super::{register, view};
use crate::api;
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::hid_t;
use crate::memory;

/// Returns the bytes of the smallest integer of the machine that has so many bits.
fn bytes_for(bits: u16) -> u32 {
    match bits {
        0..=8 => 1,
        9..=16 => 2,
        17..=32 => 4,
        _ => 8,
    }
}

/// Returns whether a small float is one of those that half precision holds. Programs built for libhdf5 before 1.14.4 know no type of
/// this machine for it, and print its bytes; they got single precision.
fn fits_half(float: &Float) -> bool {
    crate::h5::is_known_to_programs(1, 14, 4)
        && float.exponent_bits <= 5
        && float.mantissa_bits <= 10
        && float.normalization == Normalization::Implied
}

fn native_float(float: &Float) -> Fallible<Datatype> {
    match float.bits.size {
        0..=2 if fits_half(float) => Ok(Datatype::ieee_f16(ByteOrder::NATIVE)),
        0..=4 => Ok(Datatype::ieee_f32(ByteOrder::NATIVE)),
        5..=8 => Ok(Datatype::ieee_f64(ByteOrder::NATIVE)),
        _ => Ok(super::predefined::long_double()),
    }
}

fn native_enum(t: &Enum) -> Fallible<Datatype> {
    if t.members.is_empty() {
        return Err(Failure::argument("enumeration has no members"));
    }
    let base = native(&t.base)?;
    let plan = Plan::compile(&t.base, &base, &Conversions::default())?;
    let value = |bytes: &[u8]| -> Fallible<Vec<u8>> {
        let mut out = vec![0; base.size() as usize];
        plan.run(bytes, &mut out, 1, &mut Heap::new())?;
        Ok(out)
    };
    let members = t.members.iter().map(|(name, bytes)| Ok((name.clone(), value(bytes)?)));
    let members = members.collect::<Fallible<Vec<_>>>()?;
    Ok(Datatype::Enum(Enum { base: Box::new(base), members }))
}

/// Lays members out as a C compiler lays out a struct.
fn native_compound(t: &Compound) -> Fallible<Datatype> {
    if t.members.is_empty() {
        return Err(Failure::argument("compound data type has no members"));
    }
    let (mut size, mut alignment_max) = (0u32, 1);
    let mut members = Vec::with_capacity(t.members.len());
    let too_large = || Failure::argument("compound datatype is too large");
    for member in &t.members {
        let datatype = native(&member.datatype)?;
        let alignment = alignment(&datatype);
        let offset = size.checked_next_multiple_of(alignment).ok_or_else(too_large)?;
        size = offset.checked_add(datatype.size()).ok_or_else(too_large)?;
        alignment_max = alignment_max.max(alignment);
        members.push(Member { name: member.name.clone(), offset, datatype });
    }
    let size = size.checked_next_multiple_of(alignment_max).ok_or_else(too_large)?;
    Ok(Datatype::Compound(Compound { size, members }))
}

/// Returns the alignment that a C compiler gives a native type.
fn alignment(datatype: &Datatype) -> u32 {
    match datatype {
        Datatype::Integer(_) | Datatype::Float(_) | Datatype::Bitfield(_) | Datatype::Time(_) => {
            datatype.size()
        }
        Datatype::String(_) | Datatype::Opaque(_) => 1,
        Datatype::Compound(t) => t.members.iter().map(|m| alignment(&m.datatype)).max().unwrap_or(1),
        Datatype::Reference(t) if t.kind == ReferenceKind::DatasetRegion1 => 1,
        Datatype::Reference(_) | Datatype::VarLen(_) => 8,
        Datatype::Enum(t) => alignment(&t.base),
        Datatype::Array(t) => alignment(&t.base),
        Datatype::Complex(t) => alignment(&t.base),
    }
}

fn native(datatype: &Datatype) -> Fallible<Datatype> {
    Ok(match datatype {
        Datatype::Integer(t) => Datatype::integer(bytes_for(t.bits.precision), t.signed, ByteOrder::NATIVE),
        Datatype::Bitfield(t) => Datatype::Bitfield(Bits::full(bytes_for(t.precision), ByteOrder::NATIVE)),
        Datatype::Float(t) => native_float(t)?,
        Datatype::Time(_) => {
            return Err(Failure::new(Major::ARGS, Minor::BADTYPE, "H5T_TIME is not yet supported"));
        }
        Datatype::Compound(t) => native_compound(t)?,
        Datatype::Enum(t) => native_enum(t)?,
        Datatype::Array(t) => {
            Datatype::Array(Array { dims: t.dims.clone(), base: Box::new(native(&t.base)?) })
        }
        Datatype::Complex(t) => Datatype::Complex(Complex { base: Box::new(native(&t.base)?) }),
        Datatype::VarLen(t) => match &t.kind {
            hyperslab::vol::model::datatype::VarLenKind::Sequence(base) => {
                memory::c_form(&Datatype::var_sequence(native(base)?))
            }
            _ => datatype.clone(),
        },
        Datatype::String(_) | Datatype::Opaque(_) | Datatype::Reference(_) => datatype.clone(),
    })
}

api! { DATATYPE:
    /// Returns the datatype of this machine that holds the values of a datatype.
    fn H5Tget_native_type(id: hid_t, direction: c_int) -> hid_t {
        let datatype = view(id)?;
        if !(0..=2).contains(&direction) {
            return Err(Failure::wrong_type("not valid direction value"));
        }
        native(&datatype).map(register)
    }
}
