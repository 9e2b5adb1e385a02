//! Classes and properties that programs define.

use std::ffi::c_void;
use std::sync::Arc;

use super::class::{self, ClassCallbacks, ClassProperty, ListCopyFunction, ListFunction, PropertyClass};
use super::generic::name_of;
use super::list::{self, OwnProperty, PropertyList, Seen, missing};
use super::user::{Callbacks, CompareFunction, ListValueFunction, UserProperty, ValueFunction};
use crate::api;
use crate::arguments::{Bytes, Opaque, Text};
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{herr_t, hid_t};
use crate::handles::Object;
use crate::ids;

fn exists() -> Failure {
    Failure::new(Major::PLIST, Minor::EXISTS, "property already exists")
}

/// Returns a property with the value that a program passes.
fn property(name: Text, size: usize, value: *mut c_void, callbacks: Callbacks) -> Fallible<UserProperty> {
    let name = name_of(name, "invalid property name")?;
    if size > 0 && value.is_null() {
        return Err(Failure::argument("properties >0 size must have default"));
    }
    let value = Bytes(value).read(size, "value")?.to_vec();
    Ok(UserProperty { name, value, callbacks })
}

fn add_to_class(id: hid_t, property: UserProperty) -> Fallible<()> {
    let class = class::class(id, "not a property list class")?;
    // A property of the same name in a class above is hidden by the new one.
    if class.properties().iter().any(|known| known.name() == property.name) {
        return Err(exists());
    }
    class::add(id, ClassProperty::User(Arc::new(property)))
}

fn insert(id: hid_t, property: UserProperty) -> Fallible<()> {
    let list = list::list(id)?;
    list.check_writable()?;
    if list.find(&property.name).is_some() {
        return Err(exists());
    }
    let name = property.name.clone();
    list.state.write().put(&name, OwnProperty::User(Arc::new(property)));
    Ok(())
}

/// Copies a property to another list, which need not have it yet.
fn copy_to_list(to: &Arc<PropertyList>, to_id: hid_t, from: hid_t, name: &str) -> Fallible<()> {
    to.check_writable()?;
    let source = list::list(from)?;
    match source.find(name).ok_or_else(missing)? {
        Seen::User(property) => {
            // A property that replaces another is a copy of a value; one that the list did not have is created.
            let copied = match to.find(name) {
                Some(Seen::User(old)) => {
                    old.delete(to_id)?;
                    property.copied()?
                }
                _ => property.created()?,
            };
            to.state.write().put(name, OwnProperty::User(Arc::new(copied)));
            Ok(())
        }
        Seen::Row(row) => {
            if to.find(name).is_none() {
                return Err(Failure::unsupported(format!("property \"{name}\" belongs to another class")));
            }
            let bytes = source.read(|values| row.encode(values).ok().flatten());
            let bytes = bytes.ok_or_else(|| {
                Failure::unsupported(format!("property \"{name}\" cannot be copied by itself"))
            })?;
            let mut cursor = hyperslab::vol::model::bytes::Cursor::new(&bytes, "property");
            to.change(&[row.name], |values| Ok(row.decode(values, &mut cursor)?))
        }
    }
}

fn copy_to_class(to: hid_t, from: hid_t, name: &str) -> Fallible<()> {
    let source = class::class(from, "not property objects")?;
    let property = source.find(name).ok_or_else(missing)?;
    class::class(to, "not property objects")?.remove(name);
    class::add(to, property)
}

api! { PLIST:
    /// Creates a class that is derived from another.
    fn H5Pcreate_class(
        parent: hid_t,
        name: Text,
        create: ListFunction,
        create_data: *mut c_void,
        copy: ListCopyFunction,
        copy_data: *mut c_void,
        close: ListFunction,
        close_data: *mut c_void,
    ) -> hid_t {
        let parent = class::class(parent, "not a property list class")?;
        let name = name_of(name, "invalid class name")?;
        let is_lone = |has_function: bool, data: *mut c_void| !has_function && !data.is_null();
        let lone = [
            is_lone(create.is_some(), create_data),
            is_lone(copy.is_some(), copy_data),
            is_lone(close.is_some(), close_data),
        ];
        if lone.contains(&true) {
            return Err(Failure::argument("data specified, but no callback provided"));
        }
        let callbacks = ClassCallbacks {
            create: (create, Opaque(create_data)),
            copy: (copy, Opaque(copy_data)),
            close: (close, Opaque(close_data)),
        };
        let class = PropertyClass::derived(name, parent, callbacks);
        Ok(ids::register(Object::PropertyClass(Arc::new(class))))
    }

    /// Closes a class. Its lists keep it.
    fn H5Pclose_class(cls_id: hid_t) -> herr_t {
        class::class(cls_id, "not a property list class")?;
        ids::remove_reference(cls_id).map(drop)
    }

    /// Adds a property to a class.
    fn H5Pregister2(
        cls_id: hid_t,
        name: Text,
        size: usize,
        def_value: *mut c_void,
        create: ValueFunction,
        set: ListValueFunction,
        get: ListValueFunction,
        delete: ListValueFunction,
        copy: ValueFunction,
        compare: CompareFunction,
        close: ValueFunction,
    ) -> herr_t {
        class::class(cls_id, "not a property list class")?;
        let callbacks = Callbacks { create, set, get, delete, copy, compare, close };
        add_to_class(cls_id, property(name, size, def_value, callbacks)?)
    }

    /// Adds a property to a class, without a function that compares values.
    fn H5Pregister1(
        cls_id: hid_t,
        name: Text,
        size: usize,
        def_value: *mut c_void,
        create: ValueFunction,
        set: ListValueFunction,
        get: ListValueFunction,
        delete: ListValueFunction,
        copy: ValueFunction,
        close: ValueFunction,
    ) -> herr_t {
        class::class(cls_id, "not a property list class")?;
        let callbacks = Callbacks { create, set, get, delete, copy, compare: None, close };
        add_to_class(cls_id, property(name, size, def_value, callbacks)?)
    }

    /// Adds a property to a list.
    fn H5Pinsert2(
        plist_id: hid_t,
        name: Text,
        size: usize,
        value: *mut c_void,
        set: ListValueFunction,
        get: ListValueFunction,
        delete: ListValueFunction,
        copy: ValueFunction,
        compare: CompareFunction,
        close: ValueFunction,
    ) -> herr_t {
        list::list(plist_id)?;
        let callbacks = Callbacks { create: None, set, get, delete, copy, compare, close };
        insert(plist_id, property(name, size, value, callbacks)?)
    }

    /// Adds a property to a list, without a function that compares values.
    fn H5Pinsert1(
        plist_id: hid_t,
        name: Text,
        size: usize,
        value: *mut c_void,
        set: ListValueFunction,
        get: ListValueFunction,
        delete: ListValueFunction,
        copy: ValueFunction,
        close: ValueFunction,
    ) -> herr_t {
        list::list(plist_id)?;
        let callbacks = Callbacks { create: None, set, get, delete, copy, compare: None, close };
        insert(plist_id, property(name, size, value, callbacks)?)
    }

    /// Removes a property from a class, and from lists that have it only by the class.
    fn H5Punregister(pclass_id: hid_t, name: Text) -> herr_t {
        let class = class::class(pclass_id, "not a property list class")?;
        let name = name_of(name, "invalid property name")?;
        match class.remove(&name) {
            true => Ok(()),
            false => Err(missing()),
        }
    }

    /// Copies a property from a list to a list, or from a class to a class.
    fn H5Pcopy_prop(dst_id: hid_t, src_id: hid_t, name: Text) -> herr_t {
        let (to, from) = (ids::object(dst_id), ids::object(src_id));
        match (to, from) {
            (Ok(Object::PropertyList(to)), Ok(Object::PropertyList(_))) => {
                copy_to_list(&to, dst_id, src_id, &name_of(name, "no name given")?)
            }
            (Ok(Object::PropertyClass(_)), Ok(Object::PropertyClass(_))) => {
                copy_to_class(dst_id, src_id, &name_of(name, "no name given")?)
            }
            (Ok(Object::PropertyList(_) | Object::PropertyClass(_)), Ok(_)) => {
                Err(Failure::wrong_type("not the same kind of property objects"))
            }
            _ => Err(Failure::wrong_type("not property objects")),
        }
    }
}
