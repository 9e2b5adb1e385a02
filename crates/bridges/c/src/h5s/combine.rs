//! Selections of two dataspaces: combined, compared, projected.

use std::ffi::c_int;

use hyperslab::vol::model::selection::{project_intersection, shape_same};
use hyperslab::{Dataspace, Selection};

use super::select::Hyperslab;
use super::{operator, set_operation, space};
use crate::api;
use crate::arguments::Values;
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{herr_t, hid_t, hsize_t, htri_t};
use crate::handles::{self, Space, SpaceHandle};

fn is_hyperslab(space: &Space) -> bool {
    matches!(space.selection, Selection::Regular(_) | Selection::Irregular(_))
}

/// Returns the first dataspace with the selections of both combined.
fn combined(mut a: Space, code: c_int, b: &Space) -> Fallible<Space> {
    if !(operator::OR..=operator::NOTA).contains(&code) {
        return Err(Failure::new(Major::ARGS, Minor::UNSUPPORTED, "invalid selection operation"));
    }
    if a.extent.rank() != b.extent.rank() {
        return Err(Failure::argument("dataspaces not same rank"));
    }
    if !is_hyperslab(&a) || !is_hyperslab(b) {
        return Err(Failure::argument("dataspaces don't have hyperslab selections"));
    }
    a.selection = a.selection.combine(set_operation(code)?, &b.selection, a.extent.dims())?;
    Ok(a)
}

fn intersects(space: &Space, start: Values<hsize_t>, end: Values<hsize_t>) -> Fallible<bool> {
    let rank = space.extent.rank();
    match space.extent {
        Dataspace::Null => return Err(Failure::argument("cannot intersect block with no extent")),
        Dataspace::Scalar => return Err(Failure::argument("cannot intersect block with scalar extent")),
        Dataspace::Simple(_) => {}
    }
    let of_dataspace = |failure: Failure| failure.as_major(Major::DATASPACE);
    let start = start.required(rank, "block start array pointer").map_err(of_dataspace)?;
    let end = end.required(rank, "block end array pointer").map_err(of_dataspace)?;
    if start.iter().zip(end).any(|(start, end)| start > end) {
        return Err(Failure::new(Major::DATASPACE, Minor::BADRANGE, "block start > end"));
    }
    let shape: Vec<u64> = start.iter().zip(end).map(|(start, end)| (end - start).saturating_add(1)).collect();
    let dims = space.extent.dims();
    // A block may reach beyond the extent, where nothing is selected.
    let inside: Vec<u64> = start
        .iter()
        .zip(&shape)
        .map(|(start, len)| (*len).min((u64::MAX - 1).saturating_sub(*start)))
        .collect();
    let part = space.moved_selection()?.intersect_block(dims, start, &inside)?;
    Ok(part.element_count(dims)? > 0)
}

/// Returns `dst` with those of its elements that correspond to elements of `src` that are selected in `intersect` too.
fn projected(src: &Space, mut dst: Space, intersect: &Space) -> Fallible<Space> {
    if src.extent.rank() != intersect.extent.rank() {
        return Err(Failure::argument("rank of source and source intersect spaces differ"));
    }
    let (from, onto) = (src.moved_selection()?, dst.moved_selection()?);
    let (from_dims, onto_dims) = (src.extent.dims(), dst.extent.dims());
    if from.element_count(from_dims)? != onto.element_count(onto_dims)? {
        let text = "number of points selected in source space does not match that in destination space";
        return Err(Failure::new(Major::DATASPACE, Minor::BADVALUE, text));
    }
    let part = project_intersection(&from, from_dims, &intersect.moved_selection()?, &onto, onto_dims)?;
    (dst.selection, dst.offset) = (part, Vec::new());
    Ok(dst)
}

api! { DATASPACE:
    /// Returns a copy of a dataspace whose selection is combined with a hyperslab.
    fn H5Scombine_hyperslab(
        id: hid_t, operation: c_int, start: Values<hsize_t>, stride: Values<hsize_t>, count: Values<hsize_t>, block: Values<hsize_t>,
    ) -> hid_t {
        let mut space = space(id)?;
        Hyperslab { start, stride, count, block }.apply(&mut space, operation)?;
        Ok(SpaceHandle::register(space))
    }

    /// Returns a copy of a dataspace whose selection is combined with that of another.
    fn H5Scombine_select(a: hid_t, operation: c_int, b: hid_t) -> hid_t {
        Ok(SpaceHandle::register(combined(space(a)?, operation, &space(b)?)?))
    }

    /// Combines the selection of a dataspace with that of another.
    fn H5Smodify_select(a: hid_t, operation: c_int, b: hid_t) -> herr_t {
        let changed = combined(space(a)?, operation, &space(b)?)?;
        *handles::space(a)?.0.write() = changed;
        Ok(())
    }

    /// Says whether two selections have the same shape.
    fn H5Sselect_shape_same(a: hid_t, b: hid_t) -> htri_t {
        let (a, b) = (space(a)?, space(b)?);
        Ok(shape_same(&a.selection, a.extent.dims(), &b.selection, b.extent.dims())?)
    }

    /// Says whether elements of a block are selected.
    fn H5Sselect_intersect_block(id: hid_t, start: Values<hsize_t>, end: Values<hsize_t>) -> htri_t {
        intersects(&space(id)?, start, end)
    }

    /// Returns the part of a selection that corresponds to a part of another one.
    fn H5Sselect_project_intersection(src: hid_t, dst: hid_t, intersect: hid_t) -> hid_t {
        Ok(SpaceHandle::register(projected(&space(src)?, space(dst)?, &space(intersect)?)?))
    }
}
