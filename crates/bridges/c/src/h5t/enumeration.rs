//! Enumeration datatypes.

use std::ffi::{c_uint, c_void};

use hyperslab::vol::model::datatype::{Datatype, Enum};
use hyperslab::vol::model::text;

use super::{register, view};
use crate::api;
use crate::arguments::{Bytes, Text, TextOut};
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{herr_t, hid_t};
use crate::handles;

fn enumeration(datatype: &Datatype) -> Fallible<&Enum> {
    match datatype {
        Datatype::Enum(t) => Ok(t),
        _ => Err(Failure::wrong_type("not an enumeration data type")),
    }
}

fn insert(datatype: &mut Datatype, name: String, value: &[u8]) -> Fallible<()> {
    let Datatype::Enum(t) = datatype else {
        return Err(Failure::wrong_type("not an enumeration data type"));
    };
    if t.members.iter().any(|m| m.0 == name) {
        return Err(Failure::new(Major::DATATYPE, Minor::CANTINIT, "name redefinition"));
    }
    if t.members.iter().any(|m| m.1 == value) {
        return Err(Failure::new(Major::DATATYPE, Minor::CANTINIT, "value redefinition"));
    }
    t.members.push((name, value.to_vec()));
    Ok(())
}

fn not_found(text: &'static str) -> Failure {
    Failure::new(Major::DATATYPE, Minor::CANTINIT, text)
}

/// Returns the bytes of a value of an enumeration that C passes.
fn value_of<'a>(t: &Enum, value: *const c_void) -> Fallible<&'a [u8]> {
    Bytes(value.cast_mut()).read(t.base.size() as usize, "value")
}

fn put_value(t: &Enum, value: *mut c_void, bytes: &[u8]) -> Fallible<()> {
    Bytes(value).write(t.base.size() as usize, "value")?.copy_from_slice(bytes);
    Ok(())
}

api! { DATATYPE:
    /// Creates an enumeration of an integer datatype.
    fn H5Tenum_create(base: hid_t) -> hid_t {
        match &*view(base)? {
            base @ Datatype::Integer(_) => {
                Ok(register(Datatype::Enum(Enum { base: Box::new(base.clone()), members: Vec::new() })))
            }
            _ => Err(Failure::wrong_type("not an integer data type")),
        }
    }

    /// Adds a member to an enumeration.
    fn H5Tenum_insert(id: hid_t, name: Text, value: *const c_void) -> herr_t {
        let datatype = handles::datatype(id)?;
        let current = datatype.datatype();
        let value = value_of(enumeration(&current)?, value)?;
        let name = name.name("no name specified")?;
        datatype.change(|datatype| insert(datatype, name, value))
    }

    /// Returns the name of a value of an enumeration, cut to fit where it is too long, which is a failure.
    fn H5Tenum_nameof(id: hid_t, value: *const c_void, name: TextOut, size: usize) -> herr_t {
        let datatype = view(id)?;
        let t = enumeration(&datatype)?;
        let value = value_of(t, value)?;
        if name.0.is_null() {
            return Err(Failure::argument("no name buffer supplied"));
        }
        let found = t.members.iter().find(|m| m.1 == value);
        let found = text::as_bytes(&found.ok_or_else(|| not_found("value is currently not defined"))?.0).to_vec();
        if found.len() >= size {
            name.put(size, &found);
            return Err(Failure::new(Major::DATATYPE, Minor::CANTINIT, "name has been truncated"));
        }
        name.put(size, &found);
        Ok(())
    }

    /// Returns the value of a member of an enumeration.
    fn H5Tenum_valueof(id: hid_t, name: Text, value: *mut c_void) -> herr_t {
        let datatype = view(id)?;
        let t = enumeration(&datatype)?;
        let name = name.name("no name")?;
        let found = t.members.iter().find(|m| m.0 == name);
        put_value(t, value, &found.ok_or_else(|| not_found("string doesn't exist in the enumeration type"))?.1)
    }

    /// Returns the value of the member of an enumeration with a number.
    fn H5Tget_member_value(id: hid_t, number: c_uint, value: *mut c_void) -> herr_t {
        let datatype = view(id)?;
        let t = enumeration(&datatype)?;
        let found = t.members.get(number as usize);
        put_value(t, value, &found.ok_or_else(|| Failure::argument("invalid member number"))?.1)
    }
}
