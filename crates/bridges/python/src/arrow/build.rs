//! Arrow arrays from elements in memory. Numbers, and strings that lie one after another, are not copied.

use std::sync::Arc;

use arrow_array::types::{ByteArrayType, Int32Type, LargeBinaryType, LargeUtf8Type};
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, FixedSizeBinaryArray, FixedSizeListArray, GenericByteArray,
    LargeListArray, LargeStringArray, PrimitiveArray, StructArray, make_array,
};
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType};
use hyperslab::vol::model::datatype::StringPad;
use hyperslab::vol::model::heap::{Heap, VarLenDescriptor};
use hyperslab::{Error, Result};

use super::column::{Column, ColumnKind, fields};

/// Bytes of a descriptor in memory.
const DESCRIPTOR: usize = 16;

/// Packed elements, and the values that their descriptors stand for.
pub(crate) struct Elements {
    pub(crate) bytes: Vec<u8>,
    pub(crate) heap: Arc<Heap>,
    pub(crate) count: usize,
}

/// Returns an error of Arrow as one of the library.
pub(crate) fn refused(error: &ArrowError) -> Error {
    Error::invalid("create Arrow array").with("problem", error)
}

impl Elements {
    fn part(&self, bytes: Vec<u8>, count: usize) -> Elements {
        Elements { bytes, heap: self.heap.clone(), count }
    }
}

impl Column {
    /// Returns elements as an array. With `binary`, strings are bytes.
    ///
    /// # Errors
    /// Returns `Invalid` if strings are not UTF-8.
    pub(crate) fn array(&self, elements: Elements, binary: bool) -> Result<ArrayRef> {
        let data_type = self.data_type(binary);
        match &self.kind {
            ColumnKind::Number(_) => numbers(elements, data_type),
            ColumnKind::Boolean => {
                let set = elements.bytes.iter().map(|&byte| byte != 0);
                Ok(Arc::new(BooleanArray::from(set.collect::<Vec<_>>())))
            }
            ColumnKind::Named(members) => self.named(&elements, members),
            ColumnKind::Fixed(padding) => text(self.fixed(&elements, *padding)?, binary),
            ColumnKind::Text => text(variable(elements)?, binary),
            ColumnKind::Opaque => self.opaque(elements),
            ColumnKind::List(inner) => list(inner, &elements, binary),
            ColumnKind::Array(count, inner) => {
                let (outer, all) = (elements.count, elements.count * count);
                let values = inner.array(Elements { count: all, ..elements }, binary)?;
                let made = FixedSizeListArray::try_new_with_length(
                    inner.item(binary),
                    *count as i32,
                    values,
                    None,
                    outer,
                );
                Ok(Arc::new(made.map_err(|e| refused(&e))?))
            }
            ColumnKind::Struct(members) => structure(members, &elements, binary),
        }
    }

    /// Returns bytes and offsets of strings of fixed size, without what fills them up.
    fn fixed(&self, elements: &Elements, padding: StringPad) -> Result<(Vec<i64>, Vec<u8>)> {
        let (size, mut offsets, mut bytes) = (self.memory.size() as usize, vec![0], Vec::new());
        for field in elements.bytes.chunks_exact(size) {
            bytes.extend_from_slice(trimmed(field, padding));
            offsets.push(bytes.len() as i64);
        }
        Ok((offsets, bytes))
    }

    fn named(&self, elements: &Elements, members: &[(String, Vec<u8>)]) -> Result<ArrayRef> {
        let numbers: std::collections::HashMap<&[u8], i32> =
            members.iter().enumerate().map(|(at, (_, value))| (&value[..], at as i32)).collect();
        let size = self.memory.size() as usize;
        let keys: PrimitiveArray<Int32Type> =
            elements.bytes.chunks_exact(size).map(|value| numbers.get(value).copied()).collect();
        let names = LargeStringArray::from_iter_values(members.iter().map(|(name, _)| name));
        let made = DictionaryArray::try_new(keys, Arc::new(names)).map_err(|e| refused(&e))?;
        Ok(Arc::new(made))
    }

    fn opaque(&self, elements: Elements) -> Result<ArrayRef> {
        let size = self.memory.size() as i32;
        let made = FixedSizeBinaryArray::try_new(size, Buffer::from_vec(elements.bytes), None);
        Ok(Arc::new(made.map_err(|e| refused(&e))?))
    }
}

fn numbers(elements: Elements, data_type: DataType) -> Result<ArrayRef> {
    let data = ArrayData::builder(data_type)
        .len(elements.count)
        .add_buffer(Buffer::from_vec(elements.bytes))
        .align_buffers(true)
        .build();
    Ok(make_array(data.map_err(|e| refused(&e))?))
}

fn structure(members: &[(String, Column)], elements: &Elements, binary: bool) -> Result<ArrayRef> {
    let size: usize = members.iter().map(|(_, column)| column.memory.size() as usize).sum();
    let mut offset = 0;
    let arrays = members.iter().map(|(_, column)| {
        let width = column.memory.size() as usize;
        let bytes = member_bytes(&elements.bytes, size, offset, width);
        offset += width;
        column.array(elements.part(bytes, elements.count), binary)
    });
    let arrays = arrays.collect::<Result<Vec<_>>>()?;
    let made = StructArray::try_new_with_length(fields(members, binary), arrays, None, elements.count);
    Ok(Arc::new(made.map_err(|e| refused(&e))?))
}

/// Returns the bytes of one member of all compounds.
fn member_bytes(bytes: &[u8], size: usize, offset: usize, width: usize) -> Vec<u8> {
    let parts = bytes.chunks_exact(size.max(1)).map(|element| &element[offset..offset + width]);
    match width {
        4 => parts.flat_map(|part| <[u8; 4]>::try_from(part).unwrap_or_default()).collect(),
        8 => parts.flat_map(|part| <[u8; 8]>::try_from(part).unwrap_or_default()).collect(),
        _ => parts.fold(Vec::with_capacity(bytes.len() / size.max(1) * width), |mut all, part| {
            all.extend_from_slice(part);
            all
        }),
    }
}

fn list(inner: &Column, elements: &Elements, binary: bool) -> Result<ArrayRef> {
    let (mut offsets, mut bytes, mut count) = (vec![0], Vec::new(), 0);
    for descriptor in descriptors(&elements.bytes) {
        let descriptor = descriptor?;
        bytes.extend_from_slice(elements.heap.get(descriptor, u64::from(inner.memory.size()))?);
        count += descriptor.count as i64;
        offsets.push(count);
    }
    let values = inner.array(elements.part(bytes, count as usize), binary)?;
    let made = LargeListArray::try_new(inner.item(binary), checked(offsets), values, None);
    Ok(Arc::new(made.map_err(|e| refused(&e))?))
}

fn descriptors(bytes: &[u8]) -> impl Iterator<Item = Result<VarLenDescriptor>> + '_ {
    bytes.chunks_exact(DESCRIPTOR).map(VarLenDescriptor::load)
}

/// Returns offsets that rise, as all here do.
fn checked(offsets: Vec<i64>) -> OffsetBuffer<i64> {
    OffsetBuffer::new(ScalarBuffer::from(offsets))
}

/// Returns a string without what fills its field up.
fn trimmed(field: &[u8], padding: StringPad) -> &[u8] {
    let end = match padding {
        StringPad::NullTerminated => field.iter().position(|&byte| byte == 0),
        StringPad::NullPadded => field.iter().rposition(|&byte| byte != 0).map(|last| last + 1).or(Some(0)),
        StringPad::SpacePadded => {
            field.iter().rposition(|&byte| byte != b' ').map(|last| last + 1).or(Some(0))
        }
    };
    &field[..end.unwrap_or(field.len())]
}

/// Returns offsets and bytes of strings of variable length. If they lie one after another the bytes stay where they are.
fn variable(elements: Elements) -> Result<(Vec<i64>, Vec<u8>)> {
    let mut offsets = Vec::with_capacity(elements.count + 1);
    offsets.push(0);
    let mut end = 0u64;
    let mut is_packed = true;
    for descriptor in descriptors(&elements.bytes) {
        let descriptor = descriptor?;
        is_packed &= descriptor.count == 0 || descriptor.offset == end;
        end += descriptor.count;
        offsets.push(end as i64);
    }
    if is_packed && end == elements.heap.len() as u64 {
        let bytes =
            Arc::try_unwrap(elements.heap).map_or_else(|heap| heap.parts().0.to_vec(), Heap::into_bytes);
        return Ok((offsets, bytes));
    }
    let mut bytes = Vec::with_capacity(end as usize);
    for descriptor in descriptors(&elements.bytes) {
        bytes.extend_from_slice(elements.heap.get(descriptor?, 1)?);
    }
    Ok((offsets, bytes))
}

fn text((offsets, bytes): (Vec<i64>, Vec<u8>), binary: bool) -> Result<ArrayRef> {
    match binary {
        true => strings::<LargeBinaryType>(offsets, bytes),
        false => strings::<LargeUtf8Type>(offsets, bytes),
    }
}

fn strings<T: ByteArrayType<Offset = i64>>(offsets: Vec<i64>, bytes: Vec<u8>) -> Result<ArrayRef> {
    let made = GenericByteArray::<T>::try_new(checked(offsets), Buffer::from_vec(bytes), None);
    Ok(Arc::new(made.map_err(|e| refused(&e))?))
}
