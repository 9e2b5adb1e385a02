//! Datasets: typed reads of all or part of the elements.

use std::sync::Arc;

use algorithms::transfer::{Elements, Memory};
use model::heap::Heap;
use model::properties::{FilterSpec, Layout};
use model::{Dataspace, Datatype, Error, Result, Selection, Within};
use ndarray::{Array, Array1, Array2, ArrayD, Dimension, IxDyn};
use vol::{DatasetInfo, StorageInfo, Transfer};

use crate::object::Object;
use crate::session::SharedInfo;
use crate::{H5Type, Slice};

/// A dataset. It dereferences to [`Object`].
#[derive(Debug, Clone)]
pub struct Dataset {
    object: Object,
    /// The info, which all handles of the dataset share, so that all of them see a new extent.
    info: SharedInfo,
    /// The processes that take part in reads and writes.
    transfer: Transfer,
}

impl std::ops::Deref for Dataset {
    type Target = Object;
    fn deref(&self) -> &Object {
        &self.object
    }
}

impl Dataset {
    pub(crate) fn open(object: Object) -> Result<Self> {
        let info = object.session.dataset(object.token)?;
        Ok(Dataset { object, info, transfer: Transfer::Independent })
    }

    /// Returns the dataset of an object whose info was just read.
    #[cfg(feature = "async")]
    pub(crate) fn with_info(object: Object, info: Arc<DatasetInfo>) -> Self {
        let info = object.session.share(object.token, info);
        Dataset { object, info, transfer: Transfer::Independent }
    }

    /// Returns a handle whose reads and writes are made by this process alone, or by all processes that have the file
    /// open together. All of them make a collective transfer, each with its own selection; `Selection::None` takes
    /// part without elements.
    ///
    /// In a file that one process has open both are the same.
    #[must_use]
    pub fn with_transfer(&self, transfer: Transfer) -> Dataset {
        Dataset { transfer, ..self.clone() }
    }

    /// Returns the datatype, the extent and the creation properties.
    pub fn dataset_info(&self) -> Arc<DatasetInfo> {
        self.info.read().clone()
    }

    /// Returns whether all processes that have the file open take part in reads and writes.
    pub(crate) fn is_collective(&self) -> bool {
        self.transfer == Transfer::Collective && self.session.container.collective().is_some()
    }

    pub(crate) fn change_info(&self, change: impl FnOnce(&mut Arc<DatasetInfo>) -> Result<()>) -> Result<()> {
        change(&mut self.info.write())
    }

    /// Returns the datatype of an element, as stored.
    ///
    /// # Errors
    /// Never fails. It returns a `Result` as the function of `hdf5-metno` does.
    pub fn dtype(&self) -> Result<Datatype> {
        Ok(self.dataset_info().datatype.clone())
    }

    /// Returns the extent and its maximum.
    ///
    /// # Errors
    /// Never fails. It returns a `Result` as the function of `hdf5-metno` does.
    pub fn space(&self) -> Result<Dataspace> {
        Ok(self.dataset_info().space.clone())
    }

    /// Returns the extent, which is empty for a scalar.
    pub fn shape(&self) -> Vec<usize> {
        shape_of(&self.dataset_info().space)
    }

    /// Returns the number of dimensions.
    pub fn ndim(&self) -> usize {
        self.dataset_info().space.rank()
    }

    /// Returns the number of elements, or `usize::MAX` if it does not fit.
    pub fn size(&self) -> usize {
        let count = self.dataset_info().space.element_count();
        count.ok().and_then(|count| usize::try_from(count).ok()).unwrap_or(usize::MAX)
    }

    /// Returns whether there is one element and no dimension.
    pub fn is_scalar(&self) -> bool {
        matches!(self.dataset_info().space, Dataspace::Scalar)
    }

    /// Returns whether a dimension can change.
    pub fn is_resizable(&self) -> bool {
        self.dataset_info().space.is_resizable()
    }

    /// Returns whether elements are stored in chunks.
    pub fn is_chunked(&self) -> bool {
        matches!(self.dataset_info().create.layout, Layout::Chunked { .. })
    }

    /// Returns the storage layout.
    pub fn layout(&self) -> Layout {
        self.dataset_info().create.layout.clone()
    }

    /// Returns the shape of chunks, or `None` if the dataset is not chunked.
    pub fn chunk(&self) -> Option<Vec<usize>> {
        match &self.dataset_info().create.layout {
            Layout::Chunked { shape, .. } => Some(shape.iter().map(|&dim| dim as usize).collect()),
            _ => None,
        }
    }

    /// Returns the filters of chunks.
    pub fn filters(&self) -> Vec<FilterSpec> {
        self.dataset_info().create.filters.clone()
    }

    /// Returns the storage of the dataset, which may take a walk over all chunks.
    ///
    /// # Errors
    /// Returns the error of reading the chunk index.
    pub fn storage(&self) -> Result<StorageInfo> {
        self.session.container.dataset_storage(self.token)
    }

    pub(crate) fn elements<'a>(&'a self, info: &'a DatasetInfo, selection: &'a Selection) -> Elements<'a> {
        Elements {
            container: self.session.container.as_ref(),
            dataset: self.token,
            file_type: &info.datatype,
            space: &info.space,
            selection,
            conversions: &self.session.registered.conversions,
            transfer: self.transfer,
        }
    }

    /// Reads a selection as packed elements of a type in the memory datatype. Variable-length values go to `heap`.
    ///
    /// # Errors
    /// Returns `Invalid` if the selection does not fit the extent, `Conversion` if elements cannot be converted to
    /// `memory`, and `Limit` if the result is larger than `Limits::result_bytes_max`.
    pub fn read_bytes(&self, selection: &Selection, memory: &Datatype, heap: &mut Heap) -> Result<Vec<u8>> {
        let info = self.dataset_info();
        let elements = self.elements(&info, selection);
        let bytes = elements.count()?.saturating_mul(u64::from(memory.size()));
        let mut buffer = vec![0; bytes.within(self.session.access.limits.result_bytes_max, "result")?];
        elements.read(memory, &mut buffer, heap)?;
        Ok(buffer)
    }

    /// Reads the values of a selection, in selection order.
    ///
    /// # Errors
    /// Returns `Invalid` if the selection does not fit the extent, `Conversion` if elements cannot be converted to
    /// `T`, and `Limit` if the result is larger than `Limits::result_bytes_max`.
    pub fn read_selection<T: H5Type>(&self, selection: &Selection) -> Result<Vec<T>> {
        let info = self.dataset_info();
        let count = self.elements(&info, selection).count()?;
        let bytes = count.saturating_mul(size_of::<T>() as u64);
        bytes.within(self.session.access.limits.result_bytes_max, "result")?;
        if let Some(mut values) = T::zeroed(count as usize) {
            self.read_selection_into(selection, &mut values)?;
            return Ok(values);
        }
        self.load(selection, count)
    }

    /// Reads a selection into a buffer of exactly its size. Numbers are read without a copy.
    ///
    /// # Errors
    /// Returns `Invalid` if the buffer has another size or the selection does not fit the extent, and `Conversion` if
    /// elements cannot be converted to `T`.
    pub fn read_selection_into<T: H5Type>(&self, selection: &Selection, values: &mut [T]) -> Result<()> {
        let info = self.dataset_info();
        let elements = self.elements(&info, selection);
        if let Some(bytes) = T::bytes_mut(values) {
            return elements.read(&T::datatype(), bytes, &mut Heap::new());
        }
        let count = elements.count()?;
        if count != values.len() as u64 {
            return Err(Error::invalid("read dataset").with("elements", count).with("buffer", values.len()));
        }
        self.load_into(selection, values)
    }

    /// Reads a selection into the selected elements of a buffer of shape `dims`.
    ///
    /// # Errors
    /// Returns `Unsupported` if `T` is not a plain number, `Invalid` if a selection does not fit its extent or the two
    /// have different numbers of elements, and `Conversion` if elements cannot be converted to `T`.
    pub fn read_into_selected<T: H5Type>(
        &self,
        selection: &Selection,
        values: &mut [T],
        dims: &[u64],
        into: &Selection,
    ) -> Result<()> {
        let datatype = T::datatype();
        let info = self.dataset_info();
        let memory = Memory { datatype: &datatype, dims, selection: into };
        let bytes = T::bytes_mut(values)
            .ok_or_else(|| Error::unsupported("scatter values that are not plain numbers"))?;
        self.elements(&info, selection).read_scattered(&memory, bytes, &mut Heap::new())
    }

    /// Returns all elements, in C order.
    ///
    /// # Errors
    /// Returns the errors of [`Dataset::read_selection`].
    pub fn read_raw<T: H5Type>(&self) -> Result<Vec<T>> {
        self.read_selection(&Selection::All)
    }

    /// Reads all elements into a buffer of exactly their number.
    ///
    /// # Errors
    /// Returns the errors of [`Dataset::read_selection_into`].
    pub fn read_into<T: H5Type>(&self, values: &mut [T]) -> Result<()> {
        self.read_selection_into(&Selection::All, values)
    }

    /// Reads all elements into a buffer that has space for them, and returns their number.
    ///
    /// # Errors
    /// Returns `Invalid` if the buffer is too small, and the errors of [`Dataset::read_selection_into`].
    pub fn read_into_raw<T: H5Type>(&self, values: &mut [T]) -> Result<usize> {
        let (size, capacity) = (self.size(), values.len());
        let short = || Error::invalid("read dataset").with("elements", size).with("buffer", capacity);
        self.read_into(values.get_mut(..size).ok_or_else(short)?)?;
        Ok(size)
    }

    /// Returns all elements as an array of a static dimension.
    ///
    /// # Errors
    /// Returns `Invalid` if the dataset does not have the number of dimensions of `D`, and the errors of
    /// [`Dataset::read_selection`].
    pub fn read<T: H5Type, D: Dimension>(&self) -> Result<Array<T, D>> {
        with_rank(self.read_dyn()?)
    }

    /// Returns all elements as an array.
    ///
    /// # Errors
    /// Returns the errors of [`Dataset::read_selection`].
    pub fn read_dyn<T: H5Type>(&self) -> Result<ArrayD<T>> {
        to_array(&self.shape(), self.read_raw()?)
    }

    /// Returns all elements of a dataset of one dimension.
    ///
    /// # Errors
    /// Returns the errors of [`Dataset::read`].
    pub fn read_1d<T: H5Type>(&self) -> Result<Array1<T>> {
        self.read()
    }

    /// Returns all elements of a dataset of two dimensions.
    ///
    /// # Errors
    /// Returns the errors of [`Dataset::read`].
    pub fn read_2d<T: H5Type>(&self) -> Result<Array2<T>> {
        self.read()
    }

    /// Returns the only element.
    ///
    /// # Errors
    /// Returns `Invalid` if there is not exactly one element, and the errors of [`Dataset::read_selection`].
    pub fn read_scalar<T: H5Type>(&self) -> Result<T> {
        one(self.read_raw()?)
    }

    /// Returns a slice, as an array whose indexed dimensions are dropped: `read_slice::<f32, _, Ix2>(s![.., 3, 0..4])`.
    ///
    /// # Errors
    /// Returns `Invalid` if the slice does not fit the extent or the result does not have the number of dimensions of
    /// `D`, `Unsupported` for negative steps, and the errors of [`Dataset::read_selection`].
    pub fn read_slice<T: H5Type, S: Into<Slice>, D: Dimension>(&self, slice: S) -> Result<Array<T, D>> {
        let (selection, shape) = slice.into().resolve(self.dataset_info().space.dims())?;
        let shape: Vec<usize> = shape.into_iter().map(|d| d as usize).collect();
        with_rank(to_array(&shape, self.read_selection(&selection)?)?)
    }

    /// Returns a slice of one dimension.
    ///
    /// # Errors
    /// Returns the errors of [`Dataset::read_slice`].
    pub fn read_slice_1d<T: H5Type, S: Into<Slice>>(&self, slice: S) -> Result<Array1<T>> {
        self.read_slice(slice)
    }

    /// Returns a slice of two dimensions.
    ///
    /// # Errors
    /// Returns the errors of [`Dataset::read_slice`].
    pub fn read_slice_2d<T: H5Type, S: Into<Slice>>(&self, slice: S) -> Result<Array2<T>> {
        self.read_slice(slice)
    }

    /// Returns single elements by their coordinates, in the order given.
    ///
    /// # Errors
    /// Returns `Invalid` if coordinates have another rank or lie outside of the extent, and the errors of
    /// [`Dataset::read_selection`].
    pub fn read_points<T: H5Type>(&self, coordinates: &[Vec<u64>]) -> Result<Array1<T>> {
        let rank = self.ndim();
        if let Some(odd) = coordinates.iter().find(|c| c.len() != rank) {
            return Err(Error::invalid("read points").with("rank", rank).with("coordinates", odd.len()));
        }
        let points = Selection::points(rank, coordinates.concat())?;
        Ok(Array1::from_vec(self.read_selection(&points)?))
    }

    /// Returns all elements of a dataset of strings of fixed or variable length.
    ///
    /// # Errors
    /// Returns the errors of [`Dataset::read_selection`].
    pub fn read_strings(&self) -> Result<Vec<String>> {
        self.read_raw()
    }
}

/// Returns an extent as a shape of `ndarray`.
pub(crate) fn shape_of(space: &Dataspace) -> Vec<usize> {
    space.dims().iter().map(|&d| usize::try_from(d).unwrap_or(usize::MAX)).collect()
}

/// Returns an array with a static number of dimensions.
pub(crate) fn with_rank<T, D: Dimension>(array: ArrayD<T>) -> Result<Array<T, D>> {
    let found = array.ndim();
    let wrong = |_| Error::invalid("shape array").with("rank", found).with("asked", D::NDIM.unwrap_or(0));
    array.into_dimensionality::<D>().map_err(wrong)
}

pub(crate) fn to_array<T>(shape: &[usize], values: Vec<T>) -> Result<ArrayD<T>> {
    let count = values.len();
    ArrayD::from_shape_vec(IxDyn(shape), values)
        .map_err(|_| Error::invalid("shape array").with("shape", format!("{shape:?}")).with("values", count))
}

pub(crate) fn one<T>(values: Vec<T>) -> Result<T> {
    let count = values.len();
    match <[T; 1]>::try_from(values) {
        Ok([value]) => Ok(value),
        Err(_) => Err(Error::invalid("read scalar").with("elements", count)),
    }
}
