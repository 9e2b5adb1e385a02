//! Binary output of elements.

use std::io::Write;

use hyperslab::vol::model::datatype::{Array, Bits, Compound, Enum, Integer, StringPad, VarLen, VarLenKind};
use hyperslab::vol::model::heap::VarLenDescriptor;
use hyperslab::vol::model::{ByteOrder, Heap};
use hyperslab::{Datatype, Result};

use super::options::BinaryForm;
use super::streams::failed;
use crate::h5::render::number::native_integer_bytes;

/// Returns the type in which elements are written.
pub(crate) fn target_type(datatype: &Datatype, form: BinaryForm) -> Datatype {
    if form == BinaryForm::File {
        return datatype.clone();
    }
    let order = match form {
        BinaryForm::Little => ByteOrder::Little,
        BinaryForm::Big => ByteOrder::Big,
        _ => ByteOrder::NATIVE,
    };
    match datatype {
        Datatype::Integer(t) => integer(t, order),
        Datatype::Float(t) if t.bits.size <= 4 => Datatype::ieee_f32(order),
        Datatype::Float(t) if t.bits.size <= 8 => Datatype::ieee_f64(order),
        Datatype::Bitfield(t) => {
            let size = native_integer_bytes(t.precision) as u32;
            Datatype::Bitfield(Bits::full(size, order))
        }
        Datatype::Enum(t) => enumeration(t, order),
        Datatype::Array(t) => {
            Datatype::Array(Array { dims: t.dims.clone(), base: Box::new(target_type(&t.base, form)) })
        }
        Datatype::Compound(t) => {
            let members = t.members.iter().map(|m| (m.name.clone(), target_type(&m.datatype, form)));
            Datatype::Compound(Compound::packed(members))
        }
        Datatype::VarLen(VarLen { size, kind: VarLenKind::Sequence(base) }) => {
            let kind = VarLenKind::Sequence(Box::new(target_type(base, form)));
            Datatype::VarLen(VarLen { size: *size, kind })
        }
        other => other.clone(),
    }
}

fn integer(t: &Integer, order: ByteOrder) -> Datatype {
    Datatype::integer(native_integer_bytes(t.bits.precision) as u32, t.signed, order)
}

/// Values of members keep their width; only their bytes may be swapped.
fn enumeration(t: &Enum, order: ByteOrder) -> Datatype {
    let Datatype::Integer(base) = &*t.base else { return Datatype::Enum(t.clone()) };
    if base.bits.order == order || !base.bits.is_full() {
        return Datatype::Enum(t.clone());
    }
    let reversed = |value: &Vec<u8>| value.iter().rev().copied().collect();
    let members = t.members.iter().map(|(name, value)| (name.clone(), reversed(value))).collect();
    Datatype::Enum(Enum { base: Box::new(Datatype::integer(base.bits.size, base.signed, order)), members })
}

/// Writes elements without what stands between their members.
pub(crate) fn write(out: &mut dyn Write, datatype: &Datatype, bytes: &[u8], heap: &Heap) -> Result<()> {
    let size = (datatype.size() as usize).max(1);
    match datatype {
        Datatype::Compound(_) | Datatype::Array(_) | Datatype::VarLen(_) | Datatype::String(_) => {
            bytes.chunks_exact(size).try_for_each(|element| write_element(out, datatype, element, heap))
        }
        Datatype::Reference(_) => Ok(()),
        _ => out.write_all(bytes).map_err(failed),
    }
}

fn write_element(out: &mut dyn Write, datatype: &Datatype, element: &[u8], heap: &Heap) -> Result<()> {
    match datatype {
        Datatype::Compound(t) => t.members.iter().try_for_each(|member| {
            let start = member.offset as usize;
            let part = element.get(start..start + member.datatype.size() as usize).unwrap_or(&[]);
            write(out, &member.datatype, part, heap)
        }),
        Datatype::Array(t) => write(out, &t.base, element, heap),
        Datatype::VarLen(t) => {
            let descriptor = VarLenDescriptor::load(element)?;
            match &t.kind {
                VarLenKind::Sequence(base) => {
                    write(out, base, heap.get(descriptor, u64::from(base.size()))?, heap)
                }
                VarLenKind::String { .. } => {
                    out.write_all(until_nul(heap.get(descriptor, 1)?)).map_err(failed)
                }
            }
        }
        Datatype::String(t) if t.padding == StringPad::NullTerminated => {
            out.write_all(until_nul(element)).map_err(failed)
        }
        _ => out.write_all(element).map_err(failed),
    }
}

/// Returns text up to its first NUL.
pub(crate) fn until_nul(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|&b| b == 0).unwrap_or(text.len());
    &text[..end]
}
