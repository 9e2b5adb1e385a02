//! Builders of attributes, with the functions that users of `hdf5-metno` know.

use model::{Dataspace, Datatype, Error, Result};
use ndarray::{ArrayView, Dimension};

use crate::builder::NoData;
use crate::object::Object;
use crate::{Attribute, Extents, H5Type};

/// Builds an attribute, without data or from data (`V`).
#[derive(Debug, Clone)]
pub struct AttributeBuilder<V = NoData> {
    object: Object,
    datatype: Option<Datatype>,
    extents: Extents,
    data: V,
}

/// Builds an attribute from data.
pub type AttributeBuilderData<'d, T, D> = AttributeBuilder<ArrayView<'d, T, D>>;
/// Builds an attribute whose type is set.
pub type AttributeBuilderEmpty = AttributeBuilder;
/// Builds an attribute whose type and extent are set.
pub type AttributeBuilderEmptyShape = AttributeBuilder;

impl Object {
    /// Returns a builder of an attribute of `T`. It is a scalar unless a shape is set.
    pub fn new_attr<T: H5Type>(&self) -> AttributeBuilder {
        self.new_attr_builder().empty::<T>()
    }

    /// Returns a builder of an attribute whose type is set later.
    pub fn new_attr_builder(&self) -> AttributeBuilder {
        AttributeBuilder { object: self.clone(), datatype: None, extents: Extents::Scalar, data: NoData }
    }
}

impl AttributeBuilder {
    /// Sets the type of the elements to `T`.
    #[must_use]
    pub fn empty<T: H5Type>(mut self) -> Self {
        self.datatype = Some(self.object.session.stored_type(T::datatype()));
        self
    }

    /// Sets the type of the elements.
    #[must_use]
    pub fn empty_as(mut self, datatype: &Datatype) -> Self {
        self.datatype = Some(datatype.clone());
        self
    }

    /// Sets the extent.
    #[must_use]
    pub fn shape(mut self, shape: impl Into<Extents>) -> Self {
        self.extents = shape.into();
        self
    }

    /// Sets the shape and the elements to those of an array, a slice or a vector.
    pub fn with_data<'d, A, T, D>(self, data: A) -> AttributeBuilderData<'d, T, D>
    where
        A: Into<ArrayView<'d, T, D>>,
        T: H5Type,
        D: Dimension,
    {
        let datatype = self.object.session.stored_type(T::datatype());
        self.with_data_as(data, &datatype)
    }

    /// Sets the elements as [`AttributeBuilder::with_data`] does, and stores them as another type.
    pub fn with_data_as<'d, A, T, D>(self, data: A, datatype: &Datatype) -> AttributeBuilderData<'d, T, D>
    where
        A: Into<ArrayView<'d, T, D>>,
        T: H5Type,
        D: Dimension,
    {
        let data = data.into();
        let extents = data.shape().into();
        AttributeBuilder { object: self.object, datatype: Some(datatype.clone()), extents, data }
    }

    /// Creates the attribute, which reads as zeros until it is written.
    ///
    /// # Errors
    /// Returns `Exists` if the object has an attribute of this name, and `Invalid` if no type was set.
    pub fn create(&self, name: &str) -> Result<Attribute> {
        self.make(name)
    }
}

impl<T: H5Type, D: Dimension> AttributeBuilderData<'_, T, D> {
    /// Creates the attribute and writes the data. If writing fails, the attribute is removed again.
    ///
    /// # Errors
    /// Returns `Exists` if the object has an attribute of this name, and the errors of [`Attribute::write`].
    pub fn create(&self, name: &str) -> Result<Attribute> {
        let attribute = self.make(name)?;
        match attribute.write(self.data.view()) {
            Ok(()) => Ok(attribute),
            Err(error) => self.object.delete_attr(name).and(Err(error)),
        }
    }
}

impl<V> AttributeBuilder<V> {
    fn make(&self, name: &str) -> Result<Attribute> {
        let untyped =
            || Error::invalid("create attribute").with("problem", "it has no type: use empty or with_data");
        let datatype = self.datatype.clone().ok_or_else(untyped)?;
        // Attributes do not grow.
        let space = match self.extents.to_space()? {
            space if space.rank() > 0 => Dataspace::simple(space.dims())?,
            space => space,
        };
        self.object.create_attr(name, datatype, space)
    }
}
