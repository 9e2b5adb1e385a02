//! Property lists.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hyperslab::vol::model::encode::property_hash;
use system::sync::RwLock;

use super::class::{self, ClassProperty, Kind, PropertyClass};
use super::list_values::ListValues;
use super::rows::Row;
use super::user::UserProperty;
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::hid_t;
use crate::handles::Object;
use crate::ids;

/// libhdf5 keeps properties in an order of hashes of their names.
type Key = (u32, String);

/// A property that a list has itself: one that was set, or one that the program inserted.
#[derive(Debug, Clone)]
pub enum OwnProperty {
    /// One of the library's, whose value is in [`ListState::values`].
    Row(&'static Row),
    /// One of a program's.
    User(Arc<UserProperty>),
}

/// What a list holds.
#[derive(Debug, Clone)]
pub struct ListState {
    pub values: ListValues,
    own: BTreeMap<Key, OwnProperty>,
    /// Properties of the class that were removed from the list.
    removed: BTreeSet<String>,
}

/// A property list.
#[derive(Debug)]
pub struct PropertyList {
    pub class: Arc<PropertyClass>,
    pub state: RwLock<ListState>,
    /// Default lists cannot be changed.
    is_default: bool,
}

/// A property as a list shows it.
#[derive(Debug, Clone)]
pub enum Seen {
    Row(&'static Row),
    User(Arc<UserProperty>),
}

impl Seen {
    /// Returns the name.
    pub fn name(&self) -> &str {
        match self {
            Seen::Row(row) => row.name,
            Seen::User(property) => &property.name,
        }
    }

    /// Returns the size of a value in bytes.
    pub fn size(&self) -> usize {
        match self {
            Seen::Row(row) => row.size,
            Seen::User(property) => property.value.len(),
        }
    }
}

impl From<ClassProperty> for Seen {
    fn from(property: ClassProperty) -> Self {
        match property {
            ClassProperty::Row(row) => Seen::Row(row),
            ClassProperty::User(property) => Seen::User(property),
        }
    }
}

fn key(name: &str) -> Key {
    (property_hash(name), name.to_owned())
}

/// Returns the failure to find a property.
pub fn missing() -> Failure {
    Failure::new(Major::PLIST, Minor::NOTFOUND, "can't find property in skip list")
}

impl ListState {
    fn new(class: &PropertyClass) -> Self {
        let values = ListValues::new(class.kind);
        ListState { values, own: BTreeMap::new(), removed: BTreeSet::new() }
    }

    /// Returns the list's own version of a property.
    pub fn own(&self, name: &str) -> Option<OwnProperty> {
        self.own.get(&key(name)).cloned()
    }

    /// Returns whether a property of the class was removed.
    pub fn is_removed(&self, name: &str) -> bool {
        self.removed.contains(name)
    }

    /// Puts a property into the list itself.
    pub fn put(&mut self, name: &str, own: OwnProperty) {
        self.removed.remove(name);
        self.own.insert(key(name), own);
    }

    /// Takes a property out of the list; with `of_class` that of the class is hidden from now on.
    pub fn take(&mut self, name: &str, of_class: bool) {
        self.own.remove(&key(name));
        if of_class {
            self.removed.insert(name.to_owned());
        }
    }
}

/// Returns the properties of a class, in libhdf5's order.
pub fn class_properties(class: &Arc<PropertyClass>) -> Vec<Seen> {
    let mut seen: Vec<Seen> = class.properties().into_iter().map(Seen::from).collect();
    seen.sort_by_key(|property| property_hash(property.name()));
    seen
}

impl PropertyList {
    /// Returns a list of a class, with the defaults.
    pub fn new(class: Arc<PropertyClass>) -> Self {
        let state = RwLock::new(ListState::new(&class));
        PropertyList { class, state, is_default: false }
    }

    /// Returns a list of a class of the library with these values.
    pub fn with_values(kind: Kind, values: ListValues) -> Self {
        let list = PropertyList::new(class::built_in(kind));
        let mut state = list.state.write();
        let mut default = std::mem::replace(&mut state.values, values);
        for row in list.class_rows() {
            let bytes = |values: &mut ListValues| row.encode(values).ok().flatten();
            if row.is_copied() || bytes(&mut state.values) != bytes(&mut default) {
                state.put(row.name, OwnProperty::Row(row));
            }
        }
        drop(state);
        list
    }

    /// Returns the default list of a class.
    pub fn default_of(kind: Kind) -> Self {
        PropertyList { is_default: true, ..PropertyList::new(class::built_in(kind)) }
    }

    /// Returns a copy. Copy callbacks of properties are called.
    pub fn copied(&self) -> Fallible<PropertyList> {
        let mut state = self.state.read().clone();
        for own in state.own.values_mut() {
            if let OwnProperty::User(property) = own {
                *property = Arc::new(property.copied()?);
            }
        }
        for property in self.class_users(&state) {
            if property.callbacks.copy.is_some() {
                let copied = OwnProperty::User(Arc::new(property.copied()?));
                state.put(&property.name, copied);
            }
        }
        for row in self.class_rows().filter(|row| row.is_copied()) {
            if !state.is_removed(row.name) {
                state.put(row.name, OwnProperty::Row(row));
            }
        }
        Ok(PropertyList { class: self.class.clone(), state: RwLock::new(state), is_default: false })
    }

    /// Returns whether the list has properties of a program: most have none, and need no callbacks.
    pub fn has_user_properties(&self) -> bool {
        let is_user = |own: &OwnProperty| matches!(own, OwnProperty::User(_));
        self.state.read().own.values().any(is_user) || self.class.has_user_properties()
    }

    /// Calls the creation callbacks of properties.
    pub fn create_properties(&self) -> Fallible<()> {
        if !self.class.has_user_properties() {
            return Ok(());
        }
        let state = self.state.read().clone();
        for property in self.class_users(&state) {
            if property.callbacks.create.is_some() {
                let created = OwnProperty::User(Arc::new(property.created()?));
                self.state.write().put(&property.name, created);
            }
        }
        Ok(())
    }

    /// Returns all properties of the library that lists of the class have.
    fn class_rows(&self) -> impl Iterator<Item = &'static Row> + use<> {
        self.class.lineage().flat_map(|class| class.properties()).filter_map(|property| match property {
            ClassProperty::Row(row) => Some(row),
            ClassProperty::User(_) => None,
        })
    }

    /// Returns properties of programs that the list only has by its class.
    fn class_users(&self, state: &ListState) -> Vec<Arc<UserProperty>> {
        if !self.class.has_user_properties() {
            return Vec::new();
        }
        let all = self.class.lineage().flat_map(|class| class.properties());
        let users = all.filter_map(|property| match property {
            ClassProperty::User(property) => Some(property),
            ClassProperty::Row(_) => None,
        });
        users.filter(|p| !state.is_removed(&p.name) && state.own(&p.name).is_none()).collect()
    }

    /// Returns all properties in libhdf5's order: those of the list, then those of its class and of each class above.
    pub fn properties(&self) -> Vec<Seen> {
        let state = self.state.read();
        let mut all: Vec<Seen> = Vec::new();
        let mut seen: BTreeSet<String> = state.removed.clone();
        for (key, own) in &state.own {
            seen.insert(key.1.clone());
            all.push(match own {
                OwnProperty::Row(row) => Seen::Row(row),
                OwnProperty::User(property) => Seen::User(property.clone()),
            });
        }
        // Two properties of file access have creation callbacks, so that every list has its own.
        let mut first: Vec<Seen> = Vec::new();
        for class in self.class.lineage() {
            for property in class_properties(&class) {
                if !seen.insert(property.name().to_owned()) {
                    continue;
                }
                match &property {
                    Seen::Row(row) if row.is_created => first.push(property),
                    _ => all.push(property),
                }
            }
        }
        if !first.is_empty() {
            first.extend(all.drain(..state.own.len()));
            first.sort_by_key(|property| property_hash(property.name()));
            first.extend(all);
            return first;
        }
        all
    }

    /// Returns a property by its name.
    pub fn find(&self, name: &str) -> Option<Seen> {
        let state = self.state.read();
        match state.own(name) {
            Some(OwnProperty::Row(row)) => Some(Seen::Row(row)),
            Some(OwnProperty::User(property)) => Some(Seen::User(property)),
            None if state.is_removed(name) => None,
            None => self.class.find(name).map(Seen::from),
        }
    }

    /// Returns an error for default lists.
    pub fn check_writable(&self) -> Fallible<()> {
        match self.is_default {
            true => Err(Failure::new(Major::PLIST, Minor::CANTCOMPARE, "property list is a default list")),
            false => Ok(()),
        }
    }

    /// Returns what `look` takes of the values. Many threads may look at once: every call looks at a default list.
    pub fn look<T>(&self, look: impl FnOnce(&ListValues) -> Option<T>) -> Option<T> {
        look(&self.state.read().values)
    }

    /// Returns what `read` takes of the values, with the functions that also set them: no other thread looks meanwhile.
    pub fn read<T>(&self, read: impl FnOnce(&mut ListValues) -> Option<T>) -> Option<T> {
        read(&mut self.state.write().values)
    }

    /// Changes values and remembers that properties were set.
    pub fn change<T>(
        &self,
        names: &[&str],
        change: impl FnOnce(&mut ListValues) -> Fallible<T>,
    ) -> Fallible<T> {
        self.check_writable()?;
        let mut state = self.state.write();
        let done = change(&mut state.values)?;
        for name in names {
            if let Some(ClassProperty::Row(row)) = self.class.find(name) {
                state.put(name, OwnProperty::Row(row));
            }
        }
        Ok(done)
    }
}

/// Returns the list of an identifier.
pub fn list(id: hid_t) -> Fallible<Arc<PropertyList>> {
    match ids::object(id) {
        Ok(Object::PropertyList(list)) => Ok(list),
        _ => Err(Failure::wrong_type("not a property list")),
    }
}

/// Returns the list of an identifier, which must be of a class.
pub fn list_of(id: hid_t, kind: Kind) -> Fallible<Arc<PropertyList>> {
    let list = list(id)?;
    match list.class.is_kind(kind) {
        true => Ok(list),
        false => {
            let text = "property list is not a member of the class";
            Err(Failure::new(Major::PLIST, Minor::CANTCOMPARE, text))
        }
    }
}

/// Returns the failure of values that are not those of the class: it cannot happen with a list that [`list_of`] returned.
fn foreign() -> Failure {
    Failure::new(Major::PLIST, Minor::CANTGET, "property list has no such values")
}

/// Returns what `look` takes of the values of a list of a class.
pub fn get<T>(id: hid_t, kind: Kind, look: impl FnOnce(&ListValues) -> Option<T>) -> Fallible<T> {
    list_of(id, kind)?.look(look).ok_or_else(foreign)
}

/// Changes values of a list of a class; `names` are the properties that count as set from then on.
pub fn set<T>(
    id: hid_t,
    kind: Kind,
    names: &[&str],
    change: impl FnOnce(&mut ListValues) -> Option<T>,
) -> Fallible<T> {
    list_of(id, kind)?.change(names, |values| change(values).ok_or_else(foreign))
}

/// Registers a list.
pub fn register(list: PropertyList) -> hid_t {
    ids::register(Object::PropertyList(Arc::new(list)))
}
