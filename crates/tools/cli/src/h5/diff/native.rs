//! The machine's own types, in which values are compared.

use hyperslab::Datatype;
use hyperslab::vol::model::ByteOrder;
use hyperslab::vol::model::datatype::{
    Array, BitPad, Bits, CharacterSet, Complex, Compound, Enum, Float, Integer, Member, Normalization,
    VarLen, VarLenKind,
};

use crate::h5::render::number::native_integer_bytes;

/// Returns the type in which C would hold values of a stored type (`H5Tget_native_type`), in the memory datatype.
pub(crate) fn native(datatype: &Datatype) -> Datatype {
    match datatype {
        Datatype::Integer(t) => integer(t),
        Datatype::Float(t) => float(t),
        Datatype::Bitfield(t) => {
            Datatype::Bitfield(Bits::full(native_integer_bytes(t.precision) as u32, ByteOrder::NATIVE))
        }
        Datatype::Enum(t) => enumeration(t),
        Datatype::Compound(t) => Datatype::Compound(compound(t)),
        Datatype::Array(t) => {
            Datatype::Array(Array { dims: t.dims.clone(), base: Box::new(native(&t.base)) })
        }
        Datatype::Complex(t) => Datatype::Complex(Complex { base: Box::new(native(&t.base)) }),
        Datatype::VarLen(VarLen { kind: VarLenKind::Sequence(base), .. }) => {
            Datatype::var_sequence(native(base))
        }
        other => other.memory_type(),
    }
}

fn integer(t: &Integer) -> Datatype {
    // Beyond eight bytes nothing is native, and the value stays as it is.
    if t.bits.precision > 64 {
        return Datatype::Integer(*t);
    }
    Datatype::integer(native_integer_bytes(t.bits.precision) as u32, t.signed, ByteOrder::NATIVE)
}

fn float(t: &Float) -> Datatype {
    match t.bits.size {
        0..=4 => Datatype::ieee_f32(ByteOrder::NATIVE),
        5..=8 => Datatype::ieee_f64(ByteOrder::NATIVE),
        _ => Datatype::Float(long_double()),
    }
}

/// Returns the 80-bit float of x86 in 16 bytes.
pub(crate) fn long_double() -> Float {
    let bits = Bits { precision: 80, ..Bits::full(16, ByteOrder::Little) };
    Float {
        bits,
        internal_pad: BitPad::Zero,
        normalization: Normalization::None,
        sign_position: 79,
        exponent_position: 64,
        exponent_bits: 15,
        mantissa_position: 0,
        mantissa_bits: 64,
        exponent_bias: 16383,
    }
}

fn enumeration(t: &Enum) -> Datatype {
    let Datatype::Integer(base) = &*t.base else { return Datatype::Enum(t.clone()) };
    let bytes = native_integer_bytes(base.bits.precision);
    let convert = |value: &Vec<u8>| {
        let value = crate::h5::render::number::integer(base, value).unwrap_or(0);
        match ByteOrder::NATIVE {
            ByteOrder::Big => value.to_be_bytes()[16 - bytes..].to_vec(),
            _ => value.to_le_bytes()[..bytes].to_vec(),
        }
    };
    let members = t.members.iter().map(|(name, value)| (name.clone(), convert(value)));
    Datatype::Enum(Enum { base: Box::new(integer(base)), members: members.collect() })
}

/// Members at the offsets that a C compiler gives them, so that h5diff and we see the same sizes.
fn compound(t: &Compound) -> Compound {
    let (mut at, mut widest) = (0u32, 1u32);
    let members = t.members.iter().map(|member| {
        let datatype = native(&member.datatype);
        let alignment = alignment(&datatype);
        widest = widest.max(alignment);
        let offset = at.next_multiple_of(alignment);
        at = offset.saturating_add(datatype.size());
        Member { name: member.name.clone(), offset, datatype }
    });
    let members: Vec<Member> = members.collect();
    Compound { size: at.checked_next_multiple_of(widest).unwrap_or(at), members }
}

fn alignment(datatype: &Datatype) -> u32 {
    match datatype {
        Datatype::Integer(_) | Datatype::Float(_) | Datatype::Bitfield(_) => {
            datatype.size().next_power_of_two().clamp(1, 16)
        }
        Datatype::Enum(t) => alignment(&t.base),
        Datatype::Array(t) => alignment(&t.base),
        Datatype::Complex(t) => alignment(&t.base),
        Datatype::Compound(t) => t.members.iter().map(|m| alignment(&m.datatype)).max().unwrap_or(1),
        Datatype::VarLen(_) | Datatype::Reference(_) => 8,
        _ => 1,
    }
}

/// Returns the types in which two stored types are read to be compared: the wider one for both.
pub(crate) fn common(first: &Datatype, second: &Datatype) -> [Datatype; 2] {
    let types = [native(first), native(second)];
    match types[0].size().cmp(&types[1].size()) {
        std::cmp::Ordering::Less => [types[1].clone(), types[1].clone()],
        std::cmp::Ordering::Equal => types,
        std::cmp::Ordering::Greater => [types[0].clone(), types[0].clone()],
    }
}

/// Returns whether two types are the same, in whatever order their members stand, as libhdf5 1.10 compares them (`H5Tequal`):
/// variable-length strings are all one type.
pub(crate) fn equal(first: &Datatype, second: &Datatype) -> bool {
    sorted(&first.memory_type()) == sorted(&second.memory_type())
}

fn sorted(datatype: &Datatype) -> Datatype {
    let mut datatype = datatype.clone();
    match &mut datatype {
        Datatype::Compound(t) => {
            t.members.iter_mut().for_each(|m| m.datatype = sorted(&m.datatype));
            t.members.sort_by(|a, b| a.name.cmp(&b.name));
        }
        Datatype::Enum(t) => t.members.sort(),
        Datatype::Array(t) => *t.base = sorted(&t.base),
        Datatype::VarLen(VarLen { kind: VarLenKind::Sequence(base), .. }) => **base = sorted(base),
        Datatype::VarLen(_) => return Datatype::var_string(CharacterSet::Ascii),
        _ => {}
    }
    datatype
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(a: (&str, Datatype), b: (&str, Datatype)) -> Datatype {
        Datatype::Compound(Compound::packed([(a.0.to_owned(), a.1), (b.0.to_owned(), b.1)]))
    }

    #[test]
    fn compounds_have_the_layout_of_c() {
        let stored = pair(("a", Datatype::native_int(2)), ("b", Datatype::ieee_f64(ByteOrder::Big)));
        let Datatype::Compound(t) = native(&stored) else { panic!() };
        assert_eq!((t.size, t.members[1].offset), (16, 8));
        assert_eq!(t.members[1].datatype, Datatype::ieee_f64(ByteOrder::NATIVE));
    }

    #[test]
    fn the_wider_type_serves_both() {
        let [a, b] = common(&Datatype::integer(2, true, ByteOrder::Big), &Datatype::native_int(4));
        assert_eq!((&a, &b), (&Datatype::native_int(4), &Datatype::native_int(4)));
    }

    #[test]
    fn order_of_enum_members_makes_no_difference() {
        let make = |names: [(&str, u8); 2]| {
            let members = names.map(|(n, v)| (n.to_owned(), vec![v])).to_vec();
            Datatype::Enum(Enum { base: Box::new(Datatype::native_int(1)), members })
        };
        assert!(equal(&make([("A", 0), ("B", 1)]), &make([("B", 1), ("A", 0)])));
        assert!(!equal(&make([("A", 0), ("B", 1)]), &make([("A", 1), ("B", 0)])));
    }
}
