//! Elements from JSON.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hyperslab::vol::model::datatype::StringPad;
use hyperslab::vol::model::{ByteOrder, Heap, Reference};
use json_text::text::Value;

use super::bytes::{no_regions, push_descriptor, push_reference};
use super::{Form, Node};
use crate::answer::Failure;
use crate::hsds::call::Domain;

/// Reads elements from JSON, within a limit of bytes.
#[derive(Debug)]
pub(in crate::hsds) struct JsonReader<'a> {
    domain: &'a Domain,
    /// Values of variable length.
    pub(in crate::hsds) heap: Heap,
    bytes_max: u64,
    left: u64,
}

impl<'a> JsonReader<'a> {
    /// Returns a reader of elements that take `bytes_max` bytes of memory at most.
    pub(in crate::hsds) fn new(domain: &'a Domain, bytes_max: u64) -> Self {
        JsonReader { domain, heap: Heap::new(), bytes_max, left: bytes_max }
    }
}

impl Form {
    /// Appends the elements of an extent, which stand in lists of lists.
    ///
    /// # Errors
    /// Returns a failure with the status 400 if a list has another length, or if a value is not one of the type.
    pub(in crate::hsds) fn read_json_all(
        &self,
        reader: &mut JsonReader<'_>,
        value: &Value<'_>,
        dims: &[u64],
        out: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        let Some((&count, inner)) = dims.split_first() else {
            return self.read_json(reader, value, out);
        };
        let entries = match value {
            Value::Array(entries) => entries.as_slice(),
            // One value for one element needs no list.
            single if dims.iter().all(|&dim| dim == 1) => std::slice::from_ref(single),
            other => return Err(unfit("a list", other)),
        };
        if entries.len() as u64 != count {
            let message = format!("A list has {} entries, and {count} elements are selected", entries.len());
            return Err(Failure::malformed(message));
        }
        entries.iter().try_for_each(|entry| self.read_json_all(reader, entry, inner, out))
    }

    fn read_json(
        &self,
        reader: &mut JsonReader<'_>,
        value: &Value<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        match &self.node {
            Node::Integer { signed, order } => put_integer(value, *signed, *order, self.size(), out),
            Node::Real { order } => put_real(value, *order, self.size(), out),
            Node::Bool => put_integer(value, false, ByteOrder::Little, self.size(), out),
            Node::FixedText(padding) => reader.put_text(value, *padding, self.size(), out),
            Node::Opaque => reader.put_opaque(value, self.size(), out),
            Node::Text => {
                let text = hyperslab::vol::model::text::to_bytes(text(value)?);
                push_descriptor(reader.heap.push(&text, text.len() as u64), out)
            }
            Node::Sequence(base) => {
                let (entries, mut values) = (list(value)?, Vec::new());
                entries.iter().try_for_each(|entry| base.read_json(reader, entry, &mut values))?;
                push_descriptor(reader.heap.push(&values, entries.len() as u64), out)
            }
            Node::Compound(members) => {
                let entries = list(value)?;
                if entries.len() != members.len() {
                    return Err(unfit("a list with one value for each member", value));
                }
                members
                    .iter()
                    .zip(entries)
                    .try_for_each(|((_, form), entry)| form.read_json(reader, entry, out))
            }
            Node::Array(dims, base) => base.read_json_all(reader, value, dims, out),
            Node::Object => {
                let target = match value {
                    Value::Null => None,
                    named => reader.domain.referenced(text(named)?)?,
                };
                push_reference(target.map_or_else(Reference::null, Reference::object), &mut reader.heap, out)
            }
            Node::Region if *value == Value::Null => push_reference(Reference::null(), &mut reader.heap, out),
            Node::Region => Err(no_regions()),
        }
    }
}

fn unfit(wanted: &str, value: &Value<'_>) -> Failure {
    let shown: String = format!("{value:?}").chars().take(80).collect();
    Failure::malformed(format!("{shown} is not {wanted}"))
}

fn text<'v>(value: &'v Value<'_>) -> Result<&'v str, Failure> {
    match value {
        Value::String(text) => Ok(text),
        other => Err(unfit("a string", other)),
    }
}

fn list<'v, 'a>(value: &'v Value<'a>) -> Result<&'v [Value<'a>], Failure> {
    match value {
        Value::Array(entries) => Ok(entries),
        other => Err(unfit("a list", other)),
    }
}

fn put_integer(
    value: &Value<'_>,
    signed: bool,
    order: ByteOrder,
    size: usize,
    out: &mut Vec<u8>,
) -> Result<(), Failure> {
    let wrong = || unfit("an integer of the type", value);
    let number: i128 = match value {
        Value::Number(text) => text.parse().map_err(|_| wrong())?,
        Value::Bool(truth) => i128::from(*truth),
        _ => return Err(wrong()),
    };
    let bits = 8 * size as u32;
    let range = match signed {
        true => -(1i128 << (bits - 1))..=(1i128 << (bits - 1)) - 1,
        false => 0..=(1i128 << bits) - 1,
    };
    if !range.contains(&number) {
        return Err(wrong());
    }
    put_ordered(&number.to_le_bytes()[..size], order, out);
    Ok(())
}

fn put_real(value: &Value<'_>, order: ByteOrder, size: usize, out: &mut Vec<u8>) -> Result<(), Failure> {
    let wrong = || unfit("a number", value);
    let text = match value {
        Value::Number(text) => text.as_ref(),
        Value::String(text) if matches!(text.as_ref(), "NaN" | "Infinity" | "-Infinity") => text.as_ref(),
        _ => return Err(wrong()),
    };
    match size {
        4 => put_ordered(&text.parse::<f32>().map_err(|_| wrong())?.to_le_bytes(), order, out),
        _ => put_ordered(&text.parse::<f64>().map_err(|_| wrong())?.to_le_bytes(), order, out),
    }
    Ok(())
}

fn put_ordered(little: &[u8], order: ByteOrder, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(little);
    if order == ByteOrder::Big {
        out[start..].reverse();
    }
}

impl JsonReader<'_> {
    fn put_text(
        &mut self,
        value: &Value<'_>,
        padding: StringPad,
        size: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        let bytes = hyperslab::vol::model::text::to_bytes(text(value)?);
        self.put_padded(&bytes, if padding == StringPad::SpacePadded { b' ' } else { 0 }, size, out)
    }

    fn put_opaque(&mut self, value: &Value<'_>, size: usize, out: &mut Vec<u8>) -> Result<(), Failure> {
        let bytes = BASE64_STANDARD.decode(text(value)?).map_err(|_| unfit("Base64", value))?;
        self.put_padded(&bytes, 0, size, out)
    }

    /// Appends a value that is shorter than its element may be: a short text may stand for many bytes.
    fn put_padded(&mut self, bytes: &[u8], pad: u8, size: usize, out: &mut Vec<u8>) -> Result<(), Failure> {
        if bytes.len() > size {
            let message = format!("A value has {} bytes, and elements have {size}", bytes.len());
            return Err(Failure::malformed(message));
        }
        let too_large = || Failure::too_large(self.bytes_max.saturating_add(1), self.bytes_max);
        self.left = self.left.checked_sub(size as u64).ok_or_else(too_large)?;
        let end = out.len() + size;
        out.extend_from_slice(bytes);
        out.resize(end, pad);
        Ok(())
    }
}
