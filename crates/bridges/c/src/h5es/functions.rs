//! The functions that end in `_async`: each runs the function of the same name, and inserts it into an event set.

use std::ffi::{c_int, c_uint, c_void};

use super::run;
use crate::arguments::{Bytes, Out, Text, Values};
use crate::ffi::{herr_t, hid_t, hsize_t};
use crate::h5g::H5G_info_t;
use crate::h5l::info::H5L_info2_t;
use crate::h5l::iterate::Operator;
use crate::h5o::H5O_info2_t;
use crate::listing::Data;

macro_rules! asynchronous {
    ($($name:ident = $function:path, ($($arg:ident : $ty:ty),*) -> $ret:ty;)+) => {
        $(
            #[doc = concat!("Runs [`", stringify!($function), "`] and inserts it into an event set.")]
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name(file: Text, function: Text, line: c_uint, $($arg: $ty,)* es_id: hid_t) -> $ret {
                // SAFETY: the caller's promises are those of the function that is run.
                run((file, function, line), es_id, stringify!($name), || unsafe { $function($($arg),*) })
            }
        )+
    };
}

/// Defines functions that answer by pointer what their synchronous form returns.
macro_rules! asynchronous_answers {
    ($($name:ident = $function:path, ($($arg:ident : $ty:ty),*), $exists:ident, ($($more:ident : $more_ty:ty),*);)+) => {
        $(
            #[doc = concat!("Runs [`", stringify!($function), "`] and inserts it into an event set.")]
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name(
                file: Text, function: Text, line: c_uint, $($arg: $ty,)* $exists: Out<bool>, $($more: $more_ty,)* es_id: hid_t,
            ) -> herr_t {
                run((file, function, line), es_id, stringify!($name), || {
                    // SAFETY: the caller's promises are those of the function that is run.
                    let answer = unsafe { $function($($arg,)* $($more),*) };
                    if answer >= 0 {
                        $exists.put(answer > 0);
                    }
                    answer.min(0)
                })
            }
        )+
    };
}

asynchronous! {
    H5Aclose_async = crate::h5a::H5Aclose, (id: hid_t) -> herr_t;
    H5Acreate_async = crate::h5a::H5Acreate2, (id: hid_t, name: Text, datatype: hid_t, space: hid_t, acpl: hid_t, aapl: hid_t) -> hid_t;
    H5Acreate_by_name_async = crate::h5a::H5Acreate_by_name, (id: hid_t, object: Text, name: Text, datatype: hid_t, space: hid_t, acpl: hid_t, aapl: hid_t, lapl: hid_t) -> hid_t;
    H5Aopen_async = crate::h5a::H5Aopen, (id: hid_t, name: Text, aapl: hid_t) -> hid_t;
    H5Aopen_by_idx_async = crate::h5a::H5Aopen_by_idx, (id: hid_t, object: Text, index: c_int, order: c_int, n: hsize_t, aapl: hid_t, lapl: hid_t) -> hid_t;
    H5Aopen_by_name_async = crate::h5a::H5Aopen_by_name, (id: hid_t, object: Text, name: Text, aapl: hid_t, lapl: hid_t) -> hid_t;
    H5Aread_async = crate::h5a::H5Aread, (id: hid_t, datatype: hid_t, buffer: Bytes) -> herr_t;
    H5Arename_async = crate::h5a::H5Arename, (id: hid_t, from: Text, to: Text) -> herr_t;
    H5Arename_by_name_async = crate::h5a::H5Arename_by_name, (id: hid_t, object: Text, from: Text, to: Text, lapl: hid_t) -> herr_t;
    H5Awrite_async = crate::h5a::H5Awrite, (id: hid_t, datatype: hid_t, buffer: *const c_void) -> herr_t;
    H5Dcreate_async = crate::h5d::H5Dcreate2, (id: hid_t, name: Text, datatype: hid_t, space: hid_t, lcpl: hid_t, dcpl: hid_t, dapl: hid_t) -> hid_t;
    H5Dopen_async = crate::h5d::H5Dopen2, (id: hid_t, name: Text, dapl: hid_t) -> hid_t;
    H5Dget_space_async = crate::h5d::H5Dget_space, (id: hid_t) -> hid_t;
    H5Dread_async = crate::h5d::H5Dread, (id: hid_t, memory_type: hid_t, memory_space: hid_t, file_space: hid_t, dxpl: hid_t, buffer: *mut c_void) -> herr_t;
    H5Dread_multi_async = crate::h5d::H5Dread_multi, (count: usize, datasets: Values<hid_t>, memory_types: Values<hid_t>, memory_spaces: Values<hid_t>, file_spaces: Values<hid_t>, dxpl: hid_t, buffers: Values<*mut c_void>) -> herr_t;
    H5Dwrite_async = crate::h5d::H5Dwrite, (id: hid_t, memory_type: hid_t, memory_space: hid_t, file_space: hid_t, dxpl: hid_t, buffer: *const c_void) -> herr_t;
    H5Dwrite_multi_async = crate::h5d::H5Dwrite_multi, (count: usize, datasets: Values<hid_t>, memory_types: Values<hid_t>, memory_spaces: Values<hid_t>, file_spaces: Values<hid_t>, dxpl: hid_t, buffers: Values<*const c_void>) -> herr_t;
    H5Dset_extent_async = crate::h5d::H5Dset_extent, (id: hid_t, dims: Values<hsize_t>) -> herr_t;
    H5Dclose_async = crate::h5d::H5Dclose, (id: hid_t) -> herr_t;
    H5Fcreate_async = crate::h5f::api::H5Fcreate, (name: Text, intent: c_uint, creation: hid_t, access: hid_t) -> hid_t;
    H5Fopen_async = crate::h5f::api::H5Fopen, (name: Text, intent: c_uint, list: hid_t) -> hid_t;
    H5Freopen_async = crate::h5f::api::H5Freopen, (id: hid_t) -> hid_t;
    H5Fflush_async = crate::h5f::api::H5Fflush, (id: hid_t, scope: c_int) -> herr_t;
    H5Fclose_async = crate::h5f::api::H5Fclose, (id: hid_t) -> herr_t;
    H5Gcreate_async = crate::h5g::H5Gcreate2, (id: hid_t, name: Text, lcpl: hid_t, gcpl: hid_t, gapl: hid_t) -> hid_t;
    H5Gopen_async = crate::h5g::H5Gopen2, (id: hid_t, name: Text, gapl: hid_t) -> hid_t;
    H5Gget_info_async = crate::h5g::H5Gget_info, (id: hid_t, out: Out<H5G_info_t>) -> herr_t;
    H5Gget_info_by_name_async = crate::h5g::H5Gget_info_by_name, (id: hid_t, name: Text, out: Out<H5G_info_t>, lapl: hid_t) -> herr_t;
    H5Gget_info_by_idx_async = crate::h5g::H5Gget_info_by_idx, (id: hid_t, name: Text, index: c_int, order: c_int, n: hsize_t, out: Out<H5G_info_t>, lapl: hid_t) -> herr_t;
    H5Gclose_async = crate::h5g::H5Gclose, (id: hid_t) -> herr_t;
    H5Lcreate_hard_async = crate::h5l::H5Lcreate_hard, (from: hid_t, object: Text, to: hid_t, name: Text, lcpl: hid_t, lapl: hid_t) -> herr_t;
    H5Lcreate_soft_async = crate::h5l::H5Lcreate_soft, (target: Text, id: hid_t, name: Text, lcpl: hid_t, lapl: hid_t) -> herr_t;
    H5Ldelete_async = crate::h5l::H5Ldelete, (id: hid_t, name: Text, lapl: hid_t) -> herr_t;
    H5Ldelete_by_idx_async = crate::h5l::H5Ldelete_by_idx, (id: hid_t, group: Text, index: c_int, order: c_int, n: hsize_t, lapl: hid_t) -> herr_t;
    H5Literate_async = crate::h5l::iterate::H5Literate2, (id: hid_t, index: c_int, order: c_int, position: Out<hsize_t>, operator: Operator<H5L_info2_t>, data: Data) -> herr_t;
    H5Mcreate_async = crate::h5m::H5Mcreate, (id: hid_t, name: Text, key: hid_t, value: hid_t, lcpl: hid_t, mcpl: hid_t, mapl: hid_t) -> hid_t;
    H5Mopen_async = crate::h5m::H5Mopen, (id: hid_t, name: Text, mapl: hid_t) -> hid_t;
    H5Mclose_async = crate::h5m::H5Mclose, (id: hid_t) -> herr_t;
    H5Mput_async = crate::h5m::H5Mput, (id: hid_t, key_type: hid_t, key: *const c_void, value_type: hid_t, value: *const c_void, dxpl: hid_t) -> herr_t;
    H5Mget_async = crate::h5m::H5Mget, (id: hid_t, key_type: hid_t, key: *const c_void, value_type: hid_t, value: Bytes, dxpl: hid_t) -> herr_t;
    H5Oopen_async = crate::h5o::H5Oopen, (id: hid_t, name: Text, lapl: hid_t) -> hid_t;
    H5Oopen_by_idx_async = crate::h5o::H5Oopen_by_idx, (id: hid_t, group: Text, index: c_int, order: c_int, n: hsize_t, lapl: hid_t) -> hid_t;
    H5Oget_info_by_name_async = crate::h5o::H5Oget_info_by_name3, (id: hid_t, name: Text, out: Out<H5O_info2_t>, wanted: c_uint, lapl: hid_t) -> herr_t;
    H5Ocopy_async = crate::h5o::H5Ocopy, (from: hid_t, name: Text, to: hid_t, new_name: Text, ocpypl: hid_t, lcpl: hid_t) -> herr_t;
    H5Oclose_async = crate::h5o::H5Oclose, (id: hid_t) -> herr_t;
    H5Oflush_async = crate::h5o::H5Oflush, (id: hid_t) -> herr_t;
    H5Orefresh_async = crate::h5o::H5Orefresh, (id: hid_t) -> herr_t;
}

asynchronous_answers! {
    H5Aexists_async = crate::h5a::H5Aexists, (id: hid_t, name: Text), exists, ();
    H5Aexists_by_name_async = crate::h5a::H5Aexists_by_name, (id: hid_t, object: Text, name: Text), exists, (lapl: hid_t);
    H5Lexists_async = crate::h5l::H5Lexists, (id: hid_t, name: Text), exists, (lapl: hid_t);
}
