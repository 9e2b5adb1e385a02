//! Builders of datasets, with the functions that users of `hdf5-metno` know.

use model::properties::{AllocTime, CreationOrder, DatasetCreate, FillTime, FillValue, Layout};
use model::{Dataspace, Datatype, Error, Heap, ObjectPath, Result, Token};
use ndarray::{ArrayView, Dimension};
use vol::OpDatasetCreate;

use crate::chunk_guess::guess_chunk;
use crate::element::store_all;
use crate::object::{NamedDatatype, Object};
use crate::{Dataset, Extents, Group, H5Type, IntoShape};

/// The name of a new dataset: a path, or `None` for an anonymous dataset.
pub trait DatasetName<'n> {
    /// Returns the path, or `None` for an anonymous dataset.
    fn into_path(self) -> Option<&'n str>;
}

impl<'n> DatasetName<'n> for &'n str {
    fn into_path(self) -> Option<&'n str> {
        Some(self)
    }
}

impl<'n> DatasetName<'n> for &'n String {
    fn into_path(self) -> Option<&'n str> {
        Some(self)
    }
}

impl<'n> DatasetName<'n> for Option<&'n str> {
    fn into_path(self) -> Option<&'n str> {
        self
    }
}

/// The data of a builder whose dataset is created without data.
#[derive(Debug, Clone, Copy)]
pub struct NoData;

/// Builds a dataset, without data or from data (`V`).
#[derive(Debug, Clone)]
pub struct DatasetBuilder<V = NoData> {
    pub(crate) group: Group,
    datatype: Option<Datatype>,
    committed: Option<Token>,
    extents: Option<Extents>,
    max_dims: Option<Vec<u64>>,
    pub(crate) create: DatasetCreate,
    pub(crate) problem: Option<Error>,
    data: V,
}

/// Builds a dataset from data.
pub type DatasetBuilderData<'d, T, D> = DatasetBuilder<ArrayView<'d, T, D>>;
/// Builds a dataset whose type is set.
pub type DatasetBuilderEmpty = DatasetBuilder;
/// Builds a dataset whose type and extent are set.
pub type DatasetBuilderEmptyShape = DatasetBuilder;

impl DatasetBuilder {
    pub(crate) fn new(group: &Group) -> Self {
        DatasetBuilder {
            group: group.clone(),
            datatype: None,
            committed: None,
            extents: None,
            max_dims: None,
            create: DatasetCreate::default(),
            problem: None,
            data: NoData,
        }
    }

    /// Sets the type of the elements to `T`.
    #[must_use]
    pub fn empty<T: H5Type>(mut self) -> Self {
        self.datatype = Some(self.group.session.stored_type(T::datatype()));
        self
    }

    /// Sets the type of the elements.
    #[must_use]
    pub fn empty_as(self, datatype: &Datatype) -> Self {
        self.of(datatype.clone())
    }

    pub(crate) fn of(mut self, datatype: Datatype) -> Self {
        self.datatype = Some(datatype);
        self
    }

    /// Sets the shape and the elements to those of an array, a slice or a vector.
    pub fn with_data<'d, A, T, D>(self, data: A) -> DatasetBuilderData<'d, T, D>
    where
        A: Into<ArrayView<'d, T, D>>,
        T: H5Type,
        D: Dimension,
    {
        let datatype = self.group.session.stored_type(T::datatype());
        self.with_data_as(data, &datatype)
    }

    /// Sets the elements as [`DatasetBuilder::with_data`] does, and stores them as another type.
    pub fn with_data_as<'d, A, T, D>(self, data: A, datatype: &Datatype) -> DatasetBuilderData<'d, T, D>
    where
        A: Into<ArrayView<'d, T, D>>,
        T: H5Type,
        D: Dimension,
    {
        let data = data.into();
        DatasetBuilder {
            group: self.group,
            datatype: Some(datatype.clone()),
            committed: self.committed,
            extents: self.extents.or_else(|| Some(data.shape().into())),
            max_dims: self.max_dims,
            create: self.create,
            problem: self.problem,
            data,
        }
    }

    /// Creates the dataset at a path, with the groups that are missing on it. If the path is `None`, the dataset has
    /// no link, and is removed with its last handle.
    ///
    /// # Errors
    /// Returns `Exists` if the path leads to an object, and `Invalid` if no type was set or a property does not fit
    /// the type and the extent.
    pub fn create<'n>(&self, path: impl DatasetName<'n>) -> Result<Dataset> {
        self.make(path.into_path())
    }
}

impl<T: H5Type, D: Dimension> DatasetBuilderData<'_, T, D> {
    /// Creates the dataset at a path and writes the data. If writing fails, the dataset is removed again.
    ///
    /// # Errors
    /// Returns `Exists` if the path leads to an object, and the errors of [`Dataset::write`].
    pub fn create<'n>(&self, path: impl DatasetName<'n>) -> Result<Dataset> {
        let path = path.into_path();
        let dataset = self.make(path)?;
        let written = dataset.write(self.data.view());
        if let (Err(_), Some(path)) = (&written, path) {
            self.group.unlink(path)?;
        }
        written.map(|()| dataset)
    }
}

impl<V> DatasetBuilder<V> {
    /// Sets the extent: `10`, `(10, 20)`, `(0.., 5)` for one that can grow. By default a dataset is a scalar.
    #[must_use]
    pub fn shape(mut self, shape: impl Into<Extents>) -> Self {
        self.extents = Some(shape.into());
        self
    }

    /// Sets the maximum extent, for a dataset that can grow.
    #[must_use]
    pub fn max_shape(mut self, shape: impl IntoShape) -> Self {
        self.max_dims = Some(shape.into_shape());
        self
    }

    /// Makes every dimension unlimited.
    #[must_use]
    pub fn resizable(mut self) -> Self {
        self.extents = self.extents.map(Extents::resizable);
        self
    }

    /// Stores the elements in chunks of this shape.
    #[must_use]
    pub fn chunk(mut self, shape: impl IntoShape) -> Self {
        self.create.layout = Layout::chunked(&shape.into_shape());
        self
    }

    /// Stores the elements contiguously.
    #[must_use]
    pub fn no_chunk(mut self) -> Self {
        self.create.layout = Layout::Contiguous;
        self
    }

    /// Stores the elements in the object's header.
    #[must_use]
    pub fn compact(mut self) -> Self {
        self.create.layout = Layout::Compact;
        self
    }

    /// Sets the storage layout.
    #[must_use]
    pub fn layout(mut self, layout: Layout) -> Self {
        self.create.layout = layout;
        self
    }

    /// Sets the fill value: the content of elements that were never written.
    #[must_use]
    pub fn fill_value<T: H5Type>(mut self, value: &T) -> Self {
        match self.fill_bytes(value) {
            Ok(bytes) => self.create.fill.value = FillValue::Value(bytes),
            Err(error) => self.problem = self.problem.or(Some(error)),
        }
        self
    }

    fn fill_bytes<T: H5Type>(&self, value: &T) -> Result<Vec<u8>> {
        let container = self.group.container().as_ref();
        let datatype = self.datatype.clone().unwrap_or_else(T::datatype);
        let file_type = datatype.with_descriptors(&container.info()?.descriptors);
        let mut heap = Heap::new();
        let element = store_all(std::slice::from_ref(value), &mut heap)?;
        algorithms::transfer::to_file_type(
            container,
            &T::datatype(),
            &element,
            &file_type,
            &Default::default(),
            &mut heap,
        )
    }

    /// Sets when elements that were never written are filled.
    #[must_use]
    pub fn fill_time(mut self, time: FillTime) -> Self {
        self.create.fill.time = time;
        self
    }

    /// Sets when storage is allocated. `None` is the default of the layout.
    #[must_use]
    pub fn alloc_time(mut self, time: Option<AllocTime>) -> Self {
        self.create.alloc_time = time.unwrap_or_default();
        self
    }

    /// Tracks the order in which attributes are created.
    #[must_use]
    pub fn track_attr_order(mut self) -> Self {
        self.create.object.attribute_order = CreationOrder::Indexed;
        self
    }

    /// Sets the object class of the dataset (`RP_2G1`): how storage that has classes spreads and protects it.
    #[must_use]
    pub fn object_class(mut self, name: &str) -> Self {
        self.create.object.object_class = Some(name.to_owned());
        self
    }

    /// Sets the type to a committed datatype, which the dataset shares.
    ///
    /// # Errors
    /// Returns the error of reading the committed datatype.
    pub fn committed(mut self, datatype: &NamedDatatype) -> Result<Self> {
        self.datatype = Some(datatype.datatype()?);
        self.committed = Some(datatype.token());
        Ok(self)
    }

    /// Sets all creation properties at once.
    #[must_use]
    pub fn properties(mut self, create: DatasetCreate) -> Self {
        self.create = create;
        self
    }

    fn space(&self) -> Result<Dataspace> {
        let space = self.extents.as_ref().map_or(Ok(Dataspace::Scalar), Extents::to_space)?;
        match &self.max_dims {
            Some(max) if space.rank() > 0 => Dataspace::resizable(space.dims(), max),
            _ => Ok(space),
        }
    }

    /// Creates the dataset without its data.
    fn make(&self, path: Option<&str>) -> Result<Dataset> {
        if let Some(problem) = &self.problem {
            return Err(problem.clone());
        }
        let untyped =
            || Error::invalid("create dataset").with("problem", "it has no type: use empty or with_data");
        let datatype = self.datatype.clone().ok_or_else(untyped)?;
        let (space, mut create) = (self.space()?, self.create.clone());
        let wants_chunks = space.is_resizable() || !create.filters.is_empty();
        if create.layout == Layout::Contiguous && wants_chunks && space.rank() > 0 {
            create.layout = Layout::chunked(&guess_chunk(&space, u64::from(datatype.size())));
        }
        let place = path.map(|path| self.group.place(path)).transpose()?;
        let full = path.map_or_else(|| ObjectPath::start(""), |path| self.group.path_to(path));
        let op = OpDatasetCreate { place, datatype, committed: self.committed, space, create };
        let session = &self.group.session;
        let token = session.container.dataset_create(&op)?;
        Dataset::open(Object::new(session.clone(), token, full))
    }
}
