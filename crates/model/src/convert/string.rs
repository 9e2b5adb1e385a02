//! Strings: fixed and variable, with the three paddings.

use crate::datatype::{FixedString, MEMORY_SLOT_BYTES, StringPad};
use crate::heap::VarLenDescriptor;
use crate::{Datatype, Error, Heap, Result};

/// One side of a conversion.
#[derive(Debug, Clone, Copy)]
enum Form {
    Fixed(FixedString),
    Variable,
}

impl Form {
    fn new(t: &Datatype) -> Result<Form> {
        match t {
            Datatype::String(t) => Ok(Form::Fixed(*t)),
            Datatype::VarLen(t) if t.size == MEMORY_SLOT_BYTES => Ok(Form::Variable),
            _ => Err(Error::invalid("convert strings").with("problem", "not in the memory datatype")),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Form::Fixed(t) => t.size as usize,
            Form::Variable => MEMORY_SLOT_BYTES as usize,
        }
    }
}

/// Conversion between kinds of strings. Bytes are preserved whatever the character set: ASCII is UTF-8, and what
/// calls itself ASCII in old files is often something else.
#[derive(Debug, Clone, Copy)]
pub(super) struct Texts {
    from: Form,
    to: Form,
}

impl Texts {
    pub(super) fn new(from: &Datatype, to: &Datatype) -> Result<Texts> {
        Ok(Texts { from: Form::new(from)?, to: Form::new(to)? })
    }

    /// Returns whether no text is in a heap.
    pub(super) fn is_fixed(&self) -> bool {
        matches!((&self.from, &self.to), (Form::Fixed(_), Form::Fixed(_)))
    }

    pub(super) fn run(&self, from: &[u8], to: &mut [u8], heap: &mut Heap) -> Result<()> {
        let elements = from.chunks_exact(self.from.bytes()).zip(to.chunks_exact_mut(self.to.bytes()));
        match (&self.from, &self.to) {
            (Form::Fixed(a), Form::Fixed(b)) => elements.for_each(|(from, to)| store(b, text(a, from), to)),
            (Form::Fixed(a), Form::Variable) => {
                for (from, to) in elements {
                    let text = text(a, from);
                    heap.push(text, text.len() as u64).store(to)?;
                }
            }
            (Form::Variable, Form::Fixed(b)) => {
                for (from, to) in elements {
                    store(b, until_nul(heap.get(VarLenDescriptor::load(from)?, 1)?), to);
                }
            }
            // Only the declared padding or character set differs, and the descriptor knows neither.
            (Form::Variable, Form::Variable) => elements.for_each(|(from, to)| to.copy_from_slice(from)),
        }
        Ok(())
    }
}

fn until_nul(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    &bytes[..end]
}

/// Returns the text in a field, without what pads it.
fn text<'a>(t: &FixedString, field: &'a [u8]) -> &'a [u8] {
    match t.padding {
        StringPad::NullTerminated | StringPad::NullPadded => until_nul(field),
        StringPad::SpacePadded => {
            let end = field.iter().rposition(|&b| b != b' ').map_or(0, |last| last + 1);
            &field[..end]
        }
    }
}

/// Puts text in a field, cut to what fits.
fn store(t: &FixedString, text: &[u8], field: &mut [u8]) {
    let capacity = field.len() - usize::from(t.padding == StringPad::NullTerminated);
    let text = &text[..text.len().min(capacity)];
    let (head, rest) = field.split_at_mut(text.len());
    head.copy_from_slice(text);
    rest.fill(if t.padding == StringPad::SpacePadded { b' ' } else { 0 });
}
