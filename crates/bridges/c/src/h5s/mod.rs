//! H5S: dataspaces and selections.

pub mod combine;
pub mod encode;
pub mod extent;
pub mod iterate;
pub mod query;
pub mod select;

use std::ffi::c_int;
use std::sync::Arc;

use hyperslab::Dataspace;
use hyperslab::vol::model::Selection;
use hyperslab::vol::model::selection::{Runs, SetOp};

use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::hid_t;
use crate::handles::{self, Space, SpaceHandle};

pub use iterate::SelectionIterator;

/// `H5S_seloper_t`
mod operator {
    use super::c_int;
    pub(super) const SET: c_int = 0;
    pub(super) const OR: c_int = 1;
    pub(super) const NOTA: c_int = 5;
    pub(super) const APPEND: c_int = 6;
    pub(super) const PREPEND: c_int = 7;
}

/// Returns the operation of a number; the ones on points are none.
fn set_operation(code: c_int) -> Fallible<SetOp> {
    Ok(match code {
        operator::SET => SetOp::Set,
        operator::OR => SetOp::Or,
        2 => SetOp::And,
        3 => SetOp::Xor,
        4 => SetOp::NotB,
        operator::NOTA => SetOp::NotA,
        _ => return Err(Failure::new(Major::ARGS, Minor::UNSUPPORTED, "invalid selection operation")),
    })
}

fn space(id: hid_t) -> Fallible<Space> {
    Ok(handles::space(id)?.get())
}

/// Returns what `look` takes of a dataspace, which is not copied for that.
fn look<T>(id: hid_t, look: impl FnOnce(&Space) -> Fallible<T>) -> Fallible<T> {
    look(&handles::space(id)?.0.read())
}

/// Changes the selection of a dataspace.
fn change(id: hid_t, change: impl FnOnce(&mut Space) -> Fallible<()>) -> Fallible<()> {
    let handle: Arc<SpaceHandle> = handles::space(id)?;
    let mut space = handle.0.write();
    change(&mut space)
}

/// Returns the selected elements of a dataspace as runs of a packed buffer of its extent.
pub(crate) fn runs(space: &Space) -> Fallible<Runs> {
    if space.extent == Dataspace::Null {
        return Ok(Selection::None.runs(&[])?);
    }
    let selection = space.moved_selection()?;
    selection.validate(space.extent.dims())?;
    Ok(selection.runs(space.extent.dims())?)
}

/// Returns the number of selected elements; an unlimited selection has no number.
pub(crate) fn selected_count(space: &Space) -> Fallible<Option<u64>> {
    match (&space.extent, &space.selection) {
        (Dataspace::Null, _) => Ok(Some(0)),
        (_, selection) if selection.is_unlimited() => Ok(None),
        (extent, selection) => Ok(Some(selection.element_count(extent.dims())?)),
    }
}

fn dataspace_failure(minor: Minor, text: &'static str) -> Failure {
    Failure::new(Major::DATASPACE, minor, text)
}
