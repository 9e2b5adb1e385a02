//! Elements as bytes.

use axum::http::StatusCode;
use hyperslab::vol::model::heap::VarLenDescriptor;
use hyperslab::vol::model::{Heap, Reference};

use super::{Form, Node, REFERENCE_BYTES, part};
use crate::answer::Failure;
use crate::hsds::call::Domain;

impl Form {
    /// Appends an element as it is sent.
    pub(in crate::hsds) fn write_bytes(
        &self,
        domain: &Domain,
        element: &[u8],
        heap: &Heap,
        out: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        match &self.node {
            Node::Compound(members) => members
                .iter()
                .try_for_each(|(at, form)| form.write_bytes(domain, part(element, *at, form), heap, out)),
            Node::Array(_, base) => {
                element.chunks_exact(base.size()).try_for_each(|one| base.write_bytes(domain, one, heap, out))
            }
            Node::Text => with_length(out, |out| {
                out.extend_from_slice(heap.get(VarLenDescriptor::load(element)?, 1)?);
                Ok(())
            }),
            Node::Sequence(base) => with_length(out, |out| {
                let values = heap.get(VarLenDescriptor::load(element)?, base.size() as u64)?;
                values.chunks_exact(base.size()).try_for_each(|one| base.write_bytes(domain, one, heap, out))
            }),
            Node::Object => {
                let target = heap.load_reference(element)?.token();
                let text = target.map(|token| domain.reference(token)).transpose()?.unwrap_or_default();
                let end = out.len() + REFERENCE_BYTES;
                out.extend_from_slice(text.as_bytes());
                out.resize(end, 0);
                Ok(())
            }
            Node::Region => Err(no_regions()),
            _ => {
                out.extend_from_slice(element);
                Ok(())
            }
        }
    }

    /// Takes an element from the front of `input`, and appends it as it is in memory.
    pub(in crate::hsds) fn read_bytes(
        &self,
        domain: &Domain,
        input: &mut &[u8],
        heap: &mut Heap,
        out: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        match &self.node {
            Node::Compound(members) => {
                members.iter().try_for_each(|(_, form)| form.read_bytes(domain, input, heap, out))
            }
            Node::Array(dims, base) => {
                (0..dims.iter().product()).try_for_each(|_| base.read_bytes(domain, input, heap, out))
            }
            Node::Text => {
                let text = counted(input)?;
                push_descriptor(heap.push(text, text.len() as u64), out)
            }
            Node::Sequence(base) => {
                let (mut left, mut values, mut count) = (counted(input)?, Vec::new(), 0);
                while !left.is_empty() {
                    base.read_bytes(domain, &mut left, heap, &mut values)?;
                    count += 1;
                }
                push_descriptor(heap.push(&values, count), out)
            }
            Node::Object => {
                let text = String::from_utf8_lossy(take(input, REFERENCE_BYTES)?).into_owned();
                let token = domain.referenced(text.trim_end_matches('\0'))?;
                push_reference(token.map_or_else(Reference::null, Reference::object), heap, out)
            }
            Node::Region => Err(no_regions()),
            _ => {
                out.extend_from_slice(take(input, self.size())?);
                Ok(())
            }
        }
    }
}

/// Writes what `write` appends, after the number of its bytes.
fn with_length(
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    write(out)?;
    let too_long = |_| Failure::argument("A value has more than 4 GiB: ask for JSON");
    let len = u32::try_from(out.len() - at - 4).map_err(too_long)?;
    out[at..at + 4].copy_from_slice(&len.to_le_bytes());
    Ok(())
}

fn take<'i>(input: &mut &'i [u8], len: usize) -> Result<&'i [u8], Failure> {
    let short = || Failure::malformed("The body has too few bytes for the selected elements");
    let (taken, rest) = input.split_at_checked(len).ok_or_else(short)?;
    *input = rest;
    Ok(taken)
}

/// Takes the number of bytes of a value, and these.
fn counted<'i>(input: &mut &'i [u8]) -> Result<&'i [u8], Failure> {
    let len = take(input, 4)?;
    let len = len.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
    take(input, len as usize)
}

pub(super) fn push_descriptor(descriptor: VarLenDescriptor, out: &mut Vec<u8>) -> Result<(), Failure> {
    let mut bytes = [0; 16];
    descriptor.store(&mut bytes)?;
    out.extend_from_slice(&bytes);
    Ok(())
}

pub(super) fn push_reference(
    reference: Reference,
    heap: &mut Heap,
    out: &mut Vec<u8>,
) -> Result<(), Failure> {
    let mut bytes = [0; 16];
    heap.store_reference(reference, &mut bytes)?;
    out.extend_from_slice(&bytes);
    Ok(())
}

pub(super) fn no_regions() -> Failure {
    Failure::new(StatusCode::NOT_IMPLEMENTED, "References to regions are neither read nor written over HTTP")
}
