//! The objects that identifiers stand for.

use std::ffi::{c_int, c_void};
use std::sync::{Arc, OnceLock};

use hyperslab::extensions::EvictObject;
use hyperslab::vol::model::datatype::Datatype;
use hyperslab::vol::{Container, call};
use hyperslab::{Dataspace, ObjectKind, Selection, Token};
use system::sync::{Mutex, RwLock};

use crate::arguments::Opaque;
use crate::codes::Minor;
use crate::failure::{Failure, Fallible};
use crate::ffi::{hid_t, id_type};
pub use crate::h5a::{AttributeHandle, Attributes};
use crate::h5e::{ErrorClass, ErrorMessage};
use crate::h5f::{FileHandle, close_file};
use crate::h5m::MapState;
use crate::h5p::values::DatasetAccessValues;
use crate::h5p::{PropertyClass, PropertyList};
use crate::h5s::SelectionIterator;
use crate::ids;
use crate::stack::SharedStack;

/// The object of an identifier.
#[derive(Debug, Clone)]
pub enum Object {
    File(Arc<FileHandle>),
    Group(Arc<ObjectHandle>),
    Dataset(Arc<ObjectHandle>),
    Map(Arc<ObjectHandle>),
    Datatype(Arc<TypeHandle>),
    Dataspace(Arc<SpaceHandle>),
    Attribute(Arc<AttributeHandle>),
    Driver(Arc<crate::h5fd::DriverHandle>),
    Connector(Arc<crate::h5vl::ConnectorHandle>),
    PropertyClass(Arc<PropertyClass>),
    PropertyList(Arc<PropertyList>),
    ErrorClass(Arc<ErrorClass>),
    ErrorMessage(Arc<ErrorMessage>),
    ErrorStack(SharedStack),
    SelectionIterator(Arc<Mutex<SelectionIterator>>),
    EventSet(Arc<crate::h5es::EventSet>),
    User(c_int, Opaque),
}

impl Object {
    /// Returns the type of its identifiers.
    pub fn id_type(&self) -> c_int {
        match self {
            Object::File(_) => id_type::FILE,
            Object::Group(_) => id_type::GROUP,
            Object::Dataset(_) => id_type::DATASET,
            Object::Map(_) => id_type::MAP,
            Object::Datatype(_) => id_type::DATATYPE,
            Object::Dataspace(_) => id_type::DATASPACE,
            Object::Attribute(_) => id_type::ATTR,
            Object::Driver(_) => id_type::VFL,
            Object::Connector(_) => id_type::VOL,
            Object::PropertyClass(_) => id_type::GENPROP_CLS,
            Object::PropertyList(_) => id_type::GENPROP_LST,
            Object::ErrorClass(_) => id_type::ERROR_CLASS,
            Object::ErrorMessage(_) => id_type::ERROR_MSG,
            Object::ErrorStack(_) => id_type::ERROR_STACK,
            Object::SelectionIterator(_) => id_type::SPACE_SEL_ITER,
            Object::EventSet(_) => id_type::EVENTSET,
            Object::User(kind, _) => *kind,
        }
    }

    /// Ends what needs more than to be dropped. The identifier is gone already.
    pub fn close(self, id: hid_t) -> Fallible<()> {
        match self {
            Object::File(file) => close_file(id, file),
            Object::PropertyList(list) => crate::h5p::close_list(id, &list),
            Object::PropertyClass(class) => crate::h5p::close_class(&class),
            Object::User(kind, object) => crate::h5i::free_user_object(kind, object),
            _ => Ok(()),
        }
    }

    /// Returns the object of a container that this is, or that an attribute belongs to. A file is its root group.
    pub fn location(&self) -> Option<Arc<ObjectHandle>> {
        match self {
            Object::File(file) => Some(file.root()),
            Object::Group(object) | Object::Dataset(object) | Object::Map(object) => Some(object.clone()),
            Object::Datatype(datatype) => datatype.committed(),
            Object::Attribute(attribute) => Some(attribute.object.clone()),
            _ => None,
        }
    }
}

/// Returns the predefined object of an identifier.
pub fn predefined(id: hid_t) -> Option<Object> {
    let serial = ids::predefined_serial(id)?;
    match ids::type_of(id) {
        id_type::ERROR_MSG => crate::h5e::predefined_message(serial).map(Object::ErrorMessage),
        id_type::ERROR_CLASS => crate::h5e::predefined_class(serial).map(Object::ErrorClass),
        id_type::DATATYPE => crate::h5t::predefined(serial).map(Object::Datatype),
        id_type::GENPROP_CLS => crate::h5p::predefined_class(serial).map(Object::PropertyClass),
        id_type::GENPROP_LST => crate::h5p::predefined_list(serial).map(Object::PropertyList),
        id_type::VFL => crate::h5fd::predefined(serial).map(Object::Driver),
        id_type::VOL => crate::h5vl::predefined(serial).map(Object::Connector),
        _ => None,
    }
}

/// A group, dataset, map or committed datatype that a program has open.
#[derive(Debug)]
pub struct ObjectHandle {
    /// The file that it was opened through.
    pub file: Arc<FileHandle>,
    /// Its identity in the container.
    pub token: Token,
    /// What it is.
    pub kind: ObjectKind,
    /// The path that it was opened by, from the root of its file; `None` where there is none.
    pub path: RwLock<Option<String>>,
    /// Access properties that a dataset was opened with.
    pub dataset_access: OnceLock<DatasetAccessValues>,
    /// The state of an open map.
    pub map: MapState,
    /// Attributes that were opened.
    pub attributes: Attributes,
    /// Whether this handle keeps the object alive.
    is_retained: bool,
}

impl ObjectHandle {
    /// Opens an object: it stays alive until the handle is dropped, though it may lose its last link.
    pub fn open(
        file: Arc<FileHandle>,
        token: Token,
        kind: ObjectKind,
        path: Option<String>,
    ) -> Fallible<Arc<Self>> {
        file.container().retain(token)?;
        let (path, dataset_access) = (RwLock::new(path), OnceLock::new());
        Ok(Arc::new(ObjectHandle {
            file,
            token,
            kind,
            path,
            dataset_access,
            map: MapState::default(),
            attributes: Attributes::default(),
            is_retained: true,
        }))
    }

    /// Returns the root group of a file, which needs no handle to stay alive.
    pub fn root(file: Arc<FileHandle>) -> Arc<Self> {
        let token = file.root_token();
        let path = RwLock::new(Some("/".to_owned()));
        let dataset_access = OnceLock::new();
        Arc::new(ObjectHandle {
            file,
            token,
            kind: ObjectKind::Group,
            path,
            dataset_access,
            map: MapState::default(),
            attributes: Attributes::default(),
            is_retained: false,
        })
    }

    /// Returns the container.
    pub fn container(&self) -> &Arc<dyn Container> {
        self.file.container()
    }

    /// Returns an identifier for this object.
    pub fn register(self: &Arc<Self>) -> Fallible<hid_t> {
        Ok(ids::register(match self.kind {
            ObjectKind::Group => Object::Group(self.clone()),
            ObjectKind::Dataset => Object::Dataset(self.clone()),
            ObjectKind::Map => Object::Map(self.clone()),
            ObjectKind::Datatype => {
                let datatype = self.container().datatype_get(self.token)?;
                Object::Datatype(Arc::new(TypeHandle::of_object(datatype, self.clone())))
            }
        }))
    }
}

impl Drop for ObjectHandle {
    fn drop(&mut self) {
        if self.is_retained {
            // An object that lost its last link goes with its last handle; where that fails it stays in storage.
            let _ = self.file.container().release(self.token);
        }
        if self.file.shared.values.read().is_evicted_on_close {
            // Containers that are no HDF5 files keep what they want.
            let _ = call::<EvictObject>(&**self.file.container(), &self.token);
        }
    }
}

/// A datatype. It is in C's form: variable-length values are `hvl_t` or `char *`, references have the sizes of
/// `hobj_ref_t`, `hdset_reg_ref_t` and `H5R_ref_t`.
#[derive(Debug)]
pub struct TypeHandle {
    /// A predefined type, which never changes.
    predefined: Option<Arc<Datatype>>,
    state: RwLock<TypeState>,
}

#[derive(Debug, Clone)]
struct TypeState {
    datatype: Arc<Datatype>,
    /// It can neither be changed nor closed.
    is_immutable: bool,
    /// It cannot be changed.
    is_locked: bool,
    committed: Option<Arc<ObjectHandle>>,
}

impl TypeHandle {
    /// Returns a type that can be changed. `datatype` is in C's form.
    pub fn transient(datatype: Datatype) -> Self {
        Self::with(datatype, false, None)
    }

    /// Returns the type, if it is a predefined one.
    pub fn predefined(&self) -> Option<&Datatype> {
        self.predefined.as_deref()
    }

    /// Returns a predefined type.
    pub fn immutable(datatype: Datatype) -> Self {
        Self::with(datatype, true, None)
    }

    /// Returns the type of a committed datatype, as its container has it.
    pub fn of_object(datatype: Datatype, object: Arc<ObjectHandle>) -> Self {
        Self::with(crate::memory::c_form(&datatype), false, Some(object))
    }

    fn with(datatype: Datatype, is_immutable: bool, committed: Option<Arc<ObjectHandle>>) -> Self {
        let datatype = Arc::new(datatype);
        TypeHandle {
            predefined: is_immutable.then(|| datatype.clone()),
            state: RwLock::new(TypeState { datatype, is_immutable, is_locked: is_immutable, committed }),
        }
    }

    /// Returns the type, in C's form.
    pub fn datatype(&self) -> Arc<Datatype> {
        self.predefined.clone().unwrap_or_else(|| self.state.read().datatype.clone())
    }

    /// Returns the committed datatype that it is, if any.
    pub fn committed(&self) -> Option<Arc<ObjectHandle>> {
        self.state.read().committed.clone()
    }

    /// Records that the type was committed.
    pub fn set_committed(&self, object: Arc<ObjectHandle>) {
        self.state.write().committed = Some(object);
    }

    /// Returns whether it can be neither changed nor closed.
    pub fn is_immutable(&self) -> bool {
        self.state.read().is_immutable
    }

    /// Returns whether it may be changed.
    pub fn is_transient(&self) -> bool {
        let state = self.state.read();
        !state.is_immutable && !state.is_locked && state.committed.is_none()
    }

    /// Makes it read-only and not closable (`H5Tlock`).
    pub fn lock(&self) {
        let mut state = self.state.write();
        (state.is_locked, state.is_immutable) = (true, true);
    }

    /// Changes the type.
    pub fn change<T>(&self, change: impl FnOnce(&mut Datatype) -> Fallible<T>) -> Fallible<T> {
        if !self.is_transient() {
            return Err(Failure::argument("datatype is read-only").as_minor(Minor::CANTINIT));
        }
        let mut state = self.state.write();
        // A change that fails leaves the type as it was.
        let mut datatype = (*state.datatype).clone();
        let answer = change(&mut datatype)?;
        state.datatype = Arc::new(datatype);
        Ok(answer)
    }
}

/// A dataspace: an extent and a selection in it.
#[derive(Debug, Clone)]
pub struct Space {
    /// The extent.
    pub extent: Dataspace,
    /// The selection, without its offset.
    pub selection: Selection,
    /// Added to every coordinate of the selection (`H5Soffset_simple`); empty is none.
    pub offset: Vec<i64>,
}

impl Space {
    /// Returns an extent with all of it selected.
    pub fn all(extent: Dataspace) -> Self {
        Space { extent, selection: Selection::All, offset: Vec::new() }
    }

    /// Returns the selection with its offset.
    pub fn moved_selection(&self) -> Fallible<Selection> {
        match self.offset.iter().all(|by| *by == 0) {
            true => Ok(self.selection.clone()),
            false => Ok(self.selection.translate(&self.offset)?),
        }
    }
}

/// A dataspace that a program holds.
#[derive(Debug)]
pub struct SpaceHandle(pub RwLock<Space>);

impl SpaceHandle {
    /// Returns an identifier for a dataspace.
    pub fn register(space: Space) -> hid_t {
        ids::register(Object::Dataspace(Arc::new(SpaceHandle(RwLock::new(space)))))
    }

    /// Returns a copy of the dataspace.
    pub fn get(&self) -> Space {
        self.0.read().clone()
    }
}

/// Returns the dataspace of an identifier.
pub fn space(id: hid_t) -> Fallible<Arc<SpaceHandle>> {
    ids::get(id, "a dataspace", |object| match object {
        Object::Dataspace(space) => Some(space.clone()),
        _ => None,
    })
}

/// Returns the extent of a dataspace.
pub fn extent(id: hid_t) -> Fallible<Dataspace> {
    Ok(space(id)?.0.read().extent.clone())
}

/// Returns the datatype of an identifier.
pub fn datatype(id: hid_t) -> Fallible<Arc<TypeHandle>> {
    ids::get(id, "a datatype", |object| match object {
        Object::Datatype(datatype) => Some(datatype.clone()),
        _ => None,
    })
}

/// The datatype of elements in memory.
#[derive(Debug)]
pub enum MemoryType {
    /// One of the library's.
    Predefined(&'static Datatype),
    /// One that a program created.
    Own(Arc<Datatype>),
}

impl std::ops::Deref for MemoryType {
    type Target = Datatype;
    fn deref(&self) -> &Datatype {
        match self {
            MemoryType::Predefined(datatype) => datatype,
            MemoryType::Own(datatype) => datatype,
        }
    }
}

/// Returns the datatype of an identifier, in C's form. No reference is counted where that is a predefined one.
pub fn memory_type(id: hid_t) -> Fallible<MemoryType> {
    let serial = ids::predefined_serial(id).filter(|_| ids::type_of(id) == id_type::DATATYPE);
    if let Some(datatype) = serial.and_then(crate::h5t::predefined_type) {
        return Ok(MemoryType::Predefined(datatype));
    }
    ids::get(id, "a datatype", |object| match object {
        Object::Datatype(datatype) => Some(MemoryType::Own(datatype.datatype())),
        _ => None,
    })
}

/// Returns the group of an identifier; a file is its root group.
pub fn group(id: hid_t) -> Fallible<Arc<ObjectHandle>> {
    ids::get(id, "a group", |object| match object {
        Object::Group(group) => Some(group.clone()),
        _ => None,
    })
}

/// Returns the group of an identifier; that of a file is its root group.
pub fn group_or_file(id: hid_t) -> Fallible<Arc<ObjectHandle>> {
    ids::get(id, "a group (or file)", |object| match object {
        Object::Group(group) => Some(group.clone()),
        Object::File(file) => Some(file.root()),
        _ => None,
    })
}

/// Returns the dataset of an identifier.
pub fn dataset(id: hid_t) -> Fallible<Arc<ObjectHandle>> {
    ids::get(id, "a dataset", |object| match object {
        Object::Dataset(dataset) => Some(dataset.clone()),
        _ => None,
    })
}

/// Returns the map of an identifier.
pub fn map(id: hid_t) -> Fallible<Arc<ObjectHandle>> {
    ids::get(id, "a map", |object| match object {
        Object::Map(map) => Some(map.clone()),
        _ => None,
    })
}

/// Returns the attribute of an identifier.
pub fn attribute(id: hid_t) -> Fallible<Arc<AttributeHandle>> {
    ids::get(id, "an attribute", |object| match object {
        Object::Attribute(attribute) => Some(attribute.clone()),
        _ => None,
    })
}

/// Returns the file of an identifier.
pub fn file(id: hid_t) -> Fallible<Arc<FileHandle>> {
    ids::get(id, "a file", |object| match object {
        Object::File(file) => Some(file.clone()),
        _ => None,
    })
}

/// Returns the object that a path starts from: any object of a file, an attribute, or a file.
pub fn location(id: hid_t) -> Fallible<Arc<ObjectHandle>> {
    ids::get(id, "a location", Object::location)
}

/// A pointer that is null, for callers that want none.
pub const NOTHING: *mut c_void = std::ptr::null_mut();
