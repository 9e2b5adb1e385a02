//! Arrays, sequences of variable length, and complex numbers.

use std::ffi::{c_int, c_uint};

use hyperslab::vol::model::RANK_MAX;
use hyperslab::vol::model::datatype::{Array, Complex, Datatype};

use super::{register, view};
use crate::api;
use crate::arguments::{Out, Values};
use crate::failure::{Failure, Fallible};
use crate::ffi::{hid_t, hsize_t};
use crate::memory;

fn create_array(base: hid_t, rank: usize, dims: Values<hsize_t>) -> Fallible<hid_t> {
    if !(1..=RANK_MAX).contains(&rank) {
        return Err(Failure::argument("invalid dimensionality"));
    }
    let base = view(base)?;
    let dims = dims.required(rank, "no dimensions specified")?;
    if dims.contains(&0) {
        return Err(Failure::argument("zero-sized dimension specified"));
    }
    let bytes = dims.iter().try_fold(u64::from(base.size()), |bytes, dim| bytes.checked_mul(*dim));
    if bytes.is_none_or(|bytes| bytes > u64::from(u32::MAX)) {
        return Err(Failure::argument("array datatype is too large"));
    }
    let dims: Vec<u32> = dims.iter().map(|dim| *dim as u32).collect();
    Ok(register(Datatype::Array(Array { dims, base: Box::new((*base).clone()) })))
}

fn array_dims(id: hid_t) -> Fallible<Vec<hsize_t>> {
    match &*view(id)? {
        Datatype::Array(t) => Ok(t.dims.iter().map(|dim| hsize_t::from(*dim)).collect()),
        _ => Err(Failure::wrong_type("not an array datatype")),
    }
}

fn get_dims(id: hid_t, dims: Out<hsize_t>) -> Fallible<c_int> {
    let found = array_dims(id)?;
    dims.put_all(&found, found.len());
    Ok(found.len() as c_int)
}

api! { DATATYPE:
    /// Creates a sequence of variable length.
    fn H5Tvlen_create(base: hid_t) -> hid_t {
        let base = (*view(base)?).clone();
        Ok(register(memory::c_form(&Datatype::var_sequence(base))))
    }

    /// Creates an array datatype.
    fn H5Tarray_create2(base: hid_t, rank: c_uint, dims: Values<hsize_t>) -> hid_t {
        create_array(base, rank as usize, dims)
    }

    /// Creates an array datatype; a permutation of its dimensions was never supported.
    fn H5Tarray_create1(base: hid_t, rank: c_int, dims: Values<hsize_t>, _permutation: *const c_int) -> hid_t {
        create_array(base, usize::try_from(rank).unwrap_or(0), dims)
    }

    /// Returns the number of dimensions of an array datatype.
    fn H5Tget_array_ndims(id: hid_t) -> c_int {
        Ok(array_dims(id)?.len() as c_int)
    }

    /// Returns the dimensions of an array datatype.
    fn H5Tget_array_dims2(id: hid_t, dims: Out<hsize_t>) -> c_int {
        get_dims(id, dims)
    }

    /// Returns the dimensions of an array datatype; there is no permutation.
    fn H5Tget_array_dims1(id: hid_t, dims: Out<hsize_t>, _permutation: *mut c_int) -> c_int {
        get_dims(id, dims)
    }

    /// Creates a complex number of two floats.
    fn H5Tcomplex_create(base: hid_t) -> hid_t {
        match &*view(base)? {
            base @ Datatype::Float(_) => Ok(register(Datatype::Complex(Complex { base: Box::new(base.clone()) }))),
            _ => Err(super::cannot_init("base datatype is not a H5T_FLOAT datatype")),
        }
    }
}
