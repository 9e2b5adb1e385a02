//! Properties of object copies.

use std::ffi::{c_uint, c_void};

use super::class::Kind;
use super::link::{data, pointer};
use super::list;
use super::values::SearchCallback;
use crate::api;
use crate::arguments::{Out, Text};
use crate::failure::Failure;
use crate::ffi::{herr_t, hid_t};

/// All flags of `H5O_COPY_…`.
const FLAGS: c_uint = 0x7f;

api! { PLIST:
    /// Sets how objects are copied.
    fn H5Pset_copy_object(plist_id: hid_t, copy_options: c_uint) -> herr_t {
        if copy_options & !FLAGS != 0 {
            return Err(Failure::argument("unknown option specified"));
        }
        list::set(plist_id, Kind::ObjectCopy, &["copy object"], |values| {
            values.copy()?.flags = copy_options;
            Some(())
        })
    }

    /// Returns how objects are copied.
    fn H5Pget_copy_object(plist_id: hid_t, copy_options: Out<c_uint>) -> herr_t {
        copy_options.put(list::get(plist_id, Kind::ObjectCopy, |values| Some(values.copy_ref()?.flags))?);
        Ok(())
    }

    /// Adds a path at which a committed datatype is looked for when objects are copied.
    fn H5Padd_merge_committed_dtype_path(plist_id: hid_t, path: Text) -> herr_t {
        let path = path.optional().ok_or_else(|| Failure::argument("no path specified"))?;
        if path.is_empty() {
            return Err(Failure::argument("path is empty string"));
        }
        list::set(plist_id, Kind::ObjectCopy, &["merge committed dtype list"], |values| {
            // The newest is looked at first.
            values.copy()?.merge_paths.insert(0, path);
            Some(())
        })
    }

    /// Removes all paths at which committed datatypes are looked for.
    fn H5Pfree_merge_committed_dtype_paths(plist_id: hid_t) -> herr_t {
        list::set(plist_id, Kind::ObjectCopy, &["merge committed dtype list"], |values| {
            values.copy()?.merge_paths.clear();
            Some(())
        })
    }

    /// Sets a function that says whether all committed datatypes are looked at.
    fn H5Pset_mcdt_search_cb(plist_id: hid_t, func: SearchCallback, op_data: *mut c_void) -> herr_t {
        if func.is_none() && !op_data.is_null() {
            return Err(Failure::argument("callback is NULL while user data is not"));
        }
        list::set(plist_id, Kind::ObjectCopy, &["committed dtype list search"], |values| {
            values.copy()?.search = (func, pointer(op_data));
            Some(())
        })
    }

    /// Returns the function that says whether all committed datatypes are looked at.
    fn H5Pget_mcdt_search_cb(plist_id: hid_t, func: Out<SearchCallback>, op_data: Out<*mut c_void>) -> herr_t {
        let search = list::get(plist_id, Kind::ObjectCopy, |values| Some(values.copy_ref()?.search))?;
        func.put(search.0);
        op_data.put(data(search.1));
        Ok(())
    }
}
