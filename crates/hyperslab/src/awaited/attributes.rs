//! Attributes that are awaited.

use layers::asynchronous::start;
use model::{Dataspace, Error, Heap, Result};

use super::descriptors::Pinned;
use super::{loaded, stored};
use crate::create::AttributeValue;
use crate::dataset::one;
use crate::element::store_all;
use crate::object::Object;
use crate::{Attribute, H5Type};

impl Object {
    /// Returns an attribute by name, as [`Object::attr`] does.
    ///
    /// # Errors
    /// Returns `NotFound` if the object has no such attribute.
    pub async fn attr_async(&self, name: &str) -> Result<Attribute> {
        let (object, owned) = (self.clone(), name.to_owned());
        if !self.session.is_started() {
            return self.session.aside(move || object.attr(&owned)).await;
        }
        let token = self.token;
        let info = start(&*self.session.container, move |c| c.attribute_info(token, &owned)).await?;
        let missing =
            || Error::not_found("open attribute").with("name", name).with("object", self.path.shown());
        Ok(Attribute::new(object, info.ok_or_else(missing)?))
    }

    /// Gives an attribute one value, whether it is there already or not, as [`Object::set_attr`] does.
    ///
    /// # Errors
    /// Returns the error of the storage, and `Conversion` if the value cannot be stored.
    pub async fn set_attr_async<V: AttributeValue>(&self, name: &str, value: V) -> Result<Attribute>
    where
        V::Stored: 'static,
    {
        let (object, owned, value) = (self.clone(), name.to_owned(), value.into_value());
        if !self.session.is_started() {
            return self.session.aside(move || object.set_attr(&owned, value)).await;
        }
        self.forget_attr(name).await?;
        let datatype = self.session.stored_type(V::Stored::datatype());
        let op = self.attr_op(name, datatype, Dataspace::Scalar);
        start(&*self.session.container, move |c| c.attribute_create(&op)).await?;
        let attribute = self.attr_async(name).await?;
        attribute.write_async(&[value]).await?;
        Ok(attribute)
    }

    /// Removes an attribute if it is there.
    async fn forget_attr(&self, name: &str) -> Result<()> {
        let (token, owned) = (self.token, name.to_owned());
        let info = start(&*self.session.container, move |c| c.attribute_info(token, &owned)).await?;
        if info.is_none() {
            return Ok(());
        }
        let owned = name.to_owned();
        start(&*self.session.container, move |c| c.attribute_delete(token, &owned)).await
    }
}

impl Attribute {
    /// Returns all elements, in C order, as [`Attribute::read_raw`] does.
    ///
    /// # Errors
    /// Returns the error of the storage, and `Conversion` if values do not fit.
    pub async fn read_async<T: H5Type + 'static>(&self) -> Result<Vec<T>> {
        let session = &self.object().session;
        if !session.is_started() {
            let attribute = self.clone();
            return session.aside(move || attribute.read_raw()).await;
        }
        let datatype = &self.info().datatype;
        let _pinned = Pinned::of(&*session.container, datatype).await?;
        let (token, name) = (self.object().token, self.name().to_owned());
        let values = start(&*session.container, move |c| c.attribute_read(token, &[&name])).await?;
        let missing = || Error::not_found("read attribute").with("name", self.name());
        loaded(session, datatype, values.into_iter().next().ok_or_else(missing)?).await
    }

    /// Returns the only element, as [`Attribute::read_scalar`] does.
    ///
    /// # Errors
    /// Returns `Invalid` if there are more elements or none, the error of the storage, and `Conversion` if the value
    /// does not fit.
    pub async fn read_scalar_async<T: H5Type + 'static>(&self) -> Result<T> {
        one(self.read_async().await?)
    }

    /// Returns the only element, a string, as [`Attribute::read_string`] does.
    ///
    /// # Errors
    /// Returns `Invalid` if there are more elements or none, the error of the storage, and `Conversion` for other
    /// types.
    pub async fn read_string_async(&self) -> Result<String> {
        self.read_scalar_async().await
    }

    /// Writes all elements, in C order, as [`Attribute::write_raw`] does, and ends when the storage has them.
    ///
    /// # Errors
    /// Returns `Invalid` if there are more or fewer values than elements, the error of the storage, and `Conversion`
    /// if values do not fit.
    pub async fn write_async<T: H5Type + 'static>(&self, values: &[T]) -> Result<()> {
        self.check_count(values.len())?;
        let (session, count) = (&self.object().session, values.len());
        if !session.is_started() {
            let (attribute, mut heap) = (self.clone(), Heap::new());
            let elements = store_all(values, &mut heap)?;
            return session.aside(move || attribute.write_elements::<T>(count, &elements, heap)).await;
        }
        let value = stored(session, &self.info().datatype, values).await?;
        let (token, name) = (self.object().token, self.name().to_owned());
        start(&*session.container, move |c| c.attribute_write(token, &name, &value)).await
    }
}
