//! Functions on lists and properties of any class.

use std::ffi::{CString, c_char, c_int, c_void};
use std::sync::Arc;

use super::class::{self, PropertyClass};
use super::equal::is_equal;
use super::list::{self, OwnProperty, PropertyList, Seen, missing};
use super::rows::Row;
use crate::api;
use crate::arguments::{Bytes, Out, Text};
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{H5P_DEFAULT, allocate_text, herr_t, hid_t, htri_t};
use crate::handles::Object;
use crate::ids;
use crate::stack::c_text;

/// `H5P_iterate_t`
type Iterate = Option<unsafe extern "C" fn(hid_t, *const c_char, *mut c_void) -> herr_t>;

/// A list or a class.
enum Either {
    List(Arc<PropertyList>),
    Class(Arc<PropertyClass>),
}

fn either(id: hid_t, what: &'static str) -> Fallible<Either> {
    match ids::object(id) {
        Ok(Object::PropertyList(list)) => Ok(Either::List(list)),
        Ok(Object::PropertyClass(class)) => Ok(Either::Class(class)),
        _ => Err(Failure::wrong_type(what)),
    }
}

const NOT_AN_OBJECT: &str = "not a property object";

impl Either {
    fn find(&self, name: &str) -> Option<Seen> {
        match self {
            Either::List(list) => list.find(name),
            Either::Class(class) => class.find(name).map(Seen::from),
        }
    }

    /// Those of a class are its own only.
    fn properties(&self) -> Vec<Seen> {
        match self {
            Either::List(list) => list.properties(),
            Either::Class(class) => list::class_properties(class),
        }
    }
}

/// Returns a name that a property may have.
pub(super) fn name_of(name: Text, what: &'static str) -> Fallible<String> {
    name.optional().filter(|name| !name.is_empty()).ok_or_else(|| Failure::argument(what))
}

/// Calls the creation callbacks of a list's class, the nearest first.
fn create_callbacks(id: hid_t, list: &PropertyList) -> Fallible<()> {
    for class in list.class.lineage() {
        let Some((Some(create), data)) = class.callbacks.map(|callbacks| callbacks.create) else { continue };
        // SAFETY: the program registered the function with its data.
        if unsafe { create(id, data.0) } < 0 {
            return Err(Failure::new(Major::PLIST, Minor::CANTINIT, "can't initialize property"));
        }
    }
    Ok(())
}

fn copy_callbacks(id: hid_t, from: hid_t, list: &PropertyList) -> Fallible<()> {
    for class in list.class.lineage() {
        let Some((Some(copy), data)) = class.callbacks.map(|callbacks| callbacks.copy) else { continue };
        // SAFETY: the program registered the function with its data.
        if unsafe { copy(id, from, data.0) } < 0 {
            return Err(Failure::new(Major::PLIST, Minor::CANTINIT, "can't initialize property"));
        }
    }
    Ok(())
}

/// Calls the callbacks of a list that is closed: those of its class, then those of its properties.
pub(super) fn close_callbacks(id: hid_t, list: &PropertyList) -> Fallible<()> {
    for class in list.class.lineage() {
        let Some((Some(close), data)) = class.callbacks.map(|callbacks| callbacks.close) else { continue };
        // The list is gone whatever the program says.
        // SAFETY: the program registered the function with its data.
        unsafe { close(id, data.0) };
    }
    if !list.has_user_properties() {
        return Ok(());
    }
    for property in list.properties() {
        if let Seen::User(property) = property {
            property.close()?;
        }
    }
    Ok(())
}

/// Registers a list; it is removed again if the callbacks of its class fail.
fn register(
    list: PropertyList,
    callbacks: impl FnOnce(hid_t, &PropertyList) -> Fallible<()>,
) -> Fallible<hid_t> {
    let id = list::register(list);
    let list = list::list(id)?;
    callbacks(id, &list).inspect_err(|_| drop(ids::remove(id)))?;
    Ok(id)
}

fn copy(id: hid_t) -> Fallible<hid_t> {
    match either(id, "not property object")? {
        Either::List(list) => register(list.copied()?, |new, list| copy_callbacks(new, id, list)),
        Either::Class(class) => Ok(ids::register(Object::PropertyClass(class))),
    }
}

/// Returns the number of properties after which iteration stopped, and what the function of the program returned.
fn iterate(id: hid_t, start: usize, function: Iterate, data: *mut c_void) -> Fallible<(usize, c_int)> {
    let function = function.ok_or_else(|| Failure::argument("invalid iteration callback"))?;
    let properties = either(id, NOT_AN_OBJECT)?.properties();
    let mut at = start;
    for property in properties.iter().skip(start) {
        let name: CString = c_text(property.name());
        // SAFETY: the program passes a function with its data.
        match unsafe { function(id, name.as_ptr(), data) } {
            0 => at += 1,
            stopped => return Ok((at, stopped)),
        }
    }
    Ok((at, 0))
}

fn set_value(id: hid_t, name: &str, value: *const c_void) -> Fallible<()> {
    let list = list::list(id)?;
    list.check_writable()?;
    let property = list.find(name).ok_or_else(missing)?;
    if property.size() == 0 {
        return Err(Failure::new(Major::PLIST, Minor::BADVALUE, "property has zero size"));
    }
    let bytes = Bytes(value.cast_mut()).read(property.size(), "value")?;
    match property {
        Seen::Row(row) => {
            list.change(&[row.name], |values| row.set_bytes(values, bytes).ok_or_else(|| opaque(row)))
        }
        Seen::User(property) => {
            let new = property.set(id, bytes)?;
            // The list's old value is released, that of the class is not.
            if list.state.read().own(name).is_some() {
                property.delete(id)?;
            }
            list.state.write().put(name, OwnProperty::User(Arc::new(new)));
            Ok(())
        }
    }
}

/// Returns the failure of a property whose value in memory is libhdf5's own.
fn opaque(row: &Row) -> Failure {
    Failure::unsupported(format!(
        "property \"{}\" has no public representation; use its own functions",
        row.name
    ))
}

fn get_value(id: hid_t, name: &str, value: *mut c_void) -> Fallible<()> {
    let list = list::list(id)?;
    let property = list.find(name).ok_or_else(missing)?;
    let bytes = match &property {
        Seen::Row(row) => list.read(|values| row.bytes(values)).ok_or_else(|| opaque(row))?,
        Seen::User(property) if property.value.is_empty() => {
            return Err(Failure::new(Major::PLIST, Minor::BADVALUE, "property has zero size"));
        }
        Seen::User(property) => property.get(id)?,
    };
    Bytes(value).write(bytes.len(), "value")?.copy_from_slice(&bytes);
    Ok(())
}

fn remove(id: hid_t, name: &str) -> Fallible<()> {
    let list = list::list(id)?;
    list.check_writable()?;
    let property = list.find(name).ok_or_else(missing)?;
    if let Seen::User(property) = &property {
        property.delete(id)?;
    }
    let of_class = list.class.find(name).is_some();
    list.state.write().take(name, of_class);
    Ok(())
}

api! { PLIST:
    /// Creates a list of a class.
    fn H5Pcreate(cls_id: hid_t) -> hid_t {
        let list = PropertyList::new(class::class(cls_id, "not a property list class")?);
        list.create_properties()?;
        register(list, create_callbacks)
    }

    /// Copies a list or a class.
    fn H5Pcopy(plist_id: hid_t) -> hid_t {
        match plist_id {
            H5P_DEFAULT => Ok(H5P_DEFAULT),
            id => copy(id),
        }
    }

    /// Closes a list.
    fn H5Pclose(plist_id: hid_t) -> herr_t {
        if plist_id == H5P_DEFAULT {
            return Ok(());
        }
        match ids::object(plist_id) {
            Ok(Object::PropertyList(_)) => ids::remove_reference(plist_id).map(drop),
            Ok(_) => Err(Failure::wrong_type("not a property list")),
            Err(failure) => Err(failure),
        }
    }

    /// Says whether two lists or two classes are equal.
    fn H5Pequal(id1: hid_t, id2: hid_t) -> htri_t {
        match (either(id1, "not property objects")?, either(id2, "not property objects")?) {
            (Either::List(a), Either::List(b)) => Ok(is_equal(&a, &b)),
            (Either::Class(a), Either::Class(b)) => Ok(a.is_same(&b)),
            _ => Err(Failure::wrong_type("not the same kind of property objects")),
        }
    }

    /// Says whether a list or a class has a property.
    fn H5Pexist(id: hid_t, name: Text) -> htri_t {
        let object = either(id, NOT_AN_OBJECT)?;
        Ok(object.find(&name_of(name, "invalid property name")?).is_some())
    }

    /// Returns the size of a property's value.
    fn H5Pget_size(id: hid_t, name: Text, size: Out<usize>) -> herr_t {
        let object = either(id, NOT_AN_OBJECT)?;
        let property = object.find(&name_of(name, "invalid property name")?).ok_or_else(missing)?;
        size.put_required(property.size(), "property size")
    }

    /// Returns the number of properties of a list, or of those that a class adds.
    fn H5Pget_nprops(id: hid_t, nprops: Out<usize>) -> herr_t {
        let count = either(id, NOT_AN_OBJECT)?.properties().len();
        nprops.put_required(count, "property nprops pointer")
    }

    /// Calls a function for every property.
    fn H5Piterate(id: hid_t, idx: Out<c_int>, iter_func: Iterate, iter_data: *mut c_void) -> c_int {
        let start = usize::try_from(idx.get().unwrap_or(0)).map_err(|_| Failure::argument("invalid index"))?;
        let (at, answer) = iterate(id, start, iter_func, iter_data)?;
        idx.put(at as c_int);
        Ok(answer)
    }

    /// Sets the value of a property.
    fn H5Pset(plist_id: hid_t, name: Text, value: *const c_void) -> herr_t {
        list::list(plist_id)?;
        let name = name_of(name, "invalid property name")?;
        if value.is_null() {
            return Err(Failure::argument("invalid property value"));
        }
        set_value(plist_id, &name, value)
    }

    /// Returns the value of a property.
    fn H5Pget(plist_id: hid_t, name: Text, value: *mut c_void) -> herr_t {
        list::list(plist_id)?;
        let name = name_of(name, "invalid property name")?;
        if value.is_null() {
            return Err(Failure::argument("invalid property value"));
        }
        get_value(plist_id, &name, value)
    }

    /// Removes a property from a list.
    fn H5Premove(plist_id: hid_t, name: Text) -> herr_t {
        list::list(plist_id)?;
        remove(plist_id, &name_of(name, "invalid property name")?)
    }

    /// Returns an identifier of the class of a list.
    fn H5Pget_class(plist_id: hid_t) -> hid_t {
        Ok(ids::register(Object::PropertyClass(list::list(plist_id)?.class.clone())))
    }

    /// Returns the name of a class, which the program frees.
    fn H5Pget_class_name(pclass_id: hid_t) -> *mut c_char {
        let class = class::class(pclass_id, "not a property class")?;
        Ok(allocate_text(c_text(&class.name).as_bytes()))
    }

    /// Returns an identifier of the class that a class is derived from.
    fn H5Pget_class_parent(pclass_id: hid_t) -> hid_t {
        let parent = class::class(pclass_id, "not a property class")?.parent.clone();
        let parent = parent.ok_or_else(|| {
            Failure::new(Major::PLIST, Minor::NOTFOUND, "unable to query class of property list")
        })?;
        Ok(ids::register(Object::PropertyClass(parent)))
    }

    /// Says whether a list is of a class or of one that is derived from it.
    fn H5Pisa_class(plist_id: hid_t, pclass_id: hid_t) -> htri_t {
        let list = list::list(plist_id)?;
        let class = class::class(pclass_id, "not a property class")?;
        Ok(list.class.is_a(&class))
    }
}
