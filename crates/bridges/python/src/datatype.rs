//! Datatypes: a handle, and nested tuples that describe one to Python and back.
//!
//! | tuple | class |
//! |---|---|
//! | `("i", size, signed, order)` | integer; `order` is `<` or `>` |
//! | `("n", size, signed, order, offset, precision)` | integer that does not use all its bits |
//! | `("f", size, order)` | IEEE float of 2, 4 or 8 bytes |
//! | `("F", size, order, exponent_bits, mantissa_bits)` | other float |
//! | `("g",)` | the 80-bit float of x86 in 16 bytes |
//! | `("s", size, is_utf8, padding)` | fixed string; `padding` is 0 (NUL-terminated), 1 (NULs) or 2 (spaces) |
//! | `("v", is_utf8)` | variable-length string |
//! | `("q", base)` | variable-length sequence |
//! | `("c", size, [(name, offset, type), …])` | compound |
//! | `("e", base, [(name, value), …])` | enumeration |
//! | `("a", dims, base)` | array |
//! | `("o", size, tag)` | opaque |
//! | `("r", kind)` | reference: `object`, `region` or `other` |
//! | `("z", base)` | complex number |
//! | `("b", size, order)` | bit field |
//! | `("t", size, order)` | time |

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use hyperslab::Datatype;
use hyperslab::vol::model::CharacterSet;
use hyperslab::vol::model::datatype::{
    BitPad, Bits, ByteOrder, Complex, Compound, Enum, Float, Member, Normalization, Opaque, ReferenceKind,
    StringPad, Time, VarLenKind,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

/// A datatype. Equal ones have the same hash.
#[pyclass(frozen, module = "hyperslab._core", from_py_object)]
#[derive(Debug, Clone)]
pub(crate) struct Type {
    pub(crate) datatype: Arc<Datatype>,
    hash: u64,
}

impl From<Datatype> for Type {
    fn from(datatype: Datatype) -> Self {
        let mut hasher = DefaultHasher::new();
        datatype.hash(&mut hasher);
        Type { hash: hasher.finish(), datatype: Arc::new(datatype) }
    }
}

#[pymethods]
impl Type {
    /// Returns the type that a tuple describes.
    #[new]
    fn new(description: &Bound<'_, PyTuple>) -> PyResult<Self> {
        parse(description).map(Type::from)
    }

    fn __eq__(&self, other: &Type) -> bool {
        self.hash == other.hash && self.datatype == other.datatype
    }

    fn __hash__(&self) -> u64 {
        self.hash
    }

    fn __repr__(&self) -> String {
        format!("<{} of {} bytes>", self.datatype.class_name(), self.datatype.size())
    }

    /// Bytes of an element.
    #[getter]
    fn size(&self) -> u32 {
        self.datatype.size()
    }

    /// Whether elements hold variable-length values or references.
    #[getter]
    fn has_objects(&self) -> bool {
        self.datatype.has_descriptors()
    }

    /// The type as elements have it in memory.
    fn in_memory(&self) -> Type {
        Type::from(self.datatype.memory_type())
    }

    /// The nested tuples that describe the type.
    fn describe<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        describe(py, &self.datatype)
    }
}

fn order_name(order: ByteOrder) -> &'static str {
    if order == ByteOrder::Big { ">" } else { "<" }
}

fn order_of(name: &str) -> PyResult<ByteOrder> {
    match name {
        "<" => Ok(ByteOrder::Little),
        ">" => Ok(ByteOrder::Big),
        _ => Err(PyValueError::new_err("byte order must be '<' or '>'")),
    }
}

fn describe<'py>(py: Python<'py>, datatype: &Datatype) -> PyResult<Bound<'py, PyAny>> {
    let tuple = match datatype {
        Datatype::Integer(t) if t.bits.is_full() => {
            ("i", t.bits.size, t.signed, order_name(t.bits.order)).into_pyobject(py)?
        }
        Datatype::Integer(t) => {
            let bits = &t.bits;
            ("n", bits.size, t.signed, order_name(bits.order), bits.offset, bits.precision)
                .into_pyobject(py)?
        }
        Datatype::Float(t) if *t == extended(t.bits.order) => {
            ("g", order_name(t.bits.order)).into_pyobject(py)?
        }
        Datatype::Float(t) if t.is_ieee() => {
            ("f", t.bits.size, order_name(t.bits.order)).into_pyobject(py)?
        }
        Datatype::Float(t) => ("F", t.bits.size, order_name(t.bits.order), t.exponent_bits, t.mantissa_bits)
            .into_pyobject(py)?,
        Datatype::Time(t) => ("t", t.size, order_name(t.order)).into_pyobject(py)?,
        Datatype::String(t) => {
            ("s", t.size, t.charset == CharacterSet::Utf8, padding_number(t.padding)).into_pyobject(py)?
        }
        Datatype::Bitfield(t) => ("b", t.size, order_name(t.order)).into_pyobject(py)?,
        Datatype::Opaque(t) => ("o", t.size, &t.tag).into_pyobject(py)?,
        Datatype::Compound(t) => ("c", t.size, members(py, t)?).into_pyobject(py)?,
        Datatype::Reference(t) => ("r", reference_name(t.kind)).into_pyobject(py)?,
        Datatype::Enum(t) => ("e", describe(py, &t.base)?, enum_members(t)).into_pyobject(py)?,
        Datatype::VarLen(t) => match &t.kind {
            VarLenKind::Sequence(base) => ("q", describe(py, base)?).into_pyobject(py)?,
            VarLenKind::String { charset, .. } => ("v", *charset == CharacterSet::Utf8).into_pyobject(py)?,
        },
        Datatype::Array(t) => ("a", PyTuple::new(py, &t.dims)?, describe(py, &t.base)?).into_pyobject(py)?,
        Datatype::Complex(t) => ("z", describe(py, &t.base)?).into_pyobject(py)?,
    };
    Ok(tuple.into_any())
}

fn members<'py>(py: Python<'py>, compound: &Compound) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for member in &compound.members {
        list.append((&member.name, member.offset, describe(py, &member.datatype)?))?;
    }
    Ok(list)
}

/// Returns names and values of an enumeration; values of more than 8 bytes lose their high ones.
fn enum_members(datatype: &Enum) -> Vec<(String, i128)> {
    let (is_big, is_signed) = match &*datatype.base {
        Datatype::Integer(base) => (base.bits.order == ByteOrder::Big, base.signed),
        _ => (false, false),
    };
    datatype.members.iter().map(|(name, value)| (name.clone(), number(value, is_big, is_signed))).collect()
}

fn number(bytes: &[u8], is_big: bool, is_signed: bool) -> i128 {
    let mut little = bytes.to_vec();
    if is_big {
        little.reverse();
    }
    let is_negative = is_signed && little.last().is_some_and(|top| top & 0x80 != 0);
    let mut wide = [if is_negative { 0xFF } else { 0 }; 16];
    let count = little.len().min(16);
    wide[..count].copy_from_slice(&little[..count]);
    i128::from_le_bytes(wide)
}

fn padding_number(padding: StringPad) -> u8 {
    match padding {
        StringPad::NullTerminated => 0,
        StringPad::NullPadded => 1,
        StringPad::SpacePadded => 2,
    }
}

fn reference_name(kind: ReferenceKind) -> &'static str {
    match kind {
        ReferenceKind::Object1 | ReferenceKind::Object => "object",
        ReferenceKind::DatasetRegion1 | ReferenceKind::Region => "region",
        ReferenceKind::Attribute => "other",
    }
}

/// The 80-bit float of x86, in 16 bytes.
fn extended(order: ByteOrder) -> Float {
    let bits = Bits { precision: 80, ..Bits::full(16, order) };
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

/// Reads an item of a tuple.
fn item<'py, T>(tuple: &Bound<'py, PyTuple>, at: usize) -> PyResult<T>
where
    T: for<'a> FromPyObject<'a, 'py>,
{
    tuple.get_item(at)?.extract().map_err(Into::into)
}

/// Returns the type that an item of a tuple describes.
fn inner(tuple: &Bound<'_, PyTuple>, at: usize) -> PyResult<Datatype> {
    parse(tuple.get_item(at)?.cast::<PyTuple>()?)
}

/// Returns the type that a tuple describes.
fn parse(tuple: &Bound<'_, PyTuple>) -> PyResult<Datatype> {
    let class: String = item(tuple, 0)?;
    let order = |at| order_of(&item::<String>(tuple, at)?);
    Ok(match class.as_str() {
        "i" => Datatype::integer(item(tuple, 1)?, item(tuple, 2)?, order(3)?),
        "f" => ieee(item(tuple, 1)?, order(2)?)?,
        "g" => Datatype::Float(extended(order(1)?)),
        "s" => Datatype::fixed_string(item(tuple, 1)?, padding(item(tuple, 3)?), charset(item(tuple, 2)?)),
        "v" => Datatype::var_string(charset(item(tuple, 1)?)),
        "q" => Datatype::var_sequence(inner(tuple, 1)?),
        "c" => parse_compound(tuple)?,
        "e" => parse_enum(tuple)?,
        "a" => Datatype::array(&item::<Vec<u32>>(tuple, 1)?, inner(tuple, 2)?),
        "o" => Datatype::Opaque(Opaque { size: item(tuple, 1)?, tag: item(tuple, 2)? }),
        "r" => Datatype::reference(match item::<String>(tuple, 1)?.as_str() {
            "region" => ReferenceKind::DatasetRegion1,
            _ => ReferenceKind::Object1,
        }),
        "z" => Datatype::Complex(Complex { base: Box::new(inner(tuple, 1)?) }),
        "b" => Datatype::Bitfield(Bits::full(item(tuple, 1)?, order(2)?)),
        "t" => {
            let size = item(tuple, 1)?;
            Datatype::Time(Time { size, order: order(2)?, precision: (size * 8) as u16 })
        }
        other => return Err(PyValueError::new_err(format!("unknown class of datatype {other:?}"))),
    })
}

fn ieee(size: u32, order: ByteOrder) -> PyResult<Datatype> {
    match size {
        2 => Ok(Datatype::ieee_f16(order)),
        4 => Ok(Datatype::ieee_f32(order)),
        8 => Ok(Datatype::ieee_f64(order)),
        _ => Err(PyValueError::new_err(format!("no float of {size} bytes"))),
    }
}

fn charset(is_utf8: bool) -> CharacterSet {
    if is_utf8 { CharacterSet::Utf8 } else { CharacterSet::Ascii }
}

fn padding(number: u8) -> StringPad {
    match number {
        0 => StringPad::NullTerminated,
        1 => StringPad::NullPadded,
        _ => StringPad::SpacePadded,
    }
}

fn parse_compound(tuple: &Bound<'_, PyTuple>) -> PyResult<Datatype> {
    let mut members = Vec::new();
    for member in tuple.get_item(2)?.try_iter()? {
        let member = member?;
        let member = member.cast::<PyTuple>()?;
        members.push(Member {
            name: item(member, 0)?,
            offset: item(member, 1)?,
            datatype: inner(member, 2)?,
        });
    }
    Ok(Datatype::Compound(Compound { size: item(tuple, 1)?, members }))
}

fn parse_enum(tuple: &Bound<'_, PyTuple>) -> PyResult<Datatype> {
    let base = inner(tuple, 1)?;
    let size = base.size() as usize;
    let is_big = matches!(&base, Datatype::Integer(t) if t.bits.order == ByteOrder::Big);
    let bytes = |value: i128| {
        let mut bytes = value.to_le_bytes()[..size.min(16)].to_vec();
        if is_big {
            bytes.reverse();
        }
        bytes
    };
    let members = item::<Vec<(String, i128)>>(tuple, 2)?;
    let members = members.into_iter().map(|(name, value)| (name, bytes(value))).collect();
    Ok(Datatype::Enum(Enum { base: Box::new(base), members }))
}
