//! Groups: opening and creating objects, and copies.

use hyperslab::plist::{CreationOrder, GroupCreate, ObjectCreate};
use hyperslab::vol::algorithms::copy::{self, CopyContext};
use hyperslab::vol::{Access, CopyOptions, OpDatatypeCommit, OpGroupCreate, OpObjectCopy};
use hyperslab::{ObjectKind, Result, Token};
use pyo3::prelude::*;

use crate::datatype::Type;
use crate::errors::OrRaise;
use crate::object::Object;
use crate::session::Session;
use std::sync::Arc;

/// An object that was opened: its kind, and the type of a dataset or a committed datatype.
type OpenedObject = (u8, Object, Option<Type>);

/// Returns creation properties of every object.
pub(crate) fn object_create(track_order: bool, track_times: bool) -> ObjectCreate {
    let attribute_order = if track_order { CreationOrder::Indexed } else { CreationOrder::Untracked };
    ObjectCreate { track_times, attribute_order, ..ObjectCreate::default() }
}

/// Opens an object. As a rule it is a dataset, and then nothing else need be asked.
fn opened(session: Arc<Session>, token: Token) -> Result<OpenedObject> {
    let object = Object::new(session, token);
    let not_a_dataset = match object.dataset_info() {
        Ok(info) => return Ok((1, object, Some(Type::from(info.datatype.clone())))),
        Err(error) => error,
    };
    match Object::kind_of(&object.session, token)? {
        ObjectKind::Group => Ok((0, object, None)),
        ObjectKind::Dataset => Err(not_a_dataset),
        ObjectKind::Datatype => {
            let datatype = object.container().datatype_get(token)?;
            Ok((2, object, Some(Type::from(datatype))))
        }
        ObjectKind::Map => Ok((3, object, None)),
    }
}

#[pymethods]
impl Object {
    /// Opens the object at a path.
    fn open(&self, py: Python<'_>, path: &str) -> PyResult<OpenedObject> {
        py.detach(|| {
            let (session, token) = self.session.find(self.token, path)?;
            opened(session, token)
        })
        .or_raise()
    }

    /// Opens the object at a path; files behind external links are opened as these options say, or as this one was.
    fn open_external(
        &self,
        py: Python<'_>,
        path: &str,
        write: Option<bool>,
        swmr: Option<bool>,
        locking: Option<&str>,
    ) -> PyResult<OpenedObject> {
        let mut access = self.session.access.clone();
        if let Some(write) = write {
            access.access = if write { Access::Write } else { Access::Read };
        }
        access.swmr = swmr.unwrap_or(access.swmr);
        access.locking = locking.map_or(access.locking, crate::file::locking);
        py.detach(|| {
            let (session, token) = self.session.find_with(self.token, path, &access)?;
            opened(session, token)
        })
        .or_raise()
    }

    /// What `open` returns, for this handle.
    fn opened(&self, py: Python<'_>) -> PyResult<OpenedObject> {
        py.detach(|| opened(self.session.clone(), self.token)).or_raise()
    }

    /// The kind of the object at a path: 0 group, 1 dataset, 2 datatype, 3 map.
    fn kind_at(&self, py: Python<'_>, path: &str) -> PyResult<u8> {
        let find = || {
            let (session, token) = self.session.find(self.token, path)?;
            Object::kind_of(&session, token)
        };
        Ok(match self.free(py, find).or_raise()? {
            ObjectKind::Group => 0,
            ObjectKind::Dataset => 1,
            ObjectKind::Datatype => 2,
            ObjectKind::Map => 3,
        })
    }

    /// Creates a group; without a path it is anonymous.
    fn create_group(
        &self,
        py: Python<'_>,
        path: Option<&str>,
        track_order: bool,
        track_times: bool,
    ) -> PyResult<Object> {
        let mut create =
            GroupCreate { object: object_create(track_order, track_times), ..GroupCreate::default() };
        if track_order {
            create.link_order = CreationOrder::Indexed;
        }
        let made = || {
            let (parent, place) = self.placed(path)?;
            let token = parent.container().group_create(&OpGroupCreate { place, create })?;
            Ok(Object::new(parent.session.clone(), token))
        };
        self.free(py, made).or_raise()
    }

    /// Whether the links of the group are in creation order.
    fn is_ordered(&self, py: Python<'_>) -> PyResult<bool> {
        let info = self.free(py, || self.container().group_info(self.token)).or_raise()?;
        Ok(info.create.link_order != CreationOrder::Untracked)
    }

    /// Commits a datatype.
    fn commit_type(&self, py: Python<'_>, path: Option<&str>, datatype: &Type) -> PyResult<Object> {
        let made = || {
            let (parent, place) = self.placed(path)?;
            let datatype = (*datatype.datatype).clone();
            let token = parent.container().datatype_commit(&OpDatatypeCommit {
                place,
                datatype,
                create: ObjectCreate::default(),
            })?;
            Ok(Object::new(parent.session.clone(), token))
        };
        self.free(py, made).or_raise()
    }

    /// Copies an object of this or another file to a path of this group.
    #[allow(clippy::too_many_arguments)]
    #[allow(clippy::fn_params_excessive_bools)]
    fn copy_from(
        &self,
        py: Python<'_>,
        source: &Object,
        path: &str,
        shallow: bool,
        expand_soft_links: bool,
        expand_external_links: bool,
        expand_references: bool,
        without_attributes: bool,
    ) -> PyResult<()> {
        let options = CopyOptions {
            shallow,
            expand_soft_links,
            expand_external_links,
            expand_references,
            without_attributes,
            merge_committed_types: false,
        };
        py.detach(|| self.copy_object(source, path, options)).or_raise()
    }
}

impl Object {
    fn copy_object(&self, source: &Object, path: &str, options: CopyOptions) -> Result<()> {
        let (parent, place) = self.place(path)?;
        let context =
            CopyContext { options, ..CopyContext::of(&source.session.access, &source.session.location) };
        if Arc::ptr_eq(&source.session.container, &parent.session.container) {
            let op = OpObjectCopy { object: source.token, place, options };
            return copy::object(parent.container(), &op, context).map(drop);
        }
        copy::between((source.container(), source.token), (parent.container(), &place), context).map(drop)
    }
}
