//! H5P: property lists and their classes.
//!
//! [`values`] has the values of each class as other families ask for them; [`rows`] the same as properties with names. Modules
//! after that have the setters and getters of one class each.

pub mod class;
pub mod copy;
pub mod dataset_access;
pub mod dataset_create;
pub mod driver_stacks;
pub mod driver_structs;
pub mod drivers;
pub mod encode;
mod equal;
pub mod external;
pub mod file_access;
pub mod file_access_values;
pub mod file_cache;
pub mod file_create;
pub mod file_image;
pub mod fill;
pub mod filter;
pub mod generic;
pub mod group;
pub mod link;
pub mod list;
pub mod list_values;
pub mod members;
pub mod mpio;
pub mod object;
pub mod parallel;
mod plist_space;
pub mod registration;
pub mod ros3;
pub mod rows;
pub mod transfer;
pub mod transform;
pub mod user;
pub mod values;
pub mod virtuals;
pub mod vol;

use std::sync::{Arc, LazyLock};

use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{H5P_DEFAULT, hid_t};

pub use class::{Kind, PropertyClass};
pub use list::PropertyList;
use list_values::{FileCreation, ListValues};

/// Default lists, by the numbers of their classes, which begin at 1.
static DEFAULTS: LazyLock<Vec<Arc<PropertyList>>> = LazyLock::new(|| {
    let kinds = (1..=Kind::ALL.len() as u64).filter_map(Kind::from_number);
    kinds.map(|kind| Arc::new(PropertyList::default_of(kind))).collect()
});

pub(crate) fn predefined_class(serial: u64) -> Option<Arc<PropertyClass>> {
    Kind::from_number(serial).map(class::built_in)
}

pub(crate) fn predefined_list(serial: u64) -> Option<Arc<PropertyList>> {
    Kind::from_number(serial).map(default_list)
}

/// Returns the default list of a class.
pub fn default_list(kind: Kind) -> Arc<PropertyList> {
    DEFAULTS[kind as usize - 1].clone()
}

pub(crate) fn close_list(id: hid_t, list: &PropertyList) -> Fallible<()> {
    generic::close_callbacks(id, list)
}

pub(crate) fn close_class(_class: &PropertyClass) -> Fallible<()> {
    Ok(())
}

/// Returns the list that another family was given for a class; `H5P_DEFAULT` is the default list of the class.
pub fn list_for(id: hid_t, kind: Kind) -> Fallible<Arc<PropertyList>> {
    if id == H5P_DEFAULT {
        return Ok(default_list(kind));
    }
    let found = list::list(id).ok().filter(|list| list.class.is_kind(kind));
    found.ok_or_else(|| Failure::wrong_type(format!("not a {} property list", kind.name())))
}

/// Returns an error where a list is not of a class.
pub fn check_list(id: hid_t, kind: Kind) -> Fallible<()> {
    if id == H5P_DEFAULT { Ok(()) } else { list_for(id, kind).map(drop) }
}

fn lookup<T>(id: hid_t, kind: Kind, look: impl FnOnce(&ListValues) -> Option<T>) -> Fallible<T> {
    let values = match id {
        H5P_DEFAULT => DEFAULTS[kind as usize - 1].look(look),
        id => list_for(id, kind)?.look(look),
    };
    values.ok_or_else(|| Failure::new(Major::PLIST, Minor::CANTGET, "property list has no such values"))
}

macro_rules! lookups {
    ($($(#[$doc:meta])* $name:ident $kind:ident -> $values:ty, $part:ident;)+) => {
        $($(#[$doc])* pub fn $name(id: hid_t) -> Fallible<$values> {
            lookup(id, Kind::$kind, |values| values.$part().cloned())
        })+
    };
}

lookups! {
    /// Returns the values of a file access list.
    file_access FileAccess -> values::FileAccessValues, access_ref;
    /// Returns the values of a group creation list.
    group_create GroupCreate -> values::GroupCreateValues, group_ref;
    /// Returns the values that every object creation list has.
    object_create ObjectCreate -> values::ObjectCreateValues, object_ref;
    /// Returns the values of a dataset creation list.
    dataset_create DatasetCreate -> values::DatasetCreateValues, dataset_ref;
    /// Returns the values of a transfer list.
    transfer Transfer -> values::TransferValues, transfer_ref;
    /// Returns the values of a link creation list.
    link_create LinkCreate -> values::LinkCreateValues, link_create_ref;
    /// Returns the link values of any access list that has them.
    link_access LinkAccess -> values::LinkAccessValues, link_ref;
    /// Returns the values of an object copy list.
    object_copy ObjectCopy -> values::ObjectCopyValues, copy_ref;
    /// Returns the values of a mount list.
    file_mount FileMount -> values::FileMountValues, mount_ref;
    /// Returns the values of a map access list.
    map_access MapAccess -> values::MapAccessValues, map_access_ref;
}

/// Says in a transfer list what the last transfer did. The default list says nothing.
pub fn note_outcome(id: hid_t, outcome: values::Outcome) {
    if id == H5P_DEFAULT {
        return;
    }
    if let Ok(list) = list_for(id, Kind::Transfer)
        && list.check_writable().is_ok()
        && let Some(transfer) = list.state.write().values.transfer()
    {
        transfer.outcome = outcome;
    }
}

/// Returns the values of a file creation list.
pub fn file_create(id: hid_t) -> Fallible<values::FileCreateValues> {
    lookup(id, Kind::FileCreate, |values| values.file_ref().map(FileCreation::file))
}

/// Returns the values of a dataset access list.
pub fn dataset_access(id: hid_t) -> Fallible<values::DatasetAccessValues> {
    let mut access = lookup(id, Kind::DatasetAccess, |values| values.dataset_access_ref().cloned())?;
    access.chunk_cache = access.chunk_cache.filter(|cache| *cache != values::ChunkCache::OF_FILE);
    Ok(access)
}

/// Returns the values of an attribute creation list.
pub fn attribute_create(id: hid_t) -> Fallible<values::AttributeCreateValues> {
    lookup(id, Kind::StringCreate, |values| {
        values.encoding_ref().map(|encoding| values::AttributeCreateValues { encoding: *encoding })
    })
}

macro_rules! registrations {
    ($($(#[$doc:meta])* $name:ident $kind:ident($values:ty), $list:expr;)+) => {
        $($(#[$doc])* pub fn $name(values: $values) -> hid_t {
            let list: fn($values) -> ListValues = $list;
            list::register(PropertyList::with_values(Kind::$kind, list(values)))
        })+
    };
}

registrations! {
    /// Returns a new list with these values.
    register_file_create FileCreate(values::FileCreateValues),
        |values| ListValues::File(Box::new(FileCreation::new(values)));
    /// Returns a new list with these values.
    register_file_access FileAccess(values::FileAccessValues), |values| ListValues::FileAccess(Box::new(values));
    /// Returns a new list with these values.
    register_group_create GroupCreate(values::GroupCreateValues), ListValues::Group;
    /// Returns a new list with these values.
    register_dataset_create DatasetCreate(values::DatasetCreateValues), |values| ListValues::Dataset(Box::new(values));
    /// Returns a new list with these values.
    register_dataset_access DatasetAccess(values::DatasetAccessValues),
        |values| ListValues::DatasetAccess(Box::new(values));
    /// Returns a new list with these values, of the class of committed datatypes.
    register_datatype_create DatatypeCreate(values::ObjectCreateValues),
        |values| ListValues::Object(values, Vec::new());
    /// Returns a new list with these values, of the class of maps.
    register_map_create MapCreate(values::ObjectCreateValues), |values| ListValues::Object(values, Vec::new());
    /// Returns a new list with these values.
    register_attribute_create AttributeCreate(values::AttributeCreateValues), ListValues::Name;
    /// Returns a new list with these values.
    register_link_access LinkAccess(values::LinkAccessValues), ListValues::Link;
    /// Returns a new list with these values.
    register_transfer Transfer(values::TransferValues), |values| ListValues::Transfer(Box::new(values));
    /// Returns a new list with these values.
    register_map_access MapAccess(values::MapAccessValues), |values| ListValues::MapAccess(Box::new(values));
}
