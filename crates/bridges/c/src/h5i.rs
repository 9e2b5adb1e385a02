//! H5I: identifiers, and types of identifiers that programs define.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_uint, c_void};

use system::sync::Mutex;

use crate::api;
use crate::arguments::{Opaque, Out, TextOut};
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{herr_t, hid_t, hsize_t, htri_t, id_type};
use crate::handles::Object;
use crate::{headers, ids};

type FreeObject = Option<unsafe extern "C" fn(*mut c_void, *mut *mut c_void) -> herr_t>;
type Search = Option<unsafe extern "C" fn(*mut c_void, hid_t, *mut c_void) -> c_int>;
type Iterate = Option<unsafe extern "C" fn(hid_t, *mut c_void) -> herr_t>;

/// A type of identifiers that a program defined.
#[derive(Debug, Clone, Copy)]
struct UserType {
    free: FreeObject,
    references: c_int,
}

static TYPES: Mutex<BTreeMap<c_int, UserType>> = Mutex::new(BTreeMap::new());

fn user_type(kind: c_int) -> Fallible<UserType> {
    if (0..id_type::NTYPES).contains(&kind) {
        return Err(Failure::new(Major::ID, Minor::BADGROUP, "cannot call public function on library type"));
    }
    let known = TYPES.lock().get(&kind).copied();
    known.ok_or_else(|| Failure::new(Major::ID, Minor::BADGROUP, "invalid type number"))
}

fn is_known(kind: c_int) -> bool {
    (1..id_type::NTYPES).contains(&kind) || TYPES.lock().contains_key(&kind)
}

fn check_known(kind: c_int) -> Fallible<()> {
    match is_known(kind) {
        true => Ok(()),
        false => Err(Failure::new(Major::ID, Minor::BADGROUP, "invalid type number")),
    }
}

/// Gives an object of a program's own back to the program.
pub(crate) fn free_user_object(kind: c_int, object: Opaque) -> Fallible<()> {
    let Some(free) = TYPES.lock().get(&kind).and_then(|known| known.free) else { return Ok(()) };
    let mut request = std::ptr::null_mut();
    // SAFETY: the program registered the function for objects of this type.
    match unsafe { free(object.0, &raw mut request) } {
        failed if failed < 0 => Err(Failure::callback("can't free object")),
        _ => Ok(()),
    }
}

fn user_object(id: hid_t, kind: c_int) -> Fallible<Opaque> {
    user_type(kind)?;
    ids::get(id, "an object of this type", |object| match object {
        Object::User(of, object) if *of == kind => Some(*object),
        _ => None,
    })
}

fn members(kind: c_int) -> Vec<(hid_t, Opaque)> {
    let found = ids::find(|object| matches!(object, Object::User(of, _) if *of == kind));
    found.into_iter().filter_map(|id| user_object(id, kind).ok().map(|object| (id, object))).collect()
}

fn register_type(free: FreeObject) -> Fallible<c_int> {
    let mut types = TYPES.lock();
    let number = (id_type::NTYPES..id_type::MAX).find(|number| !types.contains_key(number));
    let number = number
        .ok_or_else(|| Failure::new(Major::ID, Minor::NOSPACE, "maximum number of ID types exceeded"))?;
    types.insert(number, UserType { free, references: 1 });
    Ok(number)
}

/// Removes all identifiers of a type. With `force` an object goes even if it cannot be freed.
fn clear(kind: c_int, force: bool) -> Fallible<()> {
    user_type(kind)?;
    for (id, object) in members(kind) {
        if ids::count(id)? > 1 && !force {
            continue;
        }
        if free_user_object(kind, object).is_ok() || force {
            let _ = ids::remove(id);
        }
    }
    Ok(())
}

fn destroy(kind: c_int) -> Fallible<()> {
    clear(kind, true)?;
    TYPES.lock().remove(&kind);
    Ok(())
}

api! { ID:
    /// Registers an object of a program's own type.
    fn H5Iregister(kind: c_int, object: *const c_void) -> hid_t {
        let is_own = !(0..id_type::NTYPES).contains(&kind);
        user_type(kind).map_err(|failure| if is_own { failure.as_minor(Minor::CANTREGISTER) } else { failure })?;
        Ok(ids::register(Object::User(kind, Opaque(object.cast_mut()))))
    }

    /// Returns the object of an identifier of a program's own type.
    fn H5Iobject_verify(id: hid_t, kind: c_int) -> *mut c_void {
        user_object(id, kind).map(|object| object.0)
    }

    /// Removes an identifier and returns its object.
    fn H5Iremove_verify(id: hid_t, kind: c_int) -> *mut c_void {
        let object = user_object(id, kind)?;
        ids::remove(id)?;
        Ok(object.0)
    }

    /// Returns the type of an identifier.
    fn H5Iget_type(id: hid_t) -> c_int {
        match ids::is_valid(id) {
            true => Ok(headers::type_for_program(ids::type_of(id))),
            false => Ok(id_type::BADID),
        }
    }

    /// Returns an identifier of the file of an object.
    fn H5Iget_file_id(id: hid_t) -> hid_t {
        let location = crate::handles::location(id)?;
        crate::h5f::file_id(&location.file)
    }

    /// Returns the path of an object, if it has one.
    fn H5Iget_name(id: hid_t, name: TextOut, size: usize) -> isize {
        let location = ids::object(id)?.location().ok_or_else(|| Failure::wrong_type("can't retrieve object location"))?;
        match crate::paths::name_of(&location) {
            Some(path) => Ok(name.put_text(size, &path)),
            None => {
                name.put(size, b"");
                Ok(0)
            }
        }
    }

    /// Adds a reference to an identifier.
    fn H5Iinc_ref(id: hid_t) -> c_int {
        ids::add_reference(id)
    }

    /// Removes a reference to an identifier; with the last one its object is closed.
    fn H5Idec_ref(id: hid_t) -> c_int {
        ids::remove_reference(id)
    }

    /// Returns the number of references to an identifier.
    fn H5Iget_ref(id: hid_t) -> c_int {
        ids::count(id)
    }

    /// Defines a type of identifiers.
    fn H5Iregister_type2(_reserved: c_uint, free: FreeObject) -> c_int {
        register_type(free)
    }

    /// Defines a type of identifiers, with arguments that no longer mean anything.
    fn H5Iregister_type1(_hash_size: usize, _reserved: c_uint, free: FreeObject) -> c_int {
        register_type(free)
    }

    /// Defines a type of identifiers: the name of [`H5Iregister_type1`] in programs for 1.10 to 1.14.
    fn H5Iregister_type(_hash_size: usize, _reserved: c_uint, free: FreeObject) -> c_int {
        register_type(free)
    }

    /// Removes all identifiers of a type.
    fn H5Iclear_type(kind: c_int, force: bool) -> herr_t {
        clear(kind, force)
    }

    /// Removes a type and all its identifiers.
    fn H5Idestroy_type(kind: c_int) -> herr_t {
        user_type(kind)?;
        destroy(kind)
    }

    /// Adds a reference to a type.
    fn H5Iinc_type_ref(kind: c_int) -> c_int {
        user_type(kind)?;
        let mut types = TYPES.lock();
        let known = types.get_mut(&kind).ok_or_else(|| Failure::argument("invalid type number"))?;
        known.references += 1;
        Ok(known.references)
    }

    /// Removes a reference to a type; with the last one the type is removed.
    fn H5Idec_type_ref(kind: c_int) -> c_int {
        user_type(kind)?;
        let left = {
            let mut types = TYPES.lock();
            let known = types.get_mut(&kind).ok_or_else(|| Failure::argument("invalid type number"))?;
            known.references -= 1;
            known.references
        };
        if left == 0 {
            destroy(kind)?;
        }
        Ok(left)
    }

    /// Returns the number of references to a type.
    fn H5Iget_type_ref(kind: c_int) -> c_int {
        Ok(user_type(kind)?.references)
    }

    /// Returns the first object of a type that a function accepts.
    fn H5Isearch(kind: c_int, function: Search, key: *mut c_void) -> *mut c_void {
        user_type(kind)?;
        let function = function.ok_or_else(|| Failure::argument("no function"))?;
        for (id, object) in members(kind) {
            // SAFETY: the program passes a function for objects of this type.
            if unsafe { function(object.0, id, key) } != 0 {
                return Ok(object.0);
            }
        }
        Ok(std::ptr::null_mut())
    }

    /// Calls a function for every identifier of a type.
    fn H5Iiterate(kind: c_int, function: Iterate, data: *mut c_void) -> herr_t {
        let kind = headers::type_from_program(kind);
        check_known(kind)?;
        let function = function.ok_or_else(|| Failure::argument("no function"))?;
        for id in ids::find(|object| object.id_type() == kind) {
            // SAFETY: the program passes a function with its data.
            match unsafe { function(id, data) } {
                0 => {}
                stopped if stopped > 0 => return Ok(stopped),
                _ => return Err(Failure::callback("iteration failed")),
            }
        }
        Ok(0)
    }

    /// Returns the number of identifiers of a type.
    fn H5Inmembers(kind: c_int, count: Out<hsize_t>) -> herr_t {
        user_type(kind)?;
        count.put(members(kind).len() as hsize_t);
        Ok(())
    }

    /// Says whether a type of identifiers is there.
    fn H5Itype_exists(kind: c_int) -> htri_t {
        if (0..id_type::NTYPES).contains(&kind) {
            return Err(Failure::new(Major::ID, Minor::BADGROUP, "cannot call public function on library type"));
        }
        Ok(is_known(kind))
    }

    /// Says whether an identifier is valid.
    fn H5Iis_valid(id: hid_t) -> htri_t {
        Ok(ids::is_valid(id))
    }
}

crate::refused! { ID:
    /// Objects whose identifiers come before them are not supported.
    fn H5Iregister_future(_kind: c_int, _object: *const c_void, _realize: *const c_void, _discard: *const c_void) -> hid_t;
}
