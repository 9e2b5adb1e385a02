//! Datatypes as h5grove describes them.

use hyperslab::Datatype;
use hyperslab::vol::model::ByteOrder;
use hyperslab::vol::model::datatype::{CharacterSet, Enum, StringPad, VarLen, VarLenKind};
use serde_json::{Map, Value, json};

use crate::elements::form::integer;
use crate::elements::numpy;

/// The class of compounds.
const COMPOUND: u8 = 6;
/// The class of strings, fixed or variable.
const STRING: u8 = 3;

/// Returns the description of a type.
pub(crate) fn describe(datatype: &Datatype) -> Value {
    let class = match datatype {
        _ if datatype.is_string() => STRING,
        // h5py knows complex numbers as compounds of two members.
        Datatype::Complex(_) => COMPOUND,
        other => other.class(),
    };
    let mut fields = Map::new();
    fields.insert("class".to_owned(), class.into());
    fields.insert("dtype".to_owned(), numpy::dtype(datatype));
    fields.insert("size".to_owned(), numpy::memory_bytes(datatype).into());
    if let Value::Object(more) = of_class(datatype) {
        fields.extend(more);
    }
    Value::Object(fields)
}

/// Returns the fields that only types of this class have.
fn of_class(datatype: &Datatype) -> Value {
    match datatype {
        Datatype::Integer(t) => json!({ "order": order(t.bits.order), "sign": u8::from(t.signed) }),
        Datatype::Float(t) => json!({ "order": order(t.bits.order) }),
        Datatype::Bitfield(t) => json!({ "order": order(t.order) }),
        Datatype::String(t) => string(t.charset, t.padding, false),
        Datatype::VarLen(VarLen { kind: VarLenKind::String { padding, charset }, .. }) => {
            string(*charset, *padding, true)
        }
        Datatype::Opaque(t) => json!({ "tag": t.tag }),
        Datatype::Compound(t) => {
            let members = t.members.iter().map(|member| named(&member.name, &member.datatype));
            json!({ "members": members.collect::<Vec<_>>() })
        }
        Datatype::Complex(t) => json!({ "members": [named("r", &t.base), named("i", &t.base)] }),
        Datatype::Enum(t) => json!({ "members": members(t), "base": describe(&t.base) }),
        Datatype::VarLen(VarLen { kind: VarLenKind::Sequence(base), .. }) => {
            json!({ "base": describe(base) })
        }
        Datatype::Array(t) => json!({ "dims": t.dims, "base": describe(&t.base) }),
        Datatype::Time(_) | Datatype::Reference(_) => Value::Null,
    }
}

fn named(name: &str, datatype: &Datatype) -> Value {
    let mut described = describe(datatype);
    described["name"] = name.into();
    described
}

fn string(charset: CharacterSet, padding: StringPad, is_variable: bool) -> Value {
    let padding = match padding {
        StringPad::NullTerminated => 0,
        StringPad::NullPadded => 1,
        StringPad::SpacePadded => 2,
    };
    json!({ "cset": u8::from(charset == CharacterSet::Utf8), "strpad": padding, "vlen": is_variable })
}

/// Returns the names of an enum with their numbers.
fn members(t: &Enum) -> Map<String, Value> {
    let (signed, order) = match &*t.base {
        Datatype::Integer(base) => (base.signed, base.bits.order),
        _ => (false, ByteOrder::Little),
    };
    let number = |bytes: &[u8]| {
        let mut bytes = bytes.to_vec();
        if order == ByteOrder::Big {
            bytes.reverse();
        }
        let number = integer(&bytes, signed);
        i64::try_from(number).map_or_else(|_| Value::from(number as u64), Value::from)
    };
    t.members.iter().map(|(name, bytes)| (name.clone(), number(bytes))).collect()
}

fn order(order: ByteOrder) -> u8 {
    match order {
        ByteOrder::Little => 0,
        ByteOrder::Big => 1,
        ByteOrder::Vax => 2,
    }
}
