//! Datatypes as HSDS writes them, and the types that clients see for those that it has no word for.

use hyperslab::Datatype;
use hyperslab::vol::model::ByteOrder;
use hyperslab::vol::model::datatype::{
    Array, Bits, CharacterSet, Compound, Enum, ReferenceKind, StringPad, VarLen, VarLenKind,
};
use serde_json::{Value, json};

use crate::elements::form::integer;

/// Returns the type that clients see, which elements are converted to and from: compounds without gaps, and numbers that
/// numpy has.
pub(super) fn standard(datatype: &Datatype) -> Datatype {
    match datatype {
        Datatype::Integer(t) if !(t.bits.is_full() && has_word(&t.bits)) => {
            Datatype::integer(word_size(t.bits.size), t.signed, ByteOrder::Little)
        }
        Datatype::Float(t) if !(t.is_ieee() && has_word(&t.bits) && t.bits.size > 1) => {
            Datatype::ieee_f64(ByteOrder::Little)
        }
        Datatype::Compound(t) => {
            let members = t.members.iter().map(|member| (member.name.clone(), standard(&member.datatype)));
            Datatype::Compound(Compound::packed(members))
        }
        Datatype::VarLen(VarLen { kind: VarLenKind::Sequence(base), .. }) => {
            Datatype::var_sequence(standard(base))
        }
        Datatype::Array(Array { dims, base }) => Datatype::array(dims, standard(base)),
        other => other.memory_type(),
    }
}

fn has_word(bits: &Bits) -> bool {
    matches!(bits.size, 1 | 2 | 4 | 8) && bits.order != ByteOrder::Vax
}

fn word_size(bytes: u32) -> u32 {
    bytes.next_power_of_two().min(8)
}

/// Returns the description of a type that [`standard`] returned.
pub(super) fn describe(datatype: &Datatype) -> Value {
    match datatype {
        Datatype::Integer(t) => number("H5T_INTEGER", if t.signed { "STD_I" } else { "STD_U" }, &t.bits),
        Datatype::Bitfield(bits) => number("H5T_INTEGER", "STD_U", bits),
        Datatype::Time(t) => number("H5T_INTEGER", "STD_I", &Bits::full(t.size, t.order)),
        Datatype::Float(t) => number("H5T_FLOAT", "IEEE_F", &t.bits),
        Datatype::String(t) => string(&json!(t.size), t.charset, t.padding),
        Datatype::VarLen(VarLen { kind: VarLenKind::String { padding, charset }, .. }) => {
            string(&json!("H5T_VARIABLE"), *charset, *padding)
        }
        Datatype::VarLen(VarLen { kind: VarLenKind::Sequence(base), .. }) => {
            json!({ "class": "H5T_VLEN", "size": "H5T_VARIABLE", "base": describe(base) })
        }
        Datatype::Opaque(t) => json!({ "class": "H5T_OPAQUE", "size": t.size, "tag": t.tag }),
        Datatype::Array(t) => json!({ "class": "H5T_ARRAY", "dims": t.dims, "base": describe(&t.base) }),
        Datatype::Enum(t) => enumeration(t),
        Datatype::Reference(t) => json!({ "class": "H5T_REFERENCE", "base": reference(t.kind) }),
        Datatype::Compound(t) => {
            let members = t.members.iter().map(|member| (member.name.as_str(), &member.datatype));
            compound(members)
        }
        // numpy's complex numbers are compounds of these two to h5py and h5pyd.
        Datatype::Complex(t) => compound([("r", &*t.base), ("i", &*t.base)].into_iter()),
    }
}

fn number(class: &str, family: &str, bits: &Bits) -> Value {
    let order = if bits.order == ByteOrder::Big { "BE" } else { "LE" };
    json!({ "class": class, "base": format!("H5T_{family}{}{order}", bits.size * 8) })
}

fn string(length: &Value, charset: CharacterSet, padding: StringPad) -> Value {
    let charset = match charset {
        CharacterSet::Ascii => "H5T_CSET_ASCII",
        CharacterSet::Utf8 => "H5T_CSET_UTF8",
    };
    let padding = match padding {
        StringPad::NullTerminated => "H5T_STR_NULLTERM",
        StringPad::NullPadded => "H5T_STR_NULLPAD",
        StringPad::SpacePadded => "H5T_STR_SPACEPAD",
    };
    json!({ "class": "H5T_STRING", "length": length, "charSet": charset, "strPad": padding })
}

fn reference(kind: ReferenceKind) -> &'static str {
    match kind {
        ReferenceKind::DatasetRegion1 | ReferenceKind::Region => "H5T_STD_REF_DSETREG",
        _ => "H5T_STD_REF_OBJ",
    }
}

fn compound<'t>(members: impl Iterator<Item = (&'t str, &'t Datatype)>) -> Value {
    let fields: Vec<Value> =
        members.map(|(name, datatype)| json!({ "name": name, "type": describe(datatype) })).collect();
    json!({ "class": "H5T_COMPOUND", "fields": fields })
}

/// h5pyd reads either; H5Web reads the mapping, and HSDS writes the members.
fn enumeration(t: &Enum) -> Value {
    let numbers = t.members.iter().map(|(name, bytes)| (name.clone(), member_number(&t.base, bytes)));
    let numbers: Vec<(String, Value)> = numbers.collect();
    let members: Vec<Value> =
        numbers.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
    let mapping: serde_json::Map<String, Value> = numbers.into_iter().collect();
    json!({ "class": "H5T_ENUM", "base": describe(&t.base), "mapping": mapping, "members": members })
}

fn member_number(base: &Datatype, bytes: &[u8]) -> Value {
    let (order, signed) = match base {
        Datatype::Integer(t) => (t.bits.order, t.signed),
        _ => (ByteOrder::Little, false),
    };
    let mut little = bytes.to_vec();
    if order == ByteOrder::Big {
        little.reverse();
    }
    let number = integer(&little, signed);
    i64::try_from(number).map(Value::from).unwrap_or_else(|_| Value::from(number as u64))
}
