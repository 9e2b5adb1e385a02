//! H5T: datatypes.
//!
//! A [`TypeHandle`] holds a datatype in C's form (`memory::c_form`): what `H5Tget_size` says is what an element takes in the
//! program's memory.

pub mod alignments;
mod announced;
pub mod atomic;
pub mod committed;
pub mod composite;
pub mod compound;
pub mod convert;
pub mod enumeration;
mod exceptions;
pub mod native;
pub mod numbers;
pub mod object;
pub(crate) mod predefined;
pub mod registry;
pub mod size;
pub mod strings;

use std::ffi::c_int;
use std::sync::Arc;

use hyperslab::vol::model::datatype::{ByteOrder, Datatype, VarLen, VarLenKind};

use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::hid_t;
use crate::handles::{self, MemoryType, Object, TypeHandle};
use crate::ids;

pub(crate) use announced::Announced;

pub(crate) use object::same;
pub use predefined::*;
pub(crate) use predefined::{predefined, predefined_type};
pub(crate) use registry::conversions;

/// `H5T_VARIABLE`
const VARIABLE: usize = usize::MAX;

/// `H5T_class_t`
mod class {
    use super::c_int;
    pub(super) const STRING: c_int = 3;
    pub(super) const OPAQUE: c_int = 5;
    pub(super) const COMPOUND: c_int = 6;
    pub(super) const ENUM: c_int = 8;
    pub(super) const COMPLEX: c_int = 11;
}

/// Returns the datatype of an identifier.
fn view(id: hid_t) -> Fallible<MemoryType> {
    handles::memory_type(id)
}

/// Returns an identifier for a new datatype in C's form.
pub(crate) fn register(datatype: Datatype) -> hid_t {
    ids::register(Object::Datatype(Arc::new(TypeHandle::transient(datatype))))
}

/// Returns the class as programs see it: strings are one class, fixed or variable.
fn class_of(datatype: &Datatype) -> c_int {
    if datatype.is_string() { class::STRING } else { c_int::from(datatype.class()) }
}

fn is_variable_string(datatype: &Datatype) -> bool {
    matches!(datatype, Datatype::VarLen(VarLen { kind: VarLenKind::String { .. }, .. }))
}

/// Returns the type that a type is derived from. Variable-length strings are sequences of `unsigned char`.
fn parent(datatype: &Datatype) -> Option<Datatype> {
    match datatype {
        Datatype::Enum(t) => Some((*t.base).clone()),
        Datatype::Array(t) => Some((*t.base).clone()),
        Datatype::Complex(t) => Some((*t.base).clone()),
        Datatype::VarLen(VarLen { kind: VarLenKind::Sequence(base), .. }) => Some((**base).clone()),
        Datatype::VarLen(_) => Some(Datatype::integer(1, false, ByteOrder::NATIVE)),
        _ => None,
    }
}

/// Returns the type that all others around it are derived from.
fn innermost(datatype: &Datatype) -> Datatype {
    let mut inner = datatype.clone();
    while let Some(base) = parent(&inner) {
        inner = base;
    }
    inner
}

/// Returns the type that a type is derived from, to be changed. Strings of variable length have none that can be changed.
fn parent_mut(datatype: &mut Datatype) -> Option<&mut Datatype> {
    match datatype {
        Datatype::Enum(t) => Some(&mut t.base),
        Datatype::Array(t) => Some(&mut t.base),
        Datatype::Complex(t) => Some(&mut t.base),
        Datatype::VarLen(VarLen { kind: VarLenKind::Sequence(base), .. }) => Some(base),
        _ => None,
    }
}

/// Changes the type that all others around it are derived from.
fn change_innermost<T>(
    datatype: &mut Datatype,
    change: impl FnOnce(&mut Datatype) -> Fallible<T>,
) -> Fallible<T> {
    if let Datatype::Enum(t) = datatype
        && !t.members.is_empty()
    {
        return Err(cannot_init("operation not allowed after members are defined"));
    }
    if parent_mut(datatype).is_none() {
        return change(datatype);
    }
    parent_mut(datatype).map_or_else(|| Err(undefined()), |inner| change_innermost(inner, change))
}

/// Returns the failure of a function that a class does not have.
fn undefined() -> Failure {
    Failure::new(Major::DATATYPE, Minor::UNSUPPORTED, "operation not defined for datatype class")
}

/// Returns the failure of an argument of the wrong class.
fn wrong_class() -> Failure {
    Failure::wrong_type("operation not defined for datatype class")
}

/// Returns the failure of a type that cannot be as it is asked for.
fn cannot_init(text: &'static str) -> Failure {
    Failure::new(Major::DATATYPE, Minor::CANTINIT, text)
}
