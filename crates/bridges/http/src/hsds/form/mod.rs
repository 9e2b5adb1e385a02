//! Elements as clients send and receive them: as bytes, or as JSON.
//!
//! As bytes, elements of fixed size are what they are in memory. A string or a sequence is the number of its bytes (32
//! bits, little-endian) and the bytes; a reference to an object is 48 bytes of text.

mod bytes;
mod json;
mod parse;

pub(super) use parse::JsonReader;

use hyperslab::Datatype;
use hyperslab::vol::model::datatype::{ReferenceKind, StringPad, VarLen, VarLenKind};
use hyperslab::vol::model::{ByteOrder, Token};

use super::call::Domain;
use super::ids;
use super::types::standard;
use crate::answer::Failure;
use crate::elements::form::is_boolean;

/// Bytes of a reference to an object: the longest word for a kind of objects, and an identifier.
const REFERENCE_BYTES: usize = 48;

/// How elements of a type look.
#[derive(Debug, Clone)]
pub(super) struct Form {
    /// The type that elements have in memory.
    pub(super) memory: Datatype,
    node: Node,
}

#[derive(Debug, Clone)]
enum Node {
    Integer {
        signed: bool,
        order: ByteOrder,
    },
    Real {
        order: ByteOrder,
    },
    Bool,
    FixedText(StringPad),
    Opaque,
    /// Offsets and forms of members.
    Compound(Vec<(usize, Form)>),
    Text,
    Sequence(Box<Form>),
    Array(Vec<u64>, Box<Form>),
    Object,
    Region,
}

/// What elements are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Bytes,
    Json,
}

impl Form {
    /// Returns the form of a type.
    pub(super) fn new(datatype: &Datatype, encoding: Encoding) -> Self {
        Self::of(standard(datatype), encoding)
    }

    fn of(datatype: Datatype, encoding: Encoding) -> Self {
        let child = |t: &Datatype| Box::new(Self::of(t.clone(), encoding));
        let node = match &datatype {
            Datatype::Integer(t) => Node::Integer { signed: t.signed, order: t.bits.order },
            Datatype::Bitfield(bits) => Node::Integer { signed: false, order: bits.order },
            Datatype::Time(t) => Node::Integer { signed: true, order: t.order },
            // JSON of half precision is that of single precision.
            Datatype::Float(t) if t.bits.size == 2 && encoding == Encoding::Json => {
                return Self::of(Datatype::ieee_f32(ByteOrder::Little), encoding);
            }
            Datatype::Float(t) => Node::Real { order: t.bits.order },
            Datatype::Enum(t) if is_boolean(t) => Node::Bool,
            Datatype::Enum(t) => {
                return Form { node: Self::of((*t.base).clone(), encoding).node, memory: datatype };
            }
            Datatype::String(t) => Node::FixedText(t.padding),
            Datatype::Opaque(_) => Node::Opaque,
            Datatype::VarLen(VarLen { kind: VarLenKind::String { .. }, .. }) => Node::Text,
            Datatype::VarLen(VarLen { kind: VarLenKind::Sequence(base), .. }) => {
                let base = child(base);
                let memory = Datatype::var_sequence(base.memory.clone());
                return Form { memory, node: Node::Sequence(base) };
            }
            Datatype::Array(t) => {
                let base = child(&t.base);
                let dims = t.dims.iter().map(|&dim| u64::from(dim)).collect();
                let memory = Datatype::array(&t.dims, base.memory.clone());
                return Form { memory, node: Node::Array(dims, base) };
            }
            Datatype::Reference(t) => match t.kind {
                ReferenceKind::DatasetRegion1 | ReferenceKind::Region => Node::Region,
                _ => Node::Object,
            },
            Datatype::Compound(t) => {
                let forms = t.members.iter().map(|member| (member.name.clone(), *child(&member.datatype)));
                return Self::compound(forms.collect());
            }
            Datatype::Complex(t) => {
                let part = child(&t.base);
                let bytes = part.memory.size() as usize;
                let base = Box::new(part.memory.clone());
                let memory = Datatype::Complex(hyperslab::vol::model::datatype::Complex { base });
                return Form { memory, node: Node::Compound(vec![(0, (*part).clone()), (bytes, *part)]) };
            }
        };
        Form { memory: datatype, node }
    }

    fn compound(forms: Vec<(String, Form)>) -> Self {
        use hyperslab::vol::model::datatype::Compound;
        let packed = Compound::packed(forms.iter().map(|(name, form)| (name.clone(), form.memory.clone())));
        let offsets = packed.members.iter().map(|member| member.offset as usize);
        let node = Node::Compound(offsets.zip(forms.into_iter().map(|(_, form)| form)).collect());
        Form { memory: Datatype::Compound(packed), node }
    }

    /// Returns the number of bytes of an element in memory.
    pub(super) fn size(&self) -> usize {
        (self.memory.size() as usize).max(1)
    }

    /// Returns whether elements are sent as they are in memory.
    pub(super) fn is_plain(&self) -> bool {
        !self.memory.has_descriptors()
    }
}

/// Returns the bytes of an element that `offset` and a form say.
fn part<'e>(element: &'e [u8], offset: usize, form: &Form) -> &'e [u8] {
    element.get(offset..offset + form.size()).unwrap_or_default()
}

impl Domain {
    /// Returns a reference to an object as clients write it: `datasets/d-…`.
    fn reference(&self, token: Token) -> Result<String, Failure> {
        let kind = self.container.file.container().object_info(token)?.kind;
        Ok(format!("{}/{}", ids::collection(kind), self.id(kind, token)))
    }

    /// Returns the object that a client's reference means; `None` is no object.
    fn referenced(&self, text: &str) -> Result<Option<Token>, Failure> {
        if text.is_empty() {
            return Ok(None);
        }
        let id = text.rsplit_once('/').map_or(text, |(_, id)| id);
        Ok(Some(self.object(id)?.object().token()))
    }
}
