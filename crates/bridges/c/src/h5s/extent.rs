//! Extents of dataspaces.

use std::ffi::c_int;

use hyperslab::vol::model::RANK_MAX;
use hyperslab::{Dataspace, Selection};

use super::{change, look, space};
use crate::api;
use crate::arguments::{Out, Values};
use crate::failure::{Failure, Fallible};
use crate::ffi::{H5S_UNLIMITED, herr_t, hid_t, hsize_t, hssize_t, htri_t};
use crate::handles::{Object, Space, SpaceHandle};
use crate::ids;

/// `H5S_class_t`
mod class {
    use super::c_int;
    pub(super) const SCALAR: c_int = 0;
    pub(super) const SIMPLE: c_int = 1;
    pub(super) const NULL: c_int = 2;
}

fn class_of(extent: &Dataspace) -> c_int {
    match extent {
        Dataspace::Scalar => class::SCALAR,
        Dataspace::Simple(_) => class::SIMPLE,
        Dataspace::Null => class::NULL,
    }
}

/// Returns an extent; without maximum dimensions it keeps its size, and without dimensions it is a scalar.
fn simple(rank: c_int, dims: Values<hsize_t>, max: Values<hsize_t>) -> Fallible<Dataspace> {
    let rank = usize::try_from(rank).map_err(|_| Failure::argument("dimensionality cannot be negative"))?;
    if rank > RANK_MAX {
        return Err(Failure::argument("dimensionality is too large"));
    }
    let dims = dims.required(rank, "no dimensions specified")?;
    let max = max.optional(rank).unwrap_or(dims);
    for (dim, max) in dims.iter().zip(max) {
        if *dim == H5S_UNLIMITED {
            return Err(Failure::argument("current dimension must have a specific size, not H5S_UNLIMITED"));
        }
        if *max != H5S_UNLIMITED && max < dim {
            return Err(Failure::argument("maxdims is smaller than dims"));
        }
    }
    Ok(Dataspace::resizable(dims, max)?)
}

/// Gives a dataspace another extent. Its selection stays if it can be one of that extent.
fn set_extent(space: &mut Space, extent: Dataspace) {
    if space.selection.rank().is_some_and(|rank| rank != extent.rank()) {
        space.selection = Selection::All;
    }
    space.extent = extent;
    space.offset.clear();
}

fn count(extent: &Dataspace) -> Fallible<hssize_t> {
    hssize_t::try_from(extent.element_count()?)
        .map_err(|_| Failure::argument("more elements than 63 bits count"))
}

api! { DATASPACE:
    /// Creates a scalar or a null dataspace, or one whose dimensions are set later.
    fn H5Screate(kind: c_int) -> hid_t {
        match kind {
            class::SCALAR => Ok(SpaceHandle::register(Space::all(Dataspace::Scalar))),
            class::SIMPLE | class::NULL => Ok(SpaceHandle::register(Space::all(Dataspace::Null))),
            _ => Err(Failure::argument("invalid dataspace type")),
        }
    }

    /// Creates an array dataspace, all of it selected.
    fn H5Screate_simple(rank: c_int, dims: Values<hsize_t>, max: Values<hsize_t>) -> hid_t {
        Ok(SpaceHandle::register(Space::all(simple(rank, dims, max)?)))
    }

    /// Copies a dataspace with its selection.
    fn H5Scopy(id: hid_t) -> hid_t {
        Ok(SpaceHandle::register(space(id)?))
    }

    /// Closes a dataspace.
    fn H5Sclose(id: hid_t) -> herr_t {
        ids::close(id, "a dataspace", |object| matches!(object, Object::Dataspace(_)))
    }

    /// Sets the dimensions of a dataspace.
    fn H5Sset_extent_simple(id: hid_t, rank: c_int, dims: Values<hsize_t>, max: Values<hsize_t>) -> herr_t {
        change(id, |space| {
            set_extent(space, simple(rank, dims, max)?);
            Ok(())
        })
    }

    /// Removes the extent of a dataspace: it has no element.
    fn H5Sset_extent_none(id: hid_t) -> herr_t {
        change(id, |space| {
            set_extent(space, Dataspace::Null);
            Ok(())
        })
    }

    /// Copies the extent of a dataspace to another.
    fn H5Sextent_copy(target: hid_t, source: hid_t) -> herr_t {
        let extent = crate::handles::extent(source)?;
        change(target, |space| {
            set_extent(space, extent);
            Ok(())
        })
    }

    /// Says whether two dataspaces have the same extent.
    fn H5Sextent_equal(a: hid_t, b: hid_t) -> htri_t {
        Ok(space(a)?.extent == space(b)?.extent)
    }

    /// Says whether a dataspace is an array or a scalar.
    fn H5Sis_simple(id: hid_t) -> htri_t {
        look(id, |space| Ok(space.extent != Dataspace::Null))
    }

    /// Returns the class of a dataspace.
    fn H5Sget_simple_extent_type(id: hid_t) -> c_int {
        look(id, |space| Ok(class_of(&space.extent)))
    }

    /// Returns the number of dimensions.
    fn H5Sget_simple_extent_ndims(id: hid_t) -> c_int {
        look(id, |space| Ok(space.extent.rank() as c_int))
    }

    /// Returns the number of elements of the extent.
    fn H5Sget_simple_extent_npoints(id: hid_t) -> hssize_t {
        look(id, |space| count(&space.extent))
    }

    /// Returns the dimensions, and how far they may grow.
    fn H5Sget_simple_extent_dims(id: hid_t, dims: Out<hsize_t>, max: Out<hsize_t>) -> c_int {
        look(id, |space| {
            let extent = &space.extent;
            dims.put_all(extent.dims(), extent.rank());
            max.put_all(extent.max_dims(), extent.rank());
            Ok(extent.rank() as c_int)
        })
    }
}
