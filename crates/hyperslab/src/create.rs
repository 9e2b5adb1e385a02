//! Creating objects: groups, links, committed datatypes and attributes. Datasets are created by [`DatasetBuilder`].

use std::sync::Arc;

use model::properties::{GroupCreate, ObjectCreate};
use model::{Dataspace, Datatype, Error, LinkTarget, Result, Token, UNLIMITED};
use ndarray::{ArrayView, Dimension};
use vol::{LinkLocation, OpAttributeCreate, OpDatatypeCommit, OpGroupCreate, OpLinkCreate, OpLinkMove};

use crate::builder::DatasetBuilder;
use crate::object::{NamedDatatype, Object};
use crate::session::Session;
use crate::{Attribute, Dataset, Group, H5Type};

/// An unlimited dimension, for [`DatasetBuilder::max_shape`].
pub const UNLIMITED_DIM: usize = usize::MAX;

pub(crate) fn dimension(d: usize) -> u64 {
    if d == UNLIMITED_DIM { UNLIMITED } else { d as u64 }
}

/// A shape: a number, a tuple, an array or a slice of dimensions.
pub trait IntoShape {
    /// Returns the dimensions, slowest first.
    fn into_shape(self) -> Vec<u64>;
}

impl IntoShape for usize {
    fn into_shape(self) -> Vec<u64> {
        vec![dimension(self)]
    }
}

impl<const N: usize> IntoShape for [usize; N] {
    fn into_shape(self) -> Vec<u64> {
        self.iter().map(|&d| dimension(d)).collect()
    }
}

impl IntoShape for &[usize] {
    fn into_shape(self) -> Vec<u64> {
        self.iter().map(|&d| dimension(d)).collect()
    }
}

impl IntoShape for Vec<usize> {
    fn into_shape(self) -> Vec<u64> {
        self.as_slice().into_shape()
    }
}

impl IntoShape for &Vec<usize> {
    fn into_shape(self) -> Vec<u64> {
        self.as_slice().into_shape()
    }
}

impl<const N: usize> IntoShape for &[usize; N] {
    fn into_shape(self) -> Vec<u64> {
        self.as_slice().into_shape()
    }
}

impl IntoShape for () {
    fn into_shape(self) -> Vec<u64> {
        Vec::new()
    }
}

macro_rules! tuple_shape {
    ($($name:ident)*) => {
        impl IntoShape for ($(tuple_shape!(@dim $name),)*) {
            fn into_shape(self) -> Vec<u64> {
                let ($($name,)*) = self;
                vec![$(dimension($name)),*]
            }
        }
    };
    (@dim $name:ident) => { usize };
}
tuple_shape!(a);
tuple_shape!(a b);
tuple_shape!(a b c);
tuple_shape!(a b c d);
tuple_shape!(a b c d e);
tuple_shape!(a b c d e f);
tuple_shape!(a b c d e f g);
tuple_shape!(a b c d e f g h);

impl Group {
    /// Returns the location of a new link, and creates the groups that are missing on the path.
    pub(crate) fn place(&self, path: &str) -> Result<LinkLocation> {
        let (parent, name) = model::link::split_last(path)?;
        let mut here = if model::link::is_absolute(path) { self.session.root } else { self.token };
        for part in model::link::components(parent) {
            here = match self.session.container.link_get(here, part)? {
                Some(_) => vol::path::token(
                    self.session.container.as_ref(),
                    here,
                    part,
                    self.session.access.limits.link_traversals_max,
                )?,
                None => {
                    let op = OpGroupCreate {
                        place: Some(LinkLocation::new(here, part)),
                        create: Default::default(),
                    };
                    self.session.container.group_create(&op)?
                }
            };
        }
        Ok(LinkLocation::new(here, name))
    }

    /// Creates a group, with the groups that are missing on its path.
    ///
    /// # Errors
    /// Returns `Exists` if the path leads to an object, and `Invalid` if the path goes on behind an object that is not
    /// a group.
    pub fn create_group(&self, path: &str) -> Result<Group> {
        self.create_group_with(path, &GroupCreate::default())
    }

    /// Creates a group with these creation properties; groups on the way are created too, with the usual ones.
    ///
    /// # Errors
    /// Returns `Exists` if the name is in use.
    pub fn create_group_with(&self, path: &str, create: &GroupCreate) -> Result<Group> {
        let op = OpGroupCreate { place: Some(self.place(path)?), create: create.clone() };
        let token = self.session.container.group_create(&op)?;
        Ok(Group(Object::new(self.session.clone(), token, self.path_to(path))))
    }

    /// Returns a builder of a dataset of `T`. References are of the kind that the file's version bound allows.
    pub fn new_dataset<T: H5Type>(&self) -> DatasetBuilder {
        self.new_dataset_builder().empty::<T>()
    }

    /// Returns a builder of a dataset of any type.
    pub fn new_dataset_as(&self, datatype: Datatype) -> DatasetBuilder {
        self.new_dataset_builder().of(datatype)
    }

    /// Returns a builder of a dataset whose type is set later, by [`DatasetBuilder::empty`] or with data.
    pub fn new_dataset_builder(&self) -> DatasetBuilder {
        DatasetBuilder::new(self)
    }

    /// Creates a dataset from an array.
    ///
    /// # Errors
    /// Returns `Exists` if the path leads to an object, and the errors of [`Dataset::write`].
    pub fn write_array<'d, A, T, D>(&self, path: &str, array: A) -> Result<Dataset>
    where
        A: Into<ArrayView<'d, T, D>>,
        T: H5Type + 'd,
        D: Dimension,
    {
        self.new_dataset_builder().with_data(array).create(path)
    }

    /// Commits a datatype at a path.
    ///
    /// # Errors
    /// Returns `Exists` if the path leads to an object, and `Unsupported` if the connector stores no committed
    /// datatypes.
    pub fn commit_datatype(&self, path: &str, datatype: Datatype) -> Result<NamedDatatype> {
        let op =
            OpDatatypeCommit { place: Some(self.place(path)?), datatype, create: ObjectCreate::default() };
        let token = self.session.container.datatype_commit(&op)?;
        Ok(NamedDatatype(Object::new(self.session.clone(), token, self.path_to(path))))
    }

    fn link_to(&self, path: &str, target: LinkTarget) -> Result<()> {
        self.session.container.link_create(&OpLinkCreate { place: self.place(path)?, target })
    }

    /// Creates a soft link at `path` to the path `target`, which need not exist.
    ///
    /// # Errors
    /// Returns `Exists` if there is a link at `path`, and `Unsupported` if the connector stores no soft links.
    pub fn link_soft(&self, target: &str, path: &str) -> Result<()> {
        self.link_to(path, LinkTarget::Soft(target.to_owned()))
    }

    /// Creates a hard link at `path` to the object at `target`.
    ///
    /// # Errors
    /// Returns `NotFound` if there is no object at `target`, and `Exists` if there is a link at `path`.
    pub fn link_hard(&self, target: &str, path: &str) -> Result<()> {
        let (_, token) = self.session.find(self.token, target)?;
        self.link_to(path, LinkTarget::Hard(token))
    }

    /// Creates a hard link to an object that a handle is open of: one more name, or the first one of an object that
    /// was created without.
    ///
    /// # Errors
    /// Returns `Invalid` if the object is in another file, and `Exists` if the path leads to something.
    pub fn link_object(&self, object: &Object, path: &str) -> Result<()> {
        if !Arc::ptr_eq(&self.session.container, &object.session.container) {
            let problem = "the object is in another file";
            return Err(Error::invalid("create hard link").with("path", path).with("problem", problem));
        }
        self.link_to(path, LinkTarget::Hard(object.token))
    }

    /// Creates a link at `path` to the object at `target` of the container `file`, which need not exist.
    ///
    /// # Errors
    /// Returns `Exists` if there is a link at `path`, and `Unsupported` if the connector stores no external links.
    pub fn link_external(&self, file: &str, target: &str, path: &str) -> Result<()> {
        self.link_to(path, LinkTarget::External { file: file.to_owned(), path: target.to_owned() })
    }

    /// Removes a link. An object whose last link it was is removed too, when its last handle is dropped.
    ///
    /// # Errors
    /// Returns `NotFound` if there is no such link.
    pub fn unlink(&self, path: &str) -> Result<()> {
        let (parent, name) = model::link::split_last(path)?;
        let (session, group) = self.parent(parent)?;
        session.container.link_delete(group, name)
    }

    /// Returns the group that a path leads to: this one, without asking for it, where the path is empty.
    fn parent(&self, path: &str) -> Result<(Arc<Session>, Token)> {
        match path.is_empty() {
            true => Ok((self.session.clone(), self.token)),
            false => self.session.find(self.token, path),
        }
    }

    /// Moves a link to another path, with the groups that are missing on it.
    ///
    /// # Errors
    /// Returns `NotFound` if there is no link at `from`, and `Exists` if there is one at `to`.
    pub fn relink(&self, from: &str, to: &str) -> Result<()> {
        let (parent, name) = model::link::split_last(from)?;
        let (session, group) = self.parent(parent)?;
        let op = OpLinkMove { from: group, name: name.to_owned(), to: self.place(to)?, copy: false };
        session.container.link_move(&op)
    }
}

impl Object {
    /// Creates an attribute of a type and extent, which reads as zeros until it is written.
    ///
    /// # Errors
    /// Returns `Exists` if the object has an attribute of this name, and `Limit` if the attribute is too large.
    pub fn create_attr(&self, name: &str, datatype: Datatype, space: Dataspace) -> Result<Attribute> {
        self.session.container.attribute_create(&self.attr_op(name, datatype, space))?;
        self.attr(name)
    }

    pub(crate) fn attr_op(&self, name: &str, datatype: Datatype, space: Dataspace) -> OpAttributeCreate {
        let charset = if name.is_ascii() { model::CharacterSet::Ascii } else { model::CharacterSet::Utf8 };
        let (object, name) = (self.token, name.to_owned());
        OpAttributeCreate { object, name, charset, datatype, committed: None, space }
    }

    /// Sets an attribute to one value, and creates it if it is missing: `set_attr("unit", "K")`. An existing attribute
    /// is replaced.
    ///
    /// # Errors
    /// Returns `Unsupported` if the connector stores no attributes, and `Denied` if the file is open for reading.
    pub fn set_attr<V: AttributeValue>(&self, name: &str, value: V) -> Result<Attribute> {
        self.replace_attr(name, &[value.into_value()], Dataspace::Scalar)
    }

    /// Sets an attribute to an array, and creates it if it is missing. An existing attribute is replaced.
    ///
    /// # Errors
    /// Returns `Limit` if the attribute is too large, and `Denied` if the file is open for reading.
    pub fn set_attr_array<'a, T, D>(
        &self,
        name: &str,
        array: impl Into<ArrayView<'a, T, D>>,
    ) -> Result<Attribute>
    where
        T: H5Type + Clone + 'a,
        D: Dimension,
    {
        let array: ArrayView<'a, T, D> = array.into();
        let dims: Vec<u64> = array.shape().iter().map(|&d| d as u64).collect();
        let values: Vec<T> = array.iter().cloned().collect();
        self.replace_attr(
            name,
            &values,
            if dims.is_empty() { Dataspace::Scalar } else { Dataspace::simple(&dims)? },
        )
    }

    fn replace_attr<T: H5Type>(&self, name: &str, values: &[T], space: Dataspace) -> Result<Attribute> {
        if self.session.container.attribute_info(self.token, name)?.is_some() {
            self.delete_attr(name)?;
        }
        let attribute = self.create_attr(name, self.session.stored_type(T::datatype()), space)?;
        attribute.write_raw(values)?;
        Ok(attribute)
    }

    /// Removes an attribute.
    ///
    /// # Errors
    /// Returns `NotFound` if there is no attribute of this name.
    pub fn delete_attr(&self, name: &str) -> Result<()> {
        self.session.container.attribute_delete(self.token, name)
    }

    /// Sets the comment, or removes it if it is `None`.
    ///
    /// # Errors
    /// Returns `Unsupported` if the connector stores no comments.
    pub fn set_comment(&self, comment: Option<&str>) -> Result<()> {
        self.session.container.object_set_comment(self.token, comment)
    }
}

/// One value of an attribute: any element, or a `&str`.
pub trait AttributeValue {
    /// The element that it is stored as.
    type Stored: H5Type;
    /// Returns the value to be stored.
    fn into_value(self) -> Self::Stored;
}

impl<T: H5Type> AttributeValue for T {
    type Stored = T;
    fn into_value(self) -> T {
        self
    }
}

impl AttributeValue for &str {
    type Stored = String;
    fn into_value(self) -> String {
        self.to_owned()
    }
}

impl AttributeValue for &String {
    type Stored = String;
    fn into_value(self) -> String {
        self.clone()
    }
}
