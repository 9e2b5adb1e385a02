//! Selections made and moved.

use std::ffi::c_int;

use hyperslab::vol::model::selection::SetOp;
use hyperslab::{Dataspace, Selection};

use super::{change, dataspace_failure, operator, set_operation, space};
use crate::api;
use crate::arguments::Values;
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{H5S_UNLIMITED, herr_t, hid_t, hsize_t, hssize_t};
use crate::handles::Space;

/// A hyperslab as C passes it.
#[derive(Clone, Copy)]
pub(super) struct Hyperslab {
    pub(super) start: Values<hsize_t>,
    pub(super) stride: Values<hsize_t>,
    pub(super) count: Values<hsize_t>,
    pub(super) block: Values<hsize_t>,
}

impl Hyperslab {
    /// Returns the selection, in an extent of so many dimensions.
    fn selection(self, rank: usize) -> Fallible<Selection> {
        let ones = vec![1; rank];
        let start = self.start.required(rank, "hyperslab start")?;
        let count = self.count.required(rank, "hyperslab count")?;
        let (stride, block) = (self.stride.optional(rank), self.block.optional(rank));
        let (stride, block) = (stride.unwrap_or(&ones), block.unwrap_or(&ones));
        if stride.contains(&0) {
            return Err(Failure::argument("invalid stride==0 specified"));
        }
        if start.contains(&H5S_UNLIMITED) || stride.contains(&H5S_UNLIMITED) {
            return Err(dataspace_failure(Minor::CANTINIT, "hyperslab start or stride is unlimited"));
        }
        let selection = Selection::hyperslab(start, stride, count, block);
        selection.map_err(|error| Failure::from(error).as_major(Major::DATASPACE).as_minor(Minor::CANTINIT))
    }

    /// Combines a dataspace's selection with this hyperslab.
    pub(super) fn apply(self, space: &mut Space, code: c_int) -> Fallible<()> {
        match space.extent {
            Dataspace::Scalar => {
                return Err(Failure::wrong_type("hyperslab doesn't support H5S_SCALAR space"));
            }
            Dataspace::Null => return Err(Failure::wrong_type("hyperslab doesn't support H5S_NULL space")),
            Dataspace::Simple(_) => {}
        }
        let operation = set_operation(code)?;
        let other = self.selection(space.extent.rank())?;
        if operation != SetOp::Set && matches!(space.selection, Selection::Points(_)) {
            let text = "cannot operate on a point selection with a hyperslab";
            return Err(dataspace_failure(Minor::CANTINIT, text));
        }
        space.selection = match (operation, &space.selection, &other) {
            // All of an extent stays so, whatever becomes of the extent.
            (SetOp::Or, Selection::All, _) => Selection::All,
            (SetOp::And, Selection::All, _) => other,
            _ => space.selection.combine(operation, &other, space.extent.dims())?,
        };
        Ok(())
    }
}

fn select_elements(
    space: &mut Space,
    code: c_int,
    count: usize,
    coordinates: Values<hsize_t>,
) -> Fallible<()> {
    let rank = space.extent.rank();
    if rank == 0 {
        let text = "point doesn't support H5S_SCALAR or H5S_NULL space";
        return Err(Failure::wrong_type(text));
    }
    if count == 0 {
        return Err(Failure::argument("elements not specified"));
    }
    let numbers = count.checked_mul(rank).filter(|numbers| *numbers <= isize::MAX as usize / 8);
    let numbers = numbers.ok_or_else(|| Failure::argument("too many elements"))?;
    let added = coordinates.required(numbers, "elements not specified")?;
    let old: &[u64] = match &space.selection {
        Selection::Points(points) if code != operator::SET => points.coords(),
        _ => &[],
    };
    let all = match code {
        operator::SET => added.to_vec(),
        operator::APPEND => [old, added].concat(),
        operator::PREPEND => [added, old].concat(),
        _ => {
            let text = "operations other than H5S_SELECT_SET not supported currently";
            return Err(Failure::new(Major::ARGS, Minor::UNSUPPORTED, text));
        }
    };
    space.selection = Selection::points(rank, all)?;
    Ok(())
}

/// Moves a selection towards the origin.
fn adjust(space: &mut Space, offset: Values<hssize_t>) -> Fallible<()> {
    let rank = space.extent.rank();
    let offset = offset.optional(rank).ok_or_else(|| Failure::argument("NULL offset pointer"))?;
    let back = offset.iter().map(|by| by.checked_neg());
    let back: Vec<i64> =
        back.collect::<Option<_>>().ok_or_else(|| Failure::argument("offset out of range"))?;
    if !matches!(space.selection, Selection::All | Selection::None) {
        space.selection = space
            .selection
            .translate(&back)
            .map_err(|error| Failure::from(error).as_major(Major::ARGS).as_minor(Minor::BADVALUE))?;
    }
    Ok(())
}

api! { DATASPACE:
    /// Selects all elements.
    fn H5Sselect_all(id: hid_t) -> herr_t {
        change(id, |space| {
            space.selection = Selection::All;
            Ok(())
        })
    }

    /// Selects no element.
    fn H5Sselect_none(id: hid_t) -> herr_t {
        change(id, |space| {
            space.selection = Selection::None;
            Ok(())
        })
    }

    /// Combines the selection with a hyperslab.
    fn H5Sselect_hyperslab(
        id: hid_t, operation: c_int, start: Values<hsize_t>, stride: Values<hsize_t>, count: Values<hsize_t>, block: Values<hsize_t>,
    ) -> herr_t {
        change(id, |space| {
            if matches!(operation, operator::APPEND | operator::PREPEND) {
                return Err(dataspace_failure(Minor::CANTINIT, "invalid selection operation"));
            }
            Hyperslab { start, stride, count, block }.apply(space, operation)
        })
    }

    /// Selects single elements, or adds some to those that are selected.
    fn H5Sselect_elements(id: hid_t, operation: c_int, count: usize, coordinates: Values<hsize_t>) -> herr_t {
        change(id, |space| select_elements(space, operation, count, coordinates))
    }

    /// Sets what is added to every coordinate of the selection.
    fn H5Soffset_simple(id: hid_t, offset: Values<hssize_t>) -> herr_t {
        change(id, |space| {
            let rank = space.extent.rank();
            if rank == 0 {
                return Err(dataspace_failure(Minor::UNSUPPORTED, "can't set offset on scalar or null dataspace"));
            }
            space.offset = offset.optional(rank).map_or_else(Vec::new, <[i64]>::to_vec);
            Ok(())
        })
    }

    /// Moves the selection towards the origin.
    fn H5Sselect_adjust(id: hid_t, offset: Values<hssize_t>) -> herr_t {
        change(id, |space| adjust(space, offset))
    }

    /// Copies the selection of a dataspace to another.
    fn H5Sselect_copy(target: hid_t, source: hid_t) -> herr_t {
        let source = space(source)?;
        change(target, |space| {
            if source.selection.rank().is_some_and(|rank| rank != space.extent.rank()) {
                return Err(Failure::argument("dataspaces are not same rank"));
            }
            (space.selection, space.offset) = (source.selection, source.offset);
            Ok(())
        })
    }
}
