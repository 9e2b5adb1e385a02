//! Sizes of datatypes.

use hyperslab::vol::model::datatype::{Datatype, VarLen, VarLenKind};

use super::atomic::check_fields;
use super::object::element_size;
use super::{VARIABLE, cannot_init, view};
use crate::api;
use crate::failure::Fallible;
use crate::ffi::{herr_t, hid_t};
use crate::{handles, memory};

/// Gives a type another size, as `H5Tset_size` does: significant bits move where they must, a compound keeps its members.
fn set_size(datatype: &mut Datatype, size: usize) -> Fallible<()> {
    if size == VARIABLE {
        return set_variable(datatype);
    }
    let size = element_size(size)?;
    match datatype {
        Datatype::Enum(t) if t.members.is_empty() => set_own_size(&mut t.base, size),
        Datatype::Enum(_) => Err(cannot_init("operation not allowed after members are defined")),
        // As libhdf5: it stays a string of variable length.
        Datatype::VarLen(VarLen { kind: VarLenKind::String { .. }, .. }) => Ok(()),
        other => set_own_size(other, size),
    }
}

fn set_variable(datatype: &mut Datatype) -> Fallible<()> {
    match datatype {
        Datatype::String(t) => {
            let kind = VarLenKind::String { padding: t.padding, charset: t.charset };
            *datatype = memory::c_form(&Datatype::VarLen(VarLen { size: 0, kind }));
            Ok(())
        }
        Datatype::VarLen(VarLen { kind: VarLenKind::String { .. }, .. }) => Ok(()),
        _ => Err(cannot_init("only strings may be variable length")),
    }
}

fn set_own_size(datatype: &mut Datatype, size: u32) -> Fallible<()> {
    match datatype {
        Datatype::Integer(t) => resize_bits(&mut t.bits, size),
        Datatype::Bitfield(bits) => resize_bits(bits, size),
        Datatype::Float(t) => resize_bits(&mut t.bits, size),
        Datatype::Time(t) => {
            t.precision = u32::from(t.precision).min(size.saturating_mul(8)) as u16;
            t.size = size;
        }
        Datatype::String(t) => t.size = size,
        Datatype::Opaque(t) => t.size = size,
        Datatype::Compound(t) => {
            let end = |m: &hyperslab::vol::model::datatype::Member| m.offset + m.datatype.size();
            if t.members.iter().map(end).max().is_some_and(|end| size < end) {
                return Err(cannot_init("size shrinking will cut off last member "));
            }
            t.size = size;
        }
        _ => return Err(cannot_init("operation not defined for this datatype")),
    }
    check_fields(datatype)
}

fn resize_bits(bits: &mut hyperslab::vol::model::datatype::Bits, size: u32) {
    let (offset, precision, room) =
        (u32::from(bits.offset), u32::from(bits.precision), size.saturating_mul(8));
    if precision > room {
        (bits.offset, bits.precision) = (0, room as u16);
    } else if offset + precision > room {
        bits.offset = (room - precision) as u16;
    }
    bits.size = size;
}

api! { DATATYPE:
    /// Returns the size of an element in bytes.
    fn H5Tget_size(id: hid_t) -> usize {
        Ok(view(id)?.size() as usize)
    }

    /// Sets the size of an element in bytes; `H5T_VARIABLE` makes a string one of variable length.
    fn H5Tset_size(id: hid_t, size: usize) -> herr_t {
        handles::datatype(id)?.change(|datatype| set_size(datatype, size))
    }
}
