//! Elements in C's forms: `hvl_t`, `char *`, `hobj_ref_t`, `hdset_reg_ref_t`, `H5R_ref_t`.
//!
//! The library's elements have descriptors of 16 bytes whose values are on a [`Heap`]; C's have pointers. A `Layout` says where
//! the values of one and of the other are, so that elements are moved column by column.

mod allocator;
mod layout;
mod read;
mod reclaim;
pub(crate) mod references;
mod size;
mod write;

use std::sync::Arc;

use hyperslab::vol::model::Heap;
use hyperslab::vol::model::datatype::{
    Array, Compound, Datatype, ReferenceKind, ReferenceType, VarLen, VarLenKind,
};

use crate::failure::{Failure, Fallible};
use crate::h5f::FileHandle;

pub use allocator::Allocator;
use layout::{Layout, Mover};
pub use reclaim::reclaim;
pub use size::{buffer_bytes, value_bytes, zeroed};

/// Bytes of `hvl_t`, of `char *` and of the three kinds of references.
pub(crate) const SEQUENCE_BYTES: u32 = 16;
pub(crate) const TEXT_BYTES: u32 = 8;
pub(crate) const OBJECT_REFERENCE_BYTES: u32 = 8;
pub(crate) const REGION_REFERENCE_BYTES: u32 = 12;
pub(crate) const REFERENCE_BYTES: u32 = 64;

/// Returns a datatype in C's form. Members of a compound move where a value before them has another size.
pub fn c_form(datatype: &Datatype) -> Datatype {
    match datatype {
        Datatype::VarLen(VarLen { kind: VarLenKind::Sequence(base), .. }) => {
            let kind = VarLenKind::Sequence(Box::new(c_form(base)));
            Datatype::VarLen(VarLen { size: SEQUENCE_BYTES, kind })
        }
        Datatype::VarLen(VarLen { kind, .. }) => {
            Datatype::VarLen(VarLen { size: TEXT_BYTES, kind: kind.clone() })
        }
        Datatype::Reference(t) => {
            let size = match t.kind {
                ReferenceKind::Object1 => OBJECT_REFERENCE_BYTES,
                ReferenceKind::DatasetRegion1 => REGION_REFERENCE_BYTES,
                _ => REFERENCE_BYTES,
            };
            Datatype::Reference(ReferenceType { size, kind: t.kind })
        }
        Datatype::Array(t) => {
            Datatype::Array(Array { dims: t.dims.clone(), base: Box::new(c_form(&t.base)) })
        }
        Datatype::Compound(t) if datatype.has_descriptors() => Datatype::Compound(c_compound(t)),
        other => other.clone(),
    }
}

fn c_compound(compound: &Compound) -> Compound {
    let mut by_offset: Vec<usize> = (0..compound.members.len()).collect();
    by_offset.sort_by_key(|at| compound.members[*at].offset);
    let mut members = compound.members.clone();
    let mut shift = 0i64;
    for at in by_offset {
        let old = &compound.members[at];
        members[at].offset = (i64::from(old.offset) + shift) as u32;
        members[at].datatype = c_form(&old.datatype);
        shift += i64::from(members[at].datatype.size()) - i64::from(old.datatype.size());
    }
    Compound { size: (i64::from(compound.size) + shift) as u32, members }
}

fn short_buffer() -> Failure {
    Failure::argument("buffer is too short for its elements")
}

/// Converts packed elements in the library's memory datatype (`datatype.memory_type()`) to packed elements in C's form. Values
/// of variable length are allocated; `file` is where references point to.
pub fn to_c(
    datatype: &Datatype,
    from: &[u8],
    heap: &Heap,
    file: &Arc<FileHandle>,
    allocator: &Allocator,
    into: &mut [u8],
) -> Fallible<()> {
    write_values(datatype, from, heap, Some(file), allocator, into)
}

/// Writes values to C's memory as [`to_c`] does. Without a file, references cannot become `H5R_ref_t`.
pub(crate) fn write_values(
    datatype: &Datatype,
    from: &[u8],
    heap: &Heap,
    file: Option<&Arc<FileHandle>>,
    allocator: &Allocator,
    into: &mut [u8],
) -> Fallible<()> {
    let layout = Layout::new(datatype)?;
    let count = from.len() / layout.memory_bytes;
    if into.len() / layout.c_bytes < count {
        return Err(short_buffer());
    }
    write::Writer { heap, file, allocator }.run(&layout, from, count, into)
}

/// Converts packed elements in C's form to packed elements in the library's memory datatype, with their values on `heap`.
pub fn from_c(
    datatype: &Datatype,
    from: &[u8],
    file: Option<&Arc<FileHandle>>,
    heap: &mut Heap,
) -> Fallible<Vec<u8>> {
    let layout = Layout::new(datatype)?;
    let count = from.len() / layout.c_bytes;
    let bytes = count.checked_mul(layout.memory_bytes).ok_or_else(short_buffer)?;
    let mut into = vec![0; bytes];
    read::Reader { file, heap }.run(&layout, from, count, &mut into)?;
    Ok(into)
}

/// Returns the elements of an `hvl_t`, whose type is in C's form.
pub(crate) fn sequence<'a>(from: &[u8], element: &Datatype) -> Fallible<(usize, &'a [u8])> {
    let (count, values) = (read::pointer(from, 0)?, read::pointer(from, size_of::<usize>())? as *const u8);
    let bytes = count.checked_mul(element.size() as usize).filter(|bytes| isize::try_from(*bytes).is_ok());
    match (count, values.is_null()) {
        (0, _) | (_, true) => Ok((0, &[])),
        // SAFETY: the program's element points to `count` elements.
        _ => Ok((count, unsafe { std::slice::from_raw_parts(values, bytes.ok_or_else(short_buffer)?) })),
    }
}

/// Stores elements in a new `hvl_t`.
pub(crate) fn put_sequence(
    into: &mut [u8],
    count: usize,
    bytes: &[u8],
    allocator: &Allocator,
) -> Fallible<()> {
    write::put_sequence(into, count, bytes, allocator)
}

#[cfg(test)]
mod tests;
