//! Elements to JSON. Numbers that are not finite are bare words, as HSDS writes them and Python and H5Web read them.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hyperslab::vol::model::datatype::StringPad;
use hyperslab::vol::model::heap::VarLenDescriptor;
use hyperslab::vol::model::{ByteOrder, Heap};

use super::{Form, Node, part};
use crate::answer::Failure;
use crate::elements::form::integer;
use crate::elements::json_text::JsonText;
use crate::elements::nesting::Nesting;
use crate::hsds::call::Domain;

impl Form {
    /// Writes elements one after another into the lists that `nesting` says.
    pub(in crate::hsds) fn write_json_all(
        &self,
        domain: &Domain,
        elements: &[u8],
        heap: &Heap,
        nesting: &mut Nesting,
        out: &mut JsonText,
    ) -> Result<(), Failure> {
        elements.chunks_exact(self.size()).try_for_each(|element| {
            nesting.before(out)?;
            self.write_json(domain, element, heap, out)?;
            nesting.after(out)
        })
    }

    fn write_json(
        &self,
        domain: &Domain,
        element: &[u8],
        heap: &Heap,
        out: &mut JsonText,
    ) -> Result<(), Failure> {
        match &self.node {
            Node::Integer { signed, order } => out.push_display(integer(&little(element, *order), *signed)),
            Node::Real { order } => write_real(&little(element, *order), out),
            Node::Bool => out.push_display(element.iter().any(|&byte| byte != 0)),
            Node::FixedText(padding) => out.push_string(&String::from_utf8_lossy(trimmed(element, *padding))),
            Node::Opaque if element.iter().all(|&byte| byte == 0) => out.push_string(""),
            Node::Opaque => out.push_string(&BASE64_STANDARD.encode(element)),
            Node::Text => {
                let text = heap.get(VarLenDescriptor::load(element)?, 1)?;
                out.push_string(&String::from_utf8_lossy(text))
            }
            Node::Sequence(base) => {
                let values = heap.get(VarLenDescriptor::load(element)?, base.size() as u64)?;
                list(values.chunks_exact(base.size()), out, |one, out| {
                    base.write_json(domain, one, heap, out)
                })
            }
            Node::Compound(members) => list(members.iter(), out, |(at, form), out| {
                form.write_json(domain, part(element, *at, form), heap, out)
            }),
            Node::Array(dims, base) => {
                base.write_json_all(domain, element, heap, &mut Nesting::new(dims), out)
            }
            Node::Object => {
                let target = heap.load_reference(element)?.token();
                let text = target.map(|token| domain.reference(token)).transpose()?;
                out.push_string(&text.unwrap_or_default())
            }
            Node::Region => out.push(b"null"),
        }
    }
}

/// Returns the bytes of a number, least significant first.
fn little(element: &[u8], order: ByteOrder) -> Vec<u8> {
    let mut bytes = element.to_vec();
    if order == ByteOrder::Big {
        bytes.reverse();
    }
    bytes
}

fn write_real(bytes: &[u8], out: &mut JsonText) -> Result<(), Failure> {
    let single = bytes.len() == 4;
    let single = bytes.first_chunk().filter(|_| single).map(|bytes| f32::from_le_bytes(*bytes));
    let double = bytes.first_chunk().map(|bytes| f64::from_le_bytes(*bytes));
    let number = single.map(f64::from).or(double).unwrap_or(f64::NAN);
    match (single, number) {
        (_, number) if number.is_nan() => out.push(b"NaN"),
        (_, f64::INFINITY) => out.push(b"Infinity"),
        (_, f64::NEG_INFINITY) => out.push(b"-Infinity"),
        // The shortest text that is this number again.
        (Some(single), _) => out.push(format!("{single:?}").as_bytes()),
        (None, double) => out.push(format!("{double:?}").as_bytes()),
    }
}

fn trimmed(element: &[u8], padding: StringPad) -> &[u8] {
    let end = match padding {
        StringPad::NullTerminated => element.iter().position(|&byte| byte == 0),
        StringPad::NullPadded => element.iter().rposition(|&byte| byte != 0).map(|last| last + 1).or(Some(0)),
        StringPad::SpacePadded => {
            element.iter().rposition(|&byte| byte != b' ').map(|last| last + 1).or(Some(0))
        }
    };
    &element[..end.unwrap_or(element.len())]
}

fn list<T>(
    entries: impl Iterator<Item = T>,
    out: &mut JsonText,
    write: impl Fn(T, &mut JsonText) -> Result<(), Failure>,
) -> Result<(), Failure> {
    out.push(b"[")?;
    for (at, entry) in entries.enumerate() {
        out.push(if at > 0 { b"," } else { b"" })?;
        write(entry, out)?;
    }
    out.push(b"]")
}
