//! What the libhdf5 side needs of the C interface: elements straight from and into buffers, without hdf5-metno's copies.

use std::ffi::c_void;

use hdf5_sys::h5d::{H5Dread, H5Dwrite};
use hdf5_sys::h5i::hid_t;
use hdf5_sys::h5p::H5P_DEFAULT;
use hdf5_sys::h5s::{
    H5S_ALL, H5S_SELECT_OR, H5S_SELECT_SET, H5S_seloper_t, H5Sclose, H5Screate_simple, H5Sselect_elements,
    H5Sselect_hyperslab,
};

use crate::Outcome;

/// A dataspace with a selection.
pub(crate) struct Space(hid_t);

impl Space {
    pub(crate) fn new(dims: &[u64]) -> Space {
        // SAFETY: `dims` has as many entries as it says.
        Space(hdf5::sync::sync(|| unsafe {
            H5Screate_simple(dims.len() as i32, dims.as_ptr(), std::ptr::null())
        }))
    }

    fn slab(&self, how: H5S_seloper_t, start: &[u64], stride: Option<&[u64]>, count: &[u64]) -> Outcome<()> {
        let stride = stride.map_or(std::ptr::null(), <[u64]>::as_ptr);
        // SAFETY: all arrays have the rank of the space.
        let done = hdf5::sync::sync(|| unsafe {
            H5Sselect_hyperslab(self.0, how, start.as_ptr(), stride, count.as_ptr(), std::ptr::null())
        });
        check(done)
    }

    pub(crate) fn select(&self, start: &[u64], count: &[u64]) -> Outcome<()> {
        self.slab(H5S_SELECT_SET, start, None, count)
    }

    pub(crate) fn select_strided(&self, start: &[u64], stride: &[u64], count: &[u64]) -> Outcome<()> {
        self.slab(H5S_SELECT_SET, start, Some(stride), count)
    }

    pub(crate) fn or(&self, start: &[u64], count: &[u64]) -> Outcome<()> {
        self.slab(H5S_SELECT_OR, start, None, count)
    }

    /// `coordinates` are those of all points, one after the other.
    pub(crate) fn select_points(&self, rank: usize, coordinates: &[u64]) -> Outcome<()> {
        let count = coordinates.len() / rank;
        // SAFETY: there are `count` points of the space's rank.
        check(hdf5::sync::sync(|| unsafe {
            H5Sselect_elements(self.0, H5S_SELECT_SET, count, coordinates.as_ptr())
        }))
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        // SAFETY: the identifier is ours.
        hdf5::sync::sync(|| unsafe { H5Sclose(self.0) });
    }
}

fn check(done: i32) -> Outcome<()> {
    if done < 0 { Err("libhdf5 failed".into()) } else { Ok(()) }
}

/// Reads the elements of a selection (all of them without one) into a packed buffer.
pub(crate) fn read<T: hdf5::H5Type>(
    dataset: &hdf5::Dataset,
    space: Option<&Space>,
    into: &mut [T],
) -> Outcome<()> {
    let datatype = hdf5::Datatype::from_type::<T>()?;
    let memory = Space::new(&[into.len() as u64]);
    let (memory, file) = space.map_or((H5S_ALL, H5S_ALL), |space| (memory.0, space.0));
    // SAFETY: the buffer holds as many elements of this type as are selected.
    check(hdf5::sync::sync(|| unsafe {
        H5Dread(dataset.id(), datatype.id(), memory, file, H5P_DEFAULT, into.as_mut_ptr().cast::<c_void>())
    }))
}

/// Writes a packed buffer to the elements of a selection.
pub(crate) fn write<T: hdf5::H5Type>(
    dataset: &hdf5::Dataset,
    space: Option<&Space>,
    from: &[T],
) -> Outcome<()> {
    let datatype = hdf5::Datatype::from_type::<T>()?;
    let memory = Space::new(&[from.len() as u64]);
    let (memory, file) = space.map_or((H5S_ALL, H5S_ALL), |space| (memory.0, space.0));
    // SAFETY: the buffer holds as many elements of this type as are selected.
    check(hdf5::sync::sync(|| unsafe {
        H5Dwrite(dataset.id(), datatype.id(), memory, file, H5P_DEFAULT, from.as_ptr().cast::<c_void>())
    }))
}
