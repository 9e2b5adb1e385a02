//! Types as numpy names them.

use hyperslab::Datatype;
use hyperslab::vol::model::ByteOrder;
use hyperslab::vol::model::datatype::{Array, Complex, Compound, VarLen, VarLenKind};
use serde_json::{Map, Value};

use crate::elements::form::is_boolean;

/// A type of numbers: what numpy computes with.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NumberType {
    /// Dimensions of an array type, which numpy adds to those of the dataset.
    pub(crate) dims: Vec<u64>,
    /// The type that elements are read as.
    pub(crate) memory: Datatype,
    /// Its name in numpy.
    pub(crate) dtype: String,
}

impl NumberType {
    /// Returns the type as it is in the container; `None` if its elements are not numbers.
    pub(crate) fn origin(datatype: &Datatype) -> Option<Self> {
        let (dims, element) = split_array(datatype);
        is_number(element).then(|| NumberType { dims, memory: datatype.clone(), dtype: text(element) })
    }

    /// Returns the type that typed arrays of a browser have: little-endian, floats of 4 or 8 bytes.
    pub(crate) fn safe(datatype: &Datatype) -> Option<Self> {
        let (dims, element) = split_array(datatype);
        let safe = is_number(element).then(|| safe_element(element))?;
        let dtype = if is_bool(element) { "|b1".to_owned() } else { text(&safe) };
        let each: Vec<u32> = dims.iter().filter_map(|&dim| u32::try_from(dim).ok()).collect();
        let memory = if each.is_empty() { safe } else { Datatype::array(&each, safe) };
        Some(NumberType { dims, memory, dtype })
    }

    /// Returns whether elements are pairs of a real and an imaginary part.
    pub(crate) fn is_complex(&self) -> bool {
        self.dtype.as_bytes().get(1) == Some(&b'c')
    }
}

/// Returns the dimensions of nested arrays, and the type in them.
fn split_array(datatype: &Datatype) -> (Vec<u64>, &Datatype) {
    match datatype {
        Datatype::Array(Array { dims, base }) => {
            let (inner, element) = split_array(base);
            (dims.iter().map(|&dim| u64::from(dim)).chain(inner).collect(), element)
        }
        _ => (Vec::new(), datatype),
    }
}

fn is_number(datatype: &Datatype) -> bool {
    match datatype {
        Datatype::Integer(_) | Datatype::Bitfield(_) => matches!(datatype.size(), 1 | 2 | 4 | 8),
        Datatype::Float(_) => matches!(datatype.size(), 2 | 4 | 8 | 16),
        Datatype::Enum(t) => is_number(&t.base),
        Datatype::Complex(t) => is_number(&t.base),
        Datatype::Compound(t) => complex_part(t).is_some(),
        _ => false,
    }
}

fn is_bool(datatype: &Datatype) -> bool {
    matches!(datatype, Datatype::Enum(t) if is_boolean(t))
}

/// Returns the type of both parts, if a compound is a complex number to h5py.
fn complex_part(t: &Compound) -> Option<&Datatype> {
    let [re, im] = t.members.as_slice() else { return None };
    let is_pair = re.name == "r" && im.name == "i" && re.datatype == im.datatype;
    let is_packed = re.offset == 0 && im.offset == re.datatype.size() && t.size == 2 * im.offset;
    let is_float = matches!(re.datatype, Datatype::Float(_)) && is_number(&re.datatype);
    (is_pair && is_packed && is_float).then_some(&re.datatype)
}

fn safe_element(datatype: &Datatype) -> Datatype {
    let little = ByteOrder::Little;
    match datatype {
        Datatype::Float(t) if t.bits.size <= 4 => Datatype::ieee_f32(little),
        Datatype::Float(_) => Datatype::ieee_f64(little),
        Datatype::Integer(t) => Datatype::integer(t.bits.size, t.signed, little),
        Datatype::Enum(t) if is_boolean(t) => Datatype::integer(1, true, little),
        Datatype::Enum(t) => safe_element(&t.base),
        Datatype::Complex(t) => Datatype::Complex(Complex { base: Box::new(safe_element(&t.base)) }),
        Datatype::Compound(t) => {
            let parts = t.members.iter().map(|member| (member.name.clone(), safe_element(&member.datatype)));
            Datatype::Compound(Compound::packed(parts))
        }
        other => Datatype::integer(other.size(), false, little),
    }
}

/// Returns numpy's name of a type: text, or a map of the members of a compound.
pub(crate) fn dtype(datatype: &Datatype) -> Value {
    match datatype {
        Datatype::Compound(t) if complex_part(t).is_none() => {
            let members = t.members.iter().map(|member| (member.name.clone(), dtype(&member.datatype)));
            Value::Object(members.collect::<Map<String, Value>>())
        }
        _ => text(datatype).into(),
    }
}

fn text(datatype: &Datatype) -> String {
    let size = datatype.size();
    match datatype {
        Datatype::Integer(t) => {
            format!("{}{}{size}", order(t.bits.order, size), if t.signed { 'i' } else { 'u' })
        }
        Datatype::Bitfield(t) => format!("{}u{size}", order(t.order, size)),
        Datatype::Float(t) => format!("{}f{size}", order(t.bits.order, size)),
        Datatype::Enum(t) if is_boolean(t) => "|b1".to_owned(),
        Datatype::Enum(t) => text(&t.base),
        Datatype::String(_) => format!("|S{size}"),
        Datatype::VarLen(_) | Datatype::Reference(_) => "|O".to_owned(),
        Datatype::Complex(t) => complex(&t.base),
        Datatype::Compound(t) => complex_part(t).map_or_else(|| format!("|V{size}"), complex),
        Datatype::Time(_) | Datatype::Opaque(_) | Datatype::Array(_) => format!("|V{size}"),
    }
}

fn complex(part: &Datatype) -> String {
    let order = if let Datatype::Float(t) = part { order(t.bits.order, t.bits.size) } else { '|' };
    format!("{order}c{}", 2 * part.size())
}

fn order(order: ByteOrder, size: u32) -> char {
    match order {
        _ if size == 1 => '|',
        ByteOrder::Big => '>',
        ByteOrder::Little | ByteOrder::Vax => '<',
    }
}

/// Returns the bytes of an element in h5py's memory, where strings, sequences and references are pointers or structs.
pub(crate) fn memory_bytes(datatype: &Datatype) -> u32 {
    match datatype {
        Datatype::VarLen(VarLen { kind: VarLenKind::String { .. }, .. }) => 8,
        Datatype::VarLen(_) => 16,
        Datatype::Array(t) => {
            t.dims.iter().fold(memory_bytes(&t.base), |bytes, &dim| bytes.saturating_mul(dim))
        }
        Datatype::Compound(t) => t.members.iter().fold(t.size, |bytes, member| {
            bytes.saturating_add(memory_bytes(&member.datatype)).saturating_sub(member.datatype.size())
        }),
        other => other.size(),
    }
}
