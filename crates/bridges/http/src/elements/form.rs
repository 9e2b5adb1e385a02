//! Elements as JSON: the types that they are read as, and how each is written.

use hyperslab::Datatype;
use hyperslab::vol::model::ByteOrder;
use hyperslab::vol::model::Heap;
use hyperslab::vol::model::datatype::{
    Array, CharacterSet, Complex, Compound, Enum, Float, Integer, ReferenceKind, VarLen, VarLenKind,
};
use hyperslab::vol::model::heap::VarLenDescriptor;
use hyperslab::vol::model::text::from_bytes_to_nul;

use crate::answer::Failure;
use crate::elements::json_text::JsonText;
use crate::elements::nesting::Nesting;

/// How bytes in memory are written.
#[derive(Debug, Clone, PartialEq)]
enum Notation {
    /// A little-endian integer of so many bytes.
    Integer {
        bytes: usize,
        signed: bool,
    },
    /// `true` or `false`.
    Bool,
    F32,
    F64,
    /// A string on the heap.
    Text,
    /// Bytes that are text as far as they can be.
    Bytes,
    Reference(ReferenceKind),
    /// Members with their offsets and sizes.
    List(Vec<(usize, usize, Notation)>),
    /// A sequence on the heap, with the size of its elements.
    Sequence(usize, Box<Notation>),
    /// Elements of a size in a shape.
    Array(Vec<u64>, usize, Box<Notation>),
}

/// A type as it is read into memory, and how that is written.
#[derive(Debug, Clone)]
pub(crate) struct JsonForm {
    /// The type in memory.
    pub(crate) memory: Datatype,
    notation: Notation,
}

impl JsonForm {
    /// Returns the form of a type in a container.
    pub(crate) fn new(datatype: &Datatype) -> Self {
        match datatype {
            Datatype::Integer(t) => Self::integer(t),
            Datatype::Float(t) => Self::float(t),
            Datatype::Bitfield(bits) => Self::number(bits.size, false),
            Datatype::Enum(t) => Self::enumeration(t),
            _ if datatype.is_string() => Self::text(),
            Datatype::Compound(t) => Self::compound(t),
            Datatype::Reference(t) => {
                JsonForm { memory: Datatype::reference(t.kind), notation: Notation::Reference(t.kind) }
            }
            Datatype::VarLen(VarLen { kind: VarLenKind::Sequence(base), .. }) => Self::sequence(base),
            Datatype::Array(t) => Self::array(t),
            Datatype::Complex(t) => Self::complex(&t.base),
            _ => JsonForm { memory: datatype.memory_type(), notation: Notation::Bytes },
        }
    }

    fn integer(t: &Integer) -> Self {
        Self::number(t.bits.size, t.signed)
    }

    /// Returns an integer of a size that memory has.
    fn number(size: u32, signed: bool) -> Self {
        let size = if matches!(size, 1 | 2 | 4) { size } else { 8 };
        let notation = Notation::Integer { bytes: size as usize, signed };
        JsonForm { memory: Datatype::integer(size, signed, ByteOrder::Little), notation }
    }

    fn float(t: &Float) -> Self {
        match t.bits.size {
            1..=4 => JsonForm { memory: Datatype::ieee_f32(ByteOrder::Little), notation: Notation::F32 },
            _ => JsonForm { memory: Datatype::ieee_f64(ByteOrder::Little), notation: Notation::F64 },
        }
    }

    fn enumeration(t: &Enum) -> Self {
        let form = Self::new(&t.base);
        if is_boolean(t) {
            JsonForm { memory: Datatype::native_int(1), notation: Notation::Bool }
        } else {
            form
        }
    }

    fn text() -> Self {
        JsonForm { memory: Datatype::var_string(CharacterSet::Utf8), notation: Notation::Text }
    }

    fn compound(t: &Compound) -> Self {
        let forms: Vec<JsonForm> = t.members.iter().map(|member| Self::new(&member.datatype)).collect();
        let named =
            t.members.iter().zip(&forms).map(|(member, form)| (member.name.clone(), form.memory.clone()));
        let packed = Compound::packed(named);
        let parts =
            packed.members.iter().zip(forms).map(|(member, form)| {
                (member.offset as usize, member.datatype.size() as usize, form.notation)
            });
        let notation = Notation::List(parts.collect());
        JsonForm { memory: Datatype::Compound(packed), notation }
    }

    fn sequence(base: &Datatype) -> Self {
        let base = Self::new(base);
        let notation = Notation::Sequence(base.memory.size() as usize, Box::new(base.notation));
        JsonForm { memory: Datatype::var_sequence(base.memory), notation }
    }

    fn array(t: &Array) -> Self {
        let base = Self::new(&t.base);
        let dims = t.dims.iter().map(|&dim| u64::from(dim)).collect();
        let notation = Notation::Array(dims, base.memory.size() as usize, Box::new(base.notation));
        JsonForm { memory: Datatype::array(&t.dims, base.memory), notation }
    }

    /// Returns a list of the real and the imaginary part.
    fn complex(base: &Datatype) -> Self {
        let base = Self::new(base);
        let bytes = base.memory.size() as usize;
        let parts = [0, bytes].map(|offset| (offset, bytes, base.notation.clone()));
        let memory = Datatype::Complex(Complex { base: Box::new(base.memory) });
        JsonForm { memory, notation: Notation::List(parts.to_vec()) }
    }

    /// Returns the dimensions of an array type and the form of its elements; numpy adds them to those of the dataset.
    pub(crate) fn split_array(datatype: &Datatype) -> (Vec<u64>, JsonForm) {
        match datatype {
            Datatype::Array(t) => {
                let (inner, form) = Self::split_array(&t.base);
                (t.dims.iter().map(|&dim| u64::from(dim)).chain(inner).collect(), form)
            }
            _ => (Vec::new(), Self::new(datatype)),
        }
    }

    /// Writes one element.
    pub(crate) fn write(&self, element: &[u8], heap: &Heap, out: &mut JsonText) -> Result<(), Failure> {
        self.notation.write(element, heap, out)
    }

    /// Writes packed elements.
    pub(crate) fn write_all(
        &self,
        elements: &[u8],
        heap: &Heap,
        nesting: &mut Nesting,
        out: &mut JsonText,
    ) -> Result<(), Failure> {
        for element in elements.chunks_exact(self.memory.size().max(1) as usize) {
            nesting.before(out)?;
            self.write(element, heap, out)?;
            nesting.after(out)?;
        }
        Ok(())
    }
}

/// Returns whether an enum is h5py's boolean.
pub(crate) fn is_boolean(t: &Enum) -> bool {
    let has = |name: &str, value: u8| t.members.iter().any(|(n, v)| n == name && is_number(v, value));
    t.members.len() == 2 && has("FALSE", 0) && has("TRUE", 1)
}

/// Returns whether bytes of either order are a small number.
fn is_number(bytes: &[u8], number: u8) -> bool {
    let sum: u32 = bytes.iter().map(|&byte| u32::from(byte)).sum();
    let is_at_end = [bytes.first(), bytes.last()].contains(&Some(&number));
    sum == u32::from(number) && is_at_end
}

impl Notation {
    fn write(&self, element: &[u8], heap: &Heap, out: &mut JsonText) -> Result<(), Failure> {
        match self {
            Notation::Integer { signed, .. } => out.push_display(integer(element, *signed)),
            Notation::Bool => out.push_display(element.iter().any(|&byte| byte != 0)),
            Notation::F32 => out.push_f32(element.first_chunk().map_or(f32::NAN, |b| f32::from_le_bytes(*b))),
            Notation::F64 => out.push_f64(element.first_chunk().map_or(f64::NAN, |b| f64::from_le_bytes(*b))),
            Notation::Text => {
                let text = heap.get(VarLenDescriptor::load(element)?, 1)?;
                out.push_string(&from_bytes_to_nul(text))
            }
            Notation::Bytes => out.push_string(&String::from_utf8_lossy(element)),
            Notation::Reference(kind) => {
                out.push_string(&reference(*kind, heap.load_reference(element)?.is_null()))
            }
            Notation::List(parts) => write_list(parts, element, heap, out),
            Notation::Sequence(bytes, base) => {
                let values = heap.get(VarLenDescriptor::load(element)?, *bytes as u64)?;
                write_elements(values, *bytes, base, heap, out)
            }
            Notation::Array(dims, bytes, base) => {
                let mut nesting = Nesting::new(dims);
                for element in element.chunks_exact((*bytes).max(1)) {
                    nesting.before(out)?;
                    base.write(element, heap, out)?;
                    nesting.after(out)?;
                }
                Ok(())
            }
        }
    }
}

fn write_list(
    parts: &[(usize, usize, Notation)],
    element: &[u8],
    heap: &Heap,
    out: &mut JsonText,
) -> Result<(), Failure> {
    out.push(b"[")?;
    for (at, (offset, bytes, notation)) in parts.iter().enumerate() {
        out.push(if at > 0 { b"," } else { b"" })?;
        notation.write(element.get(*offset..offset + bytes).unwrap_or_default(), heap, out)?;
    }
    out.push(b"]")
}

fn write_elements(
    values: &[u8],
    bytes: usize,
    base: &Notation,
    heap: &Heap,
    out: &mut JsonText,
) -> Result<(), Failure> {
    out.push(b"[")?;
    for (at, element) in values.chunks_exact(bytes.max(1)).enumerate() {
        out.push(if at > 0 { b"," } else { b"" })?;
        base.write(element, heap, out)?;
    }
    out.push(b"]")
}

/// Returns a little-endian integer of up to eight bytes.
pub(crate) fn integer(element: &[u8], signed: bool) -> i128 {
    let mut bytes = [0; 16];
    let is_negative = signed && element.last().is_some_and(|&byte| byte & 0x80 != 0);
    bytes.fill(if is_negative { 0xff } else { 0 });
    let len = element.len().min(bytes.len());
    bytes[..len].copy_from_slice(&element[..len]);
    i128::from_le_bytes(bytes)
}

/// Returns a reference as h5py shows it.
fn reference(kind: ReferenceKind, is_null: bool) -> String {
    let of = match kind {
        ReferenceKind::Object1 | ReferenceKind::Object => "object",
        ReferenceKind::DatasetRegion1 | ReferenceKind::Region => "region",
        ReferenceKind::Attribute => "attribute",
    };
    format!("<HDF5 {of} reference{}>", if is_null { " (null)" } else { "" })
}
