//! Positions of the values of an element, in C's form and in the library's.

use hyperslab::vol::model::datatype::{Datatype, ReferenceKind, VarLen, VarLenKind};

use super::c_form;
use crate::failure::{Failure, Fallible};

/// Both forms of an element.
#[derive(Debug)]
pub(super) struct Layout {
    /// Bytes of an element in C's form.
    pub(super) c_bytes: usize,
    /// Bytes of an element in the library's form.
    pub(super) memory_bytes: usize,
    /// Its parts.
    pub(super) parts: Vec<LayoutPart>,
}

/// A part of an element, at its offset in each form.
#[derive(Debug)]
pub(super) struct LayoutPart {
    pub(super) c: usize,
    pub(super) memory: usize,
    pub(super) value: Value,
}

/// What a part is.
#[derive(Debug)]
pub(super) enum Value {
    /// So many bytes that are the same in both forms.
    Plain(usize),
    /// `char *`
    Text,
    /// `hvl_t`, with the layout of its elements.
    Sequence(Box<Layout>),
    /// A reference.
    Reference(ReferenceKind),
    /// So many elements of an array.
    Repeat(usize, Box<Layout>),
}

/// Moves elements from one form to the other.
pub(super) trait Mover {
    /// Returns the bytes of an element in the form that is read, and in the one that is written.
    fn element_bytes(layout: &Layout) -> (usize, usize);

    /// Returns the offsets of a part in the form that is read, and in the one that is written.
    fn offsets(part: &LayoutPart) -> (usize, usize);

    fn text(&mut self, from: &[u8], into: &mut [u8]) -> Fallible<()>;
    fn sequence(&mut self, inner: &Layout, from: &[u8], into: &mut [u8]) -> Fallible<()>;
    fn reference(&mut self, kind: ReferenceKind, from: &[u8], into: &mut [u8]) -> Fallible<()>;

    /// Moves `count` elements, which both buffers have.
    fn run(&mut self, layout: &Layout, from: &[u8], count: usize, into: &mut [u8]) -> Fallible<()> {
        if layout.is_plain() {
            let bytes = count * layout.c_bytes;
            into[..bytes].copy_from_slice(&from[..bytes]);
            return Ok(());
        }
        let (from_bytes, into_bytes) = Self::element_bytes(layout);
        for part in &layout.parts {
            let (from_at, into_at) = Self::offsets(part);
            let from = from.chunks_exact(from_bytes).map(|element| &element[from_at..]);
            let into = into.chunks_exact_mut(into_bytes).map(|element| &mut element[into_at..]);
            let mut elements = from.zip(into).take(count);
            match &part.value {
                Value::Plain(bytes) => {
                    elements.for_each(|(from, into)| into[..*bytes].copy_from_slice(&from[..*bytes]));
                }
                Value::Text => elements.try_for_each(|(from, into)| self.text(from, into))?,
                Value::Sequence(inner) => {
                    elements.try_for_each(|(from, into)| self.sequence(inner, from, into))?;
                }
                Value::Reference(kind) => {
                    elements.try_for_each(|(from, into)| self.reference(*kind, from, into))?;
                }
                Value::Repeat(times, inner) => {
                    elements.try_for_each(|(from, into)| self.run(inner, from, *times, into))?;
                }
            }
        }
        Ok(())
    }
}

impl Layout {
    /// Returns the layout of a datatype, which may be in any form.
    pub(super) fn new(datatype: &Datatype) -> Fallible<Layout> {
        let (c, memory) = (c_form(datatype), datatype.memory_type());
        let layout = Layout::of(&c, &memory);
        match layout.c_bytes > 0 && layout.memory_bytes > 0 {
            true => Ok(layout),
            false => Err(Failure::argument("datatype has no size")),
        }
    }

    fn of(c: &Datatype, memory: &Datatype) -> Layout {
        let mut parts = Vec::new();
        add(c, memory, (0, 0), &mut parts);
        join(&mut parts);
        Layout { c_bytes: c.size() as usize, memory_bytes: memory.size() as usize, parts }
    }

    /// Returns whether elements are the same in both forms.
    pub(super) fn is_plain(&self) -> bool {
        matches!(self.parts.as_slice(), [LayoutPart { value: Value::Plain(_), .. }])
            && self.c_bytes == self.memory_bytes
    }
}

fn add(c: &Datatype, memory: &Datatype, (c_at, memory_at): (usize, usize), parts: &mut Vec<LayoutPart>) {
    let value = match (c, memory) {
        _ if !c.has_descriptors() => Value::Plain(c.size() as usize),
        (Datatype::Compound(c), Datatype::Compound(memory)) => {
            for (c, memory) in c.members.iter().zip(&memory.members) {
                let at = (c_at + c.offset as usize, memory_at + memory.offset as usize);
                add(&c.datatype, &memory.datatype, at, parts);
            }
            return;
        }
        (Datatype::Array(c), Datatype::Array(memory)) => {
            let count = c.dims.iter().map(|dim| *dim as usize).product();
            Value::Repeat(count, Box::new(Layout::of(&c.base, &memory.base)))
        }
        (
            Datatype::VarLen(VarLen { kind: VarLenKind::Sequence(c), .. }),
            Datatype::VarLen(VarLen { kind: VarLenKind::Sequence(memory), .. }),
        ) => Value::Sequence(Box::new(Layout::of(c, memory))),
        (Datatype::Reference(t), _) => Value::Reference(t.kind),
        _ => Value::Text,
    };
    parts.push(LayoutPart { c: c_at, memory: memory_at, value });
}

/// Joins plain parts that follow each other in both forms.
fn join(parts: &mut Vec<LayoutPart>) {
    parts.dedup_by(|next, last| {
        let (Value::Plain(more), Value::Plain(bytes)) = (&next.value, &mut last.value) else { return false };
        let is_next = last.c + *bytes == next.c && last.memory + *bytes == next.memory;
        *bytes += if is_next { *more } else { 0 };
        is_next
    });
}
