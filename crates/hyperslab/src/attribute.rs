//! Attributes: small values on objects.

use model::heap::Heap;
use model::{Dataspace, Datatype, Error, Result};
use ndarray::{Array, Array1, Array2, ArrayD, ArrayView, Dimension, Ix1};
use vol::AttributeInfo;

use crate::H5Type;
use crate::dataset::{one, shape_of, to_array, with_rank};
use crate::element::{load_all, store_all};
use crate::object::Object;
#[cfg(feature = "async")]
use crate::prepared::{Change, Packed};

/// An attribute of an object.
#[derive(Debug, Clone)]
pub struct Attribute {
    object: Object,
    info: AttributeInfo,
}

impl Attribute {
    pub(crate) fn new(object: Object, info: AttributeInfo) -> Self {
        Attribute { object, info }
    }

    /// Returns the object that has it.
    #[cfg(feature = "async")]
    pub(crate) fn object(&self) -> &Object {
        &self.object
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.info.name
    }

    /// Returns the name, datatype and extent.
    pub fn info(&self) -> &AttributeInfo {
        &self.info
    }

    /// Returns the datatype of an element, as stored.
    ///
    /// # Errors
    /// Never fails. It returns a `Result` as the function of `hdf5-metno` does.
    pub fn dtype(&self) -> Result<Datatype> {
        Ok(self.info.datatype.clone())
    }

    /// Returns the extent.
    ///
    /// # Errors
    /// Never fails. It returns a `Result` as the function of `hdf5-metno` does.
    pub fn space(&self) -> Result<Dataspace> {
        Ok(self.info.space.clone())
    }

    /// Returns the number of dimensions.
    pub fn ndim(&self) -> usize {
        self.info.space.rank()
    }

    /// Returns the number of elements, or `usize::MAX` if it does not fit.
    pub fn size(&self) -> usize {
        let count = self.info.space.element_count();
        count.ok().and_then(|count| usize::try_from(count).ok()).unwrap_or(usize::MAX)
    }

    /// Returns whether there is one element and no dimension.
    pub fn is_scalar(&self) -> bool {
        matches!(self.info.space, Dataspace::Scalar)
    }

    /// Returns the extent, which is empty for a scalar.
    pub fn shape(&self) -> Vec<usize> {
        shape_of(&self.info.space)
    }

    /// Returns the value in the file datatype.
    fn raw(&self) -> Result<Vec<u8>> {
        let values = self.object.session.container.attribute_read(self.object.token, &[self.name()])?;
        let missing = || Error::not_found("read attribute").with("name", self.name());
        values.into_iter().next().ok_or_else(missing)
    }

    /// Returns whether values have the same bytes in memory as in the file.
    fn is_plain<T: H5Type>(&self) -> bool {
        T::bytes(&[]).is_some() && T::datatype() == self.info.datatype
    }

    /// Returns values that have the same bytes in memory as in the file, or `None` if they do not.
    fn read_plain<T: H5Type>(&self) -> Result<Option<Vec<T>>> {
        if !self.is_plain::<T>() {
            return Ok(None);
        }
        let raw = self.raw()?;
        let Some(mut values) = T::zeroed(raw.len() / self.info.datatype.size().max(1) as usize) else {
            return Ok(None);
        };
        match T::bytes_mut(&mut values) {
            Some(bytes) if bytes.len() == raw.len() => bytes.copy_from_slice(&raw),
            _ => return Ok(None),
        }
        Ok(Some(values))
    }

    /// Reads all elements as packed elements of a type in the memory datatype. Variable-length values go to `heap`.
    ///
    /// # Errors
    /// Returns `NotFound` if the attribute was removed, and `Conversion` if its elements cannot be converted to
    /// `memory`.
    pub fn read_bytes(&self, memory: &Datatype, heap: &mut Heap) -> Result<Vec<u8>> {
        let container = self.object.session.container.as_ref();
        let _pin = vol::Pin::of(container, &self.info.datatype)?;
        algorithms::transfer::from_file_type(
            container,
            &self.info.datatype,
            &self.raw()?,
            memory,
            &self.object.session.registered.conversions,
            heap,
        )
    }

    /// Returns all elements, in C order.
    ///
    /// # Errors
    /// Returns `NotFound` if the attribute was removed, and `Conversion` if its elements cannot be converted to `T`.
    pub fn read_raw<T: H5Type>(&self) -> Result<Vec<T>> {
        if let Some(values) = self.read_plain()? {
            return Ok(values);
        }
        let mut heap = Heap::new();
        let buffer = self.read_bytes(&T::datatype(), &mut heap)?;
        load_all(&buffer, &heap)
    }

    /// Returns all elements as an array.
    ///
    /// # Errors
    /// Returns the errors of [`Attribute::read_raw`].
    pub fn read_dyn<T: H5Type>(&self) -> Result<ArrayD<T>> {
        to_array(&self.shape(), self.read_raw()?)
    }

    /// Returns all elements as an array of a static dimension.
    ///
    /// # Errors
    /// Returns `Invalid` if the attribute does not have the number of dimensions of `D`, and the errors of
    /// [`Attribute::read_raw`].
    pub fn read<T: H5Type, D: Dimension>(&self) -> Result<Array<T, D>> {
        with_rank(self.read_dyn()?)
    }

    /// Returns all elements of an attribute of one dimension.
    ///
    /// # Errors
    /// Returns the errors of [`Attribute::read`].
    pub fn read_1d<T: H5Type>(&self) -> Result<Array1<T>> {
        self.read()
    }

    /// Returns all elements of an attribute of two dimensions.
    ///
    /// # Errors
    /// Returns the errors of [`Attribute::read`].
    pub fn read_2d<T: H5Type>(&self) -> Result<Array2<T>> {
        self.read()
    }

    /// Returns the only element.
    ///
    /// # Errors
    /// Returns `Invalid` if there is not exactly one element, and the errors of [`Attribute::read_raw`].
    pub fn read_scalar<T: H5Type>(&self) -> Result<T> {
        if !self.is_plain::<T>() {
            return one(self.read_raw()?);
        }
        let raw = self.raw()?;
        match raw.len() == self.info.datatype.size() as usize {
            true => T::load(&raw, &Heap::new()),
            false => one(self.read_raw()?),
        }
    }

    /// Writes an array of the attribute's shape. Slices and vectors are arrays of one dimension.
    ///
    /// # Errors
    /// Returns `Invalid` if the array has another shape, and the errors of [`Attribute::write_raw`].
    pub fn write<'v, A, T, D>(&self, array: A) -> Result<()>
    where
        A: Into<ArrayView<'v, T, D>>,
        T: H5Type + 'v,
        D: Dimension,
    {
        let view = array.into();
        if view.shape() != self.shape() {
            let shapes = (format!("{:?}", view.shape()), format!("{:?}", self.shape()));
            return Err(Error::invalid("write attribute")
                .with("array", shapes.0)
                .with("attribute", shapes.1));
        }
        self.write_view(&view)
    }

    /// Writes all elements, in C order.
    ///
    /// # Errors
    /// Returns `Invalid` if the number of values differs, `Conversion` if they cannot be converted to the stored type,
    /// and `Denied` if the file is open for reading.
    pub fn write_raw<'v, A, T>(&self, values: A) -> Result<()>
    where
        A: Into<ArrayView<'v, T, Ix1>>,
        T: H5Type + 'v,
    {
        self.write_view(&values.into())
    }

    fn write_view<T: H5Type, D: Dimension>(&self, view: &ArrayView<'_, T, D>) -> Result<()> {
        let mut heap = Heap::new();
        if let Some(values) = view.as_slice() {
            let elements = store_all(values, &mut heap)?;
            return self.write_elements::<T>(view.len(), &elements, heap);
        }
        let bytes = T::element_bytes();
        let mut elements = vec![0; view.len().saturating_mul(bytes)];
        let buffers = elements.chunks_exact_mut(bytes.max(1));
        view.iter().zip(buffers).try_for_each(|(value, buffer)| value.store(buffer, &mut heap))?;
        self.write_elements::<T>(view.len(), &elements, heap)
    }

    /// Returns an error if so many values are more or fewer than there are elements.
    pub(crate) fn check_count(&self, len: usize) -> Result<()> {
        let count = self.info.space.element_count()?;
        let wrong = || Error::invalid("write attribute").with("elements", count).with("values", len);
        if count == len as u64 { Ok(()) } else { Err(wrong()) }
    }

    pub(crate) fn write_elements<T: H5Type>(
        &self,
        len: usize,
        elements: &[u8],
        mut heap: Heap,
    ) -> Result<()> {
        self.check_count(len)?;
        let container = self.object.session.container.as_ref();
        let conversions = &self.object.session.registered.conversions;
        let file_type = &self.info.datatype;
        #[cfg(feature = "async")]
        if self.object.session.queues_values(file_type, elements.len()) {
            self.queue_elements(T::datatype(), elements, heap);
            return Ok(());
        }
        let raw = algorithms::transfer::to_file_type(
            container,
            &T::datatype(),
            elements,
            file_type,
            conversions,
            &mut heap,
        )?;
        container.attribute_write(self.object.token, self.name(), &raw)
    }

    /// Queues elements whose values are stored before them.
    #[cfg(feature = "async")]
    fn queue_elements(&self, memory: Datatype, elements: &[u8], heap: Heap) {
        let (object, name) = (self.object.token, self.name().to_owned());
        let (elements, file_type) = (elements.to_vec(), self.info.datatype.clone());
        let change = Change { operation: vol::Operation::attribute_write, object };
        let packed = Packed { memory, elements, heap, file_type };
        let write = move |c: &dyn vol::Container, value: &[u8]| c.attribute_write(object, &name, value);
        self.object.session.queue_values(change, packed, write);
    }

    /// Writes the only element.
    ///
    /// # Errors
    /// Returns the errors of [`Attribute::write_raw`].
    pub fn write_scalar<T: H5Type>(&self, value: &T) -> Result<()> {
        self.write_raw(std::slice::from_ref(value))
    }

    /// Returns the only element, which must be a string.
    ///
    /// # Errors
    /// Returns the errors of [`Attribute::read_scalar`].
    pub fn read_string(&self) -> Result<String> {
        self.read_scalar()
    }
}
