//! Where the values of an element are, in C's form and in the library's.

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
    pub(super) parts: Vec<Part>,
}

/// A part of an element, at its offset in each form.
#[derive(Debug)]
pub(super) struct Part {
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
        matches!(self.parts.as_slice(), [Part { value: Value::Plain(_), .. }])
            && self.c_bytes == self.memory_bytes
    }
}

fn add(c: &Datatype, memory: &Datatype, (c_at, memory_at): (usize, usize), parts: &mut Vec<Part>) {
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
    parts.push(Part { c: c_at, memory: memory_at, value });
}

/// Joins plain parts that follow each other in both forms.
fn join(parts: &mut Vec<Part>) {
    parts.dedup_by(|next, last| {
        let (Value::Plain(more), Value::Plain(bytes)) = (&next.value, &mut last.value) else { return false };
        let is_next = last.c + *bytes == next.c && last.memory + *bytes == next.memory;
        *bytes += if is_next { *more } else { 0 };
        is_next
    });
}
