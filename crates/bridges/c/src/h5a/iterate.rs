//! Iterating over attributes.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::Arc;

use super::{H5A_info_t, list, owner, owner_named};
use crate::api;
use crate::arguments::{Out, Text};
use crate::failure::{Failure, Fallible};
use crate::ffi::{herr_t, hid_t, hsize_t};
use crate::handles::ObjectHandle;
use crate::ids;
use crate::listing::{Data, Listing, check_answer};
use crate::stack::c_text;

type Operator2 = Option<unsafe extern "C" fn(hid_t, *const c_char, *const H5A_info_t, *mut c_void) -> herr_t>;
type Operator1 = Option<unsafe extern "C" fn(hid_t, *const c_char, *mut c_void) -> herr_t>;

/// Calls `call` for the attributes of an object from a position on; `reached` gets the position after each.
fn iterate(
    object: &ObjectHandle,
    listing: Listing,
    start: hsize_t,
    call: impl Fn(*const c_char, &H5A_info_t) -> herr_t,
    reached: impl Fn(hsize_t),
) -> Fallible<herr_t> {
    let attributes = listing.all(start, |op| list(object, op))?;
    if start > 0 && attributes.is_empty() {
        return Err(Failure::argument("invalid index specified"));
    }
    for (number, info) in attributes.iter().enumerate() {
        let name = c_text(&info.name);
        let answer = check_answer(call(name.as_ptr(), &H5A_info_t::of(info)));
        reached(start + number as u64 + 1);
        if let Some(stop) = answer? {
            return Ok(stop);
        }
    }
    Ok(0)
}

fn iterate2(
    (id, object): (hid_t, Arc<ObjectHandle>),
    (index, order): (c_int, c_int),
    position: Out<hsize_t>,
    operator: Operator2,
    data: Data,
) -> Fallible<herr_t> {
    let operator = operator.ok_or_else(|| Failure::argument("no operator specified"))?;
    let call = |name: *const c_char, info: &H5A_info_t| {
        // SAFETY: name and info live until the function returns; the program gave function and data together.
        unsafe { operator(id, name, info, data) }
    };
    iterate(&object, Listing::new(index, order)?, position.get().unwrap_or(0), call, |at| position.put(at))
}

api! { ATTR:
    /// Calls a function for the attributes of an object.
    fn H5Aiterate2(id: hid_t, index: c_int, order: c_int, position: Out<hsize_t>, operator: Operator2, data: Data) -> herr_t {
        iterate2((id, owner(id)?), (index, order), position, operator, data)
    }

    /// Calls a function for the attributes of the object that a name leads to.
    fn H5Aiterate_by_name(id: hid_t, name: Text, index: c_int, order: c_int, position: Out<hsize_t>, operator: Operator2, data: Data, lapl: hid_t) -> herr_t {
        let object = owner_named(id, name, lapl)?;
        let object_id = object.register()?;
        let done = iterate2((object_id, object), (index, order), position, operator, data);
        ids::remove_reference(object_id)?;
        done
    }

    /// Calls a function with the names of attributes.
    fn H5Aiterate1(id: hid_t, position: Out<c_uint>, operator: Operator1, data: Data) -> herr_t {
        let operator = operator.ok_or_else(|| Failure::argument("no operator specified"))?;
        let call = |name: *const c_char, _: &H5A_info_t| {
            // SAFETY: the name lives until the function returns; the program gave function and data together.
            unsafe { operator(id, name, data) }
        };
        let start = position.get().unwrap_or(0).into();
        iterate(&*owner(id)?, Listing::by_name(), start, call, |at| position.put(at as c_uint))
    }
}
