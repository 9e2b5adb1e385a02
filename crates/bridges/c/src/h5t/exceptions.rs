//! Callbacks for values that do not fit, and identifiers of types for callbacks.

use std::sync::Arc;

use hyperslab::vol::model::convert::{Exception, Handling, OnException};
use hyperslab::vol::model::datatype::Datatype;

use super::registry::is_compiled;
use crate::arguments::Opaque;
use crate::ffi::hid_t;
use crate::h5p::values::ExceptionFunction;
use crate::handles::{Object, TypeHandle};
use crate::ids;

/// A pair of types with identifiers for as long as functions of programs may be called with them.
#[derive(Debug)]
pub(super) struct TypeIds(pub(super) hid_t, pub(super) hid_t);

impl TypeIds {
    /// Gives two types identifiers.
    pub(super) fn of(source: &Datatype, target: &Datatype) -> Self {
        let register = |datatype: &Datatype| {
            ids::register(Object::Datatype(Arc::new(TypeHandle::immutable(datatype.clone()))))
        };
        TypeIds(register(source), register(target))
    }
}

impl Drop for TypeIds {
    fn drop(&mut self) {
        let _ = (ids::remove(self.0), ids::remove(self.1));
    }
}

/// Returns the callback for numbers of a pair of types that do not fit.
pub(super) fn exception(
    function: ExceptionFunction,
    data: Opaque,
    source: &Datatype,
    target: &Datatype,
) -> OnException {
    // Shared, so that the closure holds both identifiers and not copies of their numbers.
    let ids = Arc::new(TypeIds::of(source, target));
    let is_compiled = is_compiled(source, target);
    Arc::new(move |exception, from, to| {
        let Some(function) = function else { return Handling::Default };
        let data: Opaque = data;
        let code = match exception {
            // As libhdf5: conversions of the machine's numbers do not tell these apart.
            Exception::RangeHigh => 0,
            Exception::PlusInfinity if is_compiled => 0,
            Exception::RangeLow => 1,
            Exception::MinusInfinity if is_compiled => 1,
            Exception::Precision => 2,
            Exception::Truncate => 3,
            Exception::NotANumber if is_compiled => 3,
            Exception::PlusInfinity => 4,
            Exception::MinusInfinity => 5,
            Exception::NotANumber => 6,
        };
        let (from, to) = (from.as_ptr().cast_mut().cast(), to.as_mut_ptr().cast());
        // SAFETY: the program set the function with its data; both elements are of the types it is told.
        match unsafe { function(code, ids.0, ids.1, from, to, data.0) } {
            0 => Handling::Default,
            handled if handled > 0 => Handling::Handled,
            _ => Handling::Abort,
        }
    })
}
