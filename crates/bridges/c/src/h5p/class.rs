//! Classes of property lists: the tree of the library, and classes that programs derive from it.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use system::sync::RwLock;

use super::rows::{self, Row};
use super::user::UserProperty;
use crate::arguments::Opaque;
use crate::failure::{Failure, Fallible};
use crate::ffi::{GlobalId, herr_t, hid_t, id_type};
use crate::handles::Object;
use crate::ids;

/// The classes of the library, with the numbers that encoded lists have (`H5P_plist_type_t`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    Root = 1,
    ObjectCreate = 2,
    FileCreate = 3,
    FileAccess = 4,
    DatasetCreate = 5,
    DatasetAccess = 6,
    Transfer = 7,
    FileMount = 8,
    GroupCreate = 9,
    GroupAccess = 10,
    DatatypeCreate = 11,
    DatatypeAccess = 12,
    StringCreate = 13,
    AttributeCreate = 14,
    ObjectCopy = 15,
    LinkCreate = 16,
    LinkAccess = 17,
    AttributeAccess = 18,
    VolInitialize = 19,
    MapCreate = 20,
    MapAccess = 21,
    ReferenceAccess = 22,
}

impl Kind {
    /// Every class, a parent before its children.
    pub const ALL: [Kind; 22] = [
        Kind::Root,
        Kind::ObjectCreate,
        Kind::GroupCreate,
        Kind::FileCreate,
        Kind::FileAccess,
        Kind::DatasetCreate,
        Kind::LinkAccess,
        Kind::DatasetAccess,
        Kind::Transfer,
        Kind::FileMount,
        Kind::GroupAccess,
        Kind::DatatypeCreate,
        Kind::DatatypeAccess,
        Kind::StringCreate,
        Kind::AttributeCreate,
        Kind::ObjectCopy,
        Kind::LinkCreate,
        Kind::AttributeAccess,
        Kind::VolInitialize,
        Kind::MapCreate,
        Kind::MapAccess,
        Kind::ReferenceAccess,
    ];

    /// Returns the class with this number.
    pub fn from_number(number: u64) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| *kind as u64 == number)
    }

    /// Returns the class that this one is derived from.
    pub fn parent(self) -> Option<Kind> {
        Some(match self {
            Kind::Root => return None,
            Kind::FileCreate => Kind::GroupCreate,
            Kind::DatasetCreate | Kind::GroupCreate | Kind::DatatypeCreate | Kind::MapCreate => {
                Kind::ObjectCreate
            }
            Kind::DatasetAccess
            | Kind::GroupAccess
            | Kind::DatatypeAccess
            | Kind::AttributeAccess
            | Kind::MapAccess => Kind::LinkAccess,
            Kind::AttributeCreate | Kind::LinkCreate => Kind::StringCreate,
            Kind::ReferenceAccess => Kind::FileAccess,
            _ => Kind::Root,
        })
    }

    /// Returns the name that `H5Pget_class_name` gives.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Root => "root",
            Kind::ObjectCreate => "object create",
            Kind::FileCreate => "file create",
            Kind::FileAccess => "file access",
            Kind::DatasetCreate => "dataset create",
            Kind::DatasetAccess => "dataset access",
            Kind::Transfer => "data transfer",
            Kind::FileMount => "file mount",
            Kind::GroupCreate => "group create",
            Kind::GroupAccess => "group access",
            Kind::DatatypeCreate => "datatype create",
            Kind::DatatypeAccess => "datatype access",
            Kind::StringCreate => "string create",
            Kind::AttributeCreate => "attribute create",
            Kind::ObjectCopy => "object copy",
            Kind::LinkCreate => "link create",
            Kind::LinkAccess => "link access",
            Kind::AttributeAccess => "attribute access",
            Kind::VolInitialize => "VOL initialization",
            Kind::MapCreate => "map create",
            Kind::MapAccess => "map access",
            Kind::ReferenceAccess => "reference access",
        }
    }

    /// Returns the identifier of the class.
    pub const fn class_id(self) -> hid_t {
        ids::predefined(id_type::GENPROP_CLS, self as u64)
    }

    /// Returns the identifier of the default list of the class.
    pub const fn list_id(self) -> hid_t {
        ids::predefined(id_type::GENPROP_LST, self as u64)
    }
}

/// Exports identifiers of classes and of default lists.
macro_rules! export {
    ($($kind:ident $class:literal $($list:literal)?;)+) => {
        /// The exported global values, with the identifiers that they hold.
        pub(crate) static GLOBALS: &[(&GlobalId, hid_t)] = &[$(
            {
                #[unsafe(export_name = $class)]
                static CLASS: GlobalId = GlobalId::new(Kind::$kind.class_id());
                (&CLASS, Kind::$kind.class_id())
            },
            $({
                #[unsafe(export_name = $list)]
                static LIST: GlobalId = GlobalId::new(Kind::$kind.list_id());
                (&LIST, Kind::$kind.list_id())
            },)?
        )+];
    };
}

export! {
    Root "H5P_CLS_ROOT_ID_g";
    ObjectCreate "H5P_CLS_OBJECT_CREATE_ID_g";
    FileCreate "H5P_CLS_FILE_CREATE_ID_g" "H5P_LST_FILE_CREATE_ID_g";
    FileAccess "H5P_CLS_FILE_ACCESS_ID_g" "H5P_LST_FILE_ACCESS_ID_g";
    DatasetCreate "H5P_CLS_DATASET_CREATE_ID_g" "H5P_LST_DATASET_CREATE_ID_g";
    DatasetAccess "H5P_CLS_DATASET_ACCESS_ID_g" "H5P_LST_DATASET_ACCESS_ID_g";
    Transfer "H5P_CLS_DATASET_XFER_ID_g" "H5P_LST_DATASET_XFER_ID_g";
    FileMount "H5P_CLS_FILE_MOUNT_ID_g" "H5P_LST_FILE_MOUNT_ID_g";
    GroupCreate "H5P_CLS_GROUP_CREATE_ID_g" "H5P_LST_GROUP_CREATE_ID_g";
    GroupAccess "H5P_CLS_GROUP_ACCESS_ID_g" "H5P_LST_GROUP_ACCESS_ID_g";
    DatatypeCreate "H5P_CLS_DATATYPE_CREATE_ID_g" "H5P_LST_DATATYPE_CREATE_ID_g";
    DatatypeAccess "H5P_CLS_DATATYPE_ACCESS_ID_g" "H5P_LST_DATATYPE_ACCESS_ID_g";
    MapCreate "H5P_CLS_MAP_CREATE_ID_g" "H5P_LST_MAP_CREATE_ID_g";
    MapAccess "H5P_CLS_MAP_ACCESS_ID_g" "H5P_LST_MAP_ACCESS_ID_g";
    StringCreate "H5P_CLS_STRING_CREATE_ID_g";
    AttributeCreate "H5P_CLS_ATTRIBUTE_CREATE_ID_g" "H5P_LST_ATTRIBUTE_CREATE_ID_g";
    AttributeAccess "H5P_CLS_ATTRIBUTE_ACCESS_ID_g" "H5P_LST_ATTRIBUTE_ACCESS_ID_g";
    ObjectCopy "H5P_CLS_OBJECT_COPY_ID_g" "H5P_LST_OBJECT_COPY_ID_g";
    LinkCreate "H5P_CLS_LINK_CREATE_ID_g" "H5P_LST_LINK_CREATE_ID_g";
    LinkAccess "H5P_CLS_LINK_ACCESS_ID_g" "H5P_LST_LINK_ACCESS_ID_g";
    VolInitialize "H5P_CLS_VOL_INITIALIZE_ID_g" "H5P_LST_VOL_INITIALIZE_ID_g";
    ReferenceAccess "H5P_CLS_REFERENCE_ACCESS_ID_g" "H5P_LST_REFERENCE_ACCESS_ID_g";
}

/// Called when a list of a class was created or is closed (`H5P_cls_create_func_t`, `H5P_cls_close_func_t`).
pub type ListFunction = Option<unsafe extern "C" fn(hid_t, *mut c_void) -> herr_t>;
/// Called when a list of a class was copied (`H5P_cls_copy_func_t`).
pub type ListCopyFunction = Option<unsafe extern "C" fn(hid_t, hid_t, *mut c_void) -> herr_t>;

/// The callbacks of a class that a program defined, each with its data.
#[derive(Debug, Clone, Copy)]
pub struct ClassCallbacks {
    pub create: (ListFunction, Opaque),
    pub copy: (ListCopyFunction, Opaque),
    pub close: (ListFunction, Opaque),
}

/// A property that lists of a class have.
#[derive(Debug, Clone)]
pub enum ClassProperty {
    /// One of the library's own.
    Row(&'static Row),
    /// One that a program registered, with its default value.
    User(Arc<UserProperty>),
}

impl ClassProperty {
    /// Returns the name.
    pub fn name(&self) -> &str {
        match self {
            ClassProperty::Row(row) => row.name,
            ClassProperty::User(property) => &property.name,
        }
    }

    /// Returns the size of a value in bytes.
    pub fn size(&self) -> usize {
        match self {
            ClassProperty::Row(row) => row.size,
            ClassProperty::User(property) => property.value.len(),
        }
    }
}

/// A class of property lists. A change makes a new one, so that lists keep the class that they were created with.
#[derive(Debug)]
pub struct PropertyClass {
    /// The name.
    pub name: String,
    /// The class that this one is derived from.
    pub parent: Option<Arc<PropertyClass>>,
    /// The class of the library that it is, or is derived from.
    pub kind: Kind,
    /// A number that a class and all its changed versions share.
    origin: u64,
    /// Its own properties. One that is removed is removed from lists too.
    properties: RwLock<Vec<ClassProperty>>,
    /// Callbacks, for classes of programs.
    pub callbacks: Option<ClassCallbacks>,
}

static NEXT_ORIGIN: AtomicU64 = AtomicU64::new(1 << 8);

static CLASSES: LazyLock<RwLock<Vec<Arc<PropertyClass>>>> = LazyLock::new(|| {
    let mut classes: Vec<Arc<PropertyClass>> = Vec::new();
    for kind in Kind::ALL {
        let parent =
            kind.parent().and_then(|parent| classes.iter().find(|class| class.kind == parent)).cloned();
        let properties = RwLock::new(rows::of(kind).iter().map(ClassProperty::Row).collect());
        let name = kind.name().to_owned();
        let class = PropertyClass { name, parent, kind, origin: kind as u64, properties, callbacks: None };
        classes.push(Arc::new(class));
    }
    RwLock::new(classes)
});

/// Returns a class of the library.
pub fn built_in(kind: Kind) -> Arc<PropertyClass> {
    let at = Kind::ALL.iter().position(|known| *known == kind).unwrap_or_default();
    CLASSES.read()[at].clone()
}

/// Returns the class of an identifier.
pub fn class(id: hid_t, what: &'static str) -> Fallible<Arc<PropertyClass>> {
    match ids::object(id) {
        Ok(Object::PropertyClass(class)) => Ok(class),
        _ => Err(Failure::wrong_type(what)),
    }
}

impl PropertyClass {
    /// Returns a class that is derived from another.
    pub fn derived(name: String, parent: Arc<PropertyClass>, callbacks: ClassCallbacks) -> Self {
        PropertyClass {
            name,
            kind: parent.kind,
            parent: Some(parent),
            origin: NEXT_ORIGIN.fetch_add(1, Ordering::Relaxed),
            properties: RwLock::default(),
            callbacks: Some(callbacks),
        }
    }

    /// Returns the class and the classes that it is derived from, the nearest first.
    pub fn lineage(self: &Arc<Self>) -> impl Iterator<Item = Arc<PropertyClass>> + use<> {
        std::iter::successors(Some(self.clone()), |class| class.parent.clone())
    }

    /// Returns whether this is the same class, though properties may have been added to one of them.
    pub fn is_same(&self, other: &PropertyClass) -> bool {
        self.origin == other.origin
    }

    /// Returns whether this class is another, or derived from it.
    pub fn is_a(self: &Arc<Self>, other: &PropertyClass) -> bool {
        self.lineage().any(|class| class.is_same(other))
    }

    /// Returns whether this class is one of the library's, or derived from it.
    pub fn is_kind(&self, kind: Kind) -> bool {
        std::iter::successors(Some(self.kind), |kind| kind.parent()).any(|known| known == kind)
    }

    /// Returns the properties that this class adds to those of the classes above it.
    pub fn properties(&self) -> Vec<ClassProperty> {
        self.properties.read().clone()
    }

    /// Returns whether this class or one that it is derived from has properties of a program.
    pub fn has_user_properties(&self) -> bool {
        let is_user = |property: &ClassProperty| matches!(property, ClassProperty::User(_));
        self.properties.read().iter().any(is_user)
            || self.parent.as_ref().is_some_and(|parent| parent.has_user_properties())
    }

    /// Removes a property, also from lists of the class. Returns whether there was one.
    pub fn remove(&self, name: &str) -> bool {
        let mut properties = self.properties.write();
        let count = properties.len();
        properties.retain(|property| property.name() != name);
        properties.len() < count
    }

    /// Returns a property by its name, of this class or of one that it is derived from.
    pub fn find(self: &Arc<Self>, name: &str) -> Option<ClassProperty> {
        self.lineage().find_map(|class| class.properties.read().iter().find(|p| p.name() == name).cloned())
    }
}

/// Adds a property to the class of an identifier: a new class takes its place, and lists keep the old one.
pub fn add(id: hid_t, property: ClassProperty) -> Fallible<()> {
    let class = class(id, "not a property list class")?;
    let mut properties = class.properties();
    properties.push(property);
    let changed = Arc::new(PropertyClass {
        name: class.name.clone(),
        parent: class.parent.clone(),
        kind: class.kind,
        origin: class.origin,
        properties: RwLock::new(properties),
        callbacks: class.callbacks,
    });
    match ids::predefined_serial(id).and_then(Kind::from_number) {
        Some(kind) => {
            let at = Kind::ALL.iter().position(|known| *known == kind).unwrap_or_default();
            CLASSES.write()[at] = changed;
            Ok(())
        }
        None => ids::replace(id, Object::PropertyClass(changed)),
    }
}
