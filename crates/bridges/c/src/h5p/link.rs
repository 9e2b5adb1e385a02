//! Properties of new links, of names, and of access by links.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;

use super::class::Kind;
use super::list;
use super::object::out_of_range;
use super::rows::FLAGS_DEFAULT;
use super::values::ElinkCallback;
use crate::api;
use crate::arguments::{Opaque, Out, Text, TextOut};
use crate::failure::Failure;
use crate::ffi::{H5P_DEFAULT, herr_t, hid_t};

/// `H5F_ACC_RDWR`, `H5F_ACC_SWMR_WRITE` and `H5F_ACC_SWMR_READ`: what an open file may have.
const OPEN_FLAGS: c_uint = 0x01 | 0x20 | 0x40;

/// Returns a pointer of the program's as it is stored; NULL is none.
pub(super) fn pointer(data: *mut c_void) -> Option<Opaque> {
    (!data.is_null()).then_some(Opaque(data))
}

/// Returns a stored pointer to the program.
pub(super) fn data(pointer: Option<Opaque>) -> *mut c_void {
    pointer.map_or(std::ptr::null_mut(), |pointer| pointer.0)
}

api! { PLIST:
    /// Sets whether groups on the way to a new object are created.
    fn H5Pset_create_intermediate_group(plist_id: hid_t, crt_intmd: c_uint) -> herr_t {
        list::set(plist_id, Kind::LinkCreate, &["intermediate_group"], |values| {
            values.link_create()?.intermediate_groups = crt_intmd > 0;
            Some(())
        })
    }

    /// Returns whether groups on the way to a new object are created.
    fn H5Pget_create_intermediate_group(plist_id: hid_t, crt_intmd: Out<c_uint>) -> herr_t {
        let is_set = list::get(plist_id, Kind::LinkCreate, |values| Some(values.link_create_ref()?.intermediate_groups))?;
        crt_intmd.put(is_set.into());
        Ok(())
    }

    /// Sets the character set of names.
    fn H5Pset_char_encoding(plist_id: hid_t, encoding: c_int) -> herr_t {
        if !(0..=1).contains(&encoding) {
            return Err(out_of_range("character encoding is not valid"));
        }
        list::set(plist_id, Kind::StringCreate, &["character_encoding"], |values| {
            *values.encoding()? = encoding;
            Some(())
        })
    }

    /// Returns the character set of names.
    fn H5Pget_char_encoding(plist_id: hid_t, encoding: Out<c_int>) -> herr_t {
        encoding.put(list::get(plist_id, Kind::StringCreate, |values| Some(*values.encoding_ref()?))?);
        Ok(())
    }

    /// Sets the number of soft links that are followed.
    fn H5Pset_nlinks(plist_id: hid_t, nlinks: usize) -> herr_t {
        if nlinks == 0 {
            return Err(Failure::argument("number of links must be positive"));
        }
        list::set(plist_id, Kind::LinkAccess, &["max soft links"], |values| {
            values.link()?.traversals_max = nlinks;
            Some(())
        })
    }

    /// Returns the number of soft links that are followed.
    fn H5Pget_nlinks(plist_id: hid_t, nlinks: Out<usize>) -> herr_t {
        nlinks.check("pointer to number of links")?;
        nlinks.put(list::get(plist_id, Kind::LinkAccess, |values| Some(values.link_ref()?.traversals_max))?);
        Ok(())
    }

    /// Sets the prefix of files that external links name.
    fn H5Pset_elink_prefix(plist_id: hid_t, prefix: Text) -> herr_t {
        list::set(plist_id, Kind::LinkAccess, &["external link prefix"], |values| {
            values.link()?.external_prefix = prefix.optional();
            Some(())
        })
    }

    /// Returns the prefix of files that external links name.
    fn H5Pget_elink_prefix(plist_id: hid_t, prefix: TextOut, size: usize) -> isize {
        let text = list::get(plist_id, Kind::LinkAccess, |values| Some(values.link_ref()?.external_prefix.clone()))?;
        Ok(prefix.put_text(size, text.as_deref().unwrap_or_default()))
    }

    /// Sets the access list of files that external links lead to.
    fn H5Pset_elink_fapl(lapl_id: hid_t, fapl_id: hid_t) -> herr_t {
        list::list_of(lapl_id, Kind::LinkAccess)?;
        let access = match fapl_id {
            H5P_DEFAULT => None,
            id => Some(Arc::new(list::get(id, Kind::FileAccess, |values| values.access_ref().cloned())?)),
        };
        list::set(lapl_id, Kind::LinkAccess, &["external link fapl"], |values| {
            values.link()?.external_access = access;
            Some(())
        })
    }

    /// Returns the access list of files that external links lead to.
    fn H5Pget_elink_fapl(lapl_id: hid_t) -> hid_t {
        let access = list::get(lapl_id, Kind::LinkAccess, |values| Some(values.link_ref()?.external_access.clone()))?;
        Ok(access.map_or(H5P_DEFAULT, |access| super::register_file_access((*access).clone())))
    }

    /// Sets the flags that files are opened with which external links lead to.
    fn H5Pset_elink_acc_flags(lapl_id: hid_t, flags: c_uint) -> herr_t {
        if flags != FLAGS_DEFAULT && flags & !OPEN_FLAGS != 0 {
            return Err(Failure::argument("invalid file open flags"));
        }
        list::set(lapl_id, Kind::LinkAccess, &["external link flags"], |values| {
            values.link()?.external_flags = (flags != FLAGS_DEFAULT).then_some(flags);
            Some(())
        })
    }

    /// Returns the flags that files are opened with which external links lead to.
    fn H5Pget_elink_acc_flags(lapl_id: hid_t, flags: Out<c_uint>) -> herr_t {
        let now = list::get(lapl_id, Kind::LinkAccess, |values| Some(values.link_ref()?.external_flags))?;
        flags.put(now.unwrap_or(FLAGS_DEFAULT));
        Ok(())
    }

    /// Sets a function that is called when an external link is followed.
    fn H5Pset_elink_cb(lapl_id: hid_t, func: ElinkCallback, op_data: *mut c_void) -> herr_t {
        if func.is_none() && !op_data.is_null() {
            return Err(Failure::argument("callback is NULL while user data is not"));
        }
        list::set(lapl_id, Kind::LinkAccess, &["external link callback"], |values| {
            values.link()?.external_callback = (func, pointer(op_data));
            Some(())
        })
    }

    /// Returns the function that is called when an external link is followed.
    fn H5Pget_elink_cb(lapl_id: hid_t, func: Out<ElinkCallback>, op_data: Out<*mut c_void>) -> herr_t {
        let callback = list::get(lapl_id, Kind::LinkAccess, |values| Some(values.link_ref()?.external_callback))?;
        func.put(callback.0);
        op_data.put(data(callback.1));
        Ok(())
    }
}
